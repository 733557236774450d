// The list of sentences: selecting, editing, confirming, and lighting the chain of the word under the pointer.

import { h, store } from "./dom.js";
import { draftKey, Editor } from "./editor.js";
import { Highlighter } from "./highlights.js";
import { languageName, t } from "./i18n.js";
import { announce, failed, notice, tell } from "./messages.js";
import { buildRow, estimatedHeight, fillRow, textOffset } from "./rows.js";

const CHUNK = 25; // rows in a chunk
const REST = 350; // milliseconds after which a pointer rests on a sentence

export class List {
  constructor(work) {
    this.work = work;
    this.rows = [];
    this.chunks = [];
    this.near = new Set(); // chunks on the screen or near it
    this.editor = null; // of the translation under edit
    this.failed = new Map(); // sentence that could not be saved -> {confirm, translation: the one that it replaces}
    this.body = h("div", { role: "presentation", class: "rows" });
    this.head = h("div", { role: "row", class: "columns", "aria-rowindex": 1 });
    this.grid = h(
      "div",
      { role: "grid", class: "grid", "aria-label": t("grid") },
      h("div", { role: "rowgroup", class: "head" }, this.head),
      this.body,
    );
    this.empty = h("p", { class: "nothing", hidden: true }, t("search.none"));
    this.element = h("section", { class: "list", "aria-label": t("grid") }, this.grid, this.empty);
    this.highlights = new Highlighter(work, this);
    this.listen();
    this.rebuild();
  }

  listen() {
    const { work, body } = this;
    work.on("list", () => this.rebuild());
    work.on("sentences", (indices) => this.refresh(indices));
    work.on("view", () => this.filterRows());
    work.on("comparison", () => this.rebuildColumns());
    work.on("current", () => this.showCurrent());
    work.on("graph chain", () => this.highlights.paint());
    work.on("reads inspected", () => this.showReads());
    body.addEventListener("click", (event) => this.click(event));
    body.addEventListener("focusin", (event) => this.focused(event));
    body.addEventListener("pointermove", (event) => this.hover(event));
    body.addEventListener("pointerleave", () => this.hovered && this.leave());
  }

  close() {
    clearTimeout(this.inspecting);
    this.observer.disconnect();
    this.highlights.clear();
  }

  // Drawing --------------------------------------------------------------------------------------------------------

  rebuild() {
    const { work } = this;
    this.editor = null;
    let block = null;
    this.rows = work.sentences.map((sentence) => {
      const isFirst = sentence.block?.index !== block;
      block = sentence.block?.index;
      return buildRow(work, sentence, isFirst);
    });
    this.buildChunks();
    this.grid.setAttribute("aria-rowcount", work.sentences.length + 1);
    this.rebuildColumns(false);
    this.filterRows();
    this.mark();
  }

  rebuildColumns(refill = true) {
    const { comparison, job } = this.work;
    const header = (name, ...more) => h("div", { role: name ? "columnheader" : "gridcell" }, name && t(name), ...more);
    const language = (code) => (code ? [h("span", { class: "language" }, languageName(code))] : []);
    const [source, target] = job.languages ?? [];
    this.head.replaceChildren(
      header(""),
      header("source", ...language(source)),
      header("translation", ...language(target)),
      ...(comparison ? [header("row.plain")] : []),
      header(""),
    );
    this.grid.classList.toggle("comparing", this.work.comparison !== null);
    if (refill) this.refresh(this.rows.keys());
  }

  /** Groups rows into chunks, which the browser lays out and paints only near the screen. */
  buildChunks() {
    this.chunks = [];
    for (let start = 0; start < this.rows.length; start += CHUNK) {
      this.chunks.push(h("div", { role: "rowgroup", class: "chunk" }, ...this.rows.slice(start, start + CHUNK)));
    }
    this.body.replaceChildren(...this.chunks);
    this.near.clear();
    this.observer?.disconnect();
    this.observer = new IntersectionObserver((entries) => this.seen(entries), {
      root: this.element,
      rootMargin: "500px",
    });
    for (const chunk of this.chunks) this.observer.observe(chunk);
  }

  seen(entries) {
    for (const { target, isIntersecting } of entries) this.near[isIntersecting ? "add" : "delete"](target);
    this.highlights.paint();
    this.highlights.paintSearch();
  }

  /** Whether a row is on the screen or near it. */
  isNear(index) {
    return this.near.has(this.chunks[Math.floor(index / CHUNK)]);
  }

