"""Inflection of words by simplemma's dictionaries: lemmas, and all forms of a lemma."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from docgraph.annotate.rule_based import has_simplemma_dictionary

_MAX_FORMS = 80
_MANY_FORMS = 10
"""A word with more forms is a verb."""
_PLURAL_ENDING = ("s", "x")
_FRENCH_PLURALS = ((re.compile("(?<=[ae])u$"), "ux"), (re.compile("al$"), "aux"), (re.compile("(?<=[^sxz])$"), "s"))
_FRENCH_LINKS = frozenset(
    ["à", "au", "aux", "avec", "d'", "de", "des", "du", "en", "et", "pour", "sans", "sous", "sur"]
)
"""Words after which a French noun phrase keeps its number: cartes de crédit."""
_PARTICIPLES = {
    "aindre": "aint", "avoir": "eu", "aître": "u", "battre": "battu", "boire": "bu", "cevoir": "çu", "clore": "clos",
    "clure": "clu", "coudre": "cousu", "courir": "couru", "crire": "crit", "croire": "cru", "croître": "crû",
    "devoir": "dû", "dire": "dit", "dissoudre": "dissous", "eindre": "eint", "er": "é", "faire": "fait",
    "falloir": "fallu", "ffrir": "ffert", "frire": "frit", "haïr": "haï", "inclure": "inclus", "ir": "i",
    "lire": "lu", "luire": "lui", "mettre": "mis", "moudre": "moulu", "mourir": "mort", "mouvoir": "mû",
    "naître": "né", "nuire": "nui", "oindre": "oint", "onnaître": "onnu", "plaire": "plu", "pleuvoir": "plu",
    "pouvoir": "pu", "prendre": "pris", "quérir": "quis", "re": "u", "rire": "ri", "résoudre": "résolu",
    "savoir": "su", "seoir": "sis", "suffire": "suffi", "suivre": "suivi", "taire": "tu", "tenir": "tenu",
    "traire": "trait", "uire": "uit", "vaincre": "vaincu", "valoir": "valu", "venir": "venu", "vivre": "vécu",
    "voir": "vu", "vouloir": "voulu", "vrir": "vert", "vêtir": "vêtu", "émouvoir": "ému",
}  # fmt: skip
"""French past participles by the ending of the infinitive; the longest ending counts."""
_LONGEST_ENDING = max(map(len, _PARTICIPLES))
_PIECES = re.compile(r"\w+['’]|\w+|[^\w]+")


class Lexicon:
    """The inflected words of a language."""

    def __init__(self, language: str | None, words: Iterable[str] = ()) -> None:
        """`words` are the dictionary forms whose inflected forms will be asked for."""
        self._language = language if language is not None and has_simplemma_dictionary(language) else None
        self._french = language == "fr"
        self._forms = {} if self._language is None else _forms(self._language, {word.lower() for word in words})

    def lemma(self, word: str) -> str:
        """Returns the dictionary form of a word, in small letters; the word itself if there is no dictionary."""
        return word.lower() if self._language is None else lemma(word.lower(), self._language)

    def forms(self, word: str) -> list[str]:
        """Returns a word and its inflected forms."""
        participles = french_participles(word) if self._french and self.is_verb(word) else []
        return list(dict.fromkeys([word, *participles, *self._forms.get(word.lower(), [])]))[:_MAX_FORMS]

    def is_verb(self, phrase: str) -> bool:
        """Returns whether the first word of a phrase has verb forms."""
        first = next(iter(words(phrase)), "")
        return len(self._forms.get(first.lower(), [])) > _MANY_FORMS

    def inflected(self, phrase: str, plural: bool = False) -> list[str]:
        """Returns the forms of a phrase, its given form first; only plural forms if `plural` is set and there are any.

        The first word of a phrase is inflected, and in French also the words that agree with it: cartes mères, cartes
        de crédit.
        """
        pieces = _PIECES.findall(phrase)
        head = next((place for place, piece in enumerate(pieces) if piece[0].isalnum()), None)
        if head is None or any(map(str.isupper, phrase)):
            return [phrase]
        if self._french and not self.is_verb(phrase) and len(words(phrase)) > 1:
            found = [phrase]
        else:
            found = ["".join([*pieces[:head], form, *pieces[head + 1 :]]) for form in self.forms(pieces[head])]
        if not self._french:
            return found
        plural_forms = [] if self.is_verb(phrase) else self._plurals(pieces, head)
        if plural and plural_forms:
            return plural_forms
        return list(dict.fromkeys([*found, *plural_forms]))

    def _plurals(self, pieces: list[str], head: int) -> list[str]:
        """Returns the plurals of a French noun phrase: of its head and of the words up to a preposition."""
        plurals = [form for form in self.forms(pieces[head])[1:] if form.endswith(_PLURAL_ENDING)]
        plurals = plurals or [french_plural(pieces[head])]
        found = []
        for plural in plurals:
            agreeing = list(pieces)
            agreeing[head] = plural
            for place in range(head + 1, len(pieces)):
                if pieces[place].lower() in _FRENCH_LINKS:
                    break
                if pieces[place][0].isalpha():
                    agreeing[place] = french_plural(pieces[place])
            found.append("".join(agreeing))
        return list(dict.fromkeys(found))


def words(phrase: str) -> list[str]:
    """Returns the words of a phrase, without punctuation."""
    return re.findall(r"\w+", phrase)


def french_plural(word: str) -> str:
    """Returns the regular plural of a French noun or adjective."""
    for ending, replacement in _FRENCH_PLURALS:
        if ending.search(word):
            return ending.sub(replacement, word, count=1)
    return word


def french_participles(infinitive: str) -> list[str]:
    """Returns the forms of a past participle, which simplemma has as lemmas of their own: rompu, rompue..."""
    for length in range(_LONGEST_ENDING, 1, -1):
        if (ending := infinitive[-length:]) in _PARTICIPLES and len(infinitive) >= length:
            singular = infinitive[: len(infinitive) - length] + _PARTICIPLES[ending]
            feminine = singular.replace("û", "u") + "e"
            return [singular, feminine, french_plural(singular), feminine + "s"]
    return []


@lru_cache(1 << 16)
def lemma(word: str, language: str) -> str:
    """Returns the lemma of a word from simplemma's dictionary; the language must have one."""
    from simplemma import lemmatize

    return str(lemmatize(word, lang=language)).lower()


def _forms(language: str, wanted: set[str]) -> dict[str, list[str]]:
    """Returns the forms of some dictionary forms, by one pass over the dictionary."""
    if not wanted:
        return {}
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    found: dict[str, list[str]] = {}
    for form, lemma in DefaultDictionaryFactory().get_dictionary(language).items():
        if lemma in wanted:
            found.setdefault(lemma, []).append(form)
    return found
