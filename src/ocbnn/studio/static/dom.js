/** Small helpers to build pages without markup in strings. */

export const byId = (id) => document.getElementById(id);

/**
 * Make an element. Keys that begin with "on" are listeners, "class" is the class, and the
 * rest are properties where the element has them and attributes where not. Null, undefined
 * and false are left out.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key in node && key !== "list") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

let count = 0;

/** A control with its visible label. */
export function field(label, control, ...rest) {
  count += 1;
  control.id ||= `field-${count}`;
  return el("div", { class: "field" }, el("label", { class: "name", for: control.id }, label), control, ...rest);
}

/** @param {Array<string | [string, string]>} options values, or values with their labels */
export function choice(options, value, change, props = {}) {
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  const node = el(
    "select",
    { ...props, onchange: () => change(node.value) },
    pairs.map(([key, words]) => el("option", { value: key }, words)),
  );
  node.value = value ?? "";
  return node;
}

export function button(words, click, props = {}) {
  return el("button", { type: "button", ...props, onclick: click }, words);
}

/** A form that Enter submits. */
export function form(send, ...children) {
  const onsubmit = (event) => {
    event.preventDefault();
    send();
  };
  return el("form", { class: "fields", noValidate: true, onsubmit }, ...children);
}

export const submit = (words) => el("button", { type: "submit", class: "primary" }, words);

/** Show below a control what is wrong with it; empty words remove the message. */
export function mark(node, words) {
  node.setAttribute("aria-invalid", String(Boolean(words)));
  const previous = node.parentElement?.querySelector(":scope > .trouble");
  previous?.remove();
  if (words) node.after(el("span", { class: "trouble wrong", role: "alert" }, words));
  return !words;
}

function problemOf({ validity, min, step, value }) {
  if (validity.badInput) return "Not saved: this is not a number.";
  if (value === "") return "";
  if (validity.rangeUnderflow) return `Not saved: use at least ${min}.`;
  return step !== "any" && !Number.isInteger(Number(value)) ? "Not saved: use a whole number." : "";
}

/** A field for a number; `change` gets null if it is empty. */
export function number(value, change, props = {}) {
  const node = el("input", {
    type: "number",
    step: "any",
    ...props,
    onchange: () => {
      if (!mark(node, problemOf(node))) return;
      node.defaultValue = node.value;
      change(node.value === "" ? null : node.valueAsNumber);
    },
  });
  if (value !== null && value !== undefined) node.defaultValue = value;
  return node;
}

export function check(words, value, change, props = {}) {
  const box = el("input", { type: "checkbox", ...props, onchange: () => change(box.checked) });
  box.checked = Boolean(value);
  return el("label", { class: "check" }, box, words);
}

/** Replace children only if `key` has changed and nobody is typing in them. */
export function renderOnce(node, key, make) {
  const text = JSON.stringify(key);
  if (node.dataset.key === text || isTypedIn(node)) return;
  const index = focusIndex(node);
  node.dataset.key = text;
  node.replaceChildren(...[make()].flat().filter(Boolean));
  restoreFocus(node, index);
}

function isTypedIn(node) {
  const focused = document.activeElement;
  return node.contains(focused) && focused.matches("input[type=number]") && (focused.validity.badInput || focused.value !== focused.defaultValue);
}

const FOCUSABLE = "input, select, textarea, button, summary, a[href]";

function focusIndex(node) {
  return [...node.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
}

function restoreFocus(node, index) {
  if (index >= 0) node.querySelectorAll(FOCUSABLE)[index]?.focus({ preventScroll: true });
}

/** A number for people: four significant digits, or as many as a range of `width` needs. */
export function show(value, width = 0) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const isLarge = size >= (Number.isInteger(value) || width > 0 ? 1e15 : 1e7);
  if (size !== 0 && (isLarge || size < 1e-4)) return value.toExponential(2);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return tidy(value, width).toLocaleString("en", { maximumFractionDigits: 8 });
}

/** A number rounded to the digits that matter in a range of `width`. */
export function tidy(value, width, digits = 4) {
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  const extra = width > 0 && width < Math.abs(value) ? Math.floor(Math.log10(Math.abs(value) / width)) : 0;
  return Number(value.toPrecision(Math.min(digits + extra, 17)));
}

export function percent(share) {
  if (typeof share !== "number") return "–";
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${Number((share * 100).toPrecision(share < 0.1 ? 2 : 3))} %`;
}

export function duration(seconds) {
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) return "";
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Announce something to screen readers. */
export function announce(words) {
  const live = byId("live");
  if (live && live.textContent !== words) live.textContent = words;
}

export function debounce(work, wait) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), wait);
  };
}

/** What one page remembers while its tab is open. */
export function remember(key, value) {
  try {
    if (value === undefined) return JSON.parse(sessionStorage.getItem(key));
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser may forbid storage; the page works without it.
  }
  return value ?? null;
}
