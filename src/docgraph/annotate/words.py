"""Words by rule, for languages without a pipeline: spaCy's tokenizer of that language, or Unicode classes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import regex

from docgraph.annotate.base import WORDS
from docgraph.annotate.columns import pieces
from docgraph.annotate.packages import package_version
from docgraph.annotation import Annotation, Layer, from_spans
from docgraph.document import Document

if TYPE_CHECKING:
    from spacy.tokens import Doc

Spans = list[tuple[int, int]]

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTERS = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+"
_WORD = regex.compile(
    rf"""
      \p{{Han}}\p{{M}}*                           # scripts without spaces: a word a Chinese character,
    | [[{_UNSPACED}]--[\p{{Han}}]][[{_UNSPACED}\p{{M}}ー]--[\p{{Han}}]]*  # a run of the others
    | \p{{N}}+(?:[.,:]\p{{N}}+)+                  # 3,141.59 and 12:30
    | {_LETTERS}(?:['’‐\-]{_LETTERS})*            # aujourd'hui, well-known
    | (?!\s)\X                                    # one sign, with all its joiners
    """,
    regex.VERBOSE | regex.VERSION1,
)


class WordAnnotator:
    """Words alone."""

    requires: frozenset[Layer] = frozenset()
    assigns = WORDS

    def __init__(self, language: str) -> None:
        self.name = f"words:{language}"
        self._spans, self.version = _tokenizer(language)

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        spans = []
        for text in document.texts:
            found: Spans = []
            for offset, piece in pieces(text):
                found.extend((offset + start, offset + end) for start, end in self._spans(piece))
            spans.append(found)
        return from_spans(spans, document)


def _tokenizer(language: str) -> tuple[Callable[[str], Spans], str]:
    """spaCy's rules for the language where they need nothing else installed, and the version of what was taken."""
    rules = _spacy_rules(language)
    if rules is None:
        return unicode_words, package_version("regex")

    def spans(text: str) -> Spans:
        return [(token.idx, token.idx + len(token)) for token in rules(text) if not token.is_space]

    return spans, f"{package_version('spacy')} {language}"


def _spacy_rules(language: str) -> Callable[[str], Doc] | None:
    """spaCy takes seconds to import: look for the language first. Its rule for Chinese is one word a character, and
    cuts Latin words into letters too."""
    found = find_spec("spacy")
    if language == "zh" or found is None or found.origin is None:
        return None
    if not (Path(found.origin).parent / "lang" / language).is_dir():
        return None
    import spacy

    try:
        tokenizer: Callable[[str], Doc] = spacy.blank(language).tokenizer
    except (ImportError, ValueError):  # Japanese, Korean, Thai and Vietnamese need another package
        return None
    return tokenizer


def unicode_words(text: str) -> Spans:
    """Spans of runs of letters and digits, numbers, and single signs."""
    return [match.span() for match in _WORD.finditer(text)]
