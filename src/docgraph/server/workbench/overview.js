// The overview: every chain is a row, and every place where its word occurs a mark, coloured by translation. A
// document of 500 sentences fits on a screen; zooming stretches the rows, searching leaves the matching ones.

import { h, icon, svg } from "./dom.js";
import { formatted, t } from "./i18n.js";
import { matches, nameOf } from "./chains.js";

const MOST = 400; // rows drawn at once
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24];
const FEW = 80; // sentences whose marks are drawn apart
const HUES = 4;

export class Overview {
  constructor(work, actions) {
    this.work = work;
    this.actions = actions;
    this.zoom = 0;
    this.search = h("input", {
      type: "search",
      placeholder: t("overview.search"),
      "aria-label": t("overview.search"),
      oninput: () => this.draw(),
    });
    this.onlyBad = h("input", { type: "checkbox", id: "only-bad", onchange: () => this.draw() });
    const button = (name, label, action) =>
      h("button", { type: "button", class: "tool", "aria-label": label, title: label, onclick: action }, icon(name));
    this.tools = h(
      "div",
      { class: "overview-tools" },
      this.search,
      h("label", { for: "only-bad", class: "check" }, this.onlyBad, t("overview.bad")),
      h("span", { class: "spacer" }),
      button("minus", t("overview.zoomOut"), () => this.setZoom(this.zoom - 1)),
      button("plus", t("overview.zoomIn"), () => this.setZoom(this.zoom + 1)),
    );
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.plot = h("div", { class: "plot" });
    this.scroller = h(
      "div",
      { class: "plot-scroll", tabindex: 0, role: "region", "aria-label": t("panel.chains") },
      this.plot,
    );
    this.element = h(
      "section",
      { class: "overview", "aria-label": t("overview") },
      this.tools,
      h(
        "p",
        { class: "hint" },
        t("overview.hint"),
        h("span", { class: "legends" }, ["confirmed", "proposal", "doubtful"].map(legend)),
      ),
      this.scroller,
      this.tip,
    );
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.plot.addEventListener("pointermove", (event) => this.hover(event));
    this.plot.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.plot.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
    work.on("graph list", () => this.draw());
    work.on("sentences", () => this.drawStates());
  }

  get isShown() {
    return this.element.isConnected && !this.element.hidden;
  }

  key(event) {
    if (event.target.matches("input")) return;
    const step = { "+": 1, "=": 1, "-": -1 }[event.key];
    if (step) this.setZoom(this.zoom + step);
    if (event.key === "0") this.setZoom(0);
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.setZoom(this.zoom - Math.sign(event.deltaY), event.clientX);
  }

  /** Stretches the rows; the place under the pointer, or the middle, stays where it is. */
  setZoom(zoom, x = null) {
    const next = Math.max(0, Math.min(ZOOMS.length - 1, zoom));
    const box = this.scroller.getBoundingClientRect();
    const track = this.plot.querySelector(".track");
    if (!track) return;
    const anchor = x ?? box.left + box.width / 2;
    const at = (anchor - track.getBoundingClientRect().left) / track.clientWidth;
    this.zoom = next;
    this.plot.style.setProperty("--zoom", ZOOMS[next]);
    this.scroller.scrollLeft += at * track.clientWidth + track.getBoundingClientRect().left - anchor;
  }

  draw() {
    if (!this.isShown) return;
    const { chains, sentences, graphState } = this.work;
    const found = chains.filter(
      (chain) => (!this.onlyBad.checked || chain.isBad) && matches(chain, this.search.value),
    );
    this.plot.style.setProperty("--count", sentences.length);
    this.plot.style.setProperty("--zoom", ZOOMS[this.zoom]);
    this.states = h("div", { class: "track states" });
    const head = h(
      "div",
      { class: "plot-row document" },
      h("span", { class: "plot-name" }, t("overview.document")),
      this.states,
    );
    const rows = found.slice(0, MOST).map((chain) => this.row(chain));
    const empty = { none: "chains.later", reading: "chains.reading", failed: "chains.failed", read: "chains.noMatch" }[
      graphState
    ];
    this.plot.replaceChildren(head, ...(rows.length ? rows : [h("p", { class: "hint" }, t(empty))]));
    this.drawStates();
  }

