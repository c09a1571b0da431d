// The reader: the canonical text with its line numbers beside the chunks that were made of it.
import { all, get, post } from "../parts/api.js";
import { ChunkTree } from "../parts/chunks.js";
import { eachFrame, h, put } from "../parts/dom.js";
import { cost, number } from "../parts/format.js";
import { icon } from "../parts/icons.js";
import { live } from "../parts/live.js";
import { LongText } from "../parts/longtext.js";
import { placeQuote } from "../parts/marks.js";
import { complain, problemBox, say } from "../parts/notes.js";
import { address, here } from "../parts/route.js";
import { mayEdit, spaces } from "../parts/spaces.js";
import { named, t } from "../parts/text.js";
import { ChunkPane } from "./reader-chunks.js";
import { drawLine } from "./reader-line.js";
import { DocumentMap } from "./reader-map.js";

class KosmosReader extends HTMLElement {
  #end = new AbortController();

  connectedCallback() {
    [this.id_] = here().ids;
    put(this, h("p", { class: "room soft" }, t("loading")));
    live.listen("job", (job) => this.#heard(job), this.#end.signal);
    this.#load().catch(
      (error) => error.name !== "AbortError" && put(this, h("section", { class: "room" }, problemBox(error))),
    );
  }

  disconnectedCallback() {
    this.#end.abort();
    this.text?.close();
    this.pane?.close();
  }

  moved() {
    if (here().ids[0] !== this.id_ || !this.text) return false;
    this.#target().catch(complain);
    return true;
  }

