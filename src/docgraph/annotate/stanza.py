"""Stanza: words, lemmas, tags and heads for some seventy languages, with models that the user downloads.

The sentences are passed as one text, separated by blank lines, with Stanza's sentence splitting off. Stanza's tokens
are mapped to our sentences by character offset.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from docgraph.annotate.builder import AnnotationBuilder, Word, multiword_spans, split_long_text
from docgraph.annotate.pipeline import load_package, package_version
from docgraph.annotation import Annotation, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

PROCESSORS = "tokenize,pos,lemma,depparse"
"""Stanza adds the expansion of multiword tokens if the language has any."""
SEPARATOR = "\n\n"


class StanzaAnnotator:
    """Assigns all layers except coreference: `stanza:LANGUAGE`."""

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
                f"Stanza has no models for '{language}'; download them with: "
                f"python -c \"import stanza; stanza.download('{language}')\""
            ) from error

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        pieces, locations, position = [], [], 0
        for index, text in enumerate(document.texts):
            for offset, piece in split_long_text(text):
                if piece.strip():
                    pieces.append(piece.replace("\n", " ").replace("\r", " "))
                    locations.append((position, index, offset))
                    position += len(piece) + len(SEPARATOR)
        parses = self._parse(pieces, locations)
        builder = AnnotationBuilder()
        for index in range(len(document)):
            for tokens, shift in parses.get(index, []):
                _add_tokens(builder, tokens, shift)
            builder.end_sentence(single_root=True)
        return builder.build(self.assigns)

    def _parse(self, pieces: list[str], locations: list[tuple[int, int, int]]) -> dict[int, list[tuple[Any, int]]]:
        """Returns (tokens, what to add to their offsets) of Stanza's sentences, by our sentence index.

        `locations` has for each piece its position in the joined text, its sentence and its offset in the sentence.
        """
        parses: dict[int, list[tuple[Any, int]]] = {}
        if not pieces:
            return parses
        positions = [position for position, _, _ in locations]
        for sentence in self._nlp(SEPARATOR.join(pieces)).sentences:
            if sentence.tokens:
                piece = bisect_right(positions, sentence.tokens[0].start_char) - 1
                position, index, offset = locations[piece]
                parses.setdefault(index, []).append((sentence.tokens, offset - position))
        return parses


def _add_tokens(builder: AnnotationBuilder, tokens: Any, shift: int) -> None:
    before_first = len(builder.words) - 1  # Stanza counts words from 1
    for token in tokens:
        spans = multiword_spans(token.start_char + shift, token.text, [word.text for word in token.words])
        for word, (start, end) in zip(token.words, spans, strict=True):
            head = before_first + (word.head or word.id)
            lemma, deprel = word.lemma or word.text.lower(), word.deprel or "dep"
            builder.words.append(Word(start, end, word.text, lemma, word.upos or "", word.feats or "", head, deprel))
