"""Translation of files: read, translate, write.

Documents of all files are batched together by the translator. A file is written, whole, as soon as its last document is
translated. Progress on unfinished files is kept beside them, so that an interrupted run can be resumed (resume.py).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.formats import FORMATS, by_extension, get_format, read, render, write
from docgraph.formats.base import NEWLINE, decode
from docgraph.translation.document_decoding import BATCH_TOKENS, Hypotheses, Mode
from docgraph.translation.hypotheses import SearchConfig
from docgraph.translation.result import Translation
from docgraph.translation.resume import FinishedFiles, PartialFile
from docgraph.translation.translator import TranslationRequest, Translator

Form = Literal["document", "table", "jsonl"]
"""Form of the output: the document in its own format, lines of scores and candidates, or a JSON object per sentence."""
STANDARD = Path("-")
"""Stands for standard input or output."""
_PLAIN = {"text", "lines", "markdown"}
"""Formats that are written as they were read, whatever the file name."""
_NEWLINE = re.compile(NEWLINE)


@dataclass(frozen=True)
class Job:
    """A file to translate and its output file."""

    source: Path
    output: Path
    known: Path | None = None
    """File of known translations."""
    size: int = 1
    """Size of the source in bytes; 1 for standard input."""

    @property
    def is_up_to_date(self) -> bool:
        """True if the output exists and is newer than its inputs; outputs are always complete."""
        if STANDARD in (self.source, self.output) or not self.output.is_file():
            return False
        inputs = (path for path in (self.source, self.known) if path is not None)
        return self.output.stat().st_mtime >= max(path.stat().st_mtime for path in inputs)


@dataclass(frozen=True)
class FileOptions:
    """Settings for translating files."""

    search: SearchConfig = field(default_factory=SearchConfig)
    mode: Mode = "parallel"
    format: str | None = None
    form: Form = "document"
    explain: bool = False
    resume: bool = False
    tokens: int = BATCH_TOKENS
    made_with: Mapping[str, str] = field(default_factory=dict)
    """Digests of whatever else translations depend on, such as the model, by name. Results of an interrupted run are
    reused only if all digests are equal."""


class Progress(Protocol):
    """Receives the progress of a run."""

    def advance(self, job: Job, sentences: int, share: float) -> None:
        """`sentences` more sentences, `share` of the job, are final."""

    def finish(self, job: Job) -> None:
        """The job is done, or has failed."""

    def note(self, message: str) -> None:
        """A message for the user."""


def translate_files(
    translator: Translator, jobs: Sequence[Job], options: FileOptions, progress: Progress
) -> tuple[list[Translation], int]:
    """Reads, translates and writes files.

    Returns the translations of the last file and the number of unreadable files. Among several files, an unreadable one
    is reported and skipped; a single one raises.
    """
    run = _Run(translator, options, progress, single=len(jobs) == 1)
    requests = (request for job in jobs for request in run.read(job))
    translations = translator.translate_requests(
        requests, options.search, options.mode, explain=options.explain, tokens=options.tokens
    )
    last: list[Translation] = []
    for request, translation in translations:
        last = run.write(request.file, translation)
    return last, run.failures


@dataclass(eq=False)
class _OpenFile:
    """A file that has been read and is not yet written."""

    job: Job
    documents: list[Document]
    partial: PartialFile | None
    """None for standard output and devices, which cannot be resumed."""
    progress: Progress
    translations: list[Translation] = field(default_factory=list)

    def advance(self, sentences: int, resumed: bool) -> None:
        """Reports final sentences; those of an earlier run count for the progress bar but not for the rate."""
        share = sentences / max(sum(map(len, self.documents)), 1)
        self.progress.advance(self.job, 0 if resumed else sentences, share)


@dataclass(eq=False)
class _FileRequest(TranslationRequest):
    """A document of a file."""

    file: _OpenFile = field(kw_only=True)
    index: int = field(kw_only=True)
    """Index of the document in the file."""
    final: int = 0
    """Number of segments that are final."""

    def __post_init__(self) -> None:
        self._advance(max(self.finished, default=-1) + 1, resumed=True)

    def record(self, first: int, hypotheses: Hypotheses) -> None:
        """Stores final hypotheses in the partial file."""
        if self.file.partial is not None:
            self.file.partial.append(self.index, first, hypotheses)
        self._advance(first + len(hypotheses), resumed=False)

    def _advance(self, final: int, resumed: bool) -> None:
        new, self.final = max(final - self.final, 0), final
        self.file.advance(new, resumed)


class _Run:
    """Reads files ahead of the translator and writes them behind it."""

    def __init__(self, translator: Translator, options: FileOptions, progress: Progress, single: bool) -> None:
        self.translator, self.options, self.progress, self.single = translator, options, progress, single
        self.failures = 0
        self.finished = FinishedFiles()
        self.language = translator.languages[1] if translator.languages and translator.tag is None else None
        search = {"the search": json.dumps(asdict(options.search)), "the kind of output": options.form}
        self.made_with = {**options.made_with, **search}

    def read(self, job: Job) -> list[_FileRequest]:
        """Returns a request for each document of a file; none if the file is finished already or unreadable."""
        try:
            if self._is_finished(job):
                self.progress.finish(job)
                return []
            documents = read(job.source, self.options.format, language=self.translator.language)
            known = [[]] * len(documents) if job.known is None else read_known(job.known, documents)
        except (DocgraphError, OSError) as error:
            if self.single:
                raise
            self.failures += 1
            self.progress.note(str(error))
            self.progress.finish(job)
            return []
        if not any(map(len, documents)):
            self.progress.note(f"{job.source}: contains no sentence; copied unchanged")
        file = _OpenFile(job, documents, self._partial(job, documents, known), self.progress)
        finished = {} if file.partial is None else file.partial.finished
        return [
            _FileRequest(document, known[index], finished.get(index, {}), file=file, index=index)
            for index, document in enumerate(documents)
        ]

    def write(self, file: _OpenFile, translation: Translation) -> list[Translation]:
        """Adds a translation to a file and writes the file if that was the last; returns the translations so far.

        On standard output, every document is written at once.
        """
        file.translations.append(translation)
        complete = len(file.translations) == len(file.documents)
        _write_output(file, self.options.form, complete, self.language)
        if complete:
            self.progress.finish(file.job)
            if file.partial is not None:
                file.partial.remove()
                if self.options.resume or not self.single:
                    self.finished.add(file.job.output, self._made_with(file.job))
        return file.translations

    def _is_finished(self, job: Job) -> bool:
        """Returns whether a resumed run has nothing to do for a job."""
        if not self.options.resume or not job.is_up_to_date:
            return False
        changed = self.finished.changed(job.output, self._made_with(job))
        if changed:
            self.progress.note(f"{job.output}: {' and '.join(changed)} changed; translating it again")
        return not changed

    def _partial(self, job: Job, documents: Sequence[Document], known: list[list[str]]) -> PartialFile | None:
        if job.output == STANDARD or (job.output.exists() and not job.output.is_file()):
            return None
        inputs = [self.made_with, [document.texts for document in documents], known]
        partial = PartialFile(job.output, hashlib.sha256(json.dumps(inputs).encode()).hexdigest())
        if self.options.resume and not partial.read():
            self.progress.note(f"{partial.path}: made from another text, model or search; starting again")
        return partial

    def _made_with(self, job: Job) -> dict[str, str]:
        known = "" if job.known is None else hashlib.sha256(job.known.read_bytes()).hexdigest()
        return {**self.made_with, "the known translations": known}


def _write_output(file: _OpenFile, form: Form, complete: bool, language: str | None) -> None:
    """Writes a file that is complete; on standard output, the latest document."""
    output, translations = file.job.output, file.translations
    is_container = file.documents[0].container is not None
    if form == "document" and (output != STANDARD or is_container):
        if complete:
            write(file.documents, output, [translation.texts for translation in translations], language)
    elif output == STANDARD:
        text = _render(translations[-1], form, len(translations) - 1, language)
        encoding = file.documents[0].encoding if form == "document" else "utf-8"
        sys.stdout.buffer.write(text.encode(encoding, "replace"))
        sys.stdout.buffer.flush()
    elif complete:
        with replacing(output) as path:
            parts = (_render(each, form, index, language) for index, each in enumerate(translations))
            path.write_text("".join(parts), encoding="utf-8")


def _render(translation: Translation, form: Form, index: int, language: str | None) -> str:
    if form == "jsonl":
        name = {"document": translation.source.id}
        entries = ({**name, "sentence": m, **each.to_json()} for m, each in enumerate(translation))
        return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    if form == "table":
        return ("\n" if index else "") + "".join(_table_rows(translation))
    content = render([translation.source], [translation.texts], language)
    assert isinstance(content, str)
    return content


def _table_rows(translation: Translation) -> Iterator[str]:
    """Yields score and translation of each sentence; with several candidates, preceded by sentence and rank."""
    several = any(len(sentence.candidates) > 1 for sentence in translation)
    for number, sentence in enumerate(translation, start=1):
        if not sentence.candidates:
            yield f"{number}\t1\t\t{sentence.text}\n" if several else f"\t{sentence.text}\n"
        for rank, each in enumerate(sentence.candidates, start=1):
            place = f"{number}\t{rank}\t" if several else ""
            yield f"{place}{each.score:.4f}\t{' '.join(each.text.split())}\n"


def find_jobs(
    files: Sequence[Path], output: Path | None, form: Form, format: str | None, known: Path | None = None
) -> list[Job]:
    """Returns a job for each file, and for each file in the folders given; standard input if there are none."""
    inputs = [pair for path in files or [STANDARD] for pair in _find_inputs(path, format, output)]
    several = len(inputs) > 1 or any(path.is_dir() for path in files)
    if several and known is not None:
        raise DocgraphError("--known belongs to one file; translate one file at a time with it")
    if output is None or output == STANDARD:
        if several:
            raise DocgraphError("several files cannot go to the standard output; name an output folder with -o")
        return [Job(path, STANDARD, known, _size(path)) for path, _ in inputs]
    if several and output.is_file():
        raise DocgraphError("there are several files to write and this is a file; name a folder with -o", path=output)
    in_folder = several or output.is_dir()
    suffix = {"jsonl": ".jsonl", "table": ".tsv", "document": ""}[form]
    outputs = [output / f"{name}{suffix}" if in_folder else output for _, name in inputs]
    jobs = [Job(path, place, known, _size(path)) for (path, _), place in zip(inputs, outputs, strict=True)]
    sources: dict[Path, Path] = {}
    for job in jobs:
        if job.output.exists() and job.output.resolve() == job.source.resolve():
            raise DocgraphError("the translation would replace its source; choose another -o", path=job.source)
        if job.output in sources:
            raise DocgraphError(f"would have the same output as {sources[job.output]}; rename one", path=job.source)
        sources[job.output] = job.source
        if form == "document":
            _check_output_format(job, format)
    return jobs


def _size(path: Path) -> int:
    return 1 if path == STANDARD else max(path.stat().st_size, 1)


def _check_output_format(job: Job, format: str | None) -> None:
    """Refuses an output name of another format than the source, because nothing could open such a file."""
    named = by_extension(job.output.name)
    source_format = get_format(format) if format else by_extension(job.source.name) or get_format("text")
    same_suffix = job.output.suffix.lower() == job.source.suffix.lower()
    if named is None or same_suffix or named is source_format or {named.name, source_format.name} <= _PLAIN:
        return
    raise DocgraphError(
        f"the output has the format of its source, {source_format.name}, but this name means {named.name}; choose"
        " another name with -o, or set the format of the source with --format",
        path=job.output,
    )


def _find_inputs(path: Path, format: str | None, output: Path | None) -> list[tuple[Path, Path]]:
    """Returns the files under a path with their names relative to it.

    In a folder, these are the visible files of a known extension, or all of them if `format` is given, except for files
    in the output folder.
    """
    if path == STANDARD:
        return [(path, Path("translation"))]
    if not path.is_dir():
        path.stat()
        return [(path, Path(path.name))]
    extensions = {extension for each in FORMATS.values() for extension in each.extensions}
    excluded = None if output is None or output.resolve() == path.resolve() else output.resolve()
    files = (file for file in path.rglob("*") if file.is_file() and excluded not in file.resolve().parents)
    names = sorted(file.relative_to(path) for file in files)
    names = [name for name in names if not any(part.startswith(".") for part in name.parts)]
    names = [name for name in names if format is not None or name.suffix.lower() in extensions]
    if not names:
        raise DocgraphError("no file in this folder has a known format; name one with --format", path=path)
    return [(path / name, name) for name in names]


def read_known(path: Path, documents: Sequence[Document]) -> list[list[str]]:
    """Returns the known translation of every sentence of every document, read from a file parallel to theirs."""
    if any(document.format != "lines" for document in documents):
        raise DocgraphError("--known needs a text of one sentence per line; pass --format lines", path=path)
    lines = _split_lines(decode(path.read_bytes(), str(path))[0].removeprefix("\ufeff"))
    count = len(_split_lines("".join(document.source for document in documents)))
    if len(lines) != count:
        raise DocgraphError(
            f"has {len(lines):,} lines but the text has {count:,}; keep one line for each, empty if its translation is"
            " unknown",
            path=path,
        )
    known, first = [], 0
    for document in documents:
        ends = [newline.end() for newline in _NEWLINE.finditer(document.source)]
        places = [first + bisect_right(ends, sentence.start) for sentence in document]
        known.append([lines[place].strip() for place in places])
        own = range(first, first + len(_split_lines(document.source)))
        if stray := [place for place in sorted({*own} - {*places}) if lines[place].strip()]:
            raise DocgraphError("this translation belongs to a blank line of the text", path=path, line=stray[0] + 1)
        first = own.stop
    return known


def _split_lines(text: str) -> list[str]:
    lines = _NEWLINE.split(text)
    return lines if lines[-1] else lines[:-1]
