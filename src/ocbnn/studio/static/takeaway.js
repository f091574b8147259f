/** Step 5: downloads, and Python code that fits the same model. */

import { text } from "./api.js";
import { announce, button, byId, el } from "./dom.js";

const FILES = [
  ["study.zip", "Study with its data", "unzip it, then: ocbnn fit study.toml", false],
  ["study.toml", "Study file", "rules and settings; needs {data} from study.zip next to it", false],
  ["code.py", "Python code", "fits the same model; needs {data} from study.zip next to it", false],
  ["model.ocbnn", "Fitted model", "opens with ocbnn.load", true],
  ["figure.png", "Figure as PNG", "for the screen", true],
  ["figure.svg", "Figure as SVG", "for print", true],
  ["report.html", "Report", "one self-contained web page", true],
];

function fileRow(store, [name, words, about, needsFit]) {
  const isReady = !needsFit || Boolean(store.state.result);
  const link = isReady
    ? el("a", { href: `${store.path}/files/${name}`, download: name }, words)
    : el("span", { class: "quiet" }, words);
  return el("li", {}, link, el("span", { class: "quiet" }, isReady ? `${name}, ${about.replace("{data}", store.document.data.file)}` : "after a fit"));
}

/** A note when the files do not describe the same fit. */
function mixed({ result, fit }) {
  if (!result) return "";
  if (fit?.stale) return "Rules, data or settings have changed since the fit. The model, figures and report are of the fit; the study and code are current.";
  return result.quick ? "The study describes the full fit. For the quick look's numbers: ocbnn fit study.toml --quick" : "";
}

async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    announce("Copied.");
  } catch {
    getSelection().selectAllChildren(code);
    announce("The code is selected. Copy it with the keyboard.");
  }
}

export function setUpTakeaway(node, store) {
  const list = el("ul", { class: "files" });
  const code = el("pre", { class: "python", tabindex: 0, role: "region", "aria-label": "The Python code" });
  const copyButton = button("Copy the code", async () => {
    await copy(code);
    copyButton.textContent = byId("live").textContent === "Copied." ? "Copied" : "Selected";
    setTimeout(() => (copyButton.textContent = "Copy the code"), 2000);
  });
  const part = el("details", {}, el("summary", {}, "The Python code"), code, copyButton);
  const note = el("p", { class: "stale" });
  node.replaceChildren(el("p", {}, "These files work without this page."), note, list, part);

  let shown = 0;
  const showCode = async () => {
    if (!part.open || !byId("step-take").open || shown === store.state.revision) return;
    shown = store.state.revision;
    try {
      code.textContent = await text(`${store.path}/files/code.py`);
    } catch (error) {
      code.textContent = error.message;
    }
  };
  part.addEventListener("toggle", showCode);
  byId("step-take").addEventListener("toggle", showCode);
  store.on("state", () => {
    note.textContent = mixed(store.state);
    list.replaceChildren(...FILES.map((file) => fileRow(store, file)));
    showCode();
  });
}
