// All jobs, as they go: progress, pace, why they wait, and what to do about them.
import { pages, post } from "../parts/api.js";
import { select } from "../parts/dialog.js";
import { eachFrame, h, put } from "../parts/dom.js";
import { compact, cost, duration, moment, number, percent } from "../parts/format.js";
import { icon } from "../parts/icons.js";
import { LongList } from "../parts/list.js";
import { live } from "../parts/live.js";
import { nameOf } from "../parts/names.js";
import { attempt, complain } from "../parts/notes.js";
import { counted, fraction, pace } from "../parts/progress.js";
import { address, here, rename } from "../parts/route.js";
import { named, t } from "../parts/text.js";
import { jobChain } from "./job-chain.js";
import { ledgerOfDocument, ledgerOfSpace } from "./ledger.js";

const STATUSES = ["RUNNING", "PENDING", "PAUSED", "FAILED", "CANCELLED", "COMPLETED"];
// What may be done with a job in each state.
const ACTS = {
  PENDING: ["pause", "cancel"],
  RUNNING: ["pause", "cancel"],
  PAUSED: ["resume", "cancel"],
  FAILED: ["retry"],
  CANCELLED: ["retry"],
  COMPLETED: [],
};
const SIGNS = { pause: "pause", resume: "play", cancel: "stop", retry: "again" };
const narrow = matchMedia("(max-width: 760px)");

class KosmosJobs extends HTMLElement {
  #end = new AbortController();
  #jobs = new Map();

