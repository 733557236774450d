"""docgraph prepare: a parallel corpus into a store that training reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docgraph.cli.progress import Bars

if TYPE_CHECKING:
    from rich.console import Console

    from docgraph.corpus.prepare import Report

EngineName = Literal["local", "ray"]


def prepare(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML data config.", show_default=False)],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a field of the config; repeatable.")
    ] = None,
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Leave bad sentence pairs out and count them, where they are errors else."),
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes at work; all cores otherwise.")] = None,
    engine: Annotated[
        EngineName, typer.Option(help="This machine, or a Ray cluster ($RAY_ADDRESS; a local one otherwise).")
    ] = "local",
    cache: Annotated[
        Path | None, typer.Option(help="Folder of finished annotations; in the user's cache folder otherwise.")
    ] = None,
) -> None:
    """Read a parallel corpus, learn sub-words, annotate the source, and write the store that training reads.

    Run again with nothing changed, it does nothing; interrupted or killed, it goes on where it stopped.

    [bold]Examples[/bold]

    docgraph prepare configs/data/europarl_en-fr.yaml --jobs 8

    docgraph prepare configs/data/iwslt_en-fr.yaml --skip-bad --set subwords.size=16000

    RAY_ADDRESS=auto docgraph prepare configs/data/europarl_en-fr.yaml --engine ray
    """
    from rich.console import Console

    from docgraph.config import read_config
    from docgraph.corpus.chunks import ENGINES
    from docgraph.corpus.config import PrepareConfig
    from docgraph.corpus.prepare import prepare as run
    from docgraph.workers import available_cores

    settings = read_config(PrepareConfig, config, overrides or [])
    with Bars("sentences") as bars:
        report = run(
            settings,
            skip_bad=skip_bad,
            jobs=jobs or available_cores(),
            engine=ENGINES[engine],
            cache=cache,
            progress=lambda stage, done, total: bars.update(stage, done, done, total),
        )
    _print(Console(), report)


def _print(console: Console, report: Report) -> None:
    from rich.markup import escape
    from rich.table import Table

    if report.unchanged:
        console.print(f"{escape(report.folder)}: nothing has changed, nothing was done", highlight=False)
    table = Table(title=escape(report.folder), title_justify="left")
    table.add_column("split")
    for column in ("documents", "sentences", "source words", "source tokens", "target tokens", "dropped pairs"):
        table.add_column(column, justify="right")
    for name, split in report.splits.items():
        counts = (split.documents, split.sentences, split.words, split.source_tokens, split.target_tokens)
        table.add_row(name, *(f"{count:,}" for count in (*counts, sum(split.dropped.values()))))
    console.print(table)
    for name, split in report.splits.items():
        for reason, count in split.dropped.items():
            first = escape(split.dropped_first.get(reason, ""))
            console.print(
                f"{name}: {count:,} pairs dropped: {reason} (first: {first})", highlight=False, soft_wrap=True
            )
    for note in report.notes:
        console.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    source, target = report.vocabulary
    sizes = f"{source:,}" if source == target else f"{source:,} and {target:,}"
    console.print(
        f"vocabulary {sizes}; {report.bytes / 1e6:,.1f} MB; {report.seconds:,.1f} s; "
        f"largest process {_peak_megabytes():,.0f} MB",
        highlight=False,
    )


def _peak_megabytes() -> float:
    """Memory of the largest of this process and its workers, at its peak."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return (
        max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * unit / 1e6
    )
