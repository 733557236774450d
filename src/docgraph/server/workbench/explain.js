// The tab of a sentence: its doubts, its linked words, what it read and how much, other translations.

import * as api from "./api.js";
import { h, redraw } from "./dom.js";
import { doubt, formatted, t } from "./i18n.js";

const LITTLE = 0.995; // a gate that lets so little context in is closed
const MOST_CHIPS = 12; // linked words shown at once
const DELAY = 120; // milliseconds: walking through sentences asks the server only where the user stops

export class SentenceTab {
  constructor(work, actions) {
    this.work = work;
    this.actions = actions;
    this.element = h("div");
    this.key = "";
    work.on("inspected list graph", () => this.draw());
    work.on("connection", (isConnected) => isConnected && this.draw());
    work.on("sentences", (indices) => indices.includes(work.inspected?.index) && this.draw());
  }

  draw() {
    if (this.element.offsetParent === null) return undefined; // asks the server only for what is seen
    const { inspected: sentence, job } = this.work;
    if (!sentence) return this.element.replaceChildren();
    const key = `${job.id} ${sentence.index} ${sentence.revision} ${sentence.translation}`;
    if (key !== this.key) {
      this.explanation = null;
      this.work.setReads(null, [], []);
    }
    const parts = () => [
      h("p", { class: "eyebrow" }, t("row.number", { n: sentence.index + 1 }), ...this.score(sentence)),
      h("p", { class: "quoted", lang: job.languages?.[0], dir: "auto" }, sentence.source),
      ...this.doubts(sentence),
      ...this.chains(sentence),
      h("div", { class: "explanation" }, ...this.drawn()),
    ];
    redraw(this.element, () => this.element.replaceChildren(...parts()));
    const isReadable = sentence.state !== "waiting";
    if (key !== this.key && isReadable) this.read(sentence.index);
    this.key = isReadable ? key : "";
    return undefined;
  }

  score(sentence) {
    if (sentence.score === null || sentence.score === undefined) return [];
    return [
      h(
        "span",
        { class: "aside", title: t("explain.scoreTitle") },
        `${t("explain.score")} ${formatted(sentence.score, { maximumFractionDigits: 2 }).replace("-", "−")}`,
      ),
    ];
  }

  doubts(sentence) {
    if (!sentence.doubtful.length) return [];
    return [
      h("h2", { class: "bad" }, t("explain.doubts")),
      h(
        "ul",
        { class: "plain-list" },
        sentence.doubtful.map((each) => h("li", {}, doubt(each))),
      ),
    ];
  }

  /** Buttons for the linked words, so that chains can be lit without a pointer. */
  chains(sentence) {
    const seen = new Set();
    const places = this.work.linkedWords(sentence.index).filter(({ chain }) => !seen.has(chain) && seen.add(chain));
    if (!places.length) return [];
    const button = ({ chain, word }) =>
      h(
        "button",
        {
          type: "button",
          class: `chip${chain.isBad ? " bad" : ""}`,
          title: t("explain.places", { n: chain.words.length }),
          onfocus: () => this.work.light(chain),
          onpointerenter: () => this.work.light(chain),
          onclick: () => this.actions.showChain(chain),
        },
        word.text,
        h("span", { class: "count" }, formatted(chain.words.length)),
      );
    const shown = this.opened === sentence.index ? places : foremost(places);
    const rest = h(
      "button",
      { type: "button", class: "chip rest", onclick: () => this.openChips(sentence.index) },
      t("chains.more", { n: places.length - shown.length }),
    );
    const chips = h("div", { class: "chips" }, shown.map(button), shown.length < places.length ? rest : null);
    return [h("h2", {}, t("explain.words")), chips];
  }

  openChips(index) {
    this.opened = index;
    this.draw();
    this.element.querySelector(".chip")?.focus();
  }

  read(index) {
    clearTimeout(this.timer);
    this.request?.abort();
    this.timer = setTimeout(async () => {
      this.request = new AbortController();
      try {
        this.explanation = await api.explain(this.work.job.id, index, this.request.signal);
      } catch (error) {
        if (error.name !== "AbortError") this.key = ""; // asked for again when the tab is drawn next
        return; // the user went on, or the server has no explanation: the rest of the tab stands on its own
      }
      if (index !== this.work.inspected?.index) return;
      this.element.querySelector(".explanation").replaceChildren(...this.drawn());
      this.work.setReads(index, this.explanation.source, this.explanation.target);
    }, DELAY);
  }

