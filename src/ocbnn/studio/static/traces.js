/** Functions, rows and rules as Plotly traces. */

import { SYMBOLS, classHue, faded, hue, look, plain } from "./look.js";
import { show } from "./dom.js";

/** @typedef {{name: string, colour: string, dash: string}} Style */

const MANY = 40;
const FEW = 12;
const AREA = { type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false };

/** @returns {Style} how one of "prior", "with" and "without" looks */
export function styleOf(which) {
  const colours = look();
  return {
    prior: { name: "before the data", colour: colours.prior, dash: "dot" },
    with: { name: "with rules", colour: colours.with, dash: "solid" },
    without: { name: "without rules", colour: colours.without, dash: "dash" },
  }[which];
}

function band(x, low, high, colour, alpha) {
  return {
    ...AREA,
    x: [...x, ...[...x].reverse()],
    y: [...high, ...[...low].reverse()],
    fill: "toself",
    fillcolor: faded(colour, alpha),
    line: { width: 0, color: colour },
  };
}

function joined(x, functions) {
  const xs = functions.flatMap(() => [...x, null]);
  const ys = functions.flatMap((values) => [...values, null]);
  return [xs, ys];
}

function curve(summary, style, many) {
  const { x, mean, low, high, function_low: below, function_high: above, functions } = summary;
  const traces = [];
  const isPrior = many > FEW;
  if (low && high && !isPrior) traces.push(band(x, low, high, style.colour, 0.12));
  if (below && above) traces.push(band(x, below, above, style.colour, isPrior ? 0.1 : 0.2));
  if (functions?.length) {
    const [xs, ys] = joined(x, functions.slice(0, many));
    traces.push({ ...AREA, x: xs, y: ys, line: { width: isPrior ? 1.1 : 0.8, color: faded(style.colour, isPrior ? 0.7 : 0.45) } });
  }
  if (!mean) return traces;
  const text = x.map((_, i) => (low && high ? `95 %: ${show(low[i])} to ${show(high[i])}` : ""));
  traces.push({
    type: "scatter", mode: "lines", x, y: mean, text, showlegend: false,
    line: { width: 2.4, color: style.colour, dash: style.dash },
    hovertemplate: `%{y:.4g}, ${style.name}<br>%{text}<extra></extra>`,
  });
  return traces;
}

function classes(summary, style, withLegend) {
  return summary.classes.flatMap((label, k) => {
    const colour = classHue(summary.classes, k);
    const line = {
      type: "scatter", mode: "lines", x: summary.x, y: summary.probability[k],
      name: plain(label), legendgroup: `class-${label}`, showlegend: withLegend,
      line: { width: 2.4, color: colour, dash: style.dash },
      hovertemplate: `${plain(label)}: %{y:.1%}, ${style.name}<extra></extra>`,
    };
    if (!summary.low?.[k] || !summary.high?.[k]) return [line];
    return [band(summary.x, summary.low[k], summary.high[k], colour, 0.13), line];
  });
}

/** The predicted or most probable class at every point, paler where it is less certain. */
function likely(summary) {
  const count = summary.classes.length;
  const { ground } = look();
  const best = summary.y.map((_, i) => summary.x.map((__, j) => {
    const shares = summary.probability.map((table) => table[i][j]);
    const k = summary.predicted?.[i][j] ?? shares.indexOf(Math.max(...shares));
    return { k, share: shares[k] };
  }));
  const depth = (share) => Math.max(0, (share * count - 1) / (count - 1));
  return {
    type: "heatmap", x: summary.x, y: summary.y, showlegend: false, showscale: false, zsmooth: "fast", opacity: 0.6,
    // Every class has an interval of length one, from the background to its own colour.
    z: best.map((row) => row.map(({ k, share }) => k + 0.98 * depth(share))),
    zmin: 0, zmax: count,
    colorscale: summary.classes.flatMap((_, k) => [[k / count, ground], [(k + 0.99) / count, classHue(summary.classes, k)]]).concat([[1, classHue(summary.classes, count - 1)]]),
    text: best.map((row) => row.map(({ k, share }) => `${plain(summary.classes[k])}: ${Math.round(100 * share)} %`)),
    hovertemplate: "%{text}<extra></extra>",
  };
}

const tableOf = (summary, chosen) => (chosen === "sd" ? summary.sd : summary.z);

/** The least and greatest value of several maps, for a shared colour scale. */
export function endsOf(maps, chosen) {
  const values = maps.filter((map) => map?.kind === "map").flatMap((map) => tableOf(map, chosen).flat());
  return values.length ? [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))] : null;
}

function surface(summary, { chosen, output, ends }) {
  if (summary.kind === "class-map" && !summary.classes.map(String).includes(chosen)) return likely(summary);
  const bar = { thickness: 12, outlinewidth: 0, len: 0.9, title: { side: "right" } };
  const base = { type: "heatmap", x: summary.x, y: summary.y, colorscale: look().scale, zsmooth: "best", showlegend: false };
  if (summary.kind === "class-map") {
    const k = Math.max(0, summary.classes.map(String).indexOf(chosen));
    const z = summary.probability[k];
    const title = plain(`probability of ${summary.classes[k]}`);
    return { ...base, z, zmin: 0, zmax: 1, colorbar: { ...bar, title: { ...bar.title, text: title } }, hovertemplate: `${title}: %{z:.1%}<extra></extra>` };
  }
  const title = plain(chosen === "sd" ? `spread of ${output} (standard deviation)` : `mean of ${output}`);
  return { ...base, z: tableOf(summary, chosen), ...(ends && { zmin: ends[0], zmax: ends[1] }), colorbar: { ...bar, title: { ...bar.title, text: title } }, hovertemplate: `${title}: %{z:.4g}<extra></extra>` };
}

