"""docgraph prepare, debug data, hints and pretranslate: prepare a parallel corpus, inspect it, and add to it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docgraph.cli.options import DeviceOption, EngineName, JobsOption
from docgraph.cli.progress import ProgressBars
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from docgraph.corpus.prepare import PreparationReport
    from docgraph.corpus.statistics import SplitStatistics

debug_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


def prepare(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML data config.", show_default=False)],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a field of the config; repeatable.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Drop and count bad sentence pairs instead of stopping at the first.")
    ] = False,
    jobs: JobsOption = None,
    engine: Annotated[
        EngineName,
        typer.Option(help="Where to run: this machine, or a Ray cluster ($RAY_ADDRESS; without it, a local Ray)."),
    ] = "local",
    cache: Annotated[
        Path | None, typer.Option(help="Folder of cached annotations (default: in the user's cache folder).")
    ] = None,
) -> None:
    """Read a parallel corpus, learn sub-words, annotate the source, and write the store for training.

    If nothing has changed since the last run, nothing is done. An interrupted run continues where it stopped.

    [bold]Examples[/bold]

    docgraph prepare configs/data/own_en-fr.yaml --jobs 2

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
    with ProgressBars("sentences") as bars:
        report = run(
            settings,
            skip_bad=skip_bad,
            jobs=jobs or available_cores(),
            engine=ENGINES[engine],
            cache=cache,
            progress=lambda stage, done, total: bars.update(stage, done, done, total),
        )
    _print_report(Console(), report)


def _print_report(console: Console, report: PreparationReport) -> None:
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
            message = f"{name}: {count:,} pairs dropped: {reason} (first: {first})"
            console.print(message, highlight=False, soft_wrap=True)
    for note in report.notes:
        console.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    source, target = report.vocabulary
    sizes = f"{source:,}" if source == target else f"{source:,} and {target:,}"
    summary = f"vocabulary {sizes}; {report.bytes / 1e6:,.1f} MB; {report.seconds:,.1f} s"
    console.print(f"{summary}; largest process {_peak_megabytes():,.0f} MB", highlight=False)


