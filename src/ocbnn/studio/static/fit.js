/** Step 4: settings of the fit, its progress and its result. */

import { announce, button, choice, duration, el, field, number, percent, renderOnce, show } from "./dom.js";
import { resultParts, verdictWords } from "./result.js";

const CHAINS = ["chains", "warmup", "draws"];
const SETTINGS = {
  nuts: CHAINS, hmc: CHAINS, mclmc: CHAINS, "adjusted-mclmc": CHAINS, sgld: CHAINS, sghmc: CHAINS,
  "warm-start": ["iterations"], smc: ["chains", "particles", "moves", "polish"], svgd: ["particles", "iterations"],
  vi: ["iterations", "draws"], ensemble: ["members", "iterations"], laplace: ["iterations", "draws"],
};
const LABELS = { chains: "Chains", warmup: "Warm-up moves", draws: "Draws per chain", iterations: "Steps", particles: "Particles", members: "Members", moves: "Moves", steps: "Steps of a move", polish: "Last rounds", thin: "Moves per draw", step_size: "Step size", max_depth: "Depth of a move", batch_size: "Rows per step" };
const WHOLE = { min: 1, step: 1 };
const LEAST = { warmup: { min: 0, step: 1 }, step_size: { min: 0 }, decay: { min: 0 }, friction: { min: 0 } };
const STAGES = { none: "Not fitted yet.", waiting: "Waiting for another fit to finish.", running: "Fitting", done: "Fitted.", stopped: "Stopped. The draws so far are kept.", failed: "The fit failed." };

const isBusy = (fit) => ["waiting", "running"].includes(fit?.state);

function setInference(store, changes) {
  store.change((saved) => {
    const next = { ...saved.inference, ...changes };
    saved.inference = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null));
  });
}

function budget(store) {
  const { inference } = store.document;
  const given = Object.keys(inference).filter((key) => typeof inference[key] === "number");
  const keys = [...new Set([...(SETTINGS[inference.algorithm] ?? []), ...given])];
  return keys.map((key) => field(LABELS[key] ?? key.replaceAll("_", " "), number(inference[key], (value) => setInference(store, { [key]: value }), { ...LEAST[key] ?? WHOLE, placeholder: "default" })));
}

function algorithmFields(store) {
  const { inference } = store.document;
  const names = store.state.algorithms ?? ["auto"];
  const pick = choice(names.map((name) => [name, name === "auto" ? "auto: choose for me" : name]), inference.algorithm, (algorithm) => store.change((saved) => {
    saved.inference = { algorithm };
  }));
  const why = inference.algorithm === "auto" ? store.state.choice : "";
  return [field("Inference", pick), el("p", { class: "quiet why" }, why || ""), el("div", { class: "trio" }, budget(store))];
}

function noiseFields(store) {
  const { noise } = store.document.fit;
  const set = (value) => value !== null && store.change((saved) => {
    saved.fit.noise = value;
  });
  const isFixed = !["infer", "varies", undefined].includes(noise);
  const options = [["infer", "learned"], ["varies", "learned, varies with inputs"], ["given", "fixed"]];
  const pick = field("Measurement error", choice(options, isFixed ? "given" : (noise ?? "infer"), (key) => set(key === "given" ? 0.1 : key)));
  const size = isFixed && typeof noise === "number" ? field("Its size (standard deviation)", number(noise, set, { min: 0 })) : null;
  return el("div", { class: "pair" }, pick, size);
}

function moreFields(store) {
  const { fit, data } = store.document;
  const set = (key) => (value) => value !== null && store.change((saved) => {
    saved.fit[key] = value;
  });
  const shares = [[0, "none"], [0.1, "10 %"], [0.2, "20 %"], [0.3, "30 %"]];
  const current = fit.holdout ?? 0;
  if (!shares.some(([share]) => share === current)) shares.push([current, percent(current)]);
  const holdout = choice(shares.map(([share, words]) => [String(share), words]), String(current), (value) => set("holdout")(Number(value)));
  return [
    data.task === "regression" && noiseFields(store),
    el("div", { class: "pair" }, field("Rows held out for scores", holdout), field("Seed", number(fit.seed, set("seed"), { min: 0, step: 1 }))),
  ];
}

