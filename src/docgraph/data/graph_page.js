// The page of one document graph. Everything it shows comes from the JSON block; text enters the page as text only.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (selector) => document.querySelector(selector);
const SVG = "http://www.w3.org/2000/svg";
const number = new Intl.NumberFormat("en");

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}
function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// ---- The graph: words 0..W-1, then sentences -------------------------------------------------------------------------
const W = data.sentenceOf.length, M = data.sentences.length;
const sentenceOf = (node) => (node < W ? data.sentenceOf[node] : node - W);
const function_ = new Set(data.functionWords);
const known = ["adjacency", "dependency", "lexical", "coreference", "tfidf"];
const dash = { adjacency: "none", dependency: "none", lexical: "5 3", coreference: "none", tfidf: "2 3" };
const width = { adjacency: 1.1, dependency: 1.1, lexical: 1.3, coreference: 2, tfidf: 1.4 };
const hue = (name) => `var(--${known.includes(name) ? name : "other"})`;
const relations = data.relations.filter((relation) => relation.name !== "membership");

function pairsOf(flat) {
  const pairs = [];
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i], flat[i + 1]]);
  return pairs;
}
for (const relation of relations) {
  relation.pairs = pairsOf(relation.edges);
  relation.byNode = new Map();
  for (const pair of relation.pairs)
    for (const end of new Set(pair)) {
      if (!relation.byNode.has(end)) relation.byNode.set(end, []);
      relation.byNode.get(end).push(pair);
    }
}
const groupsOf = Array.from({ length: W }, () => []); // the lexical groups (form, lemma) each word is in
for (const group of data.lexical ? [...data.lexical.form, ...data.lexical.lemma] : [])
  for (const word of group) groupsOf[word].push(group);

function occurrences(word) { // every word a lexical link joins to this one, in order
  const reach = data.lexical && data.lexical.maxDistance !== null ? data.lexical.maxDistance : Infinity;
  const found = new Set(groupsOf[word].flat());
  found.delete(word);
  return [...found].filter((other) => Math.abs(sentenceOf(other) - sentenceOf(word)) <= reach).sort((a, b) => a - b);
}
function chainOf(relation, word) { // everything connected to the word by one relation, and the links between
  const seen = new Set([word]), queue = [word], links = new Set();
  while (queue.length)
    for (const pair of relation.byNode.get(queue.pop()) || []) {
      links.add(pair);
      for (const end of pair) if (!seen.has(end)) { seen.add(end); queue.push(end); }
    }
  return { nodes: [...seen].sort((a, b) => a - b), links: [...links] };
}

// ---- The text ---------------------------------------------------------------------------------------------------------
const doc = $(".doc"), list = make("ol"), words = [], labels = [], items = [];
data.sentences.forEach((sentence, index) => {
  const line = make("p", { dir: "auto" });
  sentence.first = words.length;
  sentence.pieces.forEach((piece, place) => {
    if (place % 2 === 0) return line.append(piece);
    const span = make("span", { className: "w", tabIndex: -1, textContent: piece });
    if (sentence.parts.includes(words.length)) span.classList.add("part");
    span.dataset.i = words.length;
    words.push(span);
    line.append(span);
  });
  sentence.length = sentence.pieces.reduce((sum, piece) => sum + piece.length, 0);
  labels.push(make("span", { className: "n", textContent: index + 1 }));
  items.push(make("li", {}, labels[index], line));
  list.append(items[index]);
});
const layer = draw("svg", { class: "arcs", "aria-hidden": "true" });
const base = draw("g", { class: "base" }), front = draw("g");
layer.append(base, front);
doc.append(layer, list);
if (words.length) words[0].tabIndex = 0;
const textOf = (node) => (node < W ? words[node].textContent : `sentence ${node - W + 1}`);

