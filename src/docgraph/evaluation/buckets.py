"""A metric over parts of a test set: by the length of the document, by the distance to the linked context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from docgraph.annotation import Annotation
from docgraph.evaluation.breakdown import Breakdown, break_down, bucket_of, ranges
from docgraph.evaluation.dataset import EvaluationSet
from docgraph.evaluation.metrics import Measured
from docgraph.graph import RelationOptions, build_graph
from docgraph.graph.links import Edges, LongArray

DISTANCES = (1, 2, 3, 5, 10, 20)
LENGTH_BUCKETS = 5
LinkRelation = Literal["lexical", "coreference"]


def by_length(measured: Measured, data: EvaluationSet) -> Breakdown:
    """By sentences in the document; the buckets hold about equally many sentences."""
    lengths = np.diff(data.documents)
    shares = np.arange(1, LENGTH_BUCKETS + 1) / LENGTH_BUCKETS
    edges = np.unique(np.quantile(np.repeat(lengths, lengths), shares, method="inverted_cdf")).tolist()
    buckets = bucket_of(lengths, edges)
    spans = [sorted({*lengths[buckets == number].tolist()}) for number in range(len(edges))]
    labels = [str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}" for span in spans]
    axis = "sentences in the document"
    return break_down(
        measured, np.repeat(buckets, lengths), labels, data, name="length", axis=axis, counted="sentences"
    )


def by_distance(measured: Measured, data: EvaluationSet, annotations: Sequence[Annotation]) -> Breakdown:
    """By how many sentences before it the nearest sentence stands that a link of the document graph joins it with."""
    distances = np.concatenate([np.empty(0, np.int64), *(linked_distances(one) for one in annotations)])
    labels = [*ranges(DISTANCES), "no link"]
    buckets = np.where(distances > 0, bucket_of(distances, DISTANCES), len(labels) - 1)
    axis = "sentences back to the nearest linked one"
    return break_down(measured, buckets, labels, data, name="distance", axis=axis, counted="sentences")


def linked_distances(annotation: Annotation) -> LongArray:
    """[M]: sentences from each sentence back to the nearest one linked with it, 0 where none is."""
    edges = Edges.join([links_back(annotation, "lexical"), links_back(annotation, "coreference")])
    here, there = annotation.sentence_of[edges.target], annotation.sentence_of[edges.source]
    nearest = np.full(annotation.num_sentences, annotation.num_sentences, dtype=np.int64)
    np.minimum.at(nearest, here, here - there)
    return np.where(nearest < annotation.num_sentences, nearest, 0)


def links_back(annotation: Annotation, relation: LinkRelation) -> Edges:
    """The links of the document graph from words of earlier sentences to words of later ones.

    Lexical links are of content words alone (function words link everything), each from the occurrence before it: of
    a chain of occurrences, the nearest earlier one in another sentence is the one before the first in this.
    """
    graph = build_graph(annotation, relation, RelationOptions(skip_stop_words=True))
    edges = graph.lexical.consecutive() if graph.lexical is not None else graph.edges(relation)
    return edges.where(annotation.sentence_of[edges.target] > annotation.sentence_of[edges.source])
