// An answer: Markdown rendered by the server, its markers as ways to the very lines.
import { h, put } from "../parts/dom.js";
import { lines } from "../parts/format.js";
import { renderInto } from "../parts/html.js";
import { linesAddress } from "../parts/route.js";
import { t } from "../parts/text.js";

const EVERY = 350; // milliseconds between two renderings of an answer that grows

/** What kind of answer it is, where that must be said. */
export function strategyLabel(strategy) {
  return strategy === "extractive"
    ? h("p", { class: "tag extractive", title: t("chat.modelless.words") }, t("chat.extractive"))
    : null;
}

const placeOf = (citation) =>
  citation.url
    ? citation.source || citation.url
    : `${citation.source} ${lines(citation.start_line, citation.end_line)}${citation.page ? `, ${t("page", { page: citation.page })}` : ""}`;

/** Only addresses of the web may be followed out of the page. */
const isWeb = (url) => /^https?:\/\//i.test(url ?? "");

function way(citation, props, ...children) {
  if (isWeb(citation.url))
    return h("a", { ...props, href: citation.url, target: "_blank", rel: "noopener noreferrer nofollow" }, children);
  return h("a", { ...props, href: linesAddress(citation) }, children);
}

/** Make the markers [1] of a rendered answer links to what they cite. */
export function linkMarkers(element, citations) {
  const known = new Map(citations.map((citation) => [citation.marker.replace(/\D/g, ""), citation]));
  if (!known.size) return;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT, (node) =>
    node.parentElement.closest("code, pre, a") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    const parts = node.data.split(/\[(\d+)\]/);
    if (parts.length < 3) continue;
    const made = parts.map((part, at) => {
      if (at % 2 === 0) return part;
      const citation = known.get(part);
      return citation
        ? way(
            citation,
            {
              class: "cite",
              "aria-label": t("chat.source", { number: part, place: placeOf(citation) }),
              title: citation.quote,
            },
            part,
          )
        : `[${part}]`;
    });
    node.replaceWith(...made);
  }
}

/** The sources of an answer with their quotes. */
export function sourceList(citations) {
  if (!citations.length) return null;
  return h(
    "ol",
    { class: "sources", "aria-label": t("chat.sources") },
    citations.map((citation) =>
      h(
        "li",
        {},
        way(
          citation,
          {},
          h("span", { class: "cite" }, citation.marker.replace(/\D/g, "")),
          h("span", {}, placeOf(citation)),
        ),
        h("q", {}, citation.quote),
      ),
    ),
  );
}

/** An answer that grows while it is being given. */
export class Answer {
  #text = "";
  #busy = false;
  #stale = false;
  citations = [];

  constructor() {
    this.prose = h("div", { class: "prose answer" });
    this.sources = h("div");
    this.element = h("div", {}, this.prose, this.sources);
  }

  add(text) {
    this.#text += text;
    this.#draw();
  }

  set text(text) {
    this.#text = text;
    this.#draw();
  }

  cite(citations) {
    this.citations = citations;
    put(this.sources, sourceList(citations));
    this.#draw();
  }

  /** One rendering at a time; what came meanwhile is rendered next. */
  async #draw() {
    this.#stale = true;
    if (this.#busy) return;
    this.#busy = true;
    while (this.#stale) {
      this.#stale = false;
      try {
        await renderInto([[this.prose, this.#text]]);
        linkMarkers(this.prose, this.citations);
      } catch {
        put(this.prose, h("p", { class: "raw" }, this.#text));
      }
      this.onGrow?.();
      await new Promise((done) => setTimeout(done, EVERY));
    }
    this.#busy = false;
  }
}
