"""The command line: one thin module per command or family of commands; an error is one sentence and exit code 2.

Nothing heavy is imported here or at the top of a command's module, so that `docgraph --help` answers at once.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable

import typer

from docgraph.cli import (
    analyse,
    annotate,
    case_study,
    evaluate,
    experiment,
    graph,
    model,
    prepare,
    probe,
    serve,
    train,
    translate,
)
from docgraph.errors import DocgraphError
from docgraph.files import display_name

app = typer.Typer(
    name="docgraph",
    help="Translate whole documents with document graphs.",
    epilog="Example: docgraph translate letter.docx -o letter.fr.docx. Help on a command: docgraph COMMAND --help.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, dict[str, tuple[Callable[..., None] | typer.Typer, str]]] = {
    "Translate": {
        "translate": (translate.translate, "Translate documents and keep their layout"),
        "serve": (serve.serve, "Serve translation over HTTP, with a workbench in the browser"),
    },
    "Look into documents": {
        "graph": (graph.graph, "Show the graph that links the words of a document"),
        "annotate": (annotate.annotate, "Find words, lemmas, dependency heads and coreference"),
    },
    "Make models": {
        "prepare": (prepare.prepare, "Turn a parallel corpus into a store for training"),
        "debug": (prepare.debug_app, "Inspect data before training"),
        "train": (train.train, "Train a model, or continue a training run"),
        "hints": (prepare.hints, "Find what words refer to, for training on hints"),
        "pretranslate": (prepare.pretranslate, "Translate a prepared corpus for training on translations"),
        "import": (model.import_app, "Convert a model of another toolkit"),
        "recall": (model.recall, "Let a model read known translations, without training"),
        "model": (model.model, "Count the parameters of a model"),
    },
    "Evaluate": {
        "evaluate": (evaluate.evaluate, "Score translations against a reference"),
        "probe": (probe.probe, "Test a model on contrastive suites"),
    },
    "Reproduce the paper": {
        "experiment": (experiment.experiment, "Run an experiment and print its table"),
        "analyse": (analyse.analyse, "Analyse how systems use context"),
        "case-study": (case_study.case_study, "Compare how two systems translate one term"),
    },
}
"""Panel of `docgraph --help` -> command -> function (or group of commands) and one-line help."""


def _unwrap(text: str) -> str:
    """Joins lines that were wrapped at the width of the source, so that the terminal wraps them at its own.

    A line that begins with "name: " (also in bold) is a list item and stays a line.
    """
    first, *rest = inspect.cleandoc(text).split("\n")
    lines = [first]
    for line, before in zip(rest, [first, *rest], strict=False):
        item = re.match(r"(\[bold\])?[\w-]+(\[/bold\])?: ", line)
        wrapped = line and len(before) + 1 + len(line.split()[0]) > 100 and not item
        lines[-1:] = [f"{lines[-1]} {line}"] if wrapped else [lines[-1], line]
    return "\n".join(lines)


def _register(app: typer.Typer) -> None:
    """Adds all commands to the app."""
    for panel, commands in COMMANDS.items():
        for name, (command, summary) in commands.items():
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, short_help=summary, rich_help_panel=panel)
                for inner in command.registered_commands:
                    inner.help = _unwrap((inner.callback.__doc__ if inner.callback else None) or "")
            else:
                text = _unwrap(command.__doc__ or "")
                app.command(name, help=text, short_help=summary, rich_help_panel=panel)(command)


_register(app)


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
    """Options of every command."""
    if debug:
        os.environ["DOCGRAPH_DEBUG"] = "1"


def main() -> None:
    """Runs a command; a DocgraphError or an operating-system error becomes one sentence and exit code 2."""
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
    except SystemExit as stop:
        if stop.code == 130 and isinstance(stop.__context__, typer.Exit):  # typer's exit after a KeyboardInterrupt
            print("docgraph: interrupted; run the same command again to continue", file=sys.stderr)
        raise


def _sentence(error: DocgraphError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = error.filename if isinstance(error.filename, (str, os.PathLike)) else None
        return f"{display_name(os.fspath(name))}: {error.strerror.lower()}" if name else error.strerror.lower()
    return str(error)
