// Highlights: the lit chain, the linked words of a row, and the words that a search found. They are painted by the
// browser over the text (CSS.highlights), so that nothing in the document is rebuilt and nothing moves.

import { textRange } from "./rows.js";
import { codeUnits, occurrences } from "./text.js";

export class Highlighter {
  constructor(work, list) {
    this.work = work;
    this.list = list;
  }

  clear() {
    CSS.highlights?.clear();
  }

  /** Returns {chain, word} under the pointer; the shortest word if several are there; null if there is none. */
  wordAt(event) {
    const cell = event.target.closest(".source, .target");
    const row = event.target.closest(".row");
    if (!cell || !row || event.target.closest("textarea")) return null;
    const places = this.work.chainsAt.get(Number(row.dataset.index)) ?? [];
    const side = cell.classList.contains("source") ? "source" : "target";
    const hits = places.filter(({ word }) => {
      const range = this.rangeOf(word, side);
      return range && [...range.getClientRects()].some((box) => isInside(box, event.clientX, event.clientY));
    });
    hits.sort((a, b) => a.word.end - a.word.start - (b.word.end - b.word.start));
    return hits[0] ?? null;
  }

  /** Returns the Range of a word of a chain in the source or of its translation; null if it is not drawn. */
  rangeOf(word, side) {
    const row = this.list.rows[word.sentence];
    const span = side === "source" ? word : word.translation;
    if (!row || !span) return null;
    const sentence = this.work.sentences[word.sentence];
    const text = (side === "source" ? sentence.source : sentence.translation) ?? "";
    const [start, end] = [codeUnits(text, span.start), codeUnits(text, span.end)];
    return textRange(row.querySelector(`.${side}`), start, end);
  }

  /** Lights the chain through the document, and underlines the linked words of the row under the pointer. */
  paint() {
    const { work } = this;
    const lit = { "chain-source": [], "chain-target": [], "chain-other": [] };
    for (const row of this.list.body.querySelectorAll(".row.lit")) row.classList.remove("lit");
    const main = new Set(work.lit?.variants[0].words);
    for (const word of work.lit?.words ?? []) {
      if (!this.list.isNear(word.sentence)) continue; // painted when the user scrolls there
      this.list.rows[word.sentence].classList.add("lit");
      lit["chain-source"].push(this.rangeOf(word, "source"));
      const isOther = work.lit.isBad && !main.has(word);
      lit[isOther ? "chain-other" : "chain-target"].push(this.rangeOf(word, "target"));
    }
    const shown = [Number(this.list.hovered?.dataset.index ?? work.current)];
    lit.linked = shown.flatMap((index) =>
      (work.chainsAt.get(index) ?? []).map(({ word }) => this.rangeOf(word, "source")),
    );
    for (const [name, ranges] of Object.entries(lit)) setHighlight(name, ranges);
  }

  paintSearch() {
    const { query } = this.work;
    const ranges = [];
    for (const row of query ? this.list.rows : []) {
      if (row.hidden || !this.list.isNear(row.dataset.index)) continue;
      const sentence = this.work.sentences[row.dataset.index];
      for (const [side, text] of [
        ["source", sentence.source],
        ["target", sentence.translation ?? ""],
      ]) {
        for (const place of occurrences(text, query)) ranges.push(textRange(row.querySelector(`.${side}`), ...place));
      }
    }
    setHighlight("found", ranges);
  }
}

function isInside(box, x, y) {
  return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
}

function setHighlight(name, ranges) {
  if (!CSS.highlights) return; // rows are still marked as a whole
  const drawn = ranges.filter(Boolean);
  if (drawn.length) CSS.highlights.set(name, new Highlight(...drawn));
  else CSS.highlights.delete(name);
}
