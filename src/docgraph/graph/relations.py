"""The relations of a document graph: one pure function each, from annotation to links, and the registry of them.

A relation lists its edges by target where it can: the union then merges sorted runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Literal

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation, Layer
from docgraph.errors import DocgraphError
from docgraph.graph.lexical import Lexical
from docgraph.graph.links import Cliques, Edges, LongArray, ragged_ranges
from docgraph.graph.stopwords import is_function_word

Scope = Literal["structure", "intra", "inter", "alternative"]
Links = Edges | Lexical

GROUPS: dict[str, tuple[str, ...]] = {
    "intra": ("adjacency", "dependency"),
    "inter": ("lexical", "coreference"),
    "all": ("adjacency", "dependency", "lexical", "coreference"),
}
"""The paper's groups; any relation name is a group of one."""
ENTRY_POINTS = "docgraph.relations"
"""The entry-point group in which another package names its relations."""


@dataclass(frozen=True)
class RelationOptions:
    """What the relations can be asked to leave out; the defaults are the paper's."""

    skip_stop_words: bool = False
    """Leave punctuation and function words out of lexical links."""
    max_distance: int | None = None
    """Longest lexical, coreference or tf-idf link, in sentences; None is no limit, 0 stays within a sentence."""
    tfidf_neighbours: int = 3
    """How many earlier sentences the tf-idf relation links to a sentence."""

    def __post_init__(self) -> None:
        if self.max_distance is not None and self.max_distance < 0:
            raise DocgraphError(f"the maximal distance is a number of sentences, 0 or more, not {self.max_distance}")
        if self.tfidf_neighbours < 1:
            raise DocgraphError(f"tf-idf needs at least one neighbour a sentence, not {self.tfidf_neighbours}")


Build = Callable[[Annotation, RelationOptions], Links]


@dataclass(frozen=True)
class Relation:
    """A named relation, the layer it needs, and whether it links words of one sentence (intra) or of any (inter)."""

    name: str
    build: Build
    requires: Layer
    scope: Scope
    doc: str = field(default="", compare=False)


RELATIONS: dict[str, Relation] = {}


def relation(name: str, *, requires: Layer, scope: Scope) -> Callable[[Build], Build]:
    """Register a relation; `scope` is `structure`, `intra`, `inter` or `alternative` (linking other than words)."""

    def register(build: Build) -> Build:
        if name in RELATIONS or name in GROUPS:
            raise ValueError(f"the relation '{name}' is registered already")
        RELATIONS[name] = Relation(name, build, requires, scope, (build.__doc__ or "").strip().split("\n")[0])
        return build

    return register


def resolve_relations(names: str | Iterable[str]) -> tuple[str, ...]:
    """Relation names from names and groups, `membership` always first; an unknown name is an error."""
    names = [names] if isinstance(names, str) else list(names)
    chosen = ["membership"]
    for name in (part.strip() for entry in names for part in entry.split(",")):
        for member in GROUPS.get(name, (name,)):
            if member not in RELATIONS:
                _load_plugin(member)
            if member not in chosen:
                chosen.append(member)
    return tuple(chosen)


def _load_plugin(name: str) -> None:
    """Import the package that promised relation `name` by an entry point."""
    found = list(entry_points(group=ENTRY_POINTS, name=name))
    if not found:
        known = ", ".join([*GROUPS, *RELATIONS])
        raise DocgraphError(f"there is no relation '{name}'; choose among {known}")
    try:
        found[0].load()
    except (ImportError, AttributeError) as error:
        raise DocgraphError(
            f"the relation '{name}' is promised by '{found[0].value}', which does not load ({error}); reinstall it"
        ) from error
    if name not in RELATIONS:
        raise DocgraphError(f"'{found[0].value}' was to register the relation '{name}' by @relation and did not")


