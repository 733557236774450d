"""Model input: documents and their known translations as the arrays that a model reads.

`InputBuilder.prepare` segments a document, annotates it, builds its graph and encodes it in sub-words. A long document
is encoded chunk by chunk, and `InputBuilder.excerpts` encodes only some of its segments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from docgraph.annotate.dictionary import Dictionary, Entry
from docgraph.annotate.pipeline import Pipeline
from docgraph.annotation import Annotation
from docgraph.corpus.subwords import encode_source, encode_target
from docgraph.document import Document, Sentence
from docgraph.errors import DocgraphError
from docgraph.formats.atoms import shown_texts
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.config import ModelConfig
from docgraph.model.hints import (
    Hint,
    dictionaries,
    find_hints,
    find_lookups,
    hints_by_sentence,
    may_have_hints,
    without_known_words,
)
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.decoding.decoder import DecoderInput
from docgraph.translation.decoding.excerpt import excerpt, with_referents
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis, Known, any_given, given_hypotheses
from docgraph.translation.terms.corrected_words import CorrectedWordFinder, CorrectedWords
from docgraph.translation.terms.formality import FormalityOption
from docgraph.translation.text.preprocessing import Preprocessor, Segment, Segments
from docgraph.translation.text.stand_ins import mask

if TYPE_CHECKING:  # imported only if they are used: their readers are slow to import
    from docgraph.translation.terms.glossary import Glossary
    from docgraph.translation.translation_memory import TranslationMemory

ANNOTATIONS = 8
"""Number of documents whose annotation is cached, so that a correction does not annotate its document again."""
CHUNK, CHUNK_BEFORE, CHUNK_AFTER = 1024, 256, 32
"""Number of segments that are translated together, and of context segments before and after them."""
FinishedSentences = Mapping[int, Sequence[Hypothesis]]
"""The hypotheses of the segments of translated sentences, by sentence."""


@dataclass(eq=False)
class TranslationRequest:
    """A document to translate, with known translations and options of its own."""

    document: Document
    known: Sequence[str | None] = ()
    """A known translation or None for each sentence; empty if none is known."""
    resumed: Known = field(default_factory=dict)
    """Hypotheses of segments that an interrupted run has decoded, as passed to `record`."""
    glossary: Glossary | None = None
    """Glossary of this document (default: that of the translator)."""
    formality: FormalityOption | None = None
    """How this document addresses people (default: `Translator.formality`)."""

    def record(self, first: int, hypotheses: Hypotheses) -> None:
        """Called when the hypotheses of the segments from `first` on are final. No-op; subclasses may store them."""

    def show_progress(self, first: int, count: int) -> None:
        """Called when about `count` segments from `first` on are decoded. No-op; subclasses may show it."""


@dataclass(frozen=True)
class PreparedDocument:
    """The model input of a request, or of one chunk of it."""

    request: TranslationRequest
    segments: Segments
    given: dict[int, str]
    """Known translations, by sentence."""
    known: Known
    """Hypotheses of known translations and of an interrupted run, by segment."""
    shown: range
    """The segments in `model_input`."""
    own: range
    """The segments that are translated; the others are context."""
    model_input: DecoderInput | None = None
    """The shown segments, with entries of the translation memory; None for a document translated in chunks."""
    corrected: CorrectedWords | None = None
    """The words that known translations correct, if the model can read them."""

    @property
    def size(self) -> float:
        """Number of source sub-words; infinite for a document in chunks, which is decoded alone."""
        if self.model_input is None:
            return math.inf
        return sum(map(len, self.model_input.example.source[: len(self.shown)]))

    def segments_of(self, sentences: Iterable[int] | None = None) -> list[int]:
        """Returns the segments of some sentences (default: all) that have no known translation."""
        chosen = range(len(self.segments.of_sentence)) if sentences is None else sentences
        return [m for index in chosen if index not in self.given for m in self.segments.of_sentence[index]]

    def finished_segments(self, finished: FinishedSentences) -> dict[int, list[Hypothesis]]:
        """Returns the hypotheses of finished sentences, by segment.

        Leaves out sentences that are known by now, or that had another number of segments.
        """
        of_sentence = self.segments.of_sentence
        return {
            m: [best]
            for sentence, segments in finished.items()
            if sentence not in self.given and len(of_sentence[sentence]) == len(segments)
            for m, best in zip(of_sentence[sentence], segments, strict=True)
        }

    def given_pairs(self) -> dict[int, tuple[str, str]]:
        """Returns (source, translation) of each sentence with a known translation; sources as the model reads them."""
        of_sentence = self.segments.of_sentence
        return {m: (" ".join(self.segments.texts(of_sentence[m])), text) for m, text in self.given.items()}

    def record(self, first: int, hypotheses: Hypotheses) -> None:
        """Reports to the request that the hypotheses from position `first` of the example on are final."""
        own = range(self.own.start - self.shown.start, self.own.stop - self.shown.start)
        begin = max(own.start, first)
        if final := hypotheses[begin - first : own.stop - first]:
            self.request.record(self.shown.start + begin, final)


class InputBuilder:
    """Turns documents into input of one model. Threads may share it."""

    def __init__(
        self,
        config: ModelConfig,
        tokenizer: Tokenizer,
        preprocessor: Preprocessor,
        languages: tuple[str, str] | None,
        annotator: str | None,
        tag: str | None,
        max_length: int,
        corrected_words: CorrectedWordFinder | None,
    ) -> None:
        """See `Translator`. `max_length` is the maximum number of sub-words of a segment. Without `corrected_words`,
        known translations only serve as context."""
        self._config, self._tokenizer, self._preprocessor, self._tag = config, tokenizer, preprocessor, tag
        self.normalizer = preprocessor.normalizer
        self._languages, self._annotator, self._max_length = languages, annotator, max_length
        self._needs = context_needs(config)
        self.corrected_words = corrected_words
        """Finds the words that known translations correct; None to ignore them."""
        self.memory: TranslationMemory | None = None
        self._annotations: dict[tuple[Sentence, ...], Annotation] = {}
        """Cached annotations, least recently used first."""
        self._annotation_lock = Lock()

    @cached_property
    def pipeline(self) -> Pipeline:
        """The annotation pipeline, loaded on first use."""
        from docgraph.annotate.registry import default_pipeline, load_pipeline

        if self._annotator is not None:
            return load_pipeline(self._annotator)
        if self._languages is None:
            raise DocgraphError(
                "the model reads document graphs but does not state its languages; pass an annotator, such as words:fr"
            )
        return default_pipeline(self._languages[0])

    def prepare(self, request: TranslationRequest, foreign: frozenset[int] = frozenset()) -> PreparedDocument:
        """Segments a document and builds its model input; the sentences in `foreign` are not translated."""
        document, known = request.document, request.known
        count = len(document.sentences)
        if known and len(known) != count:
            raise DocgraphError(
                f"there are {len(known)} known translations for {count} sentences; pass one for each, None if it is not"
                " known"
            )
        exact = [] if self.memory is None else map(self.memory.exact, shown_texts(document))
        given = {m: text for each in (exact, known) for m, text in enumerate(each) if text is not None and text.strip()}
        segments = self._preprocessor.segment(document, given, foreign - given.keys())
        known_segments: Known = {**request.resumed, **dict(self.given_segments(given, segments))}
        (shown, own), *more = chunks(len(segments))
        prepared = PreparedDocument(request, segments, given, known_segments, shown, own)
        if self.corrected_words is not None and given:
            others = [segments[m].text for m in prepared.segments_of()]
            prepared = replace(prepared, corrected=self.corrected_words.find(prepared.given_pairs(), others))
        if more:
            return prepared
        return replace(prepared, model_input=self.encode(segments, shown, known_segments, prepared.corrected))

    def given_segments(self, given: Mapping[int, str], segments: Segments) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yields known translations by segment; the translation of a sentence is divided among its segments."""
        masked = [mask(text, segments.stand_ins(sentence)) for sentence, text in given.items()]
        for sentence, ids in zip(given, self._tokenizer.target.ids(masked), strict=True):
            indices = segments.of_sentence[sentence]
            for index, part in zip(indices, np.array_split(ids[:-1], len(indices) or 1), strict=False):
                yield index, self._given(part)

    def _given(self, ids: Ids) -> list[Hypothesis]:
        return given_hypotheses(ids[: self._config.transformer.max_positions - 1].tolist())

    def encode(
        self, segments: Segments, span: range, known: Known, corrected: CorrectedWords | None = None
    ) -> DecoderInput:
        """Returns consecutive segments as model input, with their known hypotheses by position in `span`.

        They are annotated if the model reads graphs or hints. Entries of the translation memory follow the segments.
        """
        texts = segments.texts(span)
        known = {place: known[m] for place, m in enumerate(span) if m in known}
        relations, hints = self._needs.graph_relations(any_given(known)), self._needs.hints
        own = None if corrected is None else corrected.dictionary
        annotation = None
        if texts and (relations is not None or may_have_hints(texts, hints, own)):
            annotation = self.annotate(segments.document(span))
        example = example_from_text(texts, self._tokenizer, annotation, relations, tag=self._tag, hints=hints, own=own)
        moved = [_shifted(hint, span.start) for hint in example.hints]
        lookups = _valid_lookups(example.lookups, known, corrected, segments)
        example = replace(example, ahead=True, hints=moved, lookups=lookups)
        if self.memory is None:
            return DecoderInput(example, known)
        example, entries = self.memory.append_entries(
            example, texts, known, self._tokenizer, self._max_length, self._tag
        )
        return DecoderInput(example, {**known, **{place: self._given(ids[:-1]) for place, ids in entries.items()}})

    def annotate(self, document: Document) -> Annotation:
        """Returns the annotation of a document; annotations of the latest documents are cached."""
        with self._annotation_lock:
            annotation = self._annotations.pop(document.sentences, None) or self.pipeline(document)
            self._annotations[document.sentences] = annotation
            for old in list(self._annotations)[:-ANNOTATIONS]:
                del self._annotations[old]
        return annotation

    def chunk(self, prepared: PreparedDocument, shown: range, translations: Known) -> DecoderInput:
        """Returns a chunk of a document as model input, with its known translations and other `translations`."""
        if prepared.model_input is None:
            given = dict(self.given_segments(prepared.given, prepared.segments))
            return self.encode(prepared.segments, shown, {**translations, **given}, prepared.corrected)
        return replace(prepared.model_input, known={**translations, **prepared.model_input.known})

    def with_referents(self, prepared: PreparedDocument, wanted: Iterable[int], translations: Known) -> set[int]:
        """Returns segments and, transitively, the segments that their hints read and that have no translation yet."""
        found = {*wanted}
        for shown, own in reversed([*chunks(len(prepared.segments))]):
            if self._needs.hints and (rows := [m - shown.start for m in own if m in found]):
                chunk = self.chunk(prepared, shown, translations)
                found |= {shown.start + m for m in with_referents(chunk.example.hints, rows, chunk.known)}
        return found

    def excerpts(
        self, prepared: PreparedDocument, wanted: Iterable[int], translations: Known
    ) -> Iterator[tuple[list[int], DecoderInput, list[int]]]:
        """Yields (segments, `excerpt` with everything they read) for each chunk that has some of the wanted segments.

        Segments with a known translation are left out. `translations`, by segment, may be read by hints; the caller may
        add new translations before it requests the next excerpt.
        """
        wanted = {*prepared.segments_of()}.intersection(wanted)
        for shown, own in chunks(len(prepared.segments)):
            if rows := [m for m in own if m in wanted]:
                yield rows, *self.excerpt(prepared, shown, rows, translations)

    def excerpt(
        self, prepared: PreparedDocument, shown: range, rows: Iterable[int], translations: Known
    ) -> tuple[DecoderInput, list[int]]:
        """Returns segments of one chunk and everything they read as model input, and the segment at each position.

        `rows` may repeat a segment. Entries of a translation memory come after all segments.
        """
        chunk = self.chunk(prepared, shown, translations)
        found, origins = excerpt(chunk, [m - shown.start for m in rows], self._config)
        end = len(prepared.segments)
        return found, [m + (shown.start if m < len(shown) else end) for m in origins]

    def with_source(self, document: DecoderInput, segments: Mapping[int, Segment]) -> DecoderInput:
        """Returns a model input with other texts, without hints, at some positions."""
        example = document.example
        source = [
            self._tokenizer.source.encode(segments[place].text, self._tag)[0] if place in segments else ids
            for place, ids in enumerate(example.source)
        ]
        hints, lookups = (
            [hint for hint in each if hint.sentence not in segments] for each in (example.hints, example.lookups)
        )
        return replace(document, example=replace(example, source=source, hints=hints, lookups=lookups))


