"""Annotators of packages and models that the user installs: Stanza, fastcoref and coreferee.

All three read the document as one text and use their own tokens, which are mapped to our sentences and words by
character offset. Stanza's sentence splitting is off: sentences are separated by blank lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from docgraph.annotate.builder import (
    AnnotationBuilder,
    Word,
    chain_links,
    head_word,
    multiword_spans,
    split_long_text,
)
from docgraph.annotate.pipeline import load_package, package_version, require_words
from docgraph.annotation import Annotation, Layer, int_array
from docgraph.document import Document
from docgraph.errors import DocgraphError

PROCESSORS = "tokenize,pos,lemma,depparse"
"""Processors of Stanza, which adds the expansion of multiword tokens if the language has any."""
SEPARATOR = "\n\n"
"""Text between two sentences for Stanza."""
COREFERENCE: frozenset[Layer] = frozenset({"coreference"})
WORDS_AND_HEADS: frozenset[Layer] = frozenset({"words", "heads"})


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


class FastcorefAnnotator:
    """Assigns coreference by fastcoref (English): `fastcoref` or `fastcoref:MODEL`."""

    requires = WORDS_AND_HEADS
    assigns = COREFERENCE

    def __init__(self, model: str = "") -> None:
        model = model or "biu-nlp/f-coref"
        self.name = f"fastcoref:{model}"
        fastcoref = load_package("fastcoref", self.name, "pip install fastcoref")
        import spacy

        # Given a tokenizer, fastcoref does not download one.
        options = {"nlp": spacy.blank("en"), "enable_progress_bar": False}
        try:
            self._model = fastcoref.FCoref(model_name_or_path=model, **options)
        except OSError as error:
            raise DocgraphError(
                f"fastcoref cannot load '{model}'; download it with: huggingface-cli download {model}"
            ) from error
        self.version = f"{package_version('fastcoref')} {model}"

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        annotation = require_words(annotation, self.name)
        text, words_between = _join_sentences(document, annotation)
        clusters = self._model.predict(texts=[text])[0].get_clusters(as_strings=False) if text.strip() else []
        chains = []
        for cluster in clusters:
            mentions = (words_between(start, end) for start, end in cluster)
            chains.append([head_word(words, annotation.heads) for words in mentions if words])
        return replace(annotation, coreference=chain_links(chains))


class CorefereeAnnotator:
    """Assigns coreference by coreferee with a spaCy pipeline that it supports: `coreferee:en_core_web_lg`."""

    requires = WORDS_AND_HEADS
    assigns = COREFERENCE

    def __init__(self, pipeline: str = "") -> None:
        pipeline = pipeline or "en_core_web_lg"
        self.name = f"coreferee:{pipeline}"
        language = pipeline.partition("_")[0]
        load_package("coreferee", self.name, f"pip install coreferee && python -m coreferee install {language}")
        import spacy

        try:
            self._nlp = spacy.load(pipeline)
            self._nlp.add_pipe("coreferee")
        except Exception as error:  # the errors of coreferee have no other base class
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise DocgraphError(
                f"coreferee cannot load '{pipeline}' ({reason}); install both with: "
                f"python -m spacy download {pipeline} && python -m coreferee install {language}"
            ) from error
        self.version = f"{package_version('coreferee')} {pipeline} {self._nlp.meta['version']}"

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        annotation = require_words(annotation, self.name)
        text, words_between = _join_sentences(document, annotation)
        self._nlp.max_length = max(self._nlp.max_length, len(text) + 1)
        doc = self._nlp(text)
        chains = []
        for chain in doc._.coref_chains or []:
            heads = (doc[mention[0]] for mention in chain)  # a coordinated mention lists several head tokens
            mentions = (words_between(head.idx, head.idx + len(head)) for head in heads)
            chains.append([words[0] for words in mentions if words])
        return replace(annotation, coreference=chain_links(chains))


def _join_sentences(document: Document, annotation: Annotation) -> tuple[str, Callable[[int, int], list[int]]]:
    """Returns the sentences joined by line breaks, and a function from a character span to the words in it."""
    begins = np.cumsum([0, *(len(text) + 1 for text in document.texts[:-1])])
    shift = int_array(begins)[annotation.sentence_of] if len(document) else np.zeros(0, dtype=np.int32)
    starts, ends = annotation.starts + shift, annotation.ends + shift

    def words_between(start: int, end: int) -> list[int]:
        return list(range(int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(starts, end))))

    return "\n".join(document.texts), words_between
