/** Step 3: functions of the network that the rules allow, before any data. */

import { byId, check, choice, duration, el, field, mark, number, renderOnce } from "./dom.js";

const ACTIVATIONS = ["rbf", "tanh", "relu", "silu", "gelu", "softplus", "sigmoid", "elu", "sin"];

function layersOf(text) {
  const units = text.split(/[\s,]+/).filter(Boolean).map(Number);
  return units.length && units.every((count) => Number.isInteger(count) && count > 0) ? units : null;
}

function networkFields(store) {
  const network = store.document.network ?? {};
  const set = (key) => (value) => value !== null && store.change((saved) => {
    saved.network = { ...saved.network, [key]: value };
  });
  const hidden = el("input", {
    type: "text", inputmode: "numeric", autocomplete: "off", value: (network.hidden ?? [50]).join(", "),
    onchange: () => {
      const units = layersOf(hidden.value);
      if (mark(hidden, units ? "" : "Not saved: write whole numbers, such as 20, 20.")) set("hidden")(units);
    },
  });
  return [
    el("div", { class: "pair" }, field("Hidden units (10, or 20, 20 for two layers)", hidden), field("Activation of a unit", choice(ACTIVATIONS, network.activation ?? "rbf", set("activation")))),
    el(
      "div",
      { class: "pair" },
      field("Prior spread of weights", choice([["learned", "learned from the data"], ["fan-in", "smaller in wide layers"], ["isotropic", "the same in all layers"], ["student-t", "smaller in wide layers, heavy tails"]], network.weight_prior ?? "learned", set("weight_prior"))),
      field("Standard deviation", number(network.weight_scale ?? 1, set("weight_scale"), { min: 0 })),
    ),
    check("Standardize columns to mean zero and standard deviation one", network.standardize ?? true, set("standardize")),
  ];
}

export function setUpPrior(node, store, sources, display) {
  const message = el("output", { class: "message two", role: "status" });
  const toggle = el("div");
  const fields = el("div");
  node.replaceChildren(
    el("p", {}, "Functions that your rules allow, before any data is seen. If they look wrong here, the rules do not say what you mean."),
    toggle,
    message,
    el("details", {}, el("summary", {}, "The network"), fields),
  );
  const renderWords = () => {
    const { prior, priorBusy, priorError, priorWords } = sources;
    message.classList.toggle("wrong", Boolean(priorError) && !priorBusy);
    const aside = priorBusy ? "Computing functions before the data" : prior ? priorWords.split(". ")[0] : "";
    byId("busy").textContent = aside;
    byId("busy").hidden = !aside || !display.show.prior;
    if (!display.show.prior) message.textContent = "Not shown.";
    else if (priorBusy) message.textContent = "Computing the functions that your rules allow.";
    else if (priorError) message.textContent = priorError;
    else if (prior) message.textContent = [priorWords, prior.seconds ? `Took ${duration(prior.seconds)}.` : ""].filter(Boolean).join(" ");
  };
  const render = () => {
    renderOnce(toggle, display.show.prior, () => check("Show on the plot, and update as the rules change", display.show.prior, (prior) => display.set({ prior })));
    if (store.document) renderOnce(fields, store.document.network ?? {}, () => networkFields(store));
    renderWords();
  };
  store.on("state document", render);
  display.addEventListener("show", render);
  sources.addEventListener("prior", renderWords);
}
