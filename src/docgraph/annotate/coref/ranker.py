"""The learned ranker: boosted oblivious trees that score every pair; the best one above a threshold is the link.

An oblivious tree asks the same D yes-or-no questions of every pair, so that its answers form the bits of a leaf number
and a whole column of pairs goes through a tree in D vector operations.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.features import Columns, mention_features, pair_features
from docgraph.annotate.coref.pairs import Pairs
from docgraph.annotate.coref.tables import FOLDER

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Ranker:
    """T trees of depth D over F features."""

    questions: npt.NDArray[np.int16]
    """[T, D]: the features a tree asks for, the first gives the highest bit."""
    leaves: FloatArray
    """[T, 2^D]: what each leaf adds to the score."""
    bias: float
    threshold: float
    """The score a link needs."""
    features: int
    digest: str

    def score(self, columns: Columns) -> FloatArray:
        """[P]: log-odds that the two mentions of a pair corefer, from features [F, P]."""
        total = np.full(columns.shape[1], self.bias, dtype=np.float32)
        for questions, leaves in zip(self.questions.tolist(), self.leaves, strict=True):
            leaf = columns[questions[0]].copy()
            for feature in questions[1:]:
                leaf <<= 1
                leaf |= columns[feature]
            total += leaves.take(leaf)
        return total

    def choose(self, pairs: Pairs, mention_columns: Columns) -> npt.NDArray[np.int64]:
        """[G]: the pair that links each mention to its antecedent, -1 for a mention that is new."""
        scores = self.score(features(pairs, mention_columns))
        best = np.maximum.reduceat(scores, pairs.starts) if len(pairs.starts) else np.zeros(0, dtype=np.float32)
        ties = np.flatnonzero(scores == best[pairs.group])
        first = ties[np.searchsorted(pairs.group[ties], np.arange(len(best)))]
        return np.where(best > self.threshold, first, -1)


def features(pairs: Pairs, mention_columns: Columns) -> Columns:
    """[F, P]: features of the pair, of its later mention and of the candidate."""
    return np.concatenate([pair_features(pairs), mention_columns[:, pairs.i], mention_columns[:, pairs.j]])


def save(ranker: Ranker) -> bytes:
    """A safetensors file; the numbers that are no tensors go into its metadata."""
    from safetensors.numpy import save as to_bytes

    tensors = {"questions": ranker.questions, "leaves": ranker.leaves.astype(np.float16)}
    numbers = {"bias": ranker.bias, "threshold": ranker.threshold, "features": ranker.features}
    return to_bytes(tensors, {"ranker": json.dumps(numbers)})


@cache
def load(language: str) -> Ranker | None:
    """The ranker that ships for a language, None where there is none."""
    from safetensors.numpy import load as from_bytes

    file = FOLDER / f"{language}_ranker.safetensors"
    if not file.is_file():
        return None
    content = file.read_bytes()
    tensors = from_bytes(content)
    size = int.from_bytes(content[:8], "little")
    numbers = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["ranker"])
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return Ranker(tensors["questions"], tensors["leaves"].astype(np.float32), digest=digest, **numbers)


__all__ = ["Ranker", "features", "load", "mention_features", "save"]
