// Server-sent events over fetch: they go on where they stopped, also after the server was restarted.
import { API, problemOf } from "./api.js";

const FIRST_WAIT = 400;
const LONGEST_WAIT = 5000;

/** Call `onEvent` with {id, type, data} for each event of an answer, until it ends. */
export async function readEvents(answer, onEvent) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parse(block);
      if (event) onEvent(event);
    }
  }
}

function parse(block) {
  const event = { id: null, type: "message", data: null };
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    const [name, value] = [line.slice(0, at), line.slice(at + 2)];
    if (name === "id") event.id = value;
    else if (name === "event") event.type = value;
    else if (name === "data") event.data = JSON.parse(value);
  }
  return event.data === null ? null : event;
}

/**
 * Follow a stream until `isEnd(event)`, connecting again as often as it breaks.
 * `onState` hears "open" and "lost"; a refusal by the server (4xx) is thrown.
 */
export async function follow(path, { after, onEvent, onState, isEnd, signal }) {
  let last = after;
  let wait = FIRST_WAIT;
  let ended = false;
  while (!ended && !signal.aborted) {
    try {
      const headers = last === undefined || last === null ? {} : { "Last-Event-ID": String(last) };
      const answer = await fetch(API + path, { headers, signal, credentials: "same-origin" });
      if (!answer.ok) throw await problemOf(answer);
      wait = FIRST_WAIT;
      onState?.("open");
      await readEvents(answer, (event) => {
        last = event.id ?? last;
        ended = ended || Boolean(isEnd?.(event));
        onEvent(event);
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error.status >= 400 && error.status < 500) throw error;
    }
    if (ended || signal.aborted) return;
    onState?.("lost");
    await pause(wait, signal);
    wait = Math.min(wait * 1.6, LONGEST_WAIT);
  }
}

function pause(milliseconds, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });
}
