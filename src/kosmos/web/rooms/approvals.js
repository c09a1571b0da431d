// Asking a person before a tool changes anything: the exact command, and what it would change.
import { get, post } from "../parts/api.js";
import { input } from "../parts/dialog.js";
import { h, put } from "../parts/dom.js";
import { attempt } from "../parts/notes.js";
import { named, t } from "../parts/text.js";

/** The id of an approval, from its event or its row; the id of a call is another thing. */
export const approvalId = (asked) => asked.approval_id ?? asked.id;

/** A card for an approval; `decided` shows what came of it. */
export function approvalCard(given, { past = false } = {}) {
  const id = approvalId(given);
  const asked = given.request ?? given;
  const acts = h("div", { class: "group" });
  const decided = ({ approved, reason }) =>
    put(
      acts,
      h(
        "p",
        { class: `tag ${approved ? "ready" : "failed"}` },
        t(approved ? "approval.approved" : "approval.refused"),
      ),
      reason ? h("span", { class: "soft" }, reason) : null,
    );
  const why = input("reason", { placeholder: t("approval.why"), "aria-label": t("approval.why"), maxlength: 2000 });
  const decide = (approved) =>
    attempt(async () => {
      const answer = { approved, reason: approved ? "" : why.value };
      for (const part of acts.children) part.disabled = true;
      try {
        await post(`/approvals/${id}/decide`, answer);
        decided(answer);
      } catch (error) {
        for (const part of acts.children) part.disabled = false;
        throw error;
      }
    });
  if (!past)
    put(
      acts,
      h("button", { class: "primary", on: { click: decide(true) } }, t("approval.yes")),
      h("button", { class: "danger", on: { click: decide(false) } }, t("approval.no")),
      why,
    );
  const level = asked.level ?? asked.risk;
  const place = [asked.context, asked.namespace].filter(Boolean).join(" / ");
  const element = h(
    "section",
    { class: "approval", "aria-label": t("approval"), data: { approval: id } },
    h("h3", {}, t("approval"), level ? h("span", { class: "tag paused" }, named("risk", level)) : null),
    h("p", {}, asked.reason || t("approval.words", { tool: asked.tool ?? "" })),
    h("pre", { class: "command", tabindex: "0" }, commandOf(asked)),
    place ? h("p", { class: "soft small" }, place) : null,
    asked.preview || asked.diff
      ? h(
          "pre",
          { class: "diff", tabindex: "0", role: "region", "aria-label": t("approval.diff") },
          diffLines(asked.preview || asked.diff),
        )
      : null,
    acts,
  );
  return { element, decided, id };
}

/** The command as a shell would take it, or the tool with its arguments. */
function commandOf({ argv, command, tool, arguments: given }) {
  if (Array.isArray(argv))
    return argv
      .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
      .join(" ");
  return command ?? `${tool ?? ""} ${JSON.stringify(given ?? {}, null, 1)}`;
}

function diffLines(diff) {
  const kinds = { "+": "more", "-": "less", "@": "where" };
  return String(diff)
    .split("\n")
    .map((line) => h("span", { class: kinds[line[0]] ?? "same" }, `${line}\n`));
}

/** Approvals of a session that wait for an answer; a server that knows none has none. */
export async function openApprovals(thread, session) {
  let found;
  try {
    found = await get("/approvals?status=PENDING");
  } catch (error) {
    if (error.status === 404) return;
    throw error;
  }
  const shown = new Set([...thread.querySelectorAll("[data-approval]")].map((item) => item.dataset.approval));
  for (const asked of found.items ?? []) {
    if (asked.session_id === session && !shown.has(asked.id)) thread.append(approvalCard(asked).element);
  }
}
