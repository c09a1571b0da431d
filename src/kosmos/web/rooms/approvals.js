// Asking a person before a tool changes anything: the exact command, and its diff.
import { get, post } from "../parts/api.js";
import { h, put } from "../parts/dom.js";
import { attempt } from "../parts/notes.js";
import { named, t } from "../parts/text.js";

/** A card for an approval; `decided` shows what came of it. */
export function approvalCard(asked, { past = false } = {}) {
  const id = asked.id ?? asked.approval_id;
  const acts = h("div", { class: "group" });
  const decided = ({ approved, approve, decision, status, reason }) => {
    const yes = approved ?? approve ?? ["approved", "approve", "APPROVED"].includes(decision ?? status);
    put(acts, h("p", { class: `tag ${yes ? "ready" : "failed"}` }, t(yes ? "approval.approved" : "approval.refused")), reason ? h("span", { class: "soft" }, reason) : null);
  };
  const decide = (approve) =>
    attempt(async () => {
      for (const button of acts.children) button.disabled = true;
      try {
        await post(`/approvals/${id}/decision`, { approve });
        decided({ approved: approve });
      } catch (error) {
        for (const button of acts.children) button.disabled = false;
        throw error;
      }
    });
  if (!past) put(acts, h("button", { class: "primary", on: { click: decide(true) } }, t("approval.yes")), h("button", { class: "danger", on: { click: decide(false) } }, t("approval.no")));
  const element = h(
    "section",
    { class: "approval", "aria-label": t("approval"), data: { approval: id } },
    h("h3", {}, t("approval"), asked.risk ? h("span", { class: "tag paused" }, named("risk", asked.risk)) : null),
    h("p", {}, asked.reason ?? asked.summary ?? t("approval.words", { tool: asked.tool ?? asked.name ?? "" })),
    h("pre", { class: "command" }, commandOf(asked)),
    asked.diff ? h("pre", { class: "diff", "aria-label": t("approval.diff") }, diffLines(asked.diff)) : null,
    acts,
  );
  return { element, decided, id };
}

function commandOf(asked) {
  const { command } = asked;
  if (Array.isArray(command)) return command.join(" ");
  return command ?? `${asked.tool ?? asked.name ?? ""} ${JSON.stringify(asked.arguments ?? {}, null, 1)}`;
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
    found = await get("/approvals");
  } catch (error) {
    if (error.status === 404) return;
    throw error;
  }
  const shown = new Set([...thread.querySelectorAll("[data-approval]")].map((item) => item.dataset.approval));
  for (const asked of found.items ?? []) {
    const open = !asked.status || ["pending", "PENDING", "open"].includes(asked.status);
    if (asked.session_id !== session || !open || shown.has(asked.id)) continue;
    const card = approvalCard(asked);
    thread.append(card.element);
  }
}
