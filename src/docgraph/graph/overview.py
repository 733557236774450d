"""What a drawing shows of a graph too dense to draw whole: cliques as chains, and sentence pairs by strength."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from docgraph.annotation import BoolArray
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.lexical import Lexical
from docgraph.graph.links import Cliques, Edges

STRONGEST = 150
"""Pairs of sentences an overview can show for one relation and still be read."""
COMMON = 60
"""A word more frequent than this enters the overview as a chain of occurrences, not as a clique."""

SPARSE = 20
"""With at most this many repeats in all, those of punctuation and function words are drawn too."""


def drawn_edges(graph: DocumentGraph, name: str) -> Edges:
    """The edges of a relation as drawn: a clique as a chain of consecutive members, adjacency once for both ways."""
    links = graph.relations[name]
    if isinstance(links, Lexical):
        return links.consecutive()
    return links.where(links.source < links.target) if name == "adjacency" else links


def sentence_pairs(graph: DocumentGraph, name: str, keep: BoolArray | None = None) -> list[tuple[int, int, float]]:
    """(sentence, sentence, strength) of the strongest pairs of different sentences a relation joins.

    A link counts 1; a lexical one 1/(n-1) for a word that occurs n times, so that rare words weigh more. `keep` [W]
    leaves words out of lexical links.
    """
    links = graph.relations[name]
    edges, weights = _weighted(links, keep) if isinstance(links, Lexical) else (links, np.ones(len(links)))
    source, target = graph.sentence_of_node[edges.source], graph.sentence_of_node[edges.target]
    apart = source != target
    size = max(graph.num_sentences, 1)
    pairs, where = np.unique(source[apart].astype(np.int64) * size + target[apart], return_inverse=True)
    strength = np.bincount(where, weights=weights[apart], minlength=len(pairs))
    best = np.sort(np.argsort(-strength, kind="stable")[:STRONGEST])
    return [(int(pairs[i] // size), int(pairs[i] % size), round(float(strength[i]), 3)) for i in best]


def _weighted(lexical: Lexical, keep: BoolArray | None) -> tuple[Edges, npt.NDArray[np.float64]]:
    """Lexical links by lemma, and the weight of each."""
    keys = lexical.keys[1]
    kept = keys >= 0 if keep is None else (keys >= 0) & keep
    counts = np.bincount(keys[kept], minlength=int(keys.max(initial=0)) + 1)
    common = counts[keys] > COMMON
    parts = []
    for chosen, as_chain in ((kept & ~common, False), (kept & common, True)):
        words = np.flatnonzero(chosen)
        cliques = Cliques.of_keys(words, [keys[words]], lexical.position[words], lexical.reach)
        parts.append(cliques.consecutive() if as_chain else cliques.expand())
    edges = Edges.join(parts)
    return edges, 1.0 / np.maximum(counts[keys[edges.source]] - 1, 1)
