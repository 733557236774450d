"""jieba: Chinese words."""

from __future__ import annotations

import logging

from docgraph.annotate.base import WORDS
from docgraph.annotate.packages import load_package, package_version
from docgraph.annotation import Annotation, Layer, from_spans
from docgraph.document import Document
from docgraph.errors import DocgraphError


class JiebaAnnotator:
    """Words alone, by jieba's default dictionary and its model for words outside it."""

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