def _peak_megabytes() -> float:
    """Returns the peak memory of the largest process, this one or a worker."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    peaks = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(peaks) * unit / 1e6


@debug_app.callback()
def debug() -> None:
    """Inspect data before training on it.

    [bold]Example[/bold]

    docgraph debug data prepared/own_en-fr
    """


@debug_app.command("data")
def debug_data(
    source: Annotated[
        Path, typer.Argument(metavar="CONFIG|STORE", help="YAML data config, or its store.", show_default=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    relations: Annotated[
        str, typer.Option(help="Relations or groups of them (intra, inter, all), separated by commas.")
    ] = "all",
    skip_stop_words: Annotated[
        bool, typer.Option("--skip-stop-words", help="Ignore lexical links of punctuation and function words.")
    ] = False,
    max_distance: Annotated[
        int | None,
        typer.Option(min=0, help="Maximum distance of linked words, in sentences (default: no limit)."),
    ] = None,
    worst: Annotated[int, typer.Option(min=1, help="Number of outliers of each kind to show.")] = 5,
) -> None:
    """Print statistics of a prepared corpus: lengths, unknown pieces, edges, linked sentences, outliers.

    Graphs are built from the stored annotations, so that other relations need no second preparation.

    [bold]Examples[/bold]

    docgraph debug data configs/data/own_en-fr.yaml

    docgraph debug data prepared/own_en-fr --relations inter --max-distance 20 --json
    """
    from docgraph.corpus.statistics import statistics
    from docgraph.corpus.store import PreparedCorpus, read_manifest
    from docgraph.graph import RelationOptions, resolve_relations

    folder = _store_folder(source)
    resolve_relations(relations)
    options = RelationOptions(skip_stop_words=skip_stop_words, max_distance=max_distance)
    corpora = [PreparedCorpus.open(folder, split) for split in read_manifest(folder)["splits"]]
    splits = [statistics(corpus, relations, options, worst) for corpus in corpora]
    if json:
        from json import dumps

        typer.echo(dumps({split.split: split.to_dict() for split in splits}, indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    console = Console()
    for table in (_overview(splits), _lengths(splits), _edges(splits)):
        console.print(table)
    _print_outliers(console, splits)


def _store_folder(source: Path) -> Path:
    if source.is_dir():
        return source
    if not source.exists():
        raise DocgraphError("there is no such config or store; give an existing one", path=source)
    from docgraph.config import read_config
    from docgraph.corpus.config import PrepareConfig

    return Path(read_config(PrepareConfig, source).out)


def _table(title: str, first: str, splits: Sequence[SplitStatistics]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for split in splits:
        table.add_column(split.split, justify="right")
    return table


def _share(part: int, total: int) -> str:
    return f"{part:,} ({part / total:.2%})" if total else f"{part:,}"


def _overview(splits: Sequence[SplitStatistics]) -> Table:
    table = _table("Corpus", "", splits)
    rows = {
        "documents": [f"{split.documents:,}" for split in splits],
        "sentences": [f"{split.sentences:,}" for split in splits],
        "longest document, in sentences": [f"{split.longest_document:,}" for split in splits],
        "source words": [f"{split.words:,}" for split in splits],
        "source tokens": [f"{split.source.tokens:,}" for split in splits],
        "target tokens": [f"{split.target.tokens:,}" for split in splits],
        "unknown source pieces": [_share(split.source.unknown, split.source.tokens) for split in splits],
        "unknown target pieces": [_share(split.target.unknown, split.target.tokens) for split in splits],
        "source byte pieces": [_share(split.source.byte_pieces, split.source.tokens) for split in splits],
        "target byte pieces": [_share(split.target.byte_pieces, split.target.tokens) for split in splits],
        "source pieces of no word": [_share(split.wordless_pieces, split.source.tokens) for split in splits],
        "sentences linked to others": [_share(split.linked_sentences, split.sentences) for split in splits],
        "isolated words": [_share(split.isolated_words, split.words) for split in splits],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table


def _lengths(splits: Sequence[SplitStatistics]) -> Table:
    from docgraph.corpus.statistics import HISTOGRAM

    table = _table("Sentences by number of tokens, source / target", "tokens", splits)
    for index, first in enumerate(HISTOGRAM):
        last = f"-{HISTOGRAM[index + 1] - 1}" if index + 1 < len(HISTOGRAM) else " or more"
        cells = [f"{split.source.histogram[index]:,} / {split.target.histogram[index]:,}" for split in splits]
        table.add_row(f"{first}{last}", *cells)
    table.add_section()
    table.add_row("longest", *(f"{split.source.longest:,} / {split.target.longest:,}" for split in splits))
    return table


def _edges(splits: Sequence[SplitStatistics]) -> Table:
    table = _table("Edges, and edges per word", "relation", splits)
    for name in dict.fromkeys(name for split in splits for name in split.edges):
        counts = [(split.edges.get(name, 0), max(split.words, 1)) for split in splits]
        table.add_row(name, *(f"{count:,} ({count / words:.2f})" for count, words in counts))
    return table


def _print_outliers(console: Console, splits: Sequence[SplitStatistics]) -> None:
    from rich.markup import escape

    for split in splits:
        for kind, outliers in split.outliers.items():
            console.print(f"[bold]{split.split}, {kind}[/]")
            for outlier in outliers:
                position = escape(f"{outlier.path}:{outlier.line} (document {outlier.document})")
                console.print(f"  {outlier.value:,.4g}  {position}", highlight=False, soft_wrap=True)


def hints(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Prepared corpus.", show_default=False)],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Model that aligns antecedents with translations; needed for pronouns."),
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Split (default: all splits of the store). Repeatable.")
    ] = None,
    dictionary: Annotated[
        str | None, typer.Option(help="Embedded dictionary, such as en-fr, whose words get hints.", show_default=False)
    ] = None,
    previous: Annotated[
        bool, typer.Option("--previous", help="Short sentences without other hints get the sentence before.")
    ] = False,
    device: DeviceOption = None,
) -> None:
    """Find what the words of a prepared corpus refer to, for a model that reads hints.

    Uses of defined terms get the translation that the definition prints. With a model, pronouns also get the
    translation of their antecedent in an earlier sentence. With a dictionary, its words get its translations. The model
    must have the sub-words of the corpus; a training config needs [bold]model.hints[/bold]. The files are written into
    the store.

    [bold]Example[/bold]

    docgraph hints prepared/statutes_en-fr
    """
    from docgraph.corpus import subwords
    from docgraph.corpus.hints import make_hints
    from docgraph.corpus.store import PreparedCorpus, read_manifest
    from docgraph.model import checkpoint
    from docgraph.model.device import find_device
    from docgraph.model.model_folder import ModelFolder, find_model

    aligner = None
    if model is not None:
        folder = find_model(model)
        ours, theirs = (subwords.digest(subwords.files_of(one)) for one in (store / "tokenizer", folder))
        if ours != theirs:
            raise DocgraphError(f"has other sub-words than {store}; prepare it with 'subwords.folder'", path=folder)
        aligner = checkpoint.load(ModelFolder(folder), find_device(device)).eval()
    relations = ["definition", *(["coreference"] if aligner is not None else [])]
    relations += [f"dictionary:{dictionary}"] if dictionary is not None else []
    relations += ["previous"] if previous else []
    with ProgressBars("documents") as bars:
        for name in split or read_manifest(store)["splits"]:
            corpus = PreparedCorpus.open(store, name)
            path = make_hints(corpus, relations, aligner, partial(bars.show, name))
            bars.console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def pretranslate(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Prepared corpus.", show_default=False)],
    model: Annotated[str, typer.Option("--model", "-m", help="Model folder or run folder.", show_default=False)],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Output folder for the translations.", show_default=False)
    ],
    split: Annotated[
        list[str] | None, typer.Option(help="Split to translate (default: train and dev). Repeatable.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Beam size; 1 is greedy search and fastest.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Source sub-words translated together.")] = 65_536,
    device: DeviceOption = None,
) -> None:
    """Translate a prepared corpus, so that training can use translations instead of references as target context.

    A training config refers to the output folder as [bold]translations.folder[/bold]. The model must have the same
    sub-words as the corpus. Output files appear only when they are complete.

    [bold]Example[/bold]

    docgraph pretranslate prepared/europarl_en-fr --model runs/base -o prepared/europarl_en-fr_own
    """
    from docgraph.corpus.store import PreparedCorpus
    from docgraph.model.model_folder import find_model
    from docgraph.translation import pretranslation
    from docgraph.translation.decoding.hypotheses import SearchConfig
    from docgraph.workers import keep_freed_memory

    keep_freed_memory()
    folder = find_model(model)
    corpora = [PreparedCorpus.open(store, name) for name in split or ("train", "dev")]
    with ProgressBars("sentences") as bars:
        for corpus in corpora:
            progress = partial(bars.show, corpus.split)
            search = SearchConfig(beams=beam)
            path = pretranslation.pretranslate(folder, corpus, output, search, device, batch, progress)
            bars.console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)
