"""Contrastive evaluation of a model: the candidates of a suite scored by forced decoding, and kept on disk."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import torch

from docgraph import __version__
from docgraph.annotate.pipeline import Pipeline
from docgraph.annotate.registry import load_pipeline
from docgraph.annotate.runner import default_cache_folder
from docgraph.errors import DocgraphError
from docgraph.evaluation.suites.base import Suite
from docgraph.evaluation.suites.scoring import ProbeOptions, Progress, Scores, score_suite
from docgraph.files import replacing
from docgraph.model import checkpoint
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.scoring import TOKENS


class Prober:
    """A model folder under probe; it is loaded only where a suite has no scores on disk yet.

    `annotator` is a spec such as spacy:fr_core_news_sm+coref:fr; None is the default of a suite's source language.
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
        model = checkpoint.load(self.folder, self.device)
        if self.options.precision == "bf16":
            model = model.to(torch.bfloat16)
        return model, Tokenizer.load(self.folder.path, model.config.transformer)

    def __call__(
        self, suite: Suite, *, jobs: int = 1, tokens: int = TOKENS, progress: Progress = lambda stage, done, total: None
    ) -> Scores:
        """The scores of a suite, from disk where they are there."""
        self._check_languages(suite)
        path = self.cache / "scores" / f"{self._key(suite)}.json"
        values = _read(path, suite.num_candidates)
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
        )
        with replacing(path) as temporary:
            temporary.write_text(json.dumps({"signature": self.signature(suite), "scores": scores.values}))
        return scores

    def signature(self, suite: Suite) -> str:
        """What the accuracies were obtained with, in one line."""
        options, pipeline = self.options, self._pipeline(suite)
        return signature(
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
            message = f"this model translates {pairs}"
            raise DocgraphError(f"{message}; choose a model of that pair", path=self.folder.path)

    def _pipeline(self, suite: Suite) -> Pipeline | None:
        """What annotates the sources of a suite, where the model reads a graph."""
        if context_needs(self.config).relations is None:
            return None
        if self.annotator is None and suite.languages is None:
            message = f"the suite '{suite.name}' does not say its languages; name an annotator with --annotator"
            raise DocgraphError(message)
        spec = self.annotator or (suite.languages or ("",))[0]
        if spec not in self._pipelines:
            self._pipelines[spec] = load_pipeline(spec)
        return self._pipelines[spec]

    def _key(self, suite: Suite) -> str:
        pipeline = self._pipeline(suite)
        version = None if pipeline is None else pipeline.version
        parts = [self.folder.fingerprint, suite.digest, asdict(self.options), version, __version__]
        return hashlib.blake2b(json.dumps([*parts, self.device]).encode(), digest_size=16).hexdigest()


def signature(suite: Suite, **how: str) -> str:
    """The line that goes with every number."""
    pair = "unknown" if suite.languages is None else "-".join(suite.languages)
    what = {"suite": f"{suite.name}.{suite.digest[:8]}", "pair": pair, "contrasts": len(suite.contrasts)}
    counting = {"candidates": suite.num_candidates, "ties": suite.ties, "text": suite.text}
    return "|".join(f"{name}:{value}" for name, value in {**what, **counting, **how, "docgraph": __version__}.items())


def _read(path: Path, count: int) -> list[float] | None:
    """Scores on disk; None where there are none, or not whole ones."""
    try:
        values = json.loads(path.read_bytes())["scores"]
        return [float(value) for value in values] if len(values) == count else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
