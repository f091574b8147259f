/** One plot, or two side by side, of everything in the view. */

import { byId, el } from "./dom.js";
import { catchEdges } from "./edges.js";
import { axis, faded, hue, page } from "./look.js";
import { belowClasses, endsOf, functionTraces, layerTraces, rowTraces } from "./traces.js";
import { isClasses, labelsOf, rowsShown, viewOf } from "./view.js";

const { Plotly } = window;
const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, doubleClick: false, showTips: false, edits: { shapePosition: true } };
const DRAG = { move: "pan", forbid: "drawrect", band: "drawrect", region: "drawrect", curve: "drawopenpath" };
const NAMES = { prior: "Before the data", with: "With your rules", without: "Without rules" };
const WHICH = ["prior", "without", "with"];

/** Edges that a rule leaves open extend to the edge of the plot. */
function within(edges, range) {
  const [low, high] = edges ?? [null, null];
  return [low ?? range?.[0], high ?? range?.[1]];
}

function shapeOf(checked, rule, ranges) {
  const [x0, x1] = within(checked.shape.x, ranges.x);
  const [y0, y1] = within(checked.shape.y, ranges.y);
  const colour = hue(rule.colour);
  return {
    type: "rect", name: rule.id, x0, x1, y0, y1, layer: "above",
    line: { color: colour, width: 3, dash: checked.shape.kind === "forbid" ? "solid" : "dash" },
    fillcolor: faded(colour, 0.03),
  };
}

export class Plot {
  /** @param {(shapes: object[], edges: object) => void} onEvent called for every event */
  constructor(store, sources, display, onEvent) {
    Object.assign(this, { store, sources, display, onEvent });
    this.panes = ["one", "two"].map((name) => ({
      figure: byId(`pane-${name}`), caption: byId(`caption-${name}`), graph: byId(`graph-${name}`), isReady: false,
    }));
    this.waiting = false;
    const later = () => this.draw();
    store.on("state document", later);
    sources.addEventListener("change", later);
    display.addEventListener("show", later);
    display.addEventListener("tool", later);
    document.addEventListener("theme", later);
  }

