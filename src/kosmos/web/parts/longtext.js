// A text of any number of lines. Lines wrap, so heights differ: blocks of lines are filled when they come near
// and emptied when they are far, and the browser's scroll anchoring keeps the place.
import { h, put } from "./dom.js";

const BLOCK = 100;
const PAGE = 1000;
const NEAR = "900px";

/** `load(start, end)` answers {lines, pages}; `draw(number, text, page)` answers the elements of a line. */
export class LongText {
  #blocks = [];
  #pages = new Map();

  constructor({ count, load, draw, label, lineHeight = 24 }) {
    Object.assign(this, { count, load, draw, lineHeight });
    this.element = h("div", { class: "long-text", tabindex: "0", role: "region", "aria-label": label });
    this.watch = new IntersectionObserver((seen) => seen.forEach((entry) => this.#seen(entry)), {
      root: this.element,
      rootMargin: NEAR,
    });
    for (let start = 1; start <= count; start += BLOCK) this.#blocks.push(this.#block(start));
    this.element.append(...this.#blocks.map((block) => block.element));
  }

  #block(start) {
    const end = Math.min(start + BLOCK - 1, this.count);
    const element = h("div", { class: "block" });
    element.style.height = `${(end - start + 1) * this.lineHeight}px`;
    const block = { start, end, element, filled: false, near: false };
    element.block = block;
    this.watch.observe(element);
    return block;
  }

  #seen(entry) {
    const { block } = entry.target;
    block.near = entry.isIntersecting;
    if (block.near && !block.filled) this.#fill(block);
    else if (!block.near && block.filled) this.#empty(block, entry.boundingClientRect.height);
  }

  async #fill(block) {
    const page = await this.page(block.start);
    if (block.filled || !(block.near || block.wanted)) return;
    const made = [];
    for (let number = block.start; number <= block.end; number += 1) {
      const at = number - page.start_line;
      made.push(...this.draw(number, page.lines[at] ?? "", page.pageOf.get(number), page.fenced.has(number)));
    }
    put(block.element, made);
    block.element.style.height = "";
    block.filled = true;
  }

  #empty(block, height) {
    block.element.style.height = `${height}px`;
    put(block.element);
    block.filled = false;
  }

  /** The stretch of lines in which a line stands; asked for once. */
  page(number) {
    const start = Math.floor((number - 1) / PAGE) * PAGE + 1;
    if (!this.#pages.has(start)) {
      const loading = this.load(start, Math.min(start + PAGE - 1, this.count)).then(prepare);
      loading.catch(() => this.#pages.delete(start));
      this.#pages.set(start, loading);
    }
    return this.#pages.get(start);
  }

  /** Lines first to last as an array. */
  async read(first, last) {
    const found = [];
    for (let number = first; number <= last; number += 1) {
      const page = await this.page(number);
      found.push(page.lines[number - page.start_line] ?? "");
    }
    return found;
  }

  /** The elements of lines that are in the document now. */
  get shown() {
    return this.element.querySelectorAll(".line");
  }

  /** Scroll to a line. */
  async reveal(number) {
    const block = this.#blocks[Math.floor((Math.max(1, Math.min(number, this.count)) - 1) / BLOCK)];
    if (!block) return;
    block.wanted = true;
    await this.#fill(block);
    block.wanted = false;
    const line = block.element.querySelector(`[data-n="${number}"]`);
    const place = () => line?.scrollIntoView({ block: "center" });
    place();
    // Neighbours are filled after the jump and may push the line a little.
    requestAnimationFrame(() => requestAnimationFrame(place));
    setTimeout(place, 250);
  }

  /** The first and last line in sight, about. */
  get window() {
    const top = this.element.scrollTop;
    return [this.#lineAt(top), this.#lineAt(top + this.element.clientHeight)];
  }

  #lineAt(offset) {
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#blocks[middle].element.offsetTop <= offset) low = middle;
      else high = middle - 1;
    }
    const block = this.#blocks[low];
    if (!block) return 1;
    const { offsetTop, offsetHeight } = block.element;
    const share = Math.min(1, Math.max(0, (offset - offsetTop) / Math.max(1, offsetHeight)));
    return Math.round(block.start + share * (block.end - block.start));
  }

  /** Draw the blocks in sight again. */
  redraw() {
    for (const block of this.#blocks) {
      if (block.filled) {
        this.#empty(block, block.element.offsetHeight);
        this.#fill(block);
      }
    }
  }

  close() {
    this.watch.disconnect();
  }
}

function prepare(page) {
  const pageOf = new Map(page.pages.map((span) => [span.start_line, span.page]));
  const fenced = new Set();
  let inside = false;
  page.lines.forEach((line, at) => {
    const edge = /^\s*(```|~~~)/.test(line);
    if (inside || edge) fenced.add(page.start_line + at);
    if (edge) inside = !inside;
  });
  return { ...page, pageOf, fenced };
}
