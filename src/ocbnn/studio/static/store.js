/** The state of a study, and how changes to it are saved. */

import { GONE, listen, request } from "./api.js";

const OVER = ["done", "stopped", "failed"];

/**
 * Events: "document" after a change in this tab, "state" after an answer of the server,
 * "fit" and "bands" while a fit runs, "saved" with the status of saving, and "conflict"
 * when another tab has saved first.
 */
export class Store extends EventTarget {
  #timer = 0;
  #edits = 0;
  #savedEdits = 0;
  #saving = null;
  #latestRevision = 0;
  /** Whether the server refused the last change. */
  isRefused = false;

  constructor(id) {
    super();
    this.path = `/api/sessions/${encodeURIComponent(id)}`;
    this.state = null;
    this.document = null;
  }

  get isDirty() {
    return this.#edits !== this.#savedEdits;
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  on(names, handle) {
    for (const name of names.split(" ")) this.addEventListener(name, (event) => handle(event.detail));
  }

  post(name, body) {
    return request("POST", `${this.path}/${name}`, body);
  }

  async open() {
    this.#adopt(await request("GET", this.path));
    this.#say("Saved");
    listen(
      `${this.path}/events`,
      {
        fit: (fit) => this.#onFit(fit),
        bands: (bands) => this.emit("bands", bands),
        result: () => this.reload(),
        changed: ({ revision }) => this.#onChange(revision),
      },
      { lost: () => this.#disconnect(), back: () => this.#reconnect() },
    );
  }

  /** Change the document in this tab at once, and on the server a moment later. */
  change(edit, wait = 250) {
    edit(this.document);
    this.#edits += 1;
    this.#say("Saving");
    this.emit("document");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), wait);
  }

  /** Save now; resolves when the server has accepted or refused everything. */
  flush() {
    clearTimeout(this.#timer);
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = null;
      if (this.#latestRevision > this.state.revision && !this.isDirty) this.reload();
    });
    return this.#saving;
  }

  async reload() {
    try {
      const state = await request("GET", this.path);
      if (this.isDirty) state.revision = this.state.revision;
      this.#adopt(state);
      if (!this.isDirty) this.#say("Saved");
    } catch (error) {
      this.#say("Not saved", true);
      this.emit("refused", error.message);
    }
  }

  #disconnect() {
    this.#say("No connection", true);
    this.emit("refused", GONE);
  }

  /** After reconnecting: load what is new, and save what the server missed. */
  async #reconnect() {
    await this.reload();
    if (this.isDirty) this.flush();
  }

  /** After a conflict: adopt the other tab's version, or replace it with this tab's. */
  settle(state, keepOurs) {
    this.state = { ...this.state, revision: state.revision };
    if (keepOurs) {
      this.flush();
      return;
    }
    this.#savedEdits = this.#edits;
    this.#adopt(state);
    this.#say("Saved");
  }

  async #saveAll() {
    while (this.isDirty) {
      const edits = this.#edits;
      const body = { revision: this.state.revision, document: this.document };
      try {
        const state = await request("PUT", this.path, body);
        this.#savedEdits = edits;
        this.isRefused = false;
        this.#adopt(state);
      } catch (error) {
        this.#refused(error);
        return;
      }
    }
    this.#say("Saved");
  }

  #refused(error) {
    this.isRefused = true;
    if (error.status === 409 && error.body.state) {
      this.#say("Changed elsewhere", true);
      this.emit("conflict", error.body.state);
      return;
    }
    this.#say("Not saved", true);
    this.emit("refused", error.message);
  }

  #adopt(state) {
    this.state = state;
    if (!this.isDirty) this.document = structuredClone(state.document);
    this.emit("state");
  }

  #onFit(fit) {
    const before = this.state.fit?.state;
    this.state.fit = fit;
    this.emit("fit");
    if (before !== fit.state && OVER.includes(fit.state)) this.reload();
  }

  #onChange(revision) {
    this.#latestRevision = Math.max(this.#latestRevision, revision ?? 0);
    if (this.#latestRevision > this.state.revision && !this.isDirty && !this.#saving) this.reload();
  }

  #say(words, wrong = false) {
    this.emit("saved", { words, wrong });
  }
}
