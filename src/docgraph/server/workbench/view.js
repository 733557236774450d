// The view of a document: filters and search, the list, the panel, the overview, and what keys and buttons do.

import { h, icon } from "./dom.js";
import { selectedWords, TermBar } from "./glossary.js";
import { drawDocumentHeader } from "./header.js";
import { formatted, t } from "./i18n.js";
import { handleKey } from "./keys.js";
import { List } from "./list.js";
import { announce, failed, notice, tell } from "./messages.js";
import { Minimap } from "./minimap.js";
import { nameOf } from "./chains.js";
import { Overview } from "./overview.js";
import { Panel } from "./panel.js";

const FILTERS = ["all", "open", "doubtful", "proposals", "different"];
const NARROW = matchMedia("(max-width: 1000px)");

export class View {
  constructor(app, work) {
    this.work = work;
    this.isOverview = false;
    const actions = {
      go: (index) => this.go(index),
      use: (index, translation) => this.use(index, translation),
      showChain: (chain) => this.showChain(chain),
      fixAll: (chain, target) => this.addTerm(nameOf(chain), target),
      addTerm: (source, target) => this.addTerm(source, target),
      removeTerm: (entry) => this.removeTerm(entry),
      closePanel: () => this.togglePanel(false),
      leaveOverview: (index) => this.leaveOverview(index),
    };
    this.termBar = new TermBar(work, actions);
    this.list = new List(work);
    this.panel = new Panel(work, actions);
    this.overview = new Overview(work, actions);
    this.overview.element.hidden = true;
    this.minimap = new Minimap(work, this.list, (index) => this.list.go(index, { edit: false }));
    this.searchBox = this.buildSearch();
    this.filters = h("div", { class: "filters", role: "group", "aria-label": t("filter.label") });
    this.bar = h("div", {
      class: "proposal-bar floating",
      role: "region",
      "aria-label": t("filter.proposals"),
      hidden: true,
    });
    this.floats = h("div", { class: "floats" }, this.termBar.element, this.bar);
    this.document = h(
      "div",
      { class: "document" },
      h("div", { class: "toolbar" }, this.filters, this.searchBox),
      this.list.element,
      this.minimap.element,
      this.floats,
    );
    this.element = h("div", { class: "work" }, this.document, this.overview.element, this.panel.element);
    this.drawHeader = drawDocumentHeader(app, work, this);
    this.listen();
    this.drawFilters();
    if (work.job.state === "failed") notice(work.job.error ?? t("status.failed"));
  }

  listen() {
    const { work } = this;
    this.stop = new AbortController();
    document.addEventListener(
      "keydown",
      (event) => !event.defaultPrevented && !document.querySelector("dialog[open]") && handleKey(event, this),
      { signal: this.stop.signal },
    );
    const select = () => {
      const words = selectedWords(this.list);
      if (words) this.termBar.take(words);
    };
    document.addEventListener("selectionchange", select, { signal: this.stop.signal });
    window.addEventListener("resize", () => this.minimap.drawSoon(), { signal: this.stop.signal });
    work.on("sentences list comparison view", () => this.drawFilters());
    work.on("error", (message) => notice(message));
    work.on("connection", (isConnected) => this.connection(isConnected));
    let state = work.job.state;
    work.on("job", () => {
      if (state !== "done" && work.job.state === "done") announce(t("said.done"));
      if (state !== "failed" && work.job.state === "failed") notice(work.job.error ?? t("status.failed"));
      const isOther = state !== work.job.state;
      state = work.job.state;
      if (isOther) this.list.refresh(work.indices("waiting")); // they are no longer, or again, about to come
    });
  }

  close() {
    this.list.leaveEditor();
    this.list.close();
    this.stop.abort();
    this.work.close();
  }

  connection(isConnected) {
    if (isConnected && this.wasLost) notice("");
    if (this.list.failed.size) isConnected ? this.list.saveAgain() : this.list.tellUnsaved();
    else if (!isConnected) notice(t("error.connection"));
    this.wasLost = !isConnected;
  }

  // Toolbar --------------------------------------------------------------------------------------------------------

