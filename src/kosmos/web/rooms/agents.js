// Agents: rows that say who talks, with which tools, over which spaces.
import { all, patch, post, remove } from "../parts/api.js";
import { ask, confirm, field, input, select } from "../parts/dialog.js";
import { h, put } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { attempt, complain } from "../parts/notes.js";
import { address } from "../parts/route.js";
import { spaces } from "../parts/spaces.js";
import { named, t } from "../parts/text.js";

class KosmosAgents extends HTMLElement {
  connectedCallback() {
    this.list = h("ul", { class: "cards" });
    put(
      this,
      h(
        "section",
        { class: "room" },
        h(
          "header",
          { class: "room-head" },
          h("h1", {}, t("room.agents")),
          h(
            "div",
            { class: "group" },
            h("button", { class: "primary", on: { click: () => this.#edit(null) } }, icon("plus"), t("agent.new")),
          ),
        ),
        this.list,
      ),
    );
    this.#load().catch(complain);
  }

  async #load() {
    const found = await all("/agents", { limit: 200 });
    put(
      this.list,
      found.map((agent) => this.#card(agent)),
    );
  }

  #card(agent) {
    const own = agent.owner_id !== null;
    const facts = [
      named("workflow", agent.workflow),
      agent.model,
      agent.allowed_tools ? t("agent.tools.count", { count: agent.allowed_tools.length }) : t("agent.tools.all"),
      own ? null : t("agent.instance"),
    ].filter(Boolean);
    const drop = () =>
      confirm(t("agent.delete"), agent.name, async () => {
        await remove(`/agents/${agent.id}`);
        await this.#load();
      });
    return h(
      "li",
      { class: "card" },
      h("h2", {}, agent.name),
      h("p", {}, agent.description),
      h("p", { class: "soft small" }, facts.join(" · ")),
      h(
        "div",
        { class: "group" },
        h("a", { class: "button", href: address("chat", [], { agent: agent.id }) }, t("agent.talk")),
        h("button", { on: { click: () => this.#edit(agent) } }, t("edit")),
        h(
          "button",
          { class: "plain", "aria-label": `${t("delete")}: ${agent.name}`, title: t("delete"), on: { click: drop } },
          icon("bin"),
        ),
      ),
    );
  }

  #edit = attempt(async (agent) => {
    const saved = await ask(agent ? agent.name : t("agent.new"), fields(agent), {
      wide: true,
      onSubmit: (data) => (agent ? patch(`/agents/${agent.id}`, valuesOf(data)) : post("/agents", valuesOf(data))),
    });
    if (saved) await this.#load();
  });
}

function fields(agent) {
  const chosen = agent?.allowed_spaces;
  return [
    field(t("agent.name"), input("name", { value: agent?.name ?? "", required: true })),
    field(t("description"), input("description", { value: agent?.description ?? "" })),
    field(t("agent.prompt"), h("textarea", { name: "system_prompt", rows: 6 }, agent?.system_prompt ?? "")),
    h(
      "div",
      { class: "grid" },
      field(
        t("agent.workflow"),
        select(
          "workflow",
          ["loop", "react", "literature"].map((one) => [one, named("workflow", one)]),
          agent?.workflow ?? "loop",
        ),
      ),
      field(
        t("agent.language"),
        select(
          "language",
          ["auto", "zh", "en"].map((one) => [one, named("speech", one)]),
          agent?.language ?? "auto",
        ),
      ),
      field(
        t("agent.steps"),
        input("step_limit", { type: "number", min: 1, max: 50, value: agent?.step_limit ?? 8 }),
      ),
      field(t("agent.model"), input("model", { value: agent?.model ?? "" }), t("agent.model.hint")),
    ),
    field(
      t("agent.tools"),
      input("tools", { value: agent?.allowed_tools?.join(", ") ?? "*" }),
      t("agent.tools.hint"),
    ),
    h(
      "fieldset",
      {},
      h("legend", {}, t("agent.spaces")),
      h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", name: "every", checked: !chosen }),
        t("search.every.space"),
      ),
      spaces.list.map((space) =>
        h(
          "label",
          { class: "check" },
          h("input", {
            type: "checkbox",
            name: "spaces",
            value: space.id,
            checked: Boolean(chosen?.includes(space.id)),
          }),
          space.name,
        ),
      ),
    ),
    field(
      t("agent.options"),
      h("textarea", { name: "options", rows: 2, class: "code" }, JSON.stringify(agent?.chat_options ?? {})),
    ),
  ];
}

function valuesOf(data) {
  const tools = data.get("tools").trim();
  return {
    name: data.get("name"),
    description: data.get("description"),
    system_prompt: data.get("system_prompt"),
    workflow: data.get("workflow"),
    language: data.get("language"),
    step_limit: Number(data.get("step_limit")),
    model: data.get("model").trim() || null,
    allowed_tools:
      tools === "*"
        ? null
        : tools
            .split(",")
            .map((one) => one.trim())
            .filter(Boolean),
    allowed_spaces: data.has("every") ? null : data.getAll("spaces"),
    chat_options: JSON.parse(data.get("options") || "{}"),
  };
}

customElements.define("kosmos-agents", KosmosAgents);
