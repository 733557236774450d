// The panel beside the document: the sentence and what it read, the chains, the glossary.

import { h, icon } from "./dom.js";
import { t } from "./i18n.js";
import { ChainsTab } from "./chains.js";
import { GlossaryTab } from "./glossary.js";
import { SentenceTab } from "./explain.js";

const TABS = ["sentence", "chains", "glossary"];

export class Panel {
  constructor(work, actions) {
    this.pages = {
      sentence: new SentenceTab(work, actions),
      chains: new ChainsTab(work, actions),
      glossary: new GlossaryTab(work, actions),
    };
    this.tabs = Object.fromEntries(TABS.map((name) => [name, this.tab(name)]));
    const list = h("div", { role: "tablist", class: "tabs", "aria-label": t("panel") }, ...Object.values(this.tabs));
    list.addEventListener("keydown", (event) => this.key(event));
    const close = h(
      "button",
      { class: "quiet panel-close", type: "button", "aria-label": t("close"), onclick: actions.closePanel },
      icon("close"),
    );
    for (const name of TABS) {
      const page = this.pages[name].element;
      page.id = `panel-${name}`;
      page.setAttribute("role", "tabpanel");
      page.setAttribute("aria-labelledby", `tab-${name}`);
      page.classList.add("page");
      page.tabIndex = 0;
    }
    this.element = h(
      "aside",
      { class: "panel", "aria-label": t("panel") },
      h("div", { class: "panel-head" }, list, close),
      ...TABS.map((name) => this.pages[name].element),
    );
    this.show("sentence");
  }

  tab(name) {
    return h(
      "button",
      {
        role: "tab",
        type: "button",
        id: `tab-${name}`,
        "aria-controls": `panel-${name}`,
        onclick: () => this.show(name),
      },
      t(`panel.${name}`),
    );
  }

  show(name) {
    this.shown = name;
    for (const each of TABS) {
      this.tabs[each].setAttribute("aria-selected", String(each === name));
      this.tabs[each].tabIndex = each === name ? 0 : -1;
      this.pages[each].element.hidden = each !== name;
    }
    this.pages[name].draw();
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = TABS[(TABS.indexOf(this.shown) + step + TABS.length) % TABS.length];
    this.show(next);
    this.tabs[next].focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
