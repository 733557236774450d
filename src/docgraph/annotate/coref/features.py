"""Features of mentions and of pairs of mentions, for the ranker; every one a vectorised comparison of columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.mentions import MentionKind, Mentions, Role
from docgraph.annotate.coref.tables import Definiteness, PronounKind
from docgraph.annotation import IntArray

FloatArray = npt.NDArray[np.float32]
DISTANCES = (1, 2, 3, 5, 10, 20, 40)


def one_hot(values: IntArray, size: int) -> FloatArray:
    """[..., size]: a 1 at each value; values outside are all zeros."""
    return (values[..., None] == np.arange(size)).astype(np.float32)


def _counts(keys: IntArray) -> tuple[IntArray, IntArray]:
    """[N], [N]: how often each key occurs in all, and how often before."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.cumsum(counts) - counts
    before = np.empty(len(keys), dtype=np.int64)
    before[order] = np.arange(len(keys)) - np.repeat(starts, counts)
    return counts[inverse], before


def mention_features(mentions: Mentions, pronouns: int) -> FloatArray:
    """[N, F]: what each mention is; `pronouns` is the number of pronouns of the table."""
    m = mentions
    nominal = (m.kind == MentionKind.NAME) | (m.kind == MentionKind.NOUN)
    key = np.where(nominal, m.lemma, -1 - np.arange(len(m), dtype=np.int32))
    total, before = _counts(key)
    core_total, core_before = _counts(np.where(nominal, m.core, -1 - np.arange(len(m), dtype=np.int32)))
    length = m.right - m.left
    scalar = [
        nominal & (before > 0),
        nominal & (core_before > 0),
        np.log1p(before),
        np.log1p(total - before),
        np.log1p(core_total),
        np.log1p(length),
        m.modifier_bits != 0,
        np.bitwise_count(m.modifier_bits) >= 2,
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
        m.word == m.head,
        m.word < m.head,
        m.clause == m.head,
    ]
    groups = [
        one_hot(m.kind, len(MentionKind)),
        one_hot(m.pronoun, pronouns + 1),
        one_hot(m.pronoun_kind, len(PronounKind)),
        one_hot(np.where(m.kind == MentionKind.PRONOUN, m.person, 0), 4),
        one_hot(m.number, 4),
        one_hot(m.gender, 8),
        one_hot(m.animacy, 4),
        one_hot(m.definiteness, len(Definiteness)),
        one_hot(m.role, len(Role)),
        np.stack([m.sort >> bit & 1 for bit in range(4)], axis=-1).astype(np.float32),
        np.stack(scalar, axis=-1).astype(np.float32),
    ]
    return np.concatenate(groups, axis=-1)


