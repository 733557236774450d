// The editor of one translation. What is typed is kept in the browser until the server has it, so that it survives a
// crash or a reload.

import { h, store, stored } from "./dom.js";
import { t } from "./i18n.js";

/** The key of the text that was typed for a sentence and is not stored yet. */
export function draftKey(work, index) {
  return `draft.${work.job.id}.${index}`;
}

export class Editor {
  /** Opens an editor in the row of a sentence. */
  constructor(work, row, sentence) {
    this.work = work;
    this.row = row;
    this.index = sentence.index;
    this.mirror = h("span", { class: "text mirror", "aria-hidden": "true" });
    this.textarea = h("textarea", {
      "aria-label": t("row.edit", { n: sentence.index + 1 }),
      lang: work.job.languages?.[1],
      dir: "auto",
      rows: 1,
      placeholder: sentence.state === "waiting" ? t("row.waiting") : undefined,
      spellcheck: true,
      enterkeyhint: "done",
    });
    this.known = sentence.translation; // the newest translation that the user was told of
    row.classList.add("editing");
    row.querySelector(".target").replaceChildren(this.mirror, this.textarea);
    const draft = work.unsaved.get(this.index) ?? stored(draftKey(work, this.index));
    this.reset(sentence.translation);
    this.isRestored = draft !== null && draft !== this.stored;
    if (this.isRestored) this.type(draft);
    this.textarea.addEventListener("input", () => this.changed());
  }

  /** Shows a translation that the server has stored. */
  reset(translation) {
    this.stored = translation ?? "";
    this.type(this.stored);
  }

  /** Replaces the text as if the user had typed it. */
  type(text) {
    this.textarea.value = text;
    this.changed();
  }

  changed() {
    // The space gives the mirror a last line even if the text ends in a line break.
    this.mirror.textContent = `${this.textarea.value} `;
    store(draftKey(this.work, this.index), this.isDirty ? this.textarea.value : null);
  }

  get text() {
    return this.textarea.value.trim();
  }

  get isDirty() {
    return this.textarea.value !== this.stored;
  }

  /** Whether somebody else has changed the translation that this text began with; the first one is no change. */
  get isOutdated() {
    const { translation, state } = this.work.sentences[this.index];
    const isFirst = this.stored === "" && state !== "confirmed";
    return this.isDirty && !isFirst && (translation ?? "") !== this.stored;
  }

  /** Takes the newest translation as the one that this text replaces. */
  rebase() {
    this.stored = this.work.sentences[this.index].translation ?? "";
    this.changed();
  }

  focus() {
    this.textarea.focus({ preventScroll: true });
  }

  /** Moves the focus to a place in the text; null is its end. */
  focusAt(place) {
    this.focus();
    const caret = place ?? this.textarea.value.length;
    this.textarea.setSelectionRange(caret, caret);
  }

  /** Forgets what was typed. */
  forget() {
    store(draftKey(this.work, this.index), null);
    this.work.unsaved.delete(this.index);
  }

  close() {
    this.row.classList.remove("editing");
  }
}
