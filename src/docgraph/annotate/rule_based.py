"""Annotators without a trained parser: words by rule, Chinese words by jieba, lemmas by simplemma's dictionaries."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import regex

from docgraph.annotate.builder import split_long_text
from docgraph.annotate.pipeline import WORDS, load_package, package_version, require_words
from docgraph.annotation import Annotation, Layer, Strings, from_spans
from docgraph.document import Document
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from spacy.tokens import Doc

Spans = list[tuple[int, int]]

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+"
_WORD = regex.compile(
    rf"""
      \p{{Han}}\p{{M}}*                           # scripts without spaces: one word per Chinese character,
    | [[{_UNSPACED}]--[\p{{Han}}]][[{_UNSPACED}\p{{M}}ー]--[\p{{Han}}]]*  # one word per run of the others
    | \p{{N}}+(?:[.,:]\p{{N}}+)+                  # 3,141.59 and 12:30
    | {_LETTERS}(?:['’‐\-]{_LETTERS})*            # aujourd'hui, well-known
    | (?!\s)\X                                    # one sign, with its joiners
    """,
    regex.VERBOSE | regex.VERSION1,
)


def unicode_words(text: str) -> Spans:
    """Returns the spans of words by Unicode class: runs of letters and digits, numbers, and single signs."""
    return [match.span() for match in _WORD.finditer(text)]


class WordAnnotator:
    """Assigns words by spaCy's tokenizer rules of a language, or by Unicode class: `words:LANGUAGE`."""

    requires: frozenset[Layer] = frozenset()
    assigns = WORDS

    def __init__(self, language: str) -> None:
        self.name = f"words:{language}"
        self._tokenizer = _spacy_tokenizer(language)
        spacy_version = f"{package_version('spacy')} {language}"
        self.version = package_version("regex") if self._tokenizer is None else spacy_version

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        spans = []
        for text in document.texts:
            sentence: Spans = []
            for offset, piece in split_long_text(text):
                sentence.extend((offset + start, offset + end) for start, end in self._words(piece))
            spans.append(sentence)
        return from_spans(spans, document)

    def _words(self, text: str) -> Spans:
        if self._tokenizer is None:
            return unicode_words(text)
        return [(token.idx, token.idx + len(token)) for token in self._tokenizer(text) if not token.is_space]


def _spacy_tokenizer(language: str) -> Callable[[str], Doc] | None:
    """Returns spaCy's rule-based tokenizer of a language, or None if spaCy has none that works on its own."""
    package = find_spec("spacy")
    # spaCy's rule for Chinese is one word per character, and splits Latin words into letters too.
    if language == "zh" or package is None or package.origin is None:
        return None
    # spaCy takes seconds to import, so look for the language first.
    if not (Path(package.origin).parent / "lang" / language).is_dir():
        return None
    import spacy

    try:
        tokenizer: Callable[[str], Doc] = spacy.blank(language).tokenizer
    except (ImportError, ValueError):  # Japanese, Korean, Thai and Vietnamese need another package
        return None
    return tokenizer


class JiebaAnnotator:
    """Assigns Chinese words by jieba's default dictionary and its model for unknown words: `jieba`."""

    name = "jieba"
    requires: frozenset[Layer] = frozenset()
    assigns = WORDS

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise DocgraphError(f"annotator 'jieba' takes no argument; write 'jieba' instead of 'jieba:{argument}'")
        jieba = load_package("jieba", self.name, "pip install 'docgraph[zh]'")
        jieba.setLogLevel(logging.WARNING)
        self._tokenizer = jieba.Tokenizer()
        self.version = package_version("jieba")

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        spans = [
            [(start, end) for word, start, end in self._tokenizer.tokenize(text) if not word.isspace()]
            for text in document.texts
        ]
        return from_spans(spans, document)


class SimplemmaAnnotator:
    """Assigns lemmas to words of an earlier component: `simplemma:LANGUAGE`. Looks up each distinct form once."""

    requires = WORDS
    assigns: frozenset[Layer] = frozenset({"lemmas"})

    def __init__(self, language: str) -> None:
        self.name = f"simplemma:{language}"
        self.version = f"{package_version('simplemma')} {language}"
        self._language = language
        if not has_simplemma_dictionary(language):
            raise DocgraphError(f"simplemma has no dictionary for '{language}'; remove '+{self.name}'")
        self._lemmatize = load_package("simplemma", self.name, "pip install simplemma").lemmatize

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        annotation = require_words(annotation, self.name)
        forms = annotation.forms
        lemma_of = [self._lemmatize(form, lang=self._language) for form in forms.table]
        return replace(annotation, lemmas=Strings.of(lemma_of[i] for i in forms.ids.tolist()))


@cache
def has_simplemma_dictionary(language: str) -> bool:
    """Returns whether simplemma has a dictionary of a language."""
    factory = "simplemma.strategies.dictionaries.dictionary_factory"
    return language in load_package(factory, f"simplemma:{language}", "pip install simplemma").SUPPORTED_LANGUAGES
