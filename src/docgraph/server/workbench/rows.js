// The rows of the document: source and translation side by side. All rows are elements of the page, so that the browser
// finds text in them and a screen reader reads them; the list groups them so that 5,000 scroll smoothly.

import { h, update } from "./dom.js";
import { doubt, t } from "./i18n.js";
import { difference } from "./text.js";
import { isBeingTranslated } from "./work.js";

const KINDS = new Set(["heading", "list item", "cell", "quotation", "caption", "cue", "message"]);

/** Returns the row of a sentence. `isFirst` starts a block (a paragraph, a cell, a cue). */
export function buildRow(work, sentence, isFirst) {
  const [source, target] = work.job.languages ?? [];
  const row = h(
    "div",
    { class: "row", role: "row", id: `s${sentence.index}`, "aria-rowindex": sentence.index + 2, tabindex: -1 },
    h("div", { class: "gutter", role: "gridcell" }),
    h("div", { class: "source", role: "gridcell", lang: source, dir: "auto" }),
    h("div", { class: "target", role: "gridcell", lang: target, dir: "auto" }),
    h("div", { class: "actions", role: "gridcell" }),
  );
  row.dataset.index = sentence.index;
  if (isFirst) row.classList.add("first");
  if (isFirst && sentence.block?.label) row.classList.add("labelled");
  row.querySelector(".source").append(...structure(sentence, isFirst), h("span", { class: "text" }, sentence.source));
  fillRow(work, row);
  return row;
}

/** Shows the kind of a block where it starts: a name for cells, times for cues. The direction of the cell is that of
 * its text, whatever theirs. */
function structure(sentence, isFirst) {
  const { kind, label } = sentence.block ?? {};
  if (!isFirst) return [];
  if (label) return [h("span", { class: "label", dir: "auto" }, label.replace("-->", "→"))];
  return KINDS.has(kind) ? [h("span", { class: "visually-hidden", dir: "auto" }, `${t(`kind.${kind}`)}: `)] : [];
}

/** Draws everything of a row that changes. The cell under edit is left alone. */
export function fillRow(work, row) {
  const sentence = work.sentences[row.dataset.index];
  const isDoubtful = sentence.doubtful.length > 0 && sentence.state !== "confirmed";
  row.dataset.kind = sentence.block?.kind ?? "paragraph";
  row.dataset.state = sentence.state;
  row.classList.toggle("doubtful", isDoubtful);
  row.classList.toggle("proposed", sentence.proposal !== null);
  fillGutter(work, row, sentence, isDoubtful);
  fillActions(work, row, sentence);
  if (!row.classList.contains("editing")) fillTarget(work, row, sentence);
  fillFoot(work, row, sentence, isDoubtful);
  fillComparison(work, row, sentence);
}

function fillGutter(work, row, sentence, isDoubtful) {
  const states = [
    sentence.state === "waiting" && t("row.waiting"),
    sentence.state === "confirmed" && t("row.confirmed"),
    sentence.proposal !== null && t("row.proposal"),
    work.unsaved.has(sentence.index) && t("row.unsaved"),
    isDoubtful && t("row.doubtful"),
  ].filter(Boolean);
  update(
    row.querySelector(".gutter"),
    h("span", { class: "number" }, String(sentence.index + 1)),
    h("span", { class: "visually-hidden" }, states.length ? `, ${states.join(", ")}` : ""),
  );
}

function fillActions(work, row, sentence) {
  const isConfirmed = sentence.state === "confirmed";
  const name = t(isConfirmed ? "row.unconfirm" : "row.confirm", { n: sentence.index + 1 });
  const tabindex = sentence.index === work.current ? 0 : -1;
  const hasText = sentence.state !== "waiting" || row.classList.contains("editing");
  const cell = row.querySelector(".actions");
  if (!hasText) {
    cell.replaceChildren();
    return;
  }
  const button = cell.firstElementChild ?? cell.appendChild(h("button", { class: "confirm", type: "button" }));
  button.tabIndex = tabindex;
  button.title = name;
  button.setAttribute("aria-label", name);
}

function fillTarget(work, row, sentence) {
  const cell = row.querySelector(".target");
  let text = cell.firstElementChild;
  if (!text?.matches(".text:not(.mirror)")) {
    text = h("span", { class: "text" });
    cell.replaceChildren(text);
  }
  const isUnsaved = work.unsaved.has(sentence.index);
  const isPending = !isUnsaved && sentence.state === "waiting" && isBeingTranslated(work.job);
  const isMissing = !isUnsaved && sentence.state === "waiting" && !isPending;
  text.classList.toggle("missing", isMissing);
  text.classList.toggle("pending", isPending);
  if (isPending) text.style.setProperty("--length", Math.min(1, 0.25 + sentence.source.length / 120));
  else text.removeAttribute("style");
  if (isUnsaved) update(text, work.unsaved.get(sentence.index));
  else if (isMissing) update(text, t("row.missing"));
  else if (isPending) update(text);
  else if (sentence.proposal !== null) update(text, ...marked(sentence.translation ?? "", sentence.proposal));
  else update(text, sentence.translation ?? "");
}

