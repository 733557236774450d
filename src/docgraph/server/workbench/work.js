// Work: one document under correction, as the page knows it. It speaks to the server and tells its listeners what
// changed: "job", "sentences" (detail: indices), "list" (other sentences altogether), "graph", "glossary", "comparison",
// "activity" (what the server is doing for the user), "current", "inspected" (the sentence that is explained), "reads" (what it read), "chain" (the chain that is lit),
// "view" (filter or search), "connection".

import * as api from "./api.js";
import { commonest, folded } from "./text.js";
import { store, stored } from "./dom.js";
import { draftKey } from "./editor.js";

const USUAL = 2 / 3; // share of the places of a word that have its usual translation
const FEW = 5; // places: below, half of them are enough
const GRAPH_DELAY = 500; // milliseconds without changes before the graph is read again

export class Work extends EventTarget {
  constructor(job) {
    super();
    this.job = job;
    this.sentences = [];
    this.isRead = false; // whether the server has told the sentences
    this.chains = [];
    this.chainsAt = new Map(); // sentence -> [{chain, word}]
    this.graphState = "none";
    this.glossary = [];
    this.comparison = null; // Map: index -> translation without context, while it is shown
    this.alone = null; // the same as the server told it
    this.current = Number(stored(`at.${job.id}`, 0));
    this.hovered = null; // the sentence under a resting pointer
    this.reads = { index: null, source: [], target: [] }; // what a sentence read: [{sentence, weight}]
    this.lit = null; // the chain that is lit
    this.filter = "all";
    this.query = "";
    this.dirty = new Set();
    this.unsaved = new Map(); // sentence -> text that was typed and that the server does not have
    this.activities = []; // what the server is doing for the user: names of texts
    this.changes = Promise.resolve(); // the last change that was sent
  }

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** Calls listener(detail) whenever any of the named events happens. */
  on(types, listener) {
    for (const type of types.split(" ")) this.addEventListener(type, (event) => listener(event.detail));
  }

  async open() {
    await this.readSentences();
    this.stop = api.follow(
      this.job.id,
      this.job.revision,
      (event, data) => this.receive(event, data),
      (connected) => this.emit("connection", connected),
    );
    this.readGlossary();
    if (!isBeingTranslated(this.job)) this.readGraph();
  }

  close() {
    this.stop?.();
    clearTimeout(this.graphTimer);
    clearTimeout(this.arrangeTimer);
    this.closed = true;
  }

  /** Reads all sentences; listeners hear of a new list only if it has another length. */
  async readSentences() {
    const sentences = await api.getSentences(this.job.id);
    const isNew = sentences.length !== this.sentences.length || !sentences.length;
    this.sentences = sentences;
    this.isRead = true;
    this.current = Math.min(this.current, Math.max(0, sentences.length - 1));
    if (isNew) this.readDrafts();
    this.hovered = null;
    if (isNew) this.emit("list");
    else this.emit("sentences", [...sentences.keys()]);
    this.emit("inspected");
  }

  /** Finds what was typed before the page was closed or loaded again. */
  readDrafts() {
    for (const { index, translation } of this.sentences) {
      const draft = stored(draftKey(this, index));
      if (draft && draft !== translation) this.unsaved.set(index, draft);
    }
  }

  async readGlossary() {
    this.glossary = await api.getGlossary(this.job.id).catch(() => this.glossary); // kept if the server is not reached
    this.emit("glossary");
  }

  receive(event, data) {
    if (event === "sentence") this.update(data);
    else if (event === "state") this.setJob(data);
    else if (event === "error") this.emit("error", data.message ?? data.error?.message);
  }

  setJob(job) {
    const isOver = isBeingTranslated(this.job) && !isBeingTranslated(job);
    this.job = job;
    this.emit("job");
    if (job.sentences !== this.sentences.length && !this.reading) {
      this.reading = this.readSentences().finally(() => (this.reading = null));
    }
    if (isOver) this.readGraph();
  }

  /** Takes a sentence from the server; listeners hear of many at once, a frame later. */
  update(sentence) {
    if (!this.sentences[sentence.index]) return;
    const before = this.sentences[sentence.index];
    this.sentences[sentence.index] = sentence;
    if (this.graphState !== "none" && before.translation !== sentence.translation) this.readGraphSoon();
    else if (this.graph && before.state !== sentence.state) this.arrangeSoon();
    if (!this.dirty.size) requestAnimationFrame(() => this.flush());
    this.dirty.add(sentence.index);
  }

  flush() {
    const indices = [...this.dirty];
    this.dirty.clear();
    if (indices.length) this.emit("sentences", indices);
  }

  // The graph ------------------------------------------------------------------------------------------------------