// ---- Geometry: one measurement of every word, then paths ------------------------------------------------------------
let boxes = [];
function measure() {
  const origin = doc.getBoundingClientRect();
  boxes = [...words, ...labels].map((element) => {
    const box = element.getBoundingClientRect();
    return { x: box.left - origin.left + box.width / 2, top: box.top - origin.top, bottom: box.bottom - origin.top };
  });
}
const round = (value) => value.toFixed(1);
const sameRow = (a, b) => Math.abs(a.top - b.top) < 8;
function arc([source, target], above) {
  const a = boxes[source], b = boxes[target];
  if (sameRow(a, b)) { // one row: over the words for syntax, under them for repeats
    const span = Math.abs(a.x - b.x), lift = Math.min(above ? 24 : 15, 5 + span * 0.085) * (above ? -1.33 : 1.33);
    const [from, to] = above ? [a.top + 2, b.top + 2] : [a.bottom - 1, b.bottom - 1];
    return `M${round(a.x)} ${round(from)}C${round(a.x)} ${round(from + lift)} ${round(b.x)} ${round(to + lift)} ${round(b.x)} ${round(to)}`;
  }
  const down = b.top > a.top, from = down ? a.bottom - 1 : a.top + 1, to = down ? b.top + 1 : b.bottom - 1;
  const bend = Math.min(Math.abs(to - from) * 0.45, 130) * (down ? 1 : -1);
  return `M${round(a.x)} ${round(from)}C${round(a.x)} ${round(from + bend)} ${round(b.x)} ${round(to - bend)} ${round(b.x)} ${round(to)}`;
}
function tip([source, target], above, stubs) { // a small arrow head where the arc arrives
  const a = boxes[source], b = boxes[target], oneRow = sameRow(a, b);
  const fromAbove = oneRow || stubs ? above : b.top > a.top;
  const y = (oneRow || stubs) && above ? b.top + 2 : fromAbove ? b.top + 1 : b.bottom - 1, back = fromAbove ? -5 : 5;
  return `M${round(b.x - 2.8)} ${round(y + back)}L${round(b.x + 2.8)} ${round(y + back)}L${round(b.x)} ${round(y)}Z`;
}
function step([a, b]) { // adjacency: a shallow link under two neighbours
  const one = boxes[a], two = boxes[b];
  if (!sameRow(one, two)) return "";
  const y = round(one.bottom - 2), low = round(one.bottom + 4);
  return `M${round(one.x)} ${y}C${round(one.x)} ${low} ${round(two.x)} ${low} ${round(two.x)} ${y}`;
}
function stub([source, target]) { // syntax that crosses rows: it leaves here and arrives there; following it draws it whole
  const a = boxes[source], b = boxes[target], side = b.top > a.top ? 1 : -1;
  const out = `M${round(a.x)} ${round(a.top + 2)}q0 -13 ${20 * side} -13`;
  return `${out}M${round(b.x - 20 * side)} ${round(b.top - 11)}q${20 * side} 0 ${20 * side} 13`;
}
function paint(parent, relation, pairs, weight, opacity, stubs = false) {
  if (!pairs.length) return;
  const name = relation.name, above = relation.scope === "intra", style = `--hue:${hue(name)}`;
  const broken = stubs && above;
  const shape = name === "adjacency" ? step : (pair) => (broken && !sameRow(boxes[pair[0]], boxes[pair[1]]) ? stub(pair) : arc(pair, above));
  const line = { d: pairs.map(shape).join(""), style, "stroke-width": weight, opacity, "stroke-dasharray": dash[name] || "none" };
  parent.append(draw("path", line));
  if (name !== "adjacency")
    parent.append(draw("path", { d: pairs.map((pair) => tip(pair, above, broken)).join(""), style, class: "head", opacity }));
}

// ---- Which arcs are drawn -----------------------------------------------------------------------------------------------
const shown = new Map(relations.map((relation) => [relation.name, true]));
const repeats = relations.filter((relation) => relation.name === "lexical").flatMap((relation) => relation.pairs).length;
const settings = { function: repeats <= data.sparse, through: true };
const acrossText = (relation) => relation.scope !== "intra";
function visible(relation) {
  if (!shown.get(relation.name)) return [];
  if (relation.name !== "lexical" || settings.function) return relation.pairs;
  return relation.pairs.filter(([a, b]) => !function_.has(a) && !function_.has(b));
}
settings.through = relations.filter(acrossText).reduce((sum, relation) => sum + visible(relation).length, 0) <= 260;

