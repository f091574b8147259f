/** Drawings on the plot become rules, and moving a box changes its rule. */

import { button, byId, el } from "./dom.js";
import { askRegion } from "./region.js";
import { addRule, canUndo, editRule, undo } from "./rulebook.js";
import { changeView, isClasses, shownNames, viewOf } from "./view.js";

const HINTS = {
  move: "Drag to move the view. Drag a box of a rule, or its edges, to change the rule.",
  forbid: "Drag a box that the output must avoid, or use Add a rule.",
  band: "Drag a box that the output must stay inside, or use Add a rule.",
  curve: "Draw the curve you expect, from left to right, or use Add a rule.",
  region: "Drag a box over the region of inputs, then say what holds there; or use Add a rule.",
};

const MESSAGE_MS = 8000;

function toolsFor(store) {
  if (isClasses(store) || viewOf(store).along.length > 1) return [["move", "Move view"], ["region", "Mark a region"]];
  return [["move", "Move view"], ["forbid", "Forbid a box"], ["band", "Keep inside a band"], ["curve", "Expect a curve"]];
}

/** The points of a path such as "M1,2L3,4"; each curve segment ends in a point. */
export function points(path) {
  const steps = path.match(/[MLQC][^MLQCZ]*/g) ?? [];
  return steps.map((step) => step.slice(1).trim().split(/[\s,]+/).map(Number).slice(-2)).filter((point) => point.every(Number.isFinite));
}

const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

const sorted = (a, b) => [Math.min(a, b), Math.max(a, b)];

export class Drawing {
  constructor(store, sources, display) {
    Object.assign(this, { store, sources, display });
    this.words = "";
    this.isWrong = false;
    store.on("state document", () => this.render());
    store.on("refused", (words) => this.say(words, true));
    store.on("saved", ({ words }) => words === "Saved" && this.isWrong && this.say(""));
    sources.addEventListener("change", () => this.render());
    display.addEventListener("tool", () => this.render());
    display.addEventListener("show", () => this.render());
  }

  /** Show a message for a while; an error stays until the next action. */
  say(words, isWrong = false) {
    this.words = words;
    this.isWrong = isWrong;
    clearTimeout(this.timer);
    if (words && !isWrong) this.timer = setTimeout(() => this.say(""), MESSAGE_MS);
    this.render();
  }

  render() {
    const tools = toolsFor(this.store);
    if (!tools.some(([key]) => key === this.display.tool)) this.display.tool = "move";
    this.#renderTools(tools);
    const { error, priorError } = this.sources;
    const hint = byId("hint");
    const problem = sentence(this.store.state.problem || error || (this.display.show.prior && priorError) || "");
    const words = (this.isWrong && this.words) || problem || this.words || HINTS[this.display.tool];
    if (hint.textContent !== words) hint.textContent = words;
    hint.classList.toggle("wrong", Boolean(words) && words === problem || (this.isWrong && words === this.words));
  }