/** @param {object} summary of functions, from the server */
export function functionTraces(summary, which, { chosen, withLegend = true, output, ends }) {
  if (!summary) return [];
  const style = styleOf(which);
  if (summary.kind === "curve") return curve(summary, style, which === "prior" ? MANY : FEW);
  if (summary.kind === "classes") return classes(summary, style, withLegend);
  return [surface(summary, { chosen, output, ends })];
}

const PATTERN = { forbidden: "/", expected: "", region: "" };

/** A rule's layer: a hatched or plain area, and its line. */
export function layerTraces(layer) {
  const colour = hue(layer.colour);
  const forbidden = layer.kind === "forbidden";
  const traces = [];
  if (layer.fill?.x?.length) {
    traces.push({
      ...AREA, x: layer.fill.x, y: layer.fill.y, fill: "toself", hoverinfo: "text", hoveron: "fills", text: plain(layer.label ?? ""),
      line: { width: layer.kind === "region" ? 1.5 : 0.8, color: colour, dash: layer.kind === "region" ? "dot" : "solid" },
      fillcolor: faded(colour, layer.kind === "region" ? 0.06 : 0.14),
      fillpattern: forbidden
        ? { shape: PATTERN.forbidden, fgcolor: faded(colour, 0.55), bgcolor: faded(colour, 0.1), size: 9, solidity: 0.18 }
        : undefined,
    });
  }
  if (layer.line?.x?.length) {
    traces.push({ ...AREA, x: layer.line.x, y: layer.line.y, line: { width: 2, color: colour, dash: "dashdot" } });
  }
  return traces;
}

function marks(x, y, extra) {
  const { data, ground } = look();
  return {
    type: "scatter", mode: "markers", x, y, showlegend: false,
    marker: { size: 8, color: data, line: { width: 1, color: ground }, ...extra },
  };
}

/** Many points are smaller and paler, so that functions stay visible behind them. */
function markerStyle(count) {
  return count > 200 ? { size: 5, opacity: Math.max(0.12, Math.sqrt(200 / count)) } : { size: 8, opacity: 0.95 };
}

function byClass(columns, output, classesShown) {
  const labels = classesShown ?? [...new Set(columns[output])].map(String).sort();
  return labels.map((label, k) => ({
    label: String(label), k, colour: classHue(labels, k),
    rows: columns[output].flatMap((value, i) => (String(value) === String(label) ? [i] : [])),
  }));
}

const STEP = 0.045;
const ROOM = 8 * STEP;

/** Each class has its own line of rows below the probabilities; many classes share the room of eight. */
const stepOf = (count) => Math.min(STEP, ROOM / count);

/** @returns {number} the lower edge of a plot with `count` classes */
export const belowClasses = (count) => -stepOf(count) * (count + 0.6);

/** Rows of the table in this view. */
export function rowTraces(rows, { view, isClasses, inputs, labels }) {
  const columns = rows?.columns ?? {};
  const [first, second] = view.along;
  const xs = columns[first];
  const ys = columns[view.output];
  if (!xs || !ys) return [];
  if (second) return mapRows(columns, view, isClasses, labels);
  const { size, opacity } = markerStyle(xs.length);
  const alpha = inputs > 1 ? Math.min(0.4, opacity) : opacity;
  if (!isClasses) return [{ ...marks(xs, ys, { opacity: alpha, size }), hovertemplate: "%{x:.4g}, %{y:.4g}, a row<extra></extra>" }];
  const classes = byClass(columns, view.output, labels);
  const step = stepOf(classes.length);
  const length = Math.min(9, (9 * step) / STEP + 1);
  return classes.map(({ label, k, colour, rows: indices }) => ({
    ...marks(indices.map((i) => xs[i]), indices.map(() => -step * (k + 1)), { symbol: "line-ns-open", size: length, color: colour, opacity: alpha, line: { width: 1.5, color: colour } }),
    hovertemplate: `%{x:.4g}, a row of ${plain(label)}<extra></extra>`,
  }));
}

function mapRows(columns, view, isClasses, labels) {
  const [first, second] = view.along;
  const { size, opacity } = markerStyle(columns[first].length);
  const alpha = Math.min(0.9, opacity);
  if (!isClasses) {
    const text = columns[view.output].map((value) => show(value));
    return [{ ...marks(columns[first], columns[second], { opacity: alpha, size: Math.min(7, size) }), text, hovertemplate: `${plain(view.output)} %{text}, a row<extra></extra>` }];
  }
  return byClass(columns, view.output, labels).map(({ label, k, colour, rows: indices }) => ({
    ...marks(indices.map((i) => columns[first][i]), indices.map((i) => columns[second][i]), { symbol: SYMBOLS[k % 8], color: colour, opacity: alpha }),
    name: plain(label), showlegend: true, hovertemplate: `a row of ${plain(label)}<extra></extra>`,
  }));
}
