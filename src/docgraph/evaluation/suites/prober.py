"""Prober: scores the candidates of a suite with a model by forced decoding, and caches the scores on disk.

A contrast becomes a document whose last sentence is scored. Contrasts with the same context share the document, and the
same candidate in the same context is scored once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from docgraph import __version__
from docgraph.annotate.pipeline import Pipeline
from docgraph.annotate.registry import load_pipeline
from docgraph.annotate.runner import StoredChunk, annotate_all, default_cache_folder
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.evaluation.suites.suite import Contrast, Suite
from docgraph.files import replacing
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Ids, Tokenizer, words_by_space
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hints import fill_documents
from docgraph.translation.decoding.scoring import TOKENS, ScoringTask, score_candidates, sentence_score
from docgraph.translation.model_input import example_from_text

Context = Literal["gold", "source", "own", "none"]
Texts = tuple[str, ...]
SentenceInContext = tuple[Texts, Texts]
"""The source sentences, the last of which is scored, and given translations of the earlier ones."""
Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""


@dataclass(frozen=True)
class ProbeOptions:
    """Options that scores depend on, besides the model and the suite."""

    context: Context = "gold"
    """gold: the suite's source and target context; source: its source context; own: its source context and the model's
    own translation of it; none: the sentence alone."""
    max_context: int | None = None
    """Maximum number of context sentences, the nearest ones; None is no limit."""
    normalise: bool = False
    """Compare means over sub-words instead of sums."""
    precision: Literal["fp32", "bf16"] = "fp32"

    def for_model(self, config: ModelConfig) -> ProbeOptions:
        """Returns the options without context that the model does not read: equal probes then share cached scores."""
        needs = context_needs(config)
        if not needs.source and not needs.reads_translations and not needs.hints:
            return replace(self, context="none", max_context=None)
        by_hints = "coreference" in needs.hints
        unread = self.context == "gold" and not needs.reads_translations and not by_hints
        unread |= self.context == "own" and not needs.reads_own_translations and not by_hints
        return replace(self, context="source") if unread else self


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of the candidates of a suite, in its order."""

    values: list[float]
    scored: int = 0
    """Distinct candidates scored; 0 if the scores were cached."""
    seconds: float = 0.0
    """Time of scoring, batching included."""
    preparation: float = 0.0
    """Time of annotating, encoding and, for `own` context, translating."""

    @property
    def rate(self) -> float:
        """Candidates per second."""
        return self.scored / self.seconds if self.seconds else 0.0


