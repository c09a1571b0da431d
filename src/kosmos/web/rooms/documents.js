// The documents of a space: their state, what they cost, what went wrong with them.
import { get, remove } from "../parts/api.js";
import { confirm } from "../parts/dialog.js";
import { h, put, settled } from "../parts/dom.js";
import { bytes, cost, moment, number, percent } from "../parts/format.js";
import { icon } from "../parts/icons.js";
import { live } from "../parts/live.js";
import { attempt, problemBox } from "../parts/notes.js";
import { fraction } from "../parts/progress.js";
import { address, go, here } from "../parts/route.js";
import { mayEdit, spaces } from "../parts/spaces.js";
import { named, t } from "../parts/text.js";
import { addingBox } from "./adding.js";
import { editSpace, newSpace } from "./spaces.js";

const PAGE = 100;

class KosmosDocuments extends HTMLElement {
  #end = new AbortController();
  #rows = new Map();
  #next = null;

  connectedCallback() {
    const { signal } = this.#end;
    const [id] = here().ids;
    if (id && spaces.list.some((space) => space.id === id)) spaces.choose(id);
    live.listen("job", (job) => this.#heard(job), signal);
    live.listen("back", () => this.#load(), signal);
    this.#draw();
  }

  disconnectedCallback() {
    this.#end.abort();
  }

  #draw() {
    const space = spaces.current;
    if (!space) {
      put(this, h("section", { class: "room" }, h("h1", {}, t("room.documents")), this.#empty()));
      return;
    }
    this.body = h("tbody");
    this.more = h("button", { hidden: true, on: { click: attempt(() => this.#page()) } }, t("more"));
    this.sum = h("p", { class: "soft" });
    this.problem = h("div");
    const heads = ["document", "state", "size", "lines", "cost", "changed"];
    const table = h(
      "table",
      { class: "documents" },
      h("caption", { class: "unseen" }, t("documents.of", { space: space.name })),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((name, at) => h("th", { scope: "col", class: at > 1 ? "n" : null }, t(`head.${name}`))),
          h("th", { scope: "col" }, h("span", { class: "unseen" }, t("head.actions"))),
        ),
      ),
      this.body,
    );
    put(
      this,
      h(
        "section",
        { class: "room" },
        this.#head(space),
        mayEdit(space) ? addingBox(space, () => this.#load()) : null,
        this.problem,
        h(
          "div",
          {
            class: "scroll-x",
            tabindex: "0",
            role: "region",
            "aria-label": t("documents.of", { space: space.name }),
          },
          table,
        ),
        this.more,
        this.sum,
      ),
    );
    this.#load();
  }

  #empty() {
    return h(
      "div",
      { class: "box" },
      h("p", {}, t("spaces.none")),
      h("button", { class: "primary", on: { click: () => this.#make() } }, t("space.new")),
    );
  }

  #head(space) {
    const choice = h(
      "select",
      { "aria-label": t("space"), on: { change: (event) => this.#choose(event.target.value) } },
      spaces.list.map((one) => h("option", { value: one.id, selected: one.id === space.id }, one.name)),
    );
    return h(
      "header",
      { class: "room-head" },
      h("h1", {}, t("room.documents")),
      h(
        "div",
        { class: "group" },
        choice,
        h("button", { on: { click: () => this.#make() } }, icon("plus"), t("space.new")),
        h("button", { on: { click: () => this.#edit(space) } }, icon("gear"), t("space.settings")),
      ),
      space.description ? h("p", { class: "soft wide" }, space.description) : null,
    );
  }

  #choose(id) {
    spaces.choose(id);
    go("documents", [id]);
  }

  moved() {
    const [id] = here().ids;
    if (id && spaces.list.some((space) => space.id === id)) spaces.choose(id);
    this.#draw();
    return true;
  }

  async #make() {
    const made = await newSpace();
    if (made) this.#choose(made.id);
  }

  async #edit(space) {
    if (await editSpace(space)) {
      await spaces.load();
      this.#draw();
    }
  }

  #load = settled(async () => {
    try {
      const kept = spaces.current.id;
      const [page, spent] = await Promise.all([
        get(`/spaces/${kept}/documents?limit=${PAGE}`, { signal: this.#end.signal }),
        get(`/spaces/${kept}/cost`, { signal: this.#end.signal }),
      ]);
      this.spent = new Map(spent.documents.map((item) => [item.document_id, item.sum.spent]));
      this.#rows.clear();
      put(this.body);
      put(this.problem);
      this.#add(page);
      put(
        this.sum,
        spent.sum.calls ? t("documents.spent", { calls: number(spent.sum.calls), cost: cost(spent.sum.spent) }) : "",
      );
    } catch (error) {
      if (error.name !== "AbortError") put(this.problem, problemBox(error));
    }
  }, 60);

  async #page() {
    this.#add(await get(`/spaces/${spaces.current.id}/documents?limit=${PAGE}&after=${this.#next}`));
  }

  #add(page) {
    for (const document of page.items) {
      const row = h("tr", { data: { id: document.id } });
      this.#rows.set(document.id, { row, document, job: null });
      this.#fill(document.id);
      this.body.append(row);
    }
    this.#next = page.next;
    this.more.hidden = page.next === null;
    if (!this.#rows.size) put(this.body, h("tr", {}, h("td", { colspan: 7, class: "soft" }, t("documents.none"))));
  }

  #fill(id) {
    const { row, document, job } = this.#rows.get(id);
    const name = document.title && document.title !== document.source ? document.title : document.source;
    put(
      row,
      h(
        "th",
        { scope: "row" },
        h("a", { href: address("read", [id]) }, name),
        name === document.source ? null : h("small", {}, document.source),
      ),
      h("td", { data: { head: t("head.state") } }, this.#state(document, job)),
      h("td", { class: "n" }, bytes(document.size)),
      h("td", { class: "n" }, document.line_count ? number(document.line_count) : ""),
      h("td", { class: "n" }, cost(this.spent?.get(id))),
      h("td", { class: "n" }, moment(document.updated_at)),
      h("td", {}, mayEdit(spaces.current) ? this.#bin(document) : null),
    );
  }

  #state(document, job) {
    const running = job && !["COMPLETED", "FAILED", "CANCELLED"].includes(job.status);
    const part = running ? fraction(job.progress) : null;
    const words = running
      ? `${named("job", job.type)}${part === null ? "" : ` ${percent(part)}`}`
      : named("document", document.status);
    const error = document.error ?? (job?.status === "PAUSED" ? job.reason : null);
    return [
      h("span", { class: `tag ${document.status.toLowerCase()}` }, words),
      error
        ? h(
            "small",
            { class: "bad-text" },
            error,
            " ",
            h("a", { href: address("jobs", [], { document: document.id }) }, t("documents.jobs")),
          )
        : null,
    ];
  }

  #bin(document) {
    const act = () =>
      confirm(t("document.delete"), document.source, async () => {
        await remove(`/documents/${document.id}`);
        this.#load();
      });
    return h(
      "button",
      { class: "plain", title: t("delete"), "aria-label": `${t("delete")}: ${document.source}`, on: { click: act } },
      icon("bin"),
    );
  }

  #heard(job) {
    const known = this.#rows.get(job.document_id);
    if (known) {
      known.job = job;
      this.#fill(job.document_id);
    }
    const ours = job.space_id === spaces.current?.id;
    if (ours && (!known || ["COMPLETED", "FAILED", "CANCELLED"].includes(job.status))) this.#refresh();
  }

  #refresh = settled(() => this.isConnected && this.#load(), 700);
}

customElements.define("kosmos-documents", KosmosDocuments);
