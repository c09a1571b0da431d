// Chat: talks with agents, old ones beside the one at hand.
import { all, get, patch, post, remove } from "../parts/api.js";
import { ask, confirm, field, input, select } from "../parts/dialog.js";
import { h, put } from "../parts/dom.js";
import { moment } from "../parts/format.js";
import { icon } from "../parts/icons.js";
import { attempt, complain, problemBox } from "../parts/notes.js";
import { address, here, rename } from "../parts/route.js";
import { spaces } from "../parts/spaces.js";
import { t } from "../parts/text.js";
import { openApprovals } from "./approvals.js";
import { RunView } from "./chat-run.js";
import { drawThread } from "./chat-thread.js";

class KosmosChat extends HTMLElement {
  #end = new AbortController();
  #session = null;
  #run = null;

  connectedCallback() {
    this.#draw();
    this.ready = this.#begin().catch((error) => error.name !== "AbortError" && put(this.thread, problemBox(error)));
  }

  disconnectedCallback() {
    this.#end.abort();
  }

  #draw() {
    this.sessions = h("ul", { class: "sessions" });
    this.thread = h("div", { class: "thread", tabindex: "0", role: "log", "aria-label": t("chat.talk") });
    this.agents = select("agent", [], "", {
      "aria-label": t("chat.agent"),
      on: { change: attempt(() => this.#changeAgent()) },
    });
    this.where = select(
      "space",
      [["", t("search.every.space")], ...spaces.list.map((space) => [space.id, space.name])],
      "",
      { "aria-label": t("space") },
    );
    this.question = h("textarea", {
      rows: 2,
      placeholder: t("chat.words"),
      "aria-label": t("chat.words"),
      on: { keydown: (event) => this.#key(event) },
    });
    this.send = h(
      "button",
      { class: "primary", type: "submit", "aria-label": t("chat.send"), title: t("chat.send") },
      icon("send"),
    );
    this.mode = h("div");
    const composer = h(
      "form",
      { class: "composer", on: { submit: (event) => this.#submit(event) } },
      this.mode,
      this.question,
      h("div", { class: "group" }, this.agents, this.where, h("span", { class: "grow" }), this.send),
    );
    const side = h(
      "details",
      { class: "chat-side", open: matchMedia("(min-width: 761px)").matches },
      h("summary", {}, t("chat.sessions")),
      h("a", { class: "button", href: address("chat") }, icon("plus"), t("chat.new")),
      this.sessions,
    );
    put(
      this,
      h(
        "section",
        { class: "chat" },
        h("h1", { class: "unseen" }, t("room.chat")),
        side,
        h("div", { class: "talk" }, this.thread, composer),
      ),
    );
  }

  async #begin() {
    const { signal } = this.#end;
    const { ids, given } = here();
    const [found, credentials] = await Promise.all([
      all("/agents", { limit: 200, signal }),
      all("/credentials", { signal }),
      this.#list(),
    ]);
    put(
      this.agents,
      found.map((agent) => h("option", { value: agent.id }, agent.name)),
    );
    if (given.get("agent")) this.agents.value = given.get("agent");
    const models = credentials.some((one) => one.type === "LLM" || one.type === "SLM");
    put(
      this.mode,
      models ? null : h("p", { class: "mode" }, h("strong", {}, t("chat.modelless")), " ", t("chat.modelless.words")),
    );
    if (ids[0]) await this.#open(ids[0]);
    else this.#welcome();
  }

  #welcome() {
    put(
      this.thread,
      h(
        "div",
        { class: "welcome" },
        h("h2", {}, t("chat.welcome")),
        h("p", { class: "soft" }, t("chat.welcome.words")),
      ),
    );
    this.question.focus();
  }

  async #list() {
    const { items } = await get("/sessions?limit=100", { signal: this.#end.signal });
    put(
      this.sessions,
      items.map((session) => this.#item(session)),
    );
  }

  #item(session) {
    const here_ = session.id === (this.#session?.id ?? here().ids[0]);
    const title = session.title || t("chat.untitled");
    const rename_ = () =>
      ask(t("chat.rename"), field(t("chat.title"), input("title", { value: session.title })), {
        onSubmit: async (data) => {
          await patch(`/sessions/${session.id}`, { title: data.get("title") });
          await this.#list();
        },
      });
    const drop = () =>
      confirm(t("chat.delete"), title, async () => {
        await remove(`/sessions/${session.id}`);
        if (here_) location.hash = address("chat");
        await this.#list();
      });
    return h(
      "li",
      {},
      h(
        "a",
        { href: address("chat", [session.id]), "aria-current": here_ ? "true" : null },
        h("span", {}, title),
        h("small", {}, moment(session.updated_at)),
      ),
      h(
        "button",
        {
          class: "plain",
          title: t("chat.rename"),
          "aria-label": `${t("chat.rename")}: ${title}`,
          on: { click: rename_ },
        },
        icon("gear"),
      ),
      h(
        "button",
        { class: "plain", title: t("delete"), "aria-label": `${t("delete")}: ${title}`, on: { click: drop } },
        icon("bin"),
      ),
    );
  }

  async #open(id) {
    const { signal } = this.#end;
    this.#session = await get(`/sessions/${id}`, { signal });
    if (this.#session.agent_id) this.agents.value = this.#session.agent_id;
    const [messages, runs] = await Promise.all([
      all(`/sessions/${id}/messages`, { signal }),
      get(`/sessions/${id}/runs`, { signal }),
    ]);
    const running = runs.items.find((run) => ["RUNNING", "WAITING"].includes(run.status));
    await drawThread(this.thread, messages, { session: id, running: running?.id });
    if (running) this.#follow(new RunView(id, running.id));
    this.#down();
    openApprovals(this.thread, id).catch(complain);
  }

  async #changeAgent() {
    if (this.#session) await patch(`/sessions/${this.#session.id}`, { agent: this.agents.value });
  }

  #key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#submit(event);
  }

  async #submit(event) {
    event.preventDefault();
    const question = this.question.value.trim();
    if (!question || this.#run) return;
    this.question.value = "";
    try {
      await this.#ask(question);
    } catch (error) {
      complain(error);
      this.question.value ||= question;
    }
  }

  async #ask(question) {
    await this.ready;
    if (!this.#session) {
      this.#session = await post("/sessions", { agent: this.agents.value });
      rename("chat", [this.#session.id]);
      put(this.thread);
    }
    this.thread.append(h("div", { class: "message user" }, h("p", {}, question)));
    const body = { question, ...(this.where.value ? { space_ids: [this.where.value] } : {}) };
    const view = new RunView(this.#session.id);
    this.#follow(view, body);
  }

  /** Show a run to its end; `body` starts it. */
  async #follow(view, body) {
    this.#run = view;
    this.send.disabled = true;
    this.thread.append(view.element);
    this.#down();
    view.onGrow = () => this.#near && this.#down();
    view.onTitle = () => this.#list().catch(complain);
    try {
      await (body ? view.start(body, this.#end.signal) : view.follow(this.#end.signal));
    } catch (error) {
      if (error.name !== "AbortError") view.fail(error);
    } finally {
      this.#run = null;
      this.send.disabled = false;
      if (!this.#end.signal.aborted) this.#list().catch(complain);
    }
  }

  /** Whether the end of the talk is in sight: only then it is followed. */
  get #near() {
    const { scrollHeight, scrollTop, clientHeight } = this.thread;
    return scrollHeight - scrollTop - clientHeight < 160;
  }

  #down() {
    this.thread.scrollTop = this.thread.scrollHeight;
  }
}

customElements.define("kosmos-chat", KosmosChat);
