// Small plots as SVG, with the numbers as text for those who cannot see them.
import { h, svg } from "./dom.js";

/** Horizontal bars: rows of {label, value, parts: [{value, tone}], text}. */
export function bars(rows, { title }) {
  const most = Math.max(1e-9, ...rows.map((row) => row.value));
  return h(
    "figure",
    { class: "bars" },
    h("figcaption", {}, title),
    h(
      "ul",
      {},
      rows.map((row) =>
        h(
          "li",
          {},
          h("span", { class: "bar-label", title: row.label }, row.label),
          bar(row, most),
          h("span", { class: "bar-text" }, row.text),
        ),
      ),
    ),
  );
}

function bar(row, most) {
  const parts = row.parts ?? [{ value: row.value, tone: 0 }];
  let at = 0;
  const drawn = parts.map((part) => {
    const width = (100 * part.value) / most;
    const made = svg("rect", { x: at, y: 0, width, height: 10, class: `bar tone-${part.tone}` });
    at += width;
    return made;
  });
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn);
}

const WIDE = 560;
const HIGH = 150;
const EDGE = 36;

/** Lines through points {x, y, low, high}: `series` of {name, points, tone}; values lie within 0 and `top`. */
export function curves(series, { title, top = 1, xText, yText }) {
  const points = series.flatMap((one) => one.points);
  const [first, last] = [Math.min(...points.map((p) => p.x)), Math.max(...points.map((p) => p.x))];
  const x = (value) => EDGE + ((value - first) / Math.max(1e-9, last - first)) * (WIDE - EDGE - 12);
  const y = (value) => HIGH - 22 - (value / top) * (HIGH - 34);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    svg("line", { x1: EDGE, x2: WIDE - 12, y1: y(share * top), y2: y(share * top), class: "grid" }),
    svg("text", { x: EDGE - 6, y: y(share * top) + 3, class: "tick end" }, yText(share * top)),
  ]);
  const ends = [first, last].map((value, at) =>
    svg("text", { x: x(value), y: HIGH - 6, class: at ? "tick end" : "tick" }, xText(value)),
  );
  return h(
    "figure",
    { class: "curves" },
    h("figcaption", {}, title),
    svg(
      "svg",
      { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": title },
      grid,
      first < last ? ends : ends[0],
      series.map((one) => curve(one, x, y)),
    ),
    h(
      "ul",
      { class: "legend" },
      series.map((one) => h("li", { class: `key tone-${one.tone}` }, one.name)),
    ),
  );
}

function curve({ points, tone, name }, x, y) {
  const path = points.map((p, at) => `${at ? "L" : "M"}${x(p.x)} ${y(p.y)}`).join("");
  return svg(
    "g",
    { class: `curve tone-${tone}` },
    svg("path", { d: path }),
    points.map((p) => [
      p.low === undefined
        ? null
        : svg("line", { x1: x(p.x), x2: x(p.x), y1: y(p.low), y2: y(p.high), class: "whisker" }),
      svg("circle", { cx: x(p.x), cy: y(p.y), r: 3 }, svg("title", {}, `${name} ${p.text ?? p.y}`)),
    ]),
  );
}
