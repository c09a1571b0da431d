// One line of the canonical text: its number, the colour of its chunk, its words.
import { h } from "../parts/dom.js";
import { pieces } from "../parts/marks.js";
import { t } from "../parts/text.js";

const SHOWN = new Set(["png", "jpeg", "gif", "webp", "bmp"].map((kind) => `image/${kind}`));

/** The elements of a line: where a page begins, the line itself, figures that stand there. */
export function drawLine(reader, number, text, page, fenced) {
  const chunk = reader.tree.at(number);
  const made = [];
  if (page !== undefined) made.push(h("div", { class: "page-mark" }, t("page", { page })));
  const { aim } = reader;
  const classes = ["line", look(text, fenced)];
  if (chunk?.type === "error") classes.push("failed");
  if (chunk && chunk.id === reader.lit) classes.push("lit");
  if (aim && aim[0] <= number && number <= aim[1]) classes.push("aim");
  if (chunk?.start_line === number) classes.push("starts");
  const tone = chunk ? reader.tree.tone.get(chunk.id) : undefined;
  const line = h(
    "div",
    { class: classes.filter(Boolean).join(" "), data: { n: number, ...(tone === undefined ? {} : { tone }) } },
    h("span", {}, pieces(text, reader.marked.get(number))),
  );
  made.push(line);
  for (const asset of reader.figures.get(number) ?? []) made.push(figure(asset));
  return made;
}

function look(text, fenced) {
  if (fenced || /^(\s{4,}|\t|\s*\|)/.test(text)) return "code";
  const heading = /^(#{1,6})\s/.exec(text);
  return heading ? `head-${Math.min(3, heading[1].length)}` : "";
}

function figure(asset) {
  const words = asset.caption || asset.description || t("figure");
  const image = SHOWN.has(asset.media_type)
    ? h("img", { src: `/api/v1/assets/${asset.id}`, alt: words, loading: "lazy" })
    : null;
  return h(
    "figure",
    { class: "asset" },
    image,
    h(
      "figcaption",
      {},
      asset.caption ? h("strong", {}, asset.caption) : null,
      asset.description ?? asset.error ?? t(`asset.${asset.analysis_status}`),
    ),
  );
}