  /** Gives chunks that were never drawn a height near their own, so that the scroll bar does not jump. */
  estimate() {
    const width = this.body.clientWidth || 900;
    const perLine = Math.max(18, (width < 640 ? width - 60 : (width - 110) / 2) / 7.6);
    const isFiltered = this.work.filter !== "all" || this.work.query !== "";
    for (const chunk of this.chunks) {
      const shown = [...chunk.children].filter((row) => !row.hidden);
      const height = (row) => estimatedHeight(this.work.sentences[row.dataset.index], perLine);
      const total = shown.reduce((sum, row) => sum + height(row), 0);
      chunk.hidden = shown.length === 0;
      // "auto" is the height that the chunk had when it was last drawn, which a filter makes wrong.
      chunk.style.containIntrinsicBlockSize = `${isFiltered ? "" : "auto "}${total}px`;
    }
  }

  refresh(indices) {
    for (const index of indices) {
      fillRow(this.work, this.rows[index]);
      const { editor } = this;
      if (editor?.index !== index) continue;
      if (!editor.isDirty) editor.reset(this.work.sentences[index].translation);
      else if (editor.isOutdated && !this.rows[index].classList.contains("saving")) this.warnOfConflict(index);
    }
    if (this.work.filter !== "all" || this.work.query) this.filterRows();
    this.mark();
    this.highlights.paint();
  }

  filterRows() {
    const { work } = this;
    let shown = 0;
    for (const [index, row] of this.rows.entries()) {
      // The current row stays until the user moves on: confirming a doubtful sentence must not make it vanish.
      const isShown = work.shows(work.sentences[index]) || index === this.editor?.index;
      row.hidden = !isShown;
      shown += isShown;
    }
    this.estimate();
    this.empty.hidden = shown > 0 || !work.isRead;
    const reason = work.query || work.filter === "all" ? "search.none" : `none.${work.filter}`;
    this.empty.textContent = t(work.sentences.length ? reason : "none.document");
    this.highlights.paintSearch();
    return shown;
  }

  /** Marks the current row; only it is reached by Tab. */
  mark() {
    for (const row of this.body.querySelectorAll('[aria-selected="true"]')) {
      row.setAttribute("aria-selected", "false");
      row.tabIndex = -1;
      for (const button of row.querySelectorAll("button")) button.tabIndex = -1;
    }
    const row = this.rows[this.work.current];
    if (!row) return;
    row.setAttribute("aria-selected", "true");
    row.tabIndex = 0;
    for (const button of row.querySelectorAll("button")) button.tabIndex = 0;
  }

  showCurrent() {
    this.mark();
    this.highlights.paint();
    this.reveal(this.work.current);
  }

  reveal(index) {
    const row = this.rows[index];
    if (!row) return;
    row.hidden = false;
    row.parentElement.hidden = false;
    row.scrollIntoView({ block: "nearest" });
    // Chunks drawn for the first time may be higher than estimated.
    requestAnimationFrame(() => row.scrollIntoView({ block: "nearest" }));
  }

  focus() {
    const row = this.rows[this.work.current];
    if (this.editor) this.editor.focus();
    else row?.focus({ preventScroll: true });
  }

  // Moving ---------------------------------------------------------------------------------------------------------

  /** Goes to a sentence, keeping the mode: an open editor opens there. */
  go(index, { edit = this.editor !== null, caret = null } = {}) {
    if (index === null || !this.rows[index]) return;
    const isFirstTime = index !== this.work.current;
    this.leaveEditor();
    this.work.select(index);
    if (!isFirstTime) this.reveal(index);
    if (edit) this.edit(caret);
    else this.focus();
  }

  /** Goes to the first or the last visible row. */
  goToEnd(direction) {
    const visible = this.rows.filter((row) => !row.hidden);
    const row = visible.at(direction < 0 ? 0 : -1);
    if (row) this.go(Number(row.dataset.index));
  }

  /** Goes to the next visible row in a direction. */
  move(direction, options) {
    for (let index = this.work.current + direction; this.rows[index]; index += direction) {
      if (!this.rows[index].hidden) return this.go(index, options);
    }
    return undefined;
  }

  // Editing --------------------------------------------------------------------------------------------------------

