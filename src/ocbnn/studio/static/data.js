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

/** The likely task: words, and few distinct whole numbers, are classes. */
function taskFor(column, task) {
  if (column.kind === "text") return "classification";
  const isWhole = Number.isInteger(column.low) && Number.isInteger(column.high);
  return column.distinct > 20 || !isWhole ? "regression" : task;
}

/** The document's data with a column in another role; null if no output would be left. */
function withRole(before, column, role, order) {
  const { name } = column;
  const data = role === "output" ? { ...before, task: taskFor(column, before.task) } : before;
  const without = (names) => (names ?? []).filter((other) => other !== name);
  const inOrder = (names) => order.filter((name) => names.includes(name));
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

/** Set the columns, and reset the view, which the old columns may have defined. */
function changeData(store, next) {
  store.change((saved) => {
    saved.data = next;
    const view = saved.view ?? {};
    const along = (view.along ?? []).filter((name) => next.inputs.includes(name));
    const output = next.output.includes(view.output) ? view.output : next.output[0];
    saved.view = { along: along.length ? along : amounts(store).slice(0, 1), at: {}, output, ranges: {} };
  });
}

function summaryOf(column) {
  if (column.kind === "empty") return "";
  if (column.kind !== "number") {
    const levels = column.levels ?? [];
    const more = column.distinct > 3 ? `, … (${column.distinct})` : "";
    return levels.slice(0, 3).map(String).join(", ") + more;
  }
  const width = widthOf(column);
  const short = (value) => show(tidy(value, width, 3), width);
  return `${short(column.low)} to ${short(column.high)}`;
}

/** Long names break after an underscore, not anywhere. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

function columnRow(store, column, order, say) {
  const { data } = store.document;
  const options = column.kind !== "number" ? ROLES.filter(([key]) => key !== "input") : ROLES;
  const pick = choice(options, roleOf(data, column.name), (role) => {
    const next = withRole(store.document.data, column, role, order);
    if (next) return changeData(store, next);
    pick.value = "output";
    return say("One column must be the output. Choose another output first.");
  }, { "aria-label": `Use of ${column.name}` });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, breakable(column.name)),
    el("td", {}, pick),
    el("td", { class: "quiet" }, KINDS[column.kind] ?? column.kind, el("br"), summaryOf(column)),
    el("td", { class: column.missing ? "some" : "quiet" }, column.missing ? show(column.missing) : "none"),
  );
}

function columnTable(store, say) {
  const { columns } = store.state.table;
  const order = columns.map((column) => column.name);
  const heads = ["Column", "Use as", "Values", "Missing"].map((words) => el("th", { scope: "col" }, words));
  return el(
    "div",
    { class: "scroll columns", tabindex: 0, role: "region", "aria-label": "Columns of the table" },
    el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, columns.map((column) => columnRow(store, column, order, say)))),
  );
}

function settings(store) {
  const { data } = store.document;
  const set = (key) => (value) => changeData(store, { ...store.document.data, [key]: value });
  const task = choice([["regression", "a number"], ["classification", "a class"]], data.task, (value) => {
    const current = store.document.data;
    changeData(store, { ...current, task: value, output: value === "classification" ? [current.output].flat().slice(0, 1) : current.output });
  });
  const missing = choice([["refuse", "stop the fit"], ["drop", "are left out"]], data.missing ?? "refuse", set("missing"));
  return el("div", { class: "pair" }, field("The output is", task), field("Rows with gaps", missing));
}

/** The file's first rows, with their gaps. */
function firstRows({ columns, first }) {
  const words = (value, column) => (column.kind === "number" ? show(Number(value), widthOf(column)) : value);
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
  return field("Start a new study with another table", file);
}

function shape(store) {
  const { table, document: saved } = store.state;
  const gaps = table.columns.reduce((sum, column) => sum + (column.missing ?? 0), 0);
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
