// Ways into a space: files dropped or chosen, an address of the web, a whole site.
import { API, Problem, post } from "../parts/api.js";
import { ask, field, input } from "../parts/dialog.js";
import { h } from "../parts/dom.js";
import { percent } from "../parts/format.js";
import { icon } from "../parts/icons.js";
import { complain, say } from "../parts/notes.js";
import { t } from "../parts/text.js";

const TOGETHER = 20 * 2 ** 20; // bytes of small files that go in one request

/** The box that takes files; `changed` is called when something was added. */
export function addingBox(space, changed) {
  const choose = h("input", {
    type: "file",
    multiple: true,
    class: "unseen",
    tabindex: "-1",
    "aria-label": t("add.files"),
  });
  const list = h("ul", { class: "uploads", "aria-live": "polite" });
  const take = (files) => sendAll(space, [...files], list, changed);
  choose.addEventListener("change", () => {
    take(choose.files);
    choose.value = "";
  });
  const box = h(
    "div",
    { class: "drop" },
    choose,
    h("p", {}, t("add.drop")),
    h(
      "div",
      { class: "group" },
      h("button", { class: "primary", on: { click: () => choose.click() } }, icon("plus"), t("add.files")),
      h("button", { on: { click: () => addAddress(space, changed) } }, t("add.url")),
      h("button", { on: { click: () => startCrawl(space, changed) } }, t("add.crawl")),
    ),
    list,
  );
  takeDrops(box, take);
  return box;
}

function takeDrops(box, take) {
  const over = (on) => (event) => {
    event.preventDefault();
    box.classList.toggle("over", on);
  };
  box.addEventListener("dragenter", over(true));
  box.addEventListener("dragover", over(true));
  box.addEventListener("dragleave", (event) => {
    if (!box.contains(event.relatedTarget)) box.classList.remove("over");
  });
  box.addEventListener("drop", (event) => {
    over(false)(event);
    take(event.dataTransfer.files);
  });
}

/** Small files go together, large ones alone, one request after the other. */
async function sendAll(space, files, list, changed) {
  for (const part of parcels(files)) {
    const name = part.length === 1 ? part[0].name : t("add.many", { count: part.length, name: part[0].name });
    const bar = h("progress", { max: 1, value: 0, "aria-label": name });
    const share = h("span", { class: "soft" }, "0%");
    const item = h("li", {}, h("span", {}, name), bar, share);
    list.append(item);
    try {
      const done = await sendFiles(space, part, (value) => {
        bar.value = value;
        share.textContent = percent(value);
      });
      for (const refused of done.refused) say(`${refused.name}: ${refused.reason}`, { bad: true });
      changed();
    } catch (error) {
      complain(error);
    }
    item.remove();
  }
}

function parcels(files) {
  const made = [];
  let size = Infinity;
  for (const file of files) {
    if (size + file.size > TOGETHER || made.at(-1).length >= 50) {
      made.push([]);
      size = 0;
    }
    made.at(-1).push(file);
    size += file.size;
  }
  return made;
}

// Only XMLHttpRequest tells how much of a body has been sent.
function sendFiles(space, files, onShare) {
  return new Promise((done, failed) => {
    const sending = new XMLHttpRequest();
    sending.open("POST", `${API}/spaces/${space.id}/documents`);
    sending.responseType = "json";
    sending.upload.addEventListener(
      "progress",
      (event) => event.lengthComputable && onShare(event.loaded / event.total),
    );
    sending.addEventListener("load", () => {
      if (sending.status < 300) done(sending.response);
      else failed(new Problem(sending.response ?? {}, sending.status));
    });
    sending.addEventListener("error", () =>
      failed(new Problem({ detail: t("problem.offline"), remedy: t("problem.offline.remedy") }, 0)),
    );
    const body = new FormData();
    for (const file of files) body.append("file", file, file.webkitRelativePath || file.name);
    sending.send(body);
  });
}

function addAddress(space, changed) {
  return ask(
    t("add.url"),
    field(t("address"), input("url", { type: "url", required: true, placeholder: "https://" })),
    {
      submit: t("add"),
      onSubmit: async (data) => {
        const made = await post(`/spaces/${space.id}/addresses`, { url: data.get("url") });
        say(t("add.done", { name: made.document.source }));
        changed();
      },
    },
  );
}

function startCrawl(space, changed) {
  const fields = [
    field(t("crawl.start"), input("url", { type: "url", required: true, placeholder: "https://" })),
    field(t("crawl.prefix"), input("prefix"), t("crawl.prefix.hint")),
    field(t("crawl.pages"), input("pages", { type: "number", min: 1, max: 100000, value: 200 })),
    field(t("crawl.depth"), input("depth", { type: "number", min: 0, max: 100, value: 5 })),
  ];
  return ask(t("add.crawl"), fields, {
    submit: t("crawl.go"),
    onSubmit: async (data) => {
      const prefixes = data.get("prefix") ? [data.get("prefix")] : [];
      await post("/crawls", {
        space_id: space.id,
        url: data.get("url"),
        prefixes,
        max_pages: Number(data.get("pages")),
        max_depth: Number(data.get("depth")),
      });
      say(t("crawl.started"));
      changed();
    },
  });
}