  /** Opens the editor of the current sentence, with the caret at a place of its text; null is the end. */
  edit(caret = null) {
    const { work } = this;
    const { sentence } = work;
    if (!sentence || this.editor?.index === sentence.index) return this.focus();
    this.leaveEditor();
    const row = this.rows[sentence.index];
    this.editor = new Editor(work, row, sentence);
    if (this.editor.isRestored) tell(t("said.draft"));
    fillRow(work, row);
    this.mark();
    this.editor.focusAt(this.editor.isRestored ? null : caret);
    return this.reveal(sentence.index);
  }

  get isDirty() {
    return this.editor !== null && this.editor.isDirty;
  }

  /** Closes the editor; a changed text is stored without being confirmed. */
  leaveEditor() {
    if (!this.editor) return;
    const { index, text, isOutdated } = this.editor;
    const mustSave = this.isDirty && text !== "" && !isOutdated;
    if (isOutdated) {
      this.work.unsaved.set(index, text);
      this.warnOfConflict(index);
    } else this.work.unsaved.delete(index);
    if (text === "") this.editor.forget();
    this.closeEditor(mustSave ? text : null);
    if (mustSave) this.save(index, text, false);
  }

  /** Tells that somebody else has changed the sentence under edit. */
  warnOfConflict(index) {
    const { translation } = this.work.sentences[index];
    if (this.editor?.index === index) this.editor.known = translation;
    notice(t("error.conflict", { n: index + 1, text: translation }));
  }

  /** Closes the editor and drops its text. */
  discard() {
    if (!this.editor) return;
    const wasDirty = this.isDirty;
    this.editor.forget();
    this.closeEditor();
    this.focus();
    if (wasDirty) tell(t("said.discarded"));
  }

  closeEditor(shown = null) {
    const { index, row } = this.editor;
    this.failed.delete(index); // the text that the editor had replaces the one that was not saved
    this.editor.close();
    this.editor = null;
    fillRow(this.work, row);
    // Until the server answers, the row shows the text that was sent to it.
    if (shown !== null) {
      const text = row.querySelector(".target .text");
      text.classList.remove("pending");
      text.textContent = shown;
    }
    this.mark();
  }

  /** Confirms the current sentence (as edited, or with its proposal) and goes to the next one to be confirmed. */
  confirm() {
    const { sentence } = this.work;
    if (!sentence) return;
    const isEditing = this.editor !== null;
    if (isEditing && this.editor.isOutdated && this.editor.known !== sentence.translation) {
      this.warnOfConflict(sentence.index);
      return;
    }
    if (isEditing && !this.editor.text) {
      tell(t("said.empty"));
      return;
    }
    const typed = isEditing ? this.editor.text : this.work.unsaved.get(sentence.index);
    const text = typed || sentence.proposal || sentence.translation;
    if (!text) return; // not translated yet
    this.work.unsaved.delete(sentence.index);
    if (isEditing) this.closeEditor(text);
    const next = this.nextToConfirm();
    this.save(sentence.index, text, true);
    if (next === null) this.focus();
    else this.go(next, { edit: isEditing });
  }

  nextToConfirm() {
    const { work } = this;
    for (let index = work.current + 1; index < this.rows.length; index++) {
      if (!this.rows[index].hidden && work.sentences[index].state !== "confirmed") return index;
    }
    return null;
  }

  async save(index, text, confirm) {
    const n = index + 1;
    const wasConfirmed = this.work.sentences[index].state === "confirmed";
    this.failed.delete(index); // this text replaces the one that was not saved
    this.rows[index].classList.add("saving");
    try {
      const changes = await this.work.correct(index, text, confirm);
      if (this.editor?.index === index) this.editor.rebase(); // what is typed meanwhile replaces this text
      const isLast = confirm && this.work.count("confirmed") === this.rows.length;
      const said = [t(confirm ? "said.confirmed" : wasConfirmed ? "said.reopened" : "said.saved", { n })];
      if (changes.length) said.push(t("said.follow", { n: changes.length }));
      if (isLast) said.push(t("said.allConfirmed"));
      (isLast ? tell : announce)(said.join(" "));
    } catch (error) {
      if (this.editor?.index !== index) this.keep(index, text, error.status === 0 ? confirm : null);
      if (error.status === 409) {
        this.warnOfConflict(index);
        this.go(index, { edit: true });
      } else if (this.failed.has(index)) this.tellUnsaved();
      else failed(error);
    } finally {
      this.rows[index].classList.remove("saving");
    }
  }

