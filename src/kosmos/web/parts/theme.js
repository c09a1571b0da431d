// Light, dark, or as the system has it.

export const THEMES = ["auto", "light", "dark"];

/** The theme that was chosen. */
export function theme() {
  const kept = localStorage.getItem("kosmos.theme");
  return THEMES.includes(kept) ? kept : "auto";
}

/** Show the chosen theme. */
export function applyTheme() {
  document.documentElement.dataset.theme = theme();
}

/** The next theme in turn. */
export function turnTheme() {
  localStorage.setItem("kosmos.theme", THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  applyTheme();
}
