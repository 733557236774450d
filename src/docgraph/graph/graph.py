"""DocumentGraph: nodes, links by relation, their binary union, degrees; building and batching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from docgraph.annotation import Annotation, IntArray, Strings
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph.links import Edges, LexicalLinks, Links, LongArray
from docgraph.graph.relations import RELATIONS, RelationOptions, resolve_relations

NOTEBOOK_SENTENCES = 300
"""A notebook shows the drawing of a graph with at most this many sentences, otherwise its repr."""


@dataclass(frozen=True, eq=False, repr=False)
class DocumentGraph:
    """A directed graph over W word nodes (0..W-1) and M sentence nodes (W..W+M-1)."""

    num_words: int
    num_sentences: int
    sentence_of: IntArray
    """[W]: the sentence of each word."""
    relations: dict[str, Links]
    """The links of each relation."""
    words: Strings | None = None
    """The text of each word; None in a batch."""
    documents: IntArray | None = None
    """[D+1]: in a batch, the sentences of document d are documents[d] .. documents[d+1]-1; None for one document."""
    document: Document | None = None
    """The document, if it was passed to `build_graph`; drawings need it."""
    annotation: Annotation | None = None
    """The annotation of `document`."""

    def __repr__(self) -> str:
        counts = [(self.num_sentences, "sentence"), (self.num_words, "word"), (self.num_edges, "edge")]
        if self.documents is not None:
            counts.insert(0, (len(self.documents) - 1, "document"))
        parts = ", ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
        return f"DocumentGraph({parts})"

    def _repr_svg_(self) -> str | None:
        """Returns the drawing that a notebook shows; None if there is no text to draw or too much of it."""
        if self.document is None or self.annotation is None or self.num_sentences > NOTEBOOK_SENTENCES:
            return None
        from docgraph.graph.drawing import to_svg

        return to_svg(self)

    def annotated_document(self) -> tuple[Document, Annotation]:
        """Returns the document and its annotation; a DocgraphError if the graph was built without the document."""
        if self.document is None or self.annotation is None:
            raise DocgraphError("this graph has no text to draw; call build_graph(annotation, document=document)")
        return self.document, self.annotation

    @property
    def num_nodes(self) -> int:
        """Number of word and sentence nodes."""
        return self.num_words + self.num_sentences

    def edges(self, relation: str) -> Edges:
        """Returns the explicit edge list of one relation."""
        return self.relations[relation].expand()

    @property
    def lexical(self) -> LexicalLinks | None:
        """The lexical links as cliques; None if the graph has none or lists them as edges."""
        links = self.relations.get("lexical")
        return links if isinstance(links, LexicalLinks) else None

    @cached_property
    def explicit(self) -> Edges:
        """The edges of the union that are not in `lexical`: the two together are the adjacency matrix A."""
        lexical = self.lexical
        others = Edges.join(links.expand() for links in self.relations.values() if links is not lexical).unique()
        return others if lexical is None else others.where(~lexical.covers(others))

    def union(self) -> Edges:
        """Returns the binary union of all relations (equation 5): each edge once, ordered by target, then source."""
        return Edges.join(links.expand() for links in self.relations.values()).unique()

    @cached_property
    def num_edges(self) -> int:
        """Number of edges in the union, counted without expanding."""
        return len(self.explicit) + (len(self.lexical) if self.lexical is not None else 0)

    @cached_property
    def degrees(self) -> tuple[LongArray, LongArray]:
        """In- and out-degree in the union, [N] each (equation 6), without expanding."""
        indegree = np.bincount(self.explicit.target, minlength=self.num_nodes)
        outdegree = np.bincount(self.explicit.source, minlength=self.num_nodes)
        if self.lexical is not None:
            extra_in, extra_out = self.lexical.degrees(self.num_nodes)
            indegree, outdegree = indegree + extra_in, outdegree + extra_out
        return indegree, outdegree

    @cached_property
    def sentence_of_node(self) -> IntArray:
        """[N]: the sentence of each word node and sentence node."""
        return np.concatenate([self.sentence_of, np.arange(self.num_sentences, dtype=np.int32)])

    @cached_property
    def place_in_sentence(self) -> IntArray:
        """[W]: the index of each word in its sentence, from 0."""
        first = np.searchsorted(self.sentence_of, self.sentence_of, side="left")
        return (np.arange(self.num_words) - first).astype(np.int32)

    def text(self, node: int) -> str:
        """Returns the text of a word node; empty for a sentence node."""
        return self.words[node] if self.words is not None and node < self.num_words else ""


def build_graph(
    annotation: Annotation,
    relations: str | Iterable[str] = "all",
    options: RelationOptions = RelationOptions(),
    document: Document | None = None,
) -> DocumentGraph:
    """Returns the document graph of an annotated document, with the given relations or groups of relations.

    With `document`, the graph keeps the document and the annotation, so that it can be drawn.
    """
    links = {name: RELATIONS[name].build(annotation, options) for name in resolve_relations(relations)}
    size = annotation.num_words + annotation.num_sentences
    for name, edges in links.items():
        if isinstance(edges, Edges) and not edges.within(size):
            raise DocgraphError(f"relation '{name}' made an edge to a node outside 0..{size - 1}; correct the relation")
    return DocumentGraph(
        annotation.num_words,
        annotation.num_sentences,
        annotation.sentence_of,
        links,
        annotation.forms,
        document=document,
        annotation=annotation if document is not None else None,
    )


def batch_graphs(graphs: Sequence[DocumentGraph]) -> DocumentGraph:
    """Joins graphs into one block-diagonal graph: all words first, then all sentences, documents in order."""
    words = np.cumsum([0, *(graph.num_words for graph in graphs)])
    sentences = np.cumsum([0, *(graph.num_sentences for graph in graphs)])
    relations: dict[str, Links] = {}
    for name in dict.fromkeys(name for graph in graphs for name in graph.relations):
        if any(name not in graph.relations for graph in graphs):
            raise ValueError(f"relation '{name}' is in some of the graphs only")
        parts = [graph.relations[name] for graph in graphs]
        cliques = [links for links in parts if isinstance(links, LexicalLinks)]
        if len(cliques) == len(parts):
            relations[name] = LexicalLinks.join(cliques)
        else:
            relations[name] = Edges.join(
                _shift_nodes(links.expand(), graph.num_words, int(words[i]), int(words[-1] + sentences[i]))
                for i, (graph, links) in enumerate(zip(graphs, parts, strict=True))
            )
    owners = [graph.sentence_of + int(base) for graph, base in zip(graphs, sentences, strict=False)]
    owner = np.concatenate([np.empty(0, np.int32), *owners]).astype(np.int32)
    return DocumentGraph(int(words[-1]), int(sentences[-1]), owner, relations, documents=sentences.astype(np.int32))


def _shift_nodes(edges: Edges, num_words: int, first_word: int, first_sentence: int) -> Edges:
    """Renumbers the nodes: words from `first_word` on, sentences (now from `num_words` on) from `first_sentence` on."""

    def shift(nodes: IntArray) -> IntArray:
        return np.where(nodes < num_words, nodes + first_word, nodes - num_words + first_sentence).astype(np.int32)

    return Edges(shift(edges.source), shift(edges.target))
