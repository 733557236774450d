"""Names that a dictionary translates: Copernicus is Copernic, West Virginia is Virginie-Occidentale.

A model tends to keep a rare name as it is. A name of the dictionary is therefore a term, whose translation is enforced
(term_enforcement.py), unless the user translates it otherwise. Parts of longer names (Florida Evans), words that may be
adjectives (Kenyan) and nouns with a name before them (Christmas tree), which have a plural, are left to the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from docgraph.annotate.dictionary import NOUNS, Dictionary
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.terms.glossary_files import Entry
from docgraph.translation.terms.names import is_known
from docgraph.translation.terms.term import Term, missing_terms

_ARTICLES = ("La ", "Le ", "Les ")
"""Le Cap is found as du Cap or au Cap."""
_BEFORE = re.compile(r"(\w[\w'’-]*) $")
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
            if term.source not in self.others and not _is_part_of_a_name(text, term, self.dictionary.languages[0])
        ]


@cache
def _names(dictionary: Dictionary) -> Glossary:
    """Returns the names of a dictionary as a glossary, which finds them as they are written."""
    adjectives = {entry.words for entry in dictionary.entries if entry.word_class == "adj"}
    return Glossary(
        [
            Entry(entry.headword, _in_any_case(entry.translations))
            for entry in dictionary.entries
            if entry.word_class in NOUNS
            and entry.words[0][0].isupper()
            and not entry.words[-1][0].islower()
            and any(map(str.isupper, entry.translations[0]))
            and not entry.translations[0].startswith(_ARTICLES)
            and entry.words not in adjectives
        ],
        (dictionary.languages[0], ""),
    )


def _in_any_case(translations: Iterable[str]) -> tuple[str, ...]:
    """Returns translations, and those of several words also in small letters: Premières Nations, premières nations."""
    return tuple(dict.fromkeys(form for text in translations for form in (text, text.lower() if " " in text else text)))


def _is_part_of_a_name(text: str, term: Term, language: str) -> bool:
    """Returns whether a capitalised word stands beside a term, other than a word that begins the text."""
    before, after = _BEFORE.search(text, 0, term.start), _AFTER.match(text, term.end)
    is_first = before is not None and before.start() == 0 and is_known(before[1].lower(), language)
    return (before is not None and before[1][0].isupper() and not is_first) or (
        after is not None and after[1][0].isupper()
    )