class Prober:
    """Scores suites with the model of a folder, which is loaded when a suite has no cached scores.

    `annotator` is a spec such as spacy:fr_core_news_sm+coref:fr; None is the default of the suite's source language.
    """

    def __init__(
        self,
        folder: str | Path,
        options: ProbeOptions = ProbeOptions(),
        device: str = "cpu",
        annotator: str | None = None,
        cache: str | Path | None = None,
    ) -> None:
        self.folder, self.device, self.annotator = ModelFolder(folder), device, annotator
        self.cache = Path(cache or default_cache_folder())
        self._pipelines: dict[str, Pipeline] = {}
        self.config = self.folder.config
        self.options = options.for_model(self.config)

    @cached_property
    def loaded(self) -> tuple[DocumentTransformer, Tokenizer]:
        """The model and its tokenizer."""
        model = checkpoint.load(self.folder, self.device)
        if self.options.precision == "bf16":
            model = model.to(torch.bfloat16)
        return model, Tokenizer.load(self.folder.path, model.config.transformer)

    def __call__(
        self, suite: Suite, *, jobs: int = 1, tokens: int = TOKENS, progress: Progress = lambda stage, done, total: None
    ) -> Scores:
        """Returns the scores of a suite, from the cache if possible."""
        self._check_languages(suite)
        path = self.cache / "scores" / f"{self._key(suite)}.json"
        values = _read_cached(path, suite.num_candidates)
        if values is not None:
            return Scores(values)
        scores = score_suite(
            *self.loaded,
            suite,
            self.options,
            pipeline=self._pipeline(suite),
            cache=self.cache,
            jobs=jobs,
            tokens=tokens,
            progress=progress,
            tag=self.folder.tag,
        )
        with replacing(path) as temporary:
            temporary.write_text(json.dumps({"signature": self.signature(suite), "scores": scores.values}))
        return scores

    def signature(self, suite: Suite) -> str:
        """Returns one line that says how the scores of a suite are obtained."""
        options, pipeline = self.options, self._pipeline(suite)
        return suite_signature(
            suite,
            model=f"{checkpoint.system_name(self.config)}.{self.folder.fingerprint[:8]}",
            context=options.context + ("" if options.max_context is None else str(options.max_context)),
            score="mean" if options.normalise else "sum",
            precision=options.precision,
            annotator="none" if pipeline is None else f"{pipeline.spec}.{pipeline.version[:8]}",
        )

    def _check_languages(self, suite: Suite) -> None:
        ours = self.folder.languages
        if ours is None or suite.languages is None:
            return
        if [code[:2].lower() for code in ours] != [code[:2].lower() for code in suite.languages]:
            pairs = f"{'-'.join(ours)} and the suite '{suite.name}' is {'-'.join(suite.languages)}"
            raise DocgraphError(f"this model translates {pairs}; choose a model of that pair", path=self.folder.path)

    def _pipeline(self, suite: Suite) -> Pipeline | None:
        """Returns the annotator of the suite's source; None if the model reads no graph."""
        needs = context_needs(self.config)
        if needs.relations is None and not needs.hints:
            return None
        if self.annotator is None and suite.languages is None:
            raise DocgraphError(f"the suite '{suite.name}' does not name its languages; pass --annotator")
        spec = self.annotator or (suite.languages or ("",))[0]
        if spec not in self._pipelines:
            self._pipelines[spec] = load_pipeline(spec)
        return self._pipelines[spec]

    def _key(self, suite: Suite) -> str:
        """Returns a hash of everything that the scores depend on."""
        pipeline = self._pipeline(suite)
        version = None if pipeline is None else pipeline.version
        parts = [self.folder.fingerprint, suite.digest, asdict(self.options), version, __version__]
        return hashlib.blake2b(json.dumps([*parts, self.device]).encode(), digest_size=16).hexdigest()


def suite_signature(suite: Suite, **settings: str) -> str:
    """Returns a signature: the suite, how it is counted, the given settings, and the version of this package."""
    pair = "unknown" if suite.languages is None else "-".join(suite.languages)
    items = {"suite": f"{suite.name}.{suite.digest[:8]}", "pair": pair, "contrasts": len(suite.contrasts)}
    items |= {"candidates": suite.num_candidates, "ties": suite.ties, "text": suite.text}
    return "|".join(f"{name}:{value}" for name, value in {**items, **settings, "docgraph": __version__}.items())


