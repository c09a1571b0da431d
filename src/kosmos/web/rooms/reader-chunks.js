// The chunk tree beside the text, and what is known of the chosen chunk.
import { titleOf } from "../parts/chunks.js";
import { h, put } from "../parts/dom.js";
import { lines, number } from "../parts/format.js";
import { renderInto } from "../parts/html.js";
import { icon } from "../parts/icons.js";
import { LongList } from "../parts/list.js";
import { named, t } from "../parts/text.js";

const ROW = 46;

export class ChunkPane {
  #chosen = null;

  constructor(reader) {
    this.reader = reader;
    this.list = new LongList({
      label: t("reader.tree"),
      role: "tree",
      rowRole: "treeitem",
      rowHeight: () => ROW,
      draw: (chunk, row) => this.#draw(chunk, row),
      onKey: (event) => this.#key(event),
    });
    this.list.inner.addEventListener("mouseover", (event) => this.#over(event));
    this.list.inner.addEventListener("mouseleave", () => reader.light(null));
    this.list.inner.addEventListener("click", (event) => this.#click(event));
    this.details = h("div", {
      class: "chunk-details",
      "aria-live": "polite",
      tabindex: "0",
      role: "region",
      "aria-label": t("reader.chunk"),
    });
    this.details.append(h("p", { class: "soft" }, t("reader.choose")));
    this.element = h(
      "aside",
      { class: "chunk-pane", "aria-label": t("reader.tree") },
      this.list.element,
      this.details,
    );
    this.list.items = reader.tree.items;
  }

  #draw(chunk, row) {
    const depth = this.reader.tree.depth.get(chunk.id);
    const tone = this.reader.tree.tone.get(chunk.id);
    row.className = `long-row chunk ${chunk.type}${chunk.id === this.#chosen ? " chosen" : ""}${chunk.id === this.reader.lit ? " lit" : ""}`;
    row.id = `chunk-${chunk.id}`;
    row.dataset.id = chunk.id;
    row.setAttribute("aria-level", depth + 1);
    row.setAttribute("aria-selected", chunk.id === this.#chosen);
    row.style.setProperty("--depth", Math.min(depth, 8));
    if (tone === undefined) delete row.dataset.tone;
    else row.dataset.tone = tone;
    const hidden = Object.values(chunk.hidden).reduce((sum, count) => sum + count, 0);
    put(
      row,
      h("span", { class: "chunk-title" }, titleOf(chunk) || named("chunk", chunk.type)),
      h(
        "span",
        { class: "chunk-facts" },
        `${chunk.start_line}–${chunk.end_line}`,
        chunk.type === "heading" ? "" : ` · ${t("tokens", { count: number(chunk.token_count) })}`,
        chunk.page ? ` · ${t("page", { page: chunk.page })}` : "",
        hidden ? ` · ${t("chunk.hidden", { count: hidden })}` : "",
      ),
    );
  }

  #idOf(event) {
    return event.target.closest?.(".long-row")?.dataset.id ?? null;
  }

  #over(event) {
    this.reader.light(this.#idOf(event));
  }

  #click(event) {
    const id = this.#idOf(event);
    if (id) this.reader.select(id);
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const items = this.reader.tree.items;
    if (step) {
      event.preventDefault();
      const at = Math.max(0, Math.min(items.length - 1, this.reader.tree.index(this.#chosen) + step));
      this.reader.select(items[at].id);
    } else if (event.key === "Enter" && this.#chosen) {
      this.reader.text.element.focus();
    }
  }

  light(id) {
    for (const row of this.list.inner.children) row.classList.toggle("lit", row.dataset.id === id);
  }

  select(id) {
    this.#chosen = id;
    this.list.reveal(this.reader.tree.index(id));
    this.list.redraw();
    this.list.element.setAttribute("aria-activedescendant", `chunk-${id}`);
    this.#tell(this.reader.tree.get(id));
  }

  #tell(chunk) {
    const failed = chunk.type === "error";
    const shown = h("div", { class: "prose small" });
    const hidden = Object.entries(chunk.hidden).map(([kind, count]) =>
      h("li", {}, `${named("kind", kind)} × ${count}`),
    );
    put(
      this.details,
      h(
        "h2",
        {},
        lines(chunk.start_line, chunk.end_line),
        h("span", { class: "soft" }, ` ${named("chunk", chunk.type)}`),
      ),
      chunk.summary
        ? [
            h("h3", {}, t(failed ? "chunk.reason" : "chunk.summary")),
            h("p", { class: failed ? "bad-text" : null }, chunk.summary),
          ]
        : null,
      failed && this.reader.mayEdit
        ? h(
            "button",
            { class: "danger", on: { click: () => this.reader.retry(chunk) } },
            icon("again"),
            t("chunk.retry"),
          )
        : null,
      hidden.length ? [h("h3", {}, t("chunk.covered")), h("ul", { class: "plain-list" }, hidden)] : null,
      h("h3", {}, t("chunk.shown")),
      shown,
    );
    renderInto([[shown, chunk.text]]).catch(() => put(shown, h("pre", {}, chunk.text)));
  }

  close() {
    this.list.close();
  }
}
