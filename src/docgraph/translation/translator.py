"""Translator: loads a model folder and translates documents.

translator = Translator.load("en-fr")
translation = translator.translate(["Alice met a cat.", "It grinned."])
translation.texts, translation.sentences[1].score
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from docgraph.annotate.pipeline import Pipeline
from docgraph.annotation import Annotation
from docgraph.document import Alignment, Document, Sentence
from docgraph.errors import DocgraphError
from docgraph.formats import read
from docgraph.formats.atoms import as_characters, shown_texts, text_with_atoms
from docgraph.formats.markup_alignment import needs_alignment
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentExample, Ids, collate
from docgraph.model.device import find_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.model.quantize import pack_for_cpu
from docgraph.model.systems import context_needs, prepare
from docgraph.model.tokenizer import UNKNOWN, Tokenizer
from docgraph.translation.checks import Doubt, doubts
from docgraph.translation.constraints import Constraints
from docgraph.translation.document_decoding import (
    BATCH_TOKENS,
    DecodedDocument,
    Excerpt,
    Hypotheses,
    Known,
    Mode,
    StateCache,
    any_given,
    chunks,
    decode_documents,
    given_hypotheses,
)
from docgraph.translation.explain import ContextWeights, context_weights_of
from docgraph.translation.hypotheses import Hypothesis, SearchConfig
from docgraph.translation.language_check import foreign_sentences
from docgraph.translation.names import find_names
from docgraph.translation.postprocessing import Postprocessor
from docgraph.translation.preprocessing import Preprocessor, Segment, Segments, example_from_text
from docgraph.translation.repair import Attempt, Piece, Repairer
from docgraph.translation.result import Candidate, SentenceTranslation, Translation
from docgraph.translation.stand_ins import StandIns, mask, restore
from docgraph.translation.term_enforcement import DocumentTerms, TermEnforcer
from docgraph.translation.terms import TermFinder
from docgraph.translation.word_alignment import ExpandedText, SubwordAttention, align, subword_attention

if TYPE_CHECKING:  # imported only if they are used: their readers are slow to import
    from docgraph.translation.glossary import Glossary
    from docgraph.translation.translation_memory import TranslationMemory

CANDIDATES = 4
"""Translations with constraints from which the least doubtful one is taken."""
Precision = Literal["float32", "bfloat16", "int8"]
ANNOTATIONS = 8
"""Documents whose annotation is kept, so that a correction need not annotate its document again."""
MIN_CHANGE, MAX_AFFECTED = 0.02, 12
"""A correction changes sentences in which copies of other words gain this probability, at most so many: the ones in
which they gain most. In a long document, nearly all sentences read a correction, and few translations change."""


@dataclass(eq=False)
class TranslationRequest:
    """A document to translate and what is known of its translation."""

    document: Document
    known: Sequence[str | None] = ()
    """A known translation or None for each sentence; empty if none is known."""
    finished: Known = field(default_factory=dict)
    """Hypotheses of segments that an interrupted run has decoded, as passed to `record`."""
    glossary: Glossary | None = None
    """Terms of this document; by default those of the translator."""

    def record(self, first: int, hypotheses: Hypotheses) -> None:
        """Called when the hypotheses of the segments from `first` on are final. No-op; subclasses may store them."""


Request = TypeVar("Request", bound=TranslationRequest)


@dataclass(frozen=True)
class _Prepared:
    """A request, or one chunk of it, as the model reads it."""

    request: TranslationRequest
    segments: Segments
    given: dict[int, str]
    """Known translations, by sentence."""
    shown: range
    """The segments in `example`."""
    own: range
    """The segments that are translated; the others are context."""
    example: DocumentExample | None
    """None for a document that is translated in chunks."""
    known: Known
    """Known and finished hypotheses, by segment; in an example, by position, with those of memory entries."""

    @property
    def size(self) -> float:
        """Number of source sub-words; infinite for a document in chunks, which is always decoded alone."""
        return math.inf if self.example is None else sum(map(len, self.example.source[: len(self.shown)]))

    def segments_of(self, sentences: Iterable[int]) -> list[int]:
        """Returns the segments of some sentences, without those that are known."""
        return [m for index in sentences if index not in self.given for m in self.segments.of_sentence[index]]

    def record(self, first: int, hypotheses: Hypotheses) -> None:
        """Tells the request that the hypotheses from position `first` of the example on are final."""
        own = range(self.own.start - self.shown.start, self.own.stop - self.shown.start)
        begin = max(own.start, first)
        if final := hypotheses[begin - first : own.stop - first]:
            self.request.record(self.shown.start + begin, final)


@dataclass(frozen=True)
class _Decoded:
    """What the model made of a document, by segment."""

    hypotheses: Hypotheses
    context_weights: list[ContextWeights]
    passes: int
    terms: DocumentTerms = field(default_factory=DocumentTerms)


@dataclass(frozen=True)
class _Options:
    search: SearchConfig
    mode: Mode
    explain: bool
    tokens: int


class Decoder(Protocol):
    """Decodes documents with the model of a translator; see `decode_documents` for the arguments."""

    def __call__(
        self,
        examples: Sequence[DocumentExample],
        search: SearchConfig,
        mode: Mode = "parallel",
        *,
        tokens: int = BATCH_TOKENS,
        known: Sequence[Known] | None = None,
        constraints: Sequence[Constraints] | None = None,
        on_final: Callable[[int, int, Hypotheses], None] | None = None,
    ) -> list[DecodedDocument]:
        """Returns the translation of each document."""


class Translator:
    """Translates documents. Threads may share a translator; they take turns."""

    def __init__(
        self,
        model: DocumentTransformer,
        tokenizer: Tokenizer,
        languages: tuple[str, str] | None = None,
        annotator: str | None = None,
        tag: str | None = None,
        glossary: Glossary | None = None,
        trained_length: int | None = None,
    ) -> None:
        """`annotator` is a spec such as spacy:fr_core_news_sm+coref:fr (default: that of the source language); `tag`
        selects the target language of a multilingual model, such as >>fra<<; translations use the terms of
        `glossary`; sentences of more than `trained_length` sub-words are cut."""
        self.model, self.tokenizer, self.languages, self.tag = model, tokenizer, languages, tag
        self._annotator, self._model_lock, self._annotation_lock = annotator, Lock(), Lock()
        self.decoder: Decoder = self.decode
        """Does the work of the model. A server replaces it, so that requests of several threads share batches."""
        self._annotations: dict[tuple[Sentence, ...], Annotation] = {}
        """Annotations of the last documents with known translations, least recently used first."""
        self.glossary = glossary
        self.names = True
        """Whether names are kept, the same way in a whole document (names.py)."""
        self.repair = True
        """Whether translations that fail the checks of checks.py are decoded again; they are reported in any case."""
        self.keep_foreign = True
        """Whether paragraphs that are clearly not in the source language stay as they are."""
        if tag is None and (tags := tokenizer.source.tags):
            listed = ", ".join(tags[:12]) + (", ..." if len(tags) > 12 else "")
            raise DocgraphError(f"this model translates into several languages; choose one by its tag: {listed}")
        self._needs = context_needs(model.config)
        self.memory = None
        if self._needs.graph_relations(any_given=False) is not None or self._needs.hints:
            _ = self.pipeline  # every document needs it, so report a missing annotator now
        positions = model.config.transformer.max_positions // self._needs.sentences_per_sequence
        self._max_length = max(8, min(positions * 2 // 3, trained_length or positions))
        """Maximum sub-words of a segment: as in training, and its translation may be half as long again."""
        independent = self._needs.translates_sentences_alone
        self._preprocessor = Preprocessor(
            tokenizer.source, languages, self._max_length, independent, self._greedy_scores
        )
        self._postprocessor = Postprocessor(self._preprocessor, languages)
        self._enforcer = TermEnforcer(tokenizer.source, tokenizer.target, languages[1] if languages else None, tag)

    @classmethod
    def load(
        cls,
        name: str | Path | ModelFolder | None = None,
        device: str | None = None,
        precision: Precision | None = None,
        threads: int | None = None,
        annotator: str | None = None,
        tag: str | None = None,
    ) -> Translator:
        """Loads a model folder, the best model of a run folder, or an embedded model by name.

        By default it runs on a GPU if there is one, and computes in float32, or in int8 on a CPU if the weights are
        stored in int8; `tag` is the one that the folder states. `threads` applies to the whole process.
        """
        folder = name if isinstance(name, ModelFolder) else ModelFolder(find_model(name))
        place = find_device(device)
        if threads is not None:
            torch.set_num_threads(threads)
        if precision is None:
            precision = "int8" if folder.precision == "int8" and place.type == "cpu" else "float32"
        if precision == "int8" and place.type != "cpu":
            raise DocgraphError(f"int8 runs on the CPU only, not on '{place}'; use bfloat16 or float32")
        model = checkpoint.load(folder, place)
        model = model.to(torch.bfloat16) if precision == "bfloat16" else pack_for_cpu(model, precision)
        tokenizer = Tokenizer.load(folder.path, model.config.transformer)
        length = folder.trained_length
        return cls(model, tokenizer, folder.languages, annotator, tag or folder.tag, trained_length=length)

    @cached_property
    def pipeline(self) -> Pipeline | None:
        """The annotation pipeline, loaded on first use; None if the model reads no document graphs."""
        if self._needs.relations is None and not self._needs.hints:
            return None
        from docgraph.annotate.registry import default_pipeline, load_pipeline

        if self._annotator is not None:
            return load_pipeline(self._annotator)
        if self.languages is None:
            raise DocgraphError(
                "the model reads document graphs but does not state its languages; pass an annotator, such as words:fr"
            )
        return default_pipeline(self.languages[0])

    @property
    def memory(self) -> TranslationMemory | None:
        """A translation memory to use as context.

        A sentence that the memory contains is translated as there. Other sentences read their nearest entries.
        """
        return self._memory

    @memory.setter
    def memory(self, memory: TranslationMemory | None) -> None:
        if memory is not None and not self._needs.only_given_translations:
            raise DocgraphError(
                "this model cannot read a translation memory; convert it with docgraph recall, or use an embedded one"
            )
        self._memory = memory
        self._state_cache: StateCache | None = {} if self._needs.only_given_translations else None

    @property
    def translates_sentences_alone(self) -> bool:
        """Whether the model reads no other sentences, except for known translations."""
        return self._needs.translates_sentences_alone

    @property
    def language(self) -> str:
        """The code of the source language, whose rules split prose into sentences."""
        return self.languages[0] if self.languages else "en"

    def translate(
        self,
        document: Document | Sequence[str] | str,
        search: SearchConfig = SearchConfig(),
        mode: Mode = "parallel",
        *,
        explain: bool = False,
        known: Sequence[str | None] = (),
    ) -> Translation:
        """Translates a document, a list of sentences, or a text, which is first split into sentences.

        `explain` reports which other sentences each sentence read; it costs one more pass. `known` has a translation or
        None for each sentence: known translations are kept and are context for the sentences after them, or for all
        sentences if the model reads only known translations.
        """
        if isinstance(document, str):
            [document] = read(io.StringIO(document), "text", language=self.language)
        elif not isinstance(document, Document):
            document = Document.from_sentences(document)
        [(_, translation)] = self.translate_requests(
            [TranslationRequest(document, known)], search, mode, explain=explain
        )
        return translation

    def translate_all(
        self,
        documents: Iterable[Document],
        search: SearchConfig = SearchConfig(),
        mode: Mode = "parallel",
        *,
        explain: bool = False,
        tokens: int = BATCH_TOKENS,
    ) -> Iterator[Translation]:
        """Translates many documents, in order; documents of up to `tokens` source sub-words are decoded together.

        Documents are read, and translations yielded, one batch at a time.
        """
        requests = map(TranslationRequest, documents)
        for _, translation in self.translate_requests(requests, search, mode, explain=explain, tokens=tokens):
            yield translation

    def translate_requests(
        self,
        requests: Iterable[Request],
        search: SearchConfig = SearchConfig(),
        mode: Mode = "parallel",
        *,
        explain: bool = False,
        tokens: int = BATCH_TOKENS,
    ) -> Iterator[tuple[Request, Translation]]:
        """Like `translate_all`, for documents with known translations or an interrupted run; yields pairs, in order."""
        options = _Options(search, mode, explain, tokens)
        batch: list[tuple[Request, _Prepared]] = []
        size = 0.0
        for request in requests:
            prepared = self._prepare(request)
            if batch and size + prepared.size > tokens:
                yield from self._translate_batch(batch, options)
                batch, size = [], 0.0
            batch.append((request, prepared))
            size += prepared.size
        yield from self._translate_batch(batch, options)

    def translate_sentences(
        self,
        document: Document,
        sentences: Iterable[int],
        search: SearchConfig = SearchConfig(),
        *,
        known: Sequence[str | None] = (),
        glossary: Glossary | None = None,
        finished: Mapping[int, Sequence[Sequence[int]]] | None = None,
    ) -> dict[int, SentenceTranslation]:
        """Translates some sentences of a document as `translate` would, in less time.

        `finished` has the `tokens` of sentences that were translated before, and that are not decoded again. A model
        that reads other source sentences or its own translations translates the whole document.
        """
        chosen = sorted({*sentences})
        request = TranslationRequest(document, known, glossary=glossary)
        if not self._needs.translates_sentences_alone:
            [(_, translation)] = self.translate_requests([request], search)
            return {m: translation.sentences[m] for m in chosen}
        prepared = self._prepare(request)
        hypotheses: Hypotheses = [prepared.known.get(m, []) for m in range(len(prepared.segments))]
        for sentence, tokens in (finished or {}).items():
            indices = prepared.segments.of_sentence[sentence]
            if sentence not in prepared.given and len(indices) == len(tokens):
                for m, ids in zip(indices, tokens, strict=True):
                    hypotheses[m] = [Hypothesis(tuple(ids), 0.0, 0.0)]
        wanted = prepared.segments_of(chosen)
        for rows, excerpt in self._excerpts(prepared, [m for m in wanted if not hypotheses[m]]):
            [part] = self.decoder([excerpt.example], search, known=[excerpt.known])
            for m, found in zip(rows, part.sentences, strict=False):
                hypotheses[m] = found
        # Other sentences read no translations of the model, so that any will do.
        decoded = _Decoded([found or [Hypothesis((), 0.0, 0.0)] for found in hypotheses], [], 1)
        options = _Options(search, "parallel", explain=False, tokens=BATCH_TOKENS)
        [result] = self._with_terms([prepared], [decoded], options, chosen)
        translated = self._sentences(prepared, result, search, chosen)
        translated = self._with_quotes_of_document(prepared, decoded, translated)
        return {
            m: replace(each, tokens=tuple(hypotheses[k][0].tokens for k in prepared.segments.of_sentence[m]))
            for m, each in translated.items()
        }

    def _with_quotes_of_document(
        self, prepared: _Prepared, decoded: _Decoded, translated: Mapping[int, SentenceTranslation]
    ) -> dict[int, SentenceTranslation]:
        """Returns some translated sentences with the quotation marks of their whole document."""
        segments, everything = prepared.segments, dict[int, SentenceTranslation]()
        for m, source in enumerate(shown_texts(prepared.request.document)):
            if m in translated:
                everything[m] = translated[m]
            elif m not in prepared.given:
                texts = [self._text(decoded.hypotheses[k][0], segments[k].source) for k in segments.of_sentence[m]]
                candidate = Candidate(restore(segments.join(texts, m), segments.stand_ins(m)), 0.0, 0.0)
                everything[m] = SentenceTranslation(source, candidate.text, (candidate,) if candidate.text else ())
        stand_ins = [segments.stand_ins(m) for m in everything]
        unified = dict(zip(everything, self._with_same_quotes([*everything.values()], stand_ins), strict=True))
        return {m: unified[m] for m in translated}

    def affected(
        self,
        document: Document,
        translations: Sequence[str | None],
        before: Sequence[str | None],
        after: Sequence[str | None],
    ) -> list[int]:
        """Returns the sentences whose `translations` may change if known translations change from `before` to `after`.

        They are the ones that read a translation that changed, if it proposes other words somewhere: of a model that
        reads only known translations, the 12 where it does most. Sentences without a translation are left out.
        """
        texts = {m: text for m, text in enumerate(translations) if text is not None}
        old, new = (self._prepare(TranslationRequest(document, known)) for known in (before, after))
        unknown = [m for m in texts if m not in new.given]
        if self._needs.reads_own_translations:
            return unknown if old.given != new.given else []
        changed = {m for m in unknown if m in old.given}
        if self._needs.only_given_translations:
            shown = {m: text for m, text in texts.items() if m not in old.given and m not in new.given}
            masses = [self._copied_mass(prepared, shown) for prepared in (old, new)]
            change = {m: _change(*(mass[m] for mass in masses)) for m in shown}
            strongest = sorted((m for m in shown if change[m] >= MIN_CHANGE), key=lambda m: -change[m])
            changed |= {*strongest[:MAX_AFFECTED]}
        return sorted(changed)

    def _copied_mass(self, prepared: _Prepared, texts: Mapping[int, str]) -> dict[int, Tensor]:
        """Returns the probability of copying [n, 2] at each token of some translations: that token, another token."""
        parts: dict[int, list[Tensor]] = {m: [] for m in texts}
        targets = dict(self._given_segments(texts, prepared.segments))
        owner = {m: sentence for sentence in texts for m in prepared.segments.of_sentence[sentence]}
        eos = self.model.config.transformer.eos
        for rows, excerpt in self._excerpts(prepared, prepared.segments_of(texts)):
            known = [targets[m] for m in rows] + list(excerpt.known.values())
            target = [np.array([*best.tokens, eos]) for best, *_ in known]
            example = replace(excerpt.example, target=target, given=np.arange(len(known)) >= len(rows))
            with self._model_lock, torch.inference_mode():
                batch = collate([prepare(example, self.model.config)], self.model.config.transformer.bos)
                batch = replace(batch.to(self.model.device), state_cache=self._state_cache)
                copies = self.model.copies(batch)
            assert batch.target is not None
            assert batch.gold is not None
            sizes = batch.target.sentences.boundaries.diff().tolist()
            if copies is None:
                mass = torch.full((sum(sizes), 2), torch.nan)
            else:
                own = copies.probability_of(batch.gold)
                mass = torch.stack([own, copies.share - own], dim=1).cpu()
            for m, part in zip(rows, torch.split(mass, sizes), strict=True):
                parts[owner[m]].append(part)
        return {m: torch.cat([torch.zeros(0, 2), *each]) for m, each in parts.items()}

    def explain_sentence(
        self,
        document: Document,
        sentence: int,
        translations: Sequence[str | None],
        *,
        known: Sequence[str | None] = (),
    ) -> ContextWeights | None:
        """Returns what the translation of a sentence read, given the `translations` of the document.

        `known` are those that the user supplied. None for a sentence that the model does not see.
        """
        text = translations[sentence]
        if text is None or not self._needs.translates_sentences_alone:
            return self.translate(document, known=translations, explain=True).sentences[sentence].context
        prepared = self._prepare(TranslationRequest(document, known))
        targets = dict(self._given_segments({sentence: text}, prepared.segments))
        owners = prepared.segments.sentence_indices(range(len(prepared.segments)))
        weights: list[ContextWeights] = []
        for rows, excerpt in self._excerpts(prepared, prepared.segments_of([sentence])):
            hypotheses = [targets[m] for m in rows] + list(excerpt.known.values())
            shown = [owners[m] for m in excerpt.origins if m < len(owners)]
            with self._model_lock:
                weights += context_weights_of(self.model, self.tokenizer, excerpt.example, hypotheses, shown)[
                    : len(rows)
                ]
        return ContextWeights.mean(weights)

    def annotate(self, document: Document) -> Annotation:
        """Returns the annotation of a document, by the annotator of the model or of its source language."""
        with self._annotation_lock:
            pipeline = self.pipeline
            if pipeline is None:
                from docgraph.annotate.registry import load_pipeline

                pipeline = load_pipeline(self._annotator or self.language)
            return pipeline(Document.from_sentences(shown_texts(document)))

    def subword_attention(self, sources: Sequence[str], targets: Sequence[str]) -> list[SubwordAttention]:
        """Returns the attention of translations over their sources, which aligns their words."""
        if not sources:
            return []
        with self._model_lock:
            return subword_attention(self.model, self.tokenizer, sources, targets, self.tag)

    def _excerpts(self, prepared: _Prepared, wanted: Iterable[int]) -> Iterator[tuple[list[int], Excerpt]]:
        """Yields some segments with the known translations that they read, as model input, for each chunk.

        The indices of the segments come first.
        """
        segments = prepared.segments
        known = dict(self._given_segments(prepared.given, segments))
        wanted = {*wanted} - known.keys()
        for shown, own in chunks(len(segments)):
            if rows := [m for m in own if m in wanted]:
                example, seen = prepared.example, prepared.known
                if example is None:  # a document in chunks
                    example, seen = self._model_input(segments, shown, known)
                excerpt = Excerpt.of(example, seen, [m - shown.start for m in rows], self.model.config)
                # Entries of a translation memory come after all segments.
                origins = [m + (shown.start if m < len(shown) else len(segments)) for m in excerpt.origins]
                yield rows, replace(excerpt, origins=origins)

    def _translate_batch(
        self, batch: list[tuple[Request, _Prepared]], options: _Options
    ) -> Iterator[tuple[Request, Translation]]:
        documents = [prepared for _, prepared in batch]
        if documents and documents[0].example is None:
            decoded = [self._decode_in_chunks(documents[0], options)]
        else:
            decoded = self._decode(documents, options)
        decoded = self._with_terms(documents, decoded, options)
        for (request, prepared), result in zip(batch, decoded, strict=True):
            yield request, self._translation(prepared, result, options.search)

    def foreign_sentences(self, document: Document) -> frozenset[int]:
        """Returns the sentences that stay as they are because their paragraph is in another language."""
        language = self.languages[0] if self.languages and self.keep_foreign else None
        return foreign_sentences(document, language)

    def _prepare(self, request: TranslationRequest) -> _Prepared:
        """Segments a document and builds the model input."""
        document, known = request.document, request.known
        count = len(document.sentences)
        if known and len(known) != count:
            raise DocgraphError(
                f"there are {len(known)} known translations for {count} sentences; pass one for each, None if it is not"
                " known"
            )
        exact = [] if self.memory is None else map(self.memory.exact, shown_texts(document))
        given = {m: text for each in (exact, known) for m, text in enumerate(each) if text is not None and text.strip()}
        foreign = self.foreign_sentences(document) - given.keys()
        segments = self._preprocessor.segment(document, given, foreign)
        known_segments: Known = {**request.finished, **dict(self._given_segments(given, segments))}
        (shown, own), *more = chunks(len(segments))
        example: DocumentExample | None = None
        if not more:
            example, known_segments = self._model_input(segments, shown, known_segments)
        return _Prepared(request, segments, given, shown, own, example, known_segments)

    def _greedy_scores(self, texts: Sequence[str]) -> list[float]:
        """Returns the score of the greedy translation of each text."""
        examples = [example_from_text([text], self.tokenizer, tag=self.tag) for text in texts]
        return [document.sentences[0][0].score for document in self.decoder(examples, SearchConfig(beams=1))]

    def _given_segments(self, given: Mapping[int, str], segments: Segments) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yields known translations by segment; that of a sentence with several segments is divided among them."""
        masked = [mask(text, segments.stand_ins(sentence)) for sentence, text in given.items()]
        for sentence, ids in zip(given, self.tokenizer.target.ids(masked), strict=True):
            indices = segments.of_sentence[sentence]
            for index, part in zip(indices, np.array_split(ids[:-1], len(indices) or 1), strict=False):
                yield index, self._given(part)

    def _given(self, ids: Ids) -> list[Hypothesis]:
        return given_hypotheses(ids[: self.model.config.transformer.max_positions - 1].tolist())

    def _model_input(self, segments: Segments, span: range, known: Known) -> tuple[DocumentExample, Known]:
        """Returns consecutive segments as model input, and the known hypotheses by position in `span`.

        They are annotated if the model reads their graph. Entries of the translation memory follow the segments.
        """
        texts = segments.texts(span)
        known = {place: known[m] for place, m in enumerate(span) if m in known}
        relations = self._needs.graph_relations(any_given(known))
        annotation = None
        if (relations is not None or self._needs.hints) and texts:
            annotation = self._annotate(segments.document(span))
        example = example_from_text(texts, self.tokenizer, annotation, relations, tag=self.tag, hints=self._needs.hints)
        example = replace(example, ahead=True)
        if self.memory is None:
            return example, known
        example, entries = self.memory.append_entries(example, texts, known, self.tokenizer, self._max_length, self.tag)
        return example, {**known, **{place: self._given(ids[:-1]) for place, ids in entries.items()}}

    def _annotate(self, document: Document) -> Annotation | None:
        """Returns the annotation of a document; None if the model reads no document graphs."""
        with self._annotation_lock:
            annotation = self._annotations.pop(document.sentences, None)
            if annotation is None and self.pipeline is not None:
                annotation = self.pipeline(document)
            if annotation is not None:
                self._annotations[document.sentences] = annotation
                for old in list(self._annotations)[:-ANNOTATIONS]:
                    del self._annotations[old]
        return annotation

    def _decode(self, batch: list[_Prepared], options: _Options) -> list[_Decoded]:
        """Decodes documents, or one chunk of a document, together."""
        examples = [prepared.example for prepared in batch if prepared.example is not None]
        decoded = self.decoder(
            examples,
            options.search,
            options.mode,
            tokens=options.tokens,
            known=[prepared.known for prepared in batch],
            on_final=lambda index, first, hypotheses: batch[index].record(first, hypotheses),
        )
        results = []
        for prepared, example, document in zip(batch, examples, decoded, strict=True):
            weights: list[ContextWeights] = []
            if options.explain:
                owners = prepared.segments.sentence_indices(prepared.shown)
                with self._model_lock:
                    weights = context_weights_of(self.model, self.tokenizer, example, document.sentences, owners)
                # Entries of a translation memory come after the segments.
            own = document.sentences[: len(prepared.shown)]
            results.append(_Decoded(own, weights, document.passes))
        return results

    def decode(
        self,
        examples: Sequence[DocumentExample],
        search: SearchConfig,
        mode: Mode = "parallel",
        *,
        tokens: int = BATCH_TOKENS,
        known: Sequence[Known] | None = None,
        constraints: Sequence[Constraints] | None = None,
        on_final: Callable[[int, int, Hypotheses], None] | None = None,
    ) -> list[DecodedDocument]:
        """Runs the model on some documents; threads take turns. The default `decoder`."""
        with self._model_lock:
            return decode_documents(
                self.model,
                self.tokenizer,
                examples,
                search,
                mode,
                tokens=tokens,
                known=known,
                constraints=constraints,
                state_cache=self._state_cache,
                on_final=on_final,
            )

    def _decode_in_chunks(self, prepared: _Prepared, options: _Options) -> _Decoded:
        """Decodes a long document chunk by chunk; each chunk reads the translations of the chunks before it."""
        hypotheses = {**prepared.known}
        weights: list[ContextWeights] = []
        passes = 0
        for shown, own in chunks(len(prepared.segments)):
            if hypotheses.keys() >= {*own} and not options.explain:
                continue
            example, known = self._model_input(prepared.segments, shown, hypotheses)
            chunk = replace(prepared, shown=shown, own=own, example=example, known=known)
            [decoded] = self._decode([chunk], options)
            part = slice(own.start - shown.start, own.stop - shown.start)
            hypotheses.update(zip(own, decoded.hypotheses[part], strict=True))
            weights += decoded.context_weights[part]
            passes = max(passes, decoded.passes)
        return _Decoded([hypotheses[m] for m in range(len(prepared.segments))], weights, passes)

    def _with_terms(
        self,
        documents: list[_Prepared],
        decoded: list[_Decoded],
        options: _Options,
        sentences: Collection[int] | None = None,
    ) -> list[_Decoded]:
        """Returns decoded documents with their terms; sentences that lack a term are decoded again.

        `sentences` are the ones that are looked at; None for all.
        """
        results = []
        for prepared, result in zip(documents, decoded, strict=True):
            glossary = prepared.request.glossary or self.glossary
            finders: list[TermFinder] = [] if glossary is None else [glossary]
            if self.names and not options.search.sampling:
                segments = prepared.segments.segments
                translations = [
                    self._text(found[0], segment.source) if found and found[0].tokens else None
                    for segment, found in zip(segments, result.hypotheses, strict=True)
                ]
                texts = [segment.text for segment in segments]
                finders.append(find_names(texts, translations, self.languages, self._translate_separately))
            results.append(replace(result, hypotheses=[*result.hypotheses], terms=DocumentTerms(finders)))
        if not options.search.sampling:
            self._enforcer.enforce(
                [
                    (self._segments(prepared, sentences), result.hypotheses, result.terms)
                    for prepared, result in zip(documents, results, strict=True)
                ],
                self._attempt,
                partial(self._decode_constrained, documents, results, options),
            )
        return results

    def _segments(self, prepared: _Prepared, sentences: Collection[int] | None) -> dict[int, Segment]:
        """Returns the segments of some sentences of a document, or of all, without those that are known."""
        chosen = range(len(prepared.segments.of_sentence)) if sentences is None else sentences
        return {m: prepared.segments[m] for m in prepared.segments_of(chosen)}

    def _translate_separately(self, texts: list[str]) -> list[str]:
        """Returns the translation of each text on its own."""
        examples = [example_from_text([text], self.tokenizer, tag=self.tag) for text in texts]
        decoded = self.decoder(examples, SearchConfig())
        return [self._text(document.sentences[0][0], text) for text, document in zip(texts, decoded, strict=True)]

    def _decode_constrained(
        self, documents: list[_Prepared], decoded: list[_Decoded], options: _Options, constraints: list[Constraints]
    ) -> list[dict[int, list[Hypothesis]]]:
        """Returns new hypotheses of the segments that have constraints; the other segments stay as they are."""
        inputs = [
            (index, *each)
            for index, wanted in enumerate(constraints)
            for each in self._inputs_again(documents[index], decoded[index].hypotheses, wanted)
        ]
        beams = max(options.search.beams, CANDIDATES)
        again = self.decoder(
            [example for _, _, example, _ in inputs],
            replace(options.search, beams=beams, n_best=max(options.search.n_best, CANDIDATES)),
            options.mode,
            tokens=options.tokens,
            known=[known for _, _, _, known in inputs],
            constraints=[
                {place: constraints[index][m] for place, m in segment_of.items()} for index, segment_of, _, _ in inputs
            ],
        )
        found: list[dict[int, list[Hypothesis]]] = [{} for _ in documents]
        for (index, segment_of, _, _), document in zip(inputs, again, strict=True):
            found[index] |= {m: document.sentences[place] for place, m in segment_of.items()}
        return found

    def _inputs_again(
        self, prepared: _Prepared, hypotheses: Hypotheses, wanted: Collection[int]
    ) -> Iterator[tuple[dict[int, int], DocumentExample, Known]]:
        """Yields model input to decode some segments again, with the segment at each position to decode."""
        segments = prepared.segments
        if self._needs.translates_sentences_alone:
            for rows, excerpt in self._excerpts(prepared, wanted):
                yield dict(enumerate(rows)), excerpt.example, excerpt.known
            return
        for shown, own in chunks(len(segments)):
            segment_of = {m - shown.start: m for m in own if m in wanted}
            if segment_of:
                others = {m: own for m, own in enumerate(hypotheses) if own and m - shown.start not in segment_of}
                yield segment_of, *self._model_input(segments, shown, others)

    def _translation(self, prepared: _Prepared, decoded: _Decoded, search: SearchConfig) -> Translation:
        """Returns the translation of a document, given the hypotheses of its segments."""
        document = prepared.request.document
        sentences = [*self._sentences(prepared, decoded, search, range(len(document))).values()]
        stand_ins = [prepared.segments.stand_ins(m) for m in range(len(document))]
        unified = self._with_same_quotes(sentences, stand_ins)
        return Translation(document, self._aligned(document, unified), decoded.passes)

    def _with_same_quotes(
        self, sentences: Sequence[SentenceTranslation], stand_ins: Sequence[StandIns]
    ) -> list[SentenceTranslation]:
        """Returns the sentences of a document with one kind of quotation marks; known translations do not change."""
        pairs = list(zip(sentences, stand_ins, strict=True))
        own = [(mask(each.source, hidden), mask(each.text, hidden)) for each, hidden in pairs if each.candidates]
        unified = iter(self._postprocessor.unify_quotes([source for source, _ in own], [text for _, text in own]))
        return [each.with_text(restore(next(unified), hidden)) if each.candidates else each for each, hidden in pairs]

    def _sentences(
        self, prepared: _Prepared, decoded: _Decoded, search: SearchConfig, chosen: Iterable[int]
    ) -> dict[int, SentenceTranslation]:
        """Returns the translations of some sentences of a document, given the hypotheses of its segments."""
        segments, sentences, chosen = prepared.segments, dict[int, SentenceTranslation](), list(chosen)
        checked = self._checked(prepared, decoded, search, chosen)
        for index in chosen:
            source, _ = text_with_atoms(prepared.request.document.sentences[index])
            indices = segments.of_sentence[index]
            known = prepared.given.get(index)
            candidates = self._candidates(segments, index, decoded.hypotheses, checked) if known is None else ()
            best = candidates[0].text if candidates else known
            context = ContextWeights.mean(decoded.context_weights[indices.start : indices.stop])
            entries: tuple[tuple[str, str], ...] = ()
            if self.memory is not None and context is not None and known is None:
                entries = self.memory.nearest_pairs(segments[m].text for m in indices)
            doubts = tuple(doubt.reason for m in indices if m in checked for doubt in checked[m].doubts)
            # An empty translation is replaced by the source: a lost line would shift all others.
            text = best or source
            terms = decoded.terms.uses([segments[m] for m in indices], text)
            sentences[index] = SentenceTranslation(
                source, text, candidates, context, known is not None, entries, doubts, terms=terms
            )
        return sentences

    def alignments(self, document: Document, texts: Sequence[str]) -> list[Alignment | None]:
        """Returns the alignments that are needed to place markup or subtitle breaks; None for other sentences.

        Their positions are those of `as_characters`.
        """
        shown = {m: as_characters(each, texts[m]) for m, each in enumerate(document) if each.markup}
        shown = {m: each for m, each in shown.items() if needs_alignment(each.sentence, each.text)}
        pairs = [(ExpandedText.of(each.sentence.text), ExpandedText.of(each.text)) for each in shown.values()]
        attention = self.subword_attention([source.text for source, _ in pairs], [target.text for _, target in pairs])
        links = (align(*pair, found) for pair, found in zip(pairs, attention, strict=True))
        aligned = dict(zip(shown, links, strict=True))
        return [aligned.get(m) for m in range(len(document))]

    def _aligned(self, document: Document, sentences: Sequence[SentenceTranslation]) -> tuple[SentenceTranslation, ...]:
        """Returns translations with the alignments that are needed to write them into the document."""
        alignments = self.alignments(document, [each.text for each in sentences])
        return tuple(replace(each, alignment=links) for each, links in zip(sentences, alignments, strict=True))

    def _checked(
        self, prepared: _Prepared, decoded: _Decoded, search: SearchConfig, sentences: Iterable[int]
    ) -> dict[int, Attempt]:
        """Returns the best translation of each segment of some sentences with its doubts, repaired if `repair` is set.

        Known translations are left out.
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
        if doubtful and self.repair:
            decode = partial(self._decode_again, prepared, decoded)
            check = partial(self._doubts, terms=decoded.terms)
            repairer = Repairer(decode, check, self._preprocessor.normalize)
            first = [attempts[m] for m in doubtful]
            repaired = repairer.repair([(m, segments[m]) for m in doubtful], first, search, len(attempts))
            attempts |= dict(zip(doubtful, repaired, strict=True))
        return attempts

    def _attempt(self, segment: Segment, hypothesis: Hypothesis, terms: DocumentTerms) -> Attempt:
        text = self._text(hypothesis, segment.source)
        return Attempt(text, hypothesis.score, hypothesis.log_probability, self._doubts(segment, text, terms))

    def _doubts(self, segment: Segment, text: str, terms: DocumentTerms) -> tuple[Doubt, ...]:
        found = doubts(segment.source, text, self.languages, segment.text, segment.stand_ins)
        return (*found, *terms.doubts(segment, text))

    def _decode_again(
        self, prepared: _Prepared, decoded: _Decoded, pieces: Sequence[Piece], search: SearchConfig
    ) -> list[list[Attempt]]:
        """Returns the attempts for some pieces of a decoded document, in the context of its other segments."""
        if self._needs.translates_sentences_alone and not prepared.given:
            batch = [self._in_context([(piece, [])]) for _, piece in pieces]
        else:
            batch = []
            for shown, own in chunks(len(prepared.segments)):
                by_place = {m: [piece for place, piece in pieces if place == m] for m in own}
                texts: list[tuple[Segment, list[Hypothesis]]] = []
                for m in shown:
                    again = [(piece, list[Hypothesis]()) for piece in by_place.get(m, ())]
                    texts += again or [(prepared.segments[m], decoded.hypotheses[m])]
                if any(by_place.values()):
                    batch.append(self._in_context(texts))
        rows = [[m for m in one.own if m not in one.known] for one in batch]
        hypotheses = self._decode_rows(batch, rows, search)
        return [
            [self._attempt(one.segments[m], hypothesis, decoded.terms) for hypothesis in found]
            for one, places, results in zip(batch, rows, hypotheses, strict=True)
            for m, found in zip(places, results, strict=True)
        ]

    def _decode_rows(self, batch: list[_Prepared], rows: list[list[int]], search: SearchConfig) -> list[Hypotheses]:
        """Returns the hypotheses of some segments of each document; all others are known."""
        if not self._needs.translates_sentences_alone:
            results = self._decode(batch, _Options(search, "parallel", explain=False, tokens=BATCH_TOKENS))
            return [[result.hypotheses[m] for m in places] for result, places in zip(results, rows, strict=True)]
        excerpts = [
            Excerpt.of(one.example, one.known, places, self.model.config)
            for one, places in zip(batch, rows, strict=True)
            if one.example is not None
        ]
        decoded = self.decoder([each.example for each in excerpts], search, known=[each.known for each in excerpts])
        return [document.sentences[: len(places)] for document, places in zip(decoded, rows, strict=True)]

    def _in_context(self, texts: Sequence[tuple[Segment, list[Hypothesis]]]) -> _Prepared:
        """Returns segments with their hypotheses as a document of its own; those without any are decoded."""
        segments = Segments([segment for segment, _ in texts], [range(m, m + 1) for m in range(len(texts))])
        span = range(len(texts))
        example, known = self._model_input(segments, span, {m: found for m, (_, found) in enumerate(texts) if found})
        request = TranslationRequest(Document.from_sentences([]))
        return _Prepared(request, segments, {}, span, span, example, known)

    def _candidates(
        self, segments: Segments, sentence: int, hypotheses: Hypotheses, checked: Mapping[int, Attempt]
    ) -> tuple[Candidate, ...]:
        """Returns the n best of a sentence; the k-th joins the k-th hypotheses of its segments."""
        indices = segments.of_sentence[sentence]
        candidates = []
        for rank, ranked in enumerate(zip(*(hypotheses[m] for m in indices), strict=False)):
            best: Sequence[Attempt | Hypothesis] = [checked[m] for m in indices] if rank == 0 else ranked
            texts = [
                each.text if isinstance(each, Attempt) else self._text(each, segments[m].source)
                for each, m in zip(best, indices, strict=True)
            ]
            scores = (sum(each.score for each in best), sum(each.log_probability for each in best))
            text = restore(segments.join(texts, sentence), segments.stand_ins(sentence))
            candidates.append(Candidate(text, *scores))
        return tuple(candidates)

    def _text(self, hypothesis: Hypothesis, source: str) -> str:
        """Returns the finished text of a hypothesis without unknown pieces and incomplete characters."""
        coder, tokens = self.tokenizer.target, hypothesis.tokens
        known = (token for token, piece in zip(tokens, coder.pieces(tokens), strict=True) if piece != UNKNOWN)
        return self._postprocessor.finish(source, coder.decode(known).replace("\ufffd", ""))


def _change(before: Tensor, after: Tensor) -> float:
    """Returns how much support a translation loses, or other tokens gain, at most; masses [n, 2] of copies."""
    gain = after - before
    return float(torch.cat([gain.new_zeros(1), -gain[:, 0], gain[:, 1]]).nan_to_num(torch.inf).max())
