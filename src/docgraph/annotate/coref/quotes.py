"""Who speaks where: quotations and their speakers, and the speakers that the document itself names."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from docgraph.annotate.coref.tables import Table
from docgraph.annotate.coref.trees import SUBJECTS, Trees, mark
from docgraph.annotation import Annotation, IntArray
from docgraph.document import Document

OPENING = frozenset({"“", "«", "„", "``", "「", "『"})
CLOSING = frozenset({"”", "»", "''", "」", "』"})
EITHER = frozenset({'"', "“", "”"})
MARKS = OPENING | CLOSING | EITHER
MAX_SENTENCES = 12
"""A quotation that stays open longer is taken for a stray mark."""


@dataclass(frozen=True, eq=False)
class Quotes:
    """Which quotation each word stands in, and the word that names its speaker; both [W], -1 for none."""

    quote: IntArray
    quoted_by: IntArray


def find_quotes(annotation: Annotation, trees: Trees, table: Table) -> Quotes:
    """Pair the quotation marks and look for a verb of speech beside each quotation."""
    quote = np.full(annotation.num_words, -1, dtype=np.int32)
    quoted_by = quote.copy()
    says = mark(annotation.lemmas or annotation.forms, lambda lemma: lemma in table.speech_verbs)
    subject = trees.child(trees.has_relation(SUBJECTS))
    verbs = np.flatnonzero(says & (subject >= 0)).tolist()
    for index, (start, end) in enumerate(_pairs(annotation)):
        quote[start + 1 : end] = index
        verb = _nearest_verb(verbs, start, end, annotation)
        if verb >= 0:
            quoted_by[start + 1 : end] = subject[verb]
    return Quotes(quote, quoted_by)


def _pairs(annotation: Annotation) -> list[tuple[int, int]]:
    """(opening mark, closing mark) of each quotation, as word indices."""
    sentence_of = annotation.sentence_of
    opened, found = -1, []
    for word in np.flatnonzero(mark(annotation.forms, MARKS.__contains__)).tolist():
        form = annotation.forms[word]
        if opened >= 0 and sentence_of[word] - sentence_of[opened] > MAX_SENTENCES:
            opened = -1
        if opened >= 0 and (form in CLOSING or form in EITHER):
            found.append((opened, word))
            opened = -1
        elif form not in CLOSING:
            opened = word
    return found


def _nearest_verb(verbs: list[int], start: int, end: int, annotation: Annotation) -> int:
    """The verb of speech nearest to the quotation, outside it but in a sentence it touches; -1 for none."""
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
    """Who says each sentence and to whom ([M], -1 for nobody), and the parts of each speaker's name."""

    speaker: IntArray
    addressee: IntArray
    by_name_part: dict[str, int]


def find_speakers(document: Document) -> Speakers:
    """Number the speakers; the addressee is whoever spoke last, or, at the start, whoever speaks next."""
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
