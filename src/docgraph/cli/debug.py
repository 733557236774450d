"""docgraph debug: looking at what a run is made of before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from docgraph.corpus.statistics import SplitStatistics

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def group() -> None:
    """Look at data before training on it.

    [bold]Example[/bold]

    docgraph debug data prepared/en-fr
    """


@app.command("data")
def data(
    source: Annotated[
        Path, typer.Argument(metavar="CONFIG|STORE", help="A YAML data config or its store.", show_default=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    relations: Annotated[str, typer.Option(help="Relations or groups (intra, inter, all), with commas.")] = "all",
    skip_stop_words: Annotated[
        bool, typer.Option("--skip-stop-words", help="No lexical links of punctuation and function words.")
    ] = False,
    max_distance: Annotated[
        int | None, typer.Option(min=0, help="Longest link between sentences; no limit otherwise.")
    ] = None,
    worst: Annotated[int, typer.Option(min=1, help="Outliers of each kind to show.")] = 5,
) -> None:
    """Count a prepared corpus: lengths, unknown pieces, edges, links between sentences, outliers with their lines.

    Graphs are built from the stored annotation, so other relations need no second preparation.

    [bold]Examples[/bold]

    docgraph debug data configs/data/europarl_en-fr.yaml

    docgraph debug data prepared/en-fr --relations inter --max-distance 20 --json
    """
    from docgraph.corpus.statistics import statistics
    from docgraph.corpus.store import PreparedCorpus, read_manifest
    from docgraph.graph import RelationOptions, resolve_relations

    folder = _folder(source)
    resolve_relations(relations)
    options = RelationOptions(skip_stop_words=skip_stop_words, max_distance=max_distance)
    splits = [PreparedCorpus.open(folder, split) for split in read_manifest(folder)["splits"]]
    found = [statistics(split, relations, options, worst) for split in splits]
    if json:
        from json import dumps

        typer.echo(dumps({split.split: split.to_dict() for split in found}, indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    console = Console()
    for table in (_overview(found), _lengths(found), _edges(found)):
        console.print(table)
    _outliers(console, found)


def _folder(source: Path) -> Path:
    if source.is_dir():
        return source
    if not source.exists():
        raise DocgraphError("there is no such config or store; name one", path=source)
    from docgraph.config import read_config
    from docgraph.corpus.config import PrepareConfig

    return Path(read_config(PrepareConfig, source).out)


def _table(title: str, first: str, found: Sequence[SplitStatistics]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for split in found:
        table.add_column(split.split, justify="right")
    return table


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.2%})" if whole else f"{part:,}"


def _overview(found: Sequence[SplitStatistics]) -> Table:
    table = _table("Corpus", "", found)
    rows = {
        "documents": [f"{split.documents:,}" for split in found],
        "sentences": [f"{split.sentences:,}" for split in found],
        "longest document, in sentences": [f"{split.longest_document:,}" for split in found],
        "source words": [f"{split.words:,}" for split in found],
        "source tokens": [f"{split.source.tokens:,}" for split in found],
        "target tokens": [f"{split.target.tokens:,}" for split in found],
        "unknown source pieces": [_share(split.source.unknown, split.source.tokens) for split in found],
        "unknown target pieces": [_share(split.target.unknown, split.target.tokens) for split in found],
        "source pieces for bytes": [_share(split.source.byte_pieces, split.source.tokens) for split in found],
        "target pieces for bytes": [_share(split.target.byte_pieces, split.target.tokens) for split in found],
        "source pieces of no word": [_share(split.wordless_pieces, split.source.tokens) for split in found],
        "sentences linked to others": [_share(split.linked_sentences, split.sentences) for split in found],
        "isolated words": [_share(split.isolated_words, split.words) for split in found],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table


def _lengths(found: Sequence[SplitStatistics]) -> Table:
    from docgraph.corpus.statistics import HISTOGRAM

    table = _table("Sentences by their number of tokens, source / target", "tokens", found)
    for place, first in enumerate(HISTOGRAM):
        last = f"-{HISTOGRAM[place + 1] - 1}" if place + 1 < len(HISTOGRAM) else " or more"
        cells = [f"{s.source.histogram[place]:,} / {s.target.histogram[place]:,}" for s in found]
        table.add_row(f"{first}{last}", *cells)
    table.add_section()
    table.add_row("longest", *(f"{split.source.longest:,} / {split.target.longest:,}" for split in found))
    return table


def _edges(found: Sequence[SplitStatistics]) -> Table:
    table = _table("Edges, and edges a word", "relation", found)
    for name in dict.fromkeys(name for split in found for name in split.edges):
        counts = [(split.edges.get(name, 0), max(split.words, 1)) for split in found]
        table.add_row(name, *(f"{count:,} ({count / words:.2f})" for count, words in counts))
    return table


def _outliers(console: Console, found: Sequence[SplitStatistics]) -> None:
    from rich.markup import escape

    for split in found:
        for kind, outliers in split.outliers.items():
            console.print(f"[bold]{split.split}, {kind}[/]")
            for outlier in outliers:
                place = escape(f"{outlier.path}:{outlier.line} (document {outlier.document})")
                console.print(f"  {outlier.value:,.4g}  {place}", highlight=False, soft_wrap=True)
