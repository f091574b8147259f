/** The slider for how strictly a rule is held. */

import { debounce, el, field } from "./dom.js";

const WAIT = 400;
// Strengths from 10 to a million, four per decade; weights from 0.1 to 1000.
const STRENGTHS = Array.from({ length: 21 }, (_, i) => Number((10 ** (1 + i / 4)).toPrecision(2)));
const WEIGHTS = [-1, 0, 1, 2].flatMap((power) => [1, 2, 5].map((digit) => Number((digit * 10 ** power).toPrecision(1)))).concat(1000);

/** The slider's stops: numbers, including the default, and then words. */
export function stopsFor({ by, usual, words }) {
  const numbers = new Set([...(by === "strength" ? STRENGTHS : WEIGHTS), usual]);
  return [...[...numbers].sort((a, b) => a - b), ...words];
}

/** @returns {number} the stop nearest to a value */
export function stopOf(value, stops) {
  const place = stops.indexOf(value);
  if (place >= 0 || typeof value !== "number") return Math.max(0, place);
  const distances = stops.map((stop) => (typeof stop === "number" ? Math.abs(Math.log(stop / value)) : Infinity));
  return distances.indexOf(Math.min(...distances));
}

function wordsFor(value, { by, usual }) {
  if (value === "hard") return "hard: never violated";
  if (value === "firm") return "firm: violations are searched for";
  const words = value.toLocaleString("en", { maximumFractionDigits: 4 });
  const counts = by === "weight" ? `counts ${value === 1 ? "once" : `${words} times`}` : words;
  return `${counts}${value === usual ? " (default)" : ""}`;
}

/** The change of settings that gives a rule's text this value. */
function changesFor(value, { by, usual }) {
  if (by === "strength" || typeof value === "string") return { strength: value };
  return { weight: value === usual ? "usual" : value };
}

/**
 * Shows the setting that the server reads from the rule's text, except while the user's
 * own choice is being saved.
 */
export class Strength {
  #stops = [];
  #strict = null;
  #chosen = null;
  #changes = 0;
  #isLate = false;

  /**
   * @param {(changes: object) => Promise<void>} rewrite requests the new text and stores it
   * @param {() => void} done shows the rule again
   */
  constructor(rewrite, done) {
    this.reading = el("output", { class: "reading" });
    const save = debounce(() => this.#save(rewrite, done), WAIT);
    this.slider = el("input", {
      type: "range", min: 0, max: 2, step: 1, value: 0,
      oninput: () => {
        this.#chosen = this.#stops[this.slider.valueAsNumber];
        this.#changes += 1;
        this.#say(wordsFor(this.#chosen, this.#strict));
        save();
      },
    });
    this.node = field("Strength", this.slider, this.reading);
    this.node.classList.add("strength");
  }

  async #save(rewrite, done) {
    const changes = this.#changes;
    await rewrite(changesFor(this.#chosen, this.#strict));
    if (changes !== this.#changes) return;
    this.#chosen = null;
    this.#isLate = true;
    done();
  }

  /** @param {boolean} isCurrent whether the server's check is of the current text */
  render(name, checked, isCurrent) {
    this.slider.setAttribute("aria-label", `Strength of ${name}`);
    if (this.#chosen !== null || (this.#isLate && !isCurrent)) return;
    this.#isLate = false;
    const strict = checked && !checked.error ? checked.strict : null;
    this.slider.disabled = !strict;
    if (!strict) {
      this.#say(checked?.error ? "once the text is valid" : "");
      return;
    }
    this.#strict = strict;
    this.#stops = stopsFor(strict);
    this.slider.max = this.#stops.length - 1;
    this.slider.value = stopOf(strict.now, this.#stops);
    this.#say(wordsFor(strict.now, strict));
  }

  #say(words) {
    this.reading.textContent = words;
    this.slider.setAttribute("aria-valuetext", words);
  }
}
