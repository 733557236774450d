"""Files in, files out: many decoded together, each written whole as soon as it is done, and interrupted work kept."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.formats import FORMATS, by_extension, get_format, read, render, write
from docgraph.translation.document_decoding import BATCH_TOKENS, Known, Mode
from docgraph.translation.hypotheses import SearchConfig
from docgraph.translation.known import read_known
from docgraph.translation.result import Translation
from docgraph.translation.resume import FinishedFiles, Found, PartialFile
from docgraph.translation.translator import Translator

Form = Literal["document", "table", "jsonl"]
"""The document in its own format; lines of scores and candidates; a JSON object a sentence."""
STANDARD = Path("-")
_PLAIN = {"text", "lines", "markdown"}
"""Formats that are written as they are read, whatever the file is called."""


@dataclass(frozen=True)
class Job:
    """A file to translate, and where to; `-` is the standard input or output."""

    source: Path
    output: Path
    known: Path | None = None
    """A file of the translations that are known."""

    @property
    def size(self) -> int:
        return 1 if self.source == STANDARD else max(self.source.stat().st_size, 1)

    @property
    def done(self) -> bool:
        """Whether the output is there and younger than what it is made of: outputs appear whole."""
        if STANDARD in (self.source, self.output) or not self.output.is_file():
            return False
        inputs = (path for path in (self.source, self.known) if path is not None)
        return self.output.stat().st_mtime >= max(path.stat().st_mtime for path in inputs)


@dataclass(frozen=True)
class BulkOptions:
    """How to translate files."""

    search: SearchConfig = field(default_factory=SearchConfig)
    mode: Mode = "parallel"
    format: str | None = None
    form: Form = "document"
    explain: bool = False
    resume: bool = False
    tokens: int = BATCH_TOKENS
    made_with: Mapping[str, str] = field(default_factory=dict)
    """By name, digests of what else a translation depends on, as its model: work of a run is of no use to another."""


class Watcher(Protocol):
    """Who is told how the work goes."""

    def advance(self, job: Job, sentences: int, share: float) -> None:
        """So many sentences, this share of the job, became final."""

    def finish(self, job: Job) -> None:
        """The job is done, or cannot be."""

    def note(self, message: str) -> None:
        """Something the user should know."""


@dataclass
class _Open:
    """A job under way."""

    job: Job
    documents: list[Document]
    first: int
    """The number of its first document among all."""
    partial: PartialFile | None
    known: list[list[str]]
    """By document: the known translations of its sentences."""
    done: list[Translation] = field(default_factory=list)
    reached: dict[int, int] = field(default_factory=dict)
    """By document: how many of its texts are final."""


def find_jobs(
    files: Sequence[Path], output: Path | None, form: Form, format: str | None, known: Path | None = None
) -> list[Job]:
    """The files to translate, folders gone through, and the place of each translation."""
    found = [pair for path in files or [STANDARD] for pair in _inputs(path, format, output)]
    suffix = ".jsonl" if form == "jsonl" else ".tsv" if form == "table" else ""
    many = len(found) > 1 or any(path.is_dir() for path in files)
    if many and known is not None:
        raise DocgraphError("known translations are those of one file; give one with --known")
    if output is None or output == STANDARD:
        if many:
            raise DocgraphError("several files cannot go to the standard output; name a folder with -o")
        return [Job(path, STANDARD, known) for path, _ in found]
    if many and output.is_file():
        raise DocgraphError("this is a file, and there are several to write; name a folder with -o", path=output)
    inside = many or output.is_dir()
    jobs = [Job(path, output / f"{name}{suffix}" if inside else output, known) for path, name in found]
    taken: dict[Path, Path] = {}
    for job in jobs:
        if job.output.exists() and job.output.resolve() == job.source.resolve():
            raise DocgraphError(
                "the translation would replace its source; choose another place with -o", path=job.source
            )
        if job.output in taken:
            raise DocgraphError(f"would have the same output as {taken[job.output]}; rename one", path=job.source)
        taken[job.output] = job.source
        if form == "document":
            _check_name(job, format)
    return jobs


def _check_name(job: Job, format: str | None) -> None:
    """A translation has the format of its source: a name that says another one would make a file that nothing opens."""
    said = by_extension(job.output.name)
    own = get_format(format) if format else by_extension(job.source.name) or get_format("text")
    same = job.output.suffix.lower() == job.source.suffix.lower()
    if said is not None and not same and said is not own and not {said.name, own.name} <= _PLAIN:
        raise DocgraphError(
            f"a translation has the format of its source, here {own.name}, and this name says {said.name}; choose"
            " another with -o, or say with --format what the source is",
            path=job.output,
        )


def _inputs(path: Path, format: str | None, output: Path | None) -> list[tuple[Path, Path]]:
    """The files under a path, and their names from there; in a folder those of a known kind, or all of `format`,
    and none of an output that lies there."""
    if path == STANDARD:
        return [(path, Path("translation"))]
    if not path.is_dir():
        path.stat()
        return [(path, Path(path.name))]
    kinds = {extension for form in FORMATS.values() for extension in form.extensions}
    own = None if output is None or output.resolve() == path.resolve() else output.resolve()
    files = (file for file in path.rglob("*") if file.is_file() and own not in file.resolve().parents)
    names = sorted(file.relative_to(path) for file in files)
    chosen = [name for name in names if not any(part.startswith(".") for part in name.parts)]
    chosen = [name for name in chosen if format is not None or name.suffix.lower() in kinds]
    if not chosen:
        raise DocgraphError("no file in this folder is of a known format; name one with --format", path=path)
    return [(path / name, name) for name in chosen]


def translate_files(
    translator: Translator, jobs: Sequence[Job], options: BulkOptions, watcher: Watcher
) -> tuple[list[Translation], int]:
    """Translate and write the files; the translations of the last one, and how many could not be read."""
    bulk = _Bulk(translator, options, watcher, alone=len(jobs) == 1)
    translations = translator.translate_all(
        bulk.documents(jobs),
        options.search,
        options.mode,
        explain=options.explain,
        tokens=options.tokens,
        known=bulk.known,
        done=bulk.done,
        on_final=bulk.on_final,
    )
    last: list[Translation] = []
    for translation in translations:
        last = bulk.take(translation)
    return last, bulk.failures


class _Bulk:
    """Files read ahead of the translator, a batch at a time, and written behind it."""

    def __init__(self, translator: Translator, options: BulkOptions, watcher: Watcher, alone: bool) -> None:
        self.translator, self.options, self.watcher, self.alone = translator, options, watcher, alone
        self.open: deque[_Open] = deque()
        self.failures = 0
        self.finished = FinishedFiles()
        self.language = translator.languages[1] if translator.languages and translator.tag is None else None
        search = {"the search": json.dumps(asdict(options.search)), "the kind of output": options.form}
        self.made_with = {**options.made_with, **search}

    def documents(self, jobs: Iterable[Job]) -> Iterator[Document]:
        count = 0
        for job in jobs:
            try:
                if self.options.resume and job.done:
                    changed = self.finished.changed(job.output, self._made_with(job))
                    if not changed:
                        self.watcher.finish(job)
                        continue
                    self.watcher.note(f"{job.output}: {' and '.join(changed)} changed; translating it again")
                documents = read(job.source, self.options.format, language=self.translator.language)
                known = [[]] * len(documents) if job.known is None else read_known(job.known, documents)
            except (DocgraphError, OSError) as error:
                if self.alone:
                    raise
                self.failures += 1
                self.watcher.note(str(error))
                self.watcher.finish(job)
                continue
            if not any(map(len, documents)):
                self.watcher.note(f"{job.source}: there is no sentence in it; it stays as it is")
            self.open.append(_Open(job, documents, count, self._partial(job, documents, known), known))
            count += len(documents)
            yield from documents

    def _partial(self, job: Job, documents: Sequence[Document], known: list[list[str]]) -> PartialFile | None:
        if job.output == STANDARD or (job.output.exists() and not job.output.is_file()):
            return None
        settings = [self.made_with, [document.texts for document in documents], known]
        partial = PartialFile(job.output, hashlib.sha256(json.dumps(settings).encode()).hexdigest())
        if self.options.resume and not partial.read():
            self.watcher.note(f"{partial.path}: this is of another text, model or search; beginning anew")
        return partial

    def _made_with(self, job: Job) -> dict[str, str]:
        known = "" if job.known is None else hashlib.sha256(job.known.read_bytes()).hexdigest()
        return {**self.made_with, "the known translations": known}

    def _of(self, document: int) -> tuple[_Open, int]:
        """The job of a document, and the document's number in it."""
        current = next(each for each in reversed(self.open) if each.first <= document)
        return current, document - current.first

    def known(self, document: int) -> list[str]:
        current, number = self._of(document)
        return current.known[number]

    def done(self, document: int) -> Known:
        """What an earlier run left of a document."""
        current, number = self._of(document)
        found = {} if current.partial is None else current.partial.done.get(number, {})
        self._reach(current, number, max(found, default=-1) + 1, now=False)
        return found

    def on_final(self, document: int, first: int, found: Found) -> None:
        current, number = self._of(document)
        if current.partial is not None:
            current.partial.append(number, first, found)
        self._reach(current, number, first + len(found))

    def _reach(self, current: _Open, number: int, texts: int, now: bool = True) -> None:
        new = max(texts - current.reached.get(number, 0), 0)
        current.reached[number] = texts
        share = new / max(sum(map(len, current.documents)), 1)
        self.watcher.advance(current.job, new if now else 0, share)

    def take(self, translation: Translation) -> list[Translation]:
        """A translation; a file all of whose documents are there is written."""
        current = self.open[0]
        current.done.append(translation)
        last = len(current.done) == len(current.documents)
        _emit(current, self.options.form, last, self.language)
        if last:
            self.open.popleft()
            self.watcher.finish(current.job)
            if current.partial is not None:
                current.partial.remove()
                if self.options.resume or not self.alone:
                    self.finished.add(current.job.output, self._made_with(current.job))
        return current.done


