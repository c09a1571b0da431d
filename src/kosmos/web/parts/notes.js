// Short messages at the edge of the page, read out by screen readers.
import { h } from "./dom.js";
import { t } from "./text.js";

const SECONDS = 7;
let place = null;

function region() {
  if (!place?.isConnected) {
    place = h("div", { class: "notes", role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  return place;
}

/** Say something; an error stays until it is closed. */
export function say(text, { remedy = "", bad = false } = {}) {
  const note = h(
    "div",
    { class: bad ? "note bad" : "note", role: bad ? "alert" : null },
    h("div", {}, h("p", {}, text), remedy ? h("p", { class: "soft" }, remedy) : null),
    h("button", { class: "plain", "aria-label": t("close"), on: { click: () => note.remove() } }, "×"),
  );
  region().append(note);
  if (!bad) setTimeout(() => note.remove(), SECONDS * 1000);
}

/** Say what went wrong and what to do about it. */
export function complain(error) {
  if (error.name === "AbortError" || error.status === 401) return;
  if (!("status" in error)) console.error(error);
  say(error.message, { remedy: error.remedy ?? "", bad: true });
}

/** Run something for a person; what goes wrong is said. */
export function attempt(run) {
  return async (...given) => {
    try {
      return await run(...given);
    } catch (error) {
      complain(error);
      return undefined;
    }
  };
}

/** A problem as part of a room. */
export function problemBox(error) {
  return h(
    "div",
    { class: "box bad", role: "alert" },
    h("p", {}, error.message),
    error.remedy ? h("p", { class: "soft" }, error.remedy) : null,
  );
}
