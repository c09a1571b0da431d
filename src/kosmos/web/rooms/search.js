// Search: what was found, and why it stands where it stands.
import { post } from "../parts/api.js";
import { field, input, select } from "../parts/dialog.js";
import { h, put } from "../parts/dom.js";
import { problemBox } from "../parts/notes.js";
import { here, rename } from "../parts/route.js";
import { spaces } from "../parts/spaces.js";
import { named, t } from "../parts/text.js";
import { resultItem } from "./search-result.js";

class KosmosSearch extends HTMLElement {
  connectedCallback() {
    const { given } = here();
    this.results = h("ol", { class: "results" });
    this.said = h("p", { class: "soft", role: "status" });
    this.query = input("query", {
      type: "search",
      value: given.get("q") ?? "",
      placeholder: t("search.words"),
      "aria-label": t("search.words"),
      autofocus: true,
    });
    this.form = h(
      "form",
      { class: "search-form", role: "search", on: { submit: (event) => this.#submit(event) } },
      h(
        "div",
        { class: "group grow" },
        this.query,
        h("button", { class: "primary", type: "submit" }, t("search.go")),
      ),
      this.#filters(),
    );
    put(this, h("section", { class: "room" }, h("h1", {}, t("room.search")), this.form, this.said, this.results));
    if (this.query.value) this.#search();
    else this.query.focus();
  }

  moved() {
    const query = here().given.get("q") ?? "";
    if (query === this.query.value) return true;
    this.query.value = query;
    this.#search();
    return true;
  }

  #filters() {
    const every = [["", t("search.every.space")], ...spaces.list.map((space) => [space.id, space.name])];
    const types = [
      ["", t("search.any")],
      ...["content", "heading", "error"].map((type) => [type, named("chunk", type)]),
    ];
    return h(
      "details",
      { class: "filters" },
      h("summary", {}, t("search.filters")),
      h(
        "div",
        { class: "grid" },
        field(t("space"), select("space", every, "")),
        field(t("search.k"), input("k", { type: "number", min: 1, max: 100, value: 10 })),
        field(t("search.type"), select("types", types, "")),
        field(
          t("search.language"),
          select(
            "languages",
            [
              ["", t("search.any")],
              ["zh", "中文"],
              ["en", "English"],
            ],
            "",
          ),
        ),
        field(t("search.filetype"), input("filetypes", { placeholder: "pdf" })),
        field(t("search.path"), input("path", { placeholder: "docs/" })),
        field(t("search.heading"), input("heading", { placeholder: "Setup > Linux" })),
        field(t("search.since"), input("since", { type: "date" })),
        field(t("search.until"), input("until", { type: "date" })),
        field(t("search.threshold"), input("threshold", { type: "number", min: 0, max: 1, step: 0.05, value: 0 })),
        field(t("search.neighbours"), input("neighbours", { type: "number", min: 0, max: 5, value: 0 })),
        field(
          t("search.rerank"),
          select(
            "rerank",
            [
              ["", t("search.asset")],
              ["none", named("rerank", "none")],
              ["auto", named("rerank", "auto")],
            ],
            "",
          ),
        ),
        h(
          "label",
          { class: "check" },
          h("input", { type: "checkbox", name: "walk", checked: true }),
          t("search.walk"),
        ),
        h("label", { class: "check" }, h("input", { type: "checkbox", name: "grouped" }), t("search.grouped")),
      ),
    );
  }

  #submit(event) {
    event.preventDefault();
    rename("search", [], { q: this.query.value });
    this.#search();
  }

  #wanted() {
    const data = new FormData(this.form);
    const list = (name) => (data.get(name) ? [data.get(name)] : []);
    const wanted = {
      query: this.query.value,
      k: Number(data.get("k")) || 10,
      similarity_threshold: Number(data.get("threshold")) || 0,
      neighbours: Number(data.get("neighbours")) || 0,
      walk: data.has("walk"),
      group_by_document: data.has("grouped"),
      explain: true,
      filter: {
        types: list("types"),
        languages: list("languages"),
        filetypes: list("filetypes"),
        path: data.get("path"),
        heading: data.get("heading"),
        since: data.get("since"),
        until: data.get("until"),
      },
    };
    if (data.get("space")) wanted.space_ids = [data.get("space")];
    if (data.get("rerank")) wanted.rerank = data.get("rerank");
    return wanted;
  }

  async #search() {
    if (!this.query.value.trim()) return;
    const asked = (this.asked = this.query.value);
    this.said.textContent = t("loading");
    try {
      const found = await post("/search", this.#wanted());
      if (asked !== this.asked) return;
      this.said.textContent = [t("search.count", { count: found.items.length }), ...found.warnings].join(" · ");
      put(
        this.results,
        found.items.map((hit) => resultItem(hit, asked)),
      );
    } catch (error) {
      this.said.textContent = "";
      put(this.results, h("li", {}, problemBox(error)));
    }
  }
}

customElements.define("kosmos-search", KosmosSearch);
