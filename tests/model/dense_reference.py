"""Equations 5 to 7 with dense matrices in numpy, straight from an annotation: small, slow and plain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation
from docgraph.graph import DocumentGraph
from docgraph.model.graph_encoder import GraphEncoder, GraphLayer

Array = npt.NDArray[np.float64]


def adjacency(annotation: Annotation, max_distance: int | None = None) -> Array:
    """A [N, N]: A[i, j] = 1 where any relation goes from node j to node i; words first, then sentences."""
    words, sentence = annotation.num_words, annotation.sentence_of
    matrix = np.zeros((words + annotation.num_sentences,) * 2)
    lemmas = annotation.lemmas or annotation.forms
    assert annotation.heads is not None
    assert annotation.coreference is not None
    coreferent = {(int(a), int(b)) for a, b in annotation.coreference}
    for i in range(words):
        matrix[words + sentence[i], i] = 1
        for j in range(words):
            same_sentence = sentence[i] == sentence[j]
            near = max_distance is None or abs(int(sentence[i]) - int(sentence[j])) <= max_distance
            alike = annotation.forms[i] == annotation.forms[j] or lemmas[i] == lemmas[j]
            adjacent = same_sentence and abs(i - j) == 1
            dependent = annotation.heads[i] == j and i != j
            if adjacent or dependent or (near and j < i and (alike or (j, i) in coreferent)):
                matrix[i, j] = 1
    return matrix


def adjacency_of(graph: DocumentGraph) -> Array:
    """A [N, N] from the edges of the relations of a graph, one by one."""
    matrix = np.zeros((graph.num_nodes,) * 2)
    for name in graph.relations:
        edges = graph.edges(name)
        matrix[edges.target, edges.source] = 1
    return matrix


def complete_adjacency(sizes: list[int]) -> Array:
    """A of target sentences: all words of a sentence linked both ways, each to its sentence node."""
    words = sum(sizes)
    matrix = np.zeros((words + len(sizes),) * 2)
    start = 0
    for index, size in enumerate(sizes):
        matrix[start : start + size, start : start + size] = 1 - np.eye(size)
        matrix[words + index, start : start + size] = 1
        start += size
    return matrix


def normalised(matrix: Array, direction: str) -> Array:
    """D^-1/2 A D^-1/2 over incoming edges, or over outgoing ones, degrees clamped at 1 (equation 7)."""
    directed = matrix if direction == "in" else matrix.T
    scale = np.maximum(directed.sum(1), 1) ** -0.5
    return scale[:, None] * directed * scale[None, :]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def encode_layer(layer: GraphLayer, activation: str, nodes: Array, matrix: Array) -> Array:
    """One layer: equation 7, then equations 8 and 9 or gating units, then residual and LayerNorm if it has them."""
    weight, bias = (x.detach().double().numpy() for x in (layer.transform.weight, layer.transform.bias))
    size = nodes.shape[1]
    squash = {"tanh": np.tanh, "sigmoid": sigmoid, "relu": lambda x: np.maximum(x, 0)}[activation]
    spread = [normalised(matrix, "in"), normalised(matrix, "out"), np.eye(len(matrix))]
    directions = []
    for index, along in enumerate(spread):
        part = slice(index * size, (index + 1) * size)
        directions.append(squash(along @ (nodes @ weight[part].T + bias[part])))
    if layer.gates is not None:
        gate_weight, gate_bias = (x.detach().double().numpy() for x in (layer.gates.weight, layer.gates.bias))
        alphas = sigmoid(nodes @ gate_weight.T + gate_bias)
    else:
        scores = np.stack([(nodes * h).sum(1) for h in directions], axis=1) / np.sqrt(size)
        alphas = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    fused = sum(alphas[:, [index]] * h for index, h in enumerate(directions))
    if layer.norm is None:
        return fused
    total = nodes + fused
    centred = total - total.mean(1, keepdims=True)
    scaled = centred / np.sqrt(total.var(1, keepdims=True) + layer.norm.eps)
    return scaled * layer.norm.weight.detach().double().numpy() + layer.norm.bias.detach().double().numpy()


def encode(
    encoder: GraphEncoder, activation: str, words: Array, sentence_of: npt.NDArray[np.integer], matrix: Array
) -> Array:
    """Node states [N, d] from word inputs [W, d]; a sentence node starts as the mean of its words, or as zero."""
    count = len(matrix) - len(words)
    means = [words[sentence_of == m].mean(0) if (sentence_of == m).any() else words[:0].sum(0) for m in range(count)]
    nodes = np.concatenate([words, np.array(means).reshape(count, words.shape[1])])
    for index in range(encoder.depth):
        layer = encoder.layers[0 if len(encoder.layers) == 1 else index]
        assert isinstance(layer, GraphLayer)
        nodes = encode_layer(layer, activation, nodes, matrix)
    return nodes