  drawn() {
    const { explanation, work } = this;
    if (work.inspected.state === "waiting") return [h("p", { class: "hint" }, t("explain.waiting"))];
    if (!explanation) return [];
    const parts = [];
    const { gate, source, target, hints } = explanation;
    const hasRead = source.length + target.length > 0 && (gate === null || gate < LITTLE);
    if (hasRead && gate !== null) parts.push(this.gate(gate));
    if (hasRead) parts.push(...this.weights("source", source), ...this.weights("target", target));
    else if (!hints.length) {
      const { state, proposal } = work.inspected;
      const why = state === "confirmed" ? "confirmed" : proposal !== null ? "proposal" : "none";
      parts.push(h("p", { class: "hint" }, t(`explain.${why}`)));
    }
    const by = (...relations) => hints.filter((hint) => relations.includes(hint.relation));
    parts.push(...this.referents("explain.hints", by("coreference", "definition")));
    parts.push(...this.referents("explain.corrected", by("correction")));
    parts.push(...this.referents("explain.previous", by("previous")));
    parts.push(...this.referents("explain.dictionary", by("dictionary")));
    parts.push(...this.referents("explain.paraphrase", by("paraphrase")));
    if (explanation.memory.length) {
      const line = (text, name) => h("div", { class: name, dir: "auto" }, text);
      const pair = (each) => h("li", {}, line(each.source, "soft"), line(each.translation));
      parts.push(h("h2", {}, t("explain.memory")), h("ul", { class: "plain-list" }, explanation.memory.map(pair)));
    }
    const others = explanation.n_best.filter((each) => each.translation !== work.inspected.translation);
    if (others.length)
      parts.push(
        h("h2", {}, t("explain.others")),
        h(
          "ul",
          { class: "plain-list" },
          others.map((each) => this.other(each)),
        ),
      );
    return parts;
  }

  gate(gate) {
    const share = (value) => formatted(value, { style: "percent", maximumFractionDigits: 0 });
    return h(
      "div",
      { class: "gate" },
      h("div", { class: "gate-bar", vars: { "--share": `${gate * 100}%` }, "aria-hidden": "true" }),
      h("span", {}, `${t("explain.own")} ${share(gate)}`),
      h("span", {}, `${t("explain.context")} ${share(1 - gate)}`),
    );
  }

  weights(side, weights) {
    if (!weights.length) return [];
    const largest = Math.max(...weights.map((each) => each.weight));
    const item = ({ sentence, weight }) => {
      const other = this.work.sentences[sentence];
      const text = side === "source" ? other?.source : other?.translation;
      return h(
        "li",
        {},
        h(
          "button",
          {
            type: "button",
            class: "read",
            onclick: () => this.actions.go(sentence),
            vars: { "--share": `${(100 * weight) / largest}%` },
          },
          h("span", { class: "at" }, String(sentence + 1)),
          h("span", { class: "snippet", dir: "auto" }, text ?? ""),
          h(
            "span",
            { class: "amount" },
            formatted(weight, { style: "percent", maximumFractionDigits: weight < 0.1 ? 1 : 0 }),
          ),
        ),
      );
    };
    return [h("h2", { class: side }, t(`explain.${side}`)), h("ul", { class: `reads ${side}` }, weights.map(item))];
  }

  /** What words of the sentence refer to: "It ← la voiture", and the sentence where that is; or how they translate; or
      the sentence before. */
  referents(heading, hints) {
    if (!hints.length) return [];
    const item = ({ words, translation, sentence }) => {
      const parts = [h("span", { class: "snippet", dir: "auto" }, words ? `${words} ← ${translation}` : translation)];
      if (sentence === null) return h("li", {}, ...parts);
      const at = h("span", { class: "at" }, String(sentence + 1));
      const title = words ? t("explain.referent", { words, translation, n: sentence + 1 }) : translation;
      const go = () => this.actions.go(sentence);
      return h("li", {}, h("button", { type: "button", class: "read", title, onclick: go }, at, ...parts));
    };
    return [h("h2", {}, t(heading)), h("ul", { class: "reads" }, hints.map(item))];
  }

  other({ translation }) {
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "other",
          dir: "auto",
          title: t("explain.use"),
          onclick: () => this.actions.use(this.work.inspected.index, translation),
        },
        translation,
      ),
    );
  }
}

/** Returns the inconsistent words, and the first others, in the order of the sentence. */
function foremost(places) {
  if (places.length <= MOST_CHIPS + 1) return places;
  const bad = places.filter(({ chain }) => chain.isBad);
  const good = places.filter(({ chain }) => !chain.isBad).slice(0, Math.max(0, MOST_CHIPS - bad.length));
  return places.filter((place) => place.chain.isBad || good.includes(place));
}
