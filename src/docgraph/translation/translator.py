"""Translator: loads a model folder and translates documents.

translator = Translator.load("en-fr")
translation = translator.translate(["Alice met a cat.", "It grinned."])
translation.texts, translation.sentences[1].score

`Translator.translate_requests` is the path of every document:

segment       text/preprocessing.py             sentences -> normalised texts that the model translates
annotate      model_input.py                    texts -> words, lemmas, heads, coreference (if the model needs them)
build graph   model_input.py                    annotation -> document graph and hints
encode        model_input.py                    texts -> sub-words: `PreparedDocument`
search        decoding/document_decoding.py     sub-words -> hypotheses: `DecodedSegments`
terms         terms/, redecoding.py             segments that lack a term are decoded again
checks        checks/, redecoding.py            doubtful segments are decoded again
text          translation_builder.py            hypotheses -> text with the typography of the language: `Translation`

`files/translate.py` reads documents before and writes translations after.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
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
from docgraph.translation.decoding.decoder import (
    DecodedDocument,
    Decoder,
    DecoderInput,
    DecodingOptions,
    Mode,
    batch_tokens,
)
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.decoding.word_alignment import SubwordAttention, markup_alignments, subword_attention
from docgraph.translation.model_input import InputBuilder, PreparedDocument, TranslationRequest
from docgraph.translation.redecoding import Redecoder
from docgraph.translation.result import SentenceTranslation, Translation
from docgraph.translation.segment_decoding import (
    DecodedSegments,
    TranslationOptions,
    decode_segments,
)
from docgraph.translation.single_sentences import SingleSentences
from docgraph.translation.terms.corrected_words import CorrectedWordFinder
from docgraph.translation.terms.formality import FormalityOption, check_option
from docgraph.translation.text.language_check import foreign_sentences
from docgraph.translation.text.paraphrases import load_paraphraser
from docgraph.translation.text.postprocessing import Postprocessor
from docgraph.translation.text.preprocessing import Preprocessor
from docgraph.translation.translation_builder import TranslationBuilder

if TYPE_CHECKING:  # imported only if they are used: their readers are slow to import
    from docgraph.translation.terms.glossary import Glossary
    from docgraph.translation.translation_memory import TranslationMemory

Precision = Literal["float32", "bfloat16", "int8"]
SETTINGS = ("glossary", "memory", "formality", "names", "repair", "keep_foreign")
"""Attributes of a translator that users may set after loading it."""

Request = TypeVar("Request", bound=TranslationRequest)


class Translator:
    """Translates documents. Threads may share a translator; they take turns."""

    def __init__(
        self,
        model: DocumentTransformer,
        tokenizer: Tokenizer,
        languages: tuple[str, str] | None = None,
        annotator: str | None = None,
        tag: str | None = None,
        trained_length: int | None = None,
    ) -> None:
        """`annotator` is a spec such as spacy:fr_core_news_sm+coref:fr (default: that of the source language); `tag`
        selects the target language of a multilingual model, such as >>fra<<; sentences of more than `trained_length`
        sub-words are cut."""
        if tag is None and (tags := tokenizer.source.tags):
            listed = ", ".join(tags[:12]) + (", ..." if len(tags) > 12 else "")
            raise DocgraphError(f"this model translates into several languages; choose one by its tag: {listed}")
        self.model, self.tokenizer, self.languages, self.tag = model, tokenizer, languages, tag
        self.needs = needs = context_needs(model.config)
        self.model_lock = Lock()
        """Held while the model computes."""
        self.decoder: Decoder = self.decode
        """Runs the model. A server replaces the default, so that requests of several threads share batches."""
        self._create_stages(annotator, trained_length)
        self.glossary: Glossary | None = None
        """Terms and their translations, for all documents that bring no glossary of their own."""
        self.memory = None
        self.formality = "any"
        self.names = True
        """Whether every name is translated the same way throughout a document (terms/names.py)."""
        self.repair = True
        """Whether translations that fail a check (checks/doubts.py) are decoded again; doubts are always reported."""
        self.keep_foreign = True
        """Whether paragraphs that are clearly not in the source language stay untranslated."""
        if needs.graph_relations(any_given=False) is not None:
            _ = self.pipeline  # every document needs it, so report a missing annotator now

    def _create_stages(self, annotator: str | None, trained_length: int | None) -> None:
        """Creates the stages that prepare documents and finish translations."""
        model, tokenizer, languages, needs = self.model, self.tokenizer, self.languages, self.needs
        positions = model.config.transformer.max_positions // needs.sentences_per_sequence
        # As in training, and a translation may be half as long again as its segment.
        max_length = max(8, min(positions * 2 // 3, trained_length or positions))
        single = SingleSentences(self)
        self._preprocessor = Preprocessor(
            tokenizer.source,
            languages,
            max_length,
            not needs.reads_document,
            single.greedy_scores,
            may_print if "definition" in needs.hints else lambda _: False,
            load_paraphraser() if dictionaries(needs.hints) else None,
        )
        self.translation_builder = TranslationBuilder(tokenizer.target, Postprocessor(self._preprocessor, languages))
        self.redecoder = Redecoder(self, single)
        reads_words = not {*needs.hints} <= {"previous"}
        finder = CorrectedWordFinder(languages, single) if languages is not None and reads_words else None
        self.input_builder = InputBuilder(
            model.config, tokenizer, self._preprocessor, languages, annotator, self.tag, max_length, finder
        )

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
        return self.input_builder.pipeline

    @property
    def memory(self) -> TranslationMemory | None:
        """The translation memory; None for no memory.

        A sentence that is an entry of the memory gets the translation of the entry. Other sentences read the nearest
        entries as context.
        """
        return self.input_builder.memory

    @memory.setter
    def memory(self, memory: TranslationMemory | None) -> None:
        if memory is not None and not self.needs.only_given_translations:
            raise DocgraphError(
                "this model cannot read a translation memory; convert it with docgraph recall, or use an embedded one"
            )
        self.input_builder.memory = memory
        self.state_cache: StateCache | None = {} if self.needs.only_given_translations else None

    @property
    def formality(self) -> FormalityOption:
        """How translations address people: "formal" (vous), "informal" (tu), "any" (the model chooses for each
        sentence), or "auto" (the majority of the document, for all its sentences; terms/formality.py)."""
        return self._formality

    @formality.setter
    def formality(self, option: FormalityOption) -> None:
        check_option(option, self.languages)
        self._formality: FormalityOption = option

    @property
    def language(self) -> str:
        """The code of the source language, whose rules split prose into sentences."""
        return self.languages[0] if self.languages else "en"

    @property
    def target_language(self) -> str | None:
        """The code of the target language; None if it is unknown or selected by `tag`."""
        return self.languages[1] if self.languages and self.tag is None else None

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

        `explain` reports the context and the hints that each sentence read; it costs one more pass. `known` has a
        translation or None for each sentence: known translations are kept and are context for the sentences after them,
        or for all sentences if the model reads only known translations.
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
        options = TranslationOptions(search, mode, tokens, explain=explain)
        for batch in self._batches(requests, tokens):
            yield from self._translate_batch(batch, options)

    def _batches(self, requests: Iterable[Request], tokens: int) -> Iterator[list[tuple[Request, PreparedDocument]]]:
        """Yields requests and their model input in batches of up to `tokens` source sub-words."""
        batch: list[tuple[Request, PreparedDocument]] = []
        size = 0.0
        for request in requests:
            prepared = self.prepare(request)
            if batch and size + prepared.size > tokens:
                yield batch
                batch, size = [], 0.0
            batch.append((request, prepared))
            size += prepared.size
        yield batch

    def _translate_batch(
        self, batch: list[tuple[Request, PreparedDocument]], options: TranslationOptions
    ) -> Iterator[tuple[Request, Translation]]:
        """Yields the translations of prepared documents, which are decoded together."""
        documents = [prepared for _, prepared in batch]
        decoded = decode_segments(self, documents, options)
        decoded = self.redecoder.with_terms(documents, decoded, options)
        for (request, prepared), result in zip(batch, decoded, strict=True):
            document = request.document
            found = self.sentences(prepared, result, options.search, range(len(document)))
            sentences = self.translation_builder.with_same_quotes(found, prepared.segments).values()
            alignments = self.alignments(document, [each.text for each in sentences])
            aligned = (replace(each, alignment=links) for each, links in zip(sentences, alignments, strict=True))
            yield request, Translation(document, tuple(aligned), result.passes)

    def annotate(self, document: Document) -> Annotation:
        """Returns the annotation of a document, by the annotator of the model or of its source language."""
        return self.input_builder.annotate(document)

    def subword_attention(self, sources: Sequence[str], targets: Sequence[str]) -> list[SubwordAttention]:
        """Returns the attention of translations over their sources, for word alignment."""
        if not sources:
            return []
        with self.model_lock:
            return subword_attention(self.model, self.tokenizer, sources, targets, self.tag)

    def foreign_sentences(self, document: Document) -> frozenset[int]:
        """Returns the sentences that are not translated because their paragraph is in another language."""
        language = self.languages[0] if self.languages and self.keep_foreign else None
        return foreign_sentences(document, language)

    def prepare(self, request: TranslationRequest) -> PreparedDocument:
        """Segments a document and builds the model input."""
        check_option(request.formality or "any", self.languages)
        return self.input_builder.prepare(request, self.foreign_sentences(request.document))

    def normalize(self, text: str) -> str:
        """Returns a text as the model reads it (`Preprocessor.normalize`)."""
        return self._preprocessor.normalize(text)

    def decode(self, documents: Sequence[DecoderInput], options: DecodingOptions) -> list[DecodedDocument]:
        """Runs the model on some documents; threads take turns. The default `decoder`."""
        with self.model_lock:
            return decode_documents(self.model, self.tokenizer, documents, options, state_cache=self.state_cache)

    def sentences(
        self, prepared: PreparedDocument, decoded: DecodedSegments, search: SearchConfig, chosen: Sequence[int]
    ) -> dict[int, SentenceTranslation]:
        """Checks, repairs and returns the translations of some sentences, given the hypotheses of the document."""
        checked = self.redecoder.checked(prepared, decoded, search, chosen)
        return self.translation_builder.sentences(prepared, decoded, checked, chosen, self.memory)

    def alignments(self, document: Document, texts: Sequence[str]) -> list[Alignment | None]:
        """Returns word alignments, as links between positions of `as_characters`.

        They are only needed to place markup or subtitle breaks; None for other sentences.
        """
        return markup_alignments(document, texts, self.subword_attention)