  /** Keeps and shows a text that the server does not have; `confirm` is null for one that is not sent again. */
  keep(index, text, confirm) {
    store(draftKey(this.work, index), text);
    this.work.unsaved.set(index, text);
    if (confirm !== null) this.failed.set(index, { confirm, translation: this.work.sentences[index].translation });
    this.refresh([index]);
  }

  /** Tells how many sentences the server could not be sent. */
  tellUnsaved() {
    const again = h("button", { type: "button", onclick: () => this.saveAgain() }, t("retry"));
    notice(t("error.unsaved", { n: this.failed.size }), again);
  }

  /** Sends the sentences again that could not be saved. */
  saveAgain() {
    notice("");
    const waiting = [...this.failed];
    this.failed.clear();
    for (const [index, { confirm, translation }] of waiting) {
      const now = this.work.sentences[index];
      const isFirst = translation === null && now.state !== "confirmed"; // the model's is no conflict
      if (isFirst || now.translation === translation) this.save(index, this.work.unsaved.get(index), confirm);
      else this.warnOfConflict(index); // the text is kept, and is there when the editor opens
    }
  }

  /** Confirms a sentence, or reopens it if it is confirmed. */
  toggle(index) {
    const sentence = this.work.sentences[index];
    if (this.editor?.index === index) this.confirm();
    else if (this.work.unsaved.has(index)) this.save(index, this.work.unsaved.get(index), true);
    else if (sentence.state !== "waiting")
      this.save(index, sentence.proposal ?? sentence.translation, sentence.state !== "confirmed");
  }

  async decide(verb, indices) {
    if (!indices.length) return;
    try {
      await this.work.decide(verb, indices);
      announce(t(verb === "accept" ? "said.accepted" : "said.refused", { n: indices.length }));
    } catch (error) {
      failed(error, () => this.decide(verb, indices));
    }
  }

  // Pointer --------------------------------------------------------------------------------------------------------

  click(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    const index = Number(row.dataset.index);
    const verb = event.target.closest("button")?.dataset.verb;
    if (verb) {
      this.decide(verb, [index]);
      this.go(index, { edit: false });
    } else if (event.target.closest(".confirm")) {
      this.toggle(index);
      if (!this.editor) this.go(index, { edit: false });
    } else if (!event.target.closest("textarea")) {
      const isSelecting = !document.getSelection().isCollapsed;
      const target = event.target.closest(".target");
      const caret = target && textOffset(target, event.clientX, event.clientY);
      if (isSelecting) this.work.select(index);
      else this.go(index, { edit: target !== null, caret });
      const found = this.highlights.wordAt(event);
      if (found) this.work.light(found.chain);
    }
  }

  focused(event) {
    const row = event.target.closest(".row");
    const index = Number(row?.dataset.index);
    if (!row || index === this.work.current) return;
    this.leaveEditor();
    this.work.select(index);
  }

  hover(event) {
    if (event.pointerType === "touch" || this.work.graphState !== "read") return;
    const row = event.target.closest(".row");
    if (row && row !== this.hovered) {
      this.hovered = row;
      this.highlights.paint();
      this.inspectSoon(Number(row.dataset.index));
    }
    const found = this.highlights.wordAt(event);
    this.body.classList.toggle("on-word", found !== null);
    if (found) this.work.light(found.chain);
  }

  leave() {
    this.hovered = null;
    this.highlights.paint();
    this.inspectSoon(null);
  }

  /** Explains the sentence under a resting pointer; a translation under edit is not disturbed. */
  inspectSoon(index) {
    clearTimeout(this.inspecting);
    this.inspecting = setTimeout(() => this.editor || this.work.hover(index), REST);
  }

  /** Tints the sentences that the one under the pointer read, by how much it read of them. */
  showReads() {
    for (const row of this.body.querySelectorAll(".read-source, .read-target")) {
      row.classList.remove("read-source", "read-target");
    }
    const { hovered, reads: found } = this.work;
    if (hovered === null || found.index !== hovered) return;
    for (const side of ["source", "target"]) {
      const reads = found[side];
      const largest = Math.max(...reads.map((each) => each.weight));
      for (const { sentence, weight } of reads) {
        this.rows[sentence]?.classList.add(`read-${side}`);
        this.rows[sentence]?.style.setProperty(`--read-${side}`, weight / largest);
      }
    }
  }
}
