// Dialogs about a space: a new one, its settings, its members.
import { get, patch, post, put as send, remove } from "../parts/api.js";
import { ask, confirm, field, input, select } from "../parts/dialog.js";
import { h, put } from "../parts/dom.js";
import { attempt, complain } from "../parts/notes.js";
import { spaces } from "../parts/spaces.js";
import { named, t } from "../parts/text.js";

const ROLES = ["viewer", "editor", "owner"];

/** Make a space; answers it, or null. */
export async function newSpace() {
  let made = null;
  const fields = [
    field(t("space.name"), input("name", { required: true, maxlength: 120 })),
    field(t("description"), h("textarea", { name: "description", rows: 3 })),
  ];
  await ask(t("space.new"), fields, {
    submit: t("create"),
    onSubmit: async (data) => {
      made = await post("/spaces", { name: data.get("name"), description: data.get("description") });
      await spaces.load();
    },
  });
  return made;
}

/** Change a space; answers whether anything was changed. */
export async function editSpace(space) {
  const owner = space.role === "owner";
  const chunking = space.settings.chunking ?? {};
  const redaction = space.settings.redaction;
  let gone = false;
  const fields = [
    field(t("space.name"), input("name", { value: space.name, disabled: !owner })),
    field(t("description"), h("textarea", { name: "description", rows: 2, disabled: !owner }, space.description)),
    field(
      t("space.producer"),
      select("producer", options("producer", ["structure", "indexer"]), chunking.producer ?? "structure", {
        disabled: !owner,
      }),
      t("space.producer.hint"),
    ),
    field(
      t("space.fallback"),
      select("fallback", options("fallback", ["structure", "sentinel"]), chunking.fallback ?? "structure", {
        disabled: !owner,
      }),
    ),
    field(
      t("space.redaction"),
      select("redaction", redactionOptions(redaction), redactionValue(redaction), { disabled: !owner }),
      t("space.redaction.hint"),
    ),
    members(space),
    owner
      ? h("button", { type: "button", class: "danger quiet", on: { click: () => drop() } }, t("space.delete"))
      : null,
  ];
  const drop = () =>
    confirm(t("space.delete"), t("space.delete.words", { space: space.name }), async () => {
      await remove(`/spaces/${space.id}`);
      gone = true;
      document.querySelector("dialog.wide")?.close();
    });
  const saved = await ask(t("space.settings"), fields, {
    wide: true,
    onSubmit: async (data) => owner && patch(`/spaces/${space.id}`, changes(space, data)),
  });
  return saved || gone;
}

const options = (group, values) => values.map((value) => [value, named(group, value)]);
const redactionValue = (kept) => (Array.isArray(kept) ? "some" : (kept ?? "on"));

function redactionOptions(kept) {
  const known = options("redaction", ["on", "off"]);
  return Array.isArray(kept) ? [...known, ["some", kept.join(", ")]] : known;
}

function changes(space, data) {
  const chunking = { ...space.settings.chunking, producer: data.get("producer"), fallback: data.get("fallback") };
  const chosen = data.get("redaction");
  const redaction = chosen === "some" ? space.settings.redaction : chosen;
  return {
    name: data.get("name"),
    description: data.get("description"),
    settings: { ...space.settings, chunking, redaction },
  };
}

function members(space) {
  const list = h("ul", { class: "members" });
  const owner = space.role === "owner";
  const user = input("user", { "aria-label": t("member.name"), placeholder: t("member.name") });
  const role = select("role", options("role", ROLES), "viewer", { "aria-label": t("member.role") });
  const path = `/spaces/${space.id}/members`;
  const show = async () => {
    const { items } = await get(path);
    put(
      list,
      items.map((one) =>
        h(
          "li",
          {},
          h("span", {}, one.user_name),
          h("span", { class: "soft" }, named("role", one.role)),
          owner
            ? h(
                "button",
                {
                  type: "button",
                  class: "plain",
                  "aria-label": `${t("member.remove")}: ${one.user_name}`,
                  on: { click: drop(one) },
                },
                "×",
              )
            : null,
        ),
      ),
    );
  };
  const drop = (one) =>
    attempt(async () => {
      await remove(`${path}/${one.user_id}`);
      await show();
    });
  const add = attempt(async () => {
    await send(path, { user: user.value, role: role.value });
    user.value = "";
    await show();
  });
  show().catch(complain);
  return h(
    "fieldset",
    {},
    h("legend", {}, t("members")),
    list,
    owner
      ? h("div", { class: "group" }, user, role, h("button", { type: "button", on: { click: add } }, t("member.add")))
      : null,
  );
}
