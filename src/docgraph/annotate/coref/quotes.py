"""Speakers: quotations with the words that name their speakers, and the speakers that the document declares."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from docgraph.annotate.coref.trees import SUBJECTS, Trees, mark
from docgraph.annotate.coref.word_lists import WordLists
from docgraph.annotation import Annotation, IntArray
from docgraph.document import Document

OPENING = frozenset({"“", "«", "„", "``", "「", "『"})
CLOSING = frozenset({"”", "»", "''", "」", "』"})
EITHER = frozenset({'"', "“", "”"})
MARKS = OPENING | CLOSING | EITHER
MAX_SENTENCES = 12
"""An opening mark that is not closed within this many sentences is ignored."""


def find_quotes(annotation: Annotation, trees: Trees, lists: WordLists) -> tuple[IntArray, IntArray]:
    """Returns [W], [W]: the quotation that contains each word, and the word that names its speaker; -1 for none.

    The speaker is the subject of the nearest verb of speech.
    """
    quote = np.full(annotation.num_words, -1, dtype=np.int32)
    quoted_by = quote.copy()
    is_speech = mark(annotation.lemmas or annotation.forms, lambda lemma: lemma in lists.speech_verbs)
    subject = trees.child(trees.has_relation(SUBJECTS))
    verbs = np.flatnonzero(is_speech & (subject >= 0)).tolist()
    for index, (start, end) in enumerate(_mark_pairs(annotation)):
        quote[start + 1 : end] = index
        verb = _nearest_verb(verbs, start, end, annotation)
        if verb >= 0:
            quoted_by[start + 1 : end] = subject[verb]
    return quote, quoted_by


def _mark_pairs(annotation: Annotation) -> list[tuple[int, int]]:
    """Returns the word indices of (opening mark, closing mark) of each quotation."""
    sentence_of = annotation.sentence_of
    opened, pairs = -1, []
    for word in np.flatnonzero(mark(annotation.forms, MARKS.__contains__)).tolist():
        form = annotation.forms[word]
        if opened >= 0 and sentence_of[word] - sentence_of[opened] > MAX_SENTENCES:
            opened = -1
        if opened >= 0 and (form in CLOSING or form in EITHER):
            pairs.append((opened, word))
            opened = -1
        elif form not in CLOSING:
            opened = word
    return pairs


def _nearest_verb(verbs: list[int], start: int, end: int, annotation: Annotation) -> int:
    """Returns the verb of speech nearest to a quotation, outside it but in its first or last sentence; -1 for none."""
    first = int(annotation.offsets[annotation.sentence_of[start]])
    last = int(annotation.offsets[annotation.sentence_of[end] + 1])
    before, after = bisect_left(verbs, start) - 1, bisect_left(verbs, end)
    choices = []
    if before >= 0 and verbs[before] >= first:
        choices.append((start - verbs[before], verbs[before]))
    if after < len(verbs) and verbs[after] < last:
        choices.append((verbs[after] - end, verbs[after]))
    return min(choices)[1] if choices else -1


@dataclass(frozen=True, eq=False)
class Speakers:
    """The speakers that the document declares."""

    speaker: IntArray
    """[M]: the speaker of each sentence, or -1."""
    addressee: IntArray
    """[M]: the addressee of each sentence, or -1."""
    by_name_part: dict[str, int]
    """Lower-cased part of a name -> speaker, or -1 if several speakers share it."""


def find_speakers(document: Document) -> Speakers:
    """Numbers the speakers. The addressee is the previous other speaker, or the next one if there is none before."""
    index: dict[str, int] = {}
    ids = [-1 if s.speaker is None else index.setdefault(s.speaker, len(index)) for s in document]
    addressee = [-1] * len(ids)
    for order in (range(len(ids) - 1, -1, -1), range(len(ids))):
        current = other = -1
        for m in order:
            if ids[m] >= 0 and ids[m] != current:
                current, other = ids[m], current
            if ids[m] >= 0 and other >= 0:
                addressee[m] = other
    parts: dict[str, int] = {}
    for name, speaker in index.items():
        for part in re.findall(r"[^\W\d_](?:[^\W\d_A-Z'’-]|['’-](?=\w))*", name):
            parts[part.lower()] = -1 if parts.get(part.lower(), speaker) != speaker else speaker
    return Speakers(np.array(ids, dtype=np.int32), np.array(addressee, dtype=np.int32), parts)
