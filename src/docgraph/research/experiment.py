"""Runs what a table is missing: trains, translates, scores and probes, each step only if its result is missing.

A step that this machine cannot do (no text files, no annotator, no suite) is skipped with a message, and the same
command on another machine does it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from docgraph.corpus.store import read_manifest
from docgraph.errors import DocgraphError
from docgraph.research.run_results import SCORES, SIGNATURE, SUITES, ResultFolder, score_outputs
from docgraph.research.table_config import TEXT_MEASURES, Row, SeedRun, Table, TranslatedSet

if TYPE_CHECKING:
    from docgraph.evaluation.alignment import BitextAnnotator
    from docgraph.evaluation.suites import Suite
    from docgraph.training.config import TrainingConfig


IRRELEVANT_FIELDS = (
    *("data", "base", "log_every", "max_nonfinite", "tensorboard", "workers", "compile"),
    *("checkpoints.every", "checkpoints.best"),
)
"""Config fields that do not change the result of a run; data and base are paths."""


@dataclass(eq=False)
class Experiment:
    """A table, and the folders of its runs and results."""

    table: Table
    run_root: Path = Path("runs")
    result_root: Path = Path("results")
    overrides: Sequence[str] = ()
    """Changes of all training configs, as in --set."""
    annotator: str | None = None
    """For scores and suites; None is the default of the source language."""
    jobs: int = 1
    seeds: Sequence[int] = ()
    """The seeds to run; all seeds of each row if empty."""
    log: Callable[[str], None] = print
    _skip_reasons: set[str] = field(default_factory=set)

    def folder(self, run: SeedRun) -> ResultFolder:
        """Returns the results folder of a run."""
        return ResultFolder(self.result_root / run.path)

    def missing_steps(self, run: SeedRun) -> list[str]:
        """Returns the steps of a run whose results are missing."""
        folder, table = self.folder(run), self.table
        scores, suites = folder.read(SCORES), folder.read(SUITES)
        steps = [] if folder.read(SIGNATURE) else ["train"]
        for translated in table.sets:
            name = translated.name
            steps += [] if folder.output(name).is_file() else [f"translate {name}"]
            unscored = [metric for metric in self._metrics(translated) if metric not in scores.get(name, {})]
            steps += [f"score {name}"] if unscored or self._is_outdated(folder, name) else []
        return [*steps, *(f"probe {suite.name}" for suite in table.suites if suite.name not in suites)]

    def describe_config_change(self, run: SeedRun) -> str | None:
        """Returns a message if the config of a finished run differs from that of its row now; None otherwise."""
        from docgraph.config import parse, to_dict
        from docgraph.training.config import TrainingConfig
        from docgraph.training.run_folder import differing_fields

        signature = self.folder(run).read(SIGNATURE)
        if not signature:
            return None
        try:
            before, now = parse(TrainingConfig, signature["settings"]), self._config(run)
            fields = list(differing_fields(to_dict(before), to_dict(now), IRRELEVANT_FIELDS))
            store = Path(now.data)
            if store.is_dir() and read_manifest(store)["fingerprint"] != signature["data"]:
                fields.append("data")
        except DocgraphError as error:
            fields = [str(error)]
        if not fields:
            return None
        folders = f"{self.result_root / run.path} and {self.run_root / run.path}"
        return (
            f"{run.path} was run with another config than its row has now ({', '.join(fields)}): undo the change, "
            f"or remove {folders} to run it again"
        )

    def _metrics(self, translated: TranslatedSet) -> list[str]:
        """Returns the metrics to compute on a set; differences and p-values need BLEU."""
        measures = {column.measure for column in self.table.columns if column.of == translated.name}
        return [
            metric for metric in TEXT_MEASURES if metric in measures or (metric == "bleu" and measures & {"delta", "p"})
        ]

    def _is_outdated(self, folder: ResultFolder, name: str) -> bool:
        scores = folder.read(SCORES).get(name)
        return scores is not None and folder.output(name).is_file() and scores["output"] != folder.digest(name)

    def run(self, rows: Sequence[Row] | None = None, parallel: int = 1) -> None:
        """Runs the missing steps of some rows (default: all rows) and of the runs they start from.

        `parallel` runs at a time train, translate and probe in processes of their own. Raises DocgraphError at the end
        if one of them failed.
        """
        runs = self._with_bases(rows)
        for message in filter(None, map(self.describe_config_change, runs)):
            self.log(message)
        runs = [run for run in runs if self.missing_steps(run)]
        failed = []
        if parallel > 1:
            failed = self._run_in_parallel(runs, parallel)
        else:
            for run in runs:
                self._train_and_translate(run)
        for translated in self.table.sets:
            self._score(translated, [run for run in runs if self._has_output(run, translated)])
        for run in runs:
            self._probe(run)  # the suites that are not done yet
        if failed:
            raise DocgraphError(f"{len(failed)} of {len(runs)} runs failed; read their logs and run the command again")

    def _run_in_parallel(self, runs: Sequence[SeedRun], limit: int) -> list[SeedRun]:
        """Trains, translates and probes the runs in processes; returns those that failed."""
        from docgraph.research.parallel_runs import run_in_parallel

        # All are scored together, after this.
        todo = [run for run in runs if any(not step.startswith("score") for step in self.missing_steps(run))]
        work = replace(self, log=print, _skip_reasons=set())._run_alone
        return run_in_parallel(todo, work, limit, self._can_start, self._log_path, self.log)

    def _run_alone(self, run: SeedRun) -> None:
        self._train_and_translate(run)
        if not self._is_trained(run):
            raise SystemExit(1)  # the reason is logged
        self._probe(run)

    def _can_start(self, run: SeedRun) -> bool:
        return self._is_trained(run) or self._config(run).base is None or self._is_trained(run.base())

    def _log_path(self, run: SeedRun) -> Path:
        return self.run_root / run.path.with_suffix(".log")

    def _with_bases(self, rows: Sequence[Row] | None) -> list[SeedRun]:
        """Returns the runs of some rows, each after the run it starts from."""
        ordered: dict[Path, SeedRun] = {}

        def add(run: SeedRun) -> None:
            if not self._is_trained(run) and self._config(run).base is not None:
                add(run.base())
            ordered.setdefault(run.path, run)

        for run in self.table.runs(rows):
            if not self.seeds or run.seed in self.seeds:
                add(run)
        return list(ordered.values())

    def _config(self, run: SeedRun) -> TrainingConfig:
        return run.read_config(self.run_root, self.overrides)

    def _is_trained(self, run: SeedRun) -> bool:
        return bool(self.folder(run).read(SIGNATURE))

    def _has_output(self, run: SeedRun, translated: TranslatedSet) -> bool:
        return self.folder(run).output(translated.name).is_file()

    def _train_and_translate(self, run: SeedRun) -> None:
        if not self._is_trained(run):
            self._attempt(f"train {run.path}", partial(self._train, run))
        sets = [translated for translated in self.table.sets if not self._has_output(run, translated)]
        if sets and self._is_trained(run):
            self._attempt(f"translate with {run.path}", partial(self._translate, run, sets))

    def _train(self, run: SeedRun) -> None:
        from docgraph.training.loop import train

        self.log(f"{run.path}: training")
        config, folder = self._config(run), self.run_root / run.path
        progress = train(config, folder)
        if progress.ended != progress.step:
            raise KeyboardInterrupt  # a stop was requested; the same command resumes the run
        self.folder(run).store_run(folder, config)

    def _translate(self, run: SeedRun, sets: Iterable[TranslatedSet]) -> None:
        import torch

        from docgraph.model import checkpoint
        from docgraph.model.systems import context_needs
        from docgraph.research.analysis_inputs import Documents

        config, folder = self._config(run), self.folder(run)
        gpu = torch.cuda.is_available()
        model = checkpoint.load(self.run_root / run.path / "best", "cuda" if gpu else "cpu")
        half = gpu and config.precision == "bf16"
        model = model.to(torch.bfloat16) if half else model
        done: dict[tuple[str, str, bool], tuple[list[list[str]], float]] = {}
        for translated in sets:
            # Known translations change nothing for a system that reads no translations.
            known = translated.known and context_needs(model.config).reads_translations
            key = translated.store or config.data, translated.split, known
            if key not in done:
                self.log(f"{run.path}: translating {translated.name}")
                documents = Documents.from_store(key[0], translated.split)
                begin = time.perf_counter()
                texts = documents.translate(model, config.validation.search, known=translated.known)
                done[key] = texts, time.perf_counter() - begin
            texts, seconds = done[key]
            folder.write_output(translated.name, texts)
            decoding = {"seconds": seconds, "precision": "bf16" if half else "fp32"}
            before = folder.read(SIGNATURE).get("translated", {})
            folder.update(SIGNATURE, translated=before | {translated.name: decoding})

    def _score(self, translated: TranslatedSet, runs: Sequence[SeedRun]) -> None:
        """Computes the missing scores of a set, metric by metric: LTCR needs an annotator, the others do not."""
        name = translated.name
        for metric in self._metrics(translated):
            folders = [self.folder(run) for run in runs]
            unscored = [f for f in folders if metric not in f.read(SCORES).get(name, {}) or self._is_outdated(f, name)]
            if unscored:
                work = partial(score_outputs, translated, metric, unscored, self._languages)
                self._attempt(f"score {name} {metric}", work)

    @property
    def _languages(self) -> BitextAnnotator:
        from docgraph.annotate.runner import default_cache_folder
        from docgraph.evaluation.alignment import BitextAnnotator

        source, _, target = self.table.config.languages.partition("-")
        return BitextAnnotator(self.annotator or source, target, default_cache_folder(), self.jobs)

    def _probe(self, run: SeedRun) -> None:
        done = self.folder(run).read(SUITES)
        for suite in self.table.suites:
            if suite.name not in done and self._is_trained(run):
                self._attempt(f"probe {suite.name}", partial(self._probe_suite, run, suite.name))

    def _probe_suite(self, run: SeedRun, name: str) -> None:
        import torch

        from docgraph.evaluation.suites.accuracy import compute_accuracies
        from docgraph.evaluation.suites.prober import Prober

        model, suite = self.run_root / run.path / "best", self._suites[name]
        device = "cuda" if torch.cuda.is_available() else "cpu"
        prober = Prober(model, device=device, annotator=self.annotator)
        accuracies = compute_accuracies(suite, prober(suite, jobs=self.jobs).values, maximise=True)
        self.folder(run).update(SUITES, **{name: {**accuracies.to_dict(), "signature": prober.signature(suite)}})

    @cached_property
    def _suites(self) -> dict[str, Suite]:
        from docgraph.evaluation.suites import read_suite

        return {suite.name: read_suite(suite.path) for suite in self.table.suites}

    def _attempt(self, step: str, work: Callable[[], None]) -> None:
        """Runs a step, or logs why this machine cannot run it; logs each reason once."""
        try:
            work()
        except (DocgraphError, FileNotFoundError, ImportError) as error:
            reason = f"{error.filename}: no such file" if isinstance(error, FileNotFoundError) else str(error)
            if reason not in self._skip_reasons:
                self._skip_reasons.add(reason)
                self.log(f"skipped on this machine: {step} ({reason})")
