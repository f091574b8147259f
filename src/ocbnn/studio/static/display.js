/** What this tab shows; it is not part of the study. */

import { remember } from "./dom.js";

const KEY = `ocbnn-show-${location.pathname}`;
const DEFAULTS = { data: true, prior: true, with: true, without: true, side: false, map: "mean" };

/** Emits "show" when layers change, and "tool" when another tool is selected. */
export class Display extends EventTarget {
  constructor() {
    super();
    this.show = { ...DEFAULTS, ...remember(KEY) };
    this.isRemembered = remember(KEY) !== null;
    this.tool = "move";
  }

  set(changes) {
    Object.assign(this.show, changes);
    remember(KEY, this.show);
    this.dispatchEvent(new Event("show"));
  }

  take(tool) {
    this.tool = tool;
    this.dispatchEvent(new Event("tool"));
  }
}
