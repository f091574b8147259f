/** The start page: a table, an example, or an earlier study. */

import { request, upload } from "./api.js";
import { button, byId, el } from "./dom.js";

const STATES = {
  none: "not fitted",
  waiting: "waiting to be fitted",
  running: "being fitted",
  done: "fitted",
  stopped: "fit stopped",
  failed: "fit failed",
};

let busy = false;
let limit = Infinity;

function say(words, wrong = false) {
  byId("message").textContent = words;
  byId("message").classList.toggle("wrong", wrong);
}

/** Run one task at a time, and show its error. */
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
    say(`${file.name} is larger than ${mebibytes(limit)}, the limit of this studio.`, true);
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
  const state = await request("GET", "/api/start");
  limit = state.limit ?? Infinity;
  byId("limit").textContent = state.limit ? `At most ${mebibytes(state.limit)}.` : "";
  byId("examples").replaceChildren(...(state.examples ?? []).map(tile));
  const sessions = state.sessions ?? [];
  const none = el("li", { class: "quiet" }, "None yet. Studies that you open are listed here.");
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