/** Returns the words of a change: removed ones struck out, added ones highlighted, and both named for screen readers. */
export function marked(before, after) {
  const tags = { removed: "del", added: "ins" };
  const mark = (kind, text) => h(tags[kind], { "data-said": ` ${t(`change.${kind}`)} ` }, text);
  return difference(before, after).map(([kind, text]) => (kind === "same" ? text : mark(kind, text)));
}

/** Draws what belongs below a translation: that it is not saved, reasons for doubt, and the decision on a proposal. */
function fillFoot(work, row, sentence, isDoubtful) {
  const cell = row.querySelector(".target");
  const parts = [];
  if (row.classList.contains("editing") && sentence.proposal !== null) {
    parts.push(h("div", { class: "text under" }, ...marked(sentence.translation ?? "", sentence.proposal)));
  }
  const isKept = work.unsaved.has(sentence.index) && !row.classList.contains("editing");
  if (isKept) parts.push(h("span", { class: "reasons" }, t("row.unsaved")));
  if (isDoubtful) parts.push(h("span", { class: "reasons" }, sentence.doubtful.map(doubt).join(" · ")));
  const tabindex = sentence.index === work.current ? 0 : -1;
  if (sentence.proposal !== null) parts.push(decision("accept", "A", tabindex), decision("refuse", "R", tabindex));
  const foot = cell.querySelector(".foot");
  if (!parts.length) foot?.remove();
  else update(foot ?? cell.appendChild(h("div", { class: "foot" })), ...parts);
}

function decision(verb, key, tabindex) {
  const attributes = {
    class: `decide ${verb}`,
    type: "button",
    tabindex,
    "data-verb": verb,
    "aria-keyshortcuts": key,
  };
  return h("button", attributes, t(`proposal.${verb}`), h("kbd", { "aria-hidden": "true" }, key));
}

function fillComparison(work, row, sentence) {
  row.querySelector(".plain")?.remove();
  if (!work.comparison) return;
  const plain = work.comparison.get(sentence.index);
  const isSame = plain === undefined || plain === null || plain === sentence.translation;
  const shown = isSame
    ? [h("span", { class: "same" }, t("row.same"))]
    : withoutRemoved(sentence.translation ?? "", plain);
  const label = h("span", { class: "plain-label", dir: "auto" }, t("row.plain"));
  const text = h("span", { class: "plain-text" }, ...shown);
  const lang = work.job.languages?.[1];
  const cell = h("div", { class: "plain", role: "gridcell", lang, dir: "auto" }, label, text);
  row.querySelector(".actions").before(cell);
}

/** Returns a text whose words that differ from another text are marked. */
function withoutRemoved(other, text) {
  return difference(other, text)
    .filter(([kind]) => kind !== "removed")
    .map(([kind, part]) => (kind === "same" ? part : h("mark", {}, part)));
}

/** Returns the height of a row in pixels, estimated from the length of its text before it is ever drawn. */
export function estimatedHeight(sentence, charactersPerLine) {
  const length = Math.max(sentence.source.length, (sentence.translation ?? sentence.source).length * 1.05);
  return Math.max(1, Math.ceil(length / charactersPerLine)) * 25 + 12 + (sentence.block?.label ? 20 : 0);
}

/** Yields the text nodes of a cell, without words that a proposal adds. */
function* textNodes(cell) {
  const text = cell.querySelector(".text");
  const walker = text && document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walker?.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest("ins")) yield node;
  }
}

/** Returns a Range over [start, end) (UTF-16) of the text of a cell; null if it is not drawn. */
export function textRange(cell, start, end) {
  const range = new Range();
  let [position, begun] = [0, false];
  for (const node of textNodes(cell)) {
    const next = position + node.length;
    if (!begun && start < next) {
      range.setStart(node, start - position);
      begun = true;
    }
    if (begun && end <= next) {
      range.setEnd(node, end - position);
      return range;
    }
    position = next;
  }
  return null;
}

/** Returns the place in the text of a cell that a point of the screen is at; null if it is beside the text. */
export function textOffset(cell, x, y) {
  const caret = document.caretPositionFromPoint?.(x, y);
  let position = 0;
  for (const node of textNodes(cell)) {
    if (node === caret?.offsetNode) return position + caret.offset;
    position += node.length;
  }
  return null;
}
