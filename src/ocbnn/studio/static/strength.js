/** The slider of one rule that says how strictly it is held. */

import { debounce, el, field } from "./dom.js";

const WAIT = 400;
// From 10 to a million in quarter steps of ten; weights from a tenth to a thousand.
const STRENGTHS = Array.from({ length: 21 }, (_, i) => Number((10 ** (1 + i / 4)).toPrecision(2)));
const WEIGHTS = [-1, 0, 1, 2].flatMap((power) => [1, 2, 5].map((one) => Number((one * 10 ** power).toPrecision(1)))).concat(1000);

/** The slider's stops: numbers, the usual one among them, and then words. */
export function stopsFor({ by, usual, words }) {
  const numbers = new Set([...(by === "strength" ? STRENGTHS : WEIGHTS), usual]);
  return [...[...numbers].sort((a, b) => a - b), ...words];
}

/** @returns {number} the stop nearest to a value */
export function stopOf(value, stops) {
  const place = stops.indexOf(value);
  if (place >= 0 || typeof value !== "number") return Math.max(0, place);
  const far = stops.map((stop) => (typeof stop === "number" ? Math.abs(Math.log(stop / value)) : Infinity));
  return far.indexOf(Math.min(...far));
}

function wordsFor(value, { by, usual }) {
  if (value === "hard") return "hard: never broken";
  if (value === "firm") return "firm: breaks are searched for";
  const words = value.toLocaleString("en", { maximumFractionDigits: 4 });
  const counts = by === "weight" ? `counts ${value === 1 ? "once" : `${words} times`}` : words;
  return `${counts}${value === usual ? " (usual)" : ""}`;
}

/** What to ask of the server, so that the text says a value. */
function changesFor(value, { by, usual }) {
  if (by === "strength" || typeof value === "string") return { strength: value };
  return { weight: value === usual ? "usual" : value };
}

/**
 * Shows what the server says of the rule's text, except while a person's own choice is
 * under way: that stays until the server has it.
 */
export class Strength {
  #stops = [];
  #strict = null;
  #chosen = null;
  #asked = 0;
  #isLate = false;

  /**
   * @param {(changes: object) => Promise<void>} rewrite asks for the text, and takes it
   * @param {() => void} done shows the rule again
   */
  constructor(rewrite, done) {
    this.reading = el("output", { class: "reading" });
    const save = debounce(() => this.#save(rewrite, done), WAIT);
    this.slider = el("input", {
      type: "range", min: 0, max: 2, step: 1, value: 0,
      oninput: () => {
        this.#chosen = this.#stops[this.slider.valueAsNumber];
        this.#asked += 1;
        this.#say(wordsFor(this.#chosen, this.#strict));
        save();
      },
    });
    this.node = field("Strength", this.slider, this.reading);
    this.node.classList.add("strength");
  }

  async #save(rewrite, done) {
    const asked = this.#asked;
    await rewrite(changesFor(this.#chosen, this.#strict));
    if (asked !== this.#asked) return;
    this.#chosen = null;
    this.#isLate = true;
    done();
  }

  /** @param {boolean} isCurrent whether what the server said is about the text as it is now */
  render(name, checked, isCurrent) {
    this.slider.setAttribute("aria-label", `Strength of ${name}`);
    if (this.#chosen !== null || (this.#isLate && !isCurrent)) return;
    this.#isLate = false;
    const strict = checked && !checked.error ? checked.strict : null;
    this.slider.disabled = !strict;
    if (!strict) {
      this.#say(checked?.error ? "once the text is right" : "");
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
