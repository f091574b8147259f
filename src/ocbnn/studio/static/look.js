/** Colours and fonts of plots for both themes: Okabe and Ito's, lighter on dark. */

const LIGHT = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#CC3311", "#B8A800", "#555555"];
const DARK = ["#4C9FDB", "#F0B030", "#2CC596", "#E09AC2", "#8CCBF2", "#F2714F", "#D9CA3C", "#A9A9A9"];

export const COLOUR_NAMES = ["Blue", "Orange", "Green", "Pink", "Light blue", "Red", "Olive", "Grey"];
export const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star"];

const isDark = () => document.documentElement.dataset.theme === "dark";

export const hues = () => (isDark() ? DARK : LIGHT);

export const hue = (index) => hues()[(((index ?? 0) % 8) + 8) % 8];

const NAMED = { blue: 0, orange: 1, green: 2, purple: 3, pink: 3, cyan: 4, red: 5, yellow: 6, grey: 7, gray: 7 };

/** The colour of a class: the one it names, if all classes are names of colours. */
export function classHue(labels, k) {
  const named = labels.map((label) => NAMED[String(label).toLowerCase()]);
  return hue(named.includes(undefined) ? k : named[k]);
}

export function look() {
  const dark = isDark();
  return {
    ink: dark ? "#e6e8eb" : "#22262b",
    quiet: dark ? "#a5acb5" : "#5a626c",
    ground: dark ? "#1b1f24" : "#ffffff",
    grid: dark ? "#2d333b" : "#e7eaee",
    with: hue(0),
    without: dark ? "#b5b5b5" : "#666666",
    prior: hue(3),
    data: dark ? "#ffffff" : "#111111",
    scale: dark ? "Cividis" : "Cividis",
  };
}

/** @param {string} hex like #0072B2 */
export function faded(hex, alpha) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r},${g},${b},${alpha})`;
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;" };

/**
 * Escape people's texts: Plotly reads tags as markup and links, and braces after a
 * percent sign as a placeholder.
 */
export const plain = (text) => String(text).replace(/\s/g, " ").replace(/[&<>{]/g, (sign) => ENTITIES[sign]);

const LONGEST = 80;

const shortened = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

export function axis(title, range) {
  const { ink, grid, quiet } = look();
  return {
    title: { text: plain(shortened(String(title))), font: { size: 14, color: ink }, standoff: 8 },
    range,
    gridcolor: grid,
    linecolor: quiet,
    tickcolor: quiet,
    tickfont: { size: 12, color: quiet },
    ticks: "outside",
    showline: true,
    zeroline: false,
    automargin: true,
  };
}

export function page() {
  const { ink, ground, quiet } = look();
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: ground,
    font: { family: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", size: 13, color: ink },
    hoverlabel: { bgcolor: ground, bordercolor: quiet, font: { color: ink, size: 13 } },
    margin: { l: 56, r: 14, t: 10, b: 46 },
    hovermode: "closest",
    showlegend: true,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", itemclick: false, itemdoubleclick: false, bgcolor: "rgba(0,0,0,0)" },
  };
}