  drawStates() {
    if (!this.isShown || !this.states) return;
    const { sentences } = this.work;
    const of = (keep) => sentences.filter(keep).map((sentence) => sentence.index);
    this.states.replaceChildren(
      marks(sentences.length, [
        ["confirmed", of((each) => each.state === "confirmed")],
        ["open", of((each) => each.state === "translated")],
        ["proposal", of((each) => each.proposal !== null)],
        ["doubtful", of((each) => each.doubtful.length > 0 && each.state !== "confirmed")],
      ]),
    );
  }

  row(chain) {
    const named = chain.variants.filter((variant) => variant.text);
    const ways = named.map((variant) => `${variant.text} ${formatted(variant.words.length)}`).join(", ");
    const name = h(
      "button",
      {
        type: "button",
        class: `plot-name${chain.isBad ? " bad" : ""}`,
        title: ways,
        onclick: () => this.actions.showChain(chain),
        onfocus: () => this.work.light(chain),
      },
      h("span", { class: "name" }, nameOf(chain)),
      h("span", { class: "count" }, formatted(chain.words.length)),
      h("span", { class: "visually-hidden" }, `: ${ways}`),
    );
    const hue = (variant, place) => (chain.consistent ? "v0" : variant.text ? `v${Math.min(place, HUES - 1)}` : "none");
    const kinds = chain.variants.map((variant, place) => [
      hue(variant, place),
      variant.words.map((word) => word.sentence),
    ]);
    const row = h(
      "div",
      { class: "plot-row" },
      name,
      h("div", { class: "track" }, marks(this.work.sentences.length, kinds)),
    );
    row.chain = chain;
    return row;
  }

  /** Returns {chain, index, word} of the mark nearest to the pointer; null if none is within a few pixels. */
  markAt(event) {
    const row = event.target.closest(".plot-row");
    const track = event.target.closest(".track");
    if (!row || !track) return null;
    const box = track.querySelector(".marks").getBoundingClientRect();
    const count = this.work.sentences.length;
    const at = ((event.clientX - box.left) / box.width) * count - 0.5;
    if (!row.chain) return { index: Math.max(0, Math.min(count - 1, Math.round(at))) };
    const near = row.chain.words.reduce((best, word) =>
      Math.abs(word.sentence - at) < Math.abs(best.sentence - at) ? word : best,
    );
    const isNear = (Math.abs(near.sentence - at) * box.width) / count <= 8 || Math.abs(near.sentence - at) <= 0.5;
    return isNear ? { chain: row.chain, index: near.sentence, word: near } : null;
  }

  hover(event) {
    const found = this.markAt(event);
    this.tip.hidden = found === null;
    if (!found) return;
    if (found.chain) this.work.light(found.chain);
    const sentence = this.work.sentences[found.index];
    this.tip.replaceChildren(
      h(
        "span",
        { class: "eyebrow" },
        `${t("row.number", { n: found.index + 1 })}${found.word ? ` · ${found.word.translation?.text ?? t("chains.untranslated")}` : ""}`,
      ),
      h("span", {}, sentence.source),
      h("span", { class: "soft" }, sentence.translation ?? ""),
    );
    const box = this.element.getBoundingClientRect();
    const left = Math.max(8, Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth - 8));
    const below = event.clientY - box.top + 18;
    const isLow = below + this.tip.offsetHeight > box.height;
    this.tip.style.translate = `${left}px ${isLow ? below - this.tip.offsetHeight - 32 : below}px`;
  }

  click(event) {
    const found = this.markAt(event);
    if (found) this.actions.leaveOverview(found.index);
  }
}

/** Returns the meaning of a colour of the first row. */
function legend(kind) {
  return h("span", { class: `legend ${kind}` }, t(`legend.${kind}`));
}

/** Returns a picture of marks at sentences; one path for each kind, whatever the number of marks. */
function marks(count, kinds) {
  const width = count < FEW ? 0.5 : 1;
  const mark = (place) => `M${place + (1 - width) / 2} 0h${width}v1h-${width}z`;
  const path = ([kind, places]) =>
    svg("path", { class: kind, d: [...new Set(places)].map(mark).join(""), "vector-effect": "non-scaling-stroke" });
  const box = { viewBox: `0 0 ${Math.max(1, count)} 1`, preserveAspectRatio: "none", "aria-hidden": "true" };
  return svg("svg", { class: "marks", ...box }, ...kinds.map(path));
}
