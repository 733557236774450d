"""docgraph translate: documents into another language, their layout kept."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docgraph.cli.progress import Bars
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.translation.files import Form, Job

ModeName = Literal["parallel", "sequential"]
PrecisionName = Literal["float32", "bfloat16", "int8"]


def translate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILES]...", help="Files or folders; the standard input without any.", show_default=False
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="A file, or a folder for several (FOLDER/ for one); the standard output otherwise.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="A model folder, a run folder, or the name of a model that ships."),
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses kept at each step; 1 is fastest.")] = 4,
    length_penalty: Annotated[float, typer.Option(min=0, help="The higher, the longer the translations.")] = 0.6,
    n_best: Annotated[int, typer.Option(min=1, help="Translations of each sentence, as a table or in --jsonl.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="A line a sentence: score, tab, translation.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="A JSON object a sentence, with all that is known.")] = False,
    explain: Annotated[
        Path | None, typer.Option(metavar="PAGE.html", help="Write a page that shows what each sentence looked at.")
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="Known translations, a line for each of the file's, empty where unknown: kept, and context."),
    ] = None,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Translation memory to go by: a .tmx, a .tsv, or SOURCE,TARGET text files; repeatable."
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="lines, text, markdown, html, srt, vtt or docx; by the names of the files otherwise."),
    ] = None,
    mode: Annotated[
        ModeName, typer.Option(help="All sentences at once, or one after the other: slower, with the same result.")
    ] = "parallel",
    passes: Annotated[
        int | None,
        typer.Option(min=1, help="Look at no sentence more often, for speed; until nothing changes otherwise."),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Annotator by spec, for a model that reads document graphs.")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Target language of a model with several, such as '>>fra<<'.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; a GPU where there is one otherwise.")] = None,
    precision: Annotated[
        PrecisionName | None, typer.Option(help="float32 otherwise, or int8 where the model is stored so.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of a CPU; all its cores otherwise.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Source sub-words translated together.")] = 16_384,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run stopped; leave finished files alone.")
    ] = False,
) -> None:
    """Translate documents. Markup, timestamps and layout stay as they are; only the text changes.

    Sentences see the rest of their document. In plain text, one sentence a line or prose is told by its looks, and
    blank lines between lines of sentences part documents. A file is written whole or not at all.

    [bold]Examples[/bold]

    docgraph translate report.docx -o report.fr.docx

    docgraph translate talks/ -o talks.fr/ --model runs/hyb --resume

    docgraph translate talk.txt -o talk.fr.txt --known corrected.txt

    docgraph translate manual.html -o manual.fr.html --memory company.tmx

    echo "She saw the door. It was open." | docgraph translate --explain page.html
    """
    from docgraph.allocator import keep_freed_memory
    from docgraph.translation.models import find_model

    keep_freed_memory()
    # Threads that wait for work sleep: spinning, they take turns with those of other programs, several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    folder = find_model(model)
    if explain is not None and (len(files or []) > 1 or any(path.is_dir() for path in files or [])):
        raise DocgraphError("a page is for one file; give one with --explain")
    form: Form = "jsonl" if jsonl else "table" if scores or n_best > 1 else "document"
    with _no_collection():
        from docgraph.model.checkpoint import fingerprint
        from docgraph.translation.files import BulkOptions, find_jobs, translate_files
        from docgraph.translation.search import SearchConfig
        from docgraph.translation.translator import Translator

        if output is not None and output.endswith("/"):
            Path(output).mkdir(parents=True, exist_ok=True)
        jobs = find_jobs(files or [], None if output is None else Path(output), form, format, known)
        translator = Translator.load(folder, device, precision, threads, annotator, tag)
        if memory:
            from docgraph.translation.translation_memory import TranslationMemory

            translator.memory = TranslationMemory.read(memory, translator.languages)
    search = SearchConfig(beams=max(beam, n_best), length_penalty=length_penalty, n_best=n_best, passes=passes)
    made_with = {
        "the model": fingerprint(folder),
        "the memory": "" if translator.memory is None else translator.memory.digest,
        "the annotator": str(annotator),
        "the tag": str(tag),
        "the precision": str(precision),
    }
    options = BulkOptions(search, mode, format, form, explain is not None or jsonl, resume, batch, made_with)
    try:
        with _Progress(jobs) as progress:
            translations, failures = translate_files(translator, jobs, options, progress)
    except KeyboardInterrupt:
        kept = "what is done is kept, go on with --resume" if output else "with -o, what is done would be kept"
        typer.echo(f"docgraph: interrupted; {kept}", err=True)
        raise SystemExit(130) from None
    if explain is not None:
        from docgraph.files import replacing
        from docgraph.translation.page import to_html

        with replacing(explain) as path:
            path.write_text(to_html(translations, translator.languages), "utf-8")
        typer.echo(f"wrote {explain}", err=True)
    if failures:
        raise SystemExit(2)


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection while things are loaded, which stay: a tenth of the time until the first sentence."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Progress(Bars):
    """A bar of what there is to read, with sentences a second."""

    def __init__(self, jobs: list[Job]) -> None:
        super().__init__("sentences")
        self._sizes = {job: job.size for job in jobs}
        self._shares = dict.fromkeys(jobs, 0.0)
        self._sentences = 0

    def advance(self, job: Job, sentences: int, share: float) -> None:
        self._sentences += sentences
        self._shares[job] = min(self._shares[job] + share, 1.0)
        done = sum(self._sizes[each] * share for each, share in self._shares.items())
        self.update("translating", self._sentences, done, sum(self._sizes.values()))

    def finish(self, job: Job) -> None:
        self.advance(job, 0, 1.0)

    def note(self, message: str) -> None:
        self.console.print(f"docgraph: {message}", markup=False, highlight=False, soft_wrap=True)
