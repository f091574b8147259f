/** The strip below the plot: the inputs to look along, values of the others, and layers. */

import { check, choice, el, field, number, renderOnce, show, tidy } from "./dom.js";
import { styleOf } from "./traces.js";

export const column = (store, name) => store.state.table.columns.find((other) => other.name === name);

/** The range of a column, which decides how many digits of a value matter. */
export const widthOf = (about) => (about?.high ?? 0) - (about?.low ?? 0);

/** Numeric inputs, along which one can look. */
export function amounts(store) {
  const { inputs, categories = [] } = store.document.data;
  return inputs.filter((name) => !categories.includes(name) && column(store, name)?.kind === "number");
}

export const isClasses = (store) => store.document.data.task === "classification";

/** The view, with defaults for what it leaves open. */
export function viewOf(store) {
  const { view, data } = store.document;
  return {
    along: view?.along?.length ? view.along : amounts(store).slice(0, 1),
    at: view?.at ?? {},
    output: view?.output ?? [data.output].flat()[0],
    ranges: view?.ranges ?? {},
  };
}

/** How many of the rows a plot shows. */
export function rowsShown({ shown, rows }) {
  return shown < rows ? `${show(shown)} of ${show(rows)} rows` : `${show(rows)} ${rows === 1 ? "row" : "rows"}`;
}

/** The names of the axes whose range can be set. */
export function shownNames(store) {
  const view = viewOf(store);
  return isClasses(store) || view.along.length > 1 ? view.along : [...view.along, view.output];
}

/** Classes that the output can be. */
export const labelsOf = (store) => store.state.classes ?? column(store, viewOf(store).output)?.levels ?? [];

/** Change the view; the server fills in what it leaves out, such as medians and ranges. */
export function changeView(store, edit, wait) {
  store.change((saved) => {
    const view = structuredClone(viewOf(store));
    edit(view);
    saved.view = view;
  }, wait);
}

function lookAlong(store, names) {
  changeView(store, (view) => {
    view.along = names.filter(Boolean);
    view.ranges = {};
  });
}

function alongFields(store, view) {
  const names = amounts(store);
  const [first, second] = view.along;
  const others = names.filter((name) => name !== first);
  const parts = [field("Along", choice(names, first, (name) => lookAlong(store, [name, name === second ? "" : second]), { "aria-label": "Look along" }))];
  if (others.length) {
    const options = [["", "no other input"], ...others.map((name) => [name, name])];
    parts.push(field("and", choice(options, second ?? "", (name) => lookAlong(store, [first, name]), { "aria-label": "And along" })));
  }
  const outputs = [store.document.data.output].flat();
  if (outputs.length > 1) {
    parts.push(field("Output", choice(outputs, view.output, (name) => changeView(store, (draft) => {
      draft.output = name;
      draft.ranges = {};
    }))));
  }
  return parts;
}

function slider(store, name, about, value) {
  const set = (chosen) => changeView(store, (view) => {
    view.at[name] = chosen;
  });
  const box = number(value, (chosen) => chosen !== null && set(chosen), { "aria-label": `${name}, as a number` });
  const low = about?.low ?? 0;
  const high = about?.high ?? 1;
  const range = el("input", {
    type: "range", min: low, max: high, step: "any", value,
    oninput: () => {
      box.value = tidy(range.valueAsNumber, high - low);
    },
    onchange: () => set(tidy(range.valueAsNumber, high - low)),
  });
  return el("div", { class: "at" }, field(name, range), box);
}

/** A column of names is one input per name, each 1 or 0: `colour=red`. */
function namesField(store, view, name, inputs) {
  const levels = inputs.map((input) => input.slice(name.length + 1));
  const current = levels[inputs.findIndex((input) => view.at[input] > 0.5)] ?? "";
  const options = current ? levels : [["", "none of them"], ...levels.map((level) => [level, level])];
  return field(name, choice(options, current, (level) => changeView(store, (draft) => {
    for (const input of inputs) draft.at[input] = input === `${name}=${level}` ? 1 : 0;
  })));
}

/** The names in a column of names, as the view has them. */
export function levelsOf(store, name) {
  const inputs = Object.keys(viewOf(store).at).filter((input) => input.startsWith(`${name}=`));
  return inputs.map((input) => input.slice(name.length + 1));
}

