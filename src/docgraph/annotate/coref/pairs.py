"""Candidate antecedents of each mention, and the pairs of mention and candidate with their comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.mentions import Mentions
from docgraph.annotate.coref.word_lists import Definiteness, MentionKind, PronounKind, Role
from docgraph.annotation import BoolArray, IntArray

WINDOW = 40
"""Number of preceding mentions that are candidates."""
PER_WORD = 4
"""For each word of a mention, number of earlier mentions with the same word that are considered at any distance."""
FAR = 8
"""Maximum number of candidates before the window."""
EVENTS = 5
"""Number of preceding events that are candidates."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """R mentions that may refer back, each with up to K candidates; both are indices of mentions."""

    anaphor: IntArray
    """[R]"""
    antecedent: IntArray
    """[R, K]: nearest first, then those before the window, then events; -1 for none."""


def find_candidates(mentions: Mentions) -> Candidates:
    """Returns the candidates of every mention except events. Their number is linear in the document length."""
    nominal = np.flatnonzero(mentions.kind != MentionKind.EVENT).astype(np.int32)
    order = np.arange(len(nominal), dtype=np.int32)
    window = order[:, None] - np.arange(1, WINDOW + 1, dtype=np.int32)
    positions = np.concatenate([window, _far_candidates(mentions, nominal)], axis=1)
    chosen = np.where(positions >= 0, nominal[np.maximum(positions, 0)] if len(nominal) else -1, -1)
    events = _event_candidates(mentions, nominal)
    return Candidates(nominal, np.concatenate([chosen, events], axis=1).astype(np.int32))


def _far_candidates(mentions: Mentions, nominal: IntArray) -> IntArray:
    """Returns [R, FAR]: mentions before the window that share a word, nearest first; positions in `nominal`, or -1."""
    keys, rows = _word_index(mentions, nominal)
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
    # Sorts by later mention, then nearest earlier mention, and removes duplicates.
    code = np.unique(later[distant] * (last + 1) + last - earlier[distant])
    later, earlier = code // (last + 1), last - code % (last + 1)
    rank = np.arange(len(later)) - np.searchsorted(later, later)
    far = np.full((len(nominal), FAR), -1, dtype=np.int64)
    nearest = rank < FAR
    far[later[nearest], rank[nearest]] = earlier[nearest]
    return far.astype(np.int32)


def _word_index(mentions: Mentions, nominal: IntArray) -> tuple[np.ndarray, np.ndarray]:
    """Returns [P], [P]: (key, mention). The keys of names are all their lemmas, of nouns the head lemma.

    Pronouns of the first and second person have a negative key of person and number; other pronouns have none.
    """
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


def _event_candidates(mentions: Mentions, nominal: IntArray) -> IntArray:
    """Returns [R, EVENTS]: the preceding events, for mentions that can refer to one: "it", "this", "the decision"."""
    events = np.flatnonzero(mentions.kind == MentionKind.EVENT)
    last = np.searchsorted(events, nominal)[:, None] - np.arange(1, EVENTS + 1)
    candidates = np.where(last >= 0, events[np.maximum(last, 0)] if len(events) else -1, -1)
    third = (mentions.person == 3) & (mentions.animacy == 2) & (mentions.number & 1 > 0)
    pronoun = np.isin(mentions.pronoun_kind, (PronounKind.PERSONAL, PronounKind.DEMONSTRATIVE)) & third
    noun = (mentions.kind == MentionKind.NOUN) & np.isin(
        mentions.definiteness, (Definiteness.DEFINITE, Definiteness.DEMONSTRATIVE)
    )
    candidates[~(pronoun | noun)[nominal]] = -1
    return candidates.astype(np.int32)


class Pairs:
    """P pairs: all candidates of some mentions, grouped by mention, in the order of `Candidates`.

    `i` is the later mention, which may refer back, and `j` the candidate. Every comparison is an array [P].
    """

    def __init__(self, mentions: Mentions, anaphor: IntArray, antecedent: IntArray) -> None:
        """`anaphor` [R] and `antecedent` [R, K], as in `Candidates`."""
        valid = antecedent >= 0
        self.mentions = mentions
        self.anaphor = anaphor[valid.any(axis=1)]
        counts = valid.sum(axis=1)
        counts = counts[counts > 0]
        self.starts: npt.NDArray[np.int64] = np.cumsum(counts) - counts
        """[G]: first pair of each mention that has candidates."""
        self.group: npt.NDArray[np.int64] = np.repeat(np.arange(len(counts)), counts)
        """[P]: which of these mentions a pair belongs to."""
        self.i = self.anaphor[self.group]
        self.j = antecedent[valid]
        self.kind_i, self.kind_j = mentions.kind[self.i], mentions.kind[self.j]
        self.person_i, self.person_j = mentions.person[self.i], mentions.person[self.j]
        self.sentences = mentions.sentence[self.i] - mentions.sentence[self.j]
        """Distance in sentences."""
        self.pronouns = self.both(MentionKind.PRONOUN)
        self.names, self.nouns = self.both(MentionKind.NAME), self.both(MentionKind.NOUN)
        self.number, self.gender = self.overlap(mentions.number), self.overlap(mentions.gender)
        self.animacy = self.overlap(mentions.animacy)
        self.agree = self.number & self.gender & self.animacy
        self.subject_j: BoolArray = mentions.role[self.j] == Role.SUBJECT

    def __len__(self) -> int:
        return len(self.i)

    def rank(self, among: BoolArray) -> npt.NDArray[np.int64]:
        """Returns [P]: how many of the marked candidates of the same mention come before this one."""
        count: npt.NDArray[np.int64] = np.cumsum(among) - among
        return count - count[self.starts][self.group] if len(count) else count

    def both(self, kind: MentionKind) -> BoolArray:
        """Returns [P]: whether the two mentions are of this kind."""
        of_kind: BoolArray = (self.kind_i == kind) & (self.kind_j == kind)
        return of_kind

    def overlap(self, column: IntArray) -> BoolArray:
        """Returns [P]: whether the bit masks of the two mentions share a bit."""
        return (column[self.i] & column[self.j]).astype(np.bool_)

    def same(self, column: IntArray) -> BoolArray:
        """Returns [P]: whether the two mentions have equal entries in a column."""
        equal: BoolArray = column[self.i] == column[self.j]
        return equal

    @cached_property
    def nominal(self) -> BoolArray:
        """Neither is a pronoun or an event."""
        noun = np.isin(self.mentions.kind, (MentionKind.NAME, MentionKind.NOUN))
        return noun[self.i] & noun[self.j]

    @cached_property
    def same_person(self) -> BoolArray:
        """Both are pronouns of the same person and of compatible number."""
        same: BoolArray = self.person_i == self.person_j
        return self.pronouns & same & self.number

    @cached_property
    def contains(self) -> BoolArray:
        """The mention is inside the candidate's phrase."""
        m = self.mentions
        inside: BoolArray = (m.left[self.j] <= m.word[self.i]) & (m.word[self.i] <= m.right[self.j])
        return inside

    @cached_property
    def contained(self) -> BoolArray:
        """The candidate is inside the mention's phrase."""
        m = self.mentions
        inside: BoolArray = (m.left[self.i] <= m.word[self.j]) & (m.word[self.j] <= m.right[self.i])
        return inside

    @cached_property
    def same_clause(self) -> BoolArray:
        """Both are in the same clause."""
        return self.same(self.mentions.clause)

    @cached_property
    def arguments(self) -> BoolArray:
        """Both depend on the same word ("he" and "him" in "he saw him")."""
        return self.same(self.mentions.head)

    @cached_property
    def same_lemma(self) -> BoolArray:
        """Both are nouns or names with the same head lemma."""
        return self.nominal & self.same(self.mentions.lemma)

    @cached_property
    def new_modifiers(self) -> npt.NDArray[np.uint8]:
        """Number of the mention's modifiers that the candidate lacks."""
        m = self.mentions
        return np.bitwise_count(m.modifier_bits[self.i] & ~(m.modifier_bits | m.head_bits)[self.j])

    @cached_property
    def lost_modifiers(self) -> npt.NDArray[np.uint8]:
        """Number of the candidate's modifiers that the mention lacks."""
        m = self.mentions
        return np.bitwise_count(m.modifier_bits[self.j] & ~(m.modifier_bits | m.head_bits)[self.i])

    @cached_property
    def shared_modifiers(self) -> BoolArray:
        """The two have a modifier in common."""
        m = self.mentions
        return (m.modifier_bits[self.i] & m.modifier_bits[self.j]) > 0

    @cached_property
    def head_in_j(self) -> BoolArray:
        """The mention's head word is a modifier of the candidate: "Bos" after "Nick Bos"."""
        m = self.mentions
        return self.nominal & ((m.head_bits[self.i] & m.modifier_bits[self.j]) > 0)

    @cached_property
    def head_in_i(self) -> BoolArray:
        """The candidate's head word is a modifier of the mention."""
        m = self.mentions
        return self.nominal & ((m.head_bits[self.j] & m.modifier_bits[self.i]) > 0)

    @cached_property
    def same_acronym(self) -> BoolArray:
        """Both have the same acronym."""
        return self.same(self.mentions.acronym) & (self.mentions.acronym[self.i] >= 0)

    @cached_property
    def same_speaker(self) -> BoolArray:
        """Both are said by the same declared speaker."""
        return self.same(self.mentions.speaker) & (self.mentions.speaker[self.i] >= 0)

    @cached_property
    def other_speaker(self) -> BoolArray:
        """They are said by two different declared speakers."""
        speaker = self.mentions.speaker
        known: BoolArray = speaker >= 0
        return ~self.same(speaker) & known[self.i] & known[self.j]

    @cached_property
    def dialogue(self) -> BoolArray:
        """One is "I" of a speaker, the other "you" of another speaker who addresses the first."""
        m = self.mentions
        turn: BoolArray = (self.person_i + self.person_j == 3) & (m.addressee[self.i] == m.speaker[self.j])
        return turn & self.pronouns & self.other_speaker

    @cached_property
    def speaker_name(self) -> BoolArray:
        """One is the name of the speaker or addressee to whom the other, "I" or "you", refers."""
        m, i, j = self.mentions, self.i, self.j
        participant = np.where(m.person == 1, m.speaker, np.where(m.person == 2, m.addressee, -1))
        name = m.names_speaker
        later: BoolArray = (participant[i] == name[j]) & (name[j] >= 0)
        earlier: BoolArray = (participant[j] == name[i]) & (name[i] >= 0)
        return later | earlier

    @cached_property
    def quoted(self) -> BoolArray:
        """One names the speaker of the quotation that contains the other."""
        m = self.mentions
        quoted: BoolArray = (m.quoted_by[self.i] == m.word[self.j]) | (m.quoted_by[self.j] == m.word[self.i])
        return quoted
