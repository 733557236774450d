"""Translator: a model folder, ready to translate documents.

translator = Translator.load("en-fr")
translation = translator.translate(["Alice met a cat.", "It grinned."])
translation.texts, translation.sentences[1].score
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from docgraph.annotate.pipeline import Pipeline
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.device import find_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.model.quantize import pack_for_cpu
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import UNKNOWN, Tokenizer
from docgraph.translation.document_decoding import (
    BATCH_TOKENS,
    DecodedDocument,
    Known,
    Mode,
    any_given,
    decode_documents,
    given,
)
from docgraph.translation.explain import ContextWeights, context_weights_of
from docgraph.translation.hypotheses import Hypothesis, SearchConfig
from docgraph.translation.inputs import example_from_text, with_memory
from docgraph.translation.result import Candidate, SentenceTranslation, Translation
from docgraph.translation.rules.segmentation import Segments, stretches
from docgraph.translation.rules.wording import Wording

if TYPE_CHECKING:  # who has no memory does not wait for its readers
    from docgraph.translation.translation_memory import TranslationMemory

Precision = Literal["float32", "bfloat16", "int8"]
Found = list[list[Hypothesis]]
"""The hypotheses of consecutive texts of a document."""

OnFinal = Callable[[int, int, Found], None]
"""Gets what became final: which document, from which of its texts on, and their hypotheses."""


@dataclass(frozen=True)
class _Prepared:
    """A document as the model takes it."""

    document: Document
    segments: Segments
    example: DocumentExample | None
    """None for a document so long that it comes in stretches."""
    given: dict[int, str]
    """Translations that are known, by sentence."""
    known: Known
    """The same, and what an earlier run left, by text; those of the memory's entries, behind the texts."""

    @property
    def size(self) -> float:
        return math.inf if self.example is None else sum(len(self.example.source[m]) for m in self.example.translated)


@dataclass(frozen=True)
class _Decoded:
    """What became of a document."""

    found: Found
    context_weights: list[ContextWeights]
    passes: int


@dataclass(frozen=True)
class _Options:
    """How to decode, and whom to tell."""

    search: SearchConfig
    mode: Mode
    explain: bool
    tokens: int
    on_final: OnFinal | None


