"""Names that a dictionary translates: Copernicus is Copernic, West Virginia is Virginie-Occidentale.

A model tends to keep a rare name as it is. A name of the dictionary is therefore a term, whose translation is enforced
(term_enforcement.py), unless the user translates it otherwise. Parts of longer names (Florida Evans), words that may
be adjectives (Kenyan), nouns with a name before them (Christmas tree) and plurals without an entry (Academy Award
nominations) are left to the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from docgraph.annotate.dictionary import NOUNS, Dictionary
from docgraph.annotate.inflection import Lexicon
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.terms.glossary_files import Entry
from docgraph.translation.terms.names import PERSONAL_TITLES, is_known
from docgraph.translation.terms.term import Term, missing_terms

_ARTICLES = ("La ", "Le ", "Les ")
"""Le Cap is found as du Cap or au Cap."""
_TITLE = "|".join(sorted(PERSONAL_TITLES))
_BEFORE = re.compile(rf"((?:{_TITLE})(?=\. $)|\w[\w'’-]*(?= $))\.? $")
_AFTER = re.compile(r"(?:['’]s)? (\w[\w'’-]*)")


@dataclass(frozen=True)
class DictionaryNames:
    """Finds the names of a dictionary in texts."""

    dictionary: Dictionary
    others: frozenset[str] = frozenset()
    """Names that the user translates otherwise."""

    def following(self, given: Iterable[tuple[str, str]]) -> DictionaryNames:
        """Returns the names without those that some `given` translations of texts lack."""
        lacking = (term.source for text, translation in given for term in missing_terms(self.find(text), translation))
        return replace(self, others=self.others | {*lacking})

    def find(self, text: str) -> list[Term]:
        """Returns the names of a text, in order."""
        return [
            replace(term, origin="name")
            for term in _names(self.dictionary).find(text)
            if term.source not in self.others
            and (_letters(term.source), term.target) in _as_written(self.dictionary)
            and not _is_part_of_a_name(text, term, self.dictionary.languages[0])
        ]


@cache
def _names(dictionary: Dictionary) -> Glossary:
    """Returns the names of a dictionary as a glossary, which finds them as they are written."""
    adjectives = {entry.words for entry in dictionary.entries if entry.word_class == "adj"}
    names = [
        entry
        for entry in dictionary.entries
        if entry.word_class in NOUNS
        and entry.words[0][0].isupper()
        and not entry.words[-1][0].islower()
        and any(map(str.isupper, entry.translations[0]))
        and not entry.translations[0].startswith(_ARTICLES)
        and entry.words not in adjectives
    ]
    small = (text for entry in names for text in entry.translations if text.islower())
    lexicon = Lexicon(dictionary.languages[1], small)
    entries = [Entry(entry.headword, tuple(_forms(entry.translations, lexicon))) for entry in names]
    return Glossary(entries, (dictionary.languages[0], ""))


@cache
def _as_written(dictionary: Dictionary) -> frozenset[tuple[str, str]]:
    """Returns the words of all entries, each with its best translation: that of a plural is another one."""
    return frozenset((_letters(entry.headword), entry.translations[0]) for entry in dictionary.entries)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


def _forms(translations: Iterable[str], lexicon: Lexicon) -> Iterator[str]:
    """Yields translations, those of several words also in small letters (Premières Nations, premières nations), and the
    forms of those that are adjectives, too (Catalan, catalane)."""
    for text in translations:
        yield text
        if " " in text:
            yield text.lower()
        elif text.islower():
            yield from lexicon.inflected(text)


def _is_part_of_a_name(text: str, term: Term, language: str) -> bool:
    """Returns whether a capitalised word stands beside a term, other than a word that begins the text and no title."""
    before, after = _BEFORE.search(text, 0, term.start), _AFTER.match(text, term.end)
    is_first = (
        before is not None
        and before.start() == 0
        and is_known(before[1].lower(), language)
        and before[1] not in PERSONAL_TITLES
    )
    return (before is not None and before[1][0].isupper() and not is_first) or (
        after is not None and after[1][0].isupper()
    )
