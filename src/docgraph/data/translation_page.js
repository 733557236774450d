// The page of a translation. Everything it shows comes from the JSON block; text enters the page as text only.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (selector) => document.querySelector(selector);
const number = new Intl.NumberFormat("en");
const percent = (value) => (value > 0 && value < 0.005 ? "<1%" : `${Math.round(100 * value)}%`);

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}
function bar(share) {
  const inner = make("i");
  inner.style.width = `${100 * Math.min(share, 1)}%`;
  return make("span", { className: "bar" }, inner);
}

// ---- Rows: a sentence each, source beside translation -----------------------------------------------------------------
const rows = []; // {sentence, document, place, element, source, target}
const tags = data.languages || ["", ""];
for (const document_ of data.documents) {
  if (data.documents.length > 1) $(".documents").append(make("h2", { textContent: document_.id }));
  const first = rows.length;
  document_.sentences.forEach((sentence, place) => {
    const source = make("div", { className: "cell source", lang: tags[0], dir: "auto", textContent: sentence.source });
    const target = make("div", { className: "cell target", lang: tags[1], dir: "auto", textContent: sentence.text });
    if (!sentence.candidates.length) target.classList.add("kept");
    const share = make("span", { className: "share" });
    if (sentence.gate !== undefined) {
      const inner = make("i");
      inner.style.height = `${100 * (1 - sentence.gate)}%`;
      share.append(inner);
      share.title = `context let in: ${percent(1 - sentence.gate)}`;
    }
    const element = make("div", { className: "row", tabIndex: rows.length ? -1 : 0 },
      make("span", { className: "n", textContent: place + 1 }), source, target, share);
    if (sentence.doubts.length) {
      element.classList.add("doubtful");
      element.title = sentence.doubts.join(", ");
    }
    const row = { sentence, first, place, index: rows.length, element, source, target };
    element.addEventListener("click", () => select(row));
    element.addEventListener("focus", () => select(row));
    rows.push(row);
    $(".documents").append(element);
  });
}

// ---- One sentence chosen: what it read is tinted, and listed beside ---------------------------------------------------
let chosen = null;
let tinted = [];

