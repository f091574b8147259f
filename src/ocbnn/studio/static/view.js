/** The strip below the plot: along which inputs to look, the others' values, and layers. */

import { check, choice, el, field, number, renderOnce, show } from "./dom.js";
import { styleOf } from "./traces.js";

export const column = (store, name) => store.state.table.columns.find((one) => one.name === name);

/** Inputs that are amounts, so that one can look along them. */
export function amounts(store) {
  const { inputs, categories = [] } = store.document.data;
  return inputs.filter((name) => !categories.includes(name) && column(store, name)?.kind !== "text");
}

export const isClasses = (store) => store.document.data.task === "classification";

/** The view, with something wherever it is silent. */
export function viewOf(store) {
  const { view, data } = store.document;
  return {
    along: view?.along?.length ? view.along : amounts(store).slice(0, 1),
    at: view?.at ?? {},
    output: view?.output ?? [data.output].flat()[0],
    ranges: view?.ranges ?? {},
  };
}

export function middle(store, name) {
  const about = column(store, name);
  if (!about) return 0;
  if (about.kind === "text" || (store.document.data.categories ?? []).includes(name)) return about.levels?.[0] ?? "";
  return Number((((about.low ?? 0) + (about.high ?? 1)) / 2).toPrecision(3));
}

export function changeView(store, edit, wait) {
  store.change((saved) => {
    const view = structuredClone(viewOf(store));
    edit(view);
    for (const name of saved.data.inputs) {
      if (!view.along.includes(name)) view.at[name] ??= middle(store, name);
    }
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
  const parts = [field("Along", choice(names, first, (name) => lookAlong(store, [name, name === second ? "" : second])))];
  if (others.length) {
    const options = [["", "nothing else"], ...others.map((name) => [name, name])];
    parts.push(field("and", choice(options, second ?? "", (name) => lookAlong(store, [first, name]))));
  }
  const outputs = [store.document.data.output].flat();
  if (outputs.length > 1) {
    parts.push(field("Output", choice(outputs, view.output, (name) => changeView(store, (it) => {
      it.output = name;
      it.ranges = {};
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
      box.value = Number(range.valueAsNumber.toPrecision(4));
    },
    onchange: () => set(Number(range.valueAsNumber.toPrecision(4))),
  });
  return el("div", { class: "at" }, field(name, range), box);
}

function otherField(store, view, name) {
  const about = column(store, name);
  const value = view.at[name] ?? middle(store, name);
  const named = about?.kind === "text" || (store.document.data.categories ?? []).includes(name);
  if (!named) return slider(store, name, about, value);
  const levels = (about?.levels ?? [value]).map(String);
  return field(name, choice(levels, String(value), (level) => changeView(store, (it) => {
    it.at[name] = about.kind === "text" ? level : Number(level);
  })));
}

function others(store, view) {
  const names = store.document.data.inputs.filter((name) => !view.along.includes(name));
  if (!names.length) return null;
  const values = names.map((name) => {
    const value = view.at[name] ?? middle(store, name);
    return `${name} ${typeof value === "number" ? show(value) : value}`;
  });
  return el(
    "details",
    { class: "others", open: names.length < 3 },
    el("summary", {}, `Others at: ${values.join(", ")}`),
    el("div", { class: "ats" }, names.map((name) => otherField(store, view, name))),
  );
}

function rangeFields(store, view, name) {
  const [low, high] = view.ranges[name] ?? [null, null];
  const set = (place) => (value) => value !== null && changeView(store, (it) => {
    const range = [...(it.ranges[name] ?? [value, value])];
    range[place] = value;
    if (range[0] < range[1]) it.ranges[name] = range;
  });
  const tidy = (value) => (value === null ? null : Number(value.toPrecision(4)));
  return el(
    "span",
    { class: "range" },
    field(`${name} from`, number(tidy(low), set(0))),
    field("to", number(tidy(high), set(1), { "aria-label": `${name} to` })),
  );
}

function ranges(store, view) {
  const names = isClasses(store) || view.along.length > 1 ? view.along : [...view.along, view.output];
  return el("details", { class: "ranges" }, el("summary", {}, "Edges of the plot"), el("div", { class: "ats" }, names.map((name) => rangeFields(store, view, name))));
}

function layerCheck(display, key, words, dash) {
  const label = check(words, display.show[key], (on) => display.set({ [key]: on }));
  const swatch = el("i", { class: `swatch ${dash}`, "aria-hidden": "true" });
  if (key !== "data") swatch.style.borderColor = styleOf(key).colour;
  label.insertBefore(swatch, label.childNodes[1]);
  return label;
}

function layers(store, display, hasMap) {
  return el(
    "div",
    { class: "layers", role: "group", "aria-label": "What to show" },
    layerCheck(display, "data", "data", "dot"),
    layerCheck(display, "prior", "before the data", "dotted"),
    layerCheck(display, "with", "with rules", "solid"),
    layerCheck(display, "without", "without rules", "dashed"),
    check("side by side", display.show.side, (side) => display.set({ side })),
    hasMap && mapField(store, display),
  );
}

function mapField(store, display) {
  const labels = column(store, viewOf(store).output)?.levels ?? [];
  const options = isClasses(store)
    ? labels.map((label) => [String(label), `probability of ${label}`])
    : [["mean", "mean"], ["sd", "spread"]];
  const now = options.some(([key]) => key === display.show.map) ? display.show.map : options[0]?.[0];
  return field("Map of", choice(options, now, (map) => display.set({ map })));
}

export function setUpView(node, store, display) {
  const top = el("div", { class: "row" });
  const below = el("div", { class: "row below" });
  node.replaceChildren(top, below);
  const render = () => {
    const view = viewOf(store);
    const { data } = store.document;
    const theme = document.documentElement.dataset.theme;
    renderOnce(top, [view.along, view.output, data, display.show, theme], () => [
      ...alongFields(store, view),
      layers(store, display, view.along.length > 1),
    ]);
    renderOnce(below, [view, data], () => keepOpen(below, [others(store, view), ranges(store, view)]));
  };
  store.on("state document", render);
  display.addEventListener("show", render);
  document.addEventListener("theme", () => store.state && render());
}

/** What was open stays open when the fields are made anew. */
function keepOpen(node, made) {
  for (const part of made.filter(Boolean)) {
    const before = node.querySelector(`details.${part.className}`);
    if (before) part.open = before.open;
  }
  return made;
}
