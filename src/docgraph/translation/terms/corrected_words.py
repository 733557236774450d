"""Corrected words: nouns that known translations translate differently from the model.

    The damage report is late.
    known:      L'état des dégâts a du retard.
    the model:  Le rapport sur les dommages est tardif.

So the user wants *état des dégâts* instead of the model's *rapport sur les dommages*, and not in this sentence alone.
Other sentences read such words like dictionary words (hints.py): a sentence whose translation has the words of the
model is decoded again, with the words of the user as a hint. A noun that the user translates as the model does gives no
hint, so a known translation changes only what it corrects.

Nouns, with the adjectives and nouns before them, are aligned with both translations by cross-attention. Of a phrase,
the longest part that may occur again counts. If known translations disagree, more than half of them must have the same
words; those with the words of the model count, too.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from docgraph.annotate.dictionary import Dictionary, Entry, text_lemmas
from docgraph.annotate.inflection import french_plural, lemma
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.translation.decoding.word_alignment import SubwordAttention
from docgraph.translation.terms.names import is_known
from docgraph.translation.text.language_check import function_words

if TYPE_CHECKING:
    from docgraph.translation.translator import Translator

MAX_WORDS = 4
"""Words of the longest phrase."""
MAX_PAIRS = 512
"""Maximum number of known translations of a document, from the first on, that are compared with the model's."""
KEPT_PAIRS = 4096
"""Known translations whose phrases are cached, so that a correction does not compare the others again."""
_NOUNS = ("NOUN", "PROPN")

Pair = tuple[str, str]
"""A sentence and its known translation."""
Words = tuple[str, ...]


@dataclass(frozen=True)
class Phrase:
    """A noun, with adjectives and nouns before it, in a sentence with a known translation."""

    words: Words
    """The first and the last as lemmas."""
    place: range
    """The indices of the words in the sentence."""
    known: str
    """Its words in the known translation."""
    instead_of: tuple[str, ...]
    """The words of the model's translation that the known translation replaces; empty if both agree."""


@dataclass(frozen=True)
class CorrectedWords:
    """The corrected words of a document, as a dictionary."""

    dictionary: Dictionary
    said_in: Mapping[Entry, int] = field(default_factory=dict)
    """For each entry, a sentence whose known translation contains the words of the entry."""


class CorrectedWordFinder:
    """Finds the corrected words of documents. Threads may share it."""

    def __init__(self, languages: tuple[str, str], translator: Translator) -> None:
        self._languages, self._translator = languages, translator
        self._phrases: OrderedDict[Pair, list[Phrase]] = OrderedDict()
        self._lock = Lock()

    def find(self, known: Mapping[int, Pair], others: Iterable[str]) -> CorrectedWords:
        """Returns the words that `known` translations of sentences correct and that may occur in some other texts."""
        known = dict(islice(known.items(), MAX_PAIRS))
        phrases = dict(zip(known, self._phrases_of([*known.values()]), strict=True))
        everything = Dictionary([_entry(each.words) for own in phrases.values() for each in own], self._languages)
        occurring = {entry.words for text in others for entry in everything.may_have(text)}
        uses: dict[Words, list[tuple[int, Phrase]]] = {}
        for sentence, own in phrases.items():
            for phrase in _longest(own, occurring):
                uses.setdefault(phrase.words, []).append((sentence, phrase))
        said_in = dict(each for own in uses.values() for each in self._corrected(own))
        return CorrectedWords(Dictionary(said_in, self._languages), said_in)

    def _corrected(self, uses: Sequence[tuple[int, Phrase]]) -> Iterator[tuple[Entry, int]]:
        """Yields the entry of a phrase, given its uses, and the first sentence whose known translation contains it."""
        votes = Counter(phrase.known.lower() if phrase.instead_of else "" for _, phrase in uses)
        best = max(votes, key=lambda known: votes[known])
        if best and 2 * votes[best] > len(uses):
            agreeing = [(m, each) for m, each in uses if each.instead_of and each.known.lower() == best]
            first, phrase = agreeing[0]
            replaced = dict.fromkeys(word for _, each in agreeing for word in each.instead_of)
            yield _entry(phrase.words, phrase.known, self._languages[1], tuple(replaced)), first

    def _phrases_of(self, pairs: list[Pair]) -> list[list[Phrase]]:
        """Returns the phrases of each pair; those of the latest pairs are cached."""
        with self._lock:
            found = {pair: self._phrases[pair] for pair in pairs if pair in self._phrases}
        if missing := [pair for pair in dict.fromkeys(pairs) if pair not in found]:
            found |= zip(missing, self._compare(missing), strict=True)
        with self._lock:
            for pair in pairs:
                self._phrases[pair] = found[pair]
                self._phrases.move_to_end(pair)
            while len(self._phrases) > KEPT_PAIRS:
                self._phrases.popitem(last=False)
        return [found[pair] for pair in pairs]

    def _compare(self, pairs: list[Pair]) -> Iterator[list[Phrase]]:
        """Yields the phrases of each pair."""
        sources, known = [source for source, _ in pairs], [translation for _, translation in pairs]
        annotation = self._translator.annotate(Document.from_sentences(sources))
        own = self._translator.translate_texts(sources)
        attention = self._translator.subword_attention([*sources, *sources], [*known, *own])
        for m, (theirs, ours) in enumerate(zip(known, own, strict=True)):
            sentence = _Sentence(annotation.part(range(m, m + 1)), self._languages)
            yield [*sentence.phrases((theirs, attention[m]), (ours, attention[len(pairs) + m]))]