  readGraphSoon() {
    clearTimeout(this.graphTimer);
    this.graphTimer = setTimeout(() => this.readGraph(), GRAPH_DELAY);
  }

  /** Sorts the chains again when changes have settled. */
  arrangeSoon() {
    clearTimeout(this.arrangeTimer);
    this.arrangeTimer = setTimeout(() => this.arrange(), GRAPH_DELAY);
  }

  async readGraph() {
    if (this.closed) return undefined;
    if (this.graphState === "none") this.graphState = "reading";
    let graph;
    try {
      const isFirst = this.graphState === "reading";
      graph = await (isFirst ? this.during("graph", api.getGraph(this.job.id)) : api.getGraph(this.job.id));
    } catch {
      this.graphState = this.chains.length ? "read" : "failed";
      return this.emit("graph");
    }
    this.graph = graph;
    this.graphState = "read";
    return this.arrange();
  }

  /** Sorts the chains of the graph, and the translations of each. */
  arrange() {
    const key = this.lit && chainKey(this.lit);
    const isConfirmed = (word) => this.sentences[word.sentence]?.state === "confirmed";
    this.chains = this.graph.chains
      .filter(isInformative)
      .map((chain, id) => ({ ...chain, id, ...variantsOf(chain, isConfirmed) }))
      .sort((a, b) => b.isBad - a.isBad || b.words.length - a.words.length);
    this.chainsAt = new Map();
    for (const chain of this.chains) {
      for (const word of chain.words) {
        if (!this.chainsAt.has(word.sentence)) this.chainsAt.set(word.sentence, []);
        this.chainsAt.get(word.sentence).push({ chain, word });
      }
    }
    this.lit = key ? (this.chains.find((chain) => chainKey(chain) === key) ?? null) : null;
    this.emit("graph");
    return this.emit("chain");
  }

  /** Returns [{chain, word}] of a sentence in its order. A word of two chains is listed once, with the longer one. */
  linkedWords(index) {
    const seen = new Set();
    const isNew = ({ word }) => !seen.has(word.start) && seen.add(word.start);
    return (this.chainsAt.get(index) ?? []).filter(isNew).sort((a, b) => a.word.start - b.word.start);
  }

  light(chain) {
    if (this.lit === chain) return;
    this.lit = chain;
    this.emit("chain");
  }

  // Selection ------------------------------------------------------------------------------------------------------

  get sentence() {
    return this.sentences[this.current];
  }

  /** The sentence that is explained: the one under the pointer, or the current one. */
  get inspected() {
    return this.sentences[this.hovered ?? this.current];
  }

  hover(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.emit("inspected");
  }

  setReads(index, source, target) {
    this.reads = { index, source, target };
    this.emit("reads");
  }

  select(index) {
    if (index === this.current || !this.sentences[index]) return;
    this.current = index;
    this.hovered = null;
    store(`at.${this.job.id}`, String(index));
    this.emit("current");
    this.emit("inspected");
  }

  setView(filter, query) {
    this.filter = filter;
    this.query = query;
    this.emit("view");
  }

  /** Whether the filter and the search keep a sentence. */
  shows(sentence) {
    if (!FILTERS[this.filter](sentence, this)) return false;
    if (!this.query) return true;
    const query = folded(this.query);
    return folded(sentence.source).includes(query) || folded(sentence.translation ?? "").includes(query);
  }

  /** Returns the next sentence that a filter keeps, in a direction and around the end; null if there is none. */
  next(filter, direction = 1, from = this.current) {
    const count = this.sentences.length;
    for (let step = 1; step <= count; step++) {
      const index = (from + direction * step + count * step) % count;
      if (FILTERS[filter](this.sentences[index], this)) return index;
    }
    return null;
  }

  count(filter) {
    return this.sentences.reduce((total, sentence) => total + FILTERS[filter](sentence, this), 0);
  }

  indices(filter) {
    return this.sentences.filter((sentence) => FILTERS[filter](sentence, this)).map((sentence) => sentence.index);
  }

  // Changes --------------------------------------------------------------------------------------------------------

  /** Tells listeners of an activity until a promise is settled; returns the promise. */
  during(activity, promise) {
    this.activities.push(activity);
    this.emit("activity");
    return promise.finally(() => {
      this.activities.splice(this.activities.indexOf(activity), 1);
      this.emit("activity");
    });
  }

  /** Calls the server when earlier changes are done. */
  inTurn(send) {
    const sent = this.during("change", this.changes.then(send));
    this.changes = sent.catch(() => {}); // a change that fails does not stop the next one
    return sent;
  }

