"""Decodes the segments of prepared documents; on request, reports which context and hints they read.

A long document is decoded chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from docgraph.model.batch import DocumentExample
from docgraph.model.hints import Hint
from docgraph.translation.decoding.decoder import DecodedDocument, DecodingOptions
from docgraph.translation.decoding.document_chunks import chunks
from docgraph.translation.decoding.hints import with_filled_hints
from docgraph.translation.decoding.hypotheses import Hypotheses
from docgraph.translation.explain import ContextWeights, context_weights_of, hint_uses, paraphrase_uses
from docgraph.translation.model_input import PreparedDocument, lookups_by_segment
from docgraph.translation.result import HintUse
from docgraph.translation.terms.term import Term
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
    if batch and batch[0].model_input is None:
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
        result = DecodedSegments(document.sentences[: len(prepared.shown)], [], document.passes, lookups)
        if options.explain:
            result = _explained(translator, prepared, model_input.example, document, result)
        results.append(result)
    return results


def _show_progress(batch: Iterable[PreparedDocument], done: int) -> None:
    """Reports progress to requests, as if their segments were decoded in order."""
    for prepared in batch:
        prepared.request.show_progress(prepared.own.start, min(max(done, 0), len(prepared.own)))
        done -= len(prepared.own)


def _explained(
    translator: Translator,
    prepared: PreparedDocument,
    example: DocumentExample,
    document: DecodedDocument,
    result: DecodedSegments,
) -> DecodedSegments:
    """Returns a decoded document with the context weights and hints of its segments."""
    everything = prepared.segments.sentence_indices()
    owners = everything[prepared.shown.start : prepared.shown.stop]
    with translator.model_lock:
        filled = with_filled_hints(translator.model, translator.tokenizer, example, document.sentences)
        weights = context_weights_of(translator.model, translator.tokenizer, filled, document.sentences, owners)
    texts = dict(enumerate(prepared.segments.texts(prepared.shown)))
    uses = hint_uses(filled, translator.tokenizer, texts, owners, everything)
    normalizer, hints = translator.input_builder.normalizer, dict[int, list[HintUse]]()
    for place, m in enumerate(prepared.shown):
        found = [*paraphrase_uses(normalizer, prepared.segments[m]), *uses.get(place, ())]
        if found:
            hints[m] = found
    return replace(result, context_weights=weights, hints=hints)


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


def with_enforced_words(
    prepared: PreparedDocument, decoded: DecodedSegments, enforced: Mapping[int, Sequence[Term]]
) -> DecodedSegments:
    """Returns a decoded document whose hints include the dictionary words that were enforced, by segment."""
    sentences, hints = prepared.segments.sentence_indices(), dict(decoded.hints)
    for m, words in enforced.items():
        for word in words:
            hint = next(hint for hint in decoded.lookups[m] if hint.entry == word.entry)
            said = word.target if word.entry is None else word.entry.translations[0]
            sentence = None if hint.printed_in is None else sentences[hint.printed_in]
            use = HintUse(word.source.strip(), said, sentence, hint.relation)
            hints[m] = [*(each for each in hints.get(m, ()) if each.words != use.words), use]
    return replace(decoded, hints=hints)
