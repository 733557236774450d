"""Candidate antecedents of each mention, and the pairs of mention and candidate with their comparisons."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.mentions import BitArray, Mentions
from docgraph.annotate.coref.word_lists import Definiteness, MentionKind, PronounKind, Role
from docgraph.annotation import BoolArray, IntArray

Bits = IntArray | BitArray
WINDOW = 40
"""Number of preceding mentions that are candidates."""
PER_WORD = 4
"""For each word of a mention, number of earlier mentions with the same word that are considered at any distance."""
FAR = 8
"""Maximum number of candidates before the window."""
EVENTS = 5
"""Number of preceding events that are candidates."""


def find_candidates(mentions: Mentions) -> tuple[IntArray, IntArray]:
    """Returns [R], [R, K]: every mention except events, and its candidates: indices of mentions, -1 for none.

    The nearest candidate is first; then come those before the window, then events. K does not depend on the document.
    """
    nominal = np.flatnonzero(mentions.kind != MentionKind.EVENT).astype(np.int32)
    order = np.arange(len(nominal), dtype=np.int32)
    window = order[:, None] - np.arange(1, WINDOW + 1, dtype=np.int32)
    positions = np.concatenate([window, _far_candidates(mentions, nominal)], axis=1)
    chosen = np.where(positions >= 0, nominal[np.maximum(positions, 0)] if len(nominal) else -1, -1)
    events = _event_candidates(mentions, nominal)
    return nominal, np.concatenate([chosen, events], axis=1).astype(np.int32)


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
            entry = [-1 - persons[index] * 4 - numbers[index]] if persons[index] < 3 else []
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
    """P pairs: all candidates of some mentions, grouped by mention, in the order of `find_candidates`.

    `i` is the later mention, which may refer back, and `j` the candidate. Every comparison is an array [P].
    """

    def __init__(self, mentions: Mentions, anaphor: IntArray, antecedent: IntArray) -> None:
        """`anaphor` [R] and `antecedent` [R, K] are those of `find_candidates`, or some of their rows."""
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
        self._compare_agreement()
        self._compare_structure()
        self._compare_wording()
        self._compare_speakers()

    def __len__(self) -> int:
        return len(self.i)

    def rank(self, among: BoolArray) -> npt.NDArray[np.int64]:
        """Returns [P]: how many of the marked candidates of the same mention come before this one."""
        count: npt.NDArray[np.int64] = np.cumsum(among) - among
        return count - count[self.starts][self.group] if len(count) else count

    def same(self, column: IntArray) -> BoolArray:
        """Returns [P]: whether the two mentions have equal entries in a column."""
        equal: BoolArray = column[self.i] == column[self.j]
        return equal

    def overlap(self, bits_i: Bits, bits_j: Bits | None = None) -> BoolArray:
        """Returns [P]: whether two bit masks share a bit: that of `i` in one column and that of `j` in another.

        Without `bits_j`, both masks are from the same column.
        """
        return (bits_i[self.i] & (bits_i if bits_j is None else bits_j)[self.j]).astype(np.bool_)

    def _both(self, marked: BoolArray) -> BoolArray:
        return marked[self.i] & marked[self.j]

    def _compare_agreement(self) -> None:
        m = self.mentions
        self.kind_i, self.kind_j = m.kind[self.i], m.kind[self.j]
        self.person_i, self.person_j = m.person[self.i], m.person[self.j]
        self.pronouns = self._both(m.kind == MentionKind.PRONOUN)
        self.names = self._both(m.kind == MentionKind.NAME)
        self.nouns = self._both(m.kind == MentionKind.NOUN)
        self.nominal = self._both(np.isin(m.kind, (MentionKind.NAME, MentionKind.NOUN)))
        """Neither is a pronoun or an event."""
        self.number, self.gender, self.animacy = map(self.overlap, (m.number, m.gender, m.animacy))
        self.agree = self.number & self.gender & self.animacy
        self.same_person = self.pronouns & self.same(m.person) & self.number
        """Both are pronouns of the same person and of compatible number."""

    def _compare_structure(self) -> None:
        m, i, j = self.mentions, self.i, self.j
        self.sentences = m.sentence[i] - m.sentence[j]
        """Distance in sentences."""
        self.subject_j: BoolArray = m.role[j] == Role.SUBJECT
        self.contains: BoolArray = (m.left[j] <= m.word[i]) & (m.word[i] <= m.right[j])
        """The mention is inside the candidate's phrase."""
        self.contained: BoolArray = (m.left[i] <= m.word[j]) & (m.word[j] <= m.right[i])
        """The candidate is inside the mention's phrase."""
        self.same_clause = self.same(m.clause)
        self.arguments = self.same(m.head)
        """Both depend on the same word ("he" and "him" in "he saw him")."""

    def _compare_wording(self) -> None:
        m, i, j = self.mentions, self.i, self.j
        content_bits = m.modifier_bits | m.head_bits
        self.same_lemma = self.nominal & self.same(m.lemma)
        self.new_modifiers = np.bitwise_count(m.modifier_bits[i] & ~content_bits[j])
        """Number of the mention's modifiers that the candidate lacks."""
        self.lost_modifiers = np.bitwise_count(m.modifier_bits[j] & ~content_bits[i])
        """Number of the candidate's modifiers that the mention lacks."""
        self.shared_modifiers = self.overlap(m.modifier_bits)
        self.head_in_j = self.nominal & self.overlap(m.head_bits, m.modifier_bits)
        """The mention's head word is a modifier of the candidate: "Bos" after "Nick Bos"."""
        self.head_in_i = self.nominal & self.overlap(m.modifier_bits, m.head_bits)
        """The candidate's head word is a modifier of the mention."""
        self.same_acronym = self.same(m.acronym) & (m.acronym[i] >= 0)

    def _compare_speakers(self) -> None:
        m, i, j = self.mentions, self.i, self.j
        self.same_speaker = self.same(m.speaker) & (m.speaker[i] >= 0)
        self.other_speaker = ~self.same(m.speaker) & self._both(m.speaker >= 0)
        turn = (self.person_i + self.person_j == 3) & (m.addressee[i] == m.speaker[j])
        self.dialogue: BoolArray = turn & self.pronouns & self.other_speaker
        """One is "I" of a speaker, the other "you" of another speaker who addresses the first."""
        participant = np.where(m.person == 1, m.speaker, np.where(m.person == 2, m.addressee, -1))
        name = m.names_speaker
        name_first = (participant[i] == name[j]) & (name[j] >= 0)
        name_last = (participant[j] == name[i]) & (name[i] >= 0)
        self.speaker_name: BoolArray = name_first | name_last
        """One is the name of the speaker or addressee to whom the other, "I" or "you", refers."""
        self.quoted: BoolArray = (m.quoted_by[i] == m.word[j]) | (m.quoted_by[j] == m.word[i])
        """One names the speaker of the quotation that contains the other."""
