"""The relations of a document graph: one pure function each, from annotation to links, and their registry.

A relation lists its edges by target where that costs nothing: the union then merges sorted runs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Literal

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation, BoolArray, Layer
from docgraph.errors import DocgraphError
from docgraph.graph.definitions import find_uses
from docgraph.graph.links import Cliques, Edges, LexicalLinks, Links, LongArray, ragged_ranges

Scope = Literal["structure", "intra", "inter", "alternative"]

GROUPS: dict[str, tuple[str, ...]] = {
    "intra": ("adjacency", "dependency"),
    "inter": ("lexical", "coreference"),
    "all": ("adjacency", "dependency", "lexical", "coreference"),
}
"""The paper's groups of relations; a relation name also stands for itself."""
BLOCK = 1_000_000
"""Links between sentences that share a term, compared at once."""
ENTRY_POINTS = "docgraph.relations"
"""The entry-point group under which other packages register relations."""
FUNCTION_POS = frozenset({"ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "PUNCT", "SCONJ", "SYM"})
"""Universal parts of speech of function words, punctuation and symbols."""


@dataclass(frozen=True)
class RelationOptions:
    """Options of the relations; the defaults are the paper's."""

    skip_stop_words: bool = False
    """Exclude punctuation and function words from lexical links."""
    max_distance: int | None = None
    """Longest lexical, coreference or tf-idf link, in sentences; None is no limit, 0 stays within a sentence."""
    tfidf_neighbours: int = 3
    """Number of earlier sentences that the tf-idf relation links to each sentence."""

    def __post_init__(self) -> None:
        if self.max_distance is not None and self.max_distance < 0:
            raise DocgraphError(f"max_distance must be 0 or more sentences, not {self.max_distance}")
        if self.tfidf_neighbours < 1:
            raise DocgraphError(f"tfidf_neighbours must be at least 1, not {self.tfidf_neighbours}")


Build = Callable[[Annotation, RelationOptions], Links]


@dataclass(frozen=True)
class Relation:
    """A registered relation."""

    name: str
    build: Build
    requires: Layer
    """The annotation layer that the relation reads."""
    scope: Scope
    """intra: within a sentence; inter: any two words; structure: word to sentence node; alternative: other nodes."""
    doc: str = field(default="", compare=False)
    """The first line of the docstring of `build`."""


RELATIONS: dict[str, Relation] = {}


def relation(name: str, *, requires: Layer, scope: Scope) -> Callable[[Build], Build]:
    """Returns a decorator that registers a relation; see `Relation` for `requires` and `scope`."""

    def register(build: Build) -> Build:
        if name in RELATIONS or name in GROUPS:
            raise ValueError(f"relation '{name}' is already registered")
        RELATIONS[name] = Relation(name, build, requires, scope, (build.__doc__ or "").strip().split("\n")[0])
        return build

    return register


def resolve_relations(names: str | Iterable[str]) -> tuple[str, ...]:
    """Returns the relations that comma-separated or listed names and groups stand for, `membership` always first.

    An unknown name is looked up among the entry points, and raises DocgraphError if it is not there either.
    """
    entries = [names] if isinstance(names, str) else list(names)
    resolved = ["membership"]
    for name in (part.strip() for entry in entries for part in entry.split(",")):
        for member in GROUPS.get(name, (name,)):
            if member not in RELATIONS:
                _load_plugin(member)
            if member not in resolved:
                resolved.append(member)
    return tuple(resolved)


def _load_plugin(name: str) -> None:
    """Imports the package whose entry point declares relation `name`."""
    entries = list(entry_points(group=ENTRY_POINTS, name=name))
    if not entries:
        known = ", ".join([*GROUPS, *RELATIONS])
        raise DocgraphError(f"there is no relation '{name}'; choose from {known}")
    module = entries[0].value
    try:
        entries[0].load()
    except (ImportError, AttributeError) as error:
        raise DocgraphError(
            f"relation '{name}' is declared by '{module}', which cannot be imported ({error}); reinstall it"
        ) from error
    if name not in RELATIONS:
        raise DocgraphError(
            f"'{module}' declares the relation '{name}' but does not register it; decorate it with @relation"
        )


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
def lexical(annotation: Annotation, options: RelationOptions = RelationOptions()) -> LexicalLinks:
    """Word -> every later word of the same form or lemma."""
    forms, lemmas = annotation.forms.ids, None if annotation.lemmas is None else annotation.lemmas.ids
    if options.skip_stop_words:
        skip = is_function_word(annotation)
        forms = np.where(skip, np.int32(-1), forms)
        lemmas = None if lemmas is None else np.where(skip, np.int32(-1), lemmas)
    return LexicalLinks.of_keys(
        forms, forms if lemmas is None else lemmas, annotation.sentence_of, options.max_distance
    )


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


@relation("definition", requires="words", scope="inter")
def definition(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Defining word -> the last word of each later use of the defined term.

    The defining words are the equivalent that the definition prints in brackets or, without one, the term itself.
    """
    links = [(word, used.stop - 1) for found, used in find_uses(annotation) for word in (found.printed or found.term)]
    pairs = np.array(links, dtype=np.int32).reshape(-1, 2)
    return Edges(pairs[:, 0].copy(), pairs[:, 1].copy())


@relation("tfidf", requires="words", scope="alternative")
def tfidf(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Similar earlier sentence node -> sentence node, by tf-idf cosine over lemmas.

    The paper does not specify the construction; this is the usual one. A sentence is a bag of lemmas, idf counts
    sentences, and each sentence receives an edge from its `tfidf_neighbours` most similar earlier sentences
    (similarity above 0; ties go to the later sentence). Unlike the other relations, it compares sentences pairwise,
    in blocks.
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
    blocks = _similarities(sharing, rows, weights, size)
    edges = Edges.join(_most_similar(*block, options.tfidf_neighbours) for block in blocks)
    return Edges(edges.source + np.int32(annotation.num_words), edges.target + np.int32(annotation.num_words))


def _similarities(
    sharing: Cliques, rows: LongArray, weights: npt.NDArray[np.float64], size: int
) -> Iterable[tuple[LongArray, LongArray, npt.NDArray[np.float64]]]:
    """Yields (earlier sentence, later sentence, cosine) of the pairs that share a term, about `BLOCK` links at once."""
    order = np.argsort(rows[sharing.nodes], kind="stable")  # by the later sentence
    counts = sharing.received[order]
    ends = np.searchsorted(rows[sharing.nodes[order]], np.arange(size), side="right")
    work = np.concatenate([[0], np.cumsum(counts)])[ends]
    begin = 0
    for end in [*ends[np.flatnonzero(np.diff(work // BLOCK))].tolist(), len(order)]:
        members, received = order[begin:end], counts[begin:end]
        earlier = sharing.nodes[ragged_ranges(sharing.first[members], received)]
        later = np.repeat(sharing.nodes[members], received)
        pairs, where = np.unique(rows[later] * size + rows[earlier], return_inverse=True)
        cosine = np.zeros(len(pairs))
        np.add.at(cosine, where, weights[earlier] * weights[later])
        yield pairs % size, pairs // size, cosine
        begin = end


def _most_similar(earlier: LongArray, later: LongArray, cosine: npt.NDArray[np.float64], k: int) -> Edges:
    """Returns edges from the k most similar earlier sentences to each later one, ordered by target, then source."""
    # Summation order changes the last digits; rounding keeps ties equal.
    order = np.lexsort((-earlier, -np.round(cosine, 9), later))
    earlier, later = earlier[order], later[order]
    rank = np.arange(len(later)) - np.searchsorted(later, later, side="left")
    chosen = rank < k
    source, target = earlier[chosen], later[chosen]
    order = np.lexsort((source, target))
    return Edges(source[order].astype(np.int32), target[order].astype(np.int32))


def is_function_word(annotation: Annotation) -> BoolArray:
    """Returns [W]: True at punctuation and, if parts of speech are annotated, at function words."""
    forms, upos = annotation.forms, annotation.upos
    skip: BoolArray = np.array([_is_punctuation(form) for form in forms.table], dtype=np.bool_)[forms.ids]
    if upos is not None:
        skip |= np.array([pos in FUNCTION_POS for pos in upos.table], dtype=np.bool_)[upos.ids]
    return skip


def _is_punctuation(form: str) -> bool:
    return all(unicodedata.category(character)[0] in "PSZ" for character in form)