def _emit(current: _Open, form: Form, last: bool, language: str | None) -> None:
    """Write a file once it is whole; to the standard output, each document as it comes."""
    output, translations = current.job.output, current.done
    packed = get_format(current.documents[0].format).pack is not None
    if form == "document" and (output != STANDARD or packed):
        if last:
            write(current.documents, output, [translation.texts for translation in translations], language)
    elif output == STANDARD:
        text = _rendered(translations[-1], form, len(translations) - 1, language)
        sys.stdout.buffer.write(
            text.encode(current.documents[0].encoding if form == "document" else "utf-8", "replace")
        )
        sys.stdout.buffer.flush()
    elif last:
        with replacing(output) as path:
            parts = (_rendered(each, form, number, language) for number, each in enumerate(translations))
            path.write_text("".join(parts), encoding="utf-8")


def _rendered(translation: Translation, form: Form, number: int, language: str | None) -> str:
    if form == "jsonl":
        place = {"document": translation.source.id}
        entries = ({**place, "sentence": m, **each.to_json()} for m, each in enumerate(translation))
        return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    if form == "table":
        return ("\n" if number else "") + "".join(_rows(translation))
    content = render([translation.source], [translation.texts], language)
    assert isinstance(content, str)
    return content


def _rows(translation: Translation) -> Iterator[str]:
    """Score and translation of each sentence; with several candidates, the sentence and the rank go first."""
    several = any(len(sentence.candidates) > 1 for sentence in translation)
    for number, sentence in enumerate(translation, start=1):
        if not sentence.candidates:
            yield f"{number}\t1\t\t{sentence.text}\n" if several else f"\t{sentence.text}\n"
        for rank, each in enumerate(sentence.candidates, start=1):
            place = f"{number}\t{rank}\t" if several else ""
            yield f"{place}{each.score:.4f}\t{' '.join(each.text.split())}\n"