def _read_cached(path: Path, count: int) -> list[float] | None:
    """Returns cached scores; None if there are none or the file is damaged."""
    try:
        values = json.loads(path.read_bytes())["scores"]
        return [float(value) for value in values] if len(values) == count else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


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
    tag: str | None = None,
) -> Scores:
    """Scores the candidates of a suite, in batches of `tokens` sub-words.

    A model that reads a graph needs a `pipeline`; `jobs` processes annotate, and annotations are kept in `cache`. `tag`
    is the target-language token of a multilingual model.
    """
    begun = time.perf_counter()
    options = options.for_model(model.config)
    inputs = [_in_context(contrast, suite, options) for contrast in suite.contrasts]
    candidates: dict[SentenceInContext, dict[str, None]] = {}
    for sentence, contrast in zip(inputs, suite.contrasts, strict=True):
        candidates.setdefault(sentence, {}).update(dict.fromkeys(contrast.candidates))
    sources = list(dict.fromkeys(source for source, _ in candidates))
    annotations = dict.fromkeys(sources) if pipeline is None else _annotate(sources, pipeline, cache, jobs, progress)
    documents = _documents(model, tokenizer, options, annotations, list(candidates), progress, tag)
    tasks = [
        ScoringTask(document, [[tokenizer.target.encode(text)[0] for text in texts]])
        for document, texts in zip(documents, candidates.values(), strict=True)
    ]
    total, done = sum(map(len, candidates.values())), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress("scoring", done, total)

    prepared = time.perf_counter()
    scored = score_candidates(model, tasks, tokens, advance)
    ended = time.perf_counter()
    values = {
        (sentence, text): sentence_score(log_probabilities, options.normalise)
        for (sentence, texts), [scores] in zip(candidates.items(), scored, strict=True)
        for text, log_probabilities in zip(texts, scores, strict=True)
    }
    pairs = zip(inputs, suite.contrasts, strict=True)
    ordered = [values[sentence, text] for sentence, contrast in pairs for text in contrast.candidates]
    return Scores(ordered, total, ended - prepared, prepared - begun)


def _in_context(contrast: Contrast, suite: Suite, options: ProbeOptions) -> SentenceInContext:
    if options.context == "none":
        return (contrast.source,), ()
    first = 0 if options.max_context is None else max(0, len(contrast.source_context) - options.max_context)
    source = (*contrast.source_context[first:], contrast.source)
    if options.context != "gold":
        return source, ()
    if len(contrast.target_context) != len(contrast.source_context):
        raise DocgraphError(f"the suite '{suite.name}' has no target context; use --context source or own")
    return source, contrast.target_context[first:]


def _annotate(
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
    annotations = annotate_all(documents, pipeline, jobs=jobs, cache=cache, on_start=start, on_done=advance)
    return dict(zip(sources, annotations, strict=True))


def _documents(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    options: ProbeOptions,
    annotations: dict[Texts, Annotation | None],
    inputs: Sequence[SentenceInContext],
    progress: Progress,
    tag: str | None,
) -> list[DocumentExample]:
    """Returns one document per input, with its last sentence to be scored."""
    needs = context_needs(model.config)
    sources = {
        texts: example_from_text(texts, tokenizer, annotation, needs.relations, tag=tag, hints=needs.hints)
        for texts, annotation in annotations.items()
    }
    if options.context == "own":
        decoded = decode_documents(
            model,
            tokenizer,
            [DecoderInput(document) for document in sources.values()],
            DecodingOptions(progress=lambda done, total: progress("translating", done, total)),
        )
        hypotheses = ([sentence[0].tokens for sentence in document.sentences[:-1]] for document in decoded)
        sources = {
            texts: _with_target(document, [np.array([*ids, tokenizer.target.eos]) for ids in before], tokenizer, False)
            for (texts, document), before in zip(sources.items(), hypotheses, strict=True)
        }
    documents = []
    for source, context in inputs:
        document = sources[source]
        if options.context == "gold":
            document = _with_target(document, [tokenizer.target.encode(text)[0] for text in context], tokenizer, True)
        documents.append(replace(document, window=range(len(source) - 1, len(source))))
    return fill_documents(model, tokenizer.target, documents) if needs.hints else documents


def _with_target(document: DocumentExample, context: list[Ids], tokenizer: Tokenizer, given: bool) -> DocumentExample:
    """Returns the document with translations of all sentences but the last, which gets a placeholder.

    `given` marks the translations as supplied by the user rather than made by the model.
    """
    words = [words_by_space(tokenizer.target.pieces(ids)) for ids in context]
    last = np.array([tokenizer.target.eos], dtype=np.int64), np.array([-1], dtype=np.int64)
    flags = np.full(len(document.source), given)
    return replace(document, target=[*context, last[0]], target_words=[*words, last[1]], given=flags)
