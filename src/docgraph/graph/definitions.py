"""Definitions in a document: a term, the sentence that defines it, and its equivalent in another language if printed.

Statutes, standards and contracts define their terms once and use them many sentences later. Those of bilingual
countries print the equivalent in the other language at the end of the definition:

    milestone year means any of the years 2030, 2035, 2040 and 2045. (année jalon)

Other languages than English and French are not recognised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from docgraph.annotation import Annotation

DEFINING = frozenset({"means", "mean", "includes", "include", "désigne", "désignent", "comprend", "s'entend"})
"""Verbs that follow a defined term."""
MEANING = frozenset({"meaning", "meanings", "sens"})
"""Nouns of "has the same meaning as" and "a le même sens que"."""
MAX_TERM = 12
"""Words of the longest term."""
MAX_PRINTED = 16
"""Words of the longest printed equivalent."""
HAVING = frozenset({"has", "have", "a", "ont"})
RELATING = frozenset({"relation", "respect"})
NOT_IN_TERMS = frozenset({"may", "shall", "must", "does", "do", "but", "however", "this", "is", "are", "which"})
"""Words that show that a sentence with "includes" is not a definition."""
JOINING = frozenset({"and", "or", "et", "ou"})
ROMAN = frozenset("ivxlcIVXLC")
QUOTES = frozenset("\"'“”‘’«»„")
CLOSING = frozenset(".;,:")
LIMIT = 100_000
"""Definitions read of one document; more are ignored."""


@dataclass(frozen=True)
class Definition:
    """Indices of words in the document."""

    sentence: int
    term: range
    """The defined term in its definition."""
    printed: range
    """The equivalent in the other language, without its brackets, in the same or the next sentence; may be empty."""


def find_definitions(annotation: Annotation) -> list[Definition]:
    """Returns the definitions of a document, in order."""
    forms, offsets = annotation.forms.to_list(), annotation.offsets.tolist()
    found: list[Definition] = []
    for sentence, (begin, end) in enumerate(pairwise(offsets)):
        words = forms[begin:end]
        term = _defined_term(words)
        if term is None or len(found) >= LIMIT:
            continue
        equivalent = _printed_equivalent(words, term.stop)
        if not equivalent and sentence + 2 < len(offsets):
            words = forms[begin : offsets[sentence + 2]]
            equivalent = _printed_after(words, end - begin)
        for part, printed in _alternatives(words, term, equivalent):
            found.append(Definition(sentence, _shifted(part, begin), _shifted(printed, begin)))
    return found


def _printed_after(words: list[str], end: int) -> range:
    """Returns the words in brackets that are the whole next sentence after `end`: prose is split after "... 2045."."""
    printed = _printed_equivalent(words, end - 1)
    return printed if printed.start == end + 1 else range(0)


def _shifted(span: range, by: int) -> range:
    return range(span.start + by, span.stop + by)


def _defined_term(words: list[str]) -> range | None:
    """Returns the words before "means", "includes" or "has the same meaning", without quotes; None otherwise."""
    first = 1 if words and words[0] in QUOTES else 0
    for index in range(first + 1, min(len(words), first + MAX_TERM + 24)):
        word = words[index].lower()
        if word == "means" and words[index + 1 : index + 2] == ["of"]:
            return None
        if word in DEFINING or (word in HAVING and MEANING & {*words[index : index + 4]}):
            stop = next((k for k in range(first + 1, index) if _ends_term(words, k)), index)
            term = {word.lower() for word in words[first:stop]}
            is_term = stop <= first + MAX_TERM and not NOT_IN_TERMS & term and not JOINING & {words[first].lower()}
            return range(first, stop) if is_term else None
    return None


def _ends_term(words: list[str], index: int) -> bool:
    """Returns True after the term of "court, in respect of a province, means" or "price in relation to X means"."""
    return words[index] in CLOSING or words[index] in QUOTES or (words[index] == "in" and words[index + 1] in RELATING)


def _printed_equivalent(words: list[str], after: int) -> range:
    """Returns the words in brackets that end the sentence, after the term; an empty range if there are none."""
    end = len(words)
    while end > after and words[end - 1] in CLOSING:
        end -= 1
    if end <= after or words[end - 1] != ")":
        return range(0)
    for begin in range(end - 2, max(after, end - MAX_PRINTED - 3), -1):
        if words[begin] == "(":
            is_text = any(
                sum(map(str.isalpha, word)) > 2 and not {*word} <= ROMAN for word in words[begin + 1 : end - 1]
            )
            return range(begin + 1, end - 1) if is_text else range(0)
    return range(0)


def _alternatives(words: list[str], term: range, printed: range) -> list[tuple[range, range]]:
    """Returns the terms of "credit or re-establishment credit means ...", each with its part of the equivalent."""
    cuts = [[k for k in span if words[k].lower() in JOINING] for span in (term, printed)]
    if not printed or any(len(cut) != 1 for cut in cuts):
        return [(term, printed)]
    (a,), (b,) = cuts
    halves = [(range(term.start, a), range(printed.start, b)), (range(a + 1, term.stop), range(b + 1, printed.stop))]
    first, second = ({*words[part.start : part.stop]} for part, _ in halves)
    # "Olympic or Paralympic mark" is one term: neither half is a name of the same thing.
    is_short = any(len(half) == 1 and all(map(str.isupper, half)) for half in (first, second))
    is_two = is_short or first <= second or second <= first
    return [(term, printed), *((part, other) for part, other in halves if is_two and part and other)]


def find_uses(annotation: Annotation) -> Iterator[tuple[Definition, range]]:
    """Yields each definition with the words of its term in a later sentence: the longest term at each place.

    A capitalised term ("the Minister") must match exactly. Any other may begin with a capital. The last word may be in
    the plural. A later definition of the same term replaces an earlier one.
    """
    forms = annotation.forms.to_list()
    defined: dict[int, list[Definition]] = {}
    for definition in find_definitions(annotation):
        defined.setdefault(definition.sentence, []).append(definition)
    known: dict[str, dict[tuple[str, ...], Definition]] = {}
    """Definitions so far, by the first word of the term."""
    for sentence, (begin, end) in enumerate(pairwise(annotation.offsets.tolist())):
        place = begin
        while place < end:
            terms = known.get(forms[place].lower(), {})
            fitting = [term for term in terms if _matches(forms[place : min(end, place + len(term))], term)]
            if fitting:
                longest = max(fitting, key=len)
                if place not in terms[longest].printed:
                    yield terms[longest], range(place, place + len(longest))
                place += len(longest)
            else:
                place += 1
        for definition in defined.get(sentence, ()):
            term = tuple(forms[word] for word in definition.term)
            for first in {term[0].lower(), *(plural.lower() for plural in _plurals(term[0]) if len(term) == 1)}:
                known.setdefault(first, {})[term] = definition


def _matches(words: list[str], term: tuple[str, ...]) -> bool:
    if len(words) != len(term):
        return False
    *starts, last = zip(words, term, strict=True)
    same = all(a == b or (index == 0 and b.islower() and a == b.capitalize()) for index, (a, b) in enumerate(starts))
    forms = (last[1], *_plurals(last[1]))
    return same and (last[0] in forms or (not starts and last[1].islower() and last[0] in map(str.capitalize, forms)))


def _plurals(word: str) -> tuple[str, ...]:
    return (word + "s", word + "es", *((word[:-1] + "ies",) if word.endswith("y") else ()))