def chunks(segments: int) -> Iterator[tuple[range, range]]:
    """Yields (shown, own) for each chunk of a document: the segments that the model reads and those that it translates.

    Attention over a whole document has quadratic cost. A document much longer than any in training is translated in
    overlapping chunks, each with the translations of earlier chunks. Any other document is one chunk.
    """
    if segments <= CHUNK_BEFORE + CHUNK + CHUNK_AFTER:
        yield range(segments), range(segments)
        return
    for begin in range(0, segments, CHUNK):
        own = range(begin, min(begin + CHUNK, segments))
        yield range(max(0, own.start - CHUNK_BEFORE), min(own.stop + CHUNK_AFTER, segments)), own


def lookups_by_segment(example: DocumentExample, shown: range, own: range) -> dict[int, list[Hint]]:
    """Returns the dictionary words in the `own` segments of a chunk; segments without any are left out."""
    lookups = hints_by_sentence(example.lookups)
    return {m: lookups[m - shown.start] for m in own if m - shown.start in lookups}


def _valid_lookups(
    lookups: Sequence[Hint], known: Known, corrected: CorrectedWords | None, segments: Segments
) -> list[Hint]:
    """Returns the dictionary hints without those for words that known translations contain or correct.

    The hints by corrected words follow.
    """
    said_in = dict[Entry | None, int](() if corrected is None else corrected.said_in.items())
    given = {place for place, hypotheses in known.items() if hypotheses[0].given}
    found = without_known_words([hint for hint in lookups if hint.entry not in said_in], given)
    return found + [
        replace(hint, relation="correction", printed_in=segments.of_sentence[said_in[hint.entry]].start)
        for hint in lookups
        if hint.entry in said_in
    ]


