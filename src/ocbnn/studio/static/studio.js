/** The page of a study: connects its parts. */

import { setUpData } from "./data.js";
import { Display } from "./display.js";
import { byId, remember } from "./dom.js";
import { Drawing } from "./drawing.js";
import { setUpFit } from "./fit.js";
import { Plot } from "./plot.js";
import { setUpPrior } from "./prior.js";
import { askWhose } from "./region.js";
import { setUpRules } from "./rules.js";
import { Sources } from "./sources.js";
import { Store } from "./store.js";
import { setUpTakeaway } from "./takeaway.js";
import { setUpView } from "./view.js";

function setUpHeader(store) {
  const title = byId("title");
  const saved = byId("saved");
  title.addEventListener("input", () => store.change((draft) => {
    draft.title = title.value;
  }, 600));
  store.on("state", () => {
    const words = store.document.title ?? "";
    if (title.value !== words && !(store.isDirty && document.activeElement === title)) title.value = words;
    document.title = `${words || "Untitled"} – ocbnn studio`;
  });
  store.on("saved", ({ words, wrong }) => {
    saved.textContent = words;
    saved.classList.toggle("wrong", wrong);
  });
  store.on("conflict", async (state) => store.settle(state, await askWhose()));
}

/** Remember which steps are open while the tab lives. */
function keepSteps() {
  const key = `ocbnn-steps-${location.pathname}`;
  const steps = [...document.querySelectorAll("details.step")];
  const open = remember(key);
  for (const step of steps) {
    if (open) step.open = open.includes(step.id);
    step.addEventListener("toggle", () => remember(key, steps.filter(({ open }) => open).map(({ id }) => id)));
  }
}

/** Show the prior before the first fit, and hide it afterwards. */
function chooseLayers(store, display) {
  if (!display.isRemembered) display.set({ prior: !store.state.result });
}

function protectEdits(store) {
  addEventListener("beforeunload", (event) => {
    if (!store.isDirty) return;
    if (store.isRefused) event.preventDefault();
    else store.flush();
  });
}

async function start() {
  const id = decodeURIComponent(location.pathname.split("/").filter(Boolean).at(-1));
  const store = new Store(id);
  const display = new Display();
  store.addEventListener("state", () => chooseLayers(store, display), { once: true });
  const sources = new Sources(store, display);
  const drawing = new Drawing(store, sources, display);
  const plot = new Plot(store, sources, display, (event, graph) => drawing.onPlotEvent(event, graph, plot));
  addEventListener("keydown", (event) => drawing.onKey(event));
  setUpHeader(store);
  keepSteps();
  setUpData(byId("data"), store);
  setUpRules(byId("rules"), store, sources);
  setUpPrior(byId("prior"), store, sources, display);
  setUpFit(byId("fit"), store, display);
  setUpTakeaway(byId("take"), store);
  setUpView(byId("strip"), store, sources, display);
  protectEdits(store);
  await store.open();
}

start().catch((error) => {
  document.body.classList.add("closed");
  byId("saved").textContent = "Not opened";
  byId("saved").classList.add("wrong");
  byId("hint").textContent = error.message;
  byId("hint").classList.add("wrong");
});
