"""Pairs of a mention and a candidate for its antecedent, and how the two compare: P pairs, every comparison [P]."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.kinds import MentionKind, Role
from docgraph.annotate.coref.mentions import Mentions
from docgraph.annotation import BoolArray, IntArray


class Pairs:
    """All candidates of some mentions, grouped by mention, in the order of `candidates`.

    In the comparisons `i` is the later mention, which may refer back, and `j` the candidate.
    """

    def __init__(self, mentions: Mentions, anaphor: IntArray, antecedent: IntArray) -> None:
        """`anaphor` [R] and `antecedent` [R, K], as in `Candidates`."""
        valid = antecedent >= 0
        self.mentions = mentions
        self.anaphor = anaphor[valid.any(axis=1)]
        counts = valid.sum(axis=1)
        counts = counts[counts > 0]
        self.starts: npt.NDArray[np.int64] = np.cumsum(counts) - counts
        """[G]: where the pairs of each mention that has candidates begin."""
        self.group: npt.NDArray[np.int64] = np.repeat(np.arange(len(counts)), counts)
        """[P]: which of these mentions a pair belongs to."""
        self.i = self.anaphor[self.group]
        self.j = antecedent[valid]

    def __len__(self) -> int:
        return len(self.i)

    def rank(self, among: BoolArray) -> npt.NDArray[np.int64]:
        """[P]: how many of the marked candidates of the same mention come before this one."""
        count: npt.NDArray[np.int64] = np.cumsum(among) - among
        return count - count[self.starts][self.group] if len(count) else count

    def overlap(self, column: IntArray) -> BoolArray:
        """[P]: whether the bit masks of the two share a bit."""
        return (column[self.i] & column[self.j]).astype(np.bool_)

    def same(self, column: IntArray) -> BoolArray:
        """[P]: whether the two have the same entry in a column."""
        found: BoolArray = column[self.i] == column[self.j]
        return found

    def kinds(self, kind: MentionKind) -> BoolArray:
        """[P]: whether both are of a kind."""
        of_kind: BoolArray = self.mentions.kind == kind
        return of_kind[self.i] & of_kind[self.j]

    @cached_property
    def kind_i(self) -> IntArray:
        return self.mentions.kind[self.i]

    @cached_property
    def kind_j(self) -> IntArray:
        return self.mentions.kind[self.j]

    @cached_property
    def person_i(self) -> IntArray:
        return self.mentions.person[self.i]

    @cached_property
    def person_j(self) -> IntArray:
        return self.mentions.person[self.j]

    @cached_property
    def sentences(self) -> IntArray:
        """How many sentences back the candidate stands."""
        return self.mentions.sentence[self.i] - self.mentions.sentence[self.j]

    @cached_property
    def pronouns(self) -> BoolArray:
        return self.kinds(MentionKind.PRONOUN)

    @cached_property
    def names(self) -> BoolArray:
        return self.kinds(MentionKind.NAME)

    @cached_property
    def nouns(self) -> BoolArray:
        return self.kinds(MentionKind.NOUN)

    @cached_property
    def nominal(self) -> BoolArray:
        """Neither is a pronoun or an event."""
        noun = np.isin(self.mentions.kind, (MentionKind.NAME, MentionKind.NOUN))
        return noun[self.i] & noun[self.j]

    @cached_property
    def number(self) -> BoolArray:
        return self.overlap(self.mentions.number)

    @cached_property
    def gender(self) -> BoolArray:
        return self.overlap(self.mentions.gender)

    @cached_property
    def animacy(self) -> BoolArray:
        return self.overlap(self.mentions.animacy)

    @cached_property
    def agree(self) -> BoolArray:
        return self.number & self.gender & self.animacy

    @cached_property
    def same_person(self) -> BoolArray:
        """Pronouns of one person and number."""
        same: BoolArray = self.person_i == self.person_j
        return self.pronouns & same & self.number

    @cached_property
    def subject_j(self) -> BoolArray:
        subject: BoolArray = self.mentions.role == Role.SUBJECT
        return subject[self.j]

    @cached_property
    def contains(self) -> BoolArray:
        """The mention stands inside the candidate's phrase."""
        m = self.mentions
        inside: BoolArray = (m.left[self.j] <= m.word[self.i]) & (m.word[self.i] <= m.right[self.j])
        return inside

    @cached_property
    def contained(self) -> BoolArray:
        """The candidate stands inside the mention's phrase."""
        m = self.mentions
        inside: BoolArray = (m.left[self.i] <= m.word[self.j]) & (m.word[self.j] <= m.right[self.i])
        return inside

    @cached_property
    def same_clause(self) -> BoolArray:
        return self.same(self.mentions.clause)

    @cached_property
    def arguments(self) -> BoolArray:
        """Both depend on one word ("he" and "him" in "he saw him")."""
        return self.same(self.mentions.head)

    @cached_property
    def same_lemma(self) -> BoolArray:
        return self.nominal & self.same(self.mentions.lemma)

    @cached_property
    def new_modifiers(self) -> npt.NDArray[np.uint8]:
        """How many modifiers the mention has that the candidate has not."""
        m = self.mentions
        return np.bitwise_count(m.modifier_bits[self.i] & ~(m.modifier_bits | m.head_bits)[self.j])

    @cached_property
    def lost_modifiers(self) -> npt.NDArray[np.uint8]:
        """How many modifiers the candidate has that the mention has not."""
        m = self.mentions
        return np.bitwise_count(m.modifier_bits[self.j] & ~(m.modifier_bits | m.head_bits)[self.i])

    @cached_property
    def shared_modifiers(self) -> BoolArray:
        m = self.mentions
        return (m.modifier_bits[self.i] & m.modifier_bits[self.j]) > 0

    @cached_property
    def head_in_j(self) -> BoolArray:
        """The mention's head word is a modifier in the candidate: "Bos" after "Nick Bos"."""
        m = self.mentions
        return self.nominal & ((m.head_bits[self.i] & m.modifier_bits[self.j]) > 0)

    @cached_property
    def head_in_i(self) -> BoolArray:
        m = self.mentions
        return self.nominal & ((m.head_bits[self.j] & m.modifier_bits[self.i]) > 0)

    @cached_property
    def same_acronym(self) -> BoolArray:
        return self.same(self.mentions.acronym) & (self.mentions.acronym[self.i] >= 0)

    @cached_property
    def same_speaker(self) -> BoolArray:
        return self.same(self.mentions.speaker) & (self.mentions.speaker[self.i] >= 0)

    @cached_property
    def other_speaker(self) -> BoolArray:
        speaker = self.mentions.speaker
        known: BoolArray = speaker >= 0
        return ~self.same(speaker) & known[self.i] & known[self.j]

    @cached_property
    def dialogue(self) -> BoolArray:
        """ "I" of one speaker and "you" of another who speaks to the first."""
        m = self.mentions
        turn: BoolArray = (self.person_i + self.person_j == 3) & (m.addressee[self.i] == m.speaker[self.j])
        return turn & self.pronouns & self.other_speaker

    @cached_property
    def speaker_name(self) -> BoolArray:
        """One is the name of the speaker or addressee that the other, "I" or "you", stands for."""
        m, i, j = self.mentions, self.i, self.j
        said = [np.where(m.person == 1, m.speaker, np.where(m.person == 2, m.addressee, -1)), m.names_speaker]
        later: BoolArray = (said[0][i] == said[1][j]) & (said[1][j] >= 0)
        earlier: BoolArray = (said[0][j] == said[1][i]) & (said[1][i] >= 0)
        return later | earlier

    @cached_property
    def quoted(self) -> BoolArray:
        """One names the speaker of the quotation in which the other stands."""
        m = self.mentions
        found: BoolArray = (m.quoted_by[self.i] == m.word[self.j]) | (m.quoted_by[self.j] == m.word[self.i])
        return found
