"""Decodes segments of a decoded document again: those that lack a term, and those whose translations look wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from docgraph.model.hints import dictionaries
from docgraph.translation.checks.doubts import Doubt, doubts, word_doubts
from docgraph.translation.checks.lexicon import invented_first_words, invented_words
from docgraph.translation.checks.repair import Attempt, Piece, Repairer
from docgraph.translation.decoding.constraints import Constraints
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.forbidden_words import ForbiddenWords
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis, SearchConfig
from docgraph.translation.model_input import PreparedDocument, chunks
from docgraph.translation.result import HintUse
from docgraph.translation.segment_decoding import DecodedSegments, TranslationOptions
from docgraph.translation.terms.dictionary_names import DictionaryNames
from docgraph.translation.terms.formality import Sample, decide, has_forms
from docgraph.translation.terms.names import find_names
from docgraph.translation.terms.term import Term, TermFinder
from docgraph.translation.terms.term_enforcement import DocumentTerms, Lacking, TermEnforcer
from docgraph.translation.terms.utterances import utterance_formalities
from docgraph.translation.text.preprocessing import Segment, Segments
from docgraph.translation.text.stand_ins import without

if TYPE_CHECKING:
    from docgraph.translation.translator import Translator

CANDIDATES = 4
"""Minimum number of constrained translations, of which the least doubtful one is chosen."""


class Redecoder:
    """Decodes segments again with the model of a translator, in the context of their document."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
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
            terms = self.find_terms(prepared, first, names=not options.search.sampling)
            results.append(replace(result, hypotheses=[*first], terms=terms, before_terms=first))
        if options.search.sampling:
            return results
        lacking = [self._lacking(*each, sentences) for each in zip(documents, results, strict=True)]
        if not any(lacking):
            return results
        wanted = []
        for prepared, result, own in zip(documents, results, lacking, strict=True):
            constraints = {m: each.constraints for m, each in own.items()}
            wanted.append((prepared, result, [(m, prepared.segments[m]) for m in own], constraints))
        beams, n_best = max(options.search.beams, CANDIDATES), max(options.search.n_best, CANDIDATES)
        found = self._decode(wanted, replace(options, search=replace(options.search, beams=beams, n_best=n_best)))
        for k, prepared in enumerate(documents):
            words = self._replace_hypotheses(prepared, results[k], lacking[k], found[k])
            if options.explain:
                results[k] = _with_enforced_words(prepared, results[k], words)
        return results

    def find_terms(self, prepared: PreparedDocument, hypotheses: Hypotheses, names: bool = True) -> DocumentTerms:
        """Returns the terms of a document: glossary entries, its `names` and its formality, as first translated."""
        translator, request = self._translator, prepared.request
        glossary, formality = request.glossary or translator.glossary, request.formality or translator.formality
        finders: list[TermFinder] = [] if glossary is None else [glossary]
        segments = prepared.segments.segments
        translations = [
            translator.translation_builder.text(found[0], segment.source) if found and found[0].tokens else None
            for segment, found in zip(segments, hypotheses, strict=True)
        ]
        if names and translator.names:
            texts, own = [segment.text for segment in segments], dictionaries(translator.needs.hints)
            finders += [DictionaryNames(each).following(prepared.given_pairs().values()) for each in own]
            translated = {word for each in own for text in texts for word in each.proper_words(text)}
            translate = translator.translate_texts
            finders.append(find_names(texts, translations, translator.languages, translate, translated))
        samples = [Sample(text, given, given=True) for text, given in prepared.given_pairs().values()]
        samples += [Sample(segments[m].text, translations[m] or "") for m in prepared.segments_of()]
        decided, utterances = decide(formality, samples), {}
        if has_forms(translator.languages) and formality in ("any", "auto"):
            utterances = utterance_formalities(request.document, prepared.segments, translations, prepared.given)
        return DocumentTerms(finders, decided, utterances)

    def _lacking(
        self, prepared: PreparedDocument, decoded: DecodedSegments, sentences: Collection[int] | None
    ) -> dict[int, Lacking]:
        """Returns what segments lack; names and set phrases are replaced in hypotheses, in place."""
        lacking = {}
        for m in prepared.segments_of(sentences):
            if decoded.hypotheses[m] and decoded.hypotheses[m][0].tokens:
                segment, terms = prepared.segments[m], decoded.terms.at(m)
                first = self._enforcer.with_replacements(segment, decoded.hypotheses[m][0], terms)
                decoded.hypotheses[m] = [first, *decoded.hypotheses[m][1:]]
                text = self._translator.translation_builder.text(first, segment.source)
                if (own := self._enforcer.lacking(segment, text, terms, decoded.lookups.get(m, ()))) is not None:
                    lacking[m] = own
        return lacking

    def _replace_hypotheses(
        self,
        prepared: PreparedDocument,
        decoded: DecodedSegments,
        lacking: Mapping[int, Lacking],
        found: Iterable[list[Hypothesis]],
    ) -> dict[int, list[Term]]:
        """Replaces the hypotheses of segments that lack a term, in place, if what was `found` instead is better.

        Returns the dictionary words that the new hypotheses contain, by segment.
        """
        words = {}
        for (m, own), new in zip(lacking.items(), found, strict=True):
            segment, terms = prepared.segments[m], decoded.terms.at(m)
            first = self._attempt(segment, decoded.hypotheses[m][0], terms)
            attempts = [(each, self._attempt(segment, each, terms)) for each in new]
            if better := self._enforcer.better(segment, first, attempts, own, terms):
                decoded.hypotheses[m] = [each for each, _ in better][: len(decoded.hypotheses[m])]
                text = better[0][1].text
                words[m] = [word for word in own.words if word.entry and word.entry.is_translated(text)]
        return words

    def _decode(
        self,
        wanted: Iterable[tuple[PreparedDocument, DecodedSegments, Sequence[Piece], Constraints]],
        options: DecodingOptions,
    ) -> list[list[list[Hypothesis]]]:
        """Returns the hypotheses of pieces, decoded in the context of the other segments; by document and piece.

        Pieces are in the order of their segments; constraints are by segment.
        """
        inputs = [[*self._inputs(*each)] for each in wanted]
        found = iter(self._translator.decoder([each for own in inputs for each, _ in own], options))
        decoded = [[(next(found).sentences, rows) for _, rows in own] for own in inputs]
        return [[sentences[row] for sentences, rows in own for row in rows] for own in decoded]

    def _inputs(
        self, prepared: PreparedDocument, decoded: DecodedSegments, pieces: Sequence[Piece], constraints: Constraints
    ) -> Iterator[tuple[DecoderInput, Sequence[int]]]:
        """Yields (model input, positions of the pieces in it) for each chunk of a document with any of the pieces."""
        for shown, own in chunks(len(prepared.segments)):
            if chosen := [(m, piece) for m, piece in pieces if m in own]:
                build = self._within_document if self._translator.needs.reads_document else self._excerpt
                model_input, rows = build(prepared, decoded, shown, chosen)
                wanted = {row: constraints[m] for row, (m, _) in zip(rows, chosen, strict=True) if m in constraints}
                yield replace(model_input, constraints=wanted), rows

    def _excerpt(
        self, prepared: PreparedDocument, decoded: DecodedSegments, shown: range, pieces: Sequence[Piece]
    ) -> tuple[DecoderInput, Sequence[int]]:
        """Returns pieces with what their segments read as model input; parts of segments have no hints."""
        first, inputs = dict(enumerate(decoded.before_terms)), self._translator.input_builder
        document, _ = inputs.excerpt(prepared, shown, [m for m, _ in pieces], first)
        parts = {row: piece for row, (m, piece) in enumerate(pieces) if piece.text != prepared.segments[m].text}
        base = {row: first[m][0].base_tokens for row, (m, _) in enumerate(pieces) if row not in parts}
        return replace(inputs.with_source(document, parts), base=base), range(len(pieces))

    def _within_document(
        self, prepared: PreparedDocument, decoded: DecodedSegments, shown: range, pieces: Sequence[Piece]
    ) -> tuple[DecoderInput, Sequence[int]]:
        """Returns the segments of a chunk as model input, with pieces in place of their segments.

        The hypotheses of the other segments are known translations.
        """
        texts, known, rows = list[Segment](), dict[int, list[Hypothesis]](), list[int]()
        for m in shown:
            if again := [piece for place, piece in pieces if place == m]:
                rows += range(len(texts), len(texts) + len(again))
            elif decoded.hypotheses[m]:
                known[len(texts)] = decoded.hypotheses[m]
            texts += again or [prepared.segments[m]]
        segments = Segments(texts, [range(row, row + 1) for row in range(len(texts))])
        return self._translator.input_builder.encode(segments, range(len(texts)), known), rows

    def checked(
        self, prepared: PreparedDocument, decoded: DecodedSegments, search: SearchConfig, sentences: Iterable[int]
    ) -> dict[int, Attempt]:
        """Returns the best translation of each segment of some sentences, with its doubts.

        Doubtful translations are repaired unless `Translator.repair` is False. Known translations are left out.
        """
        segments = prepared.segments
        attempts = {
            m: self._attempt(segments[m], decoded.hypotheses[m][0], decoded.terms)
            for m in prepared.segments_of(sentences)
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
        targets = [target for term in terms.find(segment.text) for target in term.targets]
        arguments = segment.source, without(text, segment.stand_ins), self._language, targets
        found = [*invented_words(*arguments)]
        if self._translator.languages is not None and self._translator.languages[0] == "en":
            found += invented_first_words(*arguments, self._translator.input_builder.normalizer.may_be_name)
        return found

    def _decode_again(
        self, prepared: PreparedDocument, decoded: DecodedSegments, pieces: Sequence[Piece], search: SearchConfig
    ) -> list[list[Attempt]]:
        """Decodes pieces in the context of the other segments of their document; returns the attempts of each piece."""
        constraints = self._forbidden(prepared, decoded, pieces)
        [found] = self._decode([(prepared, decoded, pieces, constraints)], DecodingOptions(search))
        return [
            [self._attempt(piece, hypothesis, decoded.terms) for hypothesis in hypotheses]
            for (_, piece), hypotheses in zip(pieces, found, strict=True)
        ]

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


def _with_enforced_words(
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
