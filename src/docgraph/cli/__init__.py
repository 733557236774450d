"""The command line: one verb a module, thin; errors in one sentence, exit code 2.

Nothing heavy is imported here or at the top of a verb's module: `docgraph --help` must answer at once.
"""

from __future__ import annotations

import os
import sys

import typer

from docgraph.cli import (
    analyse,
    annotate,
    evaluate,
    experiment,
    graph,
    model,
    prepare,
    probe,
    train,
    translate,
)
from docgraph.errors import DocgraphError

app = typer.Typer(
    name="docgraph",
    help="Translate whole documents with document graphs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("analyse")(analyse.analyse)
app.command("annotate")(annotate.annotate)
app.command("evaluate")(evaluate.evaluate)
app.command("experiment")(experiment.experiment)
app.command("graph")(graph.graph)
app.command("model")(model.model)
app.command("prepare")(prepare.prepare)
app.command("pretranslate")(translate.pretranslate)
app.command("probe")(probe.probe)
app.command("recall")(model.recall)
app.command("train")(train.train)
app.command("translate")(translate.translate)
app.add_typer(prepare.debug_app, name="debug")
app.add_typer(model.import_app, name="import")


def _version(value: bool) -> None:
    if value:
        from docgraph import __version__

        typer.echo(f"docgraph {__version__}")
        raise typer.Exit


@app.callback()
def common(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error.", envvar="DOCGRAPH_DEBUG"),
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    if debug:
        os.environ["DOCGRAPH_DEBUG"] = "1"


def main() -> None:
    """Run a verb; a DocgraphError or an operating-system error becomes one sentence and exit code 2."""
    try:
        app()
    except (DocgraphError, OSError) as error:
        if os.environ.get("DOCGRAPH_DEBUG"):
            raise
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()
            raise SystemExit(141) from None
        print(f"docgraph: {_sentence(error)}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("docgraph: interrupted; run the same command again to go on", file=sys.stderr)
        raise SystemExit(130) from None


def _sentence(error: DocgraphError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}" if error.filename else error.strerror.lower()
    return str(error)
