"""docgraph evaluate: scores of systems with signatures and significance, and measures of whole documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from docgraph.cli.options import AnnotationJobsOption
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.evaluation.metrics import Unit
    from docgraph.evaluation.report import EvaluationReport
    from docgraph.evaluation.significance import Significance, Test

Format = Literal["text", "json", "markdown", "latex"]


def evaluate(
    systems: Annotated[
        list[str],
        typer.Argument(metavar="SYSTEM", help="Translations to score: FILE or NAME=FILE.", show_default=False),
    ],
    reference: Annotated[
        Path,
        typer.Option(
            "-r", "--reference", help="Reference translation; sets the document boundaries.", show_default=False
        ),
    ],
    source: Annotated[Path | None, typer.Option("-s", "--source", help="Source text.")] = None,
    metrics: Annotated[
        str, typer.Option(help="Comma-separated metrics: bleu, d-bleu, chrf, ter, comet.")
    ] = "bleu,d-bleu,chrf,ter",
    lowercase: Annotated[
        bool | None,
        typer.Option("--lowercase/--cased", help="Case of all metrics (default: TER lower-cased, others cased)."),
    ] = None,
    tokenize: Annotated[
        str | None, typer.Option(help="sacreBLEU tokenizer for BLEU, such as zh or char (default: 13a).")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="System that the others are compared with (default: the first).")
    ] = None,
    test: Annotated[
        Literal["bootstrap", "randomisation"],
        typer.Option(help="Paired significance test; p-values are defined as in sacreBLEU."),
    ] = "bootstrap",
    unit: Annotated[Literal["sentence", "document"], typer.Option(help="What the test resamples.")] = "sentence",
    samples: Annotated[
        int | None, typer.Option(min=1, help="Resamples (default: 1,000 for bootstrap, 10,000 for randomisation).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the test; the default is sacreBLEU's.")] = 12345,
    consistency: Annotated[
        bool, typer.Option("--consistency", help="Measure the consistency of repeated words (LTCR); needs --source.")
    ] = False,
    pronouns: Annotated[
        bool, typer.Option("--pronouns", help="Measure the accuracy of pronouns (APT); needs --source.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(help="Break BLEU down by document length, distance of linked context, or both: length,distance."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot each breakdown as STEM-NAME.png (or .svg, .pdf), with JSON and CSV data.")
    ] = None,
    languages: Annotated[str, typer.Option("--langs", help="Source and target language.")] = "en-fr",
    annotator: Annotated[
        str | None,
        typer.Option(help="Annotator spec of the source, such as conllu:parsed.conllu (default: by language)."),
    ] = None,
    align_corpus: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SRC TGT", help="Parallel files to train the word aligner on, besides the test set."),
    ] = None,
    comet_model: Annotated[str | None, typer.Option(help="Name of a cached COMET model, or a checkpoint file.")] = None,
    jobs: AnnotationJobsOption = None,
    format: Annotated[Format, typer.Option(help="Output format.")] = "text",
) -> None:
    """Score translations against a reference.

    Files have one sentence per line and blank lines between documents. Several systems make one table, with marks for
    significant differences from the baseline.

    [bold]Examples[/bold]

    docgraph evaluate base=out/base.fr hyb=out/hyb.fr -r test.fr --unit document

    docgraph evaluate out/*.fr -r test.fr -s test.en --metrics bleu --consistency --pronouns

    docgraph evaluate out/hyb.fr -r test.fr -s test.en --by length,distance --plot hyb.png
    """
    from rich.console import Console

    from docgraph.annotate.runner import default_cache_folder
    from docgraph.evaluation.alignment import BitextAnnotator
    from docgraph.evaluation.evaluation_set import read_evaluation_set
    from docgraph.evaluation.metrics import COMET_MODEL, METRICS, MetricOptions
    from docgraph.evaluation.plots import check_plot_path, write_plot
    from docgraph.evaluation.report import BreakdownName, EvaluationRequest
    from docgraph.evaluation.report import evaluate as run
    from docgraph.workers import available_cores

    if plot is not None:
        check_plot_path(plot)
        if not (by or consistency or pronouns):
            raise DocgraphError("'--plot' draws breakdowns; add --by, --consistency or --pronouns")
    files = system_files(systems)
    data = read_evaluation_set(files, reference, source)
    source_language, _, target_language = languages.partition("-")
    bitext = BitextAnnotator(
        annotator or source_language, target_language, default_cache_folder(), jobs or available_cores()
    )
    significance = _significance(list(files), baseline, test, unit, samples, seed)
    with Console(stderr=True).status("reading") as status:  # silent unless standard error is a terminal
        request = EvaluationRequest(
            metrics=tuple(_split_choices(metrics, "metric", (*METRICS, "comet"))),
            options=MetricOptions(lowercase, tokenize),
            comet_model=comet_model or COMET_MODEL,
            significance=significance,
            by=tuple(_split_choices(by or "", "breakdown", get_args(BreakdownName))),
            consistency=consistency,
            pronouns=languages if pronouns else None,
            annotator=bitext,
            align_corpus=bitext.read_pairs(*align_corpus) if align_corpus is not None else [],
        )
        report = run(data, request, status.update)
    _print(report, format)
    if plot is not None:
        for part in report.breakdowns:
            typer.echo(f"wrote {', '.join(map(str, write_plot(part, plot)))}", err=True)


def system_files(systems: list[str]) -> dict[str, Path]:
    """Returns name -> file. A FILE without a name is named by its stem, or by its path if stems are not unique."""
    files: dict[str, Path] = {}
    stems = [Path(system).stem for system in systems]
    for system in systems:
        name, equals, path = system.partition("=")
        if equals and not Path(system).exists():
            label, file = name, Path(path)
        else:
            file = Path(system)
            label = file.stem if stems.count(file.stem) == 1 else system
        if label in files or label == "reference":
            raise DocgraphError(f"the name '{label}' is taken; name this system by NAME=FILE", path=file)
        files[label] = file
    return files


def _split_choices(text: str, kind: str, known: Sequence[str]) -> list[Any]:
    """Returns the comma-separated names in `text`, each of which must be known."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise DocgraphError(f"there is no {kind} '{name}'; choose from {', '.join(known)}")
    return names


def _significance(
    systems: list[str], baseline: str | None, test: Test, unit: Unit, samples: int | None, seed: int
) -> Significance | None:
    """Returns the significance test; None for a single system."""
    from docgraph.evaluation.significance import SAMPLES, Significance

    if baseline is not None and baseline not in systems:
        raise DocgraphError(f"the baseline '{baseline}' is not one of the systems; choose from {', '.join(systems)}")
    if len(systems) < 2:
        return None
    return Significance(baseline or systems[0], test, unit, samples or SAMPLES[test], seed)


def _print(report: EvaluationReport, format: Format) -> None:
    from docgraph.evaluation.report import latex, markdown, text

    if format == "json":
        from json import dumps

        typer.echo(dumps(report.to_json(), ensure_ascii=False, indent=1))
    elif format == "text":
        from rich.console import Console

        console = Console(width=1000)  # the terminal wraps wider lines, and nothing is cut off
        for part in text(report):
            console.print(part, highlight=False)
    else:
        typer.echo((markdown if format == "markdown" else latex)(report), nl=False)
