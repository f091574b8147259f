/** Everything the plot shows that the server computes: each asked for only when it changed. */

import { latest, request } from "./api.js";

const RUNNING = ["waiting", "running"];

/** Emits "change" when something to draw arrived, and "prior" when its state did. */
export class Sources extends EventTarget {
  #keys = {};
  #lines = { layers: latest(), prior: latest(), posterior: latest() };
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
    store.on("fit", () => this.#hearFit());
    store.on("bands", (bands) => this.#hearBands(bands));
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
      const said = saved.rules.filter((rule) => rule.on).map((rule) => rule.text);
      this.#once("prior", [said, view, data, network, fit?.noise, fit?.seed], () => this.#askPrior(view));
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

  #tell(name = "change") {
    this.dispatchEvent(new Event(name));
  }

  async #askRows() {
    try {
      this.rows = await request("GET", `${this.store.path}/rows`);
      this.#tell();
    } catch (error) {
      this.#fail("rows", error);
    }
  }

  async #askLayers(view) {
    try {
      const found = await this.#lines.layers.ask(`${this.store.path}/layers`, { view });
      if (!found) return;
      this.layers = found.layers ?? [];
      this.error = "";
      this.#tell();
    } catch (error) {
      this.layers = [];
      this.#fail("layers", error);
    }
  }

  async #askPrior(view) {
    this.priorBusy = true;
    this.#tell("prior");
    try {
      const found = await this.#lines.prior.ask(`${this.store.path}/prior`, { view });
      if (!found) return;
      this.prior = found;
      this.priorError = "";
      this.priorWords = found.note ?? "";
    } catch (error) {
      this.prior = null;
      this.priorError = error.message;
    }
    this.priorBusy = false;
    this.#tell("prior");
    this.#tell();
  }

  async #askPosterior(view) {
    try {
      const found = await this.#lines.posterior.ask(`${this.store.path}/posterior`, { view });
      if (!found) return;
      this.with = found.with ?? null;
      this.without = found.without ?? null;
      this.error = "";
      this.#tell();
    } catch (error) {
      this.#fail("posterior", error);
    }
  }

  #fail(name, error) {
    this.#keys[name] = "";
    this.error = error.message;
    this.#tell();
  }

  #hearFit() {
    if (this.isRunning && !this.#wasRunning) {
      this.#fits += 1;
      this.#lines.posterior.stop();
      this.with = null;
      this.without = null;
      this.#tell();
    }
    this.#wasRunning = this.isRunning;
  }

  #hearBands(bands) {
    const here = this.store.state.document.view;
    if (JSON.stringify(bands.view?.along ?? here.along) !== JSON.stringify(here.along)) return;
    this[bands.which] = bands;
    this.#tell();
  }
}
