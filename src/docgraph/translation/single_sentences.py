"""Annotates, translates and aligns sentences outside any document, with the model of a translator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig
from docgraph.translation.decoding.word_alignment import SubwordAttention
from docgraph.translation.model_input import example_from_text

if TYPE_CHECKING:
    from docgraph.translation.translator import Translator


class SingleSentences:
    """Annotates, translates and aligns sentences, each on its own."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def greedy_scores(self, texts: Sequence[str]) -> list[float]:
        """Returns the score of the greedy translation of each text."""
        return [best.score for best in self._best(texts, SearchConfig(beams=1))]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Returns the translation of each text."""
        best = self._best(texts, SearchConfig())
        return [self._translator.translation_builder.text(each, text) for text, each in zip(texts, best, strict=True)]

    def annotate(self, texts: Sequence[str]) -> Annotation:
        """Returns the annotation of some texts, for a model that needs annotations."""
        pipeline = self._translator.pipeline
        assert pipeline is not None
        return pipeline(Document.from_sentences(texts))

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[SubwordAttention]:
        """Returns the attention of translations over their sources."""
        return self._translator.subword_attention(sources, targets)

    def _best(self, texts: Iterable[str], search: SearchConfig) -> list[Hypothesis]:
        translator = self._translator
        inputs = [DecoderInput(example_from_text([text], translator.tokenizer, tag=translator.tag)) for text in texts]
        return [document.sentences[0][0] for document in translator.decoder(inputs, DecodingOptions(search))]