function redraw() {
  base.replaceChildren();
  const many = W > 1200;
  for (const relation of relations) {
    const across = acrossText(relation);
    if (across && !settings.through) continue;
    paint(base, relation, visible(relation), width[relation.name] || 1.3, across ? (many ? 0.3 : 0.75) : relation.name === "adjacency" ? 0.45 : 0.7, true);
  }
  drawOverview();
  highlight();
}
function relayout() {
  const intra = relations.some((relation) => relation.scope === "intra" && relation.name !== "adjacency" && visible(relation).length);
  doc.classList.toggle("roomy", intra || settings.through);
  measure();
  redraw();
}

// ---- Overview: every sentence a bar, every link between sentences an arc ---------------------------------------------
const overview = $(".overview"), map = draw("svg", { "aria-hidden": "true" });
const view = draw("rect", { class: "view", x: -4, rx: 4 }), mapArcs = draw("g", { class: "arcs" }), mapBars = draw("g"), mapFront = draw("g", { class: "arcs" });
map.append(view, mapBars, mapArcs, mapFront);
overview.append(map);
let mapY = [], room = 100; // the height of each sentence and the width for arcs, measured once a layout
function bulge(one, two) {
  const [y1, y2] = [mapY[one], mapY[two]], x = 34, far = x + 6 + (room - 8) * Math.sqrt(Math.abs(two - one) / Math.max(M - 1, 1));
  return `M${x} ${round(y1)}C${round(far)} ${round(y1)} ${round(far)} ${round(y2)} ${x} ${round(y2)}`;
}
function drawOverview() {
  const full = doc.scrollHeight, size = map.getBoundingClientRect();
  const scale = Math.min(1, size.height / full), longest = Math.max(...data.sentences.map((sentence) => sentence.length), 1);
  mapY = items.map((item) => (item.offsetTop + list.offsetTop + item.offsetHeight / 2) * scale);
  room = Math.max(size.width - 40, 20) * 1.25;
  mapBars.replaceChildren(...data.sentences.map((sentence, index) =>
    draw("line", { class: "bar", x1: 30, x2: 30 - 4 - 26 * (sentence.length / longest), y1: mapY[index], y2: mapY[index], "stroke-width": Math.max(1, Math.min(5, scale * 18)) })));
  mapArcs.replaceChildren();
  for (const relation of relations.filter(acrossText)) {
    const pairs = !shown.get(relation.name) ? [] : relation.name === "lexical" && settings.function ? data.allPairs : relation.sentencePairs;
    const faint = pairs.length > 80 ? 0.38 : 0.7;
    for (const heavy of [false, true]) {
      const d = pairs.filter(([, , strength]) => strength >= 1.5 === heavy).map(([one, two]) => bulge(one, two)).join("");
      if (d) mapArcs.append(draw("path", { d, opacity: heavy ? faint * 1.4 : faint, "stroke-width": heavy ? 1.8 : 1, style: `--hue:${hue(relation.name)}` }));
    }
  }
  moveView();
}
function moveView() {
  const size = map.getBoundingClientRect(), full = doc.scrollHeight, scale = Math.min(1, size.height / full);
  const top = Math.max(0, $("header").getBoundingClientRect().bottom - doc.getBoundingClientRect().top);
  const height = Math.min(full, window.innerHeight - $("header").offsetHeight) * scale;
  view.setAttribute("y", top * scale);
  view.setAttribute("height", Math.max(6, height));
  view.setAttribute("width", size.width + 4);
  view.style.display = full <= window.innerHeight - $("header").offsetHeight ? "none" : "";
}
function goTo(event) {
  const size = map.getBoundingClientRect(), full = doc.scrollHeight, scale = Math.min(1, size.height / full);
  const y = (event.clientY - size.top) / scale + doc.getBoundingClientRect().top + window.scrollY;
  window.scrollTo({ top: y - window.innerHeight / 2 });
}
map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); goTo(event); });
map.addEventListener("pointermove", (event) => { if (event.buttons) goTo(event); });

