// Keys. On a sentence, single letters act; while a translation is edited, only keys that type nothing do.

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { ask } from "./messages.js";

const HELP = {
  list: [
    ["help.move", "↓ ↑", "J K"],
    ["help.first", "Home", "End"],
    ["help.confirm", "Enter"],
    ["help.editKey", "E", "F2"],
    ["help.reopen", "O"],
    ["help.doubtful", "D", "⇧ D"],
    ["help.proposal", "P", "⇧ P"],
    ["help.accept", "A", "R"],
    ["help.acceptAll", "⇧ A", "⇧ R"],
    ["help.undo", "U", "⇧ U"],
    ["help.term", "T"],
    ["help.chain", "L"],
  ],
  edit: [
    ["help.confirmEdit", "Enter"],
    ["help.leave", "Alt ↓", "Alt ↑"],
    ["help.discard", "Esc"],
    ["help.doubtful", "F8", "⇧ F8"],
    ["help.undo", "Ctrl Z", "Ctrl ⇧ Z"],
  ],
  anywhere: [
    ["help.compare", "C"],
    ["help.overview", "M"],
    ["help.search", "/"],
    ["help.help", "?"],
  ],
};

const NAMED = ["Enter", "Esc", "Home", "End"]; // keys whose names depend on the language

function keyName(key) {
  return NAMED.includes(key) ? t(`kbd.${key}`) : key;
}

/** Shows the keys. */
export function showHelp() {
  const rows = ([name, ...keys]) =>
    h(
      "div",
      { class: "key" },
      h(
        "dt",
        {},
        keys.map((key) => h("kbd", {}, keyName(key))),
      ),
      h("dd", {}, t(name)),
    );
  const group = (name) => h("section", {}, h("h3", {}, t(`help.${name}`)), h("dl", {}, HELP[name].map(rows)));
  const column = (...names) => h("div", {}, names.map(group));
  return ask(t("help.title"), () => [h("div", { class: "keys" }, column("list"), column("edit", "anywhere"))], "help");
}

/** Handles a key of the document view; returns whether it did something. */
export function handleKey(event, view) {
  const { target } = event;
  const isTyping = target.matches("input:not([type=checkbox]), textarea, select");
  const isEditor = target === view.list.editor?.textarea;
  if (event.isComposing) return false; // an input method is choosing characters
  const command = isEditor
    ? editorKey(event, view)
    : !isTyping
      ? (commonKey(event, view) ?? (view.isOverview ? null : listKey(event, view)))
      : event.key === "Escape" && !(target.type === "search" && target.value) // the browser empties it first
        ? () => view.escape()
        : null;
  if (!command) return false;
  event.preventDefault();
  command();
  return true;
}

const withControl = (event) => event.ctrlKey || event.metaKey;

function undoKey(event, view) {
  if (!withControl(event)) return null;
  const key = event.key.toLowerCase();
  if (key === "z") return () => view.step(event.shiftKey ? "redo" : "undo");
  return key === "y" ? () => view.step("redo") : null;
}

function editorKey(event, view) {
  const { list } = view;
  const { textarea } = list.editor;
  const isPlain = !event.shiftKey && !event.altKey && !withControl(event);
  switch (event.key) {
    case "Enter":
      return event.shiftKey || event.altKey ? null : () => list.confirm();
    case "Escape":
      return () => list.discard();
    case "F8":
      return () => view.walk("doubtful", event.shiftKey ? -1 : 1);
    case "ArrowDown":
      if (event.altKey || (isPlain && isAtEnd(textarea))) return () => list.move(1);
      return null;
    case "ArrowUp":
      if (event.altKey || (isPlain && textarea.selectionEnd === 0)) return () => list.move(-1);
      return null;
    default:
      return list.isDirty ? null : undoKey(event, view); // the browser undoes typing
  }
}

function isAtEnd(textarea) {
  return textarea.selectionStart === textarea.value.length;
}

function commonKey(event, view) {
  const undo = undoKey(event, view);
  if (undo) return undo;
  if (withControl(event) || event.altKey) return null;
  switch (event.key) {
    case "?":
      return showHelp;
    case "/":
      return () => view.search();
    case "m":
    case "M":
      return () => view.toggleOverview();
    case "c":
    case "C":
      return () => view.compare();
    case "Escape":
      return () => view.escape();
    case "F8":
      return () => view.walk("doubtful", event.shiftKey ? -1 : 1);
    default:
      return null;
  }
}

const ON_A_SENTENCE = {
  ArrowDown: (view) => view.list.move(1),
  j: (view) => view.list.move(1),
  ArrowUp: (view) => view.list.move(-1),
  k: (view) => view.list.move(-1),
  Home: (view) => view.list.goToEnd(-1),
  End: (view) => view.list.goToEnd(1),
  Enter: (view) => view.list.confirm(),
  e: (view) => view.list.edit(),
  F2: (view) => view.list.edit(),
  o: (view) => view.reopen(),
  d: (view) => view.walk("doubtful", 1),
  D: (view) => view.walk("doubtful", -1),
  p: (view) => view.walk("proposals", 1),
  P: (view) => view.walk("proposals", -1),
  a: (view) => view.decide("accept"),
  r: (view) => view.decide("refuse"),
  A: (view) => view.decideAll("accept"),
  R: (view) => view.decideAll("refuse"),
  u: (view) => view.step("undo"),
  U: (view) => view.step("redo"),
  t: (view) => view.term(),
  l: (view) => view.nextChain(),
};

function listKey(event, view) {
  if (withControl(event) || event.altKey) return null;
  // Letters act only while a sentence (or nothing) has the focus; buttons keep Enter and Space for themselves.
  const isOnList = event.target.matches(".row, body, main, .list");
  const command = isOnList ? ON_A_SENTENCE[event.key] : null;
  return command ? () => command(view) : null;
}
