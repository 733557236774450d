"""Utterances: the sentences of a document in which one person speaks, as far as quotation marks and paragraphs show.

An utterance addresses people formally or informally, not both ways. If its translations mix both, a known one decides,
or the majority: of the utterance, or of all text outside quotations, which addresses the reader throughout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from docgraph.document import Document
from docgraph.translation.terms.formality import DocumentFormality, Sample, balance, by_balance, has_you, is_mixed
from docgraph.translation.text.dialogue_quotes import quote_marks
from docgraph.translation.text.preprocessing import Segments

_LONGEST = 12
"""Maximum segments of an utterance: quotation marks may be missing."""
_SPEAKER = re.compile(r"[A-Z][\w.'’ -]{0,24}(?: ?\([^()]*\))?: ")


def utterance_formalities(
    document: Document, segments: Segments, translations: Sequence[str | None], given: Mapping[int, str]
) -> dict[int, DocumentFormality]:
    """Returns the formality of each segment whose utterance would be translated with both forms of address.

    `translations` are those of the segments, `given` the known translations of sentences.
    """
    owners, found = segments.sentence_indices(), dict[int, DocumentFormality]()
    groups = [*find_utterances(document, segments)]
    utterances = [
        [Sample(segments[m].text, given.get(owners[m]) or translations[m] or "", owners[m] in given) for m in group]
        for group in groups
    ]
    is_spoken = [any(quote_marks(segments[m].source) for m in utterance) for utterance in groups]
    totals = [
        sum(balance(samples) for samples, spoken in zip(utterances, is_spoken, strict=True) if spoken == kind)
        for kind in (False, True)
    ]
    for utterance, samples, spoken in zip(groups, utterances, is_spoken, strict=True):
        if is_mixed(samples):
            known = balance(sample for sample in samples if sample.given)
            own = balance(samples) if spoken else 0
            found |= dict.fromkeys(utterance, by_balance(known or own or totals[spoken]))
    return found


def find_utterances(document: Document, segments: Segments) -> Iterator[list[int]]:
    """Yields the segments of each utterance.

    These are the quotations of a paragraph (in a text of lines: of a line), with the rest of one that goes on in the
    next paragraphs, or all segments of a paragraph without quotations. Segments with a quotation and words to somebody
    else beside it are left out.
    """
    spoken, plain, paragraph, is_open = list[int](), list[int](), -1, False
    for index, sentence in enumerate(document.sentences):
        own = index if document.format == "lines" else sentence.paragraph
        for m in segments.of_sentence[index]:
            source = segments[m].source
            marks = quote_marks(source)
            goes_on = is_open and (own == paragraph or document.format == "lines" or source[:1] in ('"', "“", "'", "‘"))
            if own != paragraph or _SPEAKER.match(source) or len(spoken) >= _LONGEST:
                yield from filter(None, [plain if not spoken else []])
                plain = []
                if not goes_on or len(spoken) >= _LONGEST:
                    yield from filter(None, [spoken])
                    spoken = []
            paragraph = own
            is_open = goes_on
            if marks or goes_on:
                if not _addresses_outside(source, goes_on):
                    spoken.append(m)
                is_open = marks[-1].opens if marks else goes_on
            else:
                plain.append(m)
    yield from filter(None, [plain if not spoken else [], spoken])


def _addresses_outside(source: str, starts_inside: bool) -> bool:
    """Returns whether a sentence with a quotation has a form of "you" outside of it."""
    inside, outside, last = starts_inside, "", 0
    for mark in quote_marks(source):
        outside += "" if inside else source[last : mark.place]
        inside, last = mark.opens, mark.place + 1
    outside += "" if inside else source[last:]
    return has_you(outside)
