/** What the library says, in the words of this page. */

const SAID = [
  [/ ?To switch a rule off, leave it out\./, " To switch a rule off, use the switch before its name."],
  [/: require\(\.\.\., name="\.\.\."\)/, ": “Text and settings” has a field for it"],
  [/`require\(y\.between\(a, b\), \.\.\.\)`, in text `a <= y <= b`/, "`a <= y <= b`"],
  [/, or leave it out\.$/, ", or switch it off."],
  [/\bmoves or polish\b/, "“Moves” or “Last rounds”"],
  [/\bRaise warmup\b/, "Raise “Warm-up moves”"],
  [/\bmore warm-up\b/, "more “Warm-up moves”"],
  [/\bRun more iterations\./, "Raise “Steps”."],
  [/\bRun longer\./, "Raise “Draws per chain”."],
  [/ Fit without --quick for an answer\./, " “Fit” gives an answer."],
  [/write `holdout = 0\.2` under \[fit\]/, "choose “Rows kept back for scores”"],
  // A run that was stopped tells of its files, which a page has no use for.
  [/stopped early(; .*)?/s, "stopped; what was drawn is kept"],
];

export function pageWords(text) {
  return SAID.reduce((words, [theirs, ours]) => words.replace(theirs, ours), text ?? "");
}
