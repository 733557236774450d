"""Which earlier mentions a mention may refer to: all that are near, and the far ones that share a word with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from docgraph.annotate.coref.kinds import Definiteness, MentionKind, PronounKind
from docgraph.annotate.coref.mentions import Mentions
from docgraph.annotation import IntArray

WINDOW = 40
"""How many of the mentions just before are candidates."""
PER_WORD = 4
"""How many earlier mentions of each of its words are candidates however far away."""
FAR = 8
EVENTS = 5


@dataclass(frozen=True, eq=False)
class Candidates:
    """R mentions that may refer back, and up to K candidates for each; both are indices of mentions."""

    anaphor: IntArray
    """[R]"""
    antecedent: IntArray
    """[R, K]: nearest first, then far ones, then events; -1 where there is none."""


def find_candidates(mentions: Mentions) -> Candidates:
    """The candidates of every mention that is not an event; their number is linear in the length of the document."""
    nominal = np.flatnonzero(mentions.kind != MentionKind.EVENT).astype(np.int32)
    order = np.arange(len(nominal), dtype=np.int32)
    window = order[:, None] - np.arange(1, WINDOW + 1, dtype=np.int32)
    far = _far(mentions, nominal)
    near_and_far = np.concatenate([window, far], axis=1)
    chosen = np.where(near_and_far >= 0, nominal[np.maximum(near_and_far, 0)] if len(nominal) else -1, -1)
    return Candidates(nominal, np.concatenate([chosen, _events(mentions, nominal)], axis=1).astype(np.int32))


def _far(mentions: Mentions, nominal: IntArray) -> IntArray:
    """[R, FAR]: earlier mentions outside the window that share a word, nearest first; positions in `nominal`, or -1."""
    keys, rows = _keys(mentions, nominal)
    order = np.lexsort((rows, keys))
    keys, rows = keys[order], rows[order]
    start = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1)) if len(keys) else np.zeros(0, dtype=np.int64)
    group = np.repeat(np.arange(len(start)), np.diff(start, append=len(keys)))
    pairs = [np.stack([rows, rows[start[group]]])]
    for step in range(1, PER_WORD + 1):
        same = keys[step:] == keys[:-step]
        pairs.append(np.stack([rows[step:][same], rows[:-step][same]]))
    later, earlier = np.concatenate(pairs, axis=1)
    distant = later - earlier > WINDOW
    last = max(len(nominal) - 1, 0)
    code = np.unique(later[distant] * (last + 1) + last - earlier[distant])
    later, earlier = code // (last + 1), last - code % (last + 1)
    place = np.arange(len(later)) - np.searchsorted(later, later)
    found = np.full((len(nominal), FAR), -1, dtype=np.int64)
    kept = place < FAR
    found[later[kept], place[kept]] = earlier[kept]
    return found.astype(np.int32)


def _keys(mentions: Mentions, nominal: IntArray) -> tuple[np.ndarray, np.ndarray]:
    """[P], [P]: (word, mention) where a mention can be found again by the word; pronouns by person and number."""
    lemmas = mentions.word_lemmas
    keys: list[int] = []
    rows: list[int] = []
    kinds, persons, numbers = mentions.kind.tolist(), mentions.person.tolist(), mentions.number.tolist()
    for row, index in enumerate(nominal.tolist()):
        if kinds[index] == MentionKind.NAME:
            entry = lemmas[index]
        elif kinds[index] == MentionKind.NOUN:
            entry = lemmas[index][:1]
        else:
            entry = (-1 - persons[index] * 4 - numbers[index],) if persons[index] < 3 else ()
        keys.extend(entry)
        rows.extend([row] * len(entry))
    return np.array(keys, dtype=np.int64), np.array(rows, dtype=np.int64)


def _events(mentions: Mentions, nominal: IntArray) -> IntArray:
    """[R, EVENTS]: the events last spoken of, for what can refer to one: "it", "this", "the decision"."""
    events = np.flatnonzero(mentions.kind == MentionKind.EVENT)
    last = np.searchsorted(events, nominal)[:, None] - np.arange(1, EVENTS + 1)
    found = np.where(last >= 0, events[np.maximum(last, 0)] if len(events) else -1, -1)
    third = (mentions.person == 3) & (mentions.animacy == 2) & (mentions.number & 1 > 0)
    pronoun = np.isin(mentions.pronoun_kind, (PronounKind.PERSONAL, PronounKind.DEMONSTRATIVE)) & third
    noun = (mentions.kind == MentionKind.NOUN) & np.isin(
        mentions.definiteness, (Definiteness.DEFINITE, Definiteness.DEMONSTRATIVE)
    )
    found[~(pronoun | noun)[nominal]] = -1
    return found.astype(np.int32)
