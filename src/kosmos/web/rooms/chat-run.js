// One run under way: it is started, followed through broken connections, stopped.
import { post, request } from "../parts/api.js";
import { h, put } from "../parts/dom.js";
import { cost, number } from "../parts/format.js";
import { icon } from "../parts/icons.js";
import { attempt, problemBox } from "../parts/notes.js";
import { follow, readEvents } from "../parts/streams.js";
import { t } from "../parts/text.js";
import { Answer, strategyLabel } from "./chat-answer.js";
import { Trace } from "./chat-trace.js";

export class RunView {
  #last = 0;
  #ended = false;
  #waits = false; // for somebody's word
  onGrow = () => {};
  onTitle = () => {};

  constructor(session, run = null) {
    this.session = session;
    this.run = run;
    this.trace = new Trace();
    this.answer = new Answer();
    this.answer.onGrow = () => this.onGrow();
    this.label = h("div");
    this.foot = h("p", { class: "soft small run-foot" });
    this.stop = h(
      "button",
      { class: "quiet", on: { click: attempt(() => this.#stop()) } },
      icon("stop"),
      t("chat.stop"),
    );
    this.state = h(
      "p",
      { class: "soft", role: "status" },
      h("span", { class: "pulse", "aria-hidden": "true" }),
      t("chat.working"),
    );
    this.element = h(
      "div",
      { class: "message assistant under-way" },
      this.label,
      this.trace.element,
      this.answer.element,
      h("div", { class: "group" }, this.state, this.stop),
      this.foot,
    );
  }

  /** Ask the question, and follow the run to its end. */
  async start(body, signal) {
    const answer = await request("POST", `/sessions/${this.session}/runs`, { body, signal });
    this.run = answer.headers.get("Kosmos-Run-ID");
    try {
      await readEvents(answer, (event) => this.#hear(event));
    } catch (error) {
      if (signal.aborted) throw error;
    }
    if (!this.#ended) await this.follow(signal);
  }

  /** Follow the run from the last event that was seen. */
  async follow(signal) {
    await follow(`/sessions/${this.session}/runs/${this.run}/events`, {
      after: this.#last,
      signal,
      onEvent: (event) => this.#hear(event),
      onState: (state) => this.#connected(state),
      isEnd: (event) => event.type === "run_end",
    });
  }

  #connected(state) {
    if (this.#ended) return;
    const usual = this.#waits ? "chat.waiting" : "chat.working";
    const words = t(state === "lost" ? "reconnecting" : usual);
    put(this.state, this.#waits ? null : h("span", { class: "pulse", "aria-hidden": "true" }), words);
  }

  #wait(waits) {
    this.#waits = waits;
    this.#connected("open");
  }

  async #stop() {
    if (this.run) await post(`/sessions/${this.session}/runs/${this.run}/stop`);
  }

  #hear(event) {
    const number_ = Number(event.id);
    if (number_ && number_ <= this.#last) return; // seen before the connection broke
    this.#last = number_ || this.#last;
    const payload = event.data.payload ?? {};
    this.trace.hear(event);
    this.#parts[event.type]?.(payload);
    this.onGrow();
  }

  #parts = {
    run_start: ({ strategy }) => put(this.label, strategyLabel(strategy)),
    answer_chunk: ({ text }) => this.answer.add(text),
    answer_retracted: () => {
      this.answer.text = "";
    },
    citation: (citation) =>
      this.answer.cite([...this.answer.citations.filter((one) => one.marker !== citation.marker), citation]),
    final_answer: ({ answer, citations }) => {
      this.answer.text = answer;
      this.answer.cite(citations);
    },
    approval_request: () => this.#wait(true),
    approval_result: () => this.#wait(false),
    session_title: () => this.onTitle(),
    error: (problem) => this.fail(problem),
    run_end: (payload) => this.#finish(payload),
  };

  #finish({ status, usage }) {
    this.#ended = true;
    this.stop.remove();
    this.state.remove();
    this.element.classList.remove("under-way");
    if (status !== "COMPLETED") put(this.label, h("p", { class: "tag failed" }, t(`run.${status}`)));
    if (usage?.total_tokens)
      put(
        this.foot,
        [
          t("chat.usage", { prompt: number(usage.prompt_tokens), output: number(usage.output_tokens) }),
          usage.cost > 0 ? cost(usage) : "",
          usage.estimated ? t("chat.estimated") : "",
        ]
          .filter(Boolean)
          .join(" · "),
      );
  }

  /** Say what went wrong with the run. */
  fail(problem) {
    put(this.foot, problemBox(problem));
    this.stop.remove();
    this.state.remove();
    this.element.classList.remove("under-way");
  }
}
