// The only place where a string becomes HTML: what the server rendered from Markdown, and nothing else.
import { post } from "./api.js";

const policy = window.trustedTypes?.createPolicy("kosmos", { createHTML: (text) => text });

/** Show texts as the server renders them; the elements stand in the order of the texts. */
export async function renderInto(pairs) {
  for (let at = 0; at < pairs.length; at += 100) {
    const part = pairs.slice(at, at + 100);
    const { items } = await post("/markdown", { texts: part.map(([, text]) => text.slice(0, 100_000)) });
    part.forEach(([element], index) => {
      element.innerHTML = policy ? policy.createHTML(items[index]) : items[index];
    });
  }
}
