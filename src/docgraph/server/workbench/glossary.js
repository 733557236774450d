// The glossary: its tab, and the bar that joins a term selected in the source with its selected translation.

import { h, icon, redraw } from "./dom.js";
import { t } from "./i18n.js";

const MOST_WORDS = 8; // more words are a sentence, not a term
const MOST_CHARACTERS = 200;

export class GlossaryTab {
  constructor(work, actions) {
    this.work = work;
    this.actions = actions;
    const field = (name, lang) => {
      const common = { required: true, maxlength: MOST_CHARACTERS, autocomplete: "off", dir: "auto" };
      return h("input", { ...common, name, lang, id: `term-${name}` });
    };
    this.source = field("source", work.job.languages?.[0]);
    this.target = field("target", work.job.languages?.[1]);
    this.form = h(
      "form",
      { class: "term-form", onsubmit: (event) => this.submit(event) },
      h("label", { for: "term-source" }, t("glossary.source")),
      this.source,
      h("label", { for: "term-target" }, t("glossary.target")),
      this.target,
      h("button", { class: "primary" }, t("glossary.add")),
    );
    this.body = h("div");
    this.element = h("div", {}, h("p", { class: "hint" }, t("glossary.hint")), this.form, this.body);
    work.on("glossary", () => this.draw());
  }

  draw() {
    const entries = this.work.glossary;
    const item = (entry) =>
      h(
        "li",
        {},
        h("span", {}, entry.source),
        h("span", { "aria-hidden": "true", class: "arrow" }, "→"),
        h("span", {}, entry.target),
        h(
          "button",
          {
            class: "quiet",
            type: "button",
            "aria-label": t("glossary.remove", entry),
            onclick: () => this.actions.removeTerm(entry),
          },
          icon("close"),
        ),
      );
    const list = () =>
      entries.length ? h("ul", { class: "terms" }, entries.map(item)) : h("p", { class: "hint" }, t("glossary.none"));
    redraw(this.body, () => this.body.replaceChildren(list()));
  }

  /** Fills the form, and moves the focus to the first field that is empty. */
  begin({ source = "", target = "" }) {
    this.source.value = source;
    this.target.value = target;
    (source ? this.target : this.source).focus();
  }

  async submit(event) {
    event.preventDefault();
    const [source, target] = [this.source.value.trim(), this.target.value.trim()];
    if (!source || !target) return;
    if (await this.actions.addTerm(source, target)) {
      this.form.reset();
      this.source.focus();
    }
  }
}

/** The bar that appears while a term pair is being selected. */
export class TermBar {
  constructor(work, actions) {
    this.work = work;
    this.actions = actions;
    this.pair = { source: "", target: "" };
    this.element = h("div", {
      class: "term-bar floating",
      hidden: true,
      role: "region",
      "aria-label": t("panel.glossary"),
    });
  }

  /** Takes a selection. A term in the source opens the bar, with the translation of a linked word as a suggestion. */
  take({ side, text, index }) {
    if (text.split(/\s+/).length > MOST_WORDS || text.length > MOST_CHARACTERS) return;
    if (this.index !== index) this.clear();
    this.index = index;
    this.pair[side] = text;
    if (side === "source" && !this.pair.target) this.pair.target = this.suggestion(text, index);
    if (this.pair.source) this.draw();
  }

  suggestion(text, index) {
    const places = this.work.chainsAt.get(index) ?? [];
    return places.find(({ word }) => word.text === text)?.word.translation?.text ?? "";
  }

  get isComplete() {
    return !this.element.hidden && this.pair.source !== "" && this.pair.target !== "";
  }

  draw() {
    const { source, target } = this.pair;
    const add = h(
      "button",
      { class: "primary", type: "button", onclick: () => this.add() },
      t("glossary.choose"),
      h("kbd", { "aria-hidden": "true" }, "T"),
    );
    const close = h(
      "button",
      { class: "quiet", type: "button", "aria-label": t("close"), onclick: () => this.clear() },
      icon("close"),
    );
    const part = (text, hint) => (text ? h("b", {}, text) : h("span", { class: "soft" }, t(hint)));
    this.element.replaceChildren(
      h(
        "span",
        { class: "pair" },
        part(source, "glossary.pickSource"),
        h("span", { class: "arrow", "aria-hidden": "true" }, "→"),
        part(target, "glossary.pick"),
      ),
      ...(source && target ? [add] : []),
      close,
    );
    this.element.hidden = false;
  }

  async add() {
    if (!this.isComplete) return;
    const { source, target } = this.pair;
    this.clear();
    await this.actions.addTerm(source, target);
  }

  clear() {
    this.pair = { source: "", target: "" };
    this.element.hidden = true;
  }
}

/** Returns {side, text, index} of the words that are selected in the list; null if there are none. */
export function selectedWords(list) {
  const active = document.activeElement;
  if (list.editor && active === list.editor.textarea) {
    const text = active.value.slice(active.selectionStart, active.selectionEnd).trim();
    return text ? { side: "target", text, index: list.editor.index } : null;
  }
  const selection = document.getSelection();
  const cell = selection.anchorNode?.parentElement?.closest(".source, .target");
  const row = cell?.closest(".row");
  const text = selection.toString().trim();
  if (!row || !list.body.contains(row) || !text || text.includes("\n")) return null;
  return { side: cell.classList.contains("source") ? "source" : "target", text, index: Number(row.dataset.index) };
}
