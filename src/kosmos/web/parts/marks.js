// What is marked within lines: a quote, and what is hidden.
import { h } from "./dom.js";

const HIDDEN = /⟦[^⟦⟧]{1,60}⟧/g;

/** Where a quote stands in lines: a map from line number to [from, to]. Empty when it is not there. */
export function placeQuote(lines, first, quote) {
  const found = new Map();
  if (!quote) return found;
  const whole = lines.join("\n");
  const start = whole.indexOf(quote);
  if (start < 0) return found;
  const end = start + quote.length;
  let at = 0;
  lines.forEach((line, index) => {
    const [from, to] = [Math.max(start, at), Math.min(end, at + line.length)];
    if (from < to) found.set(first + index, [from - at, to - at]);
    at += line.length + 1;
  });
  return found;
}

/** The text of a line as nodes: the marked part as <mark>, hidden parts covered. */
export function pieces(text, marked) {
  if (!marked) return covered(text);
  const [from, to] = marked;
  return [...covered(text.slice(0, from)), h("mark", {}, covered(text.slice(from, to))), ...covered(text.slice(to))];
}

function covered(text) {
  if (!text.includes("⟦")) return [text];
  const made = [];
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    made.push(text.slice(at, found.index), h("span", { class: "covered" }, found[0].slice(1, -1)));
    at = found.index + found[0].length;
  }
  return [...made, text.slice(at)];
}
