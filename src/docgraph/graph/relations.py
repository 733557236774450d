"""The relations of a document graph: one pure function each, from annotation to links.

`lexical` links are a union of two equivalences (same form, same lemma). Their cliques overlap, so the union is written
as form + lemma - both, each a set of cliques: that keeps it linear, and every edge still counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from docgraph.annotation import Annotation, BoolArray, IntArray, Layer, int_array
from docgraph.graph.links import Cliques, Edges, LongArray
from docgraph.graph.stopwords import is_function_word


@dataclass(frozen=True)
class RelationOptions:
    """What the relations can be asked to leave out; the defaults are the paper's."""

    skip_stop_words: bool = False
    """Leave punctuation and function words out of lexical links."""
    max_distance: int | None = None
    """Longest lexical or coreference link, in sentences; None is no limit."""
    tfidf_neighbours: int = 3
    """How many earlier sentences the tf-idf relation links to a sentence."""


@dataclass(frozen=True, eq=False)
class Lexical:
    """Same form or same lemma: |form| + |lemma| - |both|."""

    form: Cliques
    lemma: Cliques
    both: Cliques
    keys: tuple[IntArray, IntArray]
    """(form id, lemma id) of every word, [W] each; -1 where a word is left out."""
    position: IntArray
    """[W]: the sentence of each word."""
    reach: int | None = None

    @property
    def signed(self) -> tuple[tuple[int, Cliques], ...]:
        """The three sets of cliques with the sign they enter the union with."""
        return (1, self.form), (1, self.lemma), (-1, self.both)

    def __len__(self) -> int:
        return sum(sign * len(cliques) for sign, cliques in self.signed)

    def covers(self, edges: Edges) -> BoolArray:
        """[E]: which of the edges are lexical links."""
        words = len(self.position)
        inside = (edges.source < words) & (edges.target < words) & (edges.source < edges.target)
        source, target = np.where(inside, edges.source, 0), np.where(inside, edges.target, 0)
        if not words:
            return inside
        same = np.zeros(len(edges), dtype=np.bool_)
        for key in self.keys:
            same |= (key[source] == key[target]) & (key[source] >= 0)
        if self.reach is not None:
            same &= np.abs(self.position[source] - self.position[target]) <= self.reach
        covered: BoolArray = same & inside
        return covered

    def degrees(self, num_nodes: int) -> tuple[LongArray, LongArray]:
        parts = [(sign, cliques.degrees(num_nodes)) for sign, cliques in self.signed]
        return sum(sign * d[0] for sign, d in parts), sum(sign * d[1] for sign, d in parts)  # type: ignore[return-value]

    def expand(self) -> Edges:
        num_nodes = max(len(self.position), 1)
        return Edges.join([self.form.expand(), self.lemma.expand()]).unique(num_nodes)


def join_lexical(parts: Sequence[Lexical]) -> Lexical:
    """The lexical links of many documents side by side, none across documents."""
    words = np.cumsum([0, *(len(part.position) for part in parts)])
    sentences = np.cumsum([0, *(int(part.position.max(initial=-1)) + 1 for part in parts)])
    keys: list[IntArray] = []
    for side in range(2):
        bases = np.cumsum([0, *(int(part.keys[side].max(initial=-1)) + 1 for part in parts)])
        shifted = [
            np.where(part.keys[side] >= 0, part.keys[side] + base, -1) for part, base in zip(parts, bases, strict=False)
        ]
        keys.append(np.concatenate([np.empty(0, np.int32), *shifted]).astype(np.int32))
    form, lemma, both = (
        Cliques.join([(getattr(part, name), int(base)) for part, base in zip(parts, words, strict=False)])
        for name in ("form", "lemma", "both")
    )
    position = np.concatenate(
        [np.empty(0, np.int32), *(part.position + base for part, base in zip(parts, sentences, strict=False))]
    )
    reach = parts[0].reach if parts else None
    return Lexical(form, lemma, both, (keys[0], keys[1]), position.astype(np.int32), reach)


Links = Edges | Lexical
Build = Callable[[Annotation, RelationOptions], Links]


@dataclass(frozen=True)
class Relation:
    """A named relation, the layer it needs, and whether it links words of one sentence (intra) or of any (inter)."""

    name: str
    build: Build
    requires: Layer
    scope: str
    doc: str = field(default="", compare=False)


RELATIONS: dict[str, Relation] = {}


def relation(name: str, *, requires: Layer, scope: str) -> Callable[[Build], Build]:
    """Register a relation; `scope` is `structure`, `intra`, `inter` or `alternative` (outside the groups)."""

    def register(build: Build) -> Build:
        RELATIONS[name] = Relation(name, build, requires, scope, (build.__doc__ or "").strip().split("\n")[0])
        return build

    return register


def _within(edges: Edges, annotation: Annotation, options: RelationOptions) -> Edges:
    if options.max_distance is None:
        return edges
    distance = np.abs(annotation.sentence_of[edges.source] - annotation.sentence_of[edges.target])
    return edges.where(distance <= options.max_distance)


