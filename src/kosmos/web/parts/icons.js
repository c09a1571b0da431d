// The few signs of the page, drawn in lines.
import { svg } from "./dom.js";

const PATHS = {
  documents: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.5 16.5 21 21",
  chat: "M4 5h16v11H9l-5 4z",
  jobs: "M4 6h16M4 12h10M4 18h13",
  evaluation: "M4 20V4M4 20h16M8 16l4-5 3 3 5-7",
  agents: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c1-5 4-7 8-7s7 2 8 7",
  plus: "M12 5v14M5 12h14",
  gear: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
  pause: "M8 5v14M16 5v14",
  play: "M7 4l13 8-13 8z",
  stop: "M6 6h12v12H6z",
  again: "M4 12a8 8 0 1 1 2.5 5.8M4 20v-4.5h4.5",
  bin: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  send: "M4 12h15M13 6l6 6-6 6",
  back: "M20 12H5M11 6l-6 6 6 6",
  leave: "M10 4H5v16h5M9 12h11M16 8l4 4-4 4",
};

/** A sign, hidden from screen readers: the words stand beside it. */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
}
