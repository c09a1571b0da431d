// How an answer comes about: thinking folded away, steps as a timeline, documents summarised one by one.
import { h, put } from "../parts/dom.js";
import { duration, lines } from "../parts/format.js";
import { linesAddress } from "../parts/route.js";
import { named, t } from "../parts/text.js";
import { approvalCard, approvalId } from "./approvals.js";

export class Trace {
  #calls = new Map();
  #papers = new Map();
  #approvals = new Map();

  constructor({ past = false } = {}) {
    this.past = past;
    this.thoughts = h("pre", { class: "thoughts" });
    this.thinking = h(
      "details",
      { class: "thinking", hidden: true },
      h("summary", {}, t("chat.thinking")),
      this.thoughts,
    );
    this.steps = h("ol", { class: "steps" });
    this.count = h("summary");
    this.timeline = h("details", { class: "timeline", hidden: true, open: past }, this.count, this.steps);
    this.papers = h("ul", { class: "papers", "aria-label": t("chat.papers") });
    this.asked = h("div", { class: "approvals", "aria-live": "assertive" });
    this.element = h("div", { class: "trace" }, this.thinking, this.timeline, this.papers, this.asked);
  }

  /** Show what an event tells. */
  hear(event) {
    this.#parts[event.type]?.(event.data.payload ?? {}, event.data.created_at);
  }

  #parts = {
    thought_chunk: ({ text }) => {
      this.thinking.hidden = false;
      this.thoughts.append(text);
    },
    node_complete: (payload, at) =>
      this.#step(`node ${payload.node}`, named("node", payload.node), this.#facts(payload), at),
    node_error: ({ node, error }, at) => this.#step("failed", named("node", node), error, at),
    tool_call: (payload, at) => this.#called(payload, at),
    tool_result: (payload) => this.#returned(payload),
    session_compressed: ({ messages }, at) => this.#step("node", t("chat.folded", { count: messages }), "", at),
    citation_removed: ({ marker, reason }, at) => this.#step("failed", t("chat.removed", { marker }), reason, at),
    approval_request: (payload) => this.#ask(payload),
    approval_result: (payload) => this.#decided(payload),
    doc_summary_init: (payload) => this.#init(payload),
    doc_summary_start: (payload) => put(this.#paper(payload, "running").words),
    doc_summary_chunk: (payload) => this.#paper(payload, "running").words.append(payload.text),
    doc_summary_complete: (payload) => this.#completed(payload),
    doc_summary_error: (payload) => this.#paper(payload, "failed").words.append(payload.error),
  };

  #facts({ step, tools, finish, calls, failed }) {
    const parts = [
      step ? t("chat.step", { step }) : "",
      tools?.length ? tools.join(", ") : "",
      finish,
      calls === undefined ? "" : t("chat.calls", { calls, failed }),
    ];
    return parts.filter(Boolean).join(" · ");
  }

  #step(kind, title, facts, at) {
    const since = this.begun && at ? (Date.parse(at) - this.begun) / 1000 : 0;
    this.begun ??= at ? Date.parse(at) : undefined;
    const made = h(
      "li",
      { class: kind },
      h("span", { class: "step-title" }, title),
      facts ? h("span", { class: "soft" }, facts) : null,
      since > 0 ? h("time", {}, `+${duration(since)}`) : null,
    );
    this.steps.append(made);
    this.timeline.hidden = false;
    put(this.count, t("chat.steps", { count: this.steps.children.length }));
    return made;
  }

  #called({ id, name, arguments: given }, at) {
    const item = this.#step("tool", named("tool", name), "", at);
    item.append(h("code", {}, typeof given === "string" ? given : JSON.stringify(given)));
    this.#calls.set(id, item);
  }

  #returned({ id, ok, sources = [], seconds, error }) {
    const item = this.#calls.get(id);
    if (!item) return;
    item.classList.toggle("failed", !ok);
    item.append(
      h(
        "span",
        { class: "soft" },
        ok ? t("chat.found", { count: sources.length, time: duration(seconds ?? 0) }) : (error ?? ""),
      ),
    );
    if (sources.length)
      item.append(
        h(
          "ul",
          {},
          sources.map((one) =>
            h(
              "li",
              {},
              one.url
                ? one.url
                : h(
                    "a",
                    { href: linesAddress(one) },
                    `[${one.number}] ${one.source} ${lines(one.start_line, one.end_line)}`,
                  ),
            ),
          ),
        ),
      );
  }

  #init({ documents, total }) {
    const known = documents ?? [];
    for (const one of known) this.#paper(one, "waiting");
    if (!known.length && total) this.papers.setAttribute("aria-label", `${t("chat.papers")} (${total})`);
  }

  /** The card of a document, made when it is first named. */
  #paper(payload, state) {
    const id = payload.document_id;
    if (!this.#papers.has(id)) {
      const words = h("p");
      const element = h("li", {}, h("strong", {}, payload.title ?? id), words);
      this.papers.append(element);
      this.#papers.set(id, { element, words });
    }
    const paper = this.#papers.get(id);
    paper.element.className = `paper ${state}`;
    return paper;
  }

  #completed(payload) {
    const { words } = this.#paper(payload, "done");
    const whole = payload.summary ?? payload.text;
    if (whole) put(words, whole);
    else if (payload.cached && !words.textContent) put(words, t("chat.cached"));
  }

  #ask(payload) {
    const card = approvalCard(payload, { past: this.past });
    for (const other of document.querySelectorAll(`[data-approval="${CSS.escape(card.id)}"]`)) other.remove();
    this.#approvals.set(approvalId(payload), card);
    this.asked.append(card.element);
  }

  #decided(payload) {
    this.#approvals.get(approvalId(payload))?.decided(payload);
  }
}
