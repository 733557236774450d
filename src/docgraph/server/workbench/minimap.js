// The strip beside the scroll bar: the whole document at a glance. Its information is also in the list, the filters
// and the overview, so that screen readers skip it.

import { h } from "./dom.js";

const KINDS = ["translated", "confirmed", "proposal", "doubtful", "chain"];

export class Minimap {
  constructor(work, list, go) {
    this.work = work;
    this.list = list;
    this.canvas = h("canvas");
    this.window = h("i"); // the part of the document that is on the screen
    this.element = h("div", { class: "minimap", "aria-hidden": "true" }, this.canvas, this.window);
    this.element.addEventListener("click", (event) => {
      const box = this.element.getBoundingClientRect();
      const index = Math.floor(((event.clientY - box.top) / box.height) * work.sentences.length);
      go(Math.max(0, Math.min(work.sentences.length - 1, index)));
    });
    work.on("list sentences chain graph view", () => this.drawSoon());
    new ResizeObserver(() => this.drawSoon()).observe(this.element);
    list.element.addEventListener("scroll", () => this.placeWindow(), { passive: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawSoon());
  }

  drawSoon() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
      this.placeWindow();
    });
  }

  placeWindow() {
    const { scrollTop, scrollHeight, clientHeight } = this.list.element;
    this.element.classList.toggle("whole", scrollHeight <= clientHeight); // all of it is on the screen already
    this.window.style.top = `${(100 * scrollTop) / scrollHeight}%`;
    this.window.style.height = `${(100 * clientHeight) / scrollHeight}%`;
  }

  draw() {
    const { canvas, work } = this;
    const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
    if (!width || !height) return;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const style = getComputedStyle(this.element);
    const step = height / Math.max(1, work.sentences.length);
    const thickness = Math.max(1.5, step > 4 ? Math.min(step - 1.5, 8) : step);
    const places = this.places();
    for (const kind of KINDS) {
      context.fillStyle = style.getPropertyValue(`--mini-${kind}`);
      const [left, right] = { doubtful: [5, 9], chain: [10, width] }[kind] ?? [0, 4];
      for (const index of places[kind]) context.fillRect(left, Math.floor(index * step), right - left, thickness);
    }
  }

  places() {
    const places = Object.fromEntries(KINDS.map((kind) => [kind, []]));
    for (const { index, state, proposal, doubtful } of this.work.sentences) {
      if (state !== "waiting") places[state].push(index);
      if (proposal !== null) places.proposal.push(index);
      if (doubtful.length && state !== "confirmed") places.doubtful.push(index);
    }
    places.chain = (this.work.lit?.words ?? []).map((word) => word.sentence);
    return places;
  }
}
