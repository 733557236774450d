"""Translator: loads a model folder and translates documents.

translator = Translator.load("en-fr")
translation = translator.translate(["Alice met a cat.", "It grinned."])
translation.texts, translation.sentences[1].score
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeVar

import torch

from docgraph.annotate.pipeline import Pipeline
from docgraph.annotation import Annotation
from docgraph.document import Alignment, Document
from docgraph.errors import DocgraphError
from docgraph.formats import read
from docgraph.formats.atoms import as_characters, text_with_atoms
from docgraph.formats.markup_alignment import needs_alignment
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentExample, StateCache
from docgraph.model.device import find_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import dictionaries, may_print
from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.model.quantize import pack_for_cpu
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import UNKNOWN, Tokenizer
from docgraph.translation.decoder import BATCH_TOKENS, DecodedDocument, Decoder, DecoderInput, Mode
from docgraph.translation.dictionary_names import DictionaryNames
from docgraph.translation.document_chunks import chunks
from docgraph.translation.document_decoding import decode_documents
from docgraph.translation.explain import ContextWeights, context_weights_of, hint_uses
from docgraph.translation.formality import FormalityOption, Sample, check_option, decide
from docgraph.translation.hints import with_filled_hints
from docgraph.translation.hypotheses import Hypotheses, Hypothesis, SearchConfig
from docgraph.translation.language_check import foreign_sentences
from docgraph.translation.model_input import InputBuilder, Prepared, TranslationRequest, example_from_text
from docgraph.translation.names import find_names
from docgraph.translation.postprocessing import Postprocessor
from docgraph.translation.preprocessing import Preprocessor, Segment, Segments
from docgraph.translation.redecoding import Redecoder
from docgraph.translation.repair import Attempt
from docgraph.translation.result import Candidate, HintUse, SentenceTranslation, Translation
from docgraph.translation.stand_ins import StandIns, mask, restore
from docgraph.translation.term_enforcement import DocumentTerms
from docgraph.translation.terms import TermFinder
from docgraph.translation.word_alignment import ExpandedText, SubwordAttention, align, subword_attention

if TYPE_CHECKING:  # imported only if they are used: their readers are slow to import
    from docgraph.translation.glossary import Glossary
    from docgraph.translation.translation_memory import TranslationMemory

Precision = Literal["float32", "bfloat16", "int8"]


Request = TypeVar("Request", bound=TranslationRequest)


@dataclass(frozen=True)
class Decoded:
    """What the model made of a document, by segment."""

    hypotheses: Hypotheses
    context_weights: list[ContextWeights]
    passes: int
    hints: dict[int, list[HintUse]] = field(default_factory=dict)
    """What the segments with hints read; only with `explain`."""
    terms: DocumentTerms = field(default_factory=DocumentTerms)
    first: Hypotheses = field(default_factory=list)
    """The hypotheses before terms were enforced, which are those that hints say."""


@dataclass(frozen=True)
class Options:
    """How documents are translated."""

    search: SearchConfig
    mode: Mode
    explain: bool
    tokens: int


def _show_progress(batch: Iterable[Prepared], done: int) -> None:
    """Tells requests how many of their segments are decoded, as if they were decoded in their order."""
    for prepared in batch:
        prepared.request.show_progress(prepared.own.start, min(max(done, 0), len(prepared.own)))
        done -= len(prepared.own)


def _samples(prepared: Prepared, translations: Sequence[str | None]) -> Iterator[Sample]:
    """Yields what decides the formality of a document, given the translation of each segment."""
    yield from (Sample(text, given, given=True) for text, given in prepared.given_pairs())
    for m in prepared.segments_of(range(len(prepared.segments.of_sentence))):
        yield Sample(prepared.segments[m].text, translations[m] or "")


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
        self.model_lock = Lock()
        self.decoder: Decoder = self.decode
        """Does the work of the model. A server replaces it, so that requests of several threads share batches."""
        self.glossary = glossary
        self.names = True
        """Whether names are kept, the same way in a whole document (names.py)."""
        self.formality = "any"
        self.repair = True
        """Whether translations that fail the checks of checks.py are decoded again; they are reported in any case."""
        self.keep_foreign = True
        """Whether paragraphs that are clearly not in the source language stay as they are."""
        if tag is None and (tags := tokenizer.source.tags):
            listed = ", ".join(tags[:12]) + (", ..." if len(tags) > 12 else "")
            raise DocgraphError(f"this model translates into several languages; choose one by its tag: {listed}")
        self.needs = needs = context_needs(model.config)
        positions = model.config.transformer.max_positions // needs.sentences_per_sequence
        # As in training, and a translation may be half as long again as its segment.
        max_length = max(8, min(positions * 2 // 3, trained_length or positions))
        self._preprocessor = Preprocessor(
            tokenizer.source,
            languages,
            max_length,
            not needs.reads_document,
            self._greedy_scores,
            may_print if "definition" in needs.hints else lambda _: False,
        )
        self._postprocessor = Postprocessor(self._preprocessor, languages)
        self._redecoder = Redecoder(self)
        self.inputs = InputBuilder(model.config, tokenizer, self._preprocessor, languages, annotator, tag, max_length)
        self.memory = None
        if needs.graph_relations(any_given=False) is not None:
            _ = self.pipeline  # every document needs it, so report a missing annotator now

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

    @property
    def pipeline(self) -> Pipeline | None:
        """The annotation pipeline, loaded on first use; None if the model needs no annotations."""
        return self.inputs.pipeline

    @property
    def memory(self) -> TranslationMemory | None:
        """A translation memory to use as context.

        A sentence that the memory contains is translated as there. Other sentences read their nearest entries.
        """
        return self.inputs.memory

    @memory.setter
    def memory(self, memory: TranslationMemory | None) -> None:
        if memory is not None and not self.needs.only_given_translations:
            raise DocgraphError(
                "this model cannot read a translation memory; convert it with docgraph recall, or use an embedded one"
            )
        self.inputs.memory = memory
        self.state_cache: StateCache | None = {} if self.needs.only_given_translations else None

    @property
    def formality(self) -> FormalityOption:
        """How translations address people: "formal" (vous), "informal" (tu), as the model does ("any"), or the one of
        these that a document mostly has ("auto", formality.py)."""
        return self._formality

    @formality.setter
    def formality(self, option: FormalityOption) -> None:
        check_option(option, self.languages)
        self._formality: FormalityOption = option

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
        options = Options(search, mode, explain, tokens)
        batch: list[tuple[Request, Prepared]] = []
        size = 0.0
        for request in requests:
            prepared = self.prepare(request)
            if batch and size + prepared.size > tokens:
                yield from self._translate_batch(batch, options)
                batch, size = [], 0.0
            batch.append((request, prepared))
            size += prepared.size
        yield from self._translate_batch(batch, options)

    def annotate(self, document: Document) -> Annotation:
        """Returns the annotation of a document, by the annotator of the model or of its source language."""
        return self.inputs.annotate(document)

    def subword_attention(self, sources: Sequence[str], targets: Sequence[str]) -> list[SubwordAttention]:
        """Returns the attention of translations over their sources, which aligns their words."""
        if not sources:
            return []
        with self.model_lock:
            return subword_attention(self.model, self.tokenizer, sources, targets, self.tag)

    def _translate_batch(
        self, batch: list[tuple[Request, Prepared]], options: Options
    ) -> Iterator[tuple[Request, Translation]]:
        documents = [prepared for _, prepared in batch]
        if documents and documents[0].example is None:
            decoded = [self._decode_in_chunks(documents[0], options)]
        else:
            decoded = self._decode(documents, options)
        decoded = self.with_terms(documents, decoded, options)
        for (request, prepared), result in zip(batch, decoded, strict=True):
            yield request, self._translation(prepared, result, options.search)

    def foreign_sentences(self, document: Document) -> frozenset[int]:
        """Returns the sentences that stay as they are because their paragraph is in another language."""
        language = self.languages[0] if self.languages and self.keep_foreign else None
        return foreign_sentences(document, language)

    def prepare(self, request: TranslationRequest) -> Prepared:
        """Segments a document and builds the model input."""
        check_option(request.formality or "any", self.languages)
        return self.inputs.prepare(request, self.foreign_sentences(request.document))

    def normalize(self, text: str) -> str:
        """Returns a text as the model reads it (`Preprocessor.normalize`)."""
        return self._preprocessor.normalize(text)

    def _greedy_scores(self, texts: Sequence[str]) -> list[float]:
        """Returns the score of the greedy translation of each text."""
        decoded = self.decoder(self._single_sentences(texts), SearchConfig(beams=1))
        return [document.sentences[0][0].score for document in decoded]

    def _single_sentences(self, texts: Iterable[str]) -> list[DecoderInput]:
        """Returns each text as the model input of a document of its own."""
        return [DecoderInput(example_from_text([text], self.tokenizer, tag=self.tag)) for text in texts]

    def _decode(self, batch: list[Prepared], options: Options) -> list[Decoded]:
        """Decodes documents, or one chunk of a document, together."""
        inputs = [DecoderInput(each.example, each.known) for each in batch if each.example is not None]
        decoded = self.decoder(
            inputs,
            options.search,
            options.mode,
            tokens=options.tokens,
            on_final=lambda index, first, hypotheses: batch[index].record(first, hypotheses),
            progress=lambda done, _: _show_progress(batch, done),
        )
        results = []
        for prepared, given, document in zip(batch, inputs, decoded, strict=True):
            # Entries of a translation memory come after the segments.
            result = Decoded(document.sentences[: len(prepared.shown)], [], document.passes)
            results.append(self._explained(prepared, given.example, document, result) if options.explain else result)
        return results

    def _explained(
        self, prepared: Prepared, example: DocumentExample, document: DecodedDocument, result: Decoded
    ) -> Decoded:
        """Returns a decoded document with what its segments read."""
        everything = prepared.segments.sentence_indices(range(len(prepared.segments)))
        owners = everything[prepared.shown.start : prepared.shown.stop]
        with self.model_lock:
            filled = with_filled_hints(self.model, self.tokenizer, example, document.sentences)
            weights = context_weights_of(self.model, self.tokenizer, filled, document.sentences, owners)
        texts = dict(enumerate(prepared.segments.texts(prepared.shown)))
        uses = hint_uses(filled, self.tokenizer, texts, owners, everything)
        hints = {prepared.shown.start + place: found for place, found in uses.items()}
        return replace(result, context_weights=weights, hints=hints)

    def decode(
        self,
        documents: Sequence[DecoderInput],
        search: SearchConfig,
        mode: Mode = "parallel",
        *,
        tokens: int = BATCH_TOKENS,
        on_final: Callable[[int, int, Hypotheses], None] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[DecodedDocument]:
        """Runs the model on some documents; threads take turns. The default `decoder`."""
        with self.model_lock:
            return decode_documents(
                self.model,
                self.tokenizer,
                documents,
                search,
                mode,
                tokens=tokens,
                state_cache=self.state_cache,
                on_final=on_final,
                progress=progress,
            )

    def _decode_in_chunks(self, prepared: Prepared, options: Options) -> Decoded:
        """Decodes a long document chunk by chunk; each chunk reads the translations of the chunks before it."""
        hypotheses = {**prepared.known}
        weights: list[ContextWeights] = []
        hints: dict[int, list[HintUse]] = {}
        passes = 0
        for shown, own in chunks(len(prepared.segments)):
            if hypotheses.keys() >= {*own} and not options.explain:
                continue
            example, known = self.inputs.encode(prepared.segments, shown, hypotheses)
            chunk = replace(prepared, shown=shown, own=own, example=example, known=known)
            [decoded] = self._decode([chunk], options)
            part = slice(own.start - shown.start, own.stop - shown.start)
            hypotheses.update(zip(own, decoded.hypotheses[part], strict=True))
            weights += decoded.context_weights[part]
            hints |= {m: uses for m, uses in decoded.hints.items() if m in own}
            passes = max(passes, decoded.passes)
        return Decoded([hypotheses[m] for m in range(len(prepared.segments))], weights, passes, hints)

    def with_terms(
        self,
        documents: list[Prepared],
        decoded: list[Decoded],
        options: Options,
        sentences: Collection[int] | None = None,
    ) -> list[Decoded]:
        """Returns decoded documents with their terms; sentences that lack one, or disagree with the formality of their
        document, are decoded again.

        `sentences` are the ones that are looked at; None for all.
        """
        results = []
        for prepared, result in zip(documents, decoded, strict=True):
            first = result.hypotheses
            terms = self.find_terms(prepared, first, names=not options.search.sampling)
            results.append(replace(result, hypotheses=[*first], terms=terms, first=first))
        if not options.search.sampling:
            segments = [self._segments(prepared, sentences) for prepared in documents]
            self._redecoder.enforce_terms(documents, results, segments, options)
        return results

    def find_terms(self, prepared: Prepared, hypotheses: Hypotheses, names: bool = True) -> DocumentTerms:
        """Returns the terms of a document: those of the glossary and, given its translation, `names` and formality."""
        glossary, formality = prepared.request.glossary or self.glossary, prepared.request.formality or self.formality
        finders: list[TermFinder] = [] if glossary is None else [glossary]
        segments, translations = prepared.segments.segments, list[str | None]()
        names = names and self.names
        if names or formality == "auto":
            translations = [
                self.text(found[0], segment.source) if found and found[0].tokens else None
                for segment, found in zip(segments, hypotheses, strict=True)
            ]
        if names:
            texts, own = [segment.text for segment in segments], dictionaries(self.needs.hints)
            finders += [DictionaryNames(each).following(prepared.given_pairs()) for each in own]
            translated = {word for each in own for text in texts for word in each.proper_words(text)}
            finders.append(find_names(texts, translations, self.languages, self._translate_separately, translated))
        return DocumentTerms(finders, decide(formality, _samples(prepared, translations)))

    def _segments(self, prepared: Prepared, sentences: Collection[int] | None) -> dict[int, Segment]:
        """Returns the segments of some sentences of a document, or of all, without those that are known."""
        chosen = range(len(prepared.segments.of_sentence)) if sentences is None else sentences
        return {m: prepared.segments[m] for m in prepared.segments_of(chosen)}

    def _translate_separately(self, texts: list[str]) -> list[str]:
        """Returns the translation of each text on its own."""
        decoded = self.decoder(self._single_sentences(texts), SearchConfig())
        return [self.text(document.sentences[0][0], text) for text, document in zip(texts, decoded, strict=True)]

    def _translation(self, prepared: Prepared, decoded: Decoded, search: SearchConfig) -> Translation:
        """Returns the translation of a document, given the hypotheses of its segments."""
        document = prepared.request.document
        sentences = [*self.sentences(prepared, decoded, search, range(len(document))).values()]
        stand_ins = [prepared.segments.stand_ins(m) for m in range(len(document))]
        unified = self.with_same_quotes(sentences, stand_ins)
        return Translation(document, self._aligned(document, unified), decoded.passes)

    def with_same_quotes(
        self, sentences: Sequence[SentenceTranslation], stand_ins: Sequence[StandIns]
    ) -> list[SentenceTranslation]:
        """Returns the sentences of a document with one kind of quotation marks and of apostrophes; known translations
        do not change."""
        pairs = list(zip(sentences, stand_ins, strict=True))
        own = [(mask(each.source, hidden), mask(each.text, hidden)) for each, hidden in pairs if each.candidates]
        unified = iter(self._postprocessor.unify_quotes([source for source, _ in own], [text for _, text in own]))
        return [each.with_text(restore(next(unified), hidden)) if each.candidates else each for each, hidden in pairs]

    def sentences(
        self, prepared: Prepared, decoded: Decoded, search: SearchConfig, chosen: Iterable[int]
    ) -> dict[int, SentenceTranslation]:
        """Returns the translations of some sentences of a document, given the hypotheses of its segments."""
        segments, sentences, chosen = prepared.segments, dict[int, SentenceTranslation](), list(chosen)
        checked = self._redecoder.checked(prepared, decoded, search, chosen)
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
            hints = tuple(use for m in indices if known is None for use in decoded.hints.get(m, ()))
            # An empty translation is replaced by the source: a lost line would shift all others.
            text = best or (source if indices else self._postprocessor.without_words(source))
            terms = decoded.terms.uses([segments[m] for m in indices], text)
            sentences[index] = SentenceTranslation(
                source, text, candidates, context, known is not None, entries, hints, doubts, terms=terms
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

    def _candidates(
        self, segments: Segments, sentence: int, hypotheses: Hypotheses, checked: Mapping[int, Attempt]
    ) -> tuple[Candidate, ...]:
        """Returns the n best of a sentence; the k-th joins the k-th hypotheses of its segments."""
        indices = segments.of_sentence[sentence]
        candidates = []
        for rank, ranked in enumerate(zip(*(hypotheses[m] for m in indices), strict=False)):
            best: Sequence[Attempt | Hypothesis] = [checked[m] for m in indices] if rank == 0 else ranked
            texts = [
                each.text if isinstance(each, Attempt) else self.text(each, segments[m].source)
                for each, m in zip(best, indices, strict=True)
            ]
            scores = (sum(each.score for each in best), sum(each.log_probability for each in best))
            text = restore(segments.join(texts, sentence), segments.stand_ins(sentence))
            candidates.append(Candidate(text, *scores))
        return tuple(candidates)

    def text(self, hypothesis: Hypothesis, source: str) -> str:
        """Returns the finished text of a hypothesis, without unknown pieces and incomplete characters."""
        coder, tokens = self.tokenizer.target, hypothesis.tokens
        known = (token for token, piece in zip(tokens, coder.pieces(tokens), strict=True) if piece != UNKNOWN)
        return self._postprocessor.finish(source, coder.decode(known).replace("\ufffd", ""))
