// A form in a dialog of the browser: focus stays inside, Escape closes.
import { h } from "./dom.js";
import { complain } from "./notes.js";
import { t } from "./text.js";

/** Show a dialog; `onSubmit(form data)` may throw a Problem, which is said. Answers whether it was submitted. */
export function ask(title, fields, { submit = t("save"), onSubmit, wide = false, danger = false } = {}) {
  return new Promise((done) => {
    let result = false;
    const form = h(
      "form",
      { class: "form" },
      h("h2", { id: "dialog-title" }, title),
      fields,
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", on: { click: () => box.close() } }, t("cancel")),
        h("button", { class: danger ? "danger" : "primary", type: "submit" }, submit),
      ),
    );
    const box = h("dialog", { class: wide ? "wide" : null, "aria-labelledby": "dialog-title" }, form);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await onSubmit?.(new FormData(form));
        result = true;
        box.close();
      } catch (error) {
        complain(error);
      }
    });
    box.addEventListener("close", () => {
      box.remove();
      done(result);
    });
    document.body.append(box);
    box.showModal();
  });
}

/** A field with its label. */
export function field(label, control, hint = "") {
  return h("label", { class: "field" }, h("span", {}, label), control, hint ? h("small", {}, hint) : null);
}

/** A text field. */
export const input = (name, props = {}) => h("input", { name, type: "text", autocomplete: "off", ...props });

/** A choice; options are [value, words]. */
export function select(name, options, value, props = {}) {
  const made = h(
    "select",
    { name, ...props },
    options.map(([key, words]) => h("option", { value: key }, words)),
  );
  if (value !== undefined && value !== null) made.value = value;
  return made;
}

/** Ask before something that cannot be undone. */
export const confirm = (title, words, onSubmit) =>
  ask(title, h("p", {}, words), { submit: t("delete"), onSubmit, danger: true });
