"""Corrections: translates some sentences of a document (again), with the result of translating the whole document.

A sentence reads its own source, given translations of the sentences that the graph links with it, and the translations
in its hints. So a correction changes the sentences that read the corrected sentence and, in turn, the sentences that
read those. A model that reads whole documents translates the document again.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from docgraph.annotate.dictionary import Entry
from docgraph.document import Document
from docgraph.formats.atoms import shown_texts
from docgraph.model.hints import Hint
from docgraph.model.systems import prepare
from docgraph.translation.decoding.decoder import DecodingOptions
from docgraph.translation.decoding.document_draft import untranslated
from docgraph.translation.decoding.hints import OpenHint, fill_hints
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis, Known, SearchConfig, any_given
from docgraph.translation.decoding.relevance import (
    CACHED_TOKENS,
    Judgements,
    TranslatedSentence,
    cache_states,
    evict,
    judges_relevance,
    relevant_sentences,
)
from docgraph.translation.model_input import (
    FinishedSentences,
    PreparedDocument,
    TranslationRequest,
    chunks,
    lookups_by_segment,
)
from docgraph.translation.result import Candidate, SentenceTranslation
from docgraph.translation.segment_decoding import DecodedSegments, TranslationOptions
from docgraph.translation.terms.formality import formality_of, has_you
from docgraph.translation.text.stand_ins import restore
from docgraph.translation.translator import Translator

Place = tuple[int, int]
"""A sentence and the position of a segment in it: stays valid if other sentences are segmented differently."""
Read = Mapping[Place, tuple[TranslatedSentence, ...]]
"""The given translations that each segment reads; segments that read none are left out."""


def translate_sentences(
    translator: Translator,
    request: TranslationRequest,
    sentences: Iterable[int],
    search: SearchConfig = SearchConfig(),
    *,
    finished: FinishedSentences | None = None,
) -> dict[int, SentenceTranslation]:
    """Translates some sentences of a document as `Translator.translate` would, in less time.

    Sentences in `finished` are not decoded again. A model that reads whole documents translates the whole document.
    """
    chosen = sorted({*sentences})
    if translator.needs.reads_document:
        [(_, translation)] = translator.translate_requests([request], search)
        return {m: translation.sentences[m] for m in chosen}
    work = _PartialTranslation(translator, translator.prepare(request), search, finished or {})
    work.decode(m for m in work.prepared.segments_of(chosen) if m not in work.translations)
    return work.sentences(chosen)


def follow_correction(
    translator: Translator,
    request: TranslationRequest,
    before: Sequence[str | None],
    search: SearchConfig = SearchConfig(),
    *,
    finished: FinishedSentences,
    again: Iterable[int] = (),
    judged: Judgements | None = None,
) -> dict[int, SentenceTranslation]:
    """Returns new translations of the sentences that change when the known translations change to those of `request`.

    With these, the document is equal to one that is translated anew. The known translations were `before`. `finished`
    has the translated sentences of the document; the others are ignored. `again` are sentences whose terms have
    changed. `judged` has the relevance judgements of earlier corrections of the document; new ones are added.

    A sentence is decoded again if it reads other given translations than before (relevance.py), if its hints contain
    other words, or if it addresses people and the formality of the document has changed.
    """
    old, new = translator.prepare(replace(request, known=before)), translator.prepare(request)
    unknown = [m for m in finished if m not in new.given]
    reopened = {m for m in unknown if m in old.given}
    if old.given == new.given and not {*again}:
        return {}
    if translator.needs.reads_document:
        chosen = unknown if translator.needs.reads_own_translations else reopened.union(again)
        return translate_sentences(translator, request, chosen, search)
    earlier = _PartialTranslation(translator, old, search, finished)
    work = _PartialTranslation(translator, new, search, {m: each for m, each in finished.items() if m not in reopened})
    read, reads = earlier.read(judged), work.read(judged)
    changed = [m for m in new.segments_of(unknown) if reads.get(work.place(m)) != read.get(work.place(m))]
    based = {m for m in changed if m in work.translations and work.place(m) in reads}
    missing = [m for m in new.segments_of(unknown) if m not in work.translations]
    decoded = work.follow_hints(earlier, {*changed, *missing}, based)
    return work.sentences({*again, *decoded, *work.with_other_terms(earlier, unknown)})


@dataclass
class _PartialTranslation:
    """A document of which some segments are translated."""

    translator: Translator
    prepared: PreparedDocument
    search: SearchConfig
    finished: FinishedSentences

    def __post_init__(self) -> None:
        prepared = self.prepared
        given = self.translator.input_builder.given_segments(prepared.given, prepared.segments)
        self._owners = prepared.segments.sentence_indices()
        """The sentence of each segment."""
        self.translations = prepared.finished_segments(self.finished) | dict(given)
        """Known, finished and decoded hypotheses, by segment."""

    def place(self, segment: int) -> Place:
        """Returns the sentence of a segment, and its position in the sentence."""
        sentence = self._owners[segment]
        return sentence, segment - self.prepared.segments.of_sentence[sentence].start

    def segment(self, place: Place) -> int | None:
        """Returns the segment at a place; None if the sentence has fewer segments."""
        indices = self.prepared.segments.of_sentence[place[0]]
        return indices[place[1]] if place[1] < len(indices) else None

    def decode(self, segments: Iterable[int], based: Container[int] = ()) -> None:
        """Decodes some segments, and the segments without a translation that their hints read.

        The base translations (`Hypothesis.base`) of the segments in `based` are still valid.
        """
        inputs = self.translator.input_builder
        wanted = inputs.with_referents(self.prepared, segments, self.translations)
        for rows, document, _ in inputs.excerpts(self.prepared, wanted, self.translations):
            base = {row: self.translations[m][0].base_tokens for row, m in enumerate(rows) if m in based}
            [part] = self.translator.decoder([replace(document, base=base)], DecodingOptions(self.search))
            self.translations.update(zip(rows, part.sentences, strict=False))

    def read(self, judged: Judgements | None) -> Read:
        """Returns the given translations that the translated segments read."""
        translator, found = self.translator, dict[Place, tuple[TranslatedSentence, ...]]()
        model, eos = translator.model, translator.model.config.transformer.eos
        if not judges_relevance(model.config) or not any_given(self.translations):
            return found
        for shown, own in chunks(len(self.prepared.segments)):
            chunk = translator.input_builder.chunk(self.prepared, shown, {})
            example, known = prepare(untranslated(chunk.example, chunk.known), model.config), chunk.known
            base = {
                m - shown.start: best.base_tokens
                for m in own
                for best in self.translations.get(m, ())[:1]
                if not best.given
            }
            with translator.model_lock:
                read = relevant_sentences(model, example, known, base, translator.state_cache, judged)
            found |= {
                self.place(shown.start + m): tuple(
                    (tuple(example.source[k].tolist()), (*known[k][0].tokens, eos)) for k in others
                )
                for m, others in read.items()
            }
        return found

    def follow_hints(self, earlier: _PartialTranslation, segments: Iterable[int], based: Container[int]) -> set[int]:
        """Decodes some segments, and all translated segments whose hints differ from those of an `earlier` translation.

        Returns the decoded sentences. Referents come before the sentences that read them, so the loop ends.
        """
        hints, decoded, waiting = _DocumentHints(self), set[int](), {*segments}
        before = _DocumentHints(earlier)
        used = {
            m: before.of(earlier.segment(self.place(m)), earlier.translations)
            for m, (best, *_) in self.translations.items()
            if not best.given
        }
        while True:
            stale = self._stale({m: (used[m], hints.of(m, self.translations)) for m in used if m not in waiting})
            if not (waiting := waiting | stale):
                return {self._owners[m] for m in decoded}
            read = dict(self.translations)
            self.decode(waiting, {m for m in waiting if m in based and m not in stale})
            # Hints read the old translations of segments that had one, so that all segments are decoded together.
            read |= {m: self.translations[m] for m in waiting if m not in read}
            used |= {m: hints.of(m, read) for m in waiting}
            decoded, waiting = decoded | waiting, set()

    def _stale(self, hints: Mapping[int, tuple[tuple[_HintInput, ...], tuple[_HintInput, ...]]]) -> set[int]:
        """Returns the segments whose hints contain other words now, given the old and the new inputs of their hints."""
        changed = {m: pair for m, pair in hints.items() if pair[0] != pair[1]}
        with self.translator.model_lock:
            words = iter(_fill(self.translator, [each for pair in changed.values() for side in pair for each in side]))
        said = {m: [[next(words) for _ in side] for side in pair] for m, pair in changed.items()}
        return {m for m, (before, now) in said.items() if before != now}

    def with_other_terms(self, earlier: _PartialTranslation, sentences: Iterable[int]) -> set[int]:
        """Returns the sentences whose terms, or whose formality, differ from those in an `earlier` translation."""
        mine, theirs = (
            each.translator.redecoder.find_terms(each.prepared, each.hypotheses) for each in (self, earlier)
        )
        segments = self.prepared.segments

        def is_same(segment: int) -> bool:
            before = earlier.segment(self.place(segment))
            own = mine.at(segment).formality
            return before is not None and own == theirs.at(before).formality

        return {
            m
            for m in sentences
            if any(mine.find(segments[k].text) != theirs.find(segments[k].text) for k in segments.of_sentence[m])
            or any(not is_same(k) and self._addresses(k) for k in segments.of_sentence[m])
        }

    def _addresses(self, segment: int) -> bool:
        """Returns whether the formality of the document may change the translation of a segment."""
        source, found = self.prepared.segments[segment], self.translations.get(segment)
        translation = self.translator.translation_builder.text(found[0], source.source) if found else ""
        return has_you(source.text) or formality_of(translation) is not None

    def _lookups(self, sentences: Collection[int]) -> dict[int, list[Hint]]:
        """Returns the dictionary words in the segments of some sentences."""
        wanted, found = {*self.prepared.segments_of(sentences)}, dict[int, list[Hint]]()
        for shown, own in chunks(len(self.prepared.segments)):
            if self.translator.needs.hints and not wanted.isdisjoint(own):
                example = self.translator.input_builder.chunk(self.prepared, shown, {}).example
                found |= lookups_by_segment(example, shown, own)
        return found

    @property
    def hypotheses(self) -> Hypotheses:
        """The translation of each segment; an empty one if there is none."""
        return [self.translations.get(m) or [Hypothesis((), 0.0, 0.0)] for m in range(len(self.prepared.segments))]

    def sentences(self, chosen: Iterable[int]) -> dict[int, SentenceTranslation]:
        """Returns some sentences of the document, all of whose segments have a translation."""
        chosen, segments = sorted({*chosen}), self.prepared.segments
        if not chosen:
            return {}
        hypotheses = self.hypotheses
        decoded = DecodedSegments(hypotheses, [], 1, self._lookups(chosen))
        options = TranslationOptions(self.search)
        [result] = self.translator.redecoder.with_terms([self.prepared], [decoded], options, chosen)
        translated = self.translator.sentences(self.prepared, result, self.search, chosen)
        return {
            m: replace(each, segments=tuple(hypotheses[k][0] for k in segments.of_sentence[m]))
            for m, each in self._with_quotes_of_document(decoded, translated).items()
        }

    def _with_quotes_of_document(
        self, decoded: DecodedSegments, translated: Mapping[int, SentenceTranslation]
    ) -> dict[int, SentenceTranslation]:
        """Returns some translated sentences with the quotation marks of their whole document."""
        translator, segments, everything = self.translator, self.prepared.segments, dict[int, SentenceTranslation]()
        for m, source in enumerate(shown_texts(self.prepared.request.document)):
            if m in translated:
                everything[m] = translated[m]
            elif m not in self.prepared.given:
                texts = [
                    translator.translation_builder.text(decoded.hypotheses[k][0], segments[k].source)
                    for k in segments.of_sentence[m]
                ]
                candidate = Candidate(restore(segments.join(texts, m), segments.stand_ins(m)), 0.0, 0.0)
                everything[m] = SentenceTranslation(source, candidate.text, (candidate,) if candidate.text else ())
        unified = translator.translation_builder.with_same_quotes(everything, segments)
        return {m: unified[m] for m in translated}


@dataclass(frozen=True)
class _HintInput:
    """A hint, and what determines its words: they are printed, or in the translation of the referent."""

    key: tuple[Any, ...]
    hint: Hint = field(compare=False)
    open: OpenHint | None = field(compare=False)
    """The hint with the sentence of its referent, if its words are in the translation of that sentence."""


class _DocumentHints:
    """The hints of a document, and their inputs."""

    def __init__(self, work: _PartialTranslation) -> None:
        self._work, self._hints = work, dict[int, list[tuple[Hint, int, tuple[int, ...]]]]()
        if not work.translator.needs.hints:
            return
        for shown, own in chunks(len(work.prepared.segments)):
            example = work.translator.input_builder.chunk(work.prepared, shown, {}).example
            for hint in (*example.hints, *example.lookups):
                if (m := shown.start + hint.sentence) in own:
                    read = 0 if hint.referent is None else hint.referent.sentence
                    self._hints.setdefault(m, []).append((hint, shown.start + read, tuple(example.source[read])))

    def of(self, segment: int | None, translations: Known) -> tuple[_HintInput, ...]:
        """Returns the inputs of the hints of a segment, given the translations of the document."""
        return tuple(
            self._input(*each, translations) for each in self._hints.get(-1 if segment is None else segment, ())
        )

    def _input(self, hint: Hint, read: int, source: tuple[int, ...], translations: Known) -> _HintInput:
        own = hint.place, hint.ids, hint.entry
        if hint.referent is None or not hint.is_open:
            return _HintInput(own, hint, None)
        said = translations[read][0].tokens if translations.get(read) else None
        eos = self._work.translator.model.config.transformer.eos
        key = (*own, self._work.place(read), hint.referent.head, hint.referent.determiner, source, said)
        return _HintInput(key, hint, (hint, np.array(source), np.array([*(said or ()), eos])))


def _fill(translator: Translator, hints: Sequence[_HintInput]) -> list[tuple[int, tuple[int, ...], Entry | None]]:
    """Returns the place, the words and the entry of each hint."""
    open_hints = [each.open for each in hints if each.open is not None]
    filled = iter(fill_hints(translator.model, translator.tokenizer.target, open_hints))
    words = [each.hint.ids if each.open is None else next(filled).ids for each in hints]
    return [(each.hint.place, ids, each.hint.entry) for each, ids in zip(hints, words, strict=True)]


def warm_up(translator: Translator, document: Document, finished: FinishedSentences) -> None:
    """Fills the state cache with the states that the first correction of a document needs."""
    config, room, cache = translator.model.config, CACHED_TOKENS, translator.state_cache
    if cache is None or not judges_relevance(config):
        return
    work = _PartialTranslation(translator, translator.prepare(TranslationRequest(document)), SearchConfig(), finished)
    for shown, own in chunks(len(work.prepared.segments)):
        example = translator.input_builder.chunk(work.prepared, shown, {}).example
        source, pairs = prepare(example, config).source, []
        for m in own:
            if m in work.translations and (room := room - len(work.translations[m][0].base_tokens)) >= 0:
                base = (*work.translations[m][0].base_tokens, config.transformer.eos)
                pairs.append((tuple(source[m - shown.start].tolist()), base))
        with translator.model_lock:
            cache_states(translator.model, pairs, cache)
            evict(cache)
