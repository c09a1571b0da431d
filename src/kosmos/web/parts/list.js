// A list of any length: only the rows in sight are in the document.
import { eachFrame, h } from "./dom.js";

const BEYOND = 6; // rows above and below what is seen

/** `draw(item, row, index)` fills a row; `rowHeight()` gives the height of all rows. */
export class LongList {
  #items = [];
  #rows = new Map();
  #first = 0;

  constructor({ draw, rowHeight, label, role = "list", rowRole = "listitem", onKey }) {
    this.draw = draw;
    this.rowHeight = rowHeight;
    this.rowRole = rowRole;
    this.inner = h("div", { class: "long-inner", role, "aria-label": label });
    this.element = h("div", { class: "long-list", tabindex: "0", role: "group", "aria-label": label }, this.inner);
    this.show = eachFrame(() => this.#show());
    this.element.addEventListener("scroll", this.show, { passive: true });
    if (onKey) this.element.addEventListener("keydown", onKey);
    this.watch = new ResizeObserver(() => this.show());
    this.watch.observe(this.element);
  }

  /** Show other items; rows in sight are drawn anew. */
  set items(items) {
    this.#items = items;
    this.redraw();
  }

  get items() {
    return this.#items;
  }

  /** Draw the rows in sight again. */
  redraw() {
    for (const row of this.#rows.values()) row.stale = true;
    this.show();
  }

  /** Scroll so that an item is seen. */
  reveal(index) {
    const height = this.rowHeight();
    const [top, seen] = [index * height, this.element.clientHeight];
    const at = this.element.scrollTop;
    if (top < at || top + height > at + seen) this.element.scrollTop = Math.max(0, top - seen / 3);
    this.show();
  }

  close() {
    this.watch.disconnect();
  }

  #show() {
    const height = this.rowHeight();
    this.inner.style.height = `${this.#items.length * height}px`;
    const top = this.element.scrollTop;
    const first = Math.max(0, Math.floor(top / height) - BEYOND);
    const last = Math.min(this.#items.length, Math.ceil((top + this.element.clientHeight) / height) + BEYOND);
    for (const [index, row] of this.#rows) {
      if (index < first || index >= last) {
        row.element.remove();
        this.#rows.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) this.#place(index, height);
    this.#first = first;
  }

  #place(index, height) {
    let row = this.#rows.get(index);
    if (!row) {
      const element = h("div", { class: "long-row", role: this.rowRole, "aria-setsize": this.#items.length });
      element.setAttribute("aria-posinset", index + 1);
      row = { element, stale: true };
      this.#rows.set(index, row);
      const after = [...this.#rows.keys()].filter((other) => other > index).sort((a, b) => a - b)[0];
      this.inner.insertBefore(element, after === undefined ? null : this.#rows.get(after).element);
    }
    row.element.style.transform = `translateY(${index * height}px)`;
    row.element.style.height = `${height}px`;
    if (row.stale) {
      this.draw(this.#items[index], row.element, index);
      row.stale = false;
    }
  }
}
