// What `kosmos eval` measured: tables with intervals, and how it changed from run to run.
import { get } from "../parts/api.js";
import { h, put } from "../parts/dom.js";
import { fixed, moment, number } from "../parts/format.js";
import { problemBox } from "../parts/notes.js";
import { curves } from "../parts/plots.js";
import { t } from "../parts/text.js";

class KosmosEvaluation extends HTMLElement {
  connectedCallback() {
    this.body = h("div", {}, h("p", { class: "soft" }, t("loading")));
    put(this, h("section", { class: "room" }, h("h1", {}, t("room.evaluation")), this.body));
    this.#load();
  }

  async #load() {
    try {
      const { items } = await get("/evaluations");
      const sets = Map.groupBy(items, (item) => `${item.kind} ${item.name}`);
      put(this.body, items.length ? [...sets.values()].map(draw) : h("p", { class: "box" }, t("evaluation.none")));
    } catch (error) {
      put(this.body, problemBox(error));
    }
  }
}

const draw = (runs) => (runs[0].kind === "chunking" ? chunking(runs[0]) : retrieval(runs));

const cell = (mean) =>
  h("td", { class: "n" }, fixed(mean.value), h("small", {}, ` ${fixed(mean.low)}–${fixed(mean.high)}`));

function retrieval(runs) {
  const [newest] = runs;
  const { report, since_last: since, encoder } = newest.body;
  const measures = Object.keys(report.overall);
  const rows = [["all", report.overall], ...Object.entries(report.languages)];
  const series = measures.map((name, tone) => ({
    name,
    tone,
    points: runs
      .toReversed()
      .map((run) => ({
        x: Date.parse(run.at),
        y: run.body.report.overall[name].value,
        low: run.body.report.overall[name].low,
        high: run.body.report.overall[name].high,
      })),
  }));
  return h(
    "article",
    { class: "evaluation" },
    h("h2", {}, newest.name),
    h(
      "p",
      { class: "soft" },
      [t("evaluation.questions", { count: number(report.questions) }), encoder, moment(newest.at)]
        .filter(Boolean)
        .join(" · "),
    ),
    h(
      "div",
      { class: "scroll-x", tabindex: "0", role: "region", "aria-label": newest.name },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td"),
            measures.map((name) => h("th", { scope: "col", class: "n" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([label, means]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, label === "all" ? t("evaluation.all") : label),
              measures.map((name) => cell(means[name])),
            ),
          ),
          since ? difference(since, measures) : null,
        ),
      ),
    ),
    curves(series, {
      title: t("evaluation.course", { count: runs.length }),
      xText: (x) => moment(new Date(x).toISOString()),
      yText: (y) => fixed(y, 2),
    }),
  );
}

function difference(since, measures) {
  const sign = (value) => `${value > 0 ? "+" : ""}${fixed(value)}`;
  return h(
    "tr",
    { class: "soft" },
    h("th", { scope: "row" }, t("evaluation.since")),
    measures.map((name) =>
      h(
        "td",
        { class: "n" },
        since[name] ? sign(since[name].value) : "",
        since[name] ? h("small", {}, ` p ${fixed(since[name].p, 2)}`) : null,
      ),
    ),
  );
}

function chunking(run) {
  const { rows, k } = run.body;
  const routes = Object.keys(rows[0]?.scores ?? {});
  const share = (value) => fixed(100 * value, 1);
  return h(
    "article",
    { class: "evaluation" },
    h("h2", {}, run.name),
    h("p", { class: "soft" }, `${t("evaluation.chunking", { k })} · ${moment(run.at)}`),
    h(
      "div",
      { class: "scroll-x", tabindex: "0", role: "region", "aria-label": run.name },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, t("evaluation.chunker")),
            h("th", { scope: "col", class: "n" }, t("evaluation.pieces")),
            routes.map((route) => h("th", { scope: "col", class: "n" }, route)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, row.label),
              h("td", { class: "n" }, number(row.pieces)),
              routes.map((route) =>
                h(
                  "td",
                  { class: "n" },
                  [row.scores[route].recall, row.scores[route].precision, row.scores[route].iou]
                    .map(share)
                    .join(" / "),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

customElements.define("kosmos-evaluation", KosmosEvaluation);
