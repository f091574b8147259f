/** What came out of a fit, in words. */

import { el, percent, show } from "./dom.js";

const VERDICTS = { good: "The draws can be trusted", fair: "The draws are usable, with care", poor: "The draws cannot be trusted yet", unknown: "Nothing is known about the draws" };
const SCORES = { rmse: "typical error (RMSE)", r2: "share of the variation explained (R²)", coverage_90: "share of rows inside their 90 % interval", accuracy: "share of rows told right", log_loss: "log loss", most_frequent: "share of the most frequent class" };

/** A score for people; with several outputs its key begins with one of them. */
function scoreName(key) {
  const cut = key.lastIndexOf(" ");
  const name = key.slice(cut + 1);
  const words = SCORES[name] ?? name.replaceAll("_", " ");
  return cut < 0 ? words : `${key.slice(0, cut)}: ${words}`;
}

/** What to say to people when a fit has ended. */
export function verdictWords(result) {
  const status = result?.with?.verdict?.status;
  return status ? `${VERDICTS[status] ?? status}.` : "";
}

function verdict(one, words) {
  const status = one?.verdict?.status ?? "unknown";
  const sentences = one?.verdict?.sentences ?? [];
  return el(
    "section",
    { class: `verdict ${status}` },
    el("h3", {}, `${words}: ${VERDICTS[status] ?? status}`),
    sentences.length ? el("ul", {}, sentences.map((text) => el("li", {}, text))) : null,
  );
}

function ruleRow(rule, bare) {
  const other = bare?.find((one) => one.rule === rule.rule);
  const broken = (one) => el("td", { class: one?.violation > 0.01 ? "some" : "" }, percent(one?.violation));
  return [
    el("tr", {}, el("th", { scope: "row" }, rule.rule), broken(rule), bare ? broken(other) : null),
    rule.sentence ? el("tr", { class: "sentence" }, el("td", { colspan: bare ? 3 : 2 }, rule.sentence)) : null,
  ];
}

function ruleTable(result) {
  const rules = result.with?.rules ?? [];
  if (!rules.length) return null;
  const bare = result.without?.rules?.length ? result.without.rules : null;
  const heads = ["Rule", "With rules", bare ? "Without" : null].filter(Boolean).map((words) => el("th", { scope: "col" }, words));
  return el("table", {}, el("caption", {}, "How much of each rule is broken"), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rules.flatMap((rule) => ruleRow(rule, bare))));
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
  const found = result.certificates ?? [];
  if (!found.length) return null;
  const line = (one) => el("li", {}, el("strong", {}, `${one.rule}: `), one.sentence || `${percent(one.holds)} of draws proved, ${percent(one.broken)} broken, ${percent(one.undecided)} open.`);
  return el("section", {}, el("h3", {}, "Proved at every input"), el("ul", {}, found.map(line)));
}

/** Lines that were wrapped for a terminal are put together: the page wraps them. */
function unwrapped(text) {
  const indent = (line) => line.match(/^ */)[0].length;
  return text.split("\n").reduce((lines, line) => {
    const before = lines.at(-1) ?? "";
    const goesOn = before.length > 55 && !/[.:]$/.test(before) && line.trim() && indent(line) === indent(before) && !/\S {3,}\S/.test(line + before);
    return goesOn ? [...lines.slice(0, -1), `${before} ${line.trim()}`] : [...lines, line];
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
    isOld ? el("p", { class: "stale" }, "What follows is of the fit before.") : null,
    result.quick ? el("p", { class: "stale" }, "A quick look: too short to judge by. Press Fit for an answer.") : null,
    result.rows ? el("p", {}, result.rows) : null,
    verdict(result.with, "With rules"),
    ruleTable(result),
    pageOf("Do rules fight the data, or each other?", result.conflicts, true),
    certificates(result),
    scoreTable(result),
    result.without ? verdict(result.without, "Without rules") : null,
    pageOf("The whole report", result.report),
  ];
}
