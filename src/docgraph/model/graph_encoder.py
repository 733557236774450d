"""The document-graph encoder: graph convolutions over incoming, outgoing and self edges (section 2.3 of the paper)."""

from __future__ import annotations

import torch
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

    def forward(self, nodes: Tensor, structure: GraphStructure) -> Tensor:
        """H [N, d] -> [N, d]."""
        towards, away, own = self.transform(nodes).chunk(3, dim=-1)
        # H_t = sigma(D_t^-1/2 A_t D_t^-1/2 (W_t H + B_t)), equation 6
        return self.merge(nodes, structure.aggregate(towards, "in"), structure.aggregate(away, "out"), own)

    def merge(self, nodes: Tensor, towards: Tensor, away: Tensor, own: Tensor) -> Tensor:
        """H [N, d] and what came along the three directions, [N, d] each -> [N, d]."""
        fused = self.fuse(nodes, self.activation(torch.stack([towards, away, own], dim=1)))
        return fused if self.norm is None else self.norm(nodes + self.dropout(fused))

    def fuse(self, nodes: Tensor, directions: Tensor) -> Tensor:
        """Weights of the three directions at each node: H [N, d], H_t [N, 3, d] -> [N, d]."""
        if self.gates is not None:  # gating units (Bastings et al. 2017)
            return (torch.sigmoid(self.gates(nodes))[:, :, None] * directions).sum(1)
        # alpha_t = softmax_t(H . H_t / sqrt(d)), equation 7
        scores = (nodes[:, None, :] * directions).sum(-1) / nodes.shape[-1] ** 0.5
        return (scores.softmax(-1)[:, :, None] * directions).sum(1)


class GraphEncoder(nn.Module):
    """L layers over a graph whose words come with embeddings; one encoder serves source and target graphs."""

    def __init__(self, dimension: int, config: GraphConfig) -> None:
        super().__init__()
        distinct = 1 if config.share_layers else config.layers
        self.layers = nn.ModuleList(GraphLayer(dimension, config) for _ in range(distinct))
        self.depth = config.layers
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, words: Tensor, structure: GraphStructure) -> Tensor:
        """Word inputs [W, d] -> node states [N, d], words first, then sentences."""
        # A sentence node starts as the mean of its words.
        nodes = self.dropout(torch.cat([words, structure.sentence_means(words)]))
        for index in range(self.depth):
            nodes = self.layers[index % len(self.layers)](nodes, structure)
        return nodes