function tint(row) {
  for (const cell of tinted) { cell.style.removeProperty("--weight"); cell.classList.remove("read"); }
  tinted = [];
  for (const [side, context] of [["source", row.sentence.sourceContext], ["target", row.sentence.targetContext]])
    for (const [place, weight] of context || []) {
      const cell = rows[row.first + place][side];
      cell.style.setProperty("--weight", 8 + 52 * weight);
      cell.classList.add("read");
      tinted.push(cell);
    }
}
function contextList(title, hue, context, row, side) {
  if (!context || !context.length) return [];
  const heading = make("h2", {}, title, make("span", { textContent: "share of attention" }));
  const list = make("ul");
  for (const [place, weight] of context) {
    const other = rows[row.first + place];
    const text = side === "source" ? other.sentence.source : other.sentence.text;
    const button = make("button", { type: "button" },
      make("span", { className: "at", textContent: place + 1 }),
      make("span", { className: "text", dir: "auto", textContent: text }),
      make("span", { className: "weight", textContent: percent(weight) }), bar(weight));
    button.addEventListener("click", () => go(other));
    list.append(make("li", {}, button));
  }
  for (const part of [heading, list]) part.style.setProperty("--hue", hue);
  return [heading, list];
}
function hintsBy(sentence, ...relations) {
  return sentence.hints.filter(([, , , relation]) => relations.includes(relation));
}
function hintList(heading, hints, row) {
  if (!hints.length) return [];
  const list = make("ul");
  for (const [words, translation, place] of hints) {
    const text = make("span", { className: "text", dir: "auto", textContent: words ? `${words} ← ${translation}` : translation });
    if (place === null) { list.append(make("li", {}, text)); continue; }
    const button = make("button", { type: "button", title: `sentence ${place + 1}` },
      make("span", { className: "at", textContent: place + 1 }), text);
    button.addEventListener("click", () => go(rows[row.first + place]));
    list.append(make("li", {}, button));
  }
  for (const part of list.children) part.style.setProperty("--hue", "var(--target)");
  return [make("h2", { textContent: heading }), list];
}
function memoryList(entries) {
  if (!entries.length) return [];
  const list = make("ul", { className: "memory" }, ...entries.map(([source, target]) => make("li", {},
    make("span", { dir: "auto", textContent: source }), make("span", { dir: "auto", textContent: target }))));
  return [make("h2", { textContent: "From the translation memory" }), list];
}
function termList(terms) {
  if (!terms.length) return [];
  const list = make("ul", { className: "memory" }, ...terms.map(([source, target, used]) => make("li", {},
    make("span", { dir: "auto", textContent: source }),
    make("span", { dir: "auto", className: used ? "" : "doubts", textContent: used ? target : `${target} (not used)` }))));
  return [make("h2", { textContent: "From the glossary" }), list];
}
function select(row) {
  if (chosen === row) return;
  if (chosen) { chosen.element.removeAttribute("aria-current"); chosen.element.tabIndex = -1; }
  chosen = row;
  row.element.setAttribute("aria-current", "true");
  row.element.tabIndex = 0;
  tint(row);
  const { sentence } = row, facts = make("dl");
  if (sentence.candidates.length)
    facts.append(make("dt", { textContent: "score" }), make("dd", { textContent: sentence.candidates[0][1].toFixed(3) }));
  if (sentence.gate !== undefined) {
    const share = make("dd", {}, percent(1 - sentence.gate), bar(1 - sentence.gate));
    share.style.setProperty("--hue", "var(--gate)");
    facts.append(make("dt", { textContent: "context let in" }), share);
  }
  if (sentence.doubts.length)
    facts.append(make("dt", { textContent: "doubtful" }), make("dd", { className: "doubts", textContent: sentence.doubts.join(", ") }));
  const others = sentence.candidates.slice(1).map(([text, score]) =>
    make("li", { dir: "auto" }, text, " ", make("span", { textContent: score.toFixed(3) })));
  const read = [
    ...contextList("Source sentences read", "var(--source)", sentence.sourceContext, row, "source"),
    ...contextList("Translations read", "var(--target)", sentence.targetContext, row, "target"),
    ...hintList("Refers to", hintsBy(sentence, "coreference", "definition"), row),
    ...hintList("As in a known translation", hintsBy(sentence, "correction"), row),
    ...hintList("Read before it", hintsBy(sentence, "previous"), row),
    ...hintList("From the dictionary", hintsBy(sentence, "dictionary"), row),
    ...hintList("Read in plain words", hintsBy(sentence, "paraphrase"), row),
    ...memoryList(sentence.memory),
    ...termList(sentence.terms),
  ];
  const note = sentence.given ? "Its translation was given."
    : !sentence.candidates.length ? "There are no words in it: it stays as it is."
    : sentence.gate === undefined && !read.length ? "This model does not tell what it reads of other sentences."
    : read.length ? "" : "It read no other sentence.";
  $("aside").replaceChildren(
    make("p", { className: "of", dir: "auto", textContent: sentence.source }),
    make("p", { className: "translation", dir: "auto", textContent: sentence.text }),
    facts, ...read, ...(note ? [make("p", { className: "hint", textContent: note })] : []),
    ...(others.length ? [make("h2", { textContent: "Other translations" }), make("ol", { start: 2 }, ...others)] : []));
}
function go(row) {
  row.element.hidden = false; // a row that the filter hides cannot have the focus
  row.element.focus({ preventScroll: true });
  select(row);
  row.element.scrollIntoView({ block: "nearest" });
}
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, Home: -Infinity, End: Infinity }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || !rows.length || event.target.closest("aside")) return;
  event.preventDefault();
  const from = chosen ? chosen.index : -1;
  let index = Math.max(0, Math.min(rows.length - 1, from + step));
  const shown = (row) => !row.element.hidden;
  while (rows[index] && !shown(rows[index])) index += Math.sign(step) * (Number.isFinite(step) ? 1 : -1);
  if (rows[index]) go(rows[index]);
});

// ---- The head of the page ---------------------------------------------------------------------------------------------
function theme(name) {
  document.documentElement.dataset.theme = name;
  $(".switch").textContent = name === "dark" ? "Light" : "Dark";
}
theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
$(".switch").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
const doubtful = rows.filter((row) => row.sentence.doubts.length).length;
$(".filter").hidden = !doubtful;
$(".filter").textContent = `Doubtful (${number.format(doubtful)})`;
$(".filter").addEventListener("click", () => {
  const on = $(".filter").getAttribute("aria-pressed") !== "true";
  $(".filter").setAttribute("aria-pressed", on);
  for (const row of rows) row.element.hidden = on && !row.sentence.doubts.length;
  const first = rows.find((row) => !row.element.hidden);
  if (first && (!chosen || chosen.element.hidden)) first.element.tabIndex = 0; // the others are not reached by Tab
});
$("h1").textContent = data.title || "Translation";
const passes = Math.max(0, ...data.documents.map((each) => each.passes));
$(".size").textContent = [
  data.languages ? data.languages.join(" → ") : "",
  `${number.format(rows.length)} ${rows.length === 1 ? "sentence" : "sentences"}`,
  passes > 1 ? `${passes} passes` : "",
].filter(Boolean).join(" · ");
$("aside").append(
  make("p", { className: "hint" }, "Choose a sentence, or move with ", make("kbd", { textContent: "↑" }), " ", make("kbd", { textContent: "↓" }),
    ", to see which other sentences it read while it was translated, and how far its gates let them in."),
  make("p", { className: "hint", textContent: "The bar at the end of a row is the share of context let in." }));
const start = Number(location.hash.slice(1));
if (start && rows[start - 1]) go(rows[start - 1]);