@relation("membership", requires="words", scope="structure")
def membership(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Word -> the node of its sentence."""
    words = np.arange(annotation.num_words, dtype=np.int32)
    return Edges(words, annotation.sentence_of + np.int32(annotation.num_words))


@relation("adjacency", requires="words", scope="intra")
def adjacency(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Word <-> the next word of its sentence, both ways."""
    left = np.flatnonzero(annotation.sentence_of[1:] == annotation.sentence_of[:-1]).astype(np.int32)
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
        skip, alike = is_function_word(annotation), lemmas is forms
        forms = np.where(skip, np.int32(-1), forms)
        lemmas = forms if alike else np.where(skip, np.int32(-1), lemmas)
    return Lexical.of_keys(forms, lemmas, annotation.sentence_of, options.max_distance)


@relation("coreference", requires="coreference", scope="inter")
def coreference(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Referent -> the later mention of it."""
    links = annotation.coreference
    if links is None or not len(links):
        return Edges.empty()
    edges = Edges(links[:, 0].copy(), links[:, 1].copy())
    if options.max_distance is None:
        return edges
    distance = annotation.sentence_of[edges.target] - annotation.sentence_of[edges.source]
    return edges.where(distance <= options.max_distance)


@relation("tfidf", requires="words", scope="alternative")
def tfidf(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Sentence node -> each later sentence it is among the nearest of, by tf-idf cosine over lemmas.

    The paper names the construction and no more; this is the usual one: a sentence is a bag of lemmas, idf counts
    sentences, and each sentence receives an edge from its `tfidf_neighbours` nearest earlier sentences (similarity
    above 0, the nearer sentence on a tie). Unlike the other relations it compares sentences pairwise, in blocks.
    """
    size, terms = annotation.num_sentences, (annotation.lemmas or annotation.forms).ids.astype(np.int64)
    if size < 2 or not len(terms):
        return Edges.empty()
    vocabulary = int(terms.max()) + 1
    cells, counts = np.unique(annotation.sentence_of.astype(np.int64) * vocabulary + terms, return_counts=True)
    rows, columns = np.divmod(cells, vocabulary)
    weights = counts * np.log(size / np.bincount(columns, minlength=vocabulary)[columns])
    norms = np.sqrt(np.bincount(rows, weights=weights**2, minlength=size))
    weights /= np.maximum(norms[rows], 1e-12)
    informative = np.flatnonzero(weights > 0)
    rows, columns, weights = rows[informative], columns[informative], weights[informative]
    sharing = Cliques.of_keys(np.arange(len(rows)), [columns], rows.astype(np.int32), options.max_distance)
    near = [_nearest(*block, options.tfidf_neighbours) for block in _similarities(sharing, rows, weights, size)]
    edges = Edges.join(near)
    return Edges(edges.source + np.int32(annotation.num_words), edges.target + np.int32(annotation.num_words))


def _similarities(
    sharing: Cliques, rows: LongArray, weights: npt.NDArray[np.float64], size: int, block: int = 1_000_000
) -> Iterable[tuple[LongArray, LongArray, npt.NDArray[np.float64]]]:
    """(earlier sentence, later sentence, cosine) of all pairs that share a term, some sentences at a time."""
    order = np.argsort(rows[sharing.nodes], kind="stable")  # by the later sentence
    counts = sharing.received[order]
    ends = np.searchsorted(rows[sharing.nodes[order]], np.arange(size), side="right")
    work = np.concatenate([[0], np.cumsum(counts)])[ends]
    begin = 0
    for end in [*ends[np.flatnonzero(np.diff(work // block))].tolist(), len(order)]:
        members, received = order[begin:end], counts[begin:end]
        earlier = sharing.nodes[ragged_ranges(sharing.first[members], received)]
        later = np.repeat(sharing.nodes[members], received)
        pairs, where = np.unique(rows[later] * size + rows[earlier], return_inverse=True)
        cosine = np.zeros(len(pairs))
        np.add.at(cosine, where, weights[earlier] * weights[later])
        yield pairs % size, pairs // size, cosine
        begin = end


def _nearest(earlier: LongArray, later: LongArray, cosine: npt.NDArray[np.float64], k: int) -> Edges:
    """The k most similar earlier sentences of each later one, ordered by the later, then the earlier."""
    # Sums in another order differ in the last digits; rounding keeps a tie a tie.
    order = np.lexsort((-earlier, -np.round(cosine, 9), later))
    earlier, later = earlier[order], later[order]
    rank = np.arange(len(later)) - np.searchsorted(later, later, side="left")
    chosen = rank < k
    source, target = earlier[chosen], later[chosen]
    order = np.lexsort((source, target))
    return Edges(source[order].astype(np.int32), target[order].astype(np.int32))