  buildSearch() {
    const input = h("input", {
      type: "search",
      placeholder: t("search"),
      "aria-label": t("search"),
      "aria-keyshortcuts": "/",
    });
    let timer = null;
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.work.setView(this.work.filter, input.value.trim());
        if (input.value.trim()) announce(t("search.found", { n: this.list.rows.filter((row) => !row.hidden).length }));
      }, 120);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape" || event.key === "Enter") {
        if (event.key === "Escape") this.clearSearch();
        const row =
          this.list.rows.find((each) => !each.hidden && Number(each.dataset.index) >= this.work.current) ??
          this.list.rows.find((each) => !each.hidden);
        if (row) this.list.go(event.key === "Escape" ? this.work.current : Number(row.dataset.index), { edit: false });
        event.preventDefault();
        event.stopPropagation();
      }
    });
    return h("div", { class: "search", role: "search" }, icon("search"), input);
  }

  clearSearch() {
    this.searchBox.querySelector("input").value = "";
    this.work.setView(this.work.filter, "");
  }

  drawFilters() {
    const { work } = this;
    const shown = FILTERS.filter((name) => name !== "different" || work.comparison);
    const isNew = this.filters.children.length !== shown.length;
    if (isNew) {
      const button = (name) =>
        h(
          "button",
          { type: "button", class: "filter", "data-filter": name, onclick: () => this.setFilter(name) },
          t(`filter.${name}`),
          h("span", { class: "count" }),
        );
      this.filters.replaceChildren(...shown.map(button));
    }
    for (const button of this.filters.children) {
      const { filter } = button.dataset;
      button.setAttribute("aria-pressed", String(filter === work.filter));
      button.lastChild.textContent = formatted(work.count(filter));
    }
    this.drawBar();
  }

  setFilter(name) {
    this.list.leaveEditor();
    this.work.setView(name, this.work.query);
    const [first] = this.work.indices(name);
    if (first !== undefined && this.list.rows[this.work.current].hidden) this.work.select(first);
  }

  /** Draws the bar of pending proposals. It floats, so that nothing moves when it appears. */
  drawBar() {
    const n = this.work.count("proposals");
    if (n === this.pending) return;
    this.pending = n;
    this.bar.hidden = n === 0;
    const button = (key, letter, action, classes = "") =>
      h(
        "button",
        { type: "button", class: classes, onclick: action },
        t(key),
        h("kbd", { "aria-hidden": "true" }, letter),
      );
    this.bar.replaceChildren(
      h("span", {}, t("proposals.pending", { n })),
      button("proposals.next", "P", () => this.walk("proposals", 1)),
      button("proposals.acceptAll", "⇧A", () => this.decideAll("accept"), "primary"),
      button("proposals.refuseAll", "⇧R", () => this.decideAll("refuse")),
    );
  }

  // What keys and buttons do ---------------------------------------------------------------------------------------

  go(index) {
    if (this.isOverview) this.toggleOverview();
    if (NARROW.matches) this.togglePanel(false);
    this.list.go(index, { edit: false });
  }

  search() {
    if (this.isOverview) this.overview.search.focus();
    else this.searchBox.querySelector("input").focus();
  }

  escape() {
    if (!this.termBar.element.hidden) this.termBar.clear();
    else if (this.isOverview) this.toggleOverview();
    else if (NARROW.matches && this.element.classList.contains("with-panel")) {
      this.togglePanel(false);
      this.list.focus();
    } else if (this.panel.element.contains(document.activeElement)) this.list.focus();
    else if (this.work.lit) this.work.light(null);
    else if (document.activeElement?.closest(".row") && this.work.query) this.clearSearch();
    else this.list.focus();
  }

  /** Goes to the next sentence of a kind. */
  walk(filter, direction) {
    const index = this.work.next(filter, direction);
    if (index === null) tell(t(filter === "doubtful" ? "said.noDoubt" : "said.noProposal"));
    else this.list.go(index);
  }

  /** Decides on the proposal of the current sentence and goes to the next proposal. */
  async decide(verb) {
    const { work } = this;
    if (!work.sentence || work.sentence.proposal === null) return;
    const { index } = work.sentence;
    const next = work.next("proposals");
    await this.list.decide(verb, [index]);
    if (next !== null && next !== index) this.list.go(next);
  }

  decideAll(verb) {
    this.list.decide(verb, this.work.indices("proposals"));
    this.list.focus();
  }

  async step(verb) {
    this.list.leaveEditor();
    try {
      const changes = await this.work.step(verb);
      tell(t(verb === "undo" ? "said.undone" : "said.redone"));
      if (changes.length) this.list.go(changes[0].index, { edit: false });
    } catch (error) {
      if (error.status === 409) tell(t(verb === "undo" ? "said.nothing" : "said.nothingRedo"));
      else failed(error, () => this.step(verb));
    }
  }

  reopen() {
    if (this.work.sentence?.state === "confirmed") this.list.toggle(this.work.current);
  }

  use(index, translation) {
    this.go(index);
    this.list.edit();
    this.list.editor?.type(translation);
  }

  async compare() {
    if (this.work.job.state !== "done" || this.work.activities.includes("compare")) return;
    try {
      await this.work.compare();
      if (this.work.comparison) tell(t("said.compared", { n: this.work.count("different") }));
    } catch (error) {
      failed(error, () => this.compare());
    }
  }

  // Chains and the overview ----------------------------------------------------------------------------------------

  nextChain() {
    const chains = [...new Set(this.work.linkedWords(this.work.current).map(({ chain }) => chain))];
    if (!chains.length) return;
    const chain = chains[(chains.indexOf(this.work.lit) + 1) % chains.length];
    this.work.light(chain);
    const ways = chain.variants.filter((variant) => variant.text).map((variant) => variant.text);
    announce(`${nameOf(chain)}: ${t("explain.places", { n: chain.words.length })}, ${ways.join(", ")}`);
    if (!NARROW.matches) this.showChain(chain, false);
  }

  showChain(chain, moveFocus = true) {
    this.togglePanel(true);
    this.panel.show("chains");
    this.panel.pages.chains.open(chain);
    if (moveFocus) this.panel.pages.chains.element.querySelector(".back")?.focus();
  }

  toggleOverview() {
    this.isOverview = !this.isOverview;
    this.list.leaveEditor();
    this.document.hidden = this.isOverview;
    this.overview.element.hidden = !this.isOverview;
    if (this.isOverview) {
      this.overview.draw();
      this.overview.scroller.focus();
    } else this.list.go(this.work.current, { edit: false });
    this.drawHeader();
  }

  leaveOverview(index) {
    this.toggleOverview();
    this.list.go(index, { edit: false });
  }

  /** Opens or closes the panel: a sheet over a narrow page, a column of a wide one. */
  togglePanel(isOpen = this.panel.element.offsetParent === null) {
    this.element.classList.toggle("with-panel", NARROW.matches && isOpen);
    if (!NARROW.matches) this.element.classList.toggle("without-panel", !isOpen);
    this.minimap.drawSoon();
    this.panel.show(this.panel.shown);
    if (isOpen && !this.isOverview) this.list.reveal(this.work.current); // the sheet may cover it
  }

  // Terms ----------------------------------------------------------------------------------------------------------

  term() {
    if (this.termBar.isComplete) return this.termBar.add();
    this.togglePanel(true);
    this.panel.show("glossary");
    const { pair } = this.termBar;
    this.termBar.clear();
    return this.panel.pages.glossary.begin(pair);
  }

  /** Adds a term pair, replacing another translation of the same term; returns whether the server took it. */
  async addTerm(source, target) {
    const others = this.work.glossary.filter((entry) => entry.source.toLowerCase() !== source.toLowerCase());
    const said = t("said.term", { source, target });
    return this.changeGlossary([...others, { source, target }], said, () => this.addTerm(source, target));
  }

  removeTerm(entry) {
    const rest = this.work.glossary.filter((each) => each.source !== entry.source || each.target !== entry.target);
    return this.changeGlossary(rest, t("said.termRemoved", entry), () => this.removeTerm(entry));
  }

  async changeGlossary(entries, said, again) {
    try {
      const changes = await this.work.setGlossary(entries);
      if (changes.length) announce(`${said} ${t("said.follow", { n: changes.length })}`);
      else tell(said);
      return true;
    } catch (error) {
      failed(error, again);
      return false;
    }
  }
}