@relation("membership", requires="words", scope="structure")
def membership(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Word -> the node of its sentence."""
    words = np.arange(annotation.num_words, dtype=np.int32)
    return Edges(words, annotation.sentence_of + np.int32(annotation.num_words))


@relation("adjacency", requires="words", scope="intra")
def adjacency(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Word <-> the next word of its sentence, both ways."""
    left = np.flatnonzero(np.diff(annotation.sentence_of) == 0).astype(np.int32)
    return Edges(np.concatenate([left, left + 1]), np.concatenate([left + 1, left]))


@relation("dependency", requires="heads", scope="intra")
def dependency(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Head -> dependent."""
    if annotation.heads is None:
        return Edges.empty()
    dependents = np.flatnonzero(annotation.heads != np.arange(annotation.num_words)).astype(np.int32)
    return Edges(annotation.heads[dependents], dependents)


@relation("lexical", requires="words", scope="inter")
def lexical(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Lexical:
    """Word -> every later word of the same form or lemma."""
    forms = annotation.forms.ids
    lemmas = forms if annotation.lemmas is None else annotation.lemmas.ids
    if options.skip_stop_words:
        skip = is_function_word(annotation)
        forms, lemmas = np.where(skip, np.int32(-1), forms), np.where(skip, np.int32(-1), lemmas)
    words = np.flatnonzero(forms >= 0).astype(np.int32)
    position, reach = annotation.sentence_of, options.max_distance
    pairs = forms[words].astype(np.int64) * (int(lemmas.max(initial=0)) + 1) + lemmas[words]
    form, lemma, both = (
        Cliques.of_keys(words, keys, position[words], reach) for keys in (forms[words], lemmas[words], pairs)
    )
    return Lexical(form, lemma, both, (forms, lemmas), position, reach)


@relation("coreference", requires="coreference", scope="inter")
def coreference(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Referent -> the later mention of it."""
    links = annotation.coreference
    if links is None or not len(links):
        return Edges.empty()
    return _within(Edges(links[:, 0].copy(), links[:, 1].copy()), annotation, options)


@relation("tfidf", requires="words", scope="alternative")
def tfidf(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Sentence node -> each later sentence it is among the nearest of, by tf-idf cosine over lemmas.

    The paper names the construction and no more; this is the usual one: a sentence is a bag of lemmas, idf counts
    sentences, and each sentence receives an edge from its `tfidf_neighbours` nearest earlier sentences.
    """
    size, terms = annotation.num_sentences, (annotation.lemmas or annotation.forms).ids.astype(np.int64)
    if size < 2 or not len(terms):
        return Edges.empty()
    vocabulary = int(terms.max()) + 1
    cells, counts = np.unique(annotation.sentence_of.astype(np.int64) * vocabulary + terms, return_counts=True)
    rows, columns = np.divmod(cells, vocabulary)
    idf = np.log(size / np.maximum(np.bincount(columns, minlength=vocabulary), 1))
    weights = counts * idf[columns]
    norms = np.sqrt(np.bincount(rows, weights=weights**2, minlength=size))
    weights = weights / np.maximum(norms[rows], 1e-12)
    sources, targets = [], []
    for sentence, near in enumerate(
        _nearest_earlier(rows, columns, weights, size, vocabulary, options.tfidf_neighbours)
    ):
        sources.extend(near)
        targets.extend([sentence] * len(near))
    words = annotation.num_words
    return Edges(int_array(source + words for source in sources), int_array(target + words for target in targets))


def _nearest_earlier(
    rows: LongArray, columns: LongArray, weights: np.ndarray, size: int, vocabulary: int, k: int
) -> list[list[int]]:
    """For each sentence its k most similar earlier sentences (similarity above 0), nearer first on ties."""
    postings = np.argsort(columns, kind="stable")  # by term, then sentence
    opens = np.searchsorted(columns[postings], np.arange(vocabulary + 1))
    starts = np.searchsorted(rows, np.arange(size + 1))
    similarity = np.zeros(size)
    result: list[list[int]] = []
    for sentence in range(size):
        similarity[:] = 0
        for cell in range(starts[sentence], starts[sentence + 1]):
            if weights[cell] > 0:
                hits = postings[opens[columns[cell]] : opens[columns[cell] + 1]]
                similarity[rows[hits]] += weights[cell] * weights[hits]
        earlier = similarity[:sentence][::-1]
        best = np.argsort(-earlier, kind="stable")[:k]
        result.append(sorted(int(sentence - 1 - b) for b in best if earlier[b] > 1e-9))
    return result


GROUPS: dict[str, tuple[str, ...]] = {
    "intra": ("adjacency", "dependency"),
    "inter": ("lexical", "coreference"),
    "all": ("adjacency", "dependency", "lexical", "coreference"),
}
"""The paper's groups; any relation name is a group of one."""
