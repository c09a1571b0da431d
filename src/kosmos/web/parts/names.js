// Names of documents for rows that know only an id: asked for once, a few at a time.
import { get } from "./api.js";

const AT_ONCE = 6;
const known = new Map();
const waiting = [];
let asking = 0;

/** The name of a document if it is known; else `later` is called once it is. */
export function nameOf(id, later) {
  const found = known.get(id);
  if (typeof found === "string") return found;
  if (found) found.push(later);
  else {
    known.set(id, [later]);
    waiting.push(id);
    ask();
  }
  return "";
}

async function ask() {
  // The newest first: rows that were scrolled past can wait.
  while (waiting.length && asking < AT_ONCE) {
    const id = waiting.pop();
    asking += 1;
    get(`/documents/${id}`)
      .then((document) => document.source)
      .catch(() => "–")
      .then((name) => {
        const listeners = known.get(id);
        known.set(id, name);
        asking -= 1;
        for (const tell of listeners) tell();
        ask();
      });
  }
}
