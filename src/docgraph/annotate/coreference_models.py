"""fastcoref and coreferee: coreference by models the user installed, brought to the words found so far.

Both read the document as one text, its sentences joined by a line break, and answer in their own tokens; character
offsets bring their mentions back to our words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from docgraph.annotate.base import chain_links, head_word, require
from docgraph.annotate.packages import load_package, package_version
from docgraph.annotation import Annotation, IntArray, Layer, int_array
from docgraph.document import Document
from docgraph.errors import DocgraphError

COREFERENCE: frozenset[Layer] = frozenset({"coreference"})
WORDS_AND_HEADS: frozenset[Layer] = frozenset({"words", "heads"})


class FastcorefAnnotator:
    """Coreference by fastcoref (English): `fastcoref` or `fastcoref:MODEL`."""

    requires = WORDS_AND_HEADS
    assigns = COREFERENCE

    def __init__(self, model: str = "biu-nlp/f-coref") -> None:
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
        annotation = require(annotation, self.name)
        text, finder = _joined(document, annotation)
        clusters = self._model.predict(texts=[text])[0].get_clusters(as_strings=False) if text.strip() else []
        chains = []
        for cluster in clusters:
            mentions = (finder.between(start, end) for start, end in cluster)
            chains.append([head_word(words, annotation.heads) for words in mentions if words])
        return replace(annotation, coreference=chain_links(chains))


class CorefereeAnnotator:
    """Coreference by coreferee on a spaCy pipeline it supports: `coreferee:en_core_web_lg`."""

    requires = WORDS_AND_HEADS
    assigns = COREFERENCE

    def __init__(self, pipeline: str = "en_core_web_lg") -> None:
        self.name = f"coreferee:{pipeline}"
        language = pipeline.partition("_")[0]
        load_package("coreferee", self.name, f"pip install coreferee && python -m coreferee install {language}")
        import spacy

        try:
            self._nlp = spacy.load(pipeline)
            self._nlp.add_pipe("coreferee")
        except Exception as error:  # coreferee's own errors derive from Exception alone
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise DocgraphError(
                f"coreferee cannot work with '{pipeline}' ({reason}); install both with: "
                f"python -m spacy download {pipeline} && python -m coreferee install {language}"
            ) from error
        self.version = f"{package_version('coreferee')} {pipeline} {self._nlp.meta['version']}"

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        annotation = require(annotation, self.name)
        text, finder = _joined(document, annotation)
        self._nlp.max_length = max(self._nlp.max_length, len(text) + 1)
        doc = self._nlp(text)
        chains = []
        for chain in doc._.coref_chains or []:
            tokens = (doc[mention[0]] for mention in chain)  # a mention lists its head tokens, more than one if joined
            found = (finder.between(token.idx, token.idx + len(token)) for token in tokens)
            chains.append([words[0] for words in found if words])
        return replace(annotation, coreference=chain_links(chains))


class _WordFinder:
    """The words between two characters of the joined text."""

    def __init__(self, starts: IntArray, ends: IntArray) -> None:
        self._starts, self._ends = starts, ends

    def between(self, start: int, end: int) -> list[int]:
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._starts, end, side="left"))
        return list(range(first, last))


def _joined(document: Document, annotation: Annotation) -> tuple[str, _WordFinder]:
    """The sentences joined by line breaks, and the words by their characters in that text."""
    begins = np.cumsum([0, *(len(text) + 1 for text in document.texts[:-1])])
    shift = int_array(begins)[annotation.sentence_of] if len(document) else np.zeros(0, dtype=np.int32)
    return "\n".join(document.texts), _WordFinder(annotation.starts + shift, annotation.ends + shift)
