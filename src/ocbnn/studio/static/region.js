/** A dialog that asks what holds in a region of inputs. */

import { button, byId, check, el, field, form, number, submit } from "./dom.js";
import { isClasses, labelsOf } from "./view.js";

function classFields(labels, chosen) {
  return el(
    "fieldset",
    {},
    el("legend", {}, "Classes that are possible there"),
    labels.map((label) => check(String(label), false, (on) => (on ? chosen.add(label) : chosen.delete(label)))),
  );
}

function limitFields(limits) {
  return el(
    "div",
    { class: "pair" },
    field("At least", number(null, (value) => (limits.low = value))),
    field("At most", number(null, (value) => (limits.high = value))),
  );
}

/** Open the page's dialog; resolves to what `read` returns, or null if cancelled. */
function ask(title, body, read) {
  const dialog = byId("dialog");
  const problem = el("output", { class: "message wrong", role: "alert" });
  return new Promise((resolve) => {
    let answer = null;
    const add = () => {
      const [value, trouble] = read();
      problem.textContent = trouble ?? "";
      if (trouble) return;
      answer = value;
      dialog.close();
    };
    dialog.replaceChildren(
      el("h2", { id: "dialog-title" }, title),
      form(add, body, problem, el("div", { class: "row" }, submit("Add the rule"), button("Cancel", () => dialog.close()))),
    );
    dialog.addEventListener("close", () => resolve(answer), { once: true });
    dialog.showModal();
  });
}

/** @returns {Promise<object | null>} the claim, which a drawing cannot express */
export function askRegion(store, view) {
  if (isClasses(store)) {
    const chosen = new Set();
    const labels = labelsOf(store);
    return ask("What is possible in this region?", classFields(labels, chosen), () =>
      chosen.size && chosen.size < labels.length
        ? [{ kind: "class", classes: labels.filter((label) => chosen.has(label)) }, null]
        : [null, "Choose at least one class, and not all of them."]);
  }
  const limits = { low: null, high: null };
  return ask(`What holds for ${view.output} in this region?`, limitFields(limits), () => {
    const { low, high } = limits;
    if (low === null && high === null) return [null, "Write at least one of the two limits."];
    if (low !== null && high !== null && low >= high) return [null, `“At least”, ${low}, must be below “At most”, ${high}.`];
    return [{ kind: "limits", ...limits }, null];
  });
}

/** Ask which version to keep after a conflict; resolves to true for this tab's. */
export function askWhose() {
  const dialog = byId("dialog");
  return new Promise((resolve) => {
    let ours = false;
    const take = (mine) => () => {
      ours = mine;
      dialog.close();
    };
    dialog.replaceChildren(
      el("h2", { id: "dialog-title" }, "This study was changed in another tab"),
      el("p", {}, "Only one version can be kept."),
      el("div", { class: "row" }, button("Take the other version", take(false), { class: "primary" }), button("Keep this one", take(true))),
    );
    dialog.addEventListener("close", () => resolve(ours), { once: true });
    if (!dialog.open) dialog.showModal();
  });
}
