"""Lexical translation consistency: does a word that comes again get the same translation?

LTCR (Lyu et al. 2021): of all pairs of occurrences of a source word in a document, the share whose translations agree,

    LTCR = sum over words w of agreeing pairs(w) / sum over words w of k(w) (k(w) - 1) / 2

where k(w) is how often w occurs, aligned, in the document. Here a word is a lemma of a content word (all but
punctuation and function words, by part of speech), its translation is the one target word of its best link, and two
translations agree where their lower-cased lemmas are the same. Occurrences that are not aligned are left out. The same
over proper nouns alone is the consistency of names.
"""

from __future__ import annotations

import numpy as np

from docgraph.annotation import BoolArray
from docgraph.evaluation.aligner import Posteriors, sum_by
from docgraph.evaluation.alignment import THRESHOLD, Words
from docgraph.evaluation.breakdown import bucket_of, ranges
from docgraph.evaluation.metrics import Statistics
from docgraph.graph.links import Cliques

EDGES = (0, 1, 5, 10, 20)
"""Distances between two occurrences, in sentences."""
LABELS = ranges(EDGES)


def count_pairs(source: Words, target: Words, links: Posteriors, words: BoolArray) -> Statistics:
    """[documents, distances, 2]: (agreeing pairs, pairs) of occurrences of the same lemma among `words` [W]."""
    best = links.best_target(len(source.forms), THRESHOLD)
    chosen = np.flatnonzero(words & (best >= 0))
    lemmas = np.unique(np.array(source.keys, dtype=object)[chosen].astype(str), return_inverse=True)[1]
    translations = np.unique(np.array(target.keys, dtype=object)[best[chosen]].astype(str), return_inverse=True)[1]
    documents, sentences = source.documents[chosen], source.sentences[chosen]
    repeated = Cliques.of_keys(np.arange(len(chosen)), [lemmas, documents]).expand()
    first, second = repeated.source, repeated.target
    rows = documents[first] * len(LABELS) + bucket_of(np.abs(sentences[second] - sentences[first]), EDGES)
    size = (int(source.documents.max(initial=-1)) + 1) * len(LABELS)
    agree = translations[first] == translations[second]
    counts = np.stack([sum_by(rows, weights, size) for weights in (agree, np.ones(len(rows)))], axis=1)
    return counts.reshape(-1, len(LABELS), 2)
