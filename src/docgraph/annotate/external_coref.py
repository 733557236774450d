"""Coreference by packages that the user installs: fastcoref and coreferee.

Both read the document as one text, with its sentences joined by line breaks, and use their own tokens. Their mentions
are mapped to our words by character offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from docgraph.annotate.builder import chain_links, head_word
from docgraph.annotate.pipeline import load_package, package_version, require_words
from docgraph.annotation import Annotation, Layer, int_array
from docgraph.document import Document
from docgraph.errors import DocgraphError

COREFERENCE: frozenset[Layer] = frozenset({"coreference"})
WORDS_AND_HEADS: frozenset[Layer] = frozenset({"words", "heads"})


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
