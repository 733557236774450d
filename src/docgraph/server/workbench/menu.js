// A button that opens a list of choices.

import { h } from "./dom.js";

/** Returns a button with a menu; `build` returns its items when it opens. Arrow keys move, Escape closes. */
export function menu(button, label, build) {
  const list = h("div", { class: "menu", role: "menu", "aria-label": label, hidden: true });
  const wrapper = h("div", { class: "menu-wrapper" }, button, list);
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  const items = () => [...list.querySelectorAll("[role^=menuitem]")];
  const close = () => {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
  };
  button.addEventListener("click", () => {
    if (!list.hidden) return close();
    list.replaceChildren(...build());
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
    return items()[0]?.focus();
  });
  wrapper.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const all = items();
      all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
    } else if (event.key === "Escape") {
      close();
      button.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  wrapper.addEventListener("focusout", (event) => !wrapper.contains(event.relatedTarget) && close());
  list.addEventListener("click", (event) => {
    if (!event.target.closest("[role^=menuitem]")) return;
    close();
    if (wrapper.isConnected) button.focus();
  });
  return wrapper;
}

/** Returns an item of a menu; `checked` makes it a choice among several. */
export function menuItem(text, onclick, checked = null) {
  const role = checked === null ? "menuitem" : "menuitemradio";
  return h(
    "button",
    { type: "button", role, tabindex: -1, onclick, "aria-checked": checked === null ? null : String(checked) },
    text,
  );
}

/** Returns a heading inside a menu. */
export function menuHeading(text) {
  return h("div", { class: "menu-heading", role: "presentation" }, text);
}
