// The words of the page: one dictionary for each language, the same keys in both.

export const LANGUAGES = ["en", "zh"];
let words = {};
let current = "en";

/** Which language to show: the one chosen before, or that of the browser. */
function preferred() {
  const kept = localStorage.getItem("kosmos.language");
  if (LANGUAGES.includes(kept)) return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/** Load the dictionary of a language; from then on `t` speaks it. */
export async function loadText(language = preferred()) {
  const answer = await fetch(`/page/text/${language}.json`);
  words = await answer.json();
  current = language;
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

/** Change the language and keep the choice. */
export async function setLanguage(language) {
  localStorage.setItem("kosmos.language", language);
  await loadText(language);
}

/** The language that is shown. */
export const language = () => current;

/** The words for a key; `{name}` stands for a given value. */
export function t(key, values = {}) {
  const text = words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** The words for a value that the server names, or the value itself where there are none. */
export function named(group, value) {
  return words[`${group}.${value}`] ?? String(value ?? "");
}
