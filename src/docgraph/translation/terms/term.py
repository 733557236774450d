"""Terms: words of a source text whose translation is prescribed, by a glossary or by the rest of the document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from docgraph.annotate.dictionary import Entry

_LOOKALIKES = str.maketrans({"’": "'", "\u00a0": " ", "\u202f": " ", "\u2011": "-"})


@dataclass(frozen=True)
class Term:
    """An occurrence of a term in a source text."""

    source: str
    """The term as it stands in the text."""
    start: int
    end: int
    """Its span in the text."""
    targets: tuple[str, ...]
    """Allowed translations, the preferred one first."""
    origin: Literal["glossary", "name", "dictionary"]
    allows_article: bool = True
    """Whether an article may stand before the translation: *de Netherfield*, not *du Netherfield*."""
    is_certain: bool = False
    """True for a name that must be kept, however unlikely the translation is then: a family name after a title."""
    entry: Entry | None = None
    """The dictionary entry that contains the translations, if any."""

    @property
    def target(self) -> str:
        """The translation that messages and reports show."""
        return self.targets[0]


@dataclass(frozen=True)
class TermUse:
    """A term of the glossary in a sentence."""

    source: str
    """As it stands in the source."""
    target: str
    """The translation that the glossary prescribes, in its basic form."""
    used: bool
    """Whether the translation of the sentence has it, in any form."""


class TermFinder(Protocol):
    """Finds terms."""

    def find(self, text: str) -> list[Term]:
        """Returns the terms of a text, in order and without overlaps."""


def find_all(finders: Iterable[TermFinder], text: str) -> list[Term]:
    """Returns the terms of several finders; where two overlap, the one of the earlier finder."""
    found: list[Term] = []
    for finder in finders:
        found += [
            term for term in finder.find(text) if not any(term.start < o.end and o.start < term.end for o in found)
        ]
    return sorted(found, key=lambda term: term.start)


def are_used(terms: Sequence[Term], translation: str) -> list[bool]:
    """Returns, for each term, whether a text has its translation; a term that occurs twice must be translated twice."""
    text = translation.translate(_LOOKALIKES)
    taken = Counter[tuple[str, ...]]()
    used = []
    for term in terms:
        taken[term.targets] += 1
        used.append(taken[term.targets] <= _occurrences(term.targets, text))
    return used


def missing_terms(terms: Sequence[Term], translation: str) -> list[Term]:
    """Returns the terms whose translations a text lacks."""
    return [term for term, used in zip(terms, are_used(terms, translation), strict=True) if not used]


def _occurrences(targets: tuple[str, ...], text: str) -> int:
    """Returns how often any of some translations occurs in a text, as whole words.

    A translation in lower case may be capitalised, and any may be in capitals in a text in capitals.
    """
    in_capitals = text.isupper()
    return sum(1 for match in _pattern(targets).finditer(text) if in_capitals or _same_case(match[0], targets))


def _same_case(found: str, targets: tuple[str, ...]) -> bool:
    plain = (target.translate(_LOOKALIKES) for target in targets)
    return any(found == target or (target.islower() and found.lower() == target) for target in plain)


@lru_cache(maxsize=4096)
def _pattern(targets: tuple[str, ...]) -> re.Pattern[str]:
    ordered = sorted((target.translate(_LOOKALIKES) for target in targets), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)", re.IGNORECASE)
