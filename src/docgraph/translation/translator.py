"""Translator: loads a model folder and translates documents.

translator = Translator.load("en-fr")
translation = translator.translate(["Alice met a cat.", "It grinned."])
translation.texts, translation.sentences[1].score
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeVar

import torch

from docgraph.annotate.pipeline import Pipeline
from docgraph.annotation import Annotation
from docgraph.document import Alignment, Document
from docgraph.errors import DocgraphError
from docgraph.formats import read
from docgraph.model import checkpoint
from docgraph.model.batch import StateCache
from docgraph.model.device import find_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import dictionaries, may_print
from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.model.quantize import pack_for_cpu
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.decoding.decoder import DecodedDocument, Decoder, DecoderInput, Mode, batch_tokens
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import Hypotheses, SearchConfig
from docgraph.translation.decoding.word_alignment import SubwordAttention, markup_alignments, subword_attention
from docgraph.translation.model_input import InputBuilder, Prepared, TranslationRequest
from docgraph.translation.redecoding import Redecoder
from docgraph.translation.result import SentenceTranslation, Translation
from docgraph.translation.segment_decoding import (
    DecodedSegments,
    TranslationOptions,
    decode_segments,
    with_enforced_words,
)
from docgraph.translation.single_sentences import SingleSentences
from docgraph.translation.terms.corrected_words import CorrectedWordFinder
from docgraph.translation.terms.dictionary_names import DictionaryNames
from docgraph.translation.terms.formality import FormalityOption, Sample, check_option, decide, has_forms
from docgraph.translation.terms.names import find_names
from docgraph.translation.terms.term import TermFinder
from docgraph.translation.terms.term_enforcement import DocumentTerms
from docgraph.translation.terms.utterances import utterance_formalities
from docgraph.translation.text.language_check import foreign_sentences
from docgraph.translation.text.paraphrases import load_paraphraser
from docgraph.translation.text.postprocessing import Postprocessor
from docgraph.translation.text.preprocessing import Preprocessor, Segment
from docgraph.translation.translation_builder import TranslationBuilder

if TYPE_CHECKING:  # imported only if they are used: their readers are slow to import
    from docgraph.translation.terms.glossary import Glossary
    from docgraph.translation.translation_memory import TranslationMemory

Precision = Literal["float32", "bfloat16", "int8"]
SETTINGS = ("names", "repair", "keep_foreign", "formality", "memory")
"""Attributes of a translator that may be set after it is loaded, beside its glossary."""


Request = TypeVar("Request", bound=TranslationRequest)


def _samples(prepared: Prepared, translations: Sequence[str | None]) -> Iterator[Sample]:
    """Yields what decides the formality of a document, given the translation of each segment."""
    yield from (Sample(text, given, given=True) for text, given in prepared.given_pairs().values())
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
        self._single = SingleSentences(self)
        self._preprocessor = Preprocessor(
            tokenizer.source,
            languages,
            max_length,
            not needs.reads_document,
            self._single.greedy_scores,
            may_print if "definition" in needs.hints else lambda _: False,
            load_paraphraser() if dictionaries(needs.hints) else str,
        )
        self.builder = TranslationBuilder(tokenizer.target, Postprocessor(self._preprocessor, languages))
        self._redecoder = Redecoder(self)
        reads_words = not {*needs.hints} <= {"previous"}
        finder = CorrectedWordFinder(languages, self._single) if languages is not None and reads_words else None
        self.inputs = InputBuilder(
            model.config, tokenizer, self._preprocessor, languages, annotator, tag, max_length, finder
        )
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
        tokens: int | None = None,
    ) -> Iterator[Translation]:
        """Translates many documents, in order; documents of up to `tokens` source sub-words
        (by default `batch_tokens` of the device) are decoded together.

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
        tokens: int | None = None,
    ) -> Iterator[tuple[Request, Translation]]:
        """Like `translate_all`, for documents with known translations or an interrupted run; yields pairs, in order."""
        tokens = tokens or batch_tokens(self.model.device)
        options = TranslationOptions(search, mode, explain, tokens)
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
        self, batch: list[tuple[Request, Prepared]], options: TranslationOptions
    ) -> Iterator[tuple[Request, Translation]]:
        documents = [prepared for _, prepared in batch]
        decoded = self.with_terms(documents, decode_segments(self, documents, options), options)
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

    def decode(
        self,
        documents: Sequence[DecoderInput],
        search: SearchConfig,
        mode: Mode = "parallel",
        *,
        tokens: int | None = None,
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

    def with_terms(
        self,
        documents: list[Prepared],
        decoded: list[DecodedSegments],
        options: TranslationOptions,
        sentences: Collection[int] | None = None,
    ) -> list[DecodedSegments]:
        """Returns decoded documents with their terms; sentences that lack one, or disagree with the formality of their
        document, are decoded again.

        `sentences` are the ones that are looked at; None for all.
        """
        results = []
        for prepared, result in zip(documents, decoded, strict=True):
            first = result.hypotheses
            found = self.find_terms(prepared, first, names=not options.search.sampling)
            terms = replace(found, lookups=result.lookups)
            results.append(replace(result, hypotheses=[*first], terms=terms, first=first))
        if not options.search.sampling:
            segments = [self._segments(prepared, sentences) for prepared in documents]
            enforced = self._redecoder.enforce_terms(documents, results, segments, options)
            if options.explain:
                results = list(map(with_enforced_words, documents, results, enforced))
        return results

    def find_terms(self, prepared: Prepared, hypotheses: Hypotheses, names: bool = True) -> DocumentTerms:
        """Returns the terms of a document: those of the glossary and, given its translation, `names` and formality."""
        glossary, formality = prepared.request.glossary or self.glossary, prepared.request.formality or self.formality
        finders: list[TermFinder] = [] if glossary is None else [glossary]
        segments, translations = prepared.segments.segments, list[str | None]()
        names, addresses = names and self.names, has_forms(self.languages) and formality in ("any", "auto")
        if names or addresses:
            translations = [
                self.builder.text(found[0], segment.source) if found and found[0].tokens else None
                for segment, found in zip(segments, hypotheses, strict=True)
            ]
        if names:
            texts, own = [segment.text for segment in segments], dictionaries(self.needs.hints)
            finders += [DictionaryNames(each).following(prepared.given_pairs().values()) for each in own]
            translated = {word for each in own for text in texts for word in each.proper_words(text)}
            finders.append(find_names(texts, translations, self.languages, self._single.translate, translated))
        decided = decide(formality, _samples(prepared, translations))
        document, given = prepared.request.document, prepared.given
        utterances = utterance_formalities(document, prepared.segments, translations, given) if addresses else {}
        return DocumentTerms(finders, decided, utterances)

    def _segments(self, prepared: Prepared, sentences: Collection[int] | None) -> dict[int, Segment]:
        """Returns the segments of some sentences of a document, or of all, without those that are known."""
        chosen = range(len(prepared.segments.of_sentence)) if sentences is None else sentences
        return {m: prepared.segments[m] for m in prepared.segments_of(chosen)}

    def _translation(self, prepared: Prepared, decoded: DecodedSegments, search: SearchConfig) -> Translation:
        """Returns the translation of a document, given the hypotheses of its segments."""
        document = prepared.request.document
        sentences = [*self.sentences(prepared, decoded, search, range(len(document))).values()]
        stand_ins = [prepared.segments.stand_ins(m) for m in range(len(document))]
        unified = self.builder.with_same_quotes(sentences, stand_ins)
        alignments = self.alignments(document, [each.text for each in unified])
        aligned = (replace(each, alignment=links) for each, links in zip(unified, alignments, strict=True))
        return Translation(document, tuple(aligned), decoded.passes)

    def sentences(
        self, prepared: Prepared, decoded: DecodedSegments, search: SearchConfig, chosen: Sequence[int]
    ) -> dict[int, SentenceTranslation]:
        """Returns the translations of some sentences of a document, repaired, given the hypotheses of its segments."""
        checked = self._redecoder.checked(prepared, decoded, search, chosen)
        return self.builder.sentences(prepared, decoded, checked, chosen, self.memory)

    def alignments(self, document: Document, texts: Sequence[str]) -> list[Alignment | None]:
        """Returns the alignments that are needed to place markup or subtitle breaks; None for other sentences.

        Their positions are those of `as_characters`.
        """
        return markup_alignments(document, texts, self.subword_attention)