def _entry(words: Words, translation: str = "", language: str = "", instead_of: tuple[str, ...] = ()) -> Entry:
    return Entry(words, "n", (translation,), language, instead_of)


def _longest(phrases: Iterable[Phrase], occurring: Collection[Words]) -> Iterator[Phrase]:
    """Yields the phrases of a sentence that may occur elsewhere, without those that are part of a longer one."""
    taken = set[int]()
    for phrase in sorted(phrases, key=lambda phrase: -len(phrase.words)):
        if phrase.words in occurring and taken.isdisjoint(phrase.place):
            taken.update(phrase.place)
            yield phrase


class _Sentence:
    """The words of a sentence and its translations."""

    def __init__(self, annotation: Annotation, languages: tuple[str, str]) -> None:
        self._source, self._target = languages
        self._forms = annotation.forms.to_list()
        self._tags = [""] * len(self._forms) if annotation.upos is None else annotation.upos.to_list()
        self._features = [""] * len(self._forms) if annotation.feats is None else annotation.feats.to_list()
        self._spans = list(zip(annotation.starts.tolist(), annotation.ends.tolist(), strict=True))

    def phrases(self, known: tuple[str, SubwordAttention], own: tuple[str, SubwordAttention]) -> Iterator[Phrase]:
        """Yields the phrases that have a translation in both the known translation and that of the model."""
        translations = [_Aligned(text, attention.translations(self._spans, text)) for text, attention in (known, own)]
        for place in self._noun_phrases():
            theirs, ours = (self._words_of(each, place) for each in translations)
            if theirs is not None and ours is not None:
                said = self._singular(theirs, place)
                yield Phrase(self._lemmas(place), place, said, self._replaced(ours, theirs, own[0], known[0]))

    def _replaced(self, ours: str, theirs: str, own: str, known: str) -> tuple[str, ...]:
        """Returns the words of the model that the user replaces; none if the one translation has the words of both."""
        if not _entry((), theirs, self._target).is_missing(own) or not _entry((), ours, self._target).is_missing(known):
            return ()
        same = {*text_lemmas(theirs, self._target), *function_words(self._target)}
        return tuple(word for word in text_lemmas(ours, self._target) if word not in same)

    def _noun_phrases(self) -> Iterator[range]:
        """Yields nouns that no other noun follows, alone and with the adjectives and nouns before them."""
        for stop in range(1, len(self._forms) + 1):
            is_head = self._tags[stop - 1] in _NOUNS and (stop == len(self._forms) or self._tags[stop] not in _NOUNS)
            for start in range(stop - 1, max(-1, stop - 1 - MAX_WORDS), -1) if is_head else ():
                if self._tags[start] not in (*_NOUNS, "ADJ") or not self._is_common(self._forms[start]):
                    break
                yield range(start, stop)

    def _is_common(self, form: str) -> bool:
        """Returns whether a word is no name; it may have a capital, as in *the Board*."""
        return form.isalpha() and (form.islower() or (form.istitle() and is_known(form.lower(), self._source)))

    def _lemmas(self, place: range) -> Words:
        """Returns the words of a phrase, the first and the last as lemmas; capitals stay, if they do not only begin the
        sentence."""
        words = [self._forms[word] for word in place]
        if place.start == 0 and self._tags[0] != "PROPN":
            words[0] = words[0].lower()
        for end in {0, len(words) - 1}:
            base = lemma(words[end].lower(), self._source)
            words[end] = base.capitalize() if words[end].istitle() else base
        return tuple(words)

    def _words_of(self, translation: _Aligned, place: range) -> str | None:
        """Returns the words of a translation that translate a phrase and nothing else; None if there are none."""
        spans = [translation.spans[word] for word in place]
        first = min((span[0] for span in spans if span is not None), default=0)
        last = max((span[1] for span in spans if span is not None), default=0)
        text = translation.text[first:last]
        words = text.lower().split()
        others = (span for word, span in enumerate(translation.spans) if word not in place and span is not None)
        ends = function_words(self._target)
        if (
            None in spans
            or any(first <= span[0] < last for span in others)
            or len(words) > 2 * len(place) + 2
            or words[0] in ends
            or words[-1] in ends
        ):
            return None
        begins = not translation.text[:first].strip() and text[1:].islower() and not self._lemmas(place)[0].istitle()
        return text[0].lower() + text[1:] if begins else text

    def _singular(self, words: str, place: range) -> str:
        """Returns the singular of a French noun that translates a plural, if the word has a regular one."""
        if self._target != "fr" or "Number=Plur" not in self._features[place[-1]] or " " in words:
            return words
        singulars = (lemma(words, "fr"), words[:-1])
        return next((each for each in singulars if french_plural(each) == words and is_known(each, "fr")), words)


@dataclass(frozen=True)
class _Aligned:
    """A translation, and the span in it of the translation of each source word, or None."""

    text: str
    spans: Sequence[tuple[int, int] | None]
