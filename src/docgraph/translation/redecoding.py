"""Decodes segments of a decoded document again: those that lack a term, and those whose translations look wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from docgraph.model.hints import dictionaries
from docgraph.translation.checks.doubts import Doubt, doubts, word_doubts
from docgraph.translation.checks.lexicon import invented_words
from docgraph.translation.checks.repair import Attempt, Piece, Repairer
from docgraph.translation.decoding.constraints import Constraint, Constraints
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_chunks import chunks
from docgraph.translation.decoding.forbidden_words import ForbiddenWords
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis, SearchConfig
from docgraph.translation.model_input import PreparedDocument
from docgraph.translation.segment_decoding import DecodedSegments, TranslationOptions, with_enforced_words
from docgraph.translation.single_sentences import SingleSentences
from docgraph.translation.terms.dictionary_names import DictionaryNames
from docgraph.translation.terms.formality import Sample, decide, has_forms
from docgraph.translation.terms.names import find_names
from docgraph.translation.terms.term import Term, TermFinder
from docgraph.translation.terms.term_enforcement import DocumentTerms, TermEnforcer
from docgraph.translation.terms.utterances import utterance_formalities
from docgraph.translation.text.preprocessing import Segment, Segments
from docgraph.translation.text.stand_ins import without

if TYPE_CHECKING:
    from docgraph.translation.translator import Translator

CANDIDATES = 4
"""Minimum number of constrained translations, of which the least doubtful one is chosen."""


def _samples(prepared: PreparedDocument, translations: Sequence[str | None]) -> Iterator[Sample]:
    """Yields the (source, translation) samples by which the formality of a document is decided."""
    yield from (Sample(text, given, given=True) for text, given in prepared.given_pairs().values())
    for m in prepared.segments_of():
        yield Sample(prepared.segments[m].text, translations[m] or "")


class Redecoder:
    """Decodes segments again with the model of a translator, in the context of their document."""

    def __init__(self, translator: Translator, single: SingleSentences) -> None:
        self._translator, self._single = translator, single
        self._language, tokenizer = translator.languages[1] if translator.languages else None, translator.tokenizer
        self._enforcer = TermEnforcer(tokenizer.source, tokenizer.target, self._language, translator.tag)

    def with_terms(
        self,
        documents: list[PreparedDocument],
        decoded: list[DecodedSegments],
        options: TranslationOptions,
        sentences: Collection[int] | None = None,
    ) -> list[DecodedSegments]:
        """Returns decoded documents with their terms.

        Sentences that lack a term, or disagree with the formality of their document, are decoded again. `sentences` are
        the ones to examine; None for all.
        """
        results = []
        for prepared, result in zip(documents, decoded, strict=True):
            first = result.hypotheses
            found = self.find_terms(prepared, first, names=not options.search.sampling)
            terms = replace(found, lookups=result.lookups)
            results.append(replace(result, hypotheses=[*first], terms=terms, before_terms=first))
        if not options.search.sampling:
            enforced = self._enforce_terms(documents, results, sentences, options)
            if options.explain:
                results = list(map(with_enforced_words, documents, results, enforced))
        return results

    def find_terms(self, prepared: PreparedDocument, hypotheses: Hypotheses, names: bool = True) -> DocumentTerms:
        """Returns the terms of a document: glossary entries, its `names` and its formality, as first translated."""
        translator, request = self._translator, prepared.request
        glossary, formality = request.glossary or translator.glossary, request.formality or translator.formality
        finders: list[TermFinder] = [] if glossary is None else [glossary]
        segments, translations = prepared.segments.segments, list[str | None]()
        names, addresses = names and translator.names, has_forms(translator.languages) and formality in ("any", "auto")
        if names or addresses:
            translations = [
                translator.translation_builder.text(found[0], segment.source) if found and found[0].tokens else None
                for segment, found in zip(segments, hypotheses, strict=True)
            ]
        if names:
            texts, own = [segment.text for segment in segments], dictionaries(translator.needs.hints)
            finders += [DictionaryNames(each).following(prepared.given_pairs().values()) for each in own]
            translated = {word for each in own for text in texts for word in each.proper_words(text)}
            finders.append(find_names(texts, translations, translator.languages, self._single.translate, translated))
        decided = decide(formality, _samples(prepared, translations))
        utterances = {}
        if addresses:
            utterances = utterance_formalities(request.document, prepared.segments, translations, prepared.given)
        return DocumentTerms(finders, decided, utterances)

    def _enforce_terms(
        self,
        documents: list[PreparedDocument],
        decoded: list[DecodedSegments],
        sentences: Collection[int] | None,
        options: TranslationOptions,
    ) -> list[dict[int, list[Term]]]:
        """Replaces hypotheses that lack a term of their document, or disagree with its formality.

        Returns the dictionary words that the new hypotheses contain, for each document by segment.
        """
        segments = [{m: prepared.segments[m] for m in prepared.segments_of(sentences)} for prepared in documents]
        return self._enforcer.enforce(
            [(own, result.hypotheses, result.terms) for own, result in zip(segments, decoded, strict=True)],
            self._attempt,
            partial(self._decode_constrained, documents, decoded, options),
        )

    def _decode_constrained(
        self,
        documents: list[PreparedDocument],
        decoded: list[DecodedSegments],
        options: TranslationOptions,
        constraints: list[Constraints],
    ) -> list[dict[int, list[Hypothesis]]]:
        """Returns new hypotheses of the segments that have constraints, for each document."""
        inputs, places = list[DecoderInput](), list[tuple[int, dict[int, int]]]()
        for index, wanted in enumerate(constraints):
            for segment_of, model_input in self._inputs_again(documents[index], decoded[index], wanted):
                own = {place: wanted[m] for place, m in segment_of.items()}
                base = {place: decoded[index].before_terms[m][0].base_tokens for place, m in segment_of.items()}
                inputs.append(replace(model_input, constraints=own, base=base))
                places.append((index, segment_of))
        beams, n_best = max(options.search.beams, CANDIDATES), max(options.search.n_best, CANDIDATES)
        search = replace(options.search, beams=beams, n_best=n_best)
        again = self._translator.decoder(inputs, replace(options, search=search))
        found: list[dict[int, list[Hypothesis]]] = [{} for _ in documents]
        for (index, segment_of), document in zip(places, again, strict=True):
            found[index] |= {m: document.sentences[place] for place, m in segment_of.items()}
        return found

    def _inputs_again(
        self, prepared: PreparedDocument, decoded: DecodedSegments, wanted: Collection[int]
    ) -> Iterator[tuple[dict[int, int], DecoderInput]]:
        """Yields (segment at each position to decode, model input) pairs that decode the `wanted` segments again."""
        segments = prepared.segments
        if not self._translator.needs.reads_document:
            for rows, excerpt in self._translator.input_builder.excerpts(
                prepared, wanted, dict(enumerate(decoded.before_terms))
            ):
                yield dict(enumerate(rows)), excerpt.document
            return
        for shown, own in chunks(len(segments)):
            segment_of = {m - shown.start: m for m in own if m in wanted}
            if segment_of:
                decided = enumerate(decoded.hypotheses)
                others = {m: found for m, found in decided if found and m - shown.start not in segment_of}
                yield segment_of, self._translator.input_builder.encode(segments, shown, others)

    def checked(
        self, prepared: PreparedDocument, decoded: DecodedSegments, search: SearchConfig, sentences: Iterable[int]
    ) -> dict[int, Attempt]:
        """Returns the best translation of each segment of some sentences, with its doubts.

        Doubtful translations are repaired unless `Translator.repair` is False. Known translations are left out.
        """
        segments, attempts = prepared.segments, dict[int, Attempt]()
        for index in sentences:
            if index not in prepared.given:
                attempts |= {
                    m: self._attempt(segments[m], decoded.hypotheses[m][0], decoded.terms)
                    for m in segments.of_sentence[index]
                    if decoded.hypotheses[m]
                }
        doubtful = [m for m, attempt in attempts.items() if attempt.doubts]
        if doubtful and self._translator.repair:
            decode = partial(self._decode_again, prepared, decoded)
            check = partial(self._doubts, terms=decoded.terms)
            repairer = Repairer(decode, check, self._translator.normalize)
            first = [attempts[m] for m in doubtful]
            repaired = repairer.repair([(m, segments[m]) for m in doubtful], first, search, len(attempts))
            attempts |= dict(zip(doubtful, repaired, strict=True))
        return attempts

    def _attempt(self, segment: Segment, hypothesis: Hypothesis, terms: DocumentTerms) -> Attempt:
        text = self._translator.translation_builder.text(hypothesis, segment.source)
        return Attempt(text, hypothesis.score, hypothesis.log_probability, self._doubts(segment, text, terms))

    def _doubts(self, segment: Segment, text: str, terms: DocumentTerms) -> tuple[Doubt, ...]:
        found = doubts(segment.source, text, self._translator.languages, segment.text, segment.stand_ins)
        invented = self._invented_words(segment, text, terms)
        return (*found, *word_doubts(invented), *terms.doubts(segment, text))

    def _invented_words(self, segment: Segment, text: str, terms: DocumentTerms) -> list[str]:
        targets = (target for term in terms.find(segment.text) for target in term.targets)
        return [*invented_words(segment.source, without(text, segment.stand_ins), self._language, targets)]

    def _decode_again(
        self, prepared: PreparedDocument, decoded: DecodedSegments, pieces: Sequence[Piece], search: SearchConfig
    ) -> list[list[Attempt]]:
        """Decodes pieces in the context of the other segments of their document; returns the attempts of each piece."""
        decode = self._decode_in_document if self._translator.needs.reads_document else self._decode_in_excerpts
        hypotheses = iter(decode(prepared, decoded, pieces, search))
        return [
            [self._attempt(piece, hypothesis, decoded.terms) for hypothesis in next(hypotheses)] for _, piece in pieces
        ]

    def _decode_in_excerpts(
        self, prepared: PreparedDocument, decoded: DecodedSegments, pieces: Sequence[Piece], search: SearchConfig
    ) -> Hypotheses:
        """Returns the hypotheses of pieces, decoded with what their segments read; parts of segments have no hints."""
        inputs, counts = list[DecoderInput](), list[int]()
        first, forbidden = dict(enumerate(decoded.before_terms)), self._forbidden(prepared, decoded, pieces)
        for shown, own in chunks(len(prepared.segments)):
            if chosen := [(place, piece) for place, piece in pieces if place in own]:
                excerpt = self._translator.input_builder.excerpt(prepared, shown, [place for place, _ in chosen], first)
                other = {
                    row: piece
                    for row, (place, piece) in enumerate(chosen)
                    if piece.text != prepared.segments[place].text
                }
                base = {
                    row: decoded.before_terms[place][0].base_tokens
                    for row, (place, _) in enumerate(chosen)
                    if row not in other
                }
                wanted = {row: forbidden[place] for row, (place, _) in enumerate(chosen) if place in forbidden}
                excerpt = self._translator.input_builder.with_source(excerpt, other)
                inputs.append(replace(excerpt.document, constraints=wanted, base=base))
                counts.append(len(chosen))
        found = self._translator.decoder(inputs, DecodingOptions(search))
        return [each for count, document in zip(counts, found, strict=True) for each in document.sentences[:count]]

    def _forbidden(self, prepared: PreparedDocument, decoded: DecodedSegments, pieces: Iterable[Piece]) -> Constraints:
        """Returns the words that new translations of some segments must not contain, by segment.

        These are words of the wrong formality or, where the formality is right, words that the model has invented.
        """
        found = {}
        for place in dict.fromkeys(place for place, _ in pieces):
            segment = prepared.segments[place]
            text = self._translator.translation_builder.text(decoded.hypotheses[place][0], segment.source)
            if words := self._enforcer.forbidden(segment, text, decoded.terms.at(place)):
                found[place] = words
            elif invented := self._invented_words(segment, text, decoded.terms):
                found[place] = [ForbiddenWords(self._translator.tokenizer.target, invented)]
        return found

    def _decode_in_document(
        self, prepared: PreparedDocument, decoded: DecodedSegments, pieces: Sequence[Piece], search: SearchConfig
    ) -> Hypotheses:
        """Returns the hypotheses of pieces, each decoded within the whole document in place of its segment."""
        inputs, counts = list[DecoderInput](), list[int]()
        forbidden = self._forbidden(prepared, decoded, pieces)
        for shown, own in chunks(len(prepared.segments)):
            by_place = {m: [piece for place, piece in pieces if place == m] for m in own}
            texts: list[tuple[Segment, list[Hypothesis]]] = []
            wanted: dict[int, Sequence[Constraint | ForbiddenWords]] = {}
            for m in shown:
                again = [(piece, list[Hypothesis]()) for piece in by_place.get(m, ())]
                if m in forbidden:
                    wanted |= dict.fromkeys(range(len(texts), len(texts) + len(again)), forbidden[m])
                texts += again or [(prepared.segments[m], decoded.hypotheses[m])]
            if any(by_place.values()):
                inputs.append(replace(self._encode(texts), constraints=wanted))
                counts.append(len(texts))
        found = self._translator.decoder(inputs, DecodingOptions(search))
        return [
            document.sentences[m]
            for document, model_input, count in zip(found, inputs, counts, strict=True)
            for m in range(count)
            if m not in model_input.known
        ]

    def _encode(self, texts: Sequence[tuple[Segment, list[Hypothesis]]]) -> DecoderInput:
        """Returns segments as the model input of a document; their hypotheses, if any, are known translations."""
        segments = Segments([segment for segment, _ in texts], [range(m, m + 1) for m in range(len(texts))])
        known = {m: found for m, (_, found) in enumerate(texts) if found}
        return self._translator.input_builder.encode(segments, range(len(texts)), known)
