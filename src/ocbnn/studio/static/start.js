/** The start page: a table, an example, or a study of before. */

import { request, upload } from "./api.js";
import { button, byId, el } from "./dom.js";

const STATES = {
  none: "not fitted",
  waiting: "waits for its fit",
  running: "is being fitted",
  done: "fitted",
  stopped: "fitted in part",
  failed: "the fit failed",
};

let busy = false;
let limit = Infinity;

function say(words, wrong = false) {
  byId("message").textContent = words;
  byId("message").classList.toggle("wrong", wrong);
}

/** Do one thing at a time, and say what went wrong. */
async function attempt(words, work) {
  if (busy) return;
  busy = true;
  say(words);
  try {
    await work();
    say("");
  } catch (error) {
    say(error.message, true);
  } finally {
    busy = false;
  }
}

const mebibytes = (bytes) => `${Math.round(bytes / 2 ** 20).toLocaleString("en")} MiB`;

function open(id) {
  location.assign(`/s/${encodeURIComponent(id)}`);
}

function take(file) {
  if (!file) return;
  if (file.size > limit) {
    say(`${file.name} is larger than ${mebibytes(limit)}, the most that is taken here.`, true);
    return;
  }
  attempt(`Reading ${file.name}`, async () => open((await upload(file)).id));
}

function begin(example) {
  attempt(`Opening ${example.title}`, async () => {
    open((await request("POST", "/api/sessions", { example: example.name })).id);
  });
}

function tile(example) {
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: "tile", onclick: () => begin(example) },
      el("strong", {}, example.title ?? example.name),
      el("span", {}, example.about ?? ""),
    ),
  );
}

function remove(session) {
  if (!confirm(`Delete the study “${session.title}” with its fit?`)) return;
  attempt("Deleting", async () => {
    await request("DELETE", `/api/sessions/${encodeURIComponent(session.id)}`);
    await load();
  });
}

function row(session) {
  const when = new Date(session.changed);
  const words = Number.isNaN(when.valueOf()) ? "" : `changed ${when.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}`;
  return el(
    "li",
    {},
    el("a", { href: `/s/${encodeURIComponent(session.id)}` }, session.title || "Untitled"),
    el("span", { class: "quiet" }, [words, STATES[session.fit] ?? ""].filter(Boolean).join(", ")),
    button("Delete", () => remove(session), { class: "plain", "aria-label": `Delete ${session.title}` }),
  );
}

async function load() {
  const found = await request("GET", "/api/start");
  limit = found.limit ?? Infinity;
  byId("limit").textContent = found.limit ? `At most ${mebibytes(found.limit)}.` : "";
  byId("examples").replaceChildren(...(found.examples ?? []).map(tile));
  const sessions = found.sessions ?? [];
  const none = el("li", { class: "quiet" }, "Nothing yet. Studies that you open stay here.");
  byId("sessions").replaceChildren(...(sessions.length ? sessions.map(row) : [none]));
}

function watchDrop() {
  const zone = byId("drop");
  byId("file").addEventListener("change", (event) => {
    take(event.target.files[0]);
    event.target.value = "";
  });
  addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) zone.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    take(event.dataTransfer?.files[0]);
  });
}

watchDrop();
load().catch((error) => say(error.message, true));
