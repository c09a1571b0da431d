// The spaces that the caller may read, and the one at hand.
import { all } from "./api.js";

class Spaces extends EventTarget {
  list = [];

  /** Ask the server again. */
  async load() {
    this.list = await all("/spaces", { limit: 200 });
    this.dispatchEvent(new Event("change"));
  }

  /** The space at hand; the first one if none was chosen. */
  get current() {
    const kept = localStorage.getItem("kosmos.space");
    return this.list.find((space) => space.id === kept) ?? this.list[0] ?? null;
  }

  choose(id) {
    localStorage.setItem("kosmos.space", id);
    this.dispatchEvent(new Event("change"));
  }

  named(id) {
    return this.list.find((space) => space.id === id)?.name ?? "";
  }
}

export const spaces = new Spaces();
/** Whether a role may change documents. */
export const mayEdit = (space) => space?.role === "editor" || space?.role === "owner";
