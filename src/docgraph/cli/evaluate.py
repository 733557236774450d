"""docgraph evaluate: scores of systems with their signatures and significance, and measures of whole documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.evaluation.metrics import Unit
    from docgraph.evaluation.report import Report
    from docgraph.evaluation.significance import Significance, Test

Format = Literal["text", "json", "markdown", "latex"]


def evaluate(
    systems: Annotated[
        list[str], typer.Argument(metavar="SYSTEM...", help="Outputs: FILE, or NAME=FILE.", show_default=False)
    ],
    reference: Annotated[
        Path,
        typer.Option("-r", "--reference", help="The reference translation; gives the documents.", show_default=False),
    ],
    source: Annotated[Path | None, typer.Option("-s", "--source", help="The source text.")] = None,
    metrics: Annotated[str, typer.Option(help="bleu, d-bleu, chrf, ter, comet; with commas.")] = "bleu,d-bleu,chrf,ter",
    lowercase: Annotated[
        bool | None,
        typer.Option(
            "--lowercase/--cased", help="For all metrics; by default as sacreBLEU (TER lower-cased, others not)."
        ),
    ] = None,
    tokenize: Annotated[str | None, typer.Option(help="BLEU's tokenizer (13a, zh, char, ...); 13a otherwise.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The system others are compared with; the first otherwise.")
    ] = None,
    test: Annotated[
        Literal["bootstrap", "randomisation"], typer.Option(help="Test of significance against the baseline.")
    ] = "bootstrap",
    unit: Annotated[Literal["sentence", "document"], typer.Option(help="What the test resamples.")] = "sentence",
    samples: Annotated[
        int | None, typer.Option(min=1, help="Resamples; 1,000 (bootstrap) or 10,000 (randomisation) otherwise.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the test; sacreBLEU's by default.")] = 12345,
    consistency: Annotated[
        bool, typer.Option("--consistency", help="Whether repeated words keep their translation (LTCR).")
    ] = False,
    pronouns: Annotated[bool, typer.Option("--pronouns", help="Accuracy of pronoun translation (APT).")] = False,
    by: Annotated[
        str | None, typer.Option(help="BLEU by document length, by distance to the linked context: length,distance.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw each breakdown: STEM-NAME.png (or .svg, .pdf), data beside it.")
    ] = None,
    languages: Annotated[str, typer.Option("--langs", help="Source and target language, with a hyphen.")] = "en-fr",
    annotator: Annotated[
        str | None, typer.Option(help="Annotator of the source by spec, such as conllu:parsed.conllu.")
    ] = None,
    align_corpus: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="SRC TGT", help="More sentence pairs for the word aligner.")
    ] = None,
    comet_model: Annotated[str | None, typer.Option(help="Name of a cached COMET model, or a checkpoint file.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that annotate; all cores otherwise.")] = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = "text",
) -> None:
    """Score translations: one sentence a line, blank lines between documents.

    Several systems make one table, with marks where they differ significantly from the baseline.

    [bold]Examples[/bold]

    docgraph evaluate base=out/base.fr hyb=out/hyb.fr -r test.fr --unit document

    docgraph evaluate out/*.fr -r test.fr -s test.en --metrics bleu --consistency --pronouns

    docgraph evaluate out/hyb.fr -r test.fr -s test.en --by length,distance --plot hyb.png
    """
    from docgraph.annotate.runner import default_cache_folder
    from docgraph.evaluation.alignment import Languages
    from docgraph.evaluation.comet_ import MODEL
    from docgraph.evaluation.dataset import read_set
    from docgraph.evaluation.metrics import METRICS, Options
    from docgraph.evaluation.plots import check_plot_path, write_plot
    from docgraph.evaluation.report import By, Request
    from docgraph.evaluation.report import evaluate as run
    from docgraph.workers import available_cores

    if plot is not None:
        check_plot_path(plot)
    files = _named(systems)
    data = read_set(files, reference, source)
    origin, _, target = languages.partition("-")
    tools = Languages(annotator or origin, target, default_cache_folder(), jobs or available_cores())
    compared = _significance(list(files), baseline, test, unit, samples, seed)
    with _status() as say:
        request = Request(
            metrics=tuple(_choices(metrics, "metric", (*METRICS, "comet"))),
            options=Options(lowercase, tokenize),
            comet_model=comet_model or MODEL,
            significance=compared,
            by=tuple(_choices(by or "", "breakdown", get_args(By))),
            consistency=consistency,
            pronouns=languages if pronouns else None,
            languages=tools,
            align_corpus=tools.read_pairs(*align_corpus) if align_corpus is not None else [],
        )
        report = run(data, request, say)
    _print(report, format)
    if plot is not None:
        for part in report.breakdowns:
            typer.echo(f"wrote {', '.join(map(str, write_plot(part, plot)))}", err=True)


def _named(systems: list[str]) -> dict[str, Path]:
    """Name -> file, from NAME=FILE, or FILE alone: then its stem, or its whole path where several have that stem."""
    named: dict[str, Path] = {}
    stems = [Path(system).stem for system in systems]
    for system in systems:
        name, equals, path = system.partition("=")
        if equals and not Path(system).exists():
            label, file = name, Path(path)
        else:
            file = Path(system)
            label = file.stem if stems.count(file.stem) == 1 else system
        if label in named or label == "reference":
            raise DocgraphError(f"the name '{label}' is taken; name this system by NAME=FILE", path=file)
        named[label] = file
    return named


def _choices(text: str, kind: str, known: Sequence[str]) -> list[Any]:
    """Names with commas, each one of the known."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise DocgraphError(f"there is no {kind} '{name}'; choose among {', '.join(known)}")
    return names


def _significance(
    systems: list[str], baseline: str | None, test: Test, unit: Unit, samples: int | None, seed: int
) -> Significance | None:
    """The test asked for; none for a single system."""
    from docgraph.evaluation.significance import SAMPLES, Significance

    if baseline is not None and baseline not in systems:
        raise DocgraphError(f"the baseline '{baseline}' is none of the systems; choose among {', '.join(systems)}")
    if len(systems) < 2:
        return None
    return Significance(baseline or systems[0], test, unit, samples or SAMPLES[test], seed)


def _print(report: Report, format: Format) -> None:
    from docgraph.evaluation import table

    if format == "json":
        from json import dumps

        typer.echo(dumps(report.to_json(), ensure_ascii=False, indent=1))
    elif format == "text":
        from rich.console import Console

        # What is wider than the terminal is wrapped by it, and loses nothing.
        console = Console(width=1000)
        for part in table.text(report):
            console.print(part, highlight=False)
    else:
        typer.echo((table.markdown if format == "markdown" else table.latex)(report), nl=False)


@contextmanager
def _status() -> Iterator[Callable[[str], None]]:
    """Says what is being done, on the standard error; silent when that is no terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda stage: None
        return
    with console.status("reading") as status:
        yield status.update
