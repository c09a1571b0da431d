// What models were paid, as plots: by purpose and model, by document, call by call.
import { all, get } from "../parts/api.js";
import { h } from "../parts/dom.js";
import { compact, cost, moment } from "../parts/format.js";
import { bars, curves } from "../parts/plots.js";
import { spaces } from "../parts/spaces.js";
import { t } from "../parts/text.js";

const MOST = 12;
const tokensOf = (spent) => spent.prompt_tokens + spent.output_tokens;

function parts(spent) {
  return [
    { value: spent.cached_tokens, tone: 3 },
    { value: spent.prompt_tokens - spent.cached_tokens, tone: 0 },
    { value: spent.output_tokens, tone: 1 },
  ];
}

const row = (label, spent) => ({
  label,
  value: tokensOf(spent),
  parts: parts(spent),
  text: [t("tokens", { count: compact(tokensOf(spent)) }), spent.cost > 0 ? cost(spent) : ""]
    .filter(Boolean)
    .join(" · "),
});

const legend = () =>
  h(
    "ul",
    { class: "legend" },
    h("li", { class: "key tone-3" }, t("ledger.cached")),
    h("li", { class: "key tone-0" }, t("ledger.prompt")),
    h("li", { class: "key tone-1" }, t("ledger.output")),
  );

const nothing = () => h("p", { class: "soft" }, t("ledger.none"));

/** The ledger of the space at hand. */
export async function ledgerOfSpace() {
  const space = spaces.current;
  const found = space && (await get(`/spaces/${space.id}/cost`));
  if (!found?.sum.calls) return nothing();
  return h(
    "div",
    { class: "plots" },
    bars(
      found.lines.map((line) => row(`${line.purpose} · ${line.model}`, line.sum.spent)),
      { title: t("ledger.purposes", { space: space.name }) },
    ),
    bars(
      found.documents.slice(0, MOST).map((one) => row(one.source ?? t("ledger.gone"), one.sum.spent)),
      { title: t("ledger.documents") },
    ),
    legend(),
  );
}

/** The ledger of a document: sums, and the calls one after the other. */
export async function ledgerOfDocument(documentId) {
  const [found, calls] = await Promise.all([
    get(`/documents/${documentId}/cost`),
    all(`/documents/${documentId}/calls`),
  ]);
  if (!found.sum.calls) return null;
  let sum = 0;
  const points = calls.map((call) => {
    sum += call.prompt_tokens + call.output_tokens;
    return { x: Date.parse(call.created_at), y: sum, text: `${call.purpose} ${call.model}` };
  });
  return h(
    "div",
    { class: "plots" },
    bars(
      found.lines.map((line) => row(`${line.purpose} · ${line.model}`, line.sum.spent)),
      { title: t("ledger.purposes", { space: "" }) },
    ),
    curves([{ name: t("ledger.sum"), points, tone: 0 }], {
      title: t("ledger.calls", { count: calls.length }),
      top: Math.max(1, sum),
      xText: (x) => moment(new Date(x).toISOString()),
      yText: (y) => compact(y),
    }),
    legend(),
  );
}
