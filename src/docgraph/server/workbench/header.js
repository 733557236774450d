// The header: the name of the document, how far it is, and what can be done with the whole of it.

import * as api from "./api.js";
import { h, icon, store } from "./dom.js";
import { currentLanguage, setLanguage, t } from "./i18n.js";
import { menu, menuHeading, menuItem } from "./menu.js";
import { failed } from "./messages.js";
import { isBeingTranslated } from "./work.js";

const KINDS = ["original", "xliff", "tmx", "tsv", "html"];
const PATIENCE = 400; // milliseconds before an activity of the server is shown
const NAMES = { en: "English", fr: "Français" };

/** Returns a button of the header; a visible text is its name, and the title says more. */
function tool(name, title, onclick, { text = "", ...attributes } = {}) {
  const label = text ? null : title;
  return h(
    "button",
    { type: "button", class: "tool", "aria-label": label, title, onclick, ...attributes },
    icon(name),
    h("span", { class: "tool-text" }, text),
  );
}

/** Draws the header of the start page. */
export function drawStartHeader(app) {
  document.getElementById("header").replaceChildren(brand(), h("span", { class: "spacer" }), settings(app), help(app));
}

/** Draws the header of a document and keeps it up to date. */
export function drawDocumentHeader(app, work, view) {
  const name = h("h1", { title: work.job.name }, work.job.name);
  const status = h("span", { class: "status" });
  const activity = h("span", { class: "activity", role: "status" });
  const progress = h("progress", { max: 1, "aria-label": t("state.running") });
  const cancel = h(
    "button",
    { type: "button", class: "small", onclick: () => api.cancel(work.job.id).catch(failed) },
    t("cancel"),
  );
  const resume = h(
    "button",
    { type: "button", class: "small", onclick: () => work.resume().catch(failed) },
    t("resume"),
  );
  const undo = tool("undo", t("undo"), () => view.step("undo"), { "aria-keyshortcuts": "U" });
  const redo = tool("redo", t("redo"), () => view.step("redo"), { "aria-keyshortcuts": "Shift+U" });
  const compare = tool("compare", t("compare.title"), () => view.compare(), {
    text: t("compare"),
    "aria-pressed": "false",
    "aria-keyshortcuts": "C",
  });
  const overview = tool("map", t("overview"), () => view.toggleOverview(), {
    text: t("overview"),
    "aria-pressed": "false",
    "aria-keyshortcuts": "M",
  });
  const panel = tool("panel", t("panel"), () => view.togglePanel(), { class: "tool panel-button" });
  const download = tool("download", t("download"), null, { text: t("download") });
  const save = (kind) => menuItem(t(`download.${kind}`), () => downloadAs(work, kind));
  const draw = () => {
    const { job } = work;
    const focused = document.activeElement;
    const done = job.state === "done" ? work.count("confirmed") : job.translated;
    status.textContent = t(`status.${job.state}`, { done, n: job.sentences });
    progress.value = job.sentences ? done / job.sentences : 0;
    progress.classList.toggle("confirming", job.state === "done");
    progress.hidden = job.state === "failed";
    cancel.hidden = !isBeingTranslated(job);
    resume.hidden = !["cancelled", "failed"].includes(job.state) || job.translated === job.sentences;
    undo.disabled = job.can_undo === false;
    redo.disabled = job.can_redo === false;
    compare.disabled = job.state !== "done";
    compare.setAttribute("aria-pressed", String(work.comparison !== null));
    overview.setAttribute("aria-pressed", String(view.isOverview));
    if ([cancel, resume, undo, redo].includes(focused) && (focused.hidden || focused.disabled)) view.list.focus();
  };
  let timer = null;
  const drawActivity = () => {
    const name = work.activities.at(-1);
    clearTimeout(timer);
    compare.setAttribute("aria-busy", String(work.activities.includes("compare")));
    if (!name) activity.textContent = "";
    else timer = setTimeout(() => (activity.textContent = t(`activity.${name}`)), PATIENCE);
  };
  work.on("job sentences list comparison view", draw);
  work.on("activity", drawActivity);
  draw();
  document.getElementById("header").replaceChildren(
    h("a", { class: "tool home", href: "#", "aria-label": t("documents"), title: t("documents") }, icon("back")),
    h("div", { class: "title" }, name, h("div", { class: "progress" }, status, cancel, resume, activity)),
    h("span", { class: "spacer" }),
    h("div", { class: "tools" }, undo, redo),
    h(
      "div",
      { class: "tools" },
      compare,
      overview,
      menu(download, t("download"), () => KINDS.map(save)),
    ),
    h("div", { class: "tools" }, panel, settings(app), help(app)),
    progress,
  );
  return draw;
}

function brand() {
  return h("span", { class: "brand" }, h("img", { src: "icon.svg", alt: "", width: 24, height: 24 }), "docgraph");
}

function help(app) {
  return tool("help", t("help"), () => app.help(), { "aria-keyshortcuts": "?", class: "tool help-button" });
}

function settings(app) {
  const button = tool("settings", t("settings"));
  return menu(button, t("settings"), () => [
    menuHeading(t("theme")),
    ...["auto", "light", "dark"].map((each) =>
      menuItem(t(`theme.${each}`), () => setTheme(each), each === document.documentElement.dataset.theme),
    ),
    menuHeading(t("language")),
    ...Object.entries(NAMES).map(([code, name]) =>
      menuItem(name, () => app.redraw(() => setLanguage(code)), code === currentLanguage()),
    ),
  ]);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  store("theme", theme);
  window.dispatchEvent(new Event("resize")); // canvases take their colours again
}

async function downloadAs(work, kind) {
  try {
    const { blob, name } = await work.during("download", api.download(work.job.id, kind));
    const address = URL.createObjectURL(blob);
    h("a", { href: address, download: name ?? `${work.job.name}.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    failed(error, () => downloadAs(work, kind));
  }
}
