// The frame: signing in, the ways to the rooms, language and theme.
import { get, request } from "../parts/api.js";
import { h, put } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { live } from "../parts/live.js";
import { attempt, complain } from "../parts/notes.js";
import { address, here } from "../parts/route.js";
import { spaces } from "../parts/spaces.js";
import { LANGUAGES, language, setLanguage, t } from "../parts/text.js";
import { theme, turnTheme } from "../parts/theme.js";
import "./agents.js";
import "./chat.js";
import "./documents.js";
import "./evaluation.js";
import "./jobs.js";
import "./reader.js";
import "./search.js";
import "./signin.js";

const ROOMS = {
  documents: "kosmos-documents",
  read: "kosmos-reader",
  search: "kosmos-search",
  chat: "kosmos-chat",
  jobs: "kosmos-jobs",
  agents: "kosmos-agents",
  evaluation: "kosmos-evaluation",
};
const WAYS = ["documents", "search", "chat", "jobs", "agents", "evaluation"];

class KosmosPage extends HTMLElement {
  #user = null;

  connectedCallback() {
    window.addEventListener("hashchange", () => this.#enter());
    window.addEventListener("kosmos-signed-out", () => this.#signedOut());
    live.addEventListener("state", (event) => this.#tellState(event.detail));
    this.#begin();
  }

  /** A link signs in once; then the code leaves the address. */
  async #begin() {
    const code = location.hash.startsWith("#link=") ? location.hash.slice(6) : null;
    if (code !== null) {
      history.replaceState(null, "", address("documents"));
      try {
        await request("POST", "/page/sign-in", { body: { code } });
      } catch (error) {
        if (error.status !== 401) complain(error);
        return this.#show(h("kosmos-signin", { problem: error.message }));
      }
    }
    return this.start();
  }

  /** Draw everything for whoever is signed in. */
  async start() {
    try {
      this.#user = await get("/me");
      await spaces.load();
    } catch (error) {
      if (error.status !== 401) return this.#show(h("kosmos-signin", { problem: error.message }));
      return undefined;
    }
    live.start();
    this.#frame();
    return this.#enter();
  }

  #signedOut() {
    live.stop();
    this.#user = null;
    if (!this.querySelector("kosmos-signin")) this.#show(h("kosmos-signin"));
  }

  #show(element) {
    put(this, element);
  }

  #frame() {
    this.main = h("main", { id: "room", tabindex: "-1" });
    put(
      this,
      h("a", { class: "skip", href: "#room", on: { click: (event) => this.#skip(event) } }, t("skip")),
      h("header", { class: "side" }, this.#mark(), this.#ways(), this.#foot()),
      this.main,
    );
    this.#tellState(live.state);
  }

  #mark() {
    return h(
      "a",
      { class: "mark", href: address("documents") },
      h("img", { src: "/page/icon.svg", alt: "", width: 22, height: 22 }),
      h("span", {}, "Kosmos"),
    );
  }

  #ways() {
    const ways = WAYS.map((room) =>
      h("li", {}, h("a", { href: address(room), data: { room } }, icon(room), h("span", {}, t(`room.${room}`)))),
    );
    return h("nav", { "aria-label": t("rooms") }, h("ul", {}, ways));
  }

  #foot() {
    this.state = h("span", { class: "state", role: "status" });
    const other = LANGUAGES.find((code) => code !== language());
    const speak = attempt(async () => {
      await setLanguage(other);
      this.#frame();
      this.#enter();
    });
    const turn = () => {
      turnTheme();
      shade.setAttribute("aria-label", t(`theme.${theme()}`));
      shade.title = t(`theme.${theme()}`);
    };
    const leave = attempt(async () => {
      await request("POST", "/page/sign-out", { body: {} });
      this.#signedOut();
    });
    const shade = h(
      "button",
      { class: "plain", title: t(`theme.${theme()}`), "aria-label": t(`theme.${theme()}`), on: { click: turn } },
      icon("theme"),
    );
    return h(
      "div",
      { class: "foot" },
      this.state,
      h("span", { class: "who" }, this.#user?.name ?? ""),
      h(
        "button",
        { class: "plain tongue", lang: other === "zh" ? "zh-CN" : "en", on: { click: speak } },
        other === "zh" ? "中文" : "English",
      ),
      shade,
      h(
        "button",
        { class: "plain", title: t("signout"), "aria-label": t("signout"), on: { click: leave } },
        icon("leave"),
      ),
    );
  }

  #tellState(state) {
    if (!this.state) return;
    this.state.className = `state ${state}`;
    put(this.state, h("i", { "aria-hidden": "true" }), t(state === "open" ? "live" : "reconnecting"));
  }

  #skip(event) {
    event.preventDefault();
    this.main.focus();
  }

  #enter() {
    if (!this.#user) return;
    const { room } = here();
    const tag = ROOMS[room] ?? ROOMS.documents;
    for (const way of this.querySelectorAll("nav a")) {
      const at = way.dataset.room === room || (room === "read" && way.dataset.room === "documents");
      if (at) way.setAttribute("aria-current", "page");
      else way.removeAttribute("aria-current");
    }
    document.title = `${t(`room.${room in ROOMS ? room : "documents"}`)} · Kosmos`;
    // A room that can go to another place by itself keeps what it shows.
    const shown = this.main.firstElementChild;
    if (shown?.localName === tag && shown.moved?.()) return;
    put(this.main, h(tag));
  }
}

customElements.define("kosmos-page", KosmosPage);
