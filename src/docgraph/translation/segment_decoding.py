"""Decodes the segments of prepared documents; on request, reports which context and hints they read.

A long document is decoded chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from docgraph.model.hints import Hint
from docgraph.translation.decoding.decoder import DecodingOptions
from docgraph.translation.decoding.hypotheses import Hypotheses
from docgraph.translation.explain import ContextWeights, explain_texts, paraphrase_uses
from docgraph.translation.model_input import PreparedDocument, chunks, lookups_by_segment
from docgraph.translation.result import HintUse
from docgraph.translation.terms.term_enforcement import DocumentTerms

if TYPE_CHECKING:
    from docgraph.translation.translator import Translator


@dataclass(frozen=True)
class TranslationOptions(DecodingOptions):
    """How documents are decoded, and whether the context and the hints that they read are reported."""

    explain: bool = False


@dataclass(frozen=True)
class DecodedSegments:
    """The hypotheses of a document, and what they were made from; all by segment."""

    hypotheses: Hypotheses
    context_weights: list[ContextWeights]
    passes: int
    lookups: dict[int, list[Hint]] = field(default_factory=dict)
    """Dictionary words; segments without any are left out."""
    hints: dict[int, list[HintUse]] = field(default_factory=dict)
    """The hints that segments read; only with `explain`."""
    terms: DocumentTerms = field(default_factory=DocumentTerms)
    before_terms: Hypotheses = field(default_factory=list)
    """The hypotheses before terms were enforced; hints contain words of these."""


def decode_segments(
    translator: Translator, batch: list[PreparedDocument], options: TranslationOptions
) -> list[DecodedSegments]:
    """Decodes some documents together, or one long document, with the decoder of a translator."""
    if batch[0].model_input is None:
        return [_decode_in_chunks(translator, batch[0], options)]
    return _decode_together(translator, batch, options)


def _decode_together(
    translator: Translator, batch: list[PreparedDocument], options: TranslationOptions
) -> list[DecodedSegments]:
    """Decodes documents, or one chunk of a document, together."""
    inputs = [each.model_input for each in batch if each.model_input is not None]
    reporting = replace(
        options,
        on_final=lambda index, first, hypotheses: batch[index].record(first, hypotheses),
        progress=lambda done, _: _show_progress(batch, done),
    )
    decoded = translator.decoder(inputs, reporting)
    results = []
    for prepared, model_input, document in zip(batch, inputs, decoded, strict=True):
        # Entries of a translation memory come after the segments.
        lookups = lookups_by_segment(model_input.example, prepared.shown, prepared.own)
        weights, hints = list[ContextWeights](), dict[int, list[HintUse]]()
        if options.explain:
            everything, shown = prepared.segments.sentence_indices(), prepared.shown
            owners, texts = everything[shown.start : shown.stop], dict(enumerate(prepared.segments.texts(shown)))
            weights, uses = explain_texts(
                translator, model_input.example, document.sentences, texts, owners, everything
            )
            normalizer = translator.input_builder.normalizer
            for place, m in enumerate(shown):
                if found := [*paraphrase_uses(normalizer, prepared.segments[m]), *uses.get(place, ())]:
                    hints[m] = found
        hypotheses = document.sentences[: len(prepared.shown)]
        results.append(DecodedSegments(hypotheses, weights, document.passes, lookups, hints))
    return results


def _show_progress(batch: Iterable[PreparedDocument], done: int) -> None:
    """Reports progress to requests, as if their segments were decoded in order."""
    for prepared in batch:
        prepared.request.show_progress(prepared.own.start, min(max(done, 0), len(prepared.own)))
        done -= len(prepared.own)


def _decode_in_chunks(
    translator: Translator, prepared: PreparedDocument, options: TranslationOptions
) -> DecodedSegments:
    """Decodes a long document chunk by chunk; each chunk reads the translations of the chunks before it."""
    hypotheses = {**prepared.known}
    weights: list[ContextWeights] = []
    lookups: dict[int, list[Hint]] = {}
    hints: dict[int, list[HintUse]] = {}
    passes = 0
    for shown, own in chunks(len(prepared.segments)):
        model_input = translator.input_builder.encode(prepared.segments, shown, hypotheses, prepared.corrected)
        lookups |= lookups_by_segment(model_input.example, shown, own)
        if hypotheses.keys() >= {*own} and not options.explain:
            continue
        chunk = replace(prepared, shown=shown, own=own, model_input=model_input)
        [decoded] = _decode_together(translator, [chunk], options)
        part = slice(own.start - shown.start, own.stop - shown.start)
        hypotheses.update(zip(own, decoded.hypotheses[part], strict=True))
        weights += decoded.context_weights[part]
        hints |= {m: uses for m, uses in decoded.hints.items() if m in own}
        passes = max(passes, decoded.passes)
    return DecodedSegments([hypotheses[m] for m in range(len(prepared.segments))], weights, passes, lookups, hints)
