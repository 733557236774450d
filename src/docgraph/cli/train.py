"""docgraph train: trains a config in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from docgraph.training.config import TrainingConfig


def train(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML training config.", show_default=False)],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a field of the config; repeatable.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            "--run-folder",  # torchrun has an option --run of its own
            metavar="FOLDER",
            help="Run folder (default: runs/NAME, after the config). Under torchrun, write --run-folder.",
        ),
    ] = None,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Check the config and its inputs and print what would run; train nothing.")
    ] = False,
) -> None:
    """Train a model: stage 1 (a sentence-level base) or stage 2 (document context on a base).

    The run folder holds the config, metrics, checkpoints and a link [bold]best[/bold] to the model to use. Ctrl-C (or
    SIGTERM) stops a run after the current update; the same command resumes where it stopped, with the losses of an
    uninterrupted run. A run folder of another config is refused.

    [bold]Examples[/bold]

    docgraph train configs/train/base.yaml

    docgraph train configs/train/docgraph_hyb_both.yaml --set base=runs/base/best --run runs/hyb

    torchrun --nproc-per-node 4 -m docgraph train configs/train/base.yaml
    """
    from docgraph.config import read_config
    from docgraph.training.config import TrainingConfig
    from docgraph.workers import keep_freed_memory

    keep_freed_memory()
    settings = read_config(TrainingConfig, config, overrides or [])
    if dry:
        _print_plan(settings)
        return
    from docgraph.training.loop import train as start

    start(settings, run or Path("runs") / config.stem)


def _print_plan(config: TrainingConfig) -> None:
    from docgraph.training.build import dry_run

    plan = dry_run(config)
    schedule, validation, own = config.schedule, config.validation, config.translations
    documents = "not prepared yet" if plan.documents is None else "documents: " + _counts(plan.documents)
    lines = {
        "system": f"{plan.system}, stage {config.stage}",
        "parameters": f"{plan.parameters:,}, of which {plan.trainable:,} train",
        "data": f"{config.data} ({documents})",
        "base": None if config.base is None else config.base + ("" if plan.base_found else " (not there yet)"),
        "translations": None if own.folder is None else f"{own.folder}, in {own.share:.0%} of the documents",
        "updates": f"{config.steps:,} of {config.accumulation} x {config.batches.tokens:,} target tokens in "
        f"{config.batches.unit}s, {config.precision}{', compiled' if config.compile else ''}",
        "rate": f"{schedule.kind} from {schedule.peak:g}, warm-up {schedule.warmup:,} updates, {config.optimizer.kind}",
        "validation": f"loss every {validation.every:,} updates, BLEU every {validation.bleu_every:,}, "
        f"best by {validation.best}",
    }
    if not config.steps:
        lines |= {"parameters": f"{plan.parameters:,}", "rate": None, "validation": None}
        lines["updates"] = "none: the initial model is validated and stored"
    width = max(map(len, lines))
    for name, line in lines.items():
        if line is not None:
            typer.echo(f"{name:{width}}  {line}")


def _counts(documents: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in documents.items())
