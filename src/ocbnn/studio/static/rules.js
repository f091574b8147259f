/** The list of rules: words, checked text, strength, colour, on and off. */

import { request } from "./api.js";
import { button, byId, choice, el, field, renderOnce } from "./dom.js";
import { COLOUR_NAMES, hue } from "./look.js";
import { editRule, nameIn, removeRule } from "./rulebook.js";
import { ruleForm } from "./ruleform.js";
import { Strength } from "./strength.js";

/** Ask the server to rewrite a rule's text; show its message if it refuses. */
async function rewrite(card, changes) {
  const before = card.rule?.text;
  if (before === undefined) return;
  try {
    const { text } = await request("POST", "/api/rules/edit", { text: before, ...changes });
    if (!card.rule) return;
    // The text was edited in the meantime: rewrite the new text instead.
    if (card.rule.text !== before) return void (await rewrite(card, changes));
    card.trouble = "";
    if (text !== before) editRule(card.store, card.id, { text });
  } catch (error) {
    card.trouble = error.message;
    card.render();
  }
}

/** One rule of the list. Its nodes are kept when it changes, so typing is not disturbed. */
class Card {
  constructor(store, sources, id) {
    this.store = store;
    this.sources = sources;
    this.id = id;
    this.trouble = "";
    this.#build();
  }

  get rule() {
    return this.store.document.rules.find((rule) => rule.id === this.id);
  }

  get checked() {
    return this.store.state.rules?.find((line) => line.id === this.id);
  }

  /** Whether the server's check is of the current text. */
  get isCurrent() {
    return this.store.state.document.rules.find((rule) => rule.id === this.id)?.text === this.rule.text;
  }

  #build() {
    this.on = el("input", { type: "checkbox", onchange: () => editRule(this.store, this.id, { on: this.on.checked }) });
    this.swatch = el("i", { class: "patch", "aria-hidden": "true" });
    this.title = el("span", { class: "rule-name" });
    this.words = el("p", { class: "words" });
    this.remove = button("Remove", () => {
      const next = this.node.nextElementSibling ?? this.node.previousElementSibling;
      removeRule(this.store, this.id);
      (next?.querySelector("button.remove") ?? byId("add-rule"))?.focus();
    }, { class: "plain small remove" });
    this.strength = new Strength((changes) => rewrite(this, changes), () => this.render());
    this.message = el("output", { class: "message", id: `message-${this.id}`, role: "status" });
    this.more = el("details", { class: "more" }, el("summary", {}, "Text and settings"), this.#textBox(), this.#settings());
    this.node = el(
      "li",
      { class: "rule" },
      el("div", { class: "rule-head" }, el("label", { class: "check" }, this.on, this.swatch, this.title), this.remove),
      this.words,
      this.strength.node,
      this.message,
      this.more,
    );
  }

  /** A text field over a copy of its text in which errors are marked. */
  #textBox() {
    this.mirror = el("div", { class: "mirror", "aria-hidden": "true" });
    this.text = el("textarea", {
      rows: 3, spellcheck: false, "aria-describedby": `message-${this.id}`,
      oninput: () => {
        this.mirror.replaceChildren(this.text.value);
        this.trouble = "";
        editRule(this.store, this.id, { text: this.text.value }, 350);
      },
      onscroll: () => {
        this.mirror.scrollTop = this.text.scrollTop;
      },
    });
    return el("div", { class: "code" }, this.mirror, this.text);
  }

  #settings() {
    this.name = el("input", { type: "text", maxlength: 80, autocomplete: "off", onchange: () => rewrite(this, { name: this.name.value.trim() }) });
    this.colour = choice(COLOUR_NAMES.map((name, i) => [String(i), name]), "0", (value) => editRule(this.store, this.id, { colour: Number(value) }));
    return el("div", { class: "pair" }, field("Name", this.name), field("Colour", this.colour));
  }

  render() {
    const { rule, checked } = this;
    if (!rule) return;
    this.on.checked = rule.on;
    this.node.classList.toggle("off", !rule.on);
    this.swatch.style.backgroundColor = hue(rule.colour);
    this.colour.value = String(rule.colour ?? 0);
    this.#renderWords(rule, checked);
    this.strength.render(this.title.textContent, checked, this.isCurrent);
    if (this.text.value !== rule.text) this.text.value = rule.text;
    if (document.activeElement !== this.name) this.name.value = nameIn(rule.text);
    this.#renderError(rule, checked);
  }

  #renderWords(rule, checked) {
    const place = this.store.document.rules.indexOf(rule) + 1;
    this.title.textContent = nameIn(rule.text) || `Rule ${place}`;
    this.words.textContent = checked?.words || rule.text;
    const name = this.title.textContent;
    const ariaLabels = { remove: "Remove", text: "Text of", name: "Name of", colour: "Colour of" };
    for (const [key, words] of Object.entries(ariaLabels)) this[key].setAttribute("aria-label", `${words} ${name}`);
  }

  #renderError(rule, checked) {
    this.node.classList.toggle("bad", this.#isProblem(rule, checked));
    const error = this.isCurrent ? checked?.error : null;
    this.message.textContent = this.trouble || error?.message || "";
    this.message.classList.toggle("wrong", Boolean(this.message.textContent));
    this.text.setAttribute("aria-invalid", String(Boolean(error)));
    if (error) this.more.open = true;
    const value = this.text.value;
    const at = typeof error?.start === "number" && value === rule.text ? error.start : null;
    this.mirror.replaceChildren(...(at === null ? [value] : marked(value, at)));
  }

  /** Whether the study's problem concerns this rule. */
  #isProblem(rule, checked) {
    const problem = [this.store.state.problem, this.sources.priorError].filter(Boolean).join("\n");
    if (!rule.on || !checked) return false;
    return Boolean(checked.error) || problem.includes(rule.text) || (checked.name !== "" && problem.includes(`'${checked.name}'`));
  }
}

function marked(text, at) {
  const rest = text.slice(at);
  const word = rest.match(/^(\w+|\S|\s+)/)?.[0] ?? "";
  return [text.slice(0, at), el("mark", { class: word.trim() ? "" : "end" }, word || " "), rest.slice(word.length)];
}

export function setUpRules(node, store, sources) {
  const cards = new Map();
  const list = el("ul", { class: "rules" });
  const none = el("p", { class: "quiet", hidden: true }, "No rules yet. Draw one on the plot, or add one below.");
  const form = el("div");
  const open = (id) => {
    const card = cards.get(id);
    if (!card) return;
    card.more.open = true;
    card.text.focus();
    card.node.scrollIntoView({ block: "nearest" });
  };
  node.replaceChildren(none, list, form);

  const render = () => {
    const { rules } = store.document;
    const ids = rules.map((rule) => rule.id);
    for (const id of cards.keys()) if (!ids.includes(id)) cards.delete(id);
    for (const id of ids) if (!cards.has(id)) cards.set(id, new Card(store, sources, id));
    const nodes = ids.map((id) => cards.get(id).node);
    if (nodes.length !== list.children.length || nodes.some((child, i) => child !== list.children[i])) list.replaceChildren(...nodes);
    for (const card of cards.values()) card.render();
    none.hidden = rules.length > 0;
    const { data, view } = store.document;
    renderOnce(form, [data, view?.along, view?.output], () => ruleForm(store, open, form.querySelector("details")?.open));
  };
  store.on("state document", render);
  sources.addEventListener("prior", () => store.state && render());
  document.addEventListener("theme", () => store.state && render());
}
