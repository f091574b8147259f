/** Step 1: the table, and what each of its columns is for. */

import { upload } from "./api.js";
import { choice, el, field, renderOnce, show, tidy } from "./dom.js";
import { amounts, widthOf } from "./view.js";

const ROLES = [["none", "not used"], ["input", "input"], ["names", "input, as names"], ["output", "output"]];

const KINDS = { number: "numbers", text: "words", mixed: "numbers and words", empty: "nothing" };

function roleOf(data, name) {
  if ([data.output].flat().includes(name)) return "output";
  if (!data.inputs.includes(name)) return "none";
  return (data.categories ?? []).includes(name) ? "names" : "input";
}

/** What an output most likely is: few whole numbers, or words, are classes. */
function taskFor(one, task) {
  if (one.kind === "text") return "classification";
  const isWhole = Number.isInteger(one.low) && Number.isInteger(one.high);
  return one.distinct > 20 || !isWhole ? "regression" : task;
}

/** The document's data with a column in another part; null where no output would be left. */
function withRole(before, one, role, order) {
  const { name } = one;
  const data = role === "output" ? { ...before, task: taskFor(one, before.task) } : before;
  const without = (names) => (names ?? []).filter((one) => one !== name);
  const inOrder = (names) => order.filter((one) => names.includes(one));
  const isClasses = data.task === "classification";
  const outputs = without([data.output].flat());
  const inputs = without(data.inputs);
  const next = { ...data, inputs, categories: without(data.categories), output: outputs };
  if (role === "output") {
    const isAlone = isClasses || before.task === "classification";
    next.output = isAlone ? [name] : inOrder([...outputs, name]);
  }
  if (role === "input" || role === "names") next.inputs = inOrder([...inputs, name]);
  if (role === "names") next.categories = inOrder([...next.categories, name]);
  return next.output.length ? next : null;
}

/** A new choice of columns makes the old view meaningless. */
function changeData(store, next) {
  store.change((saved) => {
    saved.data = next;
    const view = saved.view ?? {};
    const along = (view.along ?? []).filter((name) => next.inputs.includes(name));
    const output = next.output.includes(view.output) ? view.output : next.output[0];
    saved.view = { along: along.length ? along : amounts(store).slice(0, 1), at: {}, output, ranges: {} };
  });
}

function about(one) {
  if (one.kind === "empty") return "";
  if (one.kind !== "number") {
    const levels = one.levels ?? [];
    const more = one.distinct > 3 ? `, … (${one.distinct})` : "";
    return levels.slice(0, 3).map(String).join(", ") + more;
  }
  const width = widthOf(one);
  const short = (value) => show(tidy(value, width, 3), width);
  return `${short(one.low)} to ${short(one.high)}`;
}

/** Long names break after an underscore, not anywhere. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

function columnRow(store, one, order, say) {
  const { data } = store.document;
  const options = one.kind !== "number" ? ROLES.filter(([key]) => key !== "input") : ROLES;
  const pick = choice(options, roleOf(data, one.name), (role) => {
    const next = withRole(store.document.data, one, role, order);
    if (next) return changeData(store, next);
    pick.value = "output";
    return say("One column has to be the output. Choose another first.");
  }, { "aria-label": `Use of ${one.name}` });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, breakable(one.name)),
    el("td", {}, pick),
    el("td", { class: "quiet" }, KINDS[one.kind] ?? one.kind, el("br"), about(one)),
    el("td", { class: one.missing ? "some" : "quiet" }, one.missing ? show(one.missing) : "none"),
  );
}

function columnTable(store, say) {
  const { columns } = store.state.table;
  const order = columns.map((one) => one.name);
  const heads = ["Column", "Use as", "Values", "Missing"].map((words) => el("th", { scope: "col" }, words));
  return el(
    "div",
    { class: "scroll columns", tabindex: 0, role: "region", "aria-label": "Columns of the table" },
    el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, columns.map((one) => columnRow(store, one, order, say)))),
  );
}

function settings(store) {
  const { data } = store.document;
  const set = (key) => (value) => changeData(store, { ...store.document.data, [key]: value });
  const task = choice([["regression", "a number"], ["classification", "a class"]], data.task, (value) => {
    const now = store.document.data;
    changeData(store, { ...now, task: value, output: value === "classification" ? [now.output].flat().slice(0, 1) : now.output });
  });
  const missing = choice([["refuse", "stop the fit"], ["drop", "are left out"]], data.missing ?? "refuse", set("missing"));
  return el("div", { class: "pair" }, field("The output is", task), field("Rows with gaps", missing));
}

/** The file's own first rows, with their gaps. */
function firstRows({ columns, first }) {
  const words = (value, one) => (one.kind === "number" ? show(Number(value), widthOf(one)) : value);
  const cell = (value, i) => (value === null ? el("td", { class: "some" }, "missing") : el("td", {}, words(value, columns[i])));
  const rows = first.map((row) => el("tr", {}, row.map(cell)));
  return [el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "First rows of the table" },
    el("table", {}, el("thead", {}, el("tr", {}, columns.map(({ name }) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)),
  )];
}

function anotherTable(say) {
  const file = el("input", {
    type: "file", accept: ".csv,.parquet,text/csv",
    onchange: async () => {
      if (!file.files[0]) return;
      say(`Reading ${file.files[0].name}`);
      try {
        location.assign(`/s/${encodeURIComponent((await upload(file.files[0])).id)}`);
      } catch (error) {
        say(error.message);
      }
    },
  });
  return field("Begin a new study with another table", file);
}

function shape(store) {
  const { table, document: saved } = store.state;
  const gaps = table.columns.reduce((sum, one) => sum + (one.missing ?? 0), 0);
  return `${saved.data.file}: ${show(table.rows)} rows, ${table.columns.length} columns, ${gaps ? `${show(gaps)} missing ${gaps === 1 ? "value" : "values"}` : "nothing missing"}.`;
}

export function setUpData(node, store) {
  const head = el("p");
  const fields = el("div");
  const table = el("div");
  const message = el("output", { class: "message", role: "status" });
  const rows = el("details", {}, el("summary", {}, "First rows"));
  const rowsBody = el("div");
  const say = (words) => {
    message.textContent = words;
  };
  rows.append(rowsBody);
  node.replaceChildren(head, fields, table, message, rows, el("details", {}, el("summary", {}, "Another table"), anotherTable(say)));
  const render = () => {
    head.textContent = shape(store);
    const { data } = store.document;
    renderOnce(fields, [data.task, data.missing], () => settings(store));
    renderOnce(rowsBody, store.state.table.first, () => firstRows(store.state.table));
    renderOnce(table, [data, store.state.table], () => columnTable(store, say));
  };
  store.on("state document", render);
}
