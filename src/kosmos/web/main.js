// The entry: load the words, then let the elements come to life.
import { loadText } from "./parts/text.js";
import { applyTheme } from "./parts/theme.js";

applyTheme();
await loadText();
await import("./rooms/page.js");
