"""Features of mentions and of pairs for the ranker, all of them yes or no: uint8 columns of 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.kinds import Definiteness, MentionKind, PronounKind, Role
from docgraph.annotate.coref.mentions import Mentions
from docgraph.annotate.coref.pairs import Pairs
from docgraph.annotate.coref.sieves import SIEVES, choose
from docgraph.annotation import BoolArray, IntArray

Columns = npt.NDArray[np.uint8]
"""[F, N] or [F, P]: one row a feature, so that a tree reads each feature as one run of bytes."""

SENTENCES = (1, 2, 3, 5, 8, 13, 21, 40)
WORDS = (2, 3, 5, 8, 12, 20, 35, 60, 100, 200, 500)
MENTIONS = (1, 2, 3, 5, 8, 12, 20, 30, 41, 80)
RANKS = (1, 2, 3, 5, 8, 13)
COUNTS = (1, 2, 4, 8, 16)
LENGTHS = (1, 2, 3, 5, 8, 16)


def equal(values: npt.NDArray[np.integer], options: Iterable[int]) -> list[BoolArray]:
    """One column for each option: where the values are it."""
    return [values == option for option in options]


def reach(values: npt.NDArray[np.integer], steps: Sequence[int]) -> list[BoolArray]:
    """One column for each step: where the values reach it."""
    return [values >= step for step in steps]


def mention_features(mentions: Mentions, pronouns: int) -> Columns:
    """[F, N]: what each mention is; `pronouns` is how many the table of the language has."""
    m = mentions
    nominal = np.isin(m.kind, (MentionKind.NAME, MentionKind.NOUN))
    alone = -1 - np.arange(len(m), dtype=np.int32)
    total, before = _occurrences(np.where(nominal, m.lemma, alone))
    core_total, core_before = _occurrences(np.where(nominal, m.core, alone))
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
            *reach(before, COUNTS),
            *reach(total - before, COUNTS[1:]),
            *reach(core_before, COUNTS[:3]),
            *reach(core_total, COUNTS[1:]),
            *reach(m.right - m.left, LENGTHS),
            *reach(np.bitwise_count(m.modifier_bits), (1, 2)),
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
    """[N], [N]: how often each key occurs in all, and how often before."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    before = np.empty(len(keys), dtype=np.int32)
    before[order] = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    return counts[inverse].astype(np.int32), before


def pair_features(pairs: Pairs) -> Columns:
    """[F, P]: how the two mentions of each pair compare."""
    found = [*_sieves(pairs), *_wording(pairs), *_agreement(pairs), *_speech(pairs), *_place(pairs)]
    return np.array(found, dtype=np.uint8)


def _sieves(p: Pairs) -> list[BoolArray]:
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
        *reach(p.new_modifiers, (1, 2)),
        *reach(p.lost_modifiers, (1, 2)),
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


def _place(p: Pairs) -> list[BoolArray]:
    m, event = p.mentions, p.kind_j == MentionKind.EVENT
    events = np.cumsum(m.kind == MentionKind.EVENT)
    agree_rank, subject_rank = p.rank(p.agree), p.rank(p.agree & p.subject_j)
    return [
        *reach(p.sentences, SENTENCES),
        *reach(m.word[p.i] - m.word[p.j], WORDS),
        *reach(p.i - p.j, MENTIONS),
        *reach(agree_rank, RANKS),
        *reach(subject_rank, RANKS),
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
