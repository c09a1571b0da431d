// Numbers and moments as people of the language write them.
import { language, t } from "./text.js";

const locale = () => (language() === "zh" ? "zh-CN" : "en");

export const number = (value, digits = 0) =>
  new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value);

export const compact = (value) =>
  new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(value);

export const fixed = (value, digits = 3) => Number(value).toFixed(digits);

export const percent = (share) => `${Math.round(share * 100)}%`;

/** A size in bytes. */
export function bytes(count) {
  const units = ["B", "kB", "MB", "GB"];
  let at = 0;
  for (; count >= 1000 && at < units.length - 1; at += 1) count /= 1000;
  return `${number(count, at ? 1 : 0)} ${units[at]}`;
}

/** What calls cost: money where prices are known, else tokens, else nothing. */
export function cost(spent) {
  if (!spent) return "";
  if (spent.cost > 0) return number(spent.cost, 4);
  const tokens = spent.prompt_tokens + spent.output_tokens;
  return tokens ? t("tokens", { count: compact(tokens) }) : "";
}

/** A moment: the time today, else the day. */
export function moment(text) {
  const then = new Date(text);
  const today = new Date().toDateString() === then.toDateString();
  const shown = today
    ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }
    : { year: "numeric", month: "short", day: "numeric" };
  return new Intl.DateTimeFormat(locale(), shown).format(then);
}

/** A stretch of time. */
export function duration(seconds) {
  if (seconds < 1) return t("seconds", { count: number(seconds, 1) });
  if (seconds < 90) return t("seconds", { count: number(seconds) });
  if (seconds < 5400) return t("minutes", { count: number(seconds / 60) });
  return t("hours", { count: number(seconds / 3600, 1) });
}

/** Lines as people name them. */
export const lines = (start, end) => (start === end ? t("line", { start }) : t("lines", { start, end }));
