/** The form "Add a rule": everything that can be drawn, with fields instead. */

import { check, choice, el, field, form, mark, number, submit, tidy } from "./dom.js";
import { addRule, label, written } from "./rulebook.js";
import { amounts, column, isClasses, labelsOf, levelsOf, viewOf, widthOf } from "./view.js";

const KINDS = {
  forbid: "the output must not be in a box",
  band: "the output stays inside a band",
  curve: "the output follows a line",
  rises: "the output rises with an input",
  falls: "the output falls with an input",
  class: "only some classes are possible",
  text: "something else, as text",
};

// The fields of each kind and their labels.
const CLAIMS = {
  forbid: { low: "not between", high: "and" },
  band: { low: "at least", high: "at most" },
  curve: { start: "value at the start", end: "value at the end" },
};
const ARIA_LABELS = { and: "and not above" };
const ON_NAMES = ["forbid", "band", "class"];

class Form {
  constructor(store, open) {
    this.store = store;
    this.open = open;
    this.kind = isClasses(store) ? "class" : "forbid";
    this.chosen = new Set();
    this.inputs = {};
    this.#startValues();
    this.fields = el("div", { class: "fields" });
    this.message = el("output", { class: "message", role: "status" });
  }

  #startValues() {
    const view = viewOf(this.store);
    this.values = { output: view.output, low: null, high: null, start: null, end: null, sd: null };
    this.#choose(view.along[0] ?? amounts(this.store)[0] ?? this.#names()[0]);
  }

  #choose(name) {
    const about = column(this.store, name);
    const short = (value) => tidy(value, widthOf(about), 3);
    const isNames = this.#names().includes(name);
    const level = isNames ? (levelsOf(this.store, name)[0] ?? "") : null;
    Object.assign(this.values, { column: name, level, from: short(about?.low), to: short(about?.high) });
  }

  /** Columns of names that this kind of rule can use. */
  #names() {
    return ON_NAMES.includes(this.kind) ? (this.store.document.data.categories ?? []) : [];
  }

  get #isNames() {
    return this.#names().includes(this.values.column);
  }

  #number(key, words) {
    this.inputs[key] = number(this.values[key], (value) => (this.values[key] = value), { "aria-label": ARIA_LABELS[words] ?? words });
    return field(words, this.inputs[key]);
  }

  #pair(words) {
    return el("div", { class: "pair" }, Object.entries(words).map(([key, name]) => this.#number(key, name)));
  }

  #where() {
    const pick = choice([...amounts(this.store), ...this.#names()], this.values.column, (name) => {
      this.#choose(name);
      this.render();
    });
    if (!this.#isNames) return [field("Where input", pick), this.#pair({ from: "from", to: "to" })];
    const levels = levelsOf(this.store, this.values.column);
    return el("div", { class: "pair" }, field("Where input", pick), field("is", choice(levels, this.values.level, (level) => (this.values.level = level))));
  }

  #output() {
    const outputs = [this.store.document.data.output].flat();
    if (outputs.length < 2) return null;
    return field("Output", choice(outputs, this.values.output, (name) => (this.values.output = name)));
  }

  #claim() {
    if (this.kind === "class") return this.#classes();
    const parts = CLAIMS[this.kind] ? [this.#pair(CLAIMS[this.kind])] : [];
    if (this.kind === "curve") parts.push(this.#number("sd", "give or take (one standard deviation)"));
    return parts;
  }

  #classes() {
    const labels = labelsOf(this.store);
    return el("fieldset", {}, el("legend", {}, "Classes that are possible there"), labels.map((label) => check(String(label), this.chosen.has(label), (on) => (on ? this.chosen.add(label) : this.chosen.delete(label)))));
  }

  render() {
    const isText = this.kind === "text";
    const help = el("p", { class: "quiet" }, "This adds a simple rule; edit its text in the list.");
    this.inputs = {};
    if (this.values.level !== null && !this.#isNames) this.#choose(amounts(this.store)[0]);
    this.fields.replaceChildren(...(isText ? [help] : [this.#where(), this.#output(), this.#claim()]).flat().filter(Boolean));
  }

  /** Mark invalid fields; returns a message, or "" if there are none. */
  #problem() {
    const names = { from: "from", to: "to", ...CLAIMS[this.kind] };
    const pairs = { to: "from", high: "low" };
    const invalid = Object.entries(this.inputs).flatMap(([key, node]) => {
      if (node.validity.badInput) return [node];
      const value = this.values[key];
      const lower = this.values[pairs[key]];
      const isEmpty = value === null && key !== "sd";
      const isReversed = pairs[key] && value !== null && lower !== null && value <= lower;
      const words = isEmpty ? "Fill this in." : isReversed ? `Must be above “${names[pairs[key]]}”.` : key === "sd" && value !== null && value <= 0 ? "Must be above 0." : "";
      return mark(node, words) ? [] : [node];
    });
    invalid[0]?.focus();
    if (invalid.length) return "Not added: correct the fields in red.";
    return this.kind === "class" && !this.chosen.size ? "Choose at least one class." : "";
  }

  #drawn() {
    const { column: name, output, from, to, low, high, start, end, sd } = this.values;
    const view = { ...viewOf(this.store), along: [name], output };
    if (this.kind === "curve") return { kind: "curve", view, points: [[from, start], [to, end]], sd };
    if (this.kind === "class") return { kind: "class", view, x: [from, to], y: null, classes: [...this.chosen] };
    return { kind: this.kind, view, x: [from, to], y: [low, high] };
  }

  /** The text of rules that cannot be drawn; null for the others. */
  #plainText() {
    const { column: name, output, from, to, level, low, high } = this.values;
    const settings = this.store.document.data.inputs.length > 1 || this.#isNames ? " [sampler=like-data]" : "";
    const [x, y] = [written(name), written(output)];
    const band = `${low} <= ${y} <= ${high}`;
    if (this.#isNames && this.kind !== "text") {
      const claim = { forbid: `not (${band})`, band, class: `${y} in {${[...this.chosen].map(label).join(", ")}}` }[this.kind];
      return `if ${written(`${name}=${level}`)} >= 0.5 then ${claim}${settings}`;
    }
    const region = `if ${from} <= ${x} <= ${to} then`;
    if (this.kind === "rises" || this.kind === "falls") return `${region} ${y} ${this.kind} with ${x}${settings}`;
    if (this.kind !== "text") return null;
    const start = this.#isNames ? "" : `${region} `;
    return isClasses(this.store) ? `${start}${y} in {${label(labelsOf(this.store)[0] ?? "")}}${settings}` : `${start}${y} >= 0${settings}`;
  }

  async #add() {
    const problem = this.#problem();
    if (problem) return this.#say(problem, true);
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
      this.#say("");
      this.render();
    });
    this.render();
    return el("details", { class: "add", open: isOpen }, el("summary", { id: "add-rule" }, "Add a rule"), form(() => this.#add(), field("I know that", pick), this.fields, submit("Add"), this.message));
  }
}

export function ruleForm(store, open, isOpen) {
  return new Form(store, open).build(isOpen);
}
