// The tab of chains: words that occur in several sentences, their translations, and "use one translation everywhere".

import { h, icon, redraw } from "./dom.js";
import { formatted, t } from "./i18n.js";
import { codeUnits, commonest, folded } from "./text.js";

const MOST = 200; // chains listed at once; the search finds the others
const MOST_PLACES = 150; // places listed for each translation
const AROUND = 24; // characters shown on each side of a word

const MOST_NAMES = 3; // words that name a chain of mentions

/** Returns the name of a chain: its commonest word, or the different words that refer to one thing. */
export function nameOf(chain) {
  const texts = chain.words.map((word) => word.text);
  if (chain.relation === "lexical") return commonest(texts);
  const different = [...new Map(texts.map((text) => [folded(text), text])).values()];
  return different.slice(0, MOST_NAMES).join(", ") + (different.length > MOST_NAMES ? " …" : "");
}

/** Whether the words of a chain or their translations contain a text. */
export function matches(chain, query) {
  if (!query) return true;
  const wanted = folded(query);
  return chain.words.some(
    (word) => folded(word.text).includes(wanted) || folded(word.translation?.text ?? "").includes(wanted),
  );
}

export class ChainsTab {
  constructor(work, actions) {
    this.work = work;
    this.actions = actions;
    this.chain = null; // the chain that is open
    this.search = h("input", {
      type: "search",
      placeholder: t("chains.search"),
      "aria-label": t("chains.search"),
      oninput: () => this.draw(),
    });
    this.body = h("div");
    this.element = h("div", {}, this.search, this.body);
    work.on("graph list", () => {
      this.chain = this.chain && work.lit;
      this.draw();
    });
    work.on("chain", () => this.follow());
  }

  /** Shows the chain that was lit in the document; a pointer that merely passes by does not change the list. */
  follow() {
    if (this.element.hidden || !this.chain || !this.work.lit || this.chain === this.work.lit) return;
    this.open(this.work.lit);
  }

  open(chain) {
    const isFocused = this.body.contains(document.activeElement);
    const left = this.chain;
    this.chain = chain;
    if (chain) this.work.light(chain);
    this.draw();
    if (isFocused) this.body.querySelector(chain ? ".back" : `[data-chain="${left?.id}"]`)?.focus();
  }

  draw() {
    if (this.element.hidden) return;
    this.search.hidden = this.chain !== null || this.work.graphState !== "read";
    redraw(this.body, () => this.body.replaceChildren(...(this.chain ? this.drawChain(this.chain) : this.drawList())));
  }

  drawList() {
    const { chains, graphState } = this.work;
    const hint = (key) => [h("p", { class: "hint" }, t(key))];
    if (graphState !== "read")
      return hint({ none: "chains.later", reading: "chains.reading", failed: "chains.failed" }[graphState]);
    if (!chains.length) return hint("chains.none");
    const found = chains.filter((chain) => matches(chain, this.search.value));
    if (!found.length) return hint("chains.noMatch");
    const bad = found.filter((chain) => chain.isBad).length;
    const summary = t("chains.summary", { n: found.length }) + (bad ? ` · ${t("chains.summaryBad", { n: bad })}` : "");
    return [
      h("p", { class: "eyebrow" }, summary),
      h(
        "ul",
        { class: "chain-list" },
        found.slice(0, MOST).map((chain) => this.item(chain)),
      ),
    ];
  }

  item(chain) {
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: `chain${chain.isBad ? " bad" : ""}`,
          "data-chain": chain.id,
          onclick: () => this.open(chain),
          onfocus: () => this.work.light(chain),
          onpointerenter: () => this.work.light(chain),
        },
        h("span", { class: "name" }, nameOf(chain)),
        h("span", { class: "count" }, formatted(chain.words.length)),
        h("span", { class: "ways" }, this.ways(chain)),
      ),
    );
  }

  /** Returns the commonest translations, and what links the words if it is not repetition. */
  ways(chain) {
    const shown = chain.variants.filter((variant) => variant.text).slice(0, 3);
    const ways = shown.map((variant) => variant.text).join(" / ");
    return chain.relation === "lexical" ? ways : `${ways} · ${t(`chains.${chain.relation}`)}`;
  }

  drawChain(chain) {
    const back = h(
      "button",
      { type: "button", class: "back", onclick: () => this.open(null) },
      icon("back"),
      t("chains.all"),
    );
    const named = chain.variants.filter((variant) => variant.text);
    const hasWays = !chain.consistent && named.length > 1;
    return [
      back,
      h("h2", { class: "title" }, nameOf(chain), " ", h("span", { class: "soft" }, t(`chains.${chain.relation}`))),
      ...(hasWays ? [h("p", { class: chain.isBad ? "bad" : "soft" }, t("chains.inconsistent", { n: named.length }))] : []),
      ...chain.variants.map((variant, place) => this.variant(chain, variant, place, hasWays)),
    ];
  }

  variant(chain, variant, place, hasWays) {
    const fix = h(
      "button",
      { type: "button", class: "fix", onclick: () => this.actions.fixAll(chain, variant.text) },
      t("chains.fix", { target: variant.text }),
    );
    const name = variant.text || t("chains.untranslated");
    return h(
      "section",
      { class: "variant", "data-hue": hasWays && variant.text ? Math.min(place, 3) : 0 },
      h(
        "h3",
        {},
        h("i", { class: "swatch", "aria-hidden": "true" }),
        name,
        h("span", { class: "count" }, formatted(variant.words.length)),
      ),
      ...(hasWays && variant.text ? [fix] : []),
      h("ul", { class: "places" }, this.places(variant.words)),
    );
  }

  places(words) {
    const shown = words.slice(0, MOST_PLACES).map((word) => this.place(word));
    const rest = words.length - shown.length;
    return rest ? [...shown, h("li", { class: "hint" }, t("chains.more", { n: rest }))] : shown;
  }

  place(word) {
    const { source } = this.work.sentences[word.sentence];
    const [start, end] = [codeUnits(source, word.start), codeUnits(source, word.end)];
    const [first, last] = [wordStart(source, start - AROUND, start), wordEnd(source, end, end + AROUND)];
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "place", onclick: () => this.actions.go(word.sentence) },
        h("span", { class: "at" }, String(word.sentence + 1)),
        h(
          "span",
          { class: "snippet", dir: "auto" },
          first > 0 ? "… " : "",
          source.slice(first, start),
          h("b", {}, source.slice(start, end)),
          source.slice(end, last),
          last < source.length ? " …" : "",
        ),
      ),
    );
  }
}

/** Returns where the first whole word between two places of a text starts. */
function wordStart(text, from, to) {
  if (from <= 0) return 0;
  const space = text.indexOf(" ", from - 1);
  return space < 0 || space >= to ? to : space + 1;
}

/** Returns where the last whole word between two places of a text ends. */
function wordEnd(text, from, to) {
  if (to >= text.length) return text.length;
  const space = text.lastIndexOf(" ", to);
  return space < from ? from : space;
}
