"""From a table to results: train, translate, score, probe, each where it is missing and can be done on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from docgraph.corpus.store import read_manifest
from docgraph.errors import DocgraphError
from docgraph.research.results import SCORES, SIGNATURE, SUITES, ResultFolder
from docgraph.research.scoring import score_outputs
from docgraph.research.tables import SCORED, Cell, Row, Table, TranslatedSet

if TYPE_CHECKING:
    from docgraph.evaluation.alignment import BitextAnnotator
    from docgraph.evaluation.suites import Suite
    from docgraph.training.config import TrainingConfig


INDIFFERENT = (
    *("data", "base", "log_every", "max_nonfinite", "tensorboard", "workers", "compile"),
    *("checkpoints.every", "checkpoints.best"),
)
"""Fields of a training config that do not change what a run makes; data and base are paths."""


@dataclass(eq=False)
class Experiment:
    """A table, and where its runs and results are."""

    table: Table
    runs: Path = Path("runs")
    results: Path = Path("results")
    overrides: Sequence[str] = ()
    """Of the training configs, as --set has them."""
    annotator: str | None = None
    """For scores and suites; None is the default of the source language."""
    jobs: int = 1
    say: Callable[[str], None] = print
    told: set[str] = field(default_factory=set)

    def folder(self, cell: Cell) -> ResultFolder:
        return ResultFolder(self.results / cell.place)

    def missing(self, cell: Cell) -> list[str]:
        """The stages of a run that are yet to be done."""
        folder, table = self.folder(cell), self.table
        scores, suites = folder.read(SCORES), folder.read(SUITES)
        stages = [] if folder.read(SIGNATURE) else ["train"]
        for one in table.sets():
            stages += [] if folder.output(one.name).is_file() else [f"translate {one.name}"]
            absent = [name for name in self.measures(one) if name not in scores.get(one.name, {})]
            stages += [f"score {one.name}"] if absent or self._outdated(folder, one.name) else []
        return [*stages, *(f"probe {suite.name}" for suite in table.suites if suite.name not in suites)]

    def changed(self, cell: Cell) -> str | None:
        """A line on how the config of a finished run is not the one of its row; None where they agree."""
        from docgraph.config import parse, to_dict
        from docgraph.training.config import TrainingConfig
        from docgraph.training.run_folder import differing_fields

        signature = self.folder(cell).read(SIGNATURE)
        if not signature:
            return None
        try:
            then, now = parse(TrainingConfig, signature["settings"]), self._config(cell)
            fields = list(differing_fields(to_dict(then), to_dict(now), INDIFFERENT))
            store = Path(now.data)
            if store.is_dir() and read_manifest(store)["fingerprint"] != signature["data"]:
                fields.append("data")
        except DocgraphError as error:
            fields = [str(error)]
        if not fields:
            return None
        places = f"{self.results / cell.place} and {self.runs / cell.place}"
        return (
            f"{cell.place} was run with another config than its row has now ({', '.join(fields)}): take the change "
            f"back, or remove {places} to run it again"
        )

    def measures(self, one: TranslatedSet) -> list[str]:
        """What is counted on a set: BLEU for differences too."""
        wanted = {c.measure if c.measure in SCORED else "bleu" for c in self.table.columns if c.what == one.name}
        return [measure for measure in SCORED if measure in wanted]

    def _outdated(self, folder: ResultFolder, name: str) -> bool:
        scores = folder.read(SCORES).get(name)
        return scores is not None and folder.output(name).is_file() and scores["output"] != folder.digest(name)

    def run(self, rows: Sequence[Row] | None = None) -> None:
        """Do all that is missing for these rows (all, if none are named) and for the Base they start from."""
        cells = self._with_bases(rows)
        for line in filter(None, map(self.changed, cells)):
            self.say(line)
        cells = [cell for cell in cells if self.missing(cell)]
        for cell in cells:
            self._make(cell)
        for one in self.table.sets():
            self._score(one, [cell for cell in cells if self._has_output(cell, one)])
        for cell in cells:
            self._probe(cell)

    def _with_bases(self, rows: Sequence[Row] | None) -> list[Cell]:
        """The runs of some rows, each after the one it starts from."""
        found: dict[Path, Cell] = {}

        def add(cell: Cell) -> None:
            if not self._trained(cell) and self._config(cell).base is not None:
                add(cell.base())
            found.setdefault(cell.place, cell)

        for cell in self.table.cells(rows):
            add(cell)
        return list(found.values())

    def _config(self, cell: Cell) -> TrainingConfig:
        return cell.read_config(self.runs, self.overrides)

    def _trained(self, cell: Cell) -> bool:
        return bool(self.folder(cell).read(SIGNATURE))

    def _has_output(self, cell: Cell, one: TranslatedSet) -> bool:
        return self.folder(cell).output(one.name).is_file()

    def _make(self, cell: Cell) -> None:
        """Train and translate."""
        if not self._trained(cell):
            self._attempt(f"train {cell.place}", partial(self._train, cell))
        sets = [one for one in self.table.sets() if not self._has_output(cell, one)]
        if sets and self._trained(cell):
            self._attempt(f"translate with {cell.place}", partial(self._translate, cell, sets))

    def _train(self, cell: Cell) -> None:
        from docgraph.training.loop import train

        self.say(f"{cell.place}: training")
        config, run = self._config(cell), self.runs / cell.place
        progress = train(config, run)
        if progress.ended != progress.step:
            raise KeyboardInterrupt  # asked to stop: the run goes on with the same command
        self.folder(cell).keep_run(run, config)

    def _translate(self, cell: Cell, sets: Iterable[TranslatedSet]) -> None:
        import torch

        from docgraph.model import checkpoint
        from docgraph.model.systems import context_needs
        from docgraph.research.documents import Documents

        config = self._config(cell)
        gpu = torch.cuda.is_available()
        model = checkpoint.load(self.runs / cell.place / "best", "cuda" if gpu else "cpu")
        half = gpu and config.precision == "bf16"
        model = model.to(torch.bfloat16) if half else model
        found: dict[tuple[str, str, bool], tuple[list[list[str]], float]] = {}
        for one in sets:
            # To a system that reads no translations, those that are known say nothing.
            what = one.store or config.data, one.split, one.known and context_needs(model.config).reads_translations
            if what not in found:
                self.say(f"{cell.place}: translating {one.name}")
                documents = Documents.of_store(what[0], one.split)
                begun = time.perf_counter()
                texts = documents.translate(model, config.validation.search, known=one.known)
                found[what] = texts, time.perf_counter() - begun
            texts, seconds = found[what]
            self.folder(cell).write_output(one.name, texts)
            took = {"seconds": seconds, "precision": "bf16" if half else "fp32"}
            decoded = self.folder(cell).read(SIGNATURE).get("translated", {})
            self.folder(cell).add(SIGNATURE, translated=decoded | {one.name: took})

    def _score(self, one: TranslatedSet, cells: Sequence[Cell]) -> None:
        """What is not counted yet on the translations of a set; what needs an annotator apart from what does not."""
        for measure in self.measures(one):
            folders = [self.folder(cell) for cell in cells]
            waiting = [
                f for f in folders if measure not in f.read(SCORES).get(one.name, {}) or self._outdated(f, one.name)
            ]
            if waiting:
                self._attempt(
                    f"score {one.name} {measure}", partial(score_outputs, one, measure, waiting, self._languages)
                )

    @property
    def _languages(self) -> BitextAnnotator:
        from docgraph.annotate.runner import default_cache_folder
        from docgraph.evaluation.alignment import BitextAnnotator

        source, _, target = self.table.config.languages.partition("-")
        return BitextAnnotator(self.annotator or source, target, default_cache_folder(), self.jobs)

    def _probe(self, cell: Cell) -> None:
        done = self.folder(cell).read(SUITES)
        for suite in self.table.suites:
            if suite.name not in done and self._trained(cell):
                self._attempt(f"probe {suite.name}", partial(self._probe_suite, cell, suite.name))

    def _probe_suite(self, cell: Cell, name: str) -> None:
        import torch

        from docgraph.evaluation.suites.accuracy import compute_accuracies
        from docgraph.evaluation.suites.prober import Prober

        model, suite = self.runs / cell.place / "best", self._suites[name]
        device = "cuda" if torch.cuda.is_available() else "cpu"
        prober = Prober(model, device=device, annotator=self.annotator)
        accuracies = compute_accuracies(suite, prober(suite, jobs=self.jobs).values, maximise=True)
        found = {**accuracies.to_dict(), "signature": prober.signature(suite)}
        self.folder(cell).add(SUITES, **{name: found})

    @cached_property
    def _suites(self) -> dict[str, Suite]:
        from docgraph.evaluation.suites import read_suite

        return {suite.name: read_suite(suite.path) for suite in self.table.suites}

    def _attempt(self, what: str, work: Callable[[], None]) -> None:
        """Do a stage, or say once why it is left out on this machine: the same command elsewhere does it."""
        try:
            work()
        except (DocgraphError, FileNotFoundError, ImportError) as error:
            reason = f"{error.filename}: no such file" if isinstance(error, FileNotFoundError) else str(error)
            if reason not in self.told:
                self.told.add(reason)
                self.say(f"left out here: {what} ({reason})")
