"""Bilingual dictionaries: translations of words and expressions that a model does not learn from its corpus.

An embedded dictionary has one entry per line: a word or an expression, a class, translations, best first, and, if only
certain mistranslations are to be corrected, the words of those mistranslations:

    caldera<TAB>nf<TAB>caldeira
    rebound<TAB>v<TAB>rebondir | se remettre
    break a tie<TAB>v<TAB>départager | trancher<TAB>cravate
    call … off<TAB>v<TAB>annuler<TAB>appeler

The class is nm, nf, nmp or nfp for nouns (gender, and whether the translation is always plural), v, adj, adv, or x for
anything else. Of an expression, the first and the last word may be inflected; "a" inside it stands for any determiner,
"one's" for any possessive, and "…" for a few other words. Words that a user corrects are entries, too
(translation/terms/corrected_words.py); their class is n, a noun of either gender.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise

from docgraph.annotate.inflection import french_participles, french_plural, lemma
from docgraph.annotate.rule_based import has_simplemma_dictionary
from docgraph.annotation import Annotation
from docgraph.errors import DocgraphError

NOUNS = frozenset({"n", "nm", "nf", "nmp", "nfp"})
CLASSES = {
    "NOUN": NOUNS,
    "PROPN": NOUNS,
    "VERB": frozenset({"v"}),
    "AUX": frozenset({"v"}),
    "ADJ": frozenset({"adj"}),
    "ADV": frozenset({"adv"}),
}
"""The classes of entries that translate a word of a universal part of speech; other words are not looked up."""
_ADJECTIVE_ENDINGS = ("al", "ed", "er", "ing")
"""Endings of adjectives that have the form of a noun: a cooler day, a facial injury."""
SUFFIX = ".tsv.xz"
ANY_POSSESSIVE = "one's"
"""A word of an entry that stands for a possessive: roll up one's sleeves."""
POSSESSIVES = frozenset({"my", "your", "his", "her", "its", "our", "their", "one's"})
ANY_DETERMINER = "a"
"""A word inside an entry that stands for a determiner: break a tie."""
DETERMINERS = POSSESSIVES | {"a", "an", "another", "any", "each", "every", "some", "that", "the", "this"}
GAP = "…"
"""Stands for words inside an entry: call … off."""
MAX_GAP = 5
"""Maximum words in a gap."""
PAST_FORMS = {
    "bent": "bend", "bit": "bite", "bore": "bear", "bound": "bind", "broke": "break", "drunk": "drink", "felt": "feel",
    "gone": "go", "ground": "grind", "left": "leave", "rose": "rise", "rung": "ring", "shook": "shake",
    "shot": "shoot", "swore": "swear", "thought": "think", "trod": "tread", "won": "win", "wound": "wind",
}  # fmt: skip
"""English verb forms that simplemma takes for lemmas of other words."""
_INFINITIVE = "VerbForm=Inf"
"""The feature of verbs that a French infinitive translates."""
_WORD = re.compile(rf"{ANY_POSSESSIVE}|\w+|[^\w\s]")
_NEGATION = re.compile(r"n['’]t\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_FRENCH_CLITICS = "ce|ci|elles?|en|ils?|je|la|là|le|les|leur|lui|moi|nous|on|t|toi|tu|vous|y"
_FRENCH_WORD = re.compile(rf"[^\W\d_]+(?:-(?!(?:{_FRENCH_CLITICS})\b)[^\W\d_]+)*")
"""A word with its hyphens, but without attached pronouns: casse-noix is one word, dit-il is dit and il."""
_FRENCH_FUNCTION_WORDS = frozenset(
    [
        *("d", "de", "des", "du", "l", "la", "le", "les", "un", "une", "ne", "n", "pas"),
        *("me", "m", "te", "t", "se", "s", "leur", "leurs", "ma", "mes", "mon", "nos", "notre"),
        *("sa", "ses", "son", "ta", "tes", "ton", "vos", "votre"),
    ]
)
"""Words that are ignored when an entry is compared with a translation: se casser la jambe, il s'est cassé une jambe."""


@dataclass(frozen=True)
class Entry:
    """A word or expression and its translations."""

    words: tuple[str, ...]
    word_class: str
    translations: tuple[str, ...]
    language: str = ""
    """The language of the translations."""
    instead_of: tuple[str, ...] = ()
    """Mistranslations that the entry corrects; if empty, it corrects every translation that lacks it."""
    allows_infinitive: bool = True
    """Whether the infinitive of a French verb counts as its translation; not if the English verb is finite."""

    @property
    def headword(self) -> str:
        """The words as a text."""
        return " ".join(self.words)

    @cached_property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The words before and after the gap, if there is one; else all words."""
        if GAP not in self.words:
            return (self.words,)
        place = self.words.index(GAP)
        return self.words[:place], self.words[place + 1 :]

    def is_translated(self, text: str) -> bool:
        """Returns whether a text in the target language contains a translation of the entry, in any form."""
        has = _lemmas(text, self.language) if self.allows_infinitive else self._without_infinitives(text)
        return any(lemmas in has for lemmas in self._translations)

    def is_missing(self, text: str) -> bool:
        """Returns whether a text in the target language lacks a translation of the entry.

        If the entry lists mistranslations (`instead_of`), the text must also contain one of them.
        """
        if self.is_translated(text):
            return False
        has = _lemmas(text, self.language)
        return not self.instead_of or any(_lemmas(word, self.language) in has for word in self.instead_of)

    @property
    def finite(self) -> Entry:
        """The entry for a finite verb: a French infinitive does not count as its translation."""
        return replace(self, allows_infinitive=False) if self.language == "fr" and self.word_class == "v" else self

    def _without_infinitives(self, text: str) -> str:
        """Returns a text as lemmas, without the infinitives of the translations."""
        infinitives = [verb[0] for verb in map(_french_verb, self.translations) if verb is not None]
        others = re.sub(rf"\b(?:{'|'.join(infinitives)})\b", "0", text.lower()) if infinitives else text
        return _lemmas(others, self.language)

    @cached_property
    def _translations(self) -> tuple[str, ...]:
        """The translations as lemmas; of French verbs, also forms that are lemmas of other words."""
        texts = list(self.translations)
        if self.language == "fr" and self.word_class == "v":
            texts += [form for translation in self.translations for form in _ambiguous_forms(translation)]
        return tuple(dict.fromkeys(_lemmas(text, self.language) for text in texts))


@dataclass(frozen=True)
class Use:
    """An occurrence of an entry in a document."""

    words: tuple[int, ...]
    """Indices of words in the document, without those in a gap."""
    entry: Entry
    translation: str
    """The best translation, singular or plural like the word."""


class Dictionary:
    """Entries of one language pair."""

    def __init__(self, entries: Iterable[Entry], languages: tuple[str, str]) -> None:
        """Words of the source language are looked up by their lemmas."""
        self.languages = source, target = languages
        self._language = source if has_simplemma_dictionary(source) else None
        self._is_french = target == "fr"
        self.entries = tuple(entries)
        self._by_first_word: dict[str, list[Entry]] = {}
        for entry in self.entries:
            self._by_first_word.setdefault(entry.words[0].lower(), []).append(entry)

    def may_occur(self, text: str) -> bool:
        """Returns False only if a text cannot contain an entry; ignores parts of speech."""
        return next(self.may_have(text), None) is not None

    def may_have(self, text: str) -> Iterator[Entry]:
        """Yields the entries that a text may contain; ignores parts of speech."""
        forms = _WORD.findall(_NEGATION.sub(" not", text))
        for place in range(len(forms)):
            yield from (entry for entry, _ in self._fitting(forms, place, 0, len(forms)))

    def proper_words(self, text: str) -> set[str]:
        """Returns the capitalised words of a text that belong to capitalised entries, such as Sikhism or Kenyans."""
        forms = _WORD.findall(text)
        return {
            forms[word]
            for place in range(len(forms))
            for entry, words in self._fitting(forms, place, 0, len(forms))
            if not entry.words[0].islower()
            for word in words
            if forms[word][0].isupper()
        }

    def find(self, annotation: Annotation) -> Iterator[Use]:
        """Yields the uses of entries in a document, in order; the longest entry at each place.

        Capitalised words inside a sentence are taken for names, unless the entry itself is capitalised (Kenyan).
        Without parts of speech, the first entry of a word is used.
        """
        forms = annotation.forms.to_list()
        feats = None if annotation.feats is None else annotation.feats.to_list()
        for begin, end in pairwise(annotation.offsets.tolist()):
            place = begin
            while place < end:
                found = self._match(annotation, forms, place, begin, end)
                if found is None:
                    place += 1
                    continue
                entry, words = found
                is_plural = feats is not None and "Number=Plur" in feats[words[-1]]
                is_plural &= entry.words[-1].islower() or forms[words[-1]] != entry.words[-1]  # Strabo is no plural
                is_finite = feats is not None and _INFINITIVE not in feats[words[0]]
                yield Use(words, entry.finite if is_finite else entry, self._translation(entry, is_plural))
                place += len(entry.parts[0])

    def _translation(self, entry: Entry, is_plural: bool) -> str:
        """Returns the best translation, in the plural if the word is plural and the translation is one French noun."""
        best = entry.translations[0]
        has_plural = (
            self._is_french and entry.word_class in ("n", "nm", "nf") and " " not in best and best[1:].islower()
        )
        return french_plural(best) if is_plural and has_plural else best

    def _match(
        self, annotation: Annotation, forms: list[str], place: int, begin: int, end: int
    ) -> tuple[Entry, tuple[int, ...]] | None:
        """Returns the longest entry at a place, and its words."""
        upos, heads = annotation.upos, annotation.heads
        fitting = (
            (entry, words)
            for entry, words in self._fitting(forms, place, begin, end)
            if (
                upos is None
                or (_may_be(upos[place], entry) and not _is_name(upos[place], forms[place], entry))
                or (upos[place] == "ADJ" and self._is_noun_alone(entry, forms[place]))
            )
            # The word after a gap must depend on the first word of the entry.
            and (heads is None or len(entry.parts) == 1 or heads[words[-1]] == words[0])
        )
        return max(fitting, key=lambda pair: len(pair[1]), default=None)

    def _is_noun_alone(self, entry: Entry, form: str) -> bool:
        """Returns whether a word can only be a noun: taggers take one for an adjective before another (quilt cover)."""
        entries = self._by_first_word[entry.words[0].lower()]
        is_noun = all(each.word_class in NOUNS for each in entries if len(each.words) == 1)
        return len(entry.words) == 1 and is_noun and not form.endswith(_ADJECTIVE_ENDINGS)

    def _fitting(self, forms: list[str], place: int, begin: int, end: int) -> Iterator[tuple[Entry, tuple[int, ...]]]:
        """Yields the entries that match the words from `place` on, with the matched words of the sentence begin:end."""
        for key in _keys(forms[place], self._language):
            for entry in self._by_first_word.get(key, ()):
                for words in _places(forms, entry, place, end):
                    if self._is_form([forms[word] for word in words], entry, place == begin):
                        yield entry, words

    def _is_form(self, forms: list[str], entry: Entry, starts_sentence: bool) -> bool:
        """Returns whether words are a form of an entry: only the first and the last word may be inflected, but a noun
        has no form in -ed (simplemma says that weed is a form of wee)."""
        last = len(forms) - 1
        wanted_words = [word for part in entry.parts for word in part]
        if entry.word_class in NOUNS and forms[last].endswith("ed") and not wanted_words[last].endswith("ed"):
            return False
        return all(
            self._is_word(form, wanted, place in (0, last))
            or (place == 0 and starts_sentence and self._is_word(form.lower(), wanted, may_be_inflected=True))
            or (0 < place < last and wanted == ANY_DETERMINER and form in DETERMINERS)
            or form == wanted
            for place, (form, wanted) in enumerate(zip(forms, wanted_words, strict=True))
        )

    def _is_word(self, form: str, wanted: str, may_be_inflected: bool) -> bool:
        if wanted == ANY_POSSESSIVE:
            return form in POSSESSIVES
        if form.islower() != wanted.islower() or form.istitle() != wanted.istitle():
            return False
        small = wanted.lower()
        return form.lower() == small or (may_be_inflected and small in _keys(form, self._language))


@cache
def load_dictionary(name: str) -> Dictionary:
    """Returns the embedded dictionary of a language pair, such as en-fr; raises DocgraphError if there is none."""
    folder = files("docgraph") / "data" / "dictionaries"
    embedded = sorted(file.name.removesuffix(SUFFIX) for file in folder.iterdir() if file.name.endswith(SUFFIX))
    if name not in embedded:
        raise DocgraphError(f"there is no dictionary '{name}'; choose among {', '.join(embedded)}")
    text = lzma.decompress((folder / f"{name}{SUFFIX}").read_bytes()).decode("utf-8")
    source, _, target = name.partition("-")
    return Dictionary((parse_entry(line, target) for line in text.splitlines()), (source, target))


def parse_entry(line: str, language: str) -> Entry:
    """Returns the entry on a line of a dictionary; `language` is that of its translations."""
    words, word_class, translations, *instead_of = line.split("\t")
    replaced = tuple(word for words in instead_of for word in words.split(" | "))
    return Entry(tuple(_WORD.findall(words)), word_class, tuple(translations.split(" | ")), language, replaced)


def _places(forms: list[str], entry: Entry, place: int, end: int) -> Iterator[tuple[int, ...]]:
    """Yields the word indices from `place` on that may match an entry, the smallest gap first."""
    first, *others = map(len, entry.parts)
    for gap in range(1, MAX_GAP + 1) if others else (0,):
        words = (*range(place, place + first), *range(place + first + gap, place + first + gap + sum(others)))
        if words[-1] >= end or not all(form[0].isalnum() for form in forms[place + first : place + first + gap]):
            return
        yield words


def _may_be(upos: str, entry: Entry) -> bool:
    """Returns whether a word with this part of speech may be the first word of an entry."""
    if len(entry.words) == 1:
        return entry.word_class in CLASSES.get(upos, ())
    return entry.word_class != "v" or upos not in ("NOUN", "PROPN")


def _is_name(upos: str, form: str, entry: Entry) -> bool:
    """Returns whether a singular noun that begins a sentence without an article is a name: Walker arrived."""
    return upos == "PROPN" and (form.lower(),) == entry.words and form != entry.words[0]


@lru_cache(1 << 16)
def _keys(word: str, language: str | None) -> tuple[str, ...]:
    """Returns the word in small letters, its lemmas and, for a word such as Kenyans, its singular."""
    small = word.lower()
    if language is None:
        return (small,)
    singular = [small[:-1]] if word.istitle() and small.endswith("s") else []
    verb = [PAST_FORMS[small]] if language == "en" and small in PAST_FORMS else []
    return tuple(dict.fromkeys([small, lemma(small, language), *singular, *verb]))


def _lemmas(text: str, language: str) -> str:
    """Returns the words of a text as lemmas, each between two spaces; without articles, possessives and the like."""
    words = _words(text, language)
    content = [word for word in words if language != "fr" or word not in _FRENCH_FUNCTION_WORDS]
    return f" {' '.join(_as_lemmas(content or words, language))} "


def _ambiguous_forms(phrase: str) -> Iterator[str]:
    """Yields a French phrase with verb forms that the lemmatizer may take for another word.

    For "jouer un rôle" these are "joué un rôle" (joué may be an adjective) and "joue un rôle" (joue may be a noun).
    """
    if (verb := _french_verb(phrase)) is not None:
        present = [verb[0][:-1]] if verb[0].endswith("er") else []
        for form in (*french_participles(verb[0]), *present):
            yield phrase[: verb.start()] + form + phrase[verb.end() :]


def _french_verb(phrase: str) -> re.Match[str] | None:
    """Returns the first word of a French phrase that may be an infinitive."""
    return next((match for match in _LETTERS.finditer(phrase) if french_participles(match[0])), None)


def text_lemmas(text: str, language: str) -> list[str]:
    """Returns the words of a text as lemmas, or in small letters if there is no dictionary of the language."""
    return _as_lemmas(_words(text, language), language)


def _words(text: str, language: str) -> list[str]:
    return (_FRENCH_WORD if language == "fr" else _LETTERS).findall(text.lower())


def _as_lemmas(words: list[str], language: str) -> list[str]:
    return [lemma(word, language) for word in words] if has_simplemma_dictionary(language) else words