// ---- Following a word ------------------------------------------------------------------------------------------------------
let pinned = null, hovered = null, lit = [];
const followed = () => (hovered !== null ? hovered : pinned);

function linksOf(relation, word) { // { links to draw, nodes to light, how to list them }
  if (relation.name === "lexical" && data.lexical) {
    const others = occurrences(word);
    return { links: others.map((other) => (other < word ? [other, word] : [word, other])), nodes: others };
  }
  if (relation.name === "coreference") {
    const chain = chainOf(relation, word);
    return { links: chain.links, nodes: chain.nodes.filter((node) => node !== word) };
  }
  const links = relation.byNode.get(word) || [];
  return { links, nodes: [...new Set(links.flat())].filter((node) => node !== word).sort((a, b) => a - b) };
}
function highlight() {
  for (const element of lit) { element.classList.remove("hit", "self", "here", "on"); element.style.removeProperty("--hue"); }
  lit = [];
  front.replaceChildren();
  mapFront.replaceChildren();
  const word = followed();
  doc.classList.toggle("following", word !== null);
  if (word === null) return showHint();
  const light = (element, kind, color) => { element.classList.add(kind); if (color) element.style.setProperty("--hue", color); lit.push(element); };
  const parts = [], reached = new Set([sentenceOf(word)]);
  for (const relation of [...relations].sort((a, b) => (a.scope === "intra" ? 0 : 1) - (b.scope === "intra" ? 0 : 1))) {
    const found = linksOf(relation, word);
    if (!found.nodes.length) continue;
    parts.push({ relation, ...found });
    if (relation.name === "adjacency" || !shown.get(relation.name)) continue;
    paint(front, relation, found.links, (width[relation.name] || 1.3) + 0.6, found.links.length > 60 ? 0.45 : 0.95);
    for (const node of found.nodes) { if (node < W) light(words[node], "hit", hue(relation.name)); reached.add(sentenceOf(node)); }
    if (acrossText(relation)) {
      const d = found.links.filter(([a, b]) => sentenceOf(a) !== sentenceOf(b)).map(([a, b]) => bulge(sentenceOf(a), sentenceOf(b))).join("");
      const many = found.links.length > 60;
      if (d) mapFront.append(draw("path", { d, "stroke-width": many ? 1 : 1.6, opacity: many ? 0.35 : 1, style: `--hue:${hue(relation.name)}` }));
    }
  }
  light(words[word], "self");
  for (const sentence of reached) { light(items[sentence], "here"); light(mapBars.children[sentence], "on"); }
  mapArcs.style.opacity = 0.25;
  showWord(word, parts);
}

