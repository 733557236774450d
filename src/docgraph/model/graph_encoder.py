"""The document-graph encoder: graph convolutions over incoming, outgoing and self edges (section 2.3 of the paper)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.model.config import GraphConfig
from docgraph.model.graph_structure import GraphStructure


class GraphLayer(nn.Module):
    """One convolution for each direction t in {in, out, self}, and their fusion."""

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

    def forward(self, nodes: Tensor, structure: GraphStructure, sentences_alone: bool = False) -> Tensor:
        """H [N, d] -> [N, d], or [M, d] where the others are asked for by nobody."""
        # Sums come before products, A (H W) = (A H) W: where H is frozen, nothing goes back through them.
        masses = structure.mass_in, structure.mass_out
        if not sentences_alone:
            return self.merge(nodes, *structure.aggregate(nodes), *masses)
        masses = structure.split(structure.mass_in)[1], structure.split(structure.mass_out)[1]
        return self.merge(structure.split(nodes)[1], *structure.into_sentences(nodes), *masses)

    def merge(self, nodes: Tensor, towards: Tensor, away: Tensor, mass_in: Tensor, mass_out: Tensor) -> Tensor:
        """H [N, d], its sums over both kinds of edges [N, d] and what these make of a bias [N, 1] -> [N, d]."""
        # H_t = sigma(D_t^-1/2 A_t D_t^-1/2 (W_t H + B_t)), equation 6
        weights, biases = self.transform.weight.chunk(3), self.transform.bias.chunk(3)
        directions = [
            self.activation(F.linear(towards, weights[0]) + mass_in.to(nodes.dtype) * biases[0]),
            self.activation(F.linear(away, weights[1]) + mass_out.to(nodes.dtype) * biases[1]),
            self.activation(F.linear(nodes, weights[2], biases[2])),
        ]
        fused = self.fuse(nodes, directions)
        return fused if self.norm is None else self.norm(nodes + self.dropout(fused))

    def fuse(self, nodes: Tensor, directions: list[Tensor]) -> Tensor:
        """Weights of the three directions at each node: H [N, d], H_t [N, d] each -> [N, d]."""
        if self.gates is not None:  # gating units (Bastings et al. 2017)
            gates = torch.sigmoid(self.gates(nodes)).chunk(3, dim=-1)
            return sum_of(gate * direction for gate, direction in zip(gates, directions, strict=True))
        # alpha_t = softmax_t(H . H_t / sqrt(d)), equation 7; written out, it is one kernel with all around it.
        scores = [(nodes * direction).sum(-1, keepdim=True) / nodes.shape[-1] ** 0.5 for direction in directions]
        top = torch.maximum(torch.maximum(scores[0], scores[1]), scores[2]).detach()
        alphas = [(score - top).exp() for score in scores]
        total = sum_of(alpha * direction for alpha, direction in zip(alphas, directions, strict=True))
        return total / sum_of(alphas)


def sum_of(tensors: Iterable[Tensor]) -> Tensor:
    return reduce(torch.add, tensors)


class GraphEncoder(nn.Module):
    """L layers over a graph whose words come with embeddings; one encoder serves source and target graphs."""

    def __init__(self, dimension: int, config: GraphConfig) -> None:
        super().__init__()
        distinct = 1 if config.share_layers else config.layers
        self.layers = nn.ModuleList(GraphLayer(dimension, config) for _ in range(distinct))
        self.depth = config.layers
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, words: Tensor, structure: GraphStructure, sentences_alone: bool = False) -> Tensor:
        """Word inputs [W, d] -> node states [N, d], words first, then sentences; or those of sentences, [M, d]."""
        # A sentence node starts as the mean of its words.
        nodes = self.dropout(torch.cat([words, structure.sentence_means(words)]))
        for index in range(self.depth):
            last = index == self.depth - 1
            nodes = self.layers[index % len(self.layers)](nodes, structure, sentences_alone and last)
        return nodes
