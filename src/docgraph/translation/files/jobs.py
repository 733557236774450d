"""Jobs of a run: the files to translate and to copy, and their output files.

A file is translated if a format reads its extension, or if it is plain text by its name (README, talk.en for a model
that reads English). Any other file is refused if it is the only one, and copied unchanged among several files:
translating source code, data or pictures would destroy them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from docgraph.errors import DocgraphError
from docgraph.files import display_name
from docgraph.formats import by_extension, get_format
from docgraph.formats.base import SIGNATURE_BYTES, binary_kind

Form = Literal["document", "table", "jsonl"]
"""Form of the output: the document in its own format, lines of scores and candidates, or a JSON object per sentence."""
STANDARD = Path("-")
"""Stands for standard input or output."""
_SUFFIXES: dict[Form, str] = {"document": "", "table": ".tsv", "jsonl": ".jsonl"}
_PLAIN = {"text", "lines", "markdown", "mdx"}
"""Formats that are written as they were read, whatever the file name."""
_EXTENSION = re.compile(r"\.[A-Za-z0-9][\w+-]{0,15}")
"""The end of a file name that is an extension; ". Smith" in "Letter to Mr. Smith" is not."""
_DOCUMENT_NAME = re.compile(
    r"(?:READ-?ME|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUT(?:ORS|ING)|CREDITS|THANKS|CHANGE(?:S|LOG)|HISTORY|NEWS"
    r"|RELEASE-?NOTES|INSTALL|TODO|BUGS|FAQ|SECURITY|SUPPORT)",
    re.IGNORECASE,
)
"""Names of documents that have no extension by convention."""


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


@dataclass
class Jobs:
    """The files of a run."""

    translated: list[Job] = field(default_factory=list)
    copied: list[Job] = field(default_factory=list)
    """Files that no format reads, among several files."""
    skipped: list[str] = field(default_factory=list)
    """A message for each input that is left out."""
    several: bool = False
    """True for a folder or more than one file."""


@dataclass(frozen=True)
class _Input:
    path: Path
    name: Path
    """Path relative to the input folder."""
    skip: str = ""
    """Why the file is left out."""


def find_jobs(
    files: Sequence[Path],
    output: Path | None,
    form: Form = "document",
    format: str | None = None,
    known: Path | None = None,
    language: str | None = None,
) -> Jobs:
    """Returns a job for each file, and for each file in the folders given; standard input if there are none.

    `language` is the source language of the model: as an extension (talk.en), it marks plain text.
    """
    inputs = [each for path in files or [STANDARD] for each in _find_inputs(path, output)]
    several = len(inputs) > 1 or any(path.is_dir() for path in files)
    jobs = Jobs(several=several, skipped=[f"{display_name(each.path)}: {each.skip}" for each in inputs if each.skip])
    inputs = [each for each in inputs if not each.skip]
    readable = [
        format is not None or each.path == STANDARD or is_readable(each.name, language, several) for each in inputs
    ]
    if not any(readable):
        _refuse(files, inputs)
    if several and known is not None:
        raise DocgraphError("--known works with a single file; translate one file at a time")
    if output is None or output == STANDARD:
        if several:
            raise DocgraphError("cannot write several files to standard output; pass a folder with -o")
        jobs.translated = [Job(each.path, STANDARD, known, _size(each.path)) for each in inputs]
        return jobs
    if several and output.is_file():
        raise DocgraphError("cannot write several files to one file; pass a folder with -o", path=output)
    in_folder = several or output.is_dir()
    for each, is_translated in zip(inputs, readable, strict=True):
        suffix = _SUFFIXES[form] if is_translated else ""
        place = output / f"{each.name}{suffix}" if in_folder else output
        job = Job(each.path, place, known, _size(each.path))
        if is_translated:
            jobs.translated.append(job)
        elif form == "document":
            jobs.copied.append(job)
        else:
            jobs.skipped.append(f"{display_name(each.path)}: {unreadable(each.path)}; skipped")
    _check_outputs(jobs, form, format)
    return jobs


def _refuse(files: Sequence[Path], inputs: Sequence[_Input]) -> None:
    """Reports that there is nothing to translate."""
    if len(files) == 1 and files[0].is_dir():
        raise DocgraphError("no file in this folder has a known format; set the format with --format", path=files[0])
    for each in inputs[:1]:
        with each.path.open("rb") as file:
            message = binary_kind(file.read(SIGNATURE_BYTES))
        message = message or f"{unreadable(each.path)}; if it is plain text, pass --format text"
        raise DocgraphError(message, path=each.path)
    raise DocgraphError("there is no file to translate")


def unreadable(path: Path) -> str:
    """Returns why a file is not translated."""
    return f"no format reads {display_name(path.suffix)} files" if path.suffix else "is not known to be text"


def is_readable(name: Path, language: str | None, several: bool = False) -> bool:
    """Returns whether a format reads a file of this name.

    A file without an extension is read as plain text if it is the only input, or if it has the usual name of a
    document.
    """
    if by_extension(name.name) is not None:
        return True
    if not _EXTENSION.fullmatch(name.suffix):
        return not several or _DOCUMENT_NAME.fullmatch(name.name) is not None
    return language is not None and name.suffix.lower() == f".{language}"


def _size(path: Path) -> int:
    return 1 if path == STANDARD else max(path.stat().st_size, 1)


def _check_outputs(jobs: Jobs, form: Form, format: str | None) -> None:
    """Refuses outputs that would replace their source or each other, or have a misleading name."""
    sources: dict[Path, Path] = {}
    for job in (*jobs.translated, *jobs.copied):
        if _exists(job.output) and _real(job.output) == _real(job.source):
            raise DocgraphError("the translation would replace its source; choose another -o", path=job.source)
        if job.output in sources:
            other = display_name(sources[job.output])
            raise DocgraphError(f"would have the same output as {other}; rename one", path=job.source)
        sources[job.output] = job.source
    if form == "document":
        for job in jobs.translated:
            _check_output_format(job, format)


def _exists(path: Path) -> bool:
    """Like `path.exists()`; False for a name that is too long, which is reported when it is written."""
    return os.path.exists(path)  # noqa: PTH110 (Path.exists raises if the name is too long)


def _real(path: Path) -> Path:
    """Like `path.resolve()`, which raises an error for circular links."""
    return Path(os.path.realpath(path))


def _check_output_format(job: Job, format: str | None) -> None:
    """Refuses an output name with the extension of another format than the source: no program could open the file."""
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


def _find_inputs(path: Path, output: Path | None) -> list[_Input]:
    """Returns the files under a path with their names relative to it.

    In a folder, these are all visible files, except for those in the output folder.
    """
    if path == STANDARD:
        return [_Input(path, Path("translation"))]
    if not path.is_dir():
        path.stat()
        return [_Input(path, Path(path.name))]
    excluded = None if output is None or _real(output) == _real(path) else _real(output)
    return sorted(_walk(path, excluded), key=lambda file: file.name)


def _walk(folder: Path, excluded: Path | None) -> Iterator[_Input]:
    """Yields the visible files of a folder; links to folders are not followed, because they may lead in circles."""
    errors: list[OSError] = []
    for root, folders, names in os.walk(folder, onerror=errors.append):
        place = Path(root)
        for name in (*folders, *names):
            path = place / name
            relative = path.relative_to(folder)
            if name.startswith(".") or (excluded is not None and _real(path) == excluded):
                continue
            if name in folders:
                if path.is_symlink():
                    yield _Input(path, relative, "is a link to a folder; not followed, name it to translate it")
            elif not path.exists():
                yield _Input(path, relative, "is a broken link; skipped")
            elif not path.is_file():
                yield _Input(path, relative, "is not a regular file; skipped")
            else:
                yield _Input(path, relative)
        folders[:] = [name for name in folders if not name.startswith(".") and _real(place / name) != excluded]
    for error in errors:
        path = Path(str(error.filename))
        yield _Input(path, path.relative_to(folder), f"{(error.strerror or 'cannot be read').lower()}; skipped")
