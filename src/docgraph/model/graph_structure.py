"""The adjacency of a batch of document graphs, as the graph encoder multiplies with it.

A (equation 5) is held in three parts whose sum is the binary union of the relations: edges one by one; ordered cliques
of the lexical relation, summed by prefix sums; complete sentences (target side), summed as totals. `plain` holds the
same A as one sparse matrix: the reference the parts are tested against.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from docgraph.graph import DocumentGraph, Edges
from docgraph.graph.links import Cliques
from docgraph.model.sparse import OrderedCliques, Rows, group_sums, neighbour_sums, spread

Floats = npt.NDArray[np.float64]


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
    mass_in: Tensor
    """[N, 1]: the row sums of D^-1/2 A D^-1/2, and so what arrives where every node sends one."""
    mass_out: Tensor
    cliques: OrderedCliques | None = None
    complete: bool = False
    """Every word is linked with every other word of its sentence, both ways (target sentences), and to its sentence;
    nothing else is."""
    plain: Tensor | None = None
    """[N, N] sparse: A[i, j] = 1 where an edge goes from j to i; takes the place of all parts when present."""

    @property
    def num_nodes(self) -> int:
        return self.num_words + self.num_sentences

    def aggregate(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """D^-1/2 A D^-1/2 x over incoming and over outgoing edges (equation 6): [N, d] -> [N, d] each."""
        if self.complete:
            return self._complete_sums(x)
        if self.plain is not None:
            return _scaled(self.plain, x, self.scale_in), _scaled(self.plain.t(), x, self.scale_out)
        edges = self.incoming, self.outgoing
        towards = neighbour_sums(x, self.scale_in, edges, self.cliques, after=False)
        return towards, neighbour_sums(x, self.scale_out, edges[::-1], self.cliques, after=True)

    def _complete_sums(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The aggregates of complete sentences: a word gets the others of its sentence; a sentence, its words."""
        words, sentences = self.split(x)
        sums = self.sentence_sums(words)
        others = self.spread(sums) - words
        # All words of a sentence have one degree, so that their sum can be scaled as well as they.
        (scale, of_sentences), between = self.split(self.scale_in.to(x.dtype)), (self.sizes - 1).clamp(min=1).rsqrt()
        towards = torch.cat([others * scale**2, sums * between.to(x.dtype) * of_sentences])
        scale, of_sentences = self.split(self.scale_out.to(x.dtype))
        away = others * scale**2 + self.spread(sentences * of_sentences) * scale
        return towards, torch.cat([away, torch.zeros_like(sentences)])

    def into_sentences(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The aggregates at sentences alone, which get their words and send nothing: [N, d] -> [M, d] each."""
        if self.plain is not None:
            towards, away = (self.split(both)[1] for both in self.aggregate(x))
            return towards, away
        scale, of_sentences = self.split(self.scale_in.to(x.dtype))
        towards = self.sentence_sums(self.split(x)[0] * scale) * of_sentences
        return towards, torch.zeros_like(towards)

    def split(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Words and sentences: [N, ...] -> [W, ...], [M, ...]."""
        words, sentences = torch.split(nodes, [self.num_words, self.num_sentences])
        return words, sentences

    @property
    def sizes(self) -> Tensor:
        """[M, 1]: the words of each sentence."""
        return self.words_of.offsets.diff()[:, None]

    def sentence_sums(self, words: Tensor) -> Tensor:
        """[W, d] -> [M, d]."""
        return group_sums(words, self.sentence_of, self.words_of)

    def spread(self, sentences: Tensor) -> Tensor:
        """Each word gets the vector of its sentence: [M, d] -> [W, d]."""
        return spread(sentences, self.sentence_of, self.words_of)

    def sentence_means(self, words: Tensor) -> Tensor:
        """[W, d] -> [M, d]; a sentence without words is zero."""
        return self.sentence_sums(words) / self.sizes.clamp(min=1)


def _scaled(matrix: Tensor, x: Tensor, scale: Tensor) -> Tensor:
    scale = scale.to(x.dtype)
    return torch.sparse.mm(matrix, (x * scale).float()).to(x.dtype) * scale


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
    scales = tuple(1 / np.sqrt(np.maximum(d, 1)) for d in degrees)
    between = (
        degrees[0][:words] if complete else np.zeros(words, np.int64)
    )  # words that each word is linked with, unlisted
    columns = [*scales, *_masses(scales, edges, between, cliques)]
    scale_in, scale_out, mass_in, mass_out = (torch.from_numpy(x.astype(np.float32))[:, None] for x in columns)
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
        mass_in,
        mass_out,
        cliques,
        complete,
        matrix,
    )


