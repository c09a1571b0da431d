// What was said before: questions, answers with their sources, and summaries as folds.
import { h, put } from "../parts/dom.js";
import { renderInto } from "../parts/html.js";
import { complain } from "../parts/notes.js";
import { follow } from "../parts/streams.js";
import { t } from "../parts/text.js";
import { linkMarkers, sourceList, strategyLabel } from "./chat-answer.js";
import { Trace } from "./chat-trace.js";

/** Draw the messages of a session; the answer of the run under way is left to its own view. */
export async function drawThread(thread, messages, { session, running }) {
  const shown = [];
  const render = [];
  const draw = (message) => drawMessage(message, { session, render, running });
  const older = messages.filter((message) => message.compressed && message.type !== "COMPRESSION");
  const summary = messages.findLast((message) => message.type === "COMPRESSION");
  if (summary) shown.push(fold(summary, older.map(draw), render));
  for (const message of messages)
    if (!message.compressed && message.type !== "COMPRESSION") shown.push(draw(message));
  put(thread, shown);
  await renderInto(render.map(({ element, text }) => [element, text]));
  for (const { element, citations } of render) linkMarkers(element, citations);
}

function fold(summary, older, render) {
  const words = h("div", { class: "prose small" });
  render.push({ element: words, text: summary.content, citations: [] });
  return h(
    "div",
    { class: "message compression" },
    h("p", { class: "soft" }, t("chat.compressed", { count: older.filter(Boolean).length })),
    words,
    h("details", {}, h("summary", {}, t("chat.compressed.show")), older),
  );
}

function drawMessage(message, { session, render, running }) {
  if (message.type === "USER") return h("div", { class: "message user" }, h("p", {}, message.content));
  const calls = message.type === "TOOL" || message.metadata.tool_calls;
  if (calls || message.run_id === running) return null;
  const { citations = [], strategy, status, error } = message.metadata;
  const answer = h("div", { class: "prose answer" });
  render.push({ element: answer, text: message.content, citations });
  return h(
    "div",
    { class: "message assistant" },
    strategyLabel(strategy),
    status && status !== "COMPLETED" ? h("p", { class: "tag failed" }, t(`run.${status}`)) : null,
    error ? h("p", { class: "bad-text" }, error) : null,
    answer,
    sourceList(citations),
    message.run_id ? past(session, message.run_id) : null,
  );
}

/** How an old answer came about: its events are read when somebody asks. */
function past(session, run) {
  const box = h("details", { class: "past" }, h("summary", {}, t("chat.how")));
  const load = () => {
    if (!box.open || box.loaded) return;
    box.loaded = true;
    const trace = new Trace({ past: true });
    box.append(trace.element);
    const end = new AbortController();
    follow(`/sessions/${session}/runs/${run}/events`, {
      after: 0,
      signal: end.signal,
      onEvent: (event) => trace.hear(event),
      isEnd: (event) => event.type === "run_end",
    }).catch(complain);
  };
  box.addEventListener("toggle", load);
  return box;
}
