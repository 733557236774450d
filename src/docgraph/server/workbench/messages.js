// What the page says: spoken messages, errors, and questions in dialogs.

import { h, icon } from "./dom.js";
import { t } from "./i18n.js";

/** Speaks a message through the live region without moving the focus. */
export function announce(message) {
  const live = document.getElementById("live");
  live.textContent = live.textContent === message ? `${message}\u00a0` : message;
}

const SHOWN = 4000; // milliseconds
let fading = null;

/** Speaks a message and shows it for a moment: for what nothing else on the page shows. */
export function tell(message) {
  announce(message);
  const live = document.getElementById("live");
  live.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => live.classList.remove("shown"), SHOWN);
}

const place = document.getElementById("notice");
let before = null; // what had the focus before a button of the notice
place.addEventListener("focusin", (event) => {
  if (!place.contains(event.relatedTarget)) before = event.relatedTarget;
});

/** Shows a message that needs to be seen, with an optional button; an empty message removes it. */
export function notice(message, action = null) {
  if (!message) {
    const isFocused = place.contains(document.activeElement);
    place.replaceChildren();
    if (isFocused) (before?.isConnected ? before : document.getElementById("main")).focus();
    return undefined;
  }
  const close = h(
    "button",
    { class: "quiet", type: "button", "aria-label": t("close"), onclick: () => notice("") },
    icon("close"),
  );
  return place.replaceChildren(h("div", { class: "notice" }, h("span", {}, sentence(message)), action, close));
}

/** Returns a message of the server, which begins like an error of the command line, as a sentence of the page. */
function sentence(message) {
  return /^\p{Ll}+ /u.test(message) ? message[0].toUpperCase() + message.slice(1) : message;
}

/** Shows an error of a call to the server; `again` is offered where the server was not reached. */
export function failed(error, again = null) {
  if (error.name === "AbortError") return;
  if (error.status === undefined) console.error(error);
  const retry = () => {
    notice("");
    again();
  };
  const action = error.status === 0 && again ? h("button", { type: "button", onclick: retry }, t("retry")) : null;
  notice(error.status === 0 ? t("error.offline") : error.message, action);
}

/** Shows a modal dialog and removes it when it closes; returns its return value. */
export function ask(title, build, classes = "") {
  return new Promise((answer) => {
    const close = h("button", { class: "quiet", type: "button", "aria-label": t("close") }, icon("close"));
    const heading = h("h2", { id: "dialog-title" }, title);
    const dialog = h(
      "dialog",
      { class: classes, "aria-labelledby": "dialog-title" },
      h("div", { class: "dialog-head" }, heading, close),
    );
    close.addEventListener("click", () => dialog.close(""));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(""));
    dialog.addEventListener("close", () => {
      dialog.remove();
      answer(dialog.returnValue);
    });
    dialog.append(...build(dialog));
    document.body.append(dialog);
    dialog.showModal();
  });
}