  /** Draw at most once per frame. */
  draw() {
    if (this.waiting || !this.store.state) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.#drawNow();
    });
  }

  get ranges() {
    const view = viewOf(this.store);
    const [first, second] = view.along;
    const y = second ? view.ranges[second] : isClasses(this.store) ? [belowClasses(this.#labels().length), 1.03] : view.ranges[view.output];
    return { x: view.ranges[first], y };
  }

  /** Rules that are plain boxes in this view, in the order of the plot's shapes. */
  get boxes() {
    const { state, document: saved } = this.store;
    return saved.rules.flatMap((rule) => {
      const checked = state.rules?.find((line) => line.id === rule.id);
      return rule.on && checked?.shape ? [{ rule, checked }] : [];
    });
  }

  #plans() {
    const { show } = this.display;
    const shown = WHICH.filter((which) => show[which] && this.sources[which]);
    // Until a fit has something to show, show the prior it starts from.
    if (!shown.length && this.sources.isRunning && this.sources.prior) shown.push("prior");
    const isMap = viewOf(this.store).along.length > 1;
    if (!show.side) return [isMap ? { words: NAMES[shown.at(-1)] ?? "", whiches: shown.slice(-1) } : { words: "", whiches: shown }];
    const left = shown.filter((which) => which !== "without");
    const right = shown.filter((which) => which === "without");
    return [
      { words: left.join() === "prior" ? NAMES.prior : NAMES.with, whiches: isMap ? left.slice(-1) : left },
      { words: NAMES.without, whiches: right },
    ];
  }

  #drawNow() {
    const plans = this.#plans();
    this.ends = endsOf(plans.flatMap(({ whiches }) => whiches.map((which) => this.sources[which])), this.display.show.map);
    this.panes[1].figure.hidden = plans.length < 2;
    byId("plot").classList.toggle("two", plans.length > 1);
    plans.forEach((plan, i) => this.#drawPane(this.panes[i], plan, i > 0));
  }

  #drawPane(pane, plan, isPlain) {
    const bands = this.#bands(plan);
    pane.caption.replaceChildren(...[plan.words, bands && el("span", { class: "bands" }, bands)].filter(Boolean));
    pane.figure.setAttribute("aria-label", this.#words(plan));
    Plotly.react(pane.graph, this.#traces(plan), this.#layout(isPlain), CONFIG);
    if (pane.isReady) return;
    pane.isReady = true;
    catchEdges(pane.graph, () => this.display.tool === "move");
    pane.graph.on("plotly_relayout", (event) => this.onEvent(event, pane.graph));
    pane.graph.on("plotly_doubleclick", () => this.onEvent({ reset: true }, pane.graph));
    new ResizeObserver(() => pane.graph.clientWidth && Plotly.Plots.resize(pane.graph)).observe(pane.graph);
  }

  #traces(plan) {
    const { show } = this.display;
    const view = viewOf(this.store);
    const functions = plan.whiches.map((which, i) => functionTraces(this.sources[which], which, { chosen: show.map, withLegend: i === 0, output: view.output, ends: this.ends }));
    const isMap = view.along.length > 1;
    const rules = this.#layers();
    const rows = show.data ? rowTraces(this.sources.rows, {
      view, isClasses: isClasses(this.store), inputs: this.store.document.data.inputs.length, labels: this.#labels(),
    }) : [];
    return (isMap ? [...functions, ...rules, ...rows] : [...rules, ...functions, ...rows]).flat();
  }

  #layers() {
    const { rules } = this.store.document;
    return this.sources.layers.flatMap((layer) => {
      const rule = rules.find((other) => other.id === layer.id);
      return rule?.on === false || !rule ? [] : [layerTraces({ ...layer, colour: rule.colour })];
    });
  }

  #labels() {
    const classes = WHICH.map((which) => this.sources[which]?.classes).find(Boolean);
    return classes ?? labelsOf(this.store);
  }

  #layout(isPlain) {
    const view = viewOf(this.store);
    const { x, y } = this.ranges;
    const [first, second] = view.along;
    const title = second ?? (isClasses(this.store) ? `probability of ${view.output}` : view.output);
    const { tool } = this.display;
    const yaxis = axis(title, y);
    if (!second && isClasses(this.store)) Object.assign(yaxis, { tickvals: [0, 0.25, 0.5, 0.75, 1], tickformat: ".0%" });
    return {
      ...page(),
      xaxis: axis(first, x),
      yaxis,
      dragmode: isPlain && tool !== "move" ? false : DRAG[tool],
      newshape: { line: { color: hue(tool === "forbid" ? 5 : 2), width: 2 }, fillcolor: faded(hue(tool === "forbid" ? 5 : 2), 0.2) },
      // While a tool is selected, boxes cannot be moved; their areas stay visible as layers.
      shapes: isPlain || tool !== "move" ? [] : this.boxes.map(({ rule, checked }) => shapeOf(checked, rule, { x, y })),
    };
  }

  /** The legend of the plot's bands. */
  #bands({ words, whiches }) {
    const summaries = whiches.map((which) => [which, this.sources[which]]).filter(([, summary]) => ["curve", "classes"].includes(summary?.kind));
    if (!summaries.length) return "";
    const isWide = summaries.some(([which, summary]) => which !== "prior" && summary.kind === "curve" && summary.low);
    return `${words ? " · " : ""}${isWide ? "Dark band: 95 % of functions. Pale band: 95 % of new rows." : "Band: 95 % of functions."}`;
  }

  #words(plan) {
    const view = viewOf(this.store);
    const names = { prior: "functions before the data", with: "the fit with your rules", without: "the fit without rules" };
    const parts = plan.whiches.map((which) => names[which]);
    const rules = this.store.document.rules.filter((rule) => rule.on).length;
    if (this.display.show.data && this.sources.rows) parts.push(`${rowsShown(this.sources.rows)} of data`);
    parts.push(`${rules} ${rules === 1 ? "rule" : "rules"}`);
    return `Plot of ${view.output} along ${view.along.join(" and ")}: ${parts.join(", ")}.`;
  }
}