  async #load() {
    const { signal } = this.#end;
    this.view = await get(`/documents/${this.id_}/overview`, { signal });
    if (!this.view.document.line_count) return this.#waiting();
    const chunks = await all(`/documents/${this.id_}/chunks`, { signal });
    this.tree = new ChunkTree(chunks);
    this.figures = Map.groupBy(this.view.assets, (asset) => asset.line);
    this.marked = new Map();
    this.#draw();
    return this.#target();
  }

  get space() {
    return spaces.list.find((space) => space.id === this.view.document.space_id);
  }

  #waiting() {
    const { document } = this.view;
    const error = document.error ? problemBox(new Error(document.error)) : null;
    put(
      this,
      h(
        "section",
        { class: "room" },
        this.#head(),
        h("p", {}, h("span", { class: `tag ${document.status.toLowerCase()}` }, named("document", document.status))),
        error,
        h("p", { class: "soft" }, t("reader.waiting")),
      ),
    );
  }

  #draw() {
    const { document } = this.view;
    this.text = new LongText({
      count: document.line_count,
      label: t("reader.text"),
      load: (start, end) =>
        get(`/documents/${this.id_}/lines?start=${start}&end=${end}`, { signal: this.#end.signal }),
      draw: (...line) => drawLine(this, ...line),
    });
    this.pane = new ChunkPane(this);
    this.map = new DocumentMap(this);
    this.text.element.addEventListener(
      "scroll",
      eachFrame(() => this.map.follow()),
      { passive: true },
    );
    this.text.element.addEventListener("mouseover", (event) => this.#over(event));
    this.text.element.addEventListener("mouseleave", () => this.light(null));
    this.text.element.addEventListener("click", (event) => this.#pick(event));
    const parts = h("div", { class: "reader-parts" }, this.pane.element, this.text.element, this.map.element);
    put(this, h("section", { class: "reader", data: { shown: "text" } }, this.#head(), this.#tabs(parts), parts));
    this.map.draw();
  }

  #head() {
    const { document, converter, notes, spent, chunk_count: count } = this.view;
    const facts = [
      t("reader.lines", { count: number(document.line_count) }),
      t("reader.chunks", { count: number(count) }),
      document.filetype,
      converter,
      cost(spent),
    ].filter(Boolean);
    return h(
      "header",
      { class: "reader-head" },
      h(
        "a",
        { class: "plain-link", href: address("documents", [document.space_id]), "aria-label": t("room.documents") },
        icon("back"),
      ),
      h(
        "div",
        {},
        h("h1", {}, document.title || document.source),
        h(
          "p",
          { class: "soft" },
          document.source === document.title ? "" : `${document.source} · `,
          facts.join(" · "),
        ),
      ),
      h(
        "nav",
        { class: "group", "aria-label": t("reader.more") },
        h("a", { class: "button", href: address("jobs", [], { document: document.id }) }, t("reader.jobs")),
        h(
          "a",
          { class: "button", href: `/api/v1/documents/${document.id}/original`, download: "" },
          t("reader.original"),
        ),
      ),
      notes.length
        ? h(
            "details",
            { class: "wide" },
            h("summary", {}, t("reader.notes", { count: notes.length })),
            h(
              "ul",
              {},
              notes.map((note) => h("li", {}, note)),
            ),
          )
        : null,
    );
  }

  /** On a narrow screen text and chunks take turns. */
  #tabs() {
    const turn = (name) => () => {
      this.firstElementChild.dataset.shown = name;
      for (const tab of tabs) tab.setAttribute("aria-pressed", tab.dataset.name === name);
      this.pane.list.show();
    };
    const tabs = ["text", "chunks"].map((name) =>
      h(
        "button",
        { "aria-pressed": name === "text", data: { name }, on: { click: turn(name) } },
        t(`reader.${name}.tab`),
      ),
    );
    return h("div", { class: "tabs" }, tabs);
  }

  /** Show the lines that the address names, with the quote marked. */
  async #target() {
    const { given } = here();
    const start = Number(given.get("start"));
    this.aim = null;
    this.marked = new Map();
    if (!start) return;
    const end = Math.min(Number(given.get("end")) || start, this.text.count);
    this.aim = [start, end];
    const quote = given.get("quote");
    if (quote) {
      this.marked = placeQuote(await this.text.read(start, end), start, quote);
      if (!this.marked.size) say(t("reader.quote.gone"), { bad: true });
    }
    this.text.redraw();
    const first = this.marked.size ? Math.min(...this.marked.keys()) : start;
    await this.text.reveal(first);
    const chunk = this.tree.at(first);
    if (chunk) this.select(chunk.id, { scroll: false });
  }

  #over(event) {
    const line = event.target.closest?.(".line");
    this.light(line ? (this.tree.at(Number(line.dataset.n))?.id ?? null) : null);
  }

  #pick(event) {
    if (getSelection().toString()) return;
    const line = event.target.closest?.(".line");
    const chunk = line && this.tree.at(Number(line.dataset.n));
    if (chunk) this.select(chunk.id, { scroll: false });
  }

  /** Light a chunk in the text, in the tree and in the map; null lights none. */
  light(id) {
    if (id === this.lit) return;
    this.lit = id;
    const chunk = id ? this.tree.get(id) : null;
    for (const line of this.text.shown) {
      const at = Number(line.dataset.n);
      line.classList.toggle("lit", Boolean(chunk) && chunk.start_line <= at && at <= chunk.end_line);
    }
    this.pane.light(id);
    this.map.light(chunk);
  }

  /** Choose a chunk: its details are shown, and its lines come into sight. */
  select(id, { scroll = true } = {}) {
    this.pane.select(id);
    const chunk = this.tree.get(id);
    if (scroll && chunk) {
      this.firstElementChild.dataset.shown = "text";
      for (const tab of this.querySelectorAll(".tabs button"))
        tab.setAttribute("aria-pressed", tab.dataset.name === "text");
      this.text.reveal(chunk.start_line).then(() => {
        this.lit = undefined;
        this.light(id);
      });
    }
  }

  get mayEdit() {
    return mayEdit(this.space);
  }

  /** Let a model try the lines of a failed chunk again. */
  async retry(chunk) {
    try {
      await post(`/chunks/${chunk.id}/retry`);
      say(t("chunk.retried"));
    } catch (error) {
      complain(error);
    }
  }

  /** A document that gets its text, or new chunks, is read anew. */
  #heard(job) {
    if (job.document_id !== this.id_ || job.status !== "COMPLETED") return;
    const last = this.view && !this.text ? true : job.type === "indexing";
    if (last && this.isConnected) this.#load().catch(complain);
  }
}

customElements.define("kosmos-reader", KosmosReader);
