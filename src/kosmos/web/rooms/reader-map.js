// The whole document as a strip: each chunk in its colour, failed ones red, with a frame for what is in sight.
import { h } from "../parts/dom.js";
import { t } from "../parts/text.js";

export class DocumentMap {
  constructor(reader) {
    this.reader = reader;
    this.canvas = h("canvas", { role: "img", "aria-label": t("reader.map") });
    this.frame = h("div", { class: "map-frame", "aria-hidden": "true" });
    this.spot = h("div", { class: "map-spot", "aria-hidden": "true", hidden: true });
    this.element = h("div", { class: "map" }, this.canvas, this.spot, this.frame);
    const go = (event) => {
      const { top, height } = this.canvas.getBoundingClientRect();
      const line = Math.round(((event.clientY - top) / height) * reader.text.count);
      reader.text.reveal(Math.min(reader.text.count, Math.max(1, line)));
    };
    this.element.addEventListener("pointerdown", go);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const { tree, text } = this.reader;
    const tones = [0, 1, 2, 3, 4, 5].map((tone) => this.#colour(`--tone-${tone}`));
    const bad = this.#colour("--bad");
    this.canvas.width = width;
    this.canvas.height = height;
    const brush = this.canvas.getContext("2d");
    for (const chunk of tree.leaves) {
      const top = ((chunk.start_line - 1) / text.count) * height;
      const size = ((chunk.end_line - chunk.start_line + 1) / text.count) * height;
      brush.fillStyle = chunk.type === "error" ? bad : tones[tree.tone.get(chunk.id)];
      brush.fillRect(0, top, width, Math.max(0.75, size - (size > 3 ? 1 : 0)));
    }
    this.follow();
  }

  /** A colour of the theme as a canvas can take it. */
  #colour(name) {
    this.spot.style.color = `var(${name})`;
    const found = getComputedStyle(this.spot).color;
    this.spot.style.color = "";
    return found;
  }

  /** Move the frame to the lines in sight. */
  follow() {
    const { text } = this.reader;
    const [first, last] = text.window;
    const height = this.element.clientHeight;
    this.frame.style.top = `${((first - 1) / text.count) * height}px`;
    this.frame.style.height = `${Math.max(6, ((last - first + 1) / text.count) * height)}px`;
  }

  light(chunk) {
    this.spot.hidden = !chunk;
    if (!chunk) return;
    const height = this.element.clientHeight;
    this.spot.style.top = `${((chunk.start_line - 1) / this.reader.text.count) * height}px`;
    this.spot.style.height = `${Math.max(3, ((chunk.end_line - chunk.start_line + 1) / this.reader.text.count) * height)}px`;
  }
}
