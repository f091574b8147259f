/** The result of a fit, in words. */

import { el, percent, show } from "./dom.js";

const VERDICTS = { good: "The draws can be trusted", fair: "The draws are usable, with care", poor: "The draws cannot be trusted yet", unknown: "Nothing is known about the draws" };
const SCORES = { rmse: "typical error (RMSE)", r2: "share of the variation explained (R²)", coverage_90: "share of rows inside their 90 % interval", accuracy: "share of rows classified correctly", log_loss: "log loss", most_frequent: "share of the most frequent class" };

/** A score's label; with several outputs, its key begins with the output's name. */
function scoreName(key) {
  const cut = key.lastIndexOf(" ");
  const name = key.slice(cut + 1);
  const words = SCORES[name] ?? name.replaceAll("_", " ");
  return cut < 0 ? words : `${key.slice(0, cut)}: ${words}`;
}

/** The sentence that is announced when a fit has ended. */
export function verdictWords(result) {
  const status = result?.with?.verdict?.status;
  return status ? `${VERDICTS[status] ?? status}.` : "";
}

function verdict(fit, words) {
  const status = fit?.verdict?.status ?? "unknown";
  const sentences = fit?.verdict?.sentences ?? [];
  return el(
    "section",
    { class: `verdict ${status}` },
    el("h3", {}, `${words}: ${VERDICTS[status] ?? status}`),
    sentences.length ? el("ul", {}, sentences.map((text) => el("li", {}, text))) : null,
  );
}

function ruleRow(rule, bare) {
  const other = bare?.find((line) => line.rule === rule.rule);
  const violation = (line) => el("td", { class: line?.violation > 0.01 ? "some" : "" }, percent(line?.violation));
  return [
    el("tr", {}, el("th", { scope: "row" }, rule.rule), violation(rule), bare ? violation(other) : null),
    rule.sentence ? el("tr", { class: "sentence" }, el("td", { colspan: bare ? 3 : 2 }, rule.sentence)) : null,
  ];
}

function ruleTable(result) {
  const rules = result.with?.rules ?? [];
  if (!rules.length) return null;
  const bare = result.without?.rules?.length ? result.without.rules : null;
  const heads = ["Rule", "With rules", bare ? "Without" : null].filter(Boolean).map((words) => el("th", { scope: "col" }, words));
  return el("table", {}, el("caption", {}, "How much each rule is violated"), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rules.flatMap((rule) => ruleRow(rule, bare))));
}

function scoreTable(result) {
  const names = Object.keys(result.with?.scores ?? {});
  if (!names.length) return null;
  const bare = result.without?.scores ?? null;
  const heads = ["Score", "With rules", bare ? "Without" : null].filter(Boolean).map((words) => el("th", { scope: "col" }, words));
  const rows = names.map((name) => el(
    "tr",
    {},
    el("th", { scope: "row" }, scoreName(name)),
    el("td", {}, show(result.with.scores[name])),
    bare ? el("td", {}, show(bare[name])) : null,
  ));
  return el("table", {}, el("caption", {}, "Scores"), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows));
}

function certificates(result) {
  const proofs = result.certificates ?? [];
  if (!proofs.length) return null;
  const line = (proof) => el("li", {}, el("strong", {}, `${proof.rule}: `), proof.sentence || `${percent(proof.holds)} of draws proved, ${percent(proof.broken)} violated, ${percent(proof.undecided)} undecided.`);
  return el("section", {}, el("h3", {}, "Proved at every input"), el("ul", {}, proofs.map(line)));
}

/** Join lines that were wrapped for a terminal; the page wraps them itself. */
function unwrapped(text) {
  const indent = (line) => line.match(/^ */)[0].length;
  return text.split("\n").reduce((lines, line) => {
    const previous = lines.at(-1) ?? "";
    const isContinued = previous.length > 55 && !/[.:]$/.test(previous) && line.trim() && indent(line) === indent(previous) && !/\S {3,}\S/.test(line + previous);
    return isContinued ? [...lines.slice(0, -1), `${previous} ${line.trim()}`] : [...lines, line];
  }, []).join("\n");
}

function pageOf(title, text, open = false) {
  if (!text) return null;
  return el("details", { open }, el("summary", {}, title), el("pre", { tabindex: 0, role: "region", "aria-label": title }, unwrapped(text)));
}

/** @returns {Array<HTMLElement>} parts of the page about the last fit */
export function resultParts(result, isOld) {
  if (!result) return [];
  return [
    isOld ? el("p", { class: "stale" }, "The result below is of the previous fit.") : null,
    result.quick ? el("p", { class: "stale" }, "A quick look: too short to judge by. Press Fit for an answer.") : null,
    result.rows ? el("p", {}, result.rows) : null,
    verdict(result.with, "With rules"),
    ruleTable(result),
    pageOf("Do rules conflict with the data, or with each other?", result.conflicts, true),
    certificates(result),
    scoreTable(result),
    result.without ? verdict(result.without, "Without rules") : null,
    pageOf("Full report", result.report),
  ];
}