  connectedCallback() {
    const { given } = here();
    this.document_ = given.get("document");
    this.only = { status: given.get("status") ?? "", type: given.get("type") ?? "" };
    this.list = new LongList({
      label: t("room.jobs"),
      rowHeight: () => (narrow.matches ? 92 : 48),
      draw: (job, row) => this.#row(job, row),
    });
    this.sort = eachFrame(() => this.#sort());
    this.redraw = () => this.list.redraw();
    narrow.addEventListener("change", () => this.list.redraw(), { signal: this.#end.signal });
    this.list.element.addEventListener(
      "click",
      attempt((event) => this.#click(event)),
    );
    live.listen("job", (job) => this.#heard(job), this.#end.signal);
    live.listen("back", () => this.#load(), this.#end.signal);
    this.#draw();
    this.#load();
    this.timer = setInterval(() => this.#tick(), 1000);
  }

  disconnectedCallback() {
    this.#end.abort();
    this.list.close();
    clearInterval(this.timer);
  }

  #draw() {
    this.count = h("p", { class: "soft", role: "status" });
    this.picture = h("div");
    this.types = select("type", [["", t("jobs.any.type")]], "", { "aria-label": t("jobs.type") });
    this.types.addEventListener("change", () => this.#filter({ type: this.types.value }));
    const status = select(
      "status",
      [["", t("jobs.any.status")], ...STATUSES.map((one) => [one, named("status", one)])],
      this.only.status,
      { "aria-label": t("jobs.status"), on: { change: (event) => this.#filter({ status: event.target.value }) } },
    );
    put(
      this,
      h(
        "section",
        { class: "room tall" },
        h(
          "header",
          { class: "room-head" },
          h("h1", {}, t("room.jobs")),
          h(
            "div",
            { class: "group" },
            status,
            this.types,
            this.document_ ? h("a", { class: "button", href: address("jobs") }, t("jobs.all")) : null,
          ),
          this.count,
        ),
        this.picture,
        this.list.element,
        this.document_ ? null : this.#ledger(),
      ),
    );
    if (this.document_) this.#about();
  }

  /** The chain of a document's jobs, and what models were paid for it. */
  async #about() {
    try {
      put(this.picture, await jobChain(this.document_, this.#end.signal), await ledgerOfDocument(this.document_));
    } catch (error) {
      complain(error);
    }
  }

  #ledger() {
    const inside = h("div");
    const box = h("details", { class: "ledger" }, h("summary", {}, t("ledger")), inside);
    box.addEventListener(
      "toggle",
      attempt(async () => box.open && put(inside, await ledgerOfSpace())),
    );
    return box;
  }

  #filter(change) {
    this.only = { ...this.only, ...change };
    rename("jobs", [], { ...this.only, document: this.document_ });
    this.sort();
  }

  async #load() {
    const path = this.document_ ? `/jobs?document_id=${this.document_}` : "/jobs";
    try {
      for await (const items of pages(path, { by: "before", limit: 500, signal: this.#end.signal })) {
        for (const job of items) this.#keep(job);
        this.sort();
        await new Promise(requestAnimationFrame);
      }
    } catch (error) {
      complain(error);
    }
  }

  #keep(job) {
    const known = this.#jobs.get(job.id);
    if (!known || known.updated_at <= job.updated_at) this.#jobs.set(job.id, job);
  }

  #heard(job) {
    if (this.document_ && job.document_id !== this.document_) return;
    const ended = job.finished_at && !this.#jobs.get(job.id)?.finished_at;
    this.#keep(job);
    this.sort();
    if (this.document_ && ended) this.#about();
  }

  #sort() {
    const { status, type } = this.only;
    const found = [...this.#jobs.values()].filter(
      (job) => (!status || job.status === status) && (!type || job.type === type),
    );
    // Ids grow with time: newest first. What runs stands above what waits, and both above what has ended.
    const rank = (job) => (job.status === "RUNNING" ? 0 : job.finished_at ? 2 : 1);
    found.sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? 1 : -1));
    this.list.items = found;
    const running = [...this.#jobs.values()].filter((job) => job.status === "RUNNING").length;
    this.count.textContent = t("jobs.count", { shown: number(found.length), all: number(this.#jobs.size), running });
    this.#offer();
  }

  #offer() {
    const types = [...new Set([...this.#jobs.values()].map((job) => job.type))].sort();
    if (types.join() === this.known) return;
    this.known = types.join();
    put(
      this.types,
      h("option", { value: "" }, t("jobs.any.type")),
      types.map((type) => h("option", { value: type }, named("job", type))),
    );
    this.types.value = this.only.type;
  }

  #tick() {
    if (this.list.items.some((job) => job.status === "RUNNING")) this.list.redraw();
  }

  #row(job, row) {
    row.className = `long-row job ${job.status.toLowerCase()}`;
    row.dataset.id = job.id;
    const share = job.status === "COMPLETED" ? 1 : fraction(job.progress);
    const parts = counted(job.progress);
    put(
      row,
      h(
        "span",
        { class: "job-name" },
        h("strong", {}, named("job", job.type)),
        job.document_id
          ? h(
              "a",
              { href: address("jobs", [], { document: job.document_id }), title: t("jobs.chain") },
              nameOf(job.document_id, this.redraw) || "…",
            )
          : null,
      ),
      h("span", { class: `tag ${job.status.toLowerCase()}` }, named("status", job.status)),
      h(
        "span",
        { class: "job-bar" },
        h("progress", {
          max: 1,
          value: share ?? 0,
          "aria-label": `${named("job", job.type)} ${percent(share ?? 0)}`,
        }),
        h("small", {}, parts && job.status !== "COMPLETED" ? `${compact(parts[0])} / ${compact(parts[1])}` : ""),
      ),
      h("span", { class: "job-pace" }, this.#pace(job)),
      h("span", { class: "job-reason", title: job.reason }, job.reason ?? ""),
      h("span", { class: "job-cost" }, cost(job.spent)),
      h(
        "span",
        { class: "job-acts" },
        ACTS[job.status].map((act) =>
          h(
            "button",
            {
              class: "plain",
              title: t(`act.${act}`),
              "aria-label": `${t(`act.${act}`)}: ${named("job", job.type)}`,
              data: { act },
            },
            icon(SIGNS[act]),
          ),
        ),
      ),
    );
  }

  #pace(job) {
    const found = pace(job);
    if (found) return t("jobs.pace", { rate: compact(found.rate), left: duration(found.left) });
    return moment(job.finished_at ?? job.updated_at);
  }

  async #click(event) {
    const button = event.target.closest?.("[data-act]");
    const id = event.target.closest?.(".long-row")?.dataset.id;
    if (!button || !id) return;
    button.disabled = true;
    this.#keep(await post(`/jobs/${id}/${button.dataset.act}`));
    this.sort();
  }
}

customElements.define("kosmos-jobs", KosmosJobs);
