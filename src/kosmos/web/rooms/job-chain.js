// A document's jobs as a picture: each waits for those on its left.
import { get } from "../parts/api.js";
import { h, svg } from "../parts/dom.js";
import { percent } from "../parts/format.js";
import { fraction } from "../parts/progress.js";
import { named, t } from "../parts/text.js";

const [WIDE, HIGH, GAP, MOST] = [132, 40, 44, 40];

/** The picture of the newest jobs of a document. */
export async function jobChain(documentId, signal) {
  const overview = await get(`/documents/${documentId}/overview`, { signal });
  const newest = overview.jobs.slice(0, MOST);
  const jobs = await Promise.all(newest.map((job) => get(`/jobs/${job.id}`, { signal })));
  const placed = place(jobs);
  const title = t("chain.of", { document: overview.document.source });
  const columns = Math.max(1, ...placed.map((one) => one.column + 1));
  const rows = Math.max(1, ...placed.map((one) => one.row + 1));
  const [width, height] = [columns * (WIDE + GAP) - GAP + 4, rows * (HIGH + 12) + 4];
  return h(
    "figure",
    { class: "chain" },
    h("figcaption", {}, title),
    h(
      "div",
      { class: "scroll-x", tabindex: "0", role: "region", "aria-label": title },
      svg(
        "svg",
        { width, height, viewBox: `-2 -2 ${width} ${height}`, role: "img", "aria-label": describe(jobs) },
        edges(placed),
        placed.map(box),
      ),
    ),
  );
}

/** Columns by the longest way to a job, rows within a column by age. */
function place(jobs) {
  const known = new Map(jobs.map((job) => [job.id, job]));
  const depth = new Map();
  const depthOf = (job) => {
    if (!depth.has(job.id)) {
      depth.set(job.id, 0); // a circle, which cannot be, would end here
      const before = job.waits_for.map((wait) => known.get(wait.job_id)).filter(Boolean);
      depth.set(job.id, before.length ? 1 + Math.max(...before.map(depthOf)) : 0);
    }
    return depth.get(job.id);
  };
  const filled = new Map();
  return jobs
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((job) => {
      const column = depthOf(job);
      const row = filled.get(column) ?? 0;
      filled.set(column, row + 1);
      return { job, column, row, x: column * (WIDE + GAP), y: row * (HIGH + 12) };
    });
}

function edges(placed) {
  const at = new Map(placed.map((one) => [one.job.id, one]));
  return placed.flatMap((one) =>
    one.job.waits_for
      .map((wait) => at.get(wait.job_id))
      .filter(Boolean)
      .map((from) => {
        const [x1, y1, x2, y2] = [from.x + WIDE, from.y + HIGH / 2, one.x, one.y + HIGH / 2];
        return svg("path", {
          class: "edge",
          d: `M${x1} ${y1}C${x1 + GAP / 2} ${y1} ${x2 - GAP / 2} ${y2} ${x2} ${y2}`,
        });
      }),
  );
}

function box({ job, x, y }) {
  const share = job.status === "COMPLETED" ? 1 : (fraction(job.progress) ?? 0);
  return svg(
    "g",
    { class: `node ${job.status.toLowerCase()}`, transform: `translate(${x} ${y})` },
    svg("rect", { width: WIDE, height: HIGH, rx: 5 }),
    svg("rect", { class: "done", x: 0, y: HIGH - 4, width: WIDE * share, height: 4 }),
    svg("text", { x: 10, y: 17 }, named("job", job.type)),
    svg(
      "text",
      { class: "small", x: 10, y: 31 },
      `${named("status", job.status)}${job.status === "RUNNING" ? ` ${percent(share)}` : ""}`,
    ),
    svg("title", {}, job.reason ?? named("status", job.status)),
  );
}

const describe = (jobs) => jobs.map((job) => `${named("job", job.type)}: ${named("status", job.status)}`).join("; ");