  #renderTools(tools) {
    const bar = byId("tools");
    const key = JSON.stringify(tools);
    if (bar.dataset.key !== key) {
      bar.dataset.key = key;
      const take = (tool) => () => {
        this.say("");
        this.display.take(tool);
      };
      bar.replaceChildren(
        ...tools.map(([tool, words]) => button(words, take(tool), { class: "tool", "data-tool": tool })),
        el("span", { class: "space" }),
        button("Undo", () => this.#undo(), { class: "tool", "data-undo": "" }),
        button("+", () => this.#zoom(0.7), { class: "tool", "aria-label": "Zoom in", title: "Zoom in" }),
        button("−", () => this.#zoom(1 / 0.7), { class: "tool", "aria-label": "Zoom out", title: "Zoom out" }),
        button("Reset view", () => this.#reset(), { class: "tool" }),
      );
    }
    for (const node of bar.querySelectorAll("[data-tool]")) {
      node.setAttribute("aria-pressed", String(node.dataset.tool === this.display.tool));
    }
    bar.querySelector("[data-undo]").disabled = !canUndo();
  }

  #undo() {
    undo(this.store);
    this.say(canUndo() ? "" : "There is nothing more to undo.");
  }

  /** Escape puts a tool away. Ctrl-Z undoes, except in a field. */
  onKey(event) {
    if (event.key === "Escape" && this.display.tool !== "move" && !byId("dialog").open) {
      this.display.take("move");
      return;
    }
    const isField = event.target.closest?.("input, textarea, select, dialog");
    if (isField || event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || !canUndo()) return;
    event.preventDefault();
    this.#undo();
  }

  /** @param {Record<string, any>} event of Plotly, after drawing, moving or zooming */
  onPlotEvent(event, graph, plot) {
    if (event.reset) return this.#reset();
    if (Array.isArray(event.shapes)) return this.#drawn(event.shapes.at(-1), plot);
    const moved = Object.keys(event).map((key) => key.match(/^shapes\[(\d+)\]\./)?.[1]).find(Boolean);
    if (moved !== undefined) return this.#moved(Number(moved), graph, plot);
    return this.#zoomed(event);
  }

  async #drawn(shape, plot) {
    const { tool } = this.display;
    this.display.take("move");
    try {
      const body = tool === "curve" ? this.#curve(shape) : await this.#box(shape, tool);
      if (body) {
        const { text } = await this.store.post("drawn", body);
        addRule(this.store, text, body.kind);
        const isBox = body.kind !== "curve" && (body.kind !== "class" || body.y);
        const how = isBox ? "Drag its edges to change it." : "Change it there, as text.";
        this.say(`The rule is in the list. ${how}`);
      }
    } catch (error) {
      this.say(error.message, true);
    }
    plot.draw();
  }

  #curve(shape) {
    const drawn = shape.path ? points(shape.path) : [];
    if (drawn.length < 2) throw new Error("That line is too short. Draw a longer one, from left to right.");
    return { kind: "curve", view: viewOf(this.store), points: drawn, sd: null };
  }

  async #box(shape, tool) {
    const x = sorted(shape.x0, shape.x1);
    const y = sorted(shape.y0, shape.y1);
    const view = viewOf(this.store);
    if (tool !== "region") return { kind: tool, view, x, y };
    const claim = await askRegion(this.store, view);
    return claim && { view, x, y: view.along.length > 1 ? y : null, ...claim };
  }

  async #moved(index, graph, plot) {
    const { rule, checked } = plot.boxes[index] ?? {};
    const shape = graph.layout.shapes[index];
    if (!rule || !shape) return;
    const { ranges } = plot;
    const sides = { x: sorted(shape.x0, shape.x1), y: sorted(shape.y0, shape.y1) };
    for (const side of ["x", "y"]) sides[side] = keepOpen(checked.shape[side], sides[side], ranges[side]);
    try {
      const { text } = await this.store.post("moved", { text: rule.text, shape: { ...checked.shape, ...sides }, view: viewOf(this.store) });
      checked.shape = { ...checked.shape, ...sides };
      editRule(this.store, rule.id, { text });
      this.say("The rule follows its box. Undo reverts it.");
    } catch (error) {
      this.say(error.message, true);
    }
    plot.draw();
  }

  #zoomed(event) {
    const [first, second] = shownNames(this.store);
    const names = { xaxis: first, yaxis: second };
    const edges = Object.entries(names).flatMap(([axis, name]) => {
      const low = event[`${axis}.range[0]`] ?? event[`${axis}.range`]?.[0];
      const high = event[`${axis}.range[1]`] ?? event[`${axis}.range`]?.[1];
      return name && Number.isFinite(low) && Number.isFinite(high) ? [[name, [low, high]]] : [];
    });
    if (edges.length) changeView(this.store, (view) => Object.assign(view.ranges, Object.fromEntries(edges)));
  }

  #zoom(factor) {
    changeView(this.store, (view) => {
      for (const name of shownNames(this.store)) {
        const [low, high] = view.ranges[name] ?? [];
        if (low === undefined) continue;
        const half = ((high - low) / 2) * factor;
        view.ranges[name] = [(low + high) / 2 - half, (low + high) / 2 + half];
      }
    });
  }

  #reset() {
    changeView(this.store, (view) => {
      view.ranges = {};
    });
  }
}

/** A side that was open stays open while it still ends at the edge of the plot. */
function keepOpen(before, now, range) {
  if (!before) return null;
  const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a));
  return now.map((value, i) => (before[i] === null && near(value, range[i]) ? null : value));
}