function progressWords(fit) {
  if (fit.message || !isBusy(fit)) return fit.message || STAGES[fit.state] || "";
  const parts = [fit.stage || STAGES[fit.state]];
  if (fit.rate) parts.push(`${show(Number(fit.rate.toPrecision(2)))} moves a second`);
  if (fit.note) parts.push(fit.note);
  if (fit.left) parts.push(`about ${duration(fit.left)} left`);
  const words = `${parts.join(", ").replace(/\.$/, "")}.`;
  return words[0].toUpperCase() + words.slice(1);
}

class Runner {
  constructor(store, display) {
    Object.assign(this, { store, display, trouble: "", isAsking: false });
    this.bar = el("progress", { max: 1, value: 0, "aria-label": "Progress of the fit" });
    this.words = el("output", { class: "message two" });
    this.stale = el("p", { class: "stale" });
    this.start = button("Fit", () => this.#fit(false), { class: "primary" });
    this.quick = button("Quick look", () => this.#fit(true));
    this.stop = button("Stop and keep", () => this.#ask(() => store.post("cancel")));
    this.node = el("div", { class: "runner" }, el("div", { class: "row" }, this.start, this.quick, this.stop), this.bar, this.words, this.stale);
    this.announced = "";
  }

  async #ask(work) {
    this.trouble = "";
    this.isAsking = true;
    this.render();
    try {
      await work();
    } catch (error) {
      this.trouble = error.message;
    }
    this.isAsking = false;
    this.render();
  }

  #fit(quick) {
    this.#ask(async () => {
      await this.store.flush();
      if (this.store.isDirty) throw new Error("The study cannot be fitted before it is saved.");
      await this.store.post("fit", { quick });
      this.display.set({ prior: false, with: true, without: true });
    });
  }

  render() {
    const fit = this.store.state.fit ?? { state: "none" };
    const busy = isBusy(fit);
    this.start.disabled = busy || this.isAsking;
    this.quick.disabled = busy || this.isAsking;
    this.stop.disabled = !busy;
    this.#renderBar(fit, busy);
    this.words.textContent = this.trouble || progressWords(fit);
    this.words.classList.toggle("wrong", Boolean(this.trouble) || fit.state === "failed");
    this.stale.textContent = fit.stale && !busy ? "Rules, data or settings have changed since this fit." : "";
    this.#announce(fit, busy);
  }

  /** Announce each stage, and at the end the verdict, which arrives a moment later. */
  #announce(fit, busy) {
    const message = busy ? fit.stage || STAGES[fit.state] : `${STAGES[fit.state] ?? ""} ${verdictWords(this.store.state.result)}`;
    if (message !== this.announced && this.announced) announce(message);
    this.announced = message;
  }

  #renderBar(fit, busy) {
    this.bar.classList.toggle("idle", !busy);
    if (busy && typeof fit.share !== "number") this.bar.removeAttribute("value");
    else this.bar.value = busy ? fit.share : fit.state === "done" ? 1 : (fit.share ?? 0);
  }
}

export function setUpFit(node, store, display) {
  const runner = new Runner(store, display);
  const algorithm = el("div");
  const more = el("div");
  const result = el("div", { class: "result" });
  node.replaceChildren(algorithm, el("details", {}, el("summary", {}, "Measurement error, held-out rows, seed"), more), runner.node, result);
  const render = () => {
    const { inference, fit, data } = store.document;
    renderOnce(algorithm, [inference, store.state.choice], () => algorithmFields(store));
    renderOnce(more, [fit, data.task], () => moreFields(store));
    renderResult();
    runner.render();
  };
  const renderResult = () => {
    const isOld = Boolean(store.state.fit?.old);
    result.classList.toggle("old", isOld);
    renderOnce(result, [store.state.result ?? 0, isOld], () => resultParts(store.state.result, isOld));
  };
  store.on("state document", render);
  store.on("fit", () => {
    renderResult();
    runner.render();
  });
}