// ---- The panel --------------------------------------------------------------------------------------------------------------
const panel = $("aside");
const titles = { lexical: "Same form or lemma", coreference: "Coreference chain", dependency: "Syntax", adjacency: "Neighbours" };
function context(node) {
  const pieces = data.sentences[sentenceOf(node)].pieces;
  if (node >= W) return [pieces.slice(0, 20).join("")];
  const at = 2 * (node - data.sentences[sentenceOf(node)].first) + 1, from = Math.max(0, at - 8), to = at + 10;
  const left = (from > 0 ? "… " : "") + pieces.slice(from, at).join(""), right = pieces.slice(at + 1, to).join("") + (to < pieces.length ? "…" : "");
  return [make("i", { textContent: left.trimStart() }), make("b", { textContent: textOf(node) }), make("i", { textContent: right })];
}
function entry(node, remark) {
  const button = make("button", { type: "button" }, make("span", { className: "at", textContent: sentenceOf(node) + 1 }));
  const inside = remark && remark !== "▸"; // a neighbour in the same sentence needs no context
  button.append(make("span", {}, ...(remark ? [make("i", { textContent: remark + " " })] : []), ...(inside ? [make("b", { textContent: textOf(node) })] : context(node))));
  button.addEventListener("click", () => { if (node < W) { words[node].focus({ preventScroll: true }); pin(node); reveal(words[node]); } else reveal(items[node - W]); });
  return make("li", {}, button);
}
function syntax(word, node, links) { // "head (nsubj)": the label is on the dependent
  const isHead = links.some(([a, b]) => a === node && b === word), label = data.deprels ? ` (${data.deprels[isHead ? word : node]})` : "";
  return (isHead ? "head" : "dependent") + label;
}
function showWord(word, parts) {
  const facts = [`sentence ${sentenceOf(word) + 1}`];
  if (data.lemmas) facts.push(`lemma ${data.lemmas[word]}`);
  if (data.tags) facts.push(data.tags[word].toLowerCase());
  const degree = `edges: ${number.format(data.indegree[word])} in, ${number.format(data.outdegree[word])} out`;
  panel.replaceChildren(make("h2", { textContent: textOf(word), dir: "auto" }), make("div", { className: "meta", textContent: facts.join(" · ") }), make("div", { className: "meta", textContent: degree }));
  for (const { relation, nodes, links } of [...parts].reverse()) {
    if (relation.name === "adjacency") continue;
    const many = relation.name === "lexical" || relation.name === "coreference";
    const head = make("h3", { textContent: titles[relation.name] || relation.name }, make("span", { textContent: many ? `${number.format(nodes.length + 1)} words` : "" }));
    head.style.setProperty("--hue", hue(relation.name));
    const rows = make("ul"), all = many ? [...nodes, word].sort((a, b) => a - b) : nodes;
    rows.style.setProperty("--hue", hue(relation.name));
    const at = all.indexOf(word), from = many ? Math.max(0, Math.min(at - 20, all.length - 60)) : 0;
    if (from > 0) rows.append(make("li", { className: "meta", textContent: `… ${number.format(from)} before` }));
    for (const node of all.slice(from, from + 60))
      rows.append(entry(node, relation.name === "dependency" ? syntax(word, node, links) : node === word && many ? "▸" : ""));
    if (all.length > from + 60) rows.append(make("li", { className: "meta", textContent: `… ${number.format(all.length - from - 60)} after` }));
    panel.append(head, rows);
  }
  panel.classList.toggle("open", pinned !== null);
}
function showHint() {
  mapArcs.style.opacity = 1;
  panel.classList.remove("open");
  const keys = make("p", {}, "Keyboard: ", make("kbd", { textContent: "←" }), " ", make("kbd", { textContent: "→" }), " ", make("kbd", { textContent: "↑" }), " ", make("kbd", { textContent: "↓" }), " move, ", make("kbd", { textContent: "Enter" }), " pins, ", make("kbd", { textContent: "N" }), " next linked word, ", make("kbd", { textContent: "P" }), " previous, ", make("kbd", { textContent: "Esc" }), " lets go.");
  const hints = ["Hover over a word to follow it through the document; click to pin it."];
  if (data.lexical) hints.push("A repeated word has an edge to each of its later occurrences. Arcs join each occurrence to the next only; hover over a word to see all its edges.");
  if (data.lexical && function_.size && !settings.function) hints.push("Repetitions of punctuation and function words are counted; tick the option above to draw them.");
  if (!settings.through) hints.push(`The overview shows the ${data.strongest} strongest pairs of sentences of each relation. Links cross the text only for the word that you follow.`);
  const box = make("div", { className: "hint" }, ...hints.map((text) => make("p", { textContent: text })), keys);
  for (const note of data.notes) box.append(make("p", { className: "note", textContent: note }));
  panel.replaceChildren(box);
}
function reveal(element) {
  const box = element.getBoundingClientRect(), top = $("header").offsetHeight + 20;
  if (box.top < top || box.bottom > window.innerHeight - 60) element.scrollIntoView({ block: "center" });
}
function pin(word) {
  hovered = null;
  pinned = word;
  highlight();
}
const wordAt = (event) => { const span = event.target.closest && event.target.closest(".w"); return span ? Number(span.dataset.i) : null; };
doc.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse" && pinned === null) { hovered = wordAt(event); highlight(); } });
doc.addEventListener("pointerleave", () => { if (hovered !== null) { hovered = null; highlight(); } });
doc.addEventListener("click", (event) => { const word = wordAt(event); pin(word === pinned ? null : word); });
doc.addEventListener("focusin", (event) => {
  const word = wordAt(event);
  if (word === null) return;
  for (const other of doc.querySelectorAll('.w[tabindex="0"]')) other.tabIndex = -1;
  words[word].tabIndex = 0;
});
doc.addEventListener("keydown", (event) => {
  const word = wordAt(event);
  if (word === null || event.ctrlKey || event.metaKey || event.altKey) return;
  const first = (sentence) => data.sentenceOf.indexOf(sentence), here = sentenceOf(word);
  const above = data.sentenceOf[first(here) - 1], below = data.sentenceOf[data.sentenceOf.lastIndexOf(here) + 1];
  const linked = [...new Set(relations.filter((r) => acrossText(r) && shown.get(r.name)).flatMap((r) => linksOf(r, word).nodes))].filter((node) => node < W).sort((a, b) => a - b);
  const moves = {
    ArrowRight: word + 1, ArrowLeft: word - 1,
    ArrowDown: below === undefined ? undefined : first(below), ArrowUp: above === undefined ? undefined : first(above),
    n: linked.find((node) => node > word), p: linked.filter((node) => node < word).pop(),
  };
  if (event.key === "Enter" || event.key === " ") pin(word === pinned ? null : word);
  else if (event.key in moves) {
    const to = moves[event.key];
    if (to === undefined || !words[to]) return event.preventDefault();
    words[to].focus({ preventScroll: true });
    reveal(words[to]);
    if (pinned !== null) pin(to); else { hovered = to; highlight(); }
  } else return;
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (panel.contains(document.activeElement) && pinned !== null) words[pinned].focus(); // the button there vanishes
  pin(null);
});