  /** Stores a translation; returns the changes that follow in linked sentences. */
  correct(index, translation, confirm) {
    return this.inTurn(() => this.sendCorrection(index, translation, confirm));
  }

  async sendCorrection(index, translation, confirm) {
    const before = this.sentences[index];
    let answer;
    try {
      answer = await api.correct(this.job.id, index, translation, confirm, before.revision);
    } catch (error) {
      if (error.status !== 409) throw error;
      await this.readSentences();
      const now = this.sentences[index];
      // A proposal, or the first translation, that arrived meanwhile is no conflict; another translation is.
      const isFirst = before.state === "waiting" && now.state !== "confirmed";
      if (!isFirst && (now.translation !== before.translation || now.state !== before.state)) throw error;
      answer = await api.correct(this.job.id, index, translation, confirm, now.revision);
    }
    this.update(answer.sentence);
    this.setJob(answer.job);
    store(draftKey(this, index), null);
    this.unsaved.delete(index);
    return answer.changes;
  }

  decide(verb, indices) {
    return this.inTurn(() => this.changed(api[verb](this.job.id, indices)));
  }

  /** Goes on with a translation that was cancelled or failed. */
  async resume() {
    this.setJob(await api.resume(this.job.id));
  }

  /** Undoes or redoes a change. */
  step(verb) {
    return this.inTurn(async () => {
      const changes = await this.changed(api[verb](this.job.id));
      await this.readGlossary();
      return changes;
    });
  }

  setGlossary(entries) {
    return this.inTurn(async () => {
      const changes = await this.changed(api.putGlossary(this.job.id, entries));
      this.glossary = entries;
      this.emit("glossary");
      return changes;
    });
  }

  async changed(answer) {
    const { changes, job } = await answer;
    this.setJob(job);
    return changes;
  }

  /** Reads the translations without context, or drops them. */
  async compare() {
    if (this.comparison) this.comparison = null;
    else {
      // No correction changes what a sentence is translated to alone, so that the server is asked once.
      this.alone ??= await this.during("compare", api.getComparison(this.job.id));
      this.comparison = new Map(this.alone.map((each) => [each.index, each.translation]));
    }
    if (this.filter === "different" && !this.comparison) this.filter = "all";
    this.emit("comparison");
  }
}

export function isBeingTranslated(job) {
  return job.state === "queued" || job.state === "running";
}

const FILTERS = {
  all: () => true,
  waiting: (sentence) => sentence.state === "waiting",
  doubtful: (sentence) => sentence.doubtful.length > 0 && sentence.state !== "confirmed",
  proposals: (sentence) => sentence.proposal !== null,
  open: (sentence) => sentence.state === "translated",
  confirmed: (sentence) => sentence.state === "confirmed",
  different: (sentence, work) => {
    const plain = work.comparison?.get(sentence.index);
    return plain !== undefined && plain !== null && plain !== sentence.translation;
  },
};

/** Returns {variants, isBad}: the translations of a chain as [{text, words}], the usual one first, and whether it is
 * inconsistent. Plurals and feminines count as one. In an inconsistent chain, what the user confirmed is usual. */
function variantsOf(chain, isConfirmed) {
  const variants = new Map();
  for (const word of chain.words) {
    const key = folded(word.translation?.text ?? "").replace(/(?<=\p{L}{3})(?:es|[esx])$/u, "");
    if (!variants.has(key)) variants.set(key, []);
    variants.get(key).push(word);
  }
  const sorted = [...variants.values()]
    .map((words) => ({ text: commonest(words.map((word) => word.translation?.text ?? "")), words }))
    .sort((a, b) => !a.text - !b.text || b.words.length - a.words.length);
  if (!isInconsistent(chain, sorted)) return { variants: sorted, isBad: false };
  const confirmed = ({ text, words }) => (text ? words.filter(isConfirmed).length : -1);
  return { variants: sorted.sort((a, b) => confirmed(b) - confirmed(a)), isBad: true };
}

/** Whether a chain tells a translator something: mentions in the same words are in the chain of that word already. */
function isInformative(chain) {
  return chain.relation === "lexical" || new Set(chain.words.map((word) => folded(word.text))).size > 1;
}

/** Whether a word has a usual translation and exceptions. Words such as "take" have many, and none is usual. */
function isInconsistent({ consistent }, variants) {
  const named = variants.filter((variant) => variant.text);
  const total = named.reduce((sum, variant) => sum + variant.words.length, 0);
  const share = named.length ? named[0].words.length / total : 1;
  return !consistent && named.length > 1 && share >= (total < FEW ? 1 / 2 : USUAL);
}

function chainKey(chain) {
  const [first] = chain.words;
  return `${chain.relation} ${first.sentence} ${first.start}`;
}
