"""DocumentGraph: nodes, links by relation, their binary union, degrees, batching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from docgraph.annotation import Annotation, IntArray
from docgraph.errors import DocgraphError
from docgraph.graph.links import Edges, LongArray
from docgraph.graph.relations import GROUPS, RELATIONS, Lexical, Links, RelationOptions, join_lexical


def resolve_relations(names: str | Iterable[str]) -> tuple[str, ...]:
    """Relation names from names and groups, `membership` always first; an unknown name is an error."""
    names = [names] if isinstance(names, str) else list(names)
    chosen = ["membership"]
    for name in (part.strip() for entry in names for part in entry.split(",")):
        members = GROUPS.get(name, (name,))
        for member in members:
            if member not in RELATIONS:
                known = ", ".join([*GROUPS, *RELATIONS])
                raise DocgraphError(f"there is no relation '{member}'; choose among {known}")
            if member not in chosen:
                chosen.append(member)
    return tuple(chosen)


@dataclass(frozen=True, eq=False)
class DocumentGraph:
    """A directed graph over W word nodes (0..W-1) and M sentence nodes (W..W+M-1)."""

    num_words: int
    num_sentences: int
    sentence_of: IntArray
    """[W]: the sentence of each word."""
    relations: dict[str, Links]
    documents: IntArray | None = None
    """[D+1]: in a batch, the sentences of document d are documents[d] .. documents[d+1]-1; None is one document."""

    @property
    def num_nodes(self) -> int:
        return self.num_words + self.num_sentences

    def edges(self, relation: str) -> Edges:
        """The edges of one relation, one by one."""
        return self.relations[relation].expand()

    @cached_property
    def explicit(self) -> Edges:
        """The union of all but lexical links, less what those cover: together with `lexical`, the whole of A."""
        listed = Edges.join(links for links in self.relations.values() if isinstance(links, Edges)).unique(
            self.num_nodes
        )
        lexical = self.lexical
        return listed if lexical is None else listed.where(~lexical.covers(listed))

    @property
    def lexical(self) -> Lexical | None:
        """The lexical links, as cliques, where the relation is in the graph."""
        links = self.relations.get("lexical")
        return links if isinstance(links, Lexical) else None

    def union(self) -> Edges:
        """The binary union of all relations (equation 5): each edge once, ordered by source, then target."""
        return Edges.join(links.expand() for links in self.relations.values()).unique(self.num_nodes)

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

    def position(self, nodes: IntArray) -> IntArray:
        """The sentence each node belongs to."""
        owner = np.concatenate([self.sentence_of, np.arange(self.num_sentences, dtype=np.int32)])
        return owner[nodes]


def build_graph(
    annotation: Annotation, relations: str | Iterable[str] = "all", options: RelationOptions = RelationOptions()
) -> DocumentGraph:
    """The document graph of an annotated document, with the relations or groups asked for."""
    links = {name: RELATIONS[name].build(annotation, options) for name in resolve_relations(relations)}
    return DocumentGraph(annotation.num_words, annotation.num_sentences, annotation.sentence_of, links)


def batch_graphs(graphs: Sequence[DocumentGraph]) -> DocumentGraph:
    """Many graphs as one block-diagonal graph: all words first, then all sentences, documents in order."""
    words = np.cumsum([0, *(graph.num_words for graph in graphs)])
    sentences = np.cumsum([0, *(graph.num_sentences for graph in graphs)])
    names = dict.fromkeys(name for graph in graphs for name in graph.relations)
    relations: dict[str, Links] = {}
    for name in names:
        parts = [(graph.relations[name], index) for index, graph in enumerate(graphs) if name in graph.relations]
        if len(parts) != len(graphs):
            raise ValueError(f"the relation '{name}' is in some of the graphs only")
        if all(isinstance(links, Lexical) for links, _ in parts):
            relations[name] = join_lexical([links for links, _ in parts if isinstance(links, Lexical)])
        else:
            moves = [_shift(graphs[i], int(words[i]), int(words[-1] + sentences[i])) for _, i in parts]
            expanded = [links.expand() for links, _ in parts]
            relations[name] = Edges.join(
                Edges(move[e.source], move[e.target]) for move, e in zip(moves, expanded, strict=True)
            )
    owner = np.concatenate(
        [graph.sentence_of + int(shift) for graph, shift in zip(graphs, sentences, strict=False)]
        or [np.empty(0, np.int32)]
    )
    return DocumentGraph(
        int(words[-1]), int(sentences[-1]), owner.astype(np.int32), relations, sentences.astype(np.int32)
    )


def _shift(graph: DocumentGraph, words: int, sentences: int) -> IntArray:
    """[N]: the number each node of a graph has in its batch."""
    moved = np.concatenate([np.arange(graph.num_words) + words, np.arange(graph.num_sentences) + sentences])
    return moved.astype(np.int32)
