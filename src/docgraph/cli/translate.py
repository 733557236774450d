"""docgraph translate."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docgraph.cli.options import DeviceOption, EngineName, ModelOption
from docgraph.cli.progress import ProgressBars
from docgraph.cli.translation_pages import check_pages, write_bilingual_files, write_page

if TYPE_CHECKING:
    from docgraph.translation.files.jobs import Form, Job, Jobs
    from docgraph.translation.files.translate import Report

ModeName = Literal["parallel", "sequential"]
PrecisionName = Literal["float32", "bfloat16", "int8"]
FormalityName = Literal["auto", "formal", "informal", "any"]
_HINT = "(--explain or --jsonl shows why)"


def translate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES", help="Files or folders to translate (default: standard input).", show_default=False
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="Output file, or output folder for several files (default: standard output). A path that ends in /"
            " is a folder.",
        ),
    ] = None,
    model: ModelOption = None,
    beam: Annotated[int, typer.Option(min=1, help="Beam size; 1 is greedy search and fastest.")] = 4,
    length_penalty: Annotated[
        float, typer.Option(min=0, help="Length penalty; higher values prefer longer translations.")
    ] = 1.0,
    n_best: Annotated[
        int, typer.Option(min=1, help="Print this many translations per sentence, as a table or with --jsonl.")
    ] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Print one line per sentence: score, tab, translation.")] = (
        False
    ),
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON object per sentence, with scores and context.")
    ] = False,
    explain: Annotated[
        Path | None,
        typer.Option(metavar="PAGE.html", help="Write an HTML page that shows which sentences each sentence read."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known translations, which are kept and used as context: an edited file of --bilingual, or a text with"
            " one translation per input line, empty if unknown.",
        ),
    ] = None,
    bilingual: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write source and translation side by side: .xlf (XLIFF), .tmx, .tsv, or .html (a page to edit in the"
            " browser). Edit it and pass it as --known; the other sentences follow.",
        ),
    ] = None,
    export_memory: Annotated[
        Path | None,
        typer.Option(metavar="FILE.tmx", help="Write the known translations of the file as a translation memory."),
    ] = None,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Translation memory to use as context: a .tmx file, a .tsv file, or two text files SOURCE,TARGET."
            " Repeatable.",
        ),
    ] = None,
    glossary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Glossary whose translations must be used: a .tsv, .csv or .tbx file of terms and translations; an"
            " empty translation keeps the term. Repeatable.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            help="Input format: lines, text, markdown, rst, html, srt, vtt, docx, odt, pptx, xlsx, epub, po, xliff,"
            " json, arb, yaml, properties, csv or tsv (default: detected by file name and content). csv:en:fr names the"
            " columns of texts and translations."
        ),
    ] = None,
    mode: Annotated[
        ModeName,
        typer.Option(help="Decode all sentences together or one after the other; sequential is slower, same result."),
    ] = "parallel",
    passes: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum decoding passes over a document (default: until nothing changes)."),
    ] = None,
    annotator: Annotated[
        str | None,
        typer.Option(help="Annotator, such as spacy:fr_core_news_sm (default: that of the source language)."),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(help="Target language of a multilingual model, such as '>>fra<<' (default: the model folder's)."),
    ] = None,
    device: DeviceOption = None,
    precision: Annotated[
        PrecisionName | None,
        typer.Option(help="Compute precision (default: float32, or int8 on a CPU if the weights are stored in int8)."),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of CPU threads (default: all cores).")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Source sub-words translated together.")] = 16_384,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Translate everything: texts, and paragraphs in them, that are not in the source language of the"
            " model.",
        ),
    ] = False,
    reading_speed: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="CPS",
            help="For subtitles: maximum characters per second. Words move between the cues of a sentence; times stay.",
        ),
    ] = None,
    line_length: Annotated[
        int | None,
        typer.Option(
            min=8, metavar="CHARACTERS", help="For subtitles: maximum characters per line; longer lines are broken."
        ),
    ] = None,
    names: Annotated[
        bool,
        typer.Option(
            help="Keep names of people, places, products and files consistent throughout a document: decode sentences"
            " again that lose or change one."
        ),
    ] = True,
    formality: Annotated[
        FormalityName,
        typer.Option(
            help="How a document addresses people: formal (vous), informal (tu), auto (whichever of the two is more"
            " frequent in it), or any (the model decides in each sentence). Into French only."
        ),
    ] = "any",
    repair: Annotated[
        bool,
        typer.Option(
            help="Decode doubtful translations again: loops, unlikely lengths, copies of the source, lost"
            " numbers, placeholders, brackets or negation."
        ),
    ] = True,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run; skip files that are finished.")
    ] = False,
    engine: Annotated[
        EngineName,
        typer.Option(
            help="Where to translate: in this process, or file by file on a Ray cluster ($RAY_ADDRESS; without it, a"
            " local Ray with one worker per core)."
        ),
    ] = "local",
) -> None:
    """Translate documents. Markup, timestamps and layout are kept; only the text changes.

    The embedded model reads a sentence with hints from the rest of the document: how it translated what a pronoun or a
    defined term refers to. With --known or --memory it also reads known translations of related sentences. A model
    trained with document context reads the whole document.

    Plain text is read as one sentence per line or as prose, whichever it looks like. With one sentence per line, blank
    lines separate documents. Output files appear only when they are complete.

    In PO and XLIFF files and tables, only texts without a translation are translated, and marked for review.

    A file that no format reads, or in another language than the model's, is refused; in a folder, files that no format
    reads are copied unchanged. A translation that repeats itself, or loses a number or a placeholder, is decoded again;
    if it stays doubtful, it is counted and marked.

    [bold]Examples[/bold]

    docgraph translate report.docx -o report.fr.docx

    docgraph translate messages.pot -o fr.po

    docgraph translate strings.csv -o strings.fr.csv --format csv:en:fr

    docgraph translate talks/ -o talks.fr/ --model runs/hyb --resume

    RAY_ADDRESS=auto docgraph translate talks/ -o talks.fr/ --engine ray --resume

    docgraph translate talk.txt -o talk.fr.txt --known corrected.txt

    docgraph translate report.docx --bilingual report.xlf -o report.fr.docx

    docgraph translate report.docx --known report.xlf -o report.fr.docx

    docgraph translate manual.html -o manual.fr.html --memory company.tmx --glossary terms.tsv

    docgraph translate talk.srt -o talk.fr.srt --line-length 42 --reading-speed 17

    echo "She saw the door. It was open." | docgraph translate --explain page.html
    """
    from docgraph.model.model_folder import ModelFolder, find_model
    from docgraph.workers import available_cores, keep_freed_memory, let_idle_threads_sleep

    keep_freed_memory()
    let_idle_threads_sleep()
    folder = ModelFolder(find_model(model))
    check_pages({"--explain": explain, "--bilingual": bilingual, "--export-memory": export_memory}, files or [])
    form: Form = "jsonl" if jsonl else "table" if scores or n_best > 1 else "document"
    with _no_collection():
        from docgraph.formats import SubtitleLimits
        from docgraph.translation.decoding.hypotheses import SearchConfig
        from docgraph.translation.files.jobs import find_jobs
        from docgraph.translation.files.translate import FileOptions, translate_files
        from docgraph.translation.translator import Translator

        if output is not None and output.endswith("/"):
            Path(output).mkdir(parents=True, exist_ok=True)
        source_language = folder.languages[0] if folder.languages else None
        jobs = find_jobs(files or [], None if output is None else Path(output), form, format, known, source_language)
        translator = Translator.load(folder, device, precision, threads, annotator, tag)
        translator.repair, translator.names, translator.keep_foreign = repair, names, not force
        translator.formality = formality
        if memory:
            from docgraph.translation.translation_memory import TranslationMemory

            translator.memory = TranslationMemory.read(memory, translator.languages)
        if glossary:
            from docgraph.translation.terms.glossary import Glossary

            translator.glossary = Glossary.read(glossary, translator.languages)
            for note in translator.glossary.notes:
                typer.echo(f"docgraph: {note}; the model chooses", err=True)
    search = SearchConfig(beams=max(beam, n_best), length_penalty=length_penalty, n_best=n_best, passes=passes)
    made_with = {
        "the model": folder.fingerprint,
        "the memory": "" if translator.memory is None else translator.memory.digest,
        "the glossary": "" if translator.glossary is None else translator.glossary.digest,
        "the annotator": str(annotator),
        "the tag": str(tag),
        "the precision": str(precision),
        "the names": str(names),
        "the formality": formality,
        "the repair": str(repair),
        "the languages that are translated": "all" if force else "",
        "the limits of subtitles": f"{reading_speed} {line_length}",
    }
    limits = SubtitleLimits(reading_speed, line_length)
    shows_context = explain is not None or jsonl
    options = FileOptions(
        search,
        mode,
        format=format,
        form=form,
        explain=shows_context,
        resume=resume,
        tokens=batch,
        made_with=made_with,
        force=force,
        limits=limits,
    )
    ray_engine = None
    if engine == "ray":
        from docgraph.translation.files.cluster import RayEngine, TranslationTask

        settings = {"device": device, "precision": precision, "annotator": annotator, "tag": tag}
        ray_engine = RayEngine(TranslationTask.of(folder, translator, options, **settings), available_cores())
    begun = time.monotonic()
    try:
        with _Progress(jobs.translated) as progress:
            translations, report = translate_files(translator, jobs, options, progress, ray_engine)
    except KeyboardInterrupt:
        hint = "continue with --resume" if output else "use -o to be able to resume"
        typer.echo(f"docgraph: interrupted; {hint}", err=True)
        raise SystemExit(130) from None
    if explain is not None:
        write_page(explain, translations, translator.languages)
    if (bilingual is not None or export_memory is not None) and not report.finished:
        write_bilingual_files(bilingual, export_memory, translations, translator.languages)
    if (report.doubtful or report.missed_terms) and output in (None, "-"):
        sentences = _count(report.sentences, "sentence")
        typer.echo(f"docgraph: {report.doubtful:,} of {sentences} doubtful {_HINT}{_terms(report)}", err=True)
    elif output not in (None, "-"):
        typer.echo(f"docgraph: {_summary(jobs, report, time.monotonic() - begun)}", err=True)
    if report.failed:
        raise SystemExit(2)


def _summary(jobs: Jobs, report: Report, seconds: float) -> str:
    """Returns a line that says what a run with -o wrote."""
    from docgraph.files import display_name

    work = f"{_count(report.sentences, 'sentence')} in {seconds:.1f} s"
    work += f", {report.doubtful:,} doubtful {_HINT}" if report.doubtful else ""
    work += f", {report.foreign:,} left in another language (--force translates them)" if report.foreign else ""
    work += _terms(report)
    if not jobs.several:
        [job] = jobs.translated
        output = display_name(job.output)
        return f"{output} is finished already" if report.finished else f"wrote {output}: {work}"
    counts = [f"translated {_count(report.translated, 'file')} ({work})"]
    counts += [f"{report.finished} finished already"] if report.finished else []
    counts += [f"copied {_count(report.copied, 'file')} unchanged"] if report.copied else []
    left_out = report.skipped + report.failed
    return ", ".join([*counts, *([f"skipped {left_out}"] if left_out else [])])


def _terms(report: Report) -> str:
    """Returns how many terms of the glossary were used; nothing without a glossary."""
    if not report.terms:
        return ""
    return f", {report.terms - report.missed_terms:,} of {_count(report.terms, 'glossary term')} used"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disables garbage collection while long-lived objects are loaded: saves a tenth of the start-up time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Progress(ProgressBars):
    """Progress bar over the bytes of all files, with sentences per second."""

    def __init__(self, jobs: list[Job]) -> None:
        super().__init__("sentences")
        self._sizes = {job: job.size for job in jobs}
        self._shares = dict.fromkeys(jobs, 0.0)
        self._sentences = 0

    def advance(self, job: Job, sentences: int, share: float) -> None:
        """Adds final sentences of a job."""
        self._sentences += sentences
        self._shares[job] = min(self._shares[job] + share, 1.0)
        done = sum(self._sizes[each] * share for each, share in self._shares.items())
        self.update("translating", self._sentences, done, sum(self._sizes.values()))

    def finish(self, job: Job) -> None:
        """Counts a job as done."""
        self.advance(job, 0, 1.0)

    def note(self, message: str) -> None:
        """Prints a message above the bar."""
        self.console.print(f"docgraph: {message}", markup=False, highlight=False, soft_wrap=True)
