"""Sieves: rules from the most to the least precise. Each one links mentions that the earlier ones left unlinked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.pairs import Pairs
from docgraph.annotate.coref.word_lists import Definiteness, MentionKind, PronounKind
from docgraph.annotation import BoolArray

Sieve = Callable[[Pairs], BoolArray]
PRONOUN_SENTENCES = 3
"""Maximum distance in sentences between a third-person pronoun and its antecedent."""
SENTENCE_COST = 40.0
"""Cost per sentence of distance of a pronoun's candidate; outweighs the number of mentions in between."""
SUBJECT_BONUS = 30.0
"""Bonus of subjects among a pronoun's candidates in the same sentence."""


def choose(pairs: Pairs) -> npt.NDArray[np.int64]:
    """Returns [G]: the pair that links each mention to its antecedent, or -1 for a new entity."""
    chosen = np.full(len(pairs.starts), -1, dtype=np.int64)
    cost = _cost(pairs)
    for sieve in SIEVES:
        passed = np.flatnonzero(sieve(pairs) & (chosen[pairs.group] < 0))
        order = passed[np.lexsort((cost[passed], pairs.group[passed]))]
        best = order[np.diff(pairs.group[order], prepend=-1) > 0]
        chosen[pairs.group[best]] = best
    return chosen


def _cost(p: Pairs) -> npt.NDArray[np.float64]:
    """Returns [P]: the distance in candidates; pronouns prefer near sentences and, in one sentence, subjects."""
    pronoun = (p.kind_i == MentionKind.PRONOUN) & (p.person_i == 3)
    distance = p.rank(np.ones(len(p), dtype=np.bool_)).astype(np.float64)
    return distance + np.where(pronoun, SENTENCE_COST * p.sentences - SUBJECT_BONUS * p.subject_j, 0.0)


def speakers(p: Pairs) -> BoolArray:
    """First and second person: same person of one speaker, partners of a dialogue, or the speaker of a quotation."""
    m = p.mentions
    unknown = (m.speaker[p.i] < 0) & (m.speaker[p.j] < 0)
    same_voice = np.where(
        m.quote[p.i] >= 0, p.same(m.quoted_by) & (m.quoted_by[p.i] >= 0) | p.same(m.quote), m.quote[p.j] < 0
    )
    alike = p.same_person & (p.same_speaker | unknown) & same_voice
    quoted = (m.quoted_by[p.i] == m.word[p.j]) & (m.number[p.i] == 1) & (p.person_i == 1)
    participant = (p.kind_i == MentionKind.PRONOUN) & (p.person_i < 3)
    linked: BoolArray = participant & (alike | p.dialogue | quoted | p.speaker_name)
    return linked


def exact_match(p: Pairs) -> BoolArray:
    """Same words: names, and nouns that are definite or have modifiers."""
    m = p.mentions
    specific = np.isin(m.definiteness, (Definiteness.INDEFINITE, Definiteness.QUANTIFIED), invert=True)
    modified = (m.modifier_bits > 0) | (m.definiteness != Definiteness.BARE)
    noun: BoolArray = p.nouns & specific[p.i] & modified[p.i] & p.number
    return p.same(m.phrase) & (p.names | noun) & ~p.contains & ~p.contained


def proper_names(p: Pairs) -> BoolArray:
    """Names that share a part and have no conflicting parts, or a name and its acronym."""
    shared = p.same_lemma | p.head_in_j | p.head_in_i
    conflict = (p.new_modifiers > 0) & (p.lost_modifiers > 0)
    return p.names & (shared & ~conflict & p.agree | p.same_acronym) & ~p.contains & ~p.contained


def head_match(p: Pairs) -> BoolArray:
    """A definite noun and the same noun; the candidate has all its modifiers."""
    referring = (Definiteness.DEFINITE, Definiteness.DEMONSTRATIVE, Definiteness.POSSESSED)
    definite = np.isin(p.mentions.definiteness, referring)
    linked: BoolArray = p.nouns & p.same_lemma & definite[p.i] & (p.new_modifiers == 0) & p.number
    return linked & ~p.contains & ~p.contained


def reflexives(p: Pairs) -> BoolArray:
    """A reflexive pronoun and the subject of its clause."""
    reflexive = p.mentions.pronoun_kind[p.i] == PronounKind.REFLEXIVE
    same_person = (p.kind_j != MentionKind.PRONOUN) | (p.person_i == p.person_j)
    linked: BoolArray = reflexive & p.same_clause & p.subject_j & p.agree & (p.person_i == 3) & same_person
    return linked


def third_person(p: Pairs) -> BoolArray:
    """A third-person pronoun and a near candidate that agrees with it and that binding theory allows."""
    m = p.mentions
    kinds = (PronounKind.PERSONAL, PronounKind.POSSESSIVE, PronounKind.REFLEXIVE)
    anaphor = np.isin(m.pronoun_kind, kinds) & (m.person == 3) & ~m.pleonastic
    free = (m.pronoun_kind[p.i] != PronounKind.PERSONAL) | ~(p.arguments & p.same_clause)
    third = (p.kind_j != MentionKind.PRONOUN) | (p.person_j == 3) & np.isin(m.pronoun_kind, kinds)[p.j]
    near = (p.sentences <= PRONOUN_SENTENCES) & (p.kind_j != MentionKind.EVENT)
    linked: BoolArray = anaphor[p.i] & free & third & near & p.agree & ~m.pleonastic[p.j]
    return linked & ~p.contains & ~p.contained


SIEVES: tuple[Sieve, ...] = (speakers, exact_match, proper_names, head_match, reflexives, third_person)
