// One result: the lines, how it came here, and the way to the very lines.
import { h } from "../parts/dom.js";
import { fixed, lines } from "../parts/format.js";
import { linesAddress } from "../parts/route.js";
import { spaces } from "../parts/spaces.js";
import { named, t } from "../parts/text.js";

const LONG = 700;

/** A result as an item of the list. */
export function resultItem(hit, query) {
  return h(
    "li",
    { class: `result ${hit.origin}` },
    h(
      "header",
      {},
      h(
        "a",
        { href: linesAddress(hit) },
        h("strong", {}, hit.title || hit.source),
        h(
          "span",
          { class: "soft" },
          ` ${lines(hit.start_line, hit.end_line)}${hit.page ? ` · ${t("page", { page: hit.page })}` : ""}`,
        ),
      ),
      hit.origin === "anchor" ? null : h("span", { class: `tag origin ${hit.origin}` }, named("origin", hit.origin)),
      h("span", { class: "score", title: t("search.score") }, fixed(hit.score)),
    ),
    h(
      "p",
      { class: "soft small" },
      [spaces.named(hit.space_id), hit.source, hit.more ? t("search.more", { count: hit.more }) : ""]
        .filter(Boolean)
        .join(" · "),
    ),
    h(
      "blockquote",
      { class: hit.text.length > 420 || hit.text.split("\n").length > 6 ? "long" : null },
      highlighted(hit.text.slice(0, LONG), query),
      hit.text.length > LONG ? "…" : "",
    ),
    hit.neighbours.length
      ? h(
          "details",
          {},
          h("summary", {}, t("search.beside", { count: hit.neighbours.length })),
          hit.neighbours.map((one) =>
            h(
              "blockquote",
              { class: "soft" },
              h(
                "a",
                { href: linesAddress({ ...one, document_id: hit.document_id }) },
                lines(one.start_line, one.end_line),
              ),
              " ",
              one.text.slice(0, 300),
            ),
          ),
        )
      : null,
    why(hit),
  );
}

/** The words of the question, marked in the text. */
function highlighted(text, query) {
  const words = [...new Set(query.match(/\p{Script=Han}{2,}|[\p{L}\p{N}]{4,}/gu) ?? [])].flatMap((word) =>
    /\p{Script=Han}/u.test(word) ? grams(word) : [word],
  );
  if (!words.length) return [text];
  const pattern = new RegExp(
    `(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`,
    "giu",
  );
  return text.split(pattern).map((part, at) => (at % 2 ? h("mark", {}, part) : part));
}

const grams = (word) =>
  word.length < 3 ? [word] : Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2));

function why(hit) {
  const routes = Object.entries(hit.routes).sort(([, a], [, b]) => b.part - a.part);
  const likeness = hit.likeness
    ? t("search.likeness", {
        term: fixed(hit.likeness.term, 2),
        vector: hit.likeness.vector === null ? "–" : fixed(hit.likeness.vector, 2),
      })
    : "";
  const cells = (name, route) => [
    h("th", { scope: "row" }, named("route", name)),
    h("td", { class: "n" }, route.rank),
    h("td", { class: "n" }, fixed(route.score)),
    h("td", { class: "n" }, fixed(route.weight, 2)),
    h(
      "td",
      { class: "n" },
      h("meter", { min: 0, max: 1, value: Math.max(0, Math.min(1, route.part)), "aria-label": t("head.part") }),
      ` ${fixed(route.part)}`,
    ),
  ];
  const table = h(
    "table",
    { class: "routes" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["route", "rank", "score", "weight", "part"].map((name) => h("th", { scope: "col" }, t(`head.${name}`))),
      ),
    ),
    h(
      "tbody",
      {},
      routes.map(([name, route]) => h("tr", {}, cells(name, route))),
    ),
  );
  const more = hit.explain
    ? h("details", {}, h("summary", {}, t("search.numbers")), h("pre", {}, JSON.stringify(hit.explain, null, 1)))
    : null;
  return h(
    "details",
    { class: "why" },
    h(
      "summary",
      {},
      t("search.why"),
      h(
        "span",
        { class: "soft" },
        routes.map(([name, route]) => ` ${named("route", name)} #${route.rank}`).join(" ·"),
      ),
    ),
    hit.reason ? h("p", {}, hit.reason) : null,
    routes.length ? table : null,
    likeness ? h("p", { class: "soft" }, likeness) : null,
    more,
  );
}
