"""The document-graph encoder: graph convolutions over incoming, outgoing and self edges (section 2.3 of the paper).

`GraphStructure` is the adjacency A (equation 5) of a batch of document graphs, in three parts whose sum is the binary
union of the relations: listed edges; ordered cliques of the lexical relation, summed by prefix sums; and complete
sentences (target side), summed as totals. `plain` is the same A as one sparse matrix, the reference for tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.graph import DocumentGraph, Edges
from docgraph.graph.links import Cliques
from docgraph.model.config import GraphConfig
from docgraph.model.sparse import CsrMatrix, OrderedCliques, group_sums, neighbour_sums, spread

Floats = npt.NDArray[np.float64]


class GraphLayer(nn.Module):
    """One graph convolution per direction t in {in, out, self} (equation 7), and their fusion (equations 8 and 9)."""

    def __init__(self, dimension: int, config: GraphConfig) -> None:
        super().__init__()
        self.transform = nn.Linear(dimension, 3 * dimension)
        """W_in, W_out, W_self and their biases, side by side."""
        self.activation = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu}[config.activation]
        self.gates = nn.Linear(dimension, 3) if config.fusion == "gating" else None
        self.norm = nn.LayerNorm(dimension) if config.residual else None
        self.dropout = nn.Dropout(config.dropout)
        for weight in self.transform.weight.chunk(3):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.transform.bias)

    def forward(self, nodes: Tensor, structure: GraphStructure, sentences_only: bool = False) -> Tensor:
        """Returns the states of the next layer: H [N, d] -> [N, d], or [M, d] of the sentence nodes only."""
        # Sums before products, A (H W) = (A H) W: if H is frozen, no gradient goes through the sums.
        if not sentences_only:
            return self.convolve(nodes, *structure.aggregate(nodes), structure.mass_in, structure.mass_out)
        masses = structure.split(structure.mass_in)[1], structure.split(structure.mass_out)[1]
        return self.convolve(structure.split(nodes)[1], *structure.aggregate_at_sentences(nodes), *masses)

    def convolve(self, nodes: Tensor, towards: Tensor, away: Tensor, mass_in: Tensor, mass_out: Tensor) -> Tensor:
        """Returns the fused H_t = sigma(D_t^-1/2 A_t D_t^-1/2 (W_t H + B_t)) (equation 7; equation 4 by direction).

        H is `nodes` [N, d]; `towards` and `away` [N, d] are D^-1/2 A D^-1/2 H over incoming and outgoing edges; the
        masses [N, 1] are their factors of the biases.
        """
        weights, biases = self.transform.weight.chunk(3), self.transform.bias.chunk(3)
        directions = [
            self.activation(F.linear(towards, weights[0]) + mass_in.to(nodes.dtype) * biases[0]),
            self.activation(F.linear(away, weights[1]) + mass_out.to(nodes.dtype) * biases[1]),
            self.activation(F.linear(nodes, weights[2], biases[2])),
        ]
        fused = self.fuse(nodes, directions)
        return fused if self.norm is None else self.norm(nodes + self.dropout(fused))

    def fuse(self, nodes: Tensor, directions: list[Tensor]) -> Tensor:
        """Returns the fused directions, sum_t alpha_t H_t (equation 8): H [N, d], H_t [N, d] each -> [N, d]."""
        if self.gates is not None:  # gating units (Bastings et al. 2017)
            gates = torch.sigmoid(self.gates(nodes)).chunk(3, dim=-1)
            return sum_of(gate * direction for gate, direction in zip(gates, directions, strict=True))
        # alpha_t = softmax_t(H . H_t / sqrt(d)), equation 9; written out, so that it compiles to one kernel.
        scores = [(nodes * direction).sum(-1, keepdim=True) / nodes.shape[-1] ** 0.5 for direction in directions]
        top = torch.maximum(torch.maximum(scores[0], scores[1]), scores[2]).detach()
        alphas = [(score - top).exp() for score in scores]
        total = sum_of(alpha * direction for alpha, direction in zip(alphas, directions, strict=True))
        return total / sum_of(alphas)


def sum_of(tensors: Iterable[Tensor]) -> Tensor:
    """Returns the sum of some tensors."""
    return reduce(torch.add, tensors)


class GraphEncoder(nn.Module):
    """L graph layers over word embeddings; one encoder serves source and target graphs."""

    def __init__(self, dimension: int, config: GraphConfig) -> None:
        super().__init__()
        distinct = 1 if config.share_layers else config.layers
        self.layers = nn.ModuleList(GraphLayer(dimension, config) for _ in range(distinct))
        self.depth = config.layers
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, words: Tensor, structure: GraphStructure, sentences_only: bool = False) -> Tensor:
        """Encodes words [W, d] -> node states [N, d], words before sentences; or states of sentence nodes only, [M, d].

        The input of a sentence node is the mean of its words.
        """
        nodes = self.dropout(torch.cat([words, structure.sentence_means(words)]))
        for index in range(self.depth):
            last = index == self.depth - 1
            nodes = self.layers[index % len(self.layers)](nodes, structure, sentences_only and last)
        return nodes


@dataclass(frozen=True, eq=False)
class GraphStructure:
    """A over N = W + M nodes (all words, then all sentences), with its normalisation."""

    num_words: int
    num_sentences: int
    longest: int
    """Number of words of the longest sentence, at least 1."""
    sentence_of: Tensor
    """[W] int64."""
    words_of: CsrMatrix
    """The words of each sentence, [M] rows."""
    incoming: CsrMatrix
    """Row i: the sources of the listed edges into node i, [N] rows."""
    outgoing: CsrMatrix
    """Row i: the targets of the listed edges out of node i, [N] rows."""
    scale_in: Tensor
    """[N, 1]: D_in^-1/2 (equation 6), degrees clamped at 1."""
    scale_out: Tensor
    mass_in: Tensor
    """[N, 1]: the row sums of D^-1/2 A D^-1/2, which are the factors of a bias."""
    mass_out: Tensor
    cliques: OrderedCliques | None = None
    complete: bool = False
    """True for target sentences: every word has edges to all other words of its sentence and to its sentence node, and
    there are no other edges."""
    sentence_links: bool = False
    """True if sentence nodes have other edges than those from their own words (such as tf-idf)."""
    plain: Tensor | None = None
    """[N, N] sparse: A[i, j] = 1 if there is an edge from j to i; replaces all parts if it is not None."""

    @property
    def num_nodes(self) -> int:
        """Number of word and sentence nodes."""
        return self.num_words + self.num_sentences

    def aggregate(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns D^-1/2 A D^-1/2 x over incoming and over outgoing edges (equation 7): [N, d] -> [N, d] each."""
        if self.complete:
            return self._complete_sums(x)
        if self.plain is not None:
            return _scaled(self.plain, x, self.scale_in), _scaled(self.plain.t(), x, self.scale_out)
        edges = self.incoming, self.outgoing
        towards = neighbour_sums(x, self.scale_in, edges, self.cliques, after=False)
        return towards, neighbour_sums(x, self.scale_out, edges[::-1], self.cliques, after=True)

    def _complete_sums(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the aggregates of complete sentences: a word receives the other words, a sentence node all words."""
        words, sentences = self.split(x)
        sums = self.sentence_sums(words)
        others = self.spread(sums) - words
        # All words of a sentence have the same degree, so that their sum is scaled instead of each.
        (scale, of_sentences), between = self.split(self.scale_in.to(x.dtype)), (self.sizes - 1).clamp(min=1).rsqrt()
        towards = torch.cat([others * scale**2, sums * between.to(x.dtype) * of_sentences])
        scale, of_sentences = self.split(self.scale_out.to(x.dtype))
        away = others * scale**2 + self.spread(sentences * of_sentences) * scale
        return towards, torch.cat([away, torch.zeros_like(sentences)])

    def aggregate_at_sentences(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the aggregates at the sentence nodes only: [N, d] -> [M, d] each.

        In the common case, a sentence node receives its words and sends nothing, so that word edges can be skipped.
        """
        if self.plain is not None or self.sentence_links:
            towards, away = (self.split(both)[1] for both in self.aggregate(x))
            return towards, away
        scale, of_sentences = self.split(self.scale_in.to(x.dtype))
        towards = self.sentence_sums(self.split(x)[0] * scale) * of_sentences
        return towards, torch.zeros_like(towards)

    def split(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Splits word nodes and sentence nodes: [N, ...] -> [W, ...], [M, ...]."""
        words, sentences = torch.split(nodes, [self.num_words, self.num_sentences])
        return words, sentences

    @property
    def sizes(self) -> Tensor:
        """[M, 1]: the number of words of each sentence."""
        return self.words_of.offsets.diff()[:, None]

    def sentence_sums(self, words: Tensor) -> Tensor:
        """Returns the sum of the words of each sentence: [W, d] -> [M, d]."""
        return group_sums(words, self.sentence_of, self.words_of)

    def spread(self, sentences: Tensor) -> Tensor:
        """Returns the vector of its sentence for each word: [M, d] -> [W, d]."""
        return spread(sentences, self.sentence_of, self.words_of)

    def sentence_means(self, words: Tensor) -> Tensor:
        """Returns the mean of the words of each sentence: [W, d] -> [M, d]; zero for a sentence without words."""
        return self.sentence_sums(words) / self.sizes.clamp(min=1)


def _scaled(matrix: Tensor, x: Tensor, scale: Tensor) -> Tensor:
    scale = scale.to(x.dtype)
    return torch.sparse.mm(matrix, (x * scale).float()).to(x.dtype) * scale


def source_structure(graph: DocumentGraph, plain: bool = False) -> GraphStructure:
    """Returns the structure of a source graph, or of a batch of them; `plain` keeps A as one sparse matrix."""
    edges, cliques = graph.union() if plain else graph.explicit, None
    if graph.lexical is not None and not plain:
        cliques = _ordered_cliques(graph.lexical.signed, graph.num_nodes)
    return _structure(graph.sentence_of, graph.num_sentences, edges, graph.degrees, cliques, plain=plain)


def target_structure(words: npt.NDArray[np.integer], plain: bool = False) -> GraphStructure:
    """Returns M sentences of words[m] words: complete graphs with an edge from each word to its sentence node."""
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
    # Edges between words of complete sentences are not listed.
    between = degrees[0][:words] if complete else np.zeros(words, np.int64)
    columns = [*scales, *_masses(scales, edges, between, cliques)]
    scale_in, scale_out, mass_in, mass_out = (torch.from_numpy(x.astype(np.float32))[:, None] for x in columns)
    matrix = None
    if plain:
        places = torch.from_numpy(np.stack([edges.target, edges.source]).astype(np.int64))
        ones, size = torch.ones(len(edges)), (nodes, nodes)
        matrix = torch.sparse_coo_tensor(places, ones, size, check_invariants=True).coalesce()
    return GraphStructure(
        words,
        sentences,
        int(np.bincount(sentence_of).max(initial=1)),
        torch.from_numpy(sentence_of.astype(np.int64)),
        CsrMatrix.of(sentence_of, np.arange(words), sentences),
        CsrMatrix.of(edges.target, edges.source, nodes),
        CsrMatrix.of(edges.source, edges.target, nodes),
        scale_in,
        scale_out,
        mass_in,
        mass_out,
        cliques,
        complete,
        _links_sentences(edges, sentence_of),
        matrix,
    )


def _links_sentences(edges: Edges, sentence_of: npt.NDArray[np.int32]) -> bool:
    """Returns True if sentence nodes have other edges than one from each of their words."""
    words = len(sentence_of)
    into = edges.target >= words
    source, target = edges.source[into], edges.target[into]
    if bool((edges.source >= words).any()) or len(source) != words:
        return True
    return bool((sentence_of[source] + words != target).any())


def _masses(
    scales: tuple[Floats, ...], edges: Edges, between: npt.NDArray[np.int64], cliques: OrderedCliques | None
) -> Iterator[Floats]:
    """Yields row sums of D^-1/2 A D^-1/2 over incoming, then outgoing edges: [N] each."""
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
    """Returns the memberships of all signed sets of cliques in one list; the last set counts negatively."""
    sets = [cliques for _, cliques in signed]
    bases = np.cumsum([0, *(len(cliques.nodes) for cliques in sets)])
    nodes = np.concatenate([cliques.nodes for cliques in sets])
    first, last = (
        np.concatenate([getattr(cliques, end) + base for cliques, base in zip(sets, bases, strict=False)])
        for end in ("first", "last")
    )
    ranks = np.arange(len(nodes))
    # A new clique starts where no earlier member is in reach; a distance limit cuts cliques into several.
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
    bag = CsrMatrix.of(nodes, np.arange(len(nodes)), num_nodes)
    begins, past, near, far = (torch.from_numpy(end) for end in (starts, ends, first, last))
    windows = (near, far) if limited else None
    return OrderedCliques(torch.from_numpy(nodes), torch.from_numpy(signs), bag, begins, past, windows)


def _without_twins(
    nodes: npt.NDArray[np.int32], bounds: npt.NDArray[np.int64], bases: npt.NDArray[np.int64], num_nodes: int
) -> npt.NDArray[np.bool_]:
    """Returns [K] bool: the memberships that remain after equal cliques of the last set and another set cancel out.

    Most cliques cancel out, because most words of one form have one lemma. Every set links what the last set links, so
    that two cliques are equal if they begin with the same node and have the same size.
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
