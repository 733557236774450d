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

from docgraph.annotate.coref.features import Columns, pair_features
from docgraph.annotate.coref.pairs import Pairs
from docgraph.annotate.coref.tables import FOLDER
from docgraph.errors import DocgraphError

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
    sifting: int
    """How many of the trees see every pair; the others see those that reach `cut` by then."""
    cut: float
    features: int
    digest: str

    def score(self, columns: Columns) -> FloatArray:
        """[P]: log-odds that the two mentions of a pair corefer, from features [F, P]; -inf for the hopeless."""
        total = self.bias + self.sum_trees(columns, 0, self.sifting)
        hopeful = np.flatnonzero(total >= self.cut)
        scores = np.full(len(total), -np.inf, dtype=np.float32)
        scores[hopeful] = total[hopeful] + self.sum_trees(columns[:, hopeful], self.sifting, len(self.leaves))
        return scores

    def sum_trees(self, columns: Columns, first: int, last: int) -> FloatArray:
        """[P]: what the trees from `first` to before `last` add up to."""
        total = np.zeros(columns.shape[1], dtype=np.float32)
        for questions, leaves in zip(self.questions[first:last].tolist(), self.leaves[first:last], strict=True):
            leaf = columns[questions[0]].copy()
            for feature in questions[1:]:
                leaf <<= 1
                leaf |= columns[feature]
            total += leaves.take(leaf)
        return total

    def choose(self, pairs: Pairs, mention_columns: Columns) -> npt.NDArray[np.int64]:
        """[G]: the pair that links each mention to its antecedent, -1 for a mention that is new."""
        columns = features(pairs, mention_columns)
        if len(columns) != self.features:
            raise DocgraphError(
                f"the coreference ranker knows {self.features} features and the code has {len(columns)}; "
                "train it again with scripts/train_coref.py"
            )
        return best_pairs(pairs, self.score(columns), self.threshold)


def best_pairs(pairs: Pairs, scores: FloatArray, threshold: float) -> npt.NDArray[np.int64]:
    """[G]: the pair of each mention with the highest score, the nearest of equals; -1 where none is above threshold."""
    if not len(pairs):
        return np.zeros(0, dtype=np.int64)
    best = np.maximum.reduceat(scores, pairs.starts)
    ties = np.flatnonzero(scores == best[pairs.group])
    first = ties[np.searchsorted(pairs.group[ties], np.arange(len(best)))]
    return np.where(best > threshold, first, -1)


def features(pairs: Pairs, mention_columns: Columns) -> Columns:
    """[F, P]: features of the pair, of its later mention and of the candidate."""
    return np.concatenate([pair_features(pairs), mention_columns[:, pairs.i], mention_columns[:, pairs.j]])


def save(ranker: Ranker) -> bytes:
    """A safetensors file; the numbers that are no tensors go into its metadata."""
    from safetensors.numpy import save as to_bytes

    tensors = {"questions": ranker.questions, "leaves": ranker.leaves.astype(np.float16)}
    numbers = {name: getattr(ranker, name) for name in ("bias", "threshold", "sifting", "cut", "features")}
    return to_bytes(tensors, {"ranker": json.dumps(numbers)})


def parse(content: bytes) -> Ranker:
    """A ranker from the bytes of its file."""
    from safetensors.numpy import load as from_bytes

    tensors = from_bytes(content)
    size = int.from_bytes(content[:8], "little")
    numbers = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["ranker"])
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return Ranker(tensors["questions"], tensors["leaves"].astype(np.float32), digest=digest, **numbers)


@cache
def load(language: str) -> Ranker | None:
    """The ranker that ships for a language, None where there is none."""
    file = FOLDER / f"{language}_ranker.safetensors"
    return parse(file.read_bytes()) if file.is_file() else None
