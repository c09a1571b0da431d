// How far a job is, how fast it goes and how long it will take.

const KINDS = [
  ["current_line", "total_lines"],
  ["current_page", "total_pages"],
  ["current", "total"],
];

/** Done and total of whatever a job counts, or null. */
export function counted(progress) {
  for (const [done, total] of KINDS) {
    if (typeof progress?.[done] === "number" && progress[total] > 0) return [progress[done], progress[total]];
  }
  return null;
}

/** The part that is done, from 0 to 1, or null. */
export function fraction(progress) {
  const found = counted(progress);
  return found ? Math.min(1, found[0] / found[1]) : null;
}

/** Units a second and seconds left of a running job, or null while nobody can know. */
export function pace(job, now = Date.now()) {
  const found = counted(job.progress);
  if (!found || !job.started_at || job.status !== "RUNNING" || found[0] <= 0) return null;
  const seconds = (now - Date.parse(job.started_at)) / 1000;
  const rate = found[0] / Math.max(seconds, 0.001);
  return { rate, left: (found[1] - found[0]) / rate };
}
