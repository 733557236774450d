"""Translation of files: read, translate, write.

`translate_files` reads each file (`_Run.read`), translates the documents of all files in common batches
(`Translator.translate_requests`), and writes a file once its last document is translated (`_Run.write`). Final
hypotheses of unfinished files are saved beside them, so that an interrupted run can be resumed (resume.py).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol

from docgraph.document import Document
from docgraph.errors import DocgraphError, UntranslatableError
from docgraph.files import FULL, display_name, replacing
from docgraph.formats import SubtitleLimits, get_format, read, render, write
from docgraph.translation.decoding.decoder import Mode
from docgraph.translation.decoding.hypotheses import Hypotheses, SearchConfig
from docgraph.translation.files.jobs import STANDARD, Form, Job, Jobs, unreadable
from docgraph.translation.files.resume import FinishedFiles, PartialFile
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.result import Translation
from docgraph.translation.text.language_check import check_language
from docgraph.translation.translator import Translator

_SHOWN = 80
"""Characters of a sentence shown in a message."""


@dataclass(frozen=True)
class FileOptions:
    """Settings for translating files."""

    search: SearchConfig = field(default_factory=SearchConfig)
    mode: Mode = "parallel"
    format: str | None = None
    form: Form = "document"
    explain: bool = False
    resume: bool = False
    tokens: int | None = None
    """See `DecodingOptions`."""
    made_with: Mapping[str, str] = field(default_factory=dict)
    """Digests of everything else that translations depend on, such as the model, by name. Results of an interrupted
    run are reused only if all digests are equal."""
    force: bool = False
    """Translate texts in another language than the source language of the model."""
    limits: SubtitleLimits = field(default_factory=SubtitleLimits)


class Progress(Protocol):
    """Receives the progress of a run."""

    def advance(self, job: Job, sentences: int, share: float) -> None:
        """`sentences` more sentences, `share` of the job, are final."""

    def finish(self, job: Job) -> None:
        """The job is done, or has failed."""

    def note(self, message: str) -> None:
        """A message for the user."""


@dataclass
class Report:
    """Statistics of a run."""

    translated: int = 0
    """Files that were translated and written."""
    finished: int = 0
    """Files that an earlier run had finished."""
    copied: int = 0
    skipped: int = 0
    """Links to folders and the like."""
    failed: int = 0
    """Files that could not be read or written."""
    sentences: int = 0
    doubtful: int = 0
    """Sentences whose translation fails a check (checks/doubts.py)."""
    foreign: int = 0
    """Sentences that were left as they are because their paragraph is in another language."""
    terms: int = 0
    """Occurrences of terms of the glossary."""
    missed_terms: int = 0
    """Occurrences of terms whose prescribed translation is not used."""


Engine = Callable[[Iterator[list[TranslationRequest]]], Iterator[tuple[TranslationRequest, Translation]]]
"""Maps the requests of each file to (request, translation) pairs. Pairs of a file are consecutive and in order."""


def translate_files(
    translator: Translator, jobs: Jobs, options: FileOptions, progress: Progress, engine: Engine | None = None
) -> tuple[list[Translation], Report]:
    """Reads, translates and writes files; copies those that no format reads.

    Returns the translations of the last file, and statistics. A file that cannot be read or written is reported and
    skipped; if it is the only file, an error is raised. `engine` translates documents elsewhere, such as on a cluster.
    """
    run = _Run(translator, options, progress, single=not jobs.several)
    for reason in jobs.skipped:
        run.report.skipped += 1
        progress.note(reason)
    for job in jobs.copied:
        run.copy(job, f"{display_name(job.source)}: {unreadable(job.source)}")
    files: Iterator[list[TranslationRequest]] = ([*run.read(job)] for job in jobs.translated)
    last: list[Translation] = []
    for request, translation in (engine or run.translate)(files):
        assert isinstance(request, _FileRequest)
        last = run.write(request.file, translation)
    return last, run.report


@dataclass(eq=False)
class _OpenFile:
    """A file that has been read and is not yet written."""

    job: Job
    documents: list[Document]
    partial: PartialFile | None
    """None for standard output and devices, which cannot be resumed."""
    progress: Progress
    translations: list[Translation] = field(default_factory=list)


@dataclass(eq=False)
class _FileRequest(TranslationRequest):
    """A document of a file."""

    file: _OpenFile = field(kw_only=True)
    index: int = field(kw_only=True)
    """Index of the document in the file."""
    final: int = 0
    """Number of segments that are final."""

    def __post_init__(self) -> None:
        self._advance(max(self.resumed, default=-1) + 1, resumed=True)

    def record(self, first: int, hypotheses: Hypotheses) -> None:
        """Stores final hypotheses in the partial file."""
        if self.file.partial is not None:
            try:
                self.file.partial.append(self.index, first, hypotheses)
            except OSError as error:
                # The file itself will not be writable either; it is reported then.
                if error.errno in FULL:
                    raise
                self.file.partial = None
        self._advance(first + len(hypotheses), resumed=False)

    def show_progress(self, first: int, count: int) -> None:
        """Advances the progress bar."""
        self._advance(first + count, resumed=False)

    def _advance(self, final: int, resumed: bool) -> None:
        """Reports final segments; those of an earlier run count for the progress bar but not for the rate."""
        new, self.final = max(final - self.final, 0), max(final, self.final)
        share = new / max(sum(map(len, self.file.documents)), 1)
        self.file.progress.advance(self.file.job, 0 if resumed else new, share)


class _Run:
    """Reads files ahead of the translator and writes them behind it."""

    def __init__(self, translator: Translator, options: FileOptions, progress: Progress, single: bool) -> None:
        self.translator, self.options, self.progress, self.single = translator, options, progress, single
        self.report = Report()
        self.finished = FinishedFiles()
        search = {"the search": json.dumps(asdict(options.search)), "the kind of output": options.form}
        self.made_with = {**options.made_with, **search}

    def translate(self, files: Iterator[list[TranslationRequest]]) -> Iterator[tuple[TranslationRequest, Translation]]:
        """The engine of this process: documents of all files are batched together."""
        options = self.options
        return self.translator.translate_requests(
            chain.from_iterable(files), options.search, options.mode, explain=options.explain, tokens=options.tokens
        )

    def read(self, job: Job) -> list[_FileRequest]:
        """Returns a request for each document of a file; none if the file is already finished or unreadable."""
        try:
            if self._is_finished(job):
                self.report.finished += 1
                self.progress.finish(job)
                return []
            documents = read(job.source, self.options.format, language=self.translator.language)
            self._check_declared_target(job, documents)
            if not self.options.force and self.translator.languages is not None:
                name = "<stdin>" if job.source == STANDARD else job.source
                check_language(documents, self.translator.languages[0], name)
            known = [[]] * len(documents) if job.known is None else self._read_known(job.known, documents)
        except UntranslatableError as error:
            self._leave(job, error)
            return []
        except (DocgraphError, OSError) as error:
            self._fail(job, error)
            return []
        if not any(map(len, documents)):
            self.progress.note(f"{display_name(job.source)}: contains no sentence; copied unchanged")
        file = _OpenFile(job, documents, self._partial(job, documents, known), self.progress)
        finished = {} if file.partial is None else file.partial.finished
        return [
            _FileRequest(document, known[index], finished.get(index, {}), file=file, index=index)
            for index, document in enumerate(documents)
        ]

    def _read_known(self, path: Path, documents: Sequence[Document]) -> list[list[str]]:
        from docgraph.translation.files.bilingual import read_known  # its readers are slow to import

        found = read_known(path, documents, self.translator.languages)
        if found.unused:
            source = found.unused[0] if len(found.unused[0]) <= _SHOWN else f"{found.unused[0][:_SHOWN]}…"
            texts = f"{len(found.unused):,} confirmed translations are" if found.unused[1:] else "a translation is"
            self.progress.note(
                f"{display_name(path)}: {texts} not used, because the document has no such sentence: {source}"
            )
        return found.known

    def _check_declared_target(self, job: Job, documents: Sequence[Document]) -> None:
        """Refuses a file that declares translations into another language, such as a German PO file."""
        if (target := self.translator.target_language) is None:
            return
        for document in documents:
            try:
                get_format(document.format).declare(document.source, target)
            except UntranslatableError as error:
                raise UntranslatableError(str(error), path=job.source) from None

    def _leave(self, job: Job, error: UntranslatableError) -> None:
        """Copies a file that must not be translated; raises the error if it is the only file."""
        if self.single:
            raise error
        if self.options.form == "document":
            self.copy(job, str(error))
        else:
            self.report.skipped += 1
            self.progress.note(f"{error}; skipped")
        self.progress.finish(job)

    def write(self, file: _OpenFile, translation: Translation) -> list[Translation]:
        """Adds a translation to a file, and writes the file after its last document; returns the translations so far.

        On standard output, every document is written immediately.
        """
        file.translations.append(translation)
        self.report.sentences += len(translation)
        self.report.doubtful += translation.doubtful
        self.report.foreign += len(self.translator.foreign_sentences(translation.source))
        self.report.terms += len(translation.terms)
        self.report.missed_terms += sum(not term.used for term in translation.terms)
        complete = len(file.translations) == len(file.documents)
        try:
            _write_output(file, self.options.form, complete, self.translator.target_language, self.options.limits)
            if complete:
                self._report_fast_cues(file)
                self.report.translated += 1
                self.progress.finish(file.job)
                if file.partial is not None:
                    file.partial.remove()
                    if self.options.resume or not self.single:
                        self.finished.add(file.job.output, self._made_with(file.job))
        except OSError as error:
            self._fail(file.job, error)
        return file.translations

    def _report_fast_cues(self, file: _OpenFile) -> None:
        """Reports how many subtitles exceed the reading speed, if it is limited."""
        limits, form = self.options.limits, get_format(file.documents[0].format)
        if limits.reading_speed is None or form.cues is None or self.options.form != "document":
            return
        source = "".join(_render(each, "document", 0, None, limits) for each in file.translations)
        from docgraph.formats.subtitles import fast_cues

        fast, total = fast_cues(source, form, limits.reading_speed)
        if fast:
            name = display_name(file.job.source)
            message = f"{name}: {fast:,} of {total:,} subtitles exceed {limits.reading_speed:g} characters per second"
            self.progress.note(message)

    def copy(self, job: Job, reason: str) -> None:
        """Copies a file that is not translated."""
        try:
            if not (self.options.resume and job.is_up_to_date):
                with replacing(job.output) as temporary:
                    shutil.copyfile(job.source, temporary)
                self.progress.note(f"{reason}; copied unchanged")
            self.report.copied += 1
        except OSError as error:
            self._fail(job, error)

    def _fail(self, job: Job, error: DocgraphError | OSError) -> None:
        """Reports a file that cannot be read or written; raises if it is the only file, or if the disk is full."""
        if self.single or (isinstance(error, OSError) and error.errno in FULL):
            raise error
        self.report.failed += 1
        reason = str(error)
        if isinstance(error, OSError):
            reason = f"{display_name(job.source)}: {(error.strerror or 'cannot be translated').lower()}"
        self.progress.note(f"{reason}; skipped")
        self.progress.finish(job)

    def _is_finished(self, job: Job) -> bool:
        """Returns whether a resumed run has nothing to do for a job."""
        if not self.options.resume or not job.is_up_to_date:
            return False
        changed = self.finished.changed(job.output, self._made_with(job))
        if changed:
            self.progress.note(f"{display_name(job.output)}: {' and '.join(changed)} changed; translating it again")
        else:
            PartialFile(job.output, "").remove()  # of a later run, which was killed
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


def _write_output(file: _OpenFile, form: Form, complete: bool, language: str | None, limits: SubtitleLimits) -> None:
    """Writes a complete file or, on standard output, the latest document."""
    output, translations = file.job.output, file.translations
    is_container = file.documents[0].container is not None
    if form == "document" and (output != STANDARD or is_container):
        if complete:
            texts, alignments = [each.texts for each in translations], [each.alignments for each in translations]
            write(file.documents, output, texts, language, alignments, limits)
    elif output == STANDARD:
        text = _render(translations[-1], form, len(translations) - 1, language, limits)
        encoding = file.documents[0].encoding if form == "document" else "utf-8"
        sys.stdout.buffer.write(text.encode(encoding, "replace"))
        sys.stdout.buffer.flush()
    elif complete:
        with replacing(output) as path:
            parts = (_render(each, form, index, language, limits) for index, each in enumerate(translations))
            path.write_text("".join(parts), encoding="utf-8")


def _render(translation: Translation, form: Form, index: int, language: str | None, limits: SubtitleLimits) -> str:
    if form == "jsonl":
        name = {"document": translation.source.id}
        entries = ({**name, "sentence": m, **each.to_json()} for m, each in enumerate(translation))
        return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    if form == "table":
        return ("\n" if index else "") + "".join(_table_rows(translation))
    content = render([translation.source], [translation.texts], language, [translation.alignments], limits)
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
