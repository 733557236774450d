"""The adjacency of a batch of document graphs, as the graph encoder multiplies with it.

A (equation 5) is held in three parts whose sum is the binary union of the relations: edges one by one; ordered cliques
of the lexical relation, summed by prefix sums; complete sentences (target side), summed as totals. `plain` holds the
same A as one sparse matrix: the reference the parts are tested against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from docgraph.graph import DocumentGraph, Edges
from docgraph.graph.links import Cliques
from docgraph.model.sparse import Rows, segmented_prefix, sparse_product

Direction = Literal["in", "out"]


@dataclass(frozen=True, eq=False)
class OrderedCliques:
    """K memberships of nodes in ordered cliques: a member receives from those before it and sends to those after."""

    nodes: Tensor
    """[K] int64, clique after clique."""
    signs: Tensor
    """[K, 1]: +1 or -1 (the lexical union is form + lemma - both)."""
    bag: Rows
    """The memberships of each node, [N] rows."""
    starts: Tensor
    """[K] int64: the first member of the clique."""
    ends: Tensor
    """[K] int64: one past its last member."""
    windows: tuple[Tensor, Tensor] | None
    """[K] each: first and one past last member in reach, where links have a maximal distance."""

    def reversed(self) -> OrderedCliques:
        """The same cliques read from the end: a member receives from those after it."""
        count = len(self.nodes)
        starts, ends = count - self.ends.flip(0), count - self.starts.flip(0)
        windows = None
        if self.windows is not None:
            windows = count - self.windows[1].flip(0), count - self.windows[0].flip(0)
        bag = Rows(count - 1 - self.bag.columns, self.bag.offsets)
        return OrderedCliques(self.nodes.flip(0), self.signs.flip(0), bag, starts, ends, windows)

    def aggregate(self, x: Tensor, direction: Direction) -> Tensor:
        """Sum over the clique edges that come in to, or go out of, each node: x [N, d] -> [N, d]."""
        if direction == "out":
            return self.reversed().aggregate(x, "in")
        gather = Rows(self.nodes, torch.arange(len(self.nodes) + 1, device=x.device))
        sums = segmented_prefix(sparse_product(gather, self.bag, x), self.starts)
        if self.windows is not None:
            sums = sums - sums[self.windows[0]]
        return sparse_product(self.bag, gather, sums * self.signs.to(sums.dtype))


@dataclass(frozen=True, eq=False)
class GraphStructure:
    """A over N = W + M nodes (all words, then all sentences), with the scales of its normalisation."""

    num_words: int
    num_sentences: int
    longest: int
    """Words of the longest sentence, at least 1."""
    sentence_of: Tensor
    """[W] int64."""
    words_of: Rows
    """The words of each sentence, [M] rows."""
    incoming: Rows
    """Row i: the sources of the listed edges into node i."""
    outgoing: Rows
    """Row i: the targets of the listed edges out of node i."""
    scale_in: Tensor
    """[N, 1]: D_in^-1/2 (equation 5.1), degrees clamped at 1."""
    scale_out: Tensor
    cliques: OrderedCliques | None = None
    complete: bool = False
    """Every word is linked with every other word of its sentence, both ways (target sentences), and to its sentence;
    nothing else is."""
    plain: Tensor | None = None
    """[N, N] sparse: A[i, j] = 1 where an edge goes from j to i; takes the place of all parts when present."""

    @property
    def num_nodes(self) -> int:
        return self.num_words + self.num_sentences

    def aggregate(self, x: Tensor, direction: Direction) -> Tensor:
        """D^-1/2 A D^-1/2 x over incoming or outgoing edges (equation 6): [N, d] -> [N, d]."""
        scale = (self.scale_in if direction == "in" else self.scale_out).to(x.dtype)
        x = x * scale
        if self.plain is not None:
            matrix = self.plain if direction == "in" else self.plain.t()
            return torch.sparse.mm(matrix, x.float()).to(x.dtype) * scale
        if self.complete:
            return self.complete_sums(x, direction) * scale
        edges = (self.incoming, self.outgoing) if direction == "in" else (self.outgoing, self.incoming)
        total = sparse_product(*edges, x)
        if self.cliques is not None:
            total = total + self.cliques.aggregate(x, direction)
        return total * scale

    def complete_sums(self, x: Tensor, direction: Direction) -> Tensor:
        """A x where sentences are complete: a word gets the others of its sentence; a sentence gets its words."""
        words, sentences = x[: self.num_words], x[self.num_words :]
        sums = self.sentence_sums(words)
        if direction == "in":
            return torch.cat([self.spread(sums) - words, sums])
        return torch.cat([self.spread(sums + sentences) - words, torch.zeros_like(sentences)])

    @property
    def own_sentence(self) -> Rows:
        """The sentence of each word, [W] rows of one."""
        return Rows(self.sentence_of, torch.arange(self.num_words + 1, device=self.sentence_of.device))

    def sentence_sums(self, words: Tensor) -> Tensor:
        """[W, d] -> [M, d]."""
        return sparse_product(self.words_of, self.own_sentence, words)

    def spread(self, sentences: Tensor) -> Tensor:
        """Each word gets the vector of its sentence: [M, d] -> [W, d]."""
        return sparse_product(self.own_sentence, self.words_of, sentences)

    def sentence_means(self, words: Tensor) -> Tensor:
        """[W, d] -> [M, d]; a sentence without words is zero."""
        sizes = self.words_of.offsets.diff().clamp(min=1)[:, None]
        return self.sentence_sums(words) / sizes


def source_structure(graph: DocumentGraph, plain: bool = False) -> GraphStructure:
    """The structure of a source graph (or a batch of them); `plain` keeps A as one sparse matrix."""
    edges = graph.union() if plain else graph.explicit
    cliques = (
        _ordered_cliques(graph.lexical.signed, graph.num_nodes) if graph.lexical is not None and not plain else None
    )
    return _structure(graph.sentence_of, graph.num_sentences, edges, graph.degrees, cliques, plain=plain)


def target_structure(words: npt.NDArray[np.integer], plain: bool = False) -> GraphStructure:
    """Each of M sentences of words[m] words a complete graph, with an edge from each word to its sentence."""
    sizes = words.astype(np.int64)
    count, sentences = int(sizes.sum()), len(sizes)
    sentence_of = np.repeat(np.arange(sentences, dtype=np.int32), sizes)
    members = np.arange(count, dtype=np.int32)
    edges = Edges(members, sentence_of + np.int32(count))
    degrees = np.concatenate([sizes[sentence_of] - 1, sizes]), np.concatenate([sizes[sentence_of], sizes * 0])
    if plain:
        same = sentence_of[:, None] == sentence_of[None, :]
        source, target = np.nonzero(same & ~np.eye(count, dtype=bool))
        edges = Edges.join([edges, Edges(source.astype(np.int32), target.astype(np.int32))])
    return _structure(sentence_of, sentences, edges, degrees, None, complete=not plain, plain=plain)


def _structure(
    sentence_of: npt.NDArray[np.int32],
    sentences: int,
    edges: Edges,
    degrees: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    cliques: OrderedCliques | None,
    complete: bool = False,
    plain: bool = False,
) -> GraphStructure:
    words = len(sentence_of)
    nodes = words + sentences
    scale_in, scale_out = (torch.from_numpy(np.maximum(d, 1).astype(np.float32))[:, None].rsqrt() for d in degrees)
    matrix = None
    if plain:
        places = torch.from_numpy(np.stack([edges.target, edges.source]).astype(np.int64))
        matrix = torch.sparse_coo_tensor(
            places, torch.ones(len(edges)), (nodes, nodes), check_invariants=True
        ).coalesce()
    return GraphStructure(
        words,
        sentences,
        int(np.bincount(sentence_of).max(initial=1)),
        torch.from_numpy(sentence_of.astype(np.int64)),
        Rows.of(sentence_of, np.arange(words), sentences),
        Rows.of(edges.target, edges.source, nodes),
        Rows.of(edges.source, edges.target, nodes),
        scale_in,
        scale_out,
        cliques,
        complete,
        matrix,
    )


def _ordered_cliques(signed: tuple[tuple[int, Cliques], ...], num_nodes: int) -> OrderedCliques | None:
    """One list of memberships from the signed sets of cliques."""
    parts = [(sign, cliques) for sign, cliques in signed if len(cliques.nodes)]
    if not parts:
        return None
    bases = np.cumsum([0, *(len(cliques.nodes) for _, cliques in parts)])
    nodes = np.concatenate([cliques.nodes for _, cliques in parts])
    first = np.concatenate([c.first + base for (_, c), base in zip(parts, bases, strict=False)]).astype(np.int64)
    last = np.concatenate([c.last + base for (_, c), base in zip(parts, bases, strict=False)]).astype(np.int64)
    signs = np.concatenate([np.full(len(cliques.nodes), sign, np.float32) for sign, cliques in parts])
    ranks = np.arange(len(nodes))
    # A run begins where no earlier member is in reach; without a distance limit, runs are the cliques.
    starts = np.maximum.accumulate(np.where(first == ranks, ranks, 0))
    bounds = np.append(np.flatnonzero(starts == ranks), len(nodes))
    ends = np.repeat(bounds[1:], np.diff(bounds))
    limited = bool((first != starts).any() or (last != ends).any())
    tensors = [torch.from_numpy(array) for array in (nodes.astype(np.int64), signs[:, None], starts, ends)]
    windows = (torch.from_numpy(first), torch.from_numpy(last)) if limited else None
    return OrderedCliques(tensors[0], tensors[1], Rows.of(nodes, ranks, num_nodes), tensors[2], tensors[3], windows)