/** The held inputs, grouped by column of names. */
function heldInputs(store, view) {
  const names = store.document.data.categories ?? [];
  const groups = new Map();
  for (const input of Object.keys(view.at)) {
    if (view.along.includes(input)) continue;
    const owner = names.find((name) => input.startsWith(`${name}=`)) ?? null;
    groups.set(owner ?? input, [...(groups.get(owner ?? input) ?? []), input]);
  }
  return [...groups].map(([name, inputs]) => ({ name, inputs, isNames: names.includes(name) }));
}

function heldFields(store, view) {
  const groups = heldInputs(store, view);
  if (!groups.length) return null;
  const words = groups.map(({ name, inputs, isNames }) => {
    const level = inputs.find((input) => view.at[input] > 0.5)?.slice(name.length + 1) ?? "none";
    return `${name} ${isNames ? level : show(view.at[name], widthOf(column(store, name)))}`;
  });
  const fields = groups.map(({ name, inputs, isNames }) =>
    isNames ? namesField(store, view, name, inputs) : slider(store, name, column(store, name), tidy(view.at[name], widthOf(column(store, name)))));
  return el(
    "details",
    { class: "others", open: groups.length < 3 },
    el("summary", { title: words.join(", ") }, `Others at: ${words.join(", ")}`),
    el("div", { class: "ats" }, fields),
  );
}

function rangeFields(store, view, name) {
  const [low, high] = view.ranges[name] ?? [null, null];
  const set = (place) => (value) => value !== null && changeView(store, (draft) => {
    const range = [...(draft.ranges[name] ?? [value, value])];
    range[place] = value;
    if (range[0] < range[1]) draft.ranges[name] = range;
  });
  return el(
    "span",
    { class: "range" },
    field(`${name} from`, number(tidy(low, high - low), set(0))),
    field("to", number(tidy(high, high - low), set(1), { "aria-label": `${name} to` })),
  );
}

function ranges(store, view) {
  const names = shownNames(store);
  return el("details", { class: "ranges" }, el("summary", {}, "Edges of the plot"), el("div", { class: "ats" }, names.map((name) => rangeFields(store, view, name))));
}

function layerCheck(display, key, words, dash) {
  const label = check(words, display.show[key], (on) => display.set({ [key]: on }));
  const swatch = el("i", { class: `swatch ${dash}`, "aria-hidden": "true" });
  if (key !== "data") swatch.style.borderColor = styleOf(key).colour;
  label.insertBefore(swatch, label.childNodes[1]);
  return label;
}

function layers(store, rows, display, hasMap) {
  return el(
    "div",
    { class: "layers", role: "group", "aria-label": "What to show" },
    layerCheck(display, "data", rows && rows.shown < rows.rows ? `data (${rowsShown(rows)})` : "data", "dot"),
    layerCheck(display, "prior", "before the data", "dotted"),
    layerCheck(display, "with", "with rules", "solid"),
    layerCheck(display, "without", "without rules", "dashed"),
    check("side by side", display.show.side, (side) => display.set({ side })),
    hasMap && mapField(store, display),
  );
}

// No label begins with a space, because tables are read without them.
const PREDICTED = " predicted";

function mapField(store, display) {
  const labels = labelsOf(store);
  const probabilities = labels.map(String).map((label) => [label, `probability of ${label}`]);
  const options = isClasses(store) ? [[PREDICTED, "the predicted class"], ...probabilities] : [["mean", "mean"], ["sd", "spread"]];
  const current = options.some(([key]) => key === display.show.map) ? display.show.map : options[0]?.[0];
  return field("Map of", choice(options, current, (map) => display.set({ map })));
}

export function setUpView(node, store, sources, display) {
  const top = el("div", { class: "row" });
  const below = el("div", { class: "row below" });
  node.replaceChildren(top, below);
  const render = () => {
    const view = viewOf(store);
    const { data } = store.document;
    const theme = document.documentElement.dataset.theme;
    renderOnce(top, [view.along, view.output, data, sources.rows?.shown, display.show, theme], () => [
      ...alongFields(store, view),
      layers(store, sources.rows, display, view.along.length > 1),
    ]);
    renderOnce(below, [view, data], () => keepOpen(below, [heldFields(store, view), ranges(store, view)]));
  };
  store.on("state document", render);
  display.addEventListener("show", render);
  sources.addEventListener("change", render);
  document.addEventListener("theme", () => store.state && render());
}

/** Keep open parts open when the fields are rebuilt. */
function keepOpen(node, made) {
  for (const part of made.filter(Boolean)) {
    const before = node.querySelector(`details.${part.className}`);
    if (before) part.open = before.open;
  }
  return made;
}
