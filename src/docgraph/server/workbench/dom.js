// Small helpers for building the page without a framework.

const SVG = "http://www.w3.org/2000/svg";

/** Returns an element: h("button", {class: "x", onclick: f, "aria-label": "y"}, "text", child). Text is never HTML. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  assign(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Returns an SVG element with attributes and children. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else if (name === "vars") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/** Gives an element other children, unless they are equal: a click on a child that is replaced under it is lost. */
export function update(element, ...children) {
  const nodes = children.map((child) => (typeof child === "string" ? document.createTextNode(child) : child));
  const isEqual = nodes.every((node, place) => element.childNodes[place]?.isEqualNode(node));
  if (!isEqual || nodes.length !== element.childNodes.length) element.replaceChildren(...nodes);
}

/** Draws a part of the page again. The focus goes to the control of the same name and place, else of the same name,
 * else of the same place: whoever uses the keyboard must not begin at the top of the page again. */
export function redraw(part, draw) {
  const controls = () => [...part.querySelectorAll("a, button, input")];
  const nameOf = (each) => each.getAttribute("href") ?? each.getAttribute("aria-label") ?? each.textContent;
  const place = controls().indexOf(document.activeElement);
  const name = place < 0 ? null : nameOf(document.activeElement);
  draw();
  if (place < 0 || part.contains(document.activeElement)) return;
  const now = controls();
  const inPlace = now[Math.min(place, now.length - 1)];
  const isSame = (each) => nameOf(each) === name;
  const next = inPlace && isSame(inPlace) ? inPlace : (now.find(isSame) ?? inPlace);
  (next ?? part.closest("[tabindex]"))?.focus();
}

const ICONS = {
  undo: "M4 9h10a5 5 0 0 1 0 10H8M4 9l4-4M4 9l4 4",
  redo: "M20 9H10a5 5 0 0 0 0 10h6M20 9l-4-4M20 9l-4 4",
  compare: "M12 4v16M4 7h5M4 12h5M4 17h5M15 7h5M15 12h3M15 17h5",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  help: "M9 9a3 3 0 1 1 4 2.8c-.8.4-1 1-1 2.2M12 17.5v.1",
  settings: "M4 8h9M19 8h1M4 16h1M11 16h9M16 5.5v5M8 13.5v5",
  map: "M4 6h4M11 6h2M16 6h4M4 12h2M9 12h6M18 12h2M4 18h7M14 18h3M19 18h1",
  panel: "M4 5h16v14H4zM15 5v14",
  back: "M15 5l-7 7 7 7",
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12.5l4.5 4.5L19 7",
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13M15.5 15.5L20 20",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  more: "M5 12h.1M12 12h.1M19 12h.1",
};

/** Returns a decorative line icon; the button around it carries the name. */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

/** Returns a stored preference; `fallback` where storage is switched off or holds nothing. */
export function stored(key, fallback = null) {
  try {
    return localStorage.getItem(`docgraph.${key}`) ?? fallback;
  } catch {
    return fallback;
  }
}

/** Stores a preference of this browser; null removes it. */
export function store(key, value) {
  try {
    if (value === null) localStorage.removeItem(`docgraph.${key}`);
    else localStorage.setItem(`docgraph.${key}`, value);
  } catch {
    // Storage is full or switched off: the preference lasts until the page is closed.
  }
}
