/** "Add a rule" with fields: everything that can be drawn, for those who do not draw. */

import { check, choice, el, field, form, number, submit } from "./dom.js";
import { addRule, written } from "./rulebook.js";
import { amounts, column, isClasses, labelsOf, viewOf } from "./view.js";

const KINDS = {
  forbid: "the output must not be in a box",
  band: "the output stays inside a band",
  curve: "the output is about a line",
  rises: "the output rises with an input",
  falls: "the output falls with an input",
  class: "only some classes are possible",
  text: "something else, as text",
};

const NEEDED = { from: "from", to: "to", low: "at least", high: "at most", start: "value at the start", end: "value at the end" };

class Form {
  constructor(store, open) {
    this.store = store;
    this.open = open;
    this.kind = isClasses(store) ? "class" : "forbid";
    this.values = {};
    this.chosen = new Set();
    this.#startValues();
    this.fields = el("div", { class: "fields" });
    this.message = el("output", { class: "message", role: "status" });
  }

  #startValues() {
    const view = viewOf(this.store);
    const first = view.along[0] ?? amounts(this.store)[0];
    const about = column(this.store, first);
    const tidy = (value) => (typeof value === "number" ? Number(value.toPrecision(3)) : null);
    this.values = { column: first, output: view.output, from: tidy(about?.low), to: tidy(about?.high), low: null, high: null, start: null, end: null, sd: null };
  }

  #number(key, words, spoken = words) {
    return field(words, number(this.values[key], (value) => (this.values[key] = value), { "aria-label": spoken }));
  }

  #where() {
    const names = amounts(this.store);
    const pick = choice(names, this.values.column, (name) => {
      const about = column(this.store, name);
      Object.assign(this.values, { column: name, from: about?.low ?? null, to: about?.high ?? null });
      this.render();
    });
    return [field("Where input", pick), el("div", { class: "pair" }, this.#number("from", "from"), this.#number("to", "to"))];
  }

  #output() {
    const outputs = [this.store.document.data.output].flat();
    if (outputs.length < 2) return null;
    return field("Output", choice(outputs, this.values.output, (name) => (this.values.output = name)));
  }

  #claim() {
    const pair = (...parts) => el("div", { class: "pair" }, parts);
    if (this.kind === "forbid") return pair(this.#number("low", "not between"), this.#number("high", "and", "and not above"));
    if (this.kind === "band") return pair(this.#number("low", "at least"), this.#number("high", "at most"));
    if (this.kind === "curve") return [pair(this.#number("start", "value at the start"), this.#number("end", "value at the end")), this.#number("sd", "give or take (one standard deviation)")];
    if (this.kind === "class") return this.#classes();
    return null;
  }

  #classes() {
    const labels = labelsOf(this.store);
    return el("fieldset", {}, el("legend", {}, "Classes that are possible there"), labels.map((label) => check(String(label), this.chosen.has(label), (on) => (on ? this.chosen.add(label) : this.chosen.delete(label)))));
  }

  render() {
    const isText = this.kind === "text";
    const help = el("p", { class: "quiet" }, "A rule to begin with is added; change its text in the list.");
    this.fields.replaceChildren(...[isText ? help : this.#where(), isText ? null : this.#output(), this.#claim()].flat().filter(Boolean));
  }

  /** The fields that this kind needs and that are empty. */
  #missing() {
    const needs = { forbid: ["from", "to", "low", "high"], band: ["from", "to", "low", "high"], curve: ["from", "to", "start", "end"], class: ["from", "to"], rises: ["from", "to"], falls: ["from", "to"], text: [] };
    return needs[this.kind].filter((key) => this.values[key] === null).map((key) => `“${NEEDED[key]}”`);
  }

  #drawn() {
    const { column: name, output, from, to, low, high, start, end, sd } = this.values;
    const view = { ...viewOf(this.store), along: [name], output };
    if (this.kind === "curve") return { kind: "curve", view, points: [[from, start], [to, end]], sd };
    if (this.kind === "class") return { kind: "class", view, x: [from, to], y: null, classes: [...this.chosen] };
    return { kind: this.kind, view, x: [from, to], y: [low, high] };
  }

  /** Rules that no drawing says. */
  #plainText() {
    const { column: name, output, from, to } = this.values;
    const many = this.store.document.data.inputs.length > 1 ? " [sampler=like-data]" : "";
    const [x, y] = [written(name), written(output)];
    const region = `if ${from} <= ${x} <= ${to} then`;
    if (this.kind === "rises" || this.kind === "falls") return `${region} ${y} ${this.kind} with ${x}${many}`;
    if (this.kind !== "text") return null;
    return isClasses(this.store) ? `${region} ${y} in {${JSON.stringify(labelsOf(this.store)[0] ?? "")}}${many}` : `${region} ${y} >= 0${many}`;
  }

  async #add() {
    const missing = this.#missing();
    if (missing.length) return this.#say(`Fill in ${missing.join(" and ")}.`, true);
    if (this.kind === "class" && !this.chosen.size) return this.#say("Choose at least one class.", true);
    try {
      const text = this.#plainText() ?? (await this.store.post("drawn", this.#drawn())).text;
      const id = addRule(this.store, text, this.kind);
      this.#say("Added to the list.");
      if (this.kind === "text") this.open(id);
    } catch (error) {
      this.#say(error.message, true);
    }
  }

  #say(words, isWrong = false) {
    this.message.textContent = words;
    this.message.classList.toggle("wrong", isWrong);
  }

  build(isOpen) {
    const kinds = isClasses(this.store) ? ["class", "text"] : ["forbid", "band", "curve", "rises", "falls", "text"];
    const pick = choice(kinds.map((key) => [key, KINDS[key]]), this.kind, (kind) => {
      this.kind = kind;
      this.render();
    });
    this.render();
    return el("details", { class: "add", open: isOpen }, el("summary", { id: "add-rule" }, "Add a rule"), form(() => this.#add(), field("I know that", pick), this.fields, submit("Add"), this.message));
  }
}

export function ruleForm(store, open, isOpen) {
  return new Form(store, open).build(isOpen);
}
