/** Everything on the plot that the server computes, requested only after changes. */

import { latest, request } from "./api.js";

const RUNNING = ["waiting", "running"];

/** Emits "change" when something to draw arrives, and "prior" when the prior's state changes. */
export class Sources extends EventTarget {
  #keys = {};
  #requests = { layers: latest(), prior: latest(), posterior: latest() };
  #fits = 0;
  #wasRunning = false;

  constructor(store, display) {
    super();
    this.store = store;
    this.display = display;
    this.rows = null;
    this.layers = [];
    this.prior = null;
    this.with = null;
    this.without = null;
    this.priorBusy = false;
    this.priorWords = "";
    this.priorError = "";
    this.error = "";
    store.on("state", () => this.refresh());
    store.on("fit", () => this.#onFit());
    store.on("bands", (bands) => this.#onBands(bands));
    display.addEventListener("show", () => this.refresh());
  }

  get isRunning() {
    return RUNNING.includes(this.store.state?.fit?.state);
  }

  refresh() {
    const { document: saved } = this.store.state;
    const rules = saved.rules.map(({ id, text, on, colour }) => [id, text, on, colour]);
    const { view, data, network, fit } = saved;
    this.#once("rows", [data], () => this.#askRows());
    this.#once("layers", [rules, view, data], () => this.#askLayers(view));
    if (this.display.show.prior) {
      const texts = saved.rules.filter((rule) => rule.on).map((rule) => rule.text);
      this.#once("prior", [texts, view, data, network, fit?.noise, fit?.seed], () => this.#askPrior(view));
    }
    if (this.store.state.result && !this.isRunning) {
      this.#once("posterior", [view, this.#fits], () => this.#askPosterior(view));
    }
  }

  #once(name, key, ask) {
    const text = JSON.stringify(key);
    if (this.#keys[name] === text) return;
    this.#keys[name] = text;
    ask();
  }

  #emit(name = "change") {
    this.dispatchEvent(new Event(name));
  }

  async #askRows() {
    try {
      this.rows = await request("GET", `${this.store.path}/rows`);
      this.#emit();
    } catch (error) {
      this.#fail("rows", error);
    }
  }

  async #askLayers(view) {
    try {
      const answer = await this.#requests.layers.ask(`${this.store.path}/layers`, { view });
      if (!answer) return;
      this.layers = answer.layers ?? [];
      this.error = "";
      this.#emit();
    } catch (error) {
      this.layers = [];
      this.#fail("layers", error);
    }
  }

  async #askPrior(view) {
    this.priorBusy = true;
    this.#emit("prior");
    try {
      const answer = await this.#requests.prior.ask(`${this.store.path}/prior`, { view });
      if (!answer) return;
      this.prior = answer;
      this.priorError = "";
      this.priorWords = answer.note ?? "";
    } catch (error) {
      this.prior = null;
      this.priorError = error.message;
    }
    this.priorBusy = false;
    this.#emit("prior");
    this.#emit();
  }

  async #askPosterior(view) {
    try {
      const answer = await this.#requests.posterior.ask(`${this.store.path}/posterior`, { view });
      if (!answer) return;
      this.with = answer.with ?? null;
      this.without = answer.without ?? null;
      this.error = "";
      this.#emit();
    } catch (error) {
      this.#fail("posterior", error);
    }
  }

  #fail(name, error) {
    this.#keys[name] = "";
    this.error = error.message;
    this.#emit();
  }

  #onFit() {
    if (this.isRunning && !this.#wasRunning) {
      this.#fits += 1;
      this.#requests.posterior.stop();
      this.with = null;
      this.without = null;
      this.#emit();
    }
    this.#wasRunning = this.isRunning;
  }

  #onBands(bands) {
    const view = this.store.state.document.view;
    if (JSON.stringify(bands.view?.along ?? view.along) !== JSON.stringify(view.along)) return;
    this[bands.which] = bands;
    this.#emit();
  }
}