class Translator:
    """Translates documents; may be shared by threads, which then take turns."""

    def __init__(
        self,
        model: DocumentTransformer,
        tokenizer: Tokenizer,
        languages: tuple[str, str] | None = None,
        annotator: str | None = None,
        tag: str | None = None,
    ) -> None:
        """`annotator` is a spec such as spacy:fr_core_news_sm+coref:fr (by default that of the source language);
        `tag` chooses the target language, such as >>fra<<, of a model that has several."""
        self.model, self.tokenizer, self.languages, self.tag = model, tokenizer, languages, tag
        self._annotator, self._lock, self._wording = annotator, Lock(), Wording(tokenizer.source, languages)
        self.memory = None
        if context_needs(model.config).graph_relations(any_given=False) is not None:
            _ = self.pipeline  # every document needs it: now is the time to tell what is missing
        joined = model.config.concatenation
        positions = model.config.transformer.max_positions // (1 if joined is None else joined.source)
        self._longest = max(8, positions * 2 // 3)
        """Sub-words of a text: its translation may be half as long again."""
        self._rules = languages[0] if languages and context_needs(model.config).translates_sentences_alone else None
        """The language by whose rules a line is cut into sentences: of two together, one is left out at times."""
        if tag is None and (tags := tokenizer.source.tags):
            shown = ", ".join(tags[:12]) + (", ..." if len(tags) > 12 else "")
            raise DocgraphError(f"this model translates into several languages; choose one by its tag: {shown}")

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
        """The model of a model folder, of a run folder (its best), or one that ships with the package, by name.

        By default it runs on a GPU where there is one, and computes in float32, or, on a CPU, in int8 where its weights
        are stored so. `threads` is for the whole process.
        """
        folder = name if isinstance(name, ModelFolder) else ModelFolder(find_model(name))
        place = find_device(device)
        if threads is not None:
            torch.set_num_threads(threads)
        if precision is None:
            precision = "int8" if folder.precision == "int8" and place.type == "cpu" else "float32"
        if precision == "int8" and place.type != "cpu":
            raise DocgraphError(f"int8 is for the CPU, not for '{place}'; take bfloat16 or float32")
        model = checkpoint.load(folder, place)
        model = model.to(torch.bfloat16) if precision == "bfloat16" else pack_for_cpu(model, precision)
        tokenizer = Tokenizer.load(folder.path, model.config.transformer)
        return cls(model, tokenizer, folder.languages, annotator, tag)

    @cached_property
    def pipeline(self) -> Pipeline | None:
        """What annotates documents, where the model reads their graphs; loaded when first asked for."""
        relations = context_needs(self.model.config).relations
        return None if relations is None else _pipeline(self._annotator, self.languages)

    @property
    def memory(self) -> TranslationMemory | None:
        """A translation memory whose entries are read beside known translations of the document itself.

        What it holds word for word is translated so; of other sentences, the likest entries are context.
        """
        return self._memory

    @memory.setter
    def memory(self, memory: TranslationMemory | None) -> None:
        if memory is not None and not context_needs(self.model.config).only_given_translations:
            raise DocgraphError(
                "this model cannot read a translation memory; let it with docgraph recall, or take one that ships"
            )
        self._memory = memory
        self._kept: dict[tuple[Any, ...], Tensor] | None = None if memory is None else {}

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
        """Translate a document, a list of sentences, or a text, which is first split into sentences.

        `explain` tells, for each sentence, what it read of the others; it costs one more pass. `known`, a translation
        or None for each sentence, are kept as they are, and are context for the sentences after them; for those before
        them, too, to a model that reads known translations alone.
        """
        if isinstance(document, str):
            [document] = read(io.StringIO(document), "text", language=self.language)
        elif not isinstance(document, Document):
            document = Document.from_sentences(document)
        [translation] = self.translate_all([document], search, mode, explain=explain, known=lambda _: known)
        return translation

    def translate_all(
        self,
        documents: Iterable[Document],
        search: SearchConfig = SearchConfig(),
        mode: Mode = "parallel",
        *,
        explain: bool = False,
        tokens: int = BATCH_TOKENS,
        known: Callable[[int], Sequence[str | None]] = lambda number: (),
        done: Callable[[int], Known] = lambda number: {},
        on_final: OnFinal | None = None,
    ) -> Iterator[Translation]:
        """Translate many documents, in order, those that fit `tokens` source sub-words together; they are read, and
        translations handed out, a batch at a time.

        `known` gives, for a document by its number, what `translate` takes. `on_final` gets what became final: which
        document, from which of its texts on, and their hypotheses; `done` gives them back after an interruption.
        """
        options = _Options(search, mode, explain, tokens, on_final)
        batch: list[_Prepared] = []
        first, size = 0, 0.0
        for number, document in enumerate(documents):
            prepared = self._prepared(document, known(number), done(number))
            if batch and size + prepared.size > tokens:
                yield from self._translated(batch, first, options)
                first, size, batch = first + len(batch), 0.0, []
            batch.append(prepared)
            size += prepared.size
        yield from self._translated(batch, first, options)

    def _translated(self, batch: list[_Prepared], first: int, options: _Options) -> list[Translation]:
        """The translations of a batch; `first` is the number of its first document."""
        if batch and batch[0].example is None:
            decoded = [self._decode_long(batch[0], first, options)]
        else:
            decoded = self._decode(batch, first, options)
        return [self._result(*pair) for pair in zip(batch, decoded, strict=True)]

    def _decode(self, batch: list[_Prepared], first: int, options: _Options) -> list[_Decoded]:
        examples = [prepared.example for prepared in batch if prepared.example is not None]

        def tell(index: int, place: int, texts: Found) -> None:
            if options.on_final is not None:
                options.on_final(first + index, place, texts)

        with self._lock:
            decoded = self._search(examples, options, [prepared.known for prepared in batch], tell)
            made = []
            for prepared, example, found in zip(batch, examples, decoded, strict=True):
                read = []
                if options.explain:
                    owners = prepared.segments.owners
                    read = context_weights_of(self.model, self.tokenizer, example, found.sentences, owners)
                made.append(_Decoded(found.sentences, read, found.passes))
        return made

    def _decode_long(self, prepared: _Prepared, number: int, options: _Options) -> _Decoded:
        """A document stretch by stretch."""
        segments, found = prepared.segments, {**prepared.known}
        read: list[ContextWeights] = []
        passes = 0
        for shown, own in stretches(len(segments.texts)):
            if found.keys() >= {*own} and not options.explain:
                continue
            example, known = self._example(segments, shown, found)

            def tell(_: int, place: int, texts: Found, shown: range = shown, own: range = own) -> None:
                begin = max(own.start - shown.start, place)
                if options.on_final is not None and (texts := texts[begin - place : own.stop - shown.start - place]):
                    options.on_final(number, shown.start + begin, texts)

            with self._lock:
                [decoded] = self._search([example], options, [known], tell)
                mine = slice(own.start - shown.start, own.stop - shown.start)
                found.update(zip(own, decoded.sentences[mine], strict=True))
                if options.explain:
                    owners = segments.owners[shown.start : shown.stop]
                    read += context_weights_of(self.model, self.tokenizer, example, decoded.sentences, owners)[mine]
            passes = max(passes, decoded.passes)
        return _Decoded([found[m] for m in range(len(segments.texts))], read, passes)

    def _search(
        self, examples: list[DocumentExample], options: _Options, known: list[Known], on_final: OnFinal | None
    ) -> list[DecodedDocument]:
        return decode_documents(
            self.model,
            self.tokenizer,
            examples,
            options.search,
            options.mode,
            tokens=options.tokens,
            known=known,
            kept=self._kept,
            on_final=on_final,
        )

    def _prepared(self, document: Document, known: Sequence[str | None], done: Known) -> _Prepared:
        """Cut into what the model can read."""
        if known and len(known) != len(document):
            raise DocgraphError(
                f"there are {len(known)} known translations for {len(document)} sentences; give one for each, None for"
                " what is not known"
            )
        exact = [] if self.memory is None else map(self.memory.exact, document.texts)
        texts = {m: text for each in (exact, known) for m, text in enumerate(each) if text is not None and text.strip()}
        segments = Segments.of(document, self._fits, self._wording.shown, self._rules, texts)
        if self._rules is not None:
            segments.texts[:] = self._wording.with_titles(segments.texts, self._sureness)
        (shown, _), *more = stretches(len(segments.texts))
        everything: Known = {**done, **dict(self._given(texts, segments))}
        example = None
        if not more:
            example, everything = self._example(segments, shown, everything)
        return _Prepared(document, segments, example, texts, everything)

    def _fits(self, text: str) -> bool:
        return len(self.tokenizer.source.encode(text)[0]) < self._longest

    def _sureness(self, texts: Sequence[str]) -> list[float]:
        """How sure the model is of what it would say of each text by itself."""
        alone = [example_from_text([text], self.tokenizer, tag=self.tag) for text in texts]
        with self._lock:
            found = decode_documents(self.model, self.tokenizer, alone, SearchConfig(beams=1))
        return [decoded.sentences[0][0].score for decoded in found]

    def _given(self, texts: Mapping[int, str], segments: Segments) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Known translations of sentences as those of their texts; one of several texts is divided among them."""
        for sentence, ids in zip(texts, self.tokenizer.target.ids(texts.values()), strict=True):
            places = segments.of_sentence[sentence]
            for place, part in zip(places, np.array_split(ids[:-1], len(places) or 1), strict=False):
                yield place, self._known(part)

    def _known(self, ids: Ids) -> list[Hypothesis]:
        return given(ids[: self.model.config.transformer.max_positions - 1].tolist())

    def _example(self, segments: Segments, texts: range, found: Known) -> tuple[DocumentExample, Known]:
        """Texts of a document as numbers and, where the model reads their graph, annotated; entries of the memory
        behind them. And what is known of all these, by place, where `found` is known by text."""
        document = segments.document(texts)
        known = {place: found[m] for place, m in enumerate(texts) if m in found}
        relations = context_needs(self.model.config).graph_relations(any_given(known))
        with self._lock:
            pipeline = self.pipeline if relations is not None and len(document) else None
            annotation = None if pipeline is None else pipeline(document)
        example = example_from_text(document.texts, self.tokenizer, annotation, relations, tag=self.tag)
        example = replace(example, ahead=True)
        if self.memory is None:
            return example, known
        example, said = with_memory(
            example, document.texts, known, self.memory, self.tokenizer, self._longest, self.tag
        )
        return example, {**known, **{place: self._known(ids[:-1]) for place, ids in said.items()}}

    def _result(self, prepared: _Prepared, decoded: _Decoded) -> Translation:
        sentences = []
        for index, text in enumerate(prepared.document.texts):
            places = prepared.segments.of_sentence[index]
            known = prepared.given.get(index)
            candidates = self._candidates(prepared.segments, index, decoded.found) if known is None else ()
            best = candidates[0].text if candidates else known
            context = ContextWeights.mean(decoded.context_weights[places.start : places.stop])
            shown: tuple[tuple[str, str], ...] = ()
            if self.memory is not None and context is not None and known is None:
                shown = self.memory.shown(prepared.segments.texts[place] for place in places)
            # What the model leaves empty stays as it is: a line that vanished would shift all others.
            sentences.append(SentenceTranslation(text, best or text, candidates, context, known is not None, shown))
        return Translation(prepared.document, tuple(sentences), decoded.passes)

    def _candidates(self, segments: Segments, sentence: int, found: Found) -> tuple[Candidate, ...]:
        """The n best of a sentence; where it came in parts, the best of each, the second best of each, ..."""
        places = segments.of_sentence[sentence]
        candidates = []
        for chosen in zip(*(found[place] for place in places), strict=False):
            texts = [self._text(h, segments.originals[place]) for h, place in zip(chosen, places, strict=True)]
            scores = (sum(h.score for h in chosen), sum(h.log_probability for h in chosen))
            candidates.append(Candidate(segments.joined(texts, sentence), *scores))
        return tuple(candidates)

    def _text(self, hypothesis: Hypothesis, source: str) -> str:
        """The text of a hypothesis; a piece unknown to the tokenizer says nothing, nor does half a character."""
        coder, tokens = self.tokenizer.target, hypothesis.tokens
        known = (token for token, piece in zip(tokens, coder.pieces(tokens), strict=True) if piece != UNKNOWN)
        return self._wording.finished(source, coder.decode(known).replace("\ufffd", ""))


def _pipeline(annotator: str | None, languages: tuple[str, str] | None) -> Pipeline:
    from docgraph.annotate.registry import load_pipeline

    spec = annotator or (languages[0] if languages else None)
    if spec is None:
        raise DocgraphError(
            "the model reads document graphs and does not say its languages; name an annotator, such as words:fr"
        )
    return load_pipeline(spec)