// ---- Header and controls ---------------------------------------------------------------------------------------------------
$("h1").textContent = data.title;
$(".size").textContent = `${number.format(W)} words · ${number.format(M)} sentences · ${number.format(data.numEdges)} edges`;
const controls = $(".controls");
function toggle(label, checked, change, ...extra) {
  const box = make("input", { type: "checkbox", checked });
  box.addEventListener("change", () => { change(box.checked); relayout(); });
  return make("label", {}, box, ...extra, label);
}
for (const relation of relations) {
  const swatch = draw("svg", { viewBox: "0 0 26 12" }, draw("path", { d: relation.name === "adjacency" ? "M2 4C2 11 13 11 13 4C13 11 24 11 24 4" : "M2 11C4 -1 22 -1 24 11", fill: "none", stroke: hue(relation.name), "stroke-width": Math.max(1.6, width[relation.name] || 1.6), "stroke-dasharray": dash[relation.name] || "none" }));
  const label = toggle(relation.name, true, (value) => shown.set(relation.name, value), swatch);
  label.title = relation.doc;
  if (!relation.count) { label.classList.add("none"); label.firstChild.disabled = true; }
  label.append(make("span", { className: "count", textContent: number.format(relation.count) }));
  controls.append(label);
}
const option = (text, key) => { const label = toggle(text, settings[key], (value) => { settings[key] = value; }); label.className = "plain"; controls.append(label); };
if (data.lexical && function_.size) option("repetitions of function words", "function");
if (relations.some(acrossText)) option("all links through the text", "through");
const button = $(".theme"), root = document.documentElement;
function theme(name) { root.dataset.theme = name; button.textContent = name === "dark" ? "Light" : "Dark"; }
button.addEventListener("click", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

addEventListener("scroll", moveView, { passive: true });
addEventListener("resize", redraw);
new ResizeObserver(relayout).observe(doc);
if (document.fonts) document.fonts.ready.then(relayout);
if (location.hash.startsWith("#word-")) { const word = Number(location.hash.slice(6)); if (words[word]) { relayout(); pin(word); reveal(words[word]); } }
