// Signing in with a token, for those without a link.
import { request } from "../parts/api.js";
import { field, input } from "../parts/dialog.js";
import { h, put } from "../parts/dom.js";
import { problemBox } from "../parts/notes.js";
import { t } from "../parts/text.js";

class KosmosSignin extends HTMLElement {
  connectedCallback() {
    const problem = this.getAttribute("problem");
    this.problem = h("div", {}, problem ? problemBox(new Error(problem)) : null);
    const token = input("token", { type: "password", required: true, placeholder: "kosmos_…" });
    const form = h(
      "form",
      { class: "form", on: { submit: (event) => this.#submit(event, token) } },
      field(t("signin.token"), token, t("signin.hint")),
      h("div", { class: "actions" }, h("button", { class: "primary", type: "submit" }, t("signin.go"))),
    );
    const head = h("img", { src: "/page/icon.svg", alt: "", width: 40, height: 40 });
    put(
      this,
      h("main", { class: "door" }, head, h("h1", {}, "Kosmos"), h("p", {}, t("signin.words")), this.problem, form),
    );
  }

  async #submit(event, token) {
    event.preventDefault();
    try {
      await request("POST", "/page/sign-in", { body: { token: token.value.trim() } });
      document.querySelector("kosmos-page").start();
    } catch (error) {
      put(this.problem, problemBox(error));
    }
  }
}

customElements.define("kosmos-signin", KosmosSignin);