def _masses(
    scales: tuple[Floats, ...], edges: Edges, between: npt.NDArray[np.int64], cliques: OrderedCliques | None
) -> Iterator[Floats]:
    """Row sums of D^-1/2 A D^-1/2 over incoming, then outgoing edges: [N] each."""
    for scale, (source, target) in zip(scales, itertools.permutations((edges.source, edges.target)), strict=True):
        mass = np.bincount(target, scale[source], len(scale)).astype(np.float64)
        mass[: len(between)] += scale[: len(between)] * between
        if cliques is not None:
            nodes, sums = cliques.nodes.numpy(), np.append(0, np.cumsum(scale[cliques.nodes.numpy()]))
            first, last = (end.numpy() for end in cliques.windows or (cliques.starts, cliques.ends))
            linked = sums[:-1] - sums[first] if scale is scales[0] else sums[last] - sums[1:]
            mass += np.bincount(nodes, cliques.signs[:, 0].numpy() * linked, len(scale))
        yield mass * scale


def _ordered_cliques(signed: tuple[tuple[int, Cliques], ...], num_nodes: int) -> OrderedCliques | None:
    """One list of memberships from the signed sets of cliques, of which the last is in the others and negative."""
    sets = [cliques for _, cliques in signed]
    bases = np.cumsum([0, *(len(cliques.nodes) for cliques in sets)])
    nodes = np.concatenate([cliques.nodes for cliques in sets])
    first, last = (
        np.concatenate([getattr(cliques, end) + base for cliques, base in zip(sets, bases, strict=False)])
        for end in ("first", "last")
    )
    ranks = np.arange(len(nodes))
    # A run begins where no earlier member is in reach; without a distance limit, runs are the cliques.
    starts = np.maximum.accumulate(np.where(first == ranks, ranks, 0))
    bounds = np.append(np.flatnonzero(starts == ranks), len(nodes))
    ends = np.repeat(bounds[1:], np.diff(bounds))
    kept = _without_twins(nodes, bounds, bases, num_nodes)
    if not kept.any():
        return None
    places = np.append(0, np.cumsum(kept))
    starts, ends, first, last = (places[ends_of[kept]] for ends_of in (starts, ends, first, last))
    limited = bool((first != starts).any() or (last != ends).any())
    signs = np.repeat(np.array([sign for sign, _ in signed], np.float32), np.diff(bases))[kept, None]
    nodes = nodes[kept].astype(np.int64)
    bag = Rows.of(nodes, np.arange(len(nodes)), num_nodes)
    begins, past, near, far = (torch.from_numpy(end) for end in (starts, ends, first, last))
    windows = (near, far) if limited else None
    return OrderedCliques(torch.from_numpy(nodes), torch.from_numpy(signs), bag, begins, past, windows)


def _without_twins(
    nodes: npt.NDArray[np.int32], bounds: npt.NDArray[np.int64], bases: npt.NDArray[np.int64], num_nodes: int
) -> npt.NDArray[np.bool_]:
    """[K]: which memberships are left when equal runs of the last set and of another cancel out.

    Most words of one form have one lemma, so that most runs do. What the last set links, every other set does: two runs
    are equal where they begin with the same node and have the same size.
    """
    sizes, heads = np.diff(bounds), nodes[bounds[:-1]]
    of_sets = np.searchsorted(bounds, bases)
    left, minus = np.ones(len(sizes), dtype=np.bool_), np.arange(of_sets[-2], of_sets[-1])
    for begin, end in itertools.pairwise(of_sets[:-1]):
        run_at = np.full(num_nodes, -1)
        run_at[heads[begin:end]] = np.arange(begin, end)
        twins = run_at[heads[minus]]
        equal = (twins >= 0) & (sizes[twins] == sizes[minus])
        left[minus[equal]] = left[twins[equal]] = False
        minus = minus[~equal]
    return np.repeat(left, sizes)
