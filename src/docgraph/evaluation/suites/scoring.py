"""The candidates of a suite scored by a model: documents built from its contrasts, and forced decoding of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from docgraph.annotate.pipeline import Pipeline
from docgraph.annotate.runner import StoredChunk, annotate_all
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.evaluation.suites.base import Contrast, Suite
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Ids, Tokenizer, words_by_space
from docgraph.translation.document_decoding import decode_documents
from docgraph.translation.inputs import example_from_text
from docgraph.translation.scoring import TOKENS, Candidates, score_candidates, sentence_score

Context = Literal["gold", "source", "own", "none"]
Texts = tuple[str, ...]
Situation = tuple[Texts, Texts]
"""Source sentences, the last of which is to be translated, and the given translations of those before it."""
Progress = Callable[[str, int, int], None]
"""(stage, done, total)"""


@dataclass(frozen=True)
class ProbeOptions:
    """What scores depend on, beside the model and the suite."""

    context: Context = "gold"
    """gold: the suite's source and target context; source: its source alone; own: its source, translated by the model;
    none: the sentence by itself."""
    max_context: int | None = None
    """Most sentences of context, the nearest; None is all the suite has."""
    normalise: bool = False
    """Compare means over sub-words, where sums are compared otherwise."""
    precision: Literal["fp32", "bf16"] = "fp32"

    def for_model(self, config: ModelConfig) -> ProbeOptions:
        """The same with no more context than the model reads: what it does not read need not be translated twice."""
        if config.context is None:
            return replace(self, context="none", max_context=None)
        needs = context_needs(config)
        blind = self.context == "gold" and not needs.reads_translations
        blind |= self.context == "own" and not needs.reads_own_translations
        return replace(self, context="source") if blind else self


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of the candidates of a suite, in its order, and what they took."""

    values: list[float]
    scored: int = 0
    """Candidates scored: the same one in the same context is scored once; none where they were on disk."""
    seconds: float = 0.0
    """Scoring them, from sub-words and graphs to numbers."""
    preparation: float = 0.0
    """Annotating, encoding and, for `own`, translating before that."""

    @property
    def rate(self) -> float:
        """Candidates a second."""
        return self.scored / self.seconds if self.seconds else 0.0


def score_suite(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    suite: Suite,
    options: ProbeOptions = ProbeOptions(),
    *,
    pipeline: Pipeline | None = None,
    cache: str | Path | None = None,
    jobs: int = 1,
    tokens: int = TOKENS,
    progress: Progress = lambda stage, done, total: None,
) -> Scores:
    """Log-probabilities of the candidates of a suite.

    A model that reads a graph needs a `pipeline`; annotations are made by `jobs` processes and kept in `cache`.
    """
    begun = time.perf_counter()
    options = options.for_model(model.config)
    situations = [_situation(contrast, suite, options) for contrast in suite.contrasts]
    candidates: dict[Situation, dict[str, None]] = {}
    for situation, contrast in zip(situations, suite.contrasts, strict=True):
        candidates.setdefault(situation, {}).update(dict.fromkeys(contrast.candidates))
    sources = list(dict.fromkeys(source for source, _ in candidates))
    annotations = dict.fromkeys(sources) if pipeline is None else _annotated(sources, pipeline, cache, jobs, progress)
    documents = _documents(model, tokenizer, options, annotations, list(candidates), progress)
    tasks = [
        Candidates(document, [[tokenizer.target.encode(text)[0] for text in texts]])
        for document, texts in zip(documents, candidates.values(), strict=True)
    ]
    total, done = sum(map(len, candidates.values())), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress("scoring", done, total)

    ready = time.perf_counter()
    scored = score_candidates(model, tasks, tokens, advance)
    ended = time.perf_counter()
    values = {
        (situation, text): sentence_score(log_probabilities, options.normalise)
        for (situation, texts), [sentence] in zip(candidates.items(), scored, strict=True)
        for text, log_probabilities in zip(texts, sentence, strict=True)
    }
    order = ((s, text) for s, contrast in zip(situations, suite.contrasts, strict=True) for text in contrast.candidates)
    return Scores([values[place] for place in order], total, ended - ready, ready - begun)


def _situation(contrast: Contrast, suite: Suite, options: ProbeOptions) -> Situation:
    if options.context == "none":
        return (contrast.source,), ()
    first = 0 if options.max_context is None else max(0, len(contrast.source_context) - options.max_context)
    source = (*contrast.source_context[first:], contrast.source)
    if options.context != "gold":
        return source, ()
    if len(contrast.target_context) != len(contrast.source_context):
        raise DocgraphError(f"the suite '{suite.name}' has no target context; probe it with --context source or own")
    return source, contrast.target_context[first:]


def _annotated(
    sources: Sequence[Texts], pipeline: Pipeline, cache: str | Path | None, jobs: int, progress: Progress
) -> dict[Texts, Annotation | None]:
    total = done = 0

    def start(count: int) -> None:
        nonlocal total
        total = count

    def advance(chunk: StoredChunk) -> None:
        nonlocal done
        done += chunk.documents
        progress("annotating", done, total)

    documents = [Document.from_sentences(texts) for texts in sources]
    found = annotate_all(documents, pipeline, jobs=jobs, cache=cache, on_start=start, on_done=advance)
    return dict(zip(sources, found, strict=True))


def _documents(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    options: ProbeOptions,
    annotations: dict[Texts, Annotation | None],
    situations: Sequence[Situation],
    progress: Progress,
) -> list[DocumentExample]:
    """A document for each situation, its last sentence to be translated."""
    relations = context_needs(model.config).relations
    sources = {texts: example_from_text(texts, tokenizer, found, relations) for texts, found in annotations.items()}
    if options.context == "own":
        decoded = decode_documents(
            model, tokenizer, list(sources.values()), progress=lambda done, total: progress("translating", done, total)
        )
        hypotheses = ([sentence[0].tokens for sentence in document.sentences[:-1]] for document in decoded)
        sources = {
            texts: _with_target(document, [np.array([*ids, tokenizer.target.eos]) for ids in before], tokenizer, False)
            for (texts, document), before in zip(sources.items(), hypotheses, strict=True)
        }
    documents = []
    for source, context in situations:
        document = sources[source]
        if options.context == "gold":
            document = _with_target(document, [tokenizer.target.encode(text)[0] for text in context], tokenizer, True)
        documents.append(replace(document, window=range(len(source) - 1, len(source))))
    return documents


def _with_target(document: DocumentExample, context: list[Ids], tokenizer: Tokenizer, given: bool) -> DocumentExample:
    """The document with the translations of all its sentences but the last, which no sentence sees; given or not."""
    words = [words_by_space(tokenizer.target.pieces(ids)) for ids in context]
    last = np.array([tokenizer.target.eos], dtype=np.int64), np.array([-1], dtype=np.int64)
    flags = np.full(len(document.source), given)
    return replace(document, target=[*context, last[0]], target_words=[*words, last[1]], given=flags)
