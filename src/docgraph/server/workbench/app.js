// The workbench. The address names what is open: "#" is the start page, "#/ID" a document.

import * as api from "./api.js";
import { h } from "./dom.js";
import { drawStartHeader } from "./header.js";
import { t } from "./i18n.js";
import { showHelp } from "./keys.js";
import { ask, failed, notice } from "./messages.js";
import { Start } from "./start.js";
import { View } from "./view.js";
import { Work } from "./work.js";

const app = {
  shown: null, // the Start or the View on the page
  help: () => showHelp(),
  /** Draws the page again after a change of language. */
  redraw: (change) => {
    change();
    route();
  },
};

let dropped = null; // a file that was dropped on a document, for the start page to upload

async function route() {
  notice("");
  app.shown?.close();
  app.shown = null;
  document.querySelector(".skip").textContent = t("skip");
  const id = /^#\/([\w-]+)$/.exec(location.hash)?.[1];
  if (id) await openDocument(id);
  else openStart();
}

function openStart() {
  document.title = "docgraph";
  drawStartHeader(app);
  app.shown = new Start(app);
  document.getElementById("main").replaceChildren(app.shown.element);
  if (dropped) app.shown.upload(dropped);
  dropped = null;
}

async function openDocument(id) {
  try {
    const job = await api.getJob(id);
    if (!location.hash.endsWith(id)) return; // the user went elsewhere meanwhile
    document.title = `${job.name} · docgraph`;
    const work = new Work(job);
    const view = new View(app, work);
    app.shown = view;
    document.getElementById("main").replaceChildren(view.element);
    await work.open();
    if (app.shown === view) view.list.go(work.current, { edit: false });
  } catch (error) {
    openStart();
    if (error.status === 404) notice(t("error.gone"));
    else failed(error, route);
  }
}

api.onKeyNeeded(() =>
  ask(t("key.title"), (dialog) => {
    const input = h("input", { id: "api-key", type: "password", autocomplete: "off", required: true });
    const submit = (event) => {
      event.preventDefault();
      dialog.close(input.value.trim());
    };
    return [
      h(
        "form",
        { class: "key-form", onsubmit: submit },
        h("label", { for: "api-key" }, t("key.label")),
        input,
        h("button", { class: "primary" }, t("key.ok")),
      ),
    ];
  }),
);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names what is open
  document.getElementById("main").focus();
  app.shown?.list?.focus();
});
window.addEventListener("hashchange", async () => {
  await route();
  if (app.shown instanceof Start) document.getElementById("main").focus(); // the link that was followed is gone
});
// Without this, the browser would leave the page for a file that is dropped on a document.
window.addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
window.addEventListener("drop", (event) => {
  if (app.shown instanceof Start || !event.dataTransfer.files.length) return;
  event.preventDefault();
  [dropped] = event.dataTransfer.files;
  location.hash = "#";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "?" && app.shown instanceof Start && !event.target.matches("input, textarea")) showHelp();
});
route();
