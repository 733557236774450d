"""DocumentGraph: nodes, links by relation, their binary union, degrees, batching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from docgraph.annotation import Annotation, IntArray, Strings
from docgraph.errors import DocgraphError
from docgraph.graph.lexical import Lexical
from docgraph.graph.links import Edges, LongArray
from docgraph.graph.relations import RELATIONS, Links, RelationOptions, resolve_relations


@dataclass(frozen=True, eq=False)
class DocumentGraph:
    """A directed graph over W word nodes (0..W-1) and M sentence nodes (W..W+M-1)."""

    num_words: int
    num_sentences: int
    sentence_of: IntArray
    """[W]: the sentence of each word."""
    relations: dict[str, Links]
    words: Strings | None = None
    """The text of each word; None in a batch, which needs none."""
    documents: IntArray | None = None
    """[D+1]: in a batch, the sentences of document d are documents[d] .. documents[d+1]-1; None is one document."""

    @property
    def num_nodes(self) -> int:
        return self.num_words + self.num_sentences

    def edges(self, relation: str) -> Edges:
        """The edges of one relation, one by one."""
        return self.relations[relation].expand()

    @property
    def lexical(self) -> Lexical | None:
        """The lexical links, as cliques, where the relation is in the graph."""
        links = self.relations.get("lexical")
        return links if isinstance(links, Lexical) else None

    @cached_property
    def explicit(self) -> Edges:
        """The union of all but lexical links, less what those cover: together with `lexical`, the whole of A."""
        lexical = self.lexical
        others = Edges.join(links.expand() for links in self.relations.values() if links is not lexical)
        listed = others.unique()
        return listed if lexical is None else listed.where(~lexical.covers(listed))

    def union(self) -> Edges:
        """The binary union of all relations (equation 5): each edge once, ordered by target, then source."""
        return Edges.join(links.expand() for links in self.relations.values()).unique()

    @cached_property
    def num_edges(self) -> int:
        """Edges in the union, counted without expanding."""
        return len(self.explicit) + (len(self.lexical) if self.lexical is not None else 0)

    @cached_property
    def degrees(self) -> tuple[LongArray, LongArray]:
        """In- and out-degree in the union, [N] each (equation 5.1), without expanding."""
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
        """[W]: 0 for the first word of a sentence, 1 for the next."""
        first = np.searchsorted(self.sentence_of, self.sentence_of, side="left")
        return (np.arange(self.num_words) - first).astype(np.int32)

    def text(self, node: int) -> str:
        """The word of a word node, nothing for a sentence node."""
        return self.words[node] if self.words is not None and node < self.num_words else ""


def build_graph(
    annotation: Annotation, relations: str | Iterable[str] = "all", options: RelationOptions = RelationOptions()
) -> DocumentGraph:
    """The document graph of an annotated document, with the relations or groups asked for."""
    links = {name: RELATIONS[name].build(annotation, options) for name in resolve_relations(relations)}
    size = annotation.num_words + annotation.num_sentences
    for name, edges in links.items():
        if isinstance(edges, Edges) and not edges.within(size):
            raise DocgraphError(f"the relation '{name}' made an edge that leaves the document's {size} nodes")
    return DocumentGraph(
        annotation.num_words, annotation.num_sentences, annotation.sentence_of, links, annotation.forms
    )


def batch_graphs(graphs: Sequence[DocumentGraph]) -> DocumentGraph:
    """Many graphs as one block-diagonal graph: all words first, then all sentences, documents in order."""
    words = np.cumsum([0, *(graph.num_words for graph in graphs)])
    sentences = np.cumsum([0, *(graph.num_sentences for graph in graphs)])
    relations: dict[str, Links] = {}
    for name in dict.fromkeys(name for graph in graphs for name in graph.relations):
        if any(name not in graph.relations for graph in graphs):
            raise ValueError(f"the relation '{name}' is in some of the graphs only")
        parts = [graph.relations[name] for graph in graphs]
        cliques = [links for links in parts if isinstance(links, Lexical)]
        if len(cliques) == len(parts):
            relations[name] = Lexical.join(cliques)
        else:
            relations[name] = Edges.join(
                _moved(links.expand(), graph.num_words, int(words[i]), int(words[-1] + sentences[i]))
                for i, (graph, links) in enumerate(zip(graphs, parts, strict=True))
            )
    owners = [graph.sentence_of + int(base) for graph, base in zip(graphs, sentences, strict=False)]
    owner = np.concatenate([np.empty(0, np.int32), *owners]).astype(np.int32)
    return DocumentGraph(int(words[-1]), int(sentences[-1]), owner, relations, documents=sentences.astype(np.int32))


def _moved(edges: Edges, num_words: int, words: int, sentences: int) -> Edges:
    """Edges with word nodes raised by `words`, and sentence nodes, which began at `num_words`, begun at `sentences`."""

    def move(nodes: IntArray) -> IntArray:
        return np.where(nodes < num_words, nodes + words, nodes - num_words + sentences).astype(np.int32)

    return Edges(move(edges.source), move(edges.target))
