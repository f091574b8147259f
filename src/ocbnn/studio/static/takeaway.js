/** Step 5: files to take away, and the code that does the same. */

import { text } from "./api.js";
import { announce, button, byId, el } from "./dom.js";

const FILES = [
  ["study.zip", "Study with its data", "unzip it, then: ocbnn fit study.toml", false],
  ["study.toml", "Study file", "rules and settings; needs {data} of study.zip beside it", false],
  ["code.py", "Python code", "does the same; needs {data} of study.zip beside it", false],
  ["model.ocbnn", "Fitted model", "opens with ocbnn.load", true],
  ["figure.png", "Figure as PNG", "for a page", true],
  ["figure.svg", "Figure as SVG", "for print", true],
  ["report.html", "Report", "one page, complete in itself", true],
];

function fileRow(store, [name, words, about, needsFit]) {
  const isReady = !needsFit || Boolean(store.state.result);
  const link = isReady
    ? el("a", { href: `${store.path}/files/${name}`, download: name }, words)
    : el("span", { class: "quiet" }, words);
  return el("li", {}, link, el("span", { class: "quiet" }, isReady ? `${name}, ${about.replace("{data}", store.document.data.file)}` : "after a fit"));
}

/** What belongs together, where not all of it does. */
function mixed({ result, fit }) {
  if (!result) return "";
  if (fit?.stale) return "Rules, data or settings changed since the fit: model, figures and report are of the fit; study and code are of what is written now.";
  return result.quick ? "The study describes the whole fit. The quick look's numbers: ocbnn fit study.toml --quick" : "";
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
  node.replaceChildren(el("p", {}, "Everything here stays yours, and works without this page."), note, list, part);

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
