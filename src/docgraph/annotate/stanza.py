"""Stanza: words, lemmas, tags and heads for some seventy languages, from models the user downloaded.

The sentences go in as one text with blank lines between them and Stanza's own splitting off; its tokens come back to
our sentences by character offset, whatever it made of them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from docgraph.annotate.columns import Columns, pieces, word_spans
from docgraph.annotate.packages import load_package, package_version
from docgraph.annotation import Annotation, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

PROCESSORS = "tokenize,pos,lemma,depparse"
"""Stanza adds multiword-token expansion by itself where the language has it."""
SEPARATOR = "\n\n"


class StanzaAnnotator:
    """Everything but coreference."""

    requires: frozenset[Layer] = frozenset()
    assigns: frozenset[Layer] = frozenset({"words", "lemmas", "tags", "heads"})

    def __init__(self, language: str) -> None:
        self.name = f"stanza:{language}"
        stanza = load_package("stanza", self.name, "pip install 'docgraph[stanza]'")
        self.version = f"{package_version('stanza')} {language}"
        try:
            self._nlp = stanza.Pipeline(
                language, processors=PROCESSORS, tokenize_no_ssplit=True, download_method=None, verbose=False
            )
        except (FileNotFoundError, ValueError) as error:
            raise DocgraphError(
                f"Stanza has no models for '{language}' here; download them with: "
                f"python -c \"import stanza; stanza.download('{language}')\""
            ) from error

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        texts, places, position = [], [], 0
        for index, text in enumerate(document.texts):
            for offset, piece in pieces(text):
                if not piece.strip():
                    continue
                texts.append(piece.replace("\n", " ").replace("\r", " "))
                places.append((position, index, offset))
                position += len(piece) + len(SEPARATOR)
        columns = Columns()
        by_sentence = self._sentences(texts, places)
        for index in range(len(document)):
            for tokens, shift in by_sentence.get(index, []):
                _add(columns, tokens, shift)
            columns.end_sentence()
            columns.join_roots()
        return columns.annotation(self.assigns)

    def _sentences(self, texts: list[str], places: list[tuple[int, int, int]]) -> dict[int, list[tuple[Any, int]]]:
        """For each sentence of ours: (tokens of a sentence of Stanza's, what to add to their offsets)."""
        found: dict[int, list[tuple[Any, int]]] = {}
        if not texts:
            return found
        begins = [begin for begin, _, _ in places]
        for sentence in self._nlp(SEPARATOR.join(texts)).sentences:
            if not sentence.tokens:
                continue
            begin, index, offset = places[bisect_right(begins, sentence.tokens[0].start_char) - 1]
            found.setdefault(index, []).append((sentence.tokens, offset - begin))
        return found


def _add(columns: Columns, tokens: Any, shift: int) -> None:
    base = len(columns.starts) - 1
    for token in tokens:
        spans = word_spans(token.start_char + shift, token.text, [word.text for word in token.words])
        for word, (start, end) in zip(token.words, spans, strict=True):
            head = base + word.head if word.head else base + word.id
            lemma = word.lemma or word.text.lower()
            columns.add(start, end, word.text, lemma, word.upos or "", word.feats or "", head, word.deprel or "dep")