def pair_features(mentions: Mentions, anaphor: IntArray, antecedent: IntArray) -> FloatArray:
    """[R, K, F]: how each anaphor [R] and its candidates [R, K] compare; -1 candidates give rubbish."""
    m = mentions
    i, j = anaphor[:, None], np.maximum(antecedent, 0)
    kind_i, kind_j = m.kind[i], m.kind[j]
    sentences = m.sentence[i] - m.sentence[j]
    pronoun_i, pronoun_j = kind_i == MentionKind.PRONOUN, kind_j == MentionKind.PRONOUN
    name_i, name_j = kind_i == MentionKind.NAME, kind_j == MentionKind.NAME
    noun_i, noun_j = kind_i == MentionKind.NOUN, kind_j == MentionKind.NOUN
    nominal = ~pronoun_i & ~pronoun_j
    number = (m.number[i] & m.number[j]) > 0
    gender = (m.gender[i] & m.gender[j]) > 0
    animacy = (m.animacy[i] & m.animacy[j]) > 0
    agrees = number & gender & animacy & (antecedent >= 0)
    person_i, person_j = np.where(pronoun_i, m.person[i], 3), np.where(pronoun_j, m.person[j], 3)
    subject_j = m.role[j] == Role.SUBJECT
    contains = (m.left[j] <= m.word[i]) & (m.word[i] <= m.right[j])
    contained = (m.left[i] <= m.word[j]) & (m.word[j] <= m.right[i])
    same_clause = m.clause[i] == m.clause[j]
    extra_i = np.bitwise_count(m.modifier_bits[i] & ~m.modifier_bits[j] & ~m.head_bits[j])
    extra_j = np.bitwise_count(m.modifier_bits[j] & ~m.modifier_bits[i] & ~m.head_bits[i])
    shared = np.bitwise_count(m.modifier_bits[i] & m.modifier_bits[j])
    same_lemma = nominal & (m.lemma[i] == m.lemma[j])
    head_in_j = nominal & ((m.head_bits[i] & m.modifier_bits[j]) > 0)
    head_in_i = nominal & ((m.head_bits[j] & m.modifier_bits[i]) > 0)
    same_form = pronoun_i & pronoun_j & (m.form[i] == m.form[j])
    same_person = pronoun_i & pronoun_j & (person_i == person_j) & number
    same_speaker = (m.speaker[i] == m.speaker[j]) & (m.speaker[i] >= 0)
    other_speaker = (m.speaker[i] != m.speaker[j]) & (m.speaker[i] >= 0) & (m.speaker[j] >= 0)
    participants = person_i < 3
    event_order = np.cumsum(m.kind == MentionKind.EVENT)
    event_rank = np.where(kind_j == MentionKind.EVENT, event_order[i] - event_order[j], -1)
    rank = np.cumsum(agrees, axis=1) - agrees
    subject_rank = np.cumsum(agrees & subject_j, axis=1) - (agrees & subject_j)
    flags = [
        nominal & (m.phrase[i] == m.phrase[j]),
        nominal & (m.core[i] == m.core[j]),
        nominal & (m.form[i] == m.form[j]),
        same_lemma,
        same_lemma & (extra_i == 0),
        same_lemma & (extra_i == 0) & (extra_j == 0),
        same_lemma & (extra_i > 0) & (extra_j > 0),
        same_lemma & (shared > 0),
        same_lemma & noun_i & noun_j,
        same_lemma & name_i & name_j,
        head_in_j & name_i & name_j,
        head_in_i & name_i & name_j,
        head_in_j,
        head_in_i,
        (shared > 0) & nominal,
        (shared > 0) & name_i & name_j,
        extra_i,
        extra_j,
        (m.acronym[i] == m.acronym[j]) & (m.acronym[i] >= 0),
        number,
        gender,
        animacy,
        agrees,
        (m.number[i] == m.number[j]) & (m.number[i] != 3),
        (m.gender[i] == m.gender[j]) & (m.gender[i] < 3),
        (m.animacy[i] == m.animacy[j]) & (m.animacy[i] != 3),
        same_form,
        same_person,
        pronoun_i & pronoun_j & (person_i != person_j),
        participants & same_person & same_speaker,
        participants & same_person & other_speaker,
        (person_i + person_j == 3) & pronoun_i & pronoun_j & other_speaker,
        (person_i + person_j == 3) & pronoun_i & pronoun_j & (m.addressee[i] == m.speaker[j]) & (m.speaker[j] >= 0),
        (person_i == 1) & name_j & (m.names_speaker[j] == m.speaker[i]) & (m.speaker[i] >= 0),
        (person_i == 2) & name_j & (m.names_speaker[j] == m.addressee[i]) & (m.addressee[i] >= 0),
        (person_j == 1) & name_i & (m.names_speaker[i] == m.speaker[j]) & (m.speaker[j] >= 0),
        (person_j == 2) & name_i & (m.names_speaker[i] == m.addressee[j]) & (m.addressee[j] >= 0),
        m.quote[i] == m.quote[j],
        (m.quote[i] >= 0) & (m.quote[i] == m.quote[j]),
        (m.quote[i] >= 0) & (m.quote[j] >= 0) & (m.quote[i] != m.quote[j]),
        (m.quoted_by[i] == m.word[j]),
        (m.quoted_by[j] == m.word[i]),
        (m.quoted_by[j] == m.quoted_by[i]) & (m.quoted_by[j] >= 0),
        m.role[i] == m.role[j],
        subject_j & (m.role[i] == Role.SUBJECT),
        contains,
        contained,
        same_clause,
        same_clause & (m.head[i] == m.head[j]),
        same_clause & subject_j,
        m.head[i] == m.word[j],
        m.head[j] == m.word[i],
        (m.head[i] == m.clause[j]) & subject_j,
        (m.left[j] > m.clause[i]),
        rank == 0,
        rank == 1,
        np.minimum(rank, 20) / 10,
        (subject_rank == 0) & subject_j,
        (subject_rank == 1) & subject_j,
        np.minimum(subject_rank, 10) / 5,
        (sentences == 1) & subject_j,
        (m.sort[i] & m.sort[j]) > 0,
        (m.sort[i] != 0) & (m.sort[j] != 0) & ((m.sort[i] & m.sort[j]) == 0),
        np.log1p(m.word[i] - m.word[j]) / 5,
        np.log1p(i - j) / 5,
        (kind_j == MentionKind.EVENT) & (m.role[j] == Role.ROOT) & (sentences == 1),
        (kind_j == MentionKind.EVENT) & (m.role[j] == Role.ROOT) & (sentences == 0),
        (kind_j == MentionKind.EVENT) & contains,
    ]
    groups = [
        np.stack(flags, axis=-1).astype(np.float32),
        (sentences[..., None] >= np.array(DISTANCES)).astype(np.float32),
        one_hot(event_rank, 5),
        one_hot(np.where(pronoun_i, m.person[i] - 1, 2 + kind_i) * 4 + kind_j, 20),
    ]
    return np.concatenate(groups, axis=-1)
