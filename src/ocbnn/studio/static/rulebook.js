/** Changes to the list of rules. */

// Blue and pink come last: fits and functions before the data have them. Classes have the
// first colours.
const FORBIDDEN_FIRST = [5, 1, 6, 4, 7, 2, 3, 0];
const EXPECTED_FIRST = [2, 4, 6, 1, 7, 5, 3, 0];
const CLASSES_FIRST = [7, 6, 4, 3, 5, 1, 2, 0];

function freeColour({ rules, data }, kind) {
  const preferred = kind === "forbid" ? FORBIDDEN_FIRST : EXPECTED_FIRST;
  const order = data.task === "classification" ? CLASSES_FIRST : preferred;
  const used = rules.map((rule) => rule.colour);
  return order.find((colour) => !used.includes(colour)) ?? order[rules.length % 8];
}

function freeId(rules) {
  const used = new Set(rules.map((rule) => rule.id));
  let count = rules.length + 1;
  while (used.has(`r${count}`)) count += 1;
  return `r${count}`;
}

const past = [];
const MOST = 100;

/** Change the rules undoably; continued typing in one rule counts as one change. */
function changeRules(store, edit, wait, key = null) {
  const before = structuredClone(store.document.rules);
  if (key === null || past.at(-1)?.key !== key) past.push({ rules: before, key });
  if (past.length > MOST) past.shift();
  store.change(edit, wait);
}

export const canUndo = () => past.length > 0;

export function undo(store) {
  const before = past.pop();
  if (before) store.change((saved) => (saved.rules = before.rules), 0);
}

/** @returns {string} the id of the new rule */
export function addRule(store, text, kind) {
  const { rules } = store.document;
  const id = freeId(rules);
  const rule = { id, text, on: true, colour: freeColour(store.document, kind) };
  changeRules(store, (saved) => saved.rules.push(rule), 0);
  return id;
}

export function editRule(store, id, changes, wait = 0) {
  const edit = (saved) => {
    const rule = saved.rules.find((other) => other.id === id);
    if (rule) Object.assign(rule, changes);
  };
  changeRules(store, edit, wait, wait > 0 ? id : null);
}

export function removeRule(store, id) {
  const edit = (saved) => {
    saved.rules = saved.rules.filter((rule) => rule.id !== id);
  };
  changeRules(store, edit, 0);
}

/** A column's name in the syntax of rules. */
export function written(name) {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

/** A class's label in the syntax of rules. */
export const label = (value) => (typeof value === "string" ? JSON.stringify(value) : String(value));

/** @returns {string} the name that a rule's text begins with, or "" */
export function nameIn(text) {
  const name = text.match(/^\s*([\p{L}\d][\p{L}\d _-]*):/u)?.[1].trim() ?? "";
  return /^if\b/.test(name) ? "" : name;
}
