"""Explains one sentence of a translated document: which other sentences and hints its translation read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from docgraph.document import Document
from docgraph.translation.decoding.hints import with_filled_hints
from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.explain import ContextWeights, context_weights_of, hint_uses
from docgraph.translation.model_input import FinishedSentences, PreparedDocument, TranslationRequest
from docgraph.translation.result import HintUse
from docgraph.translation.translator import Translator


@dataclass(frozen=True)
class Explanation:
    """The context and hints that the translation of a sentence read."""

    context: ContextWeights | None = None
    """Attention to other sentences; None if the model has no context attention or does not read the sentence."""
    hints: tuple[HintUse, ...] = ()


def explain_sentence(
    translator: Translator,
    document: Document,
    sentence: int,
    translations: Sequence[str | None],
    *,
    known: Sequence[str | None] = (),
    finished: FinishedSentences | None = None,
) -> Explanation:
    """Returns the context and hints that the translation of a sentence read, given the `translations` of the document.

    `known` are the translations that the user supplied, `finished` the hypotheses that the model decoded.
    """
    if translations[sentence] is None or translator.needs.reads_document:
        explained = translator.translate(document, known=translations, explain=True).sentences[sentence]
        return Explanation(explained.context, explained.hints)
    prepared, inputs = translator.prepare(TranslationRequest(document, known)), translator.input_builder
    texts = {m: text for m, text in enumerate(translations) if text is not None}
    first = prepared.finished_segments(finished or {})
    targets = {
        m: [replace(best, base=first[m][0].base_tokens, looked_up=first[m][0].looked_up) if m in first else best]
        for m, (best, *_) in _own(translator, prepared, texts).items()
    }
    owners = prepared.segments.sentence_indices()
    weights: list[ContextWeights] = []
    hints: list[HintUse] = []
    for rows, excerpt in inputs.excerpts(prepared, prepared.segments_of([sentence]), targets):
        hypotheses = [targets[m] for m in rows] + list(excerpt.document.known.values())
        shown = [owners[m] for m in excerpt.origins if m < len(owners)]
        with translator.model_lock:
            example = with_filled_hints(translator.model, translator.tokenizer, excerpt.document.example, hypotheses)
            weights += context_weights_of(translator.model, translator.tokenizer, example, hypotheses, shown)[
                : len(rows)
            ]
        read = {place: prepared.segments[m].text for place, m in enumerate(rows)}
        found = hint_uses(example, translator.tokenizer, read, shown, owners)
        hints += [use for place in read for use in found.get(place, ())]
    return Explanation(ContextWeights.mean(weights), tuple(hints))


def _own(translator: Translator, prepared: PreparedDocument, texts: Mapping[int, str]) -> dict[int, list[Hypothesis]]:
    """Returns translations as if the model had made them, by segment."""
    found = translator.input_builder.given_segments(texts, prepared.segments)
    return {m: [replace(best, given=False)] for m, (best, *_) in found}
