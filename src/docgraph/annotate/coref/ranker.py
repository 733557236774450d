"""The learned ranker: boosted oblivious trees score every pair; the best pair above a threshold becomes the link.

All features are binary, stored as uint8 columns of 0 and 1. An oblivious tree asks the same D questions of every pair,
so the answers are the bits of a leaf number and all pairs pass a tree in D vector operations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.mentions import Mentions
from docgraph.annotate.coref.pairs import Pairs
from docgraph.annotate.coref.sieves import SIEVES, choose
from docgraph.annotate.coref.word_lists import FOLDER, Definiteness, MentionKind, PronounKind, Role
from docgraph.annotation import BoolArray, IntArray
from docgraph.errors import DocgraphError

FloatArray = npt.NDArray[np.float32]
Columns = npt.NDArray[np.uint8]
"""[F, N] or [F, P]: one row per feature, so a tree reads each feature as contiguous bytes."""

# Thresholds that turn numbers into binary features.
SENTENCE_DISTANCES = (1, 2, 3, 5, 8, 13, 21, 40)
WORD_DISTANCES = (2, 3, 5, 8, 12, 20, 35, 60, 100, 200, 500)
MENTION_DISTANCES = (1, 2, 3, 5, 8, 12, 20, 30, 41, 80)
RANKS = (1, 2, 3, 5, 8, 13)
COUNTS = (1, 2, 4, 8, 16)
LENGTHS = (1, 2, 3, 5, 8, 16)


def equal(values: npt.NDArray[np.integer], options: Iterable[int]) -> list[BoolArray]:
    """Returns one column per option: True where the value equals the option."""
    return [values == option for option in options]


def at_least(values: npt.NDArray[np.integer], thresholds: Sequence[int]) -> list[BoolArray]:
    """Returns one column per threshold: True where the value reaches the threshold."""
    return [values >= threshold for threshold in thresholds]


def mention_features(mentions: Mentions, pronouns: int) -> Columns:
    """Returns [F, N]: the features of each mention; `pronouns` is the number of pronouns in the word lists."""
    m = mentions
    nominal = np.isin(m.kind, (MentionKind.NAME, MentionKind.NOUN))
    unique = -1 - np.arange(len(m), dtype=np.int32)
    total, before = _occurrences(np.where(nominal, m.lemma, unique))
    core_total, core_before = _occurrences(np.where(nominal, m.core, unique))
    return np.array(
        [
            *equal(m.kind, MentionKind),
            *equal(m.pronoun, range(1, pronouns + 1)),
            *equal(m.pronoun_kind, PronounKind),
            *equal(np.where(m.kind == MentionKind.PRONOUN, m.person, 0), (1, 2, 3)),
            *equal(m.number, (1, 2, 3)),
            *equal(m.gender, range(1, 8)),
            *equal(m.animacy, (1, 2, 3)),
            *equal(m.definiteness, Definiteness),
            *equal(m.role, Role),
            *((m.sort >> bit & 1).astype(np.bool_) for bit in range(4)),
            *at_least(before, COUNTS),
            *at_least(total - before, COUNTS[1:]),
            *at_least(core_before, COUNTS[:3]),
            *at_least(core_total, COUNTS[1:]),
            *at_least(m.right - m.left, LENGTHS),
            *at_least(np.bitwise_count(m.modifier_bits), (1, 2)),
            m.quote >= 0,
            m.quoted_by >= 0,
            m.speaker >= 0,
            m.names_speaker >= 0,
            m.pleonastic,
            m.coordinated,
            m.predicative,
            m.sentence == 0,
            np.diff(m.sentence, prepend=-1) > 0,
            m.acronym >= 0,
            m.word < m.head,
            m.clause == m.head,
        ],
        dtype=np.uint8,
    )


def _occurrences(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Returns [N], [N]: how often each key occurs in total, and how often before this entry."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    before = np.empty(len(keys), dtype=np.int32)
    before[order] = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    return counts[inverse].astype(np.int32), before


def pair_features(pairs: Pairs) -> Columns:
    """Returns [F, P]: comparisons of the two mentions of each pair."""
    columns = [*_sieves(pairs), *_wording(pairs), *_agreement(pairs), *_speech(pairs), *_distance(pairs)]
    return np.array(columns, dtype=np.uint8)


def _sieves(p: Pairs) -> list[BoolArray]:
    """Returns [P] each: whether the sieves choose this pair, whether they link its mention at all, and each sieve."""
    chosen, passed = choose(p), [sieve(p) for sieve in SIEVES]
    link = np.zeros(len(p), dtype=np.bool_)
    link[chosen[chosen >= 0]] = True
    return [link, (chosen >= 0)[p.group], *passed]


def _wording(p: Pairs) -> list[BoolArray]:
    m, nominal, same = p.mentions, p.nominal, p.same_lemma
    new, lost = p.new_modifiers > 0, p.lost_modifiers > 0
    return [
        nominal & p.same(m.phrase),
        nominal & p.same(m.core),
        nominal & p.same(m.form),
        same,
        same & ~new,
        same & ~new & ~lost,
        same & new & lost,
        same & p.shared_modifiers,
        same & p.nouns,
        same & p.names,
        p.head_in_j,
        p.head_in_i,
        p.head_in_j & p.names,
        p.head_in_i & p.names,
        nominal & p.shared_modifiers,
        p.names & p.shared_modifiers,
        *at_least(p.new_modifiers, (1, 2)),
        *at_least(p.lost_modifiers, (1, 2)),
        p.same_acronym,
        p.rank(same) == 0,
        p.pronouns & p.same(m.form),
    ]


def _agreement(p: Pairs) -> list[BoolArray]:
    m = p.mentions
    who = np.where(p.kind_i == MentionKind.PRONOUN, p.person_i - 1, 2 + p.kind_i) * len(MentionKind) + p.kind_j
    return [
        *equal(who, range(5 * len(MentionKind))),
        p.number,
        p.gender,
        p.animacy,
        p.agree,
        p.same(m.number) & (m.number[p.i] != 3),
        p.same(m.gender) & (m.gender[p.i] < 3),
        p.same(m.animacy) & (m.animacy[p.i] != 3),
        p.overlap(m.sort),
        (m.sort[p.i] != 0) & (m.sort[p.j] != 0) & ~p.overlap(m.sort),
        p.same_person,
        p.pronouns & (p.person_i != p.person_j),
    ]


def _speech(p: Pairs) -> list[BoolArray]:
    m = p.mentions
    participant = p.same_person & (p.person_i < 3)
    same_quote = p.same(m.quote)
    return [
        participant & p.same_speaker,
        participant & p.other_speaker,
        p.dialogue,
        p.speaker_name,
        same_quote,
        same_quote & (m.quote[p.i] >= 0),
        ~same_quote & (m.quote[p.i] >= 0) & (m.quote[p.j] >= 0),
        p.quoted,
        p.same(m.quoted_by) & (m.quoted_by[p.i] >= 0),
    ]


def _distance(p: Pairs) -> list[BoolArray]:
    m, event = p.mentions, p.kind_j == MentionKind.EVENT
    events = np.cumsum(m.kind == MentionKind.EVENT)
    agree_rank, subject_rank = p.rank(p.agree), p.rank(p.agree & p.subject_j)
    return [
        *at_least(p.sentences, SENTENCE_DISTANCES),
        *at_least(m.word[p.i] - m.word[p.j], WORD_DISTANCES),
        *at_least(p.i - p.j, MENTION_DISTANCES),
        *at_least(agree_rank, RANKS),
        *at_least(subject_rank, RANKS),
        (subject_rank == 0) & p.subject_j & p.agree,
        (p.sentences == 1) & p.subject_j,
        p.same(m.role),
        p.subject_j & (m.role[p.i] == Role.SUBJECT),
        p.contains,
        p.contained,
        p.same_clause,
        p.arguments,
        p.same_clause & p.subject_j,
        m.head[p.i] == m.word[p.j],
        m.head[p.j] == m.word[p.i],
        (m.head[p.i] == m.clause[p.j]) & p.subject_j,
        m.left[p.j] > m.clause[p.i],
        event & (m.role[p.j] == Role.ROOT),
        event & p.contains,
        *equal(np.where(event, events[p.i] - events[p.j], -1), range(5)),
    ]


def features(pairs: Pairs, mention_columns: Columns) -> Columns:
    """Returns [F, P]: features of the pair, of its mention and of its candidate."""
    return np.concatenate([pair_features(pairs), mention_columns[:, pairs.i], mention_columns[:, pairs.j]])


@dataclass(frozen=True, eq=False)
class Ranker:
    """T oblivious trees of depth D over F binary features."""

    questions: npt.NDArray[np.int16]
    """[T, D]: the features that a tree tests; the first one is the highest bit of the leaf number."""
    leaves: FloatArray
    """[T, 2^D]: the score of each leaf."""
    bias: float
    threshold: float
    """Minimum score of a link."""
    leniency: float
    """How much less the links of *it* and *they* may score: a translation needs their antecedents, and a wrong link of
    a pronoun without referent does little harm there."""
    sifting: int
    """Number of trees that score every pair. The other trees score only pairs that reach `cut` by then."""
    cut: float
    features: int
    digest: str

    def score(self, columns: Columns) -> FloatArray:
        """Returns [P]: log-odds that the mentions of a pair corefer, from features [F, P]; -inf below `cut`."""
        total = self.bias + self.sum_trees(columns, 0, self.sifting)
        remaining = np.flatnonzero(total >= self.cut)
        scores = np.full(len(total), -np.inf, dtype=np.float32)
        scores[remaining] = total[remaining] + self.sum_trees(columns[:, remaining], self.sifting, len(self.leaves))
        return scores

    def sum_trees(self, columns: Columns, first: int, last: int) -> FloatArray:
        """Returns [P]: the sum of the trees `first` .. `last` - 1."""
        total = np.zeros(columns.shape[1], dtype=np.float32)
        for questions, leaves in zip(self.questions[first:last].tolist(), self.leaves[first:last], strict=True):
            leaf = columns[questions[0]].copy()
            for feature in questions[1:]:
                leaf <<= 1
                leaf |= columns[feature]
            total += leaves.take(leaf)
        return total

    def choose(self, pairs: Pairs, mention_columns: Columns, lenient: BoolArray) -> npt.NDArray[np.int64]:
        """Returns [G]: the pair that links each mention to its antecedent, or -1 for a new entity.

        `lenient` [M] marks the mentions whose links may score less by `leniency`.
        """
        columns = features(pairs, mention_columns)
        if len(columns) != self.features:
            raise DocgraphError(
                f"the coreference ranker has {self.features} features but the code has {len(columns)}; "
                "train it again with scripts/train_coref.py"
            )
        return self.link(pairs, self.score(columns), lenient)

    def link(self, pairs: Pairs, scores: FloatArray, lenient: BoolArray) -> npt.NDArray[np.int64]:
        """Returns [G]: the best pair of each mention, given the scores of the pairs [P], or -1 for a new entity."""
        return best_pairs(pairs, scores, self.threshold - self.leniency * lenient[pairs.anaphor])


def best_pairs(pairs: Pairs, scores: FloatArray, threshold: float | npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Returns [G]: the highest-scoring pair of each mention, or -1 if none exceeds the threshold (one, or [G]).

    Ties go to the nearest candidate.
    """
    if not len(pairs):
        return np.zeros(0, dtype=np.int64)
    best = np.maximum.reduceat(scores, pairs.starts)
    ties = np.flatnonzero(scores == best[pairs.group])
    first = ties[np.searchsorted(pairs.group[ties], np.arange(len(best)))]
    return np.where(best > threshold, first, -1)


def save(ranker: Ranker) -> bytes:
    """Returns the ranker as a safetensors file, with its scalar fields in the metadata."""
    from safetensors.numpy import save as to_bytes

    tensors = {"questions": ranker.questions, "leaves": ranker.leaves.astype(np.float16)}
    numbers = {name: getattr(ranker, name) for name in ("bias", "threshold", "leniency", "sifting", "cut", "features")}
    return to_bytes(tensors, {"ranker": json.dumps(numbers)})


def parse(content: bytes) -> Ranker:
    """Returns the ranker from the content of its file."""
    from safetensors.numpy import load as from_bytes

    tensors = from_bytes(content)
    size = int.from_bytes(content[:8], "little")
    numbers = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["ranker"])
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return Ranker(tensors["questions"], tensors["leaves"].astype(np.float32), digest=digest, **numbers)


@cache
def load(language: str) -> Ranker | None:
    """Loads the ranker of a language, or None if there is none."""
    file = FOLDER / f"{language}_ranker.safetensors"
    return parse(file.read_bytes()) if file.is_file() else None