def _shifted(hint: Hint, by: int) -> Hint:
    """Returns a hint whose `printed_in` counts from the first segment of the document, not of the chunk."""
    return hint if hint.printed_in is None else replace(hint, printed_in=hint.printed_in + by)


def example_from_text(
    source: Sequence[str],
    tokenizer: Tokenizer,
    annotation: Annotation | None = None,
    relations: Sequence[str] | None = None,
    target: Sequence[str] = (),
    tag: str | None = None,
    hints: Sequence[str] = (),
    own: Dictionary | None = None,
) -> DocumentExample:
    """Returns the model input of a document with these sentences and, if given, translations.

    It has a graph if an annotation and relations are passed. Hints come from the relations `hints` and, if passed, from
    `own`, a dictionary of the document.
    """
    graph, words, found, lookups = None, list[Ids](), list[Hint](), list[Hint]()
    if annotation is None or (relations is None and not hints):
        ids = [tokenizer.source.encode(text, tag)[0] for text in source]
        found = find_hints(None, ids, (), tokenizer, hints)
    else:
        graph = None if relations is None else build_graph(annotation, relations)
        ids, owners = encode_source(source, annotation, tokenizer.source, tag)
        words = [np.where(o < 0, -1, o + base) for o, base in zip(owners, annotation.offsets, strict=False)]
        if hints:
            found = find_hints(annotation, ids, words, tokenizer, hints)
            every = [*([] if own is None else [own]), *dictionaries(hints)]
            lookups = find_lookups(annotation, words, tokenizer, every, found)
        words = words if graph is not None else []
    target_ids, target_words = encode_target(target, tokenizer.target) if target else ([], [])
    return DocumentExample(ids, target_ids, graph, words, target_words, hints=found, lookups=lookups)
