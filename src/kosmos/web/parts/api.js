// The public HTTP API. The session cookie says who is asking.
import { t } from "./text.js";

export const API = "/api/v1";

/** What went wrong, with the remedy that the server gives. Status 0: the server cannot be reached. */
export class Problem extends Error {
  constructor(body, status) {
    super(body.detail ?? String(status));
    this.status = status;
    this.title = body.title ?? "";
    this.remedy = remedyOf(body);
  }
}

function remedyOf(body) {
  const found = (body.errors ?? []).map((item) => `${item.where.join(".")}: ${item.what}`);
  return found.length ? found.join("; ") : (body.remedy ?? "");
}

/** The answer to a request, or a Problem. */
export async function request(method, path, { body, signal, headers } = {}) {
  const sent = { method, signal, headers: { ...headers }, credentials: "same-origin" };
  if (body !== undefined) {
    sent.headers["Content-Type"] = "application/json";
    sent.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path.startsWith("/page/") ? path : API + path, sent);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: t("problem.offline"), remedy: t("problem.offline.remedy") }, 0);
  }
  if (answer.ok) return answer;
  throw await problemOf(answer);
}

/** The Problem in an answer. */
export async function problemOf(answer) {
  if (answer.status === 401) window.dispatchEvent(new Event("kosmos-signed-out"));
  const body = await answer.json().catch(() => ({}));
  return new Problem(body, answer.status);
}

async function json(method, path, body, options = {}) {
  const answer = await request(method, path, { ...options, body });
  return answer.status === 204 ? null : answer.json();
}

export const get = (path, options) => json("GET", path, undefined, options);
export const post = (path, body, options) => json("POST", path, body ?? {}, options);
export const put = (path, body, options) => json("PUT", path, body, options);
export const patch = (path, body, options) => json("PATCH", path, body, options);
export const remove = (path, options) => json("DELETE", path, undefined, options);

/** The pages of a list one after the other; `by` is the parameter that takes `next`. */
export async function* pages(path, { by = "after", limit = 1000, signal } = {}) {
  let next = null;
  do {
    const given = new URLSearchParams({ limit });
    if (next !== null) given.set(by, next);
    const page = await get(`${path}${path.includes("?") ? "&" : "?"}${given}`, { signal });
    yield page.items;
    next = page.next;
  } while (next !== null && next !== undefined);
}

/** All items of a list. */
export async function all(path, options) {
  const found = [];
  for await (const items of pages(path, options)) found.push(...items);
  return found;
}
