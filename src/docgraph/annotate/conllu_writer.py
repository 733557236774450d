"""Write annotated documents as CoNLL-U; reading them gives the same words, heads and coreference links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from docgraph.annotate.builder import find_form, multiword_spans
from docgraph.annotate.conllu import AnnotatedDocument
from docgraph.annotate.conllu_entities import entity_columns
from docgraph.annotation import Annotation, Strings
from docgraph.document import Document
from docgraph.files import replacing

_LINE_BREAKS = str.maketrans("\t\n\r", "   ")


def write(path: str | Path, documents: Iterable[AnnotatedDocument]) -> None:
    """Writes documents to a file, which is replaced atomically."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        dump(file, documents)


def dump(file: BinaryIO, documents: Iterable[AnnotatedDocument]) -> None:
    """Writes documents to an open file."""
    for document, annotation in documents:
        file.writelines(line.encode() for line in format_lines(document, annotation))


def format_lines(document: Document, annotation: Annotation) -> Iterator[str]:
    """Yields the lines of a document, with their line breaks."""
    identifier = " ".join(document.id.split())
    yield f"# newdoc id = {identifier}\n" if identifier else "# newdoc\n"
    # The columns are declared because a document with few words may not show which ones it has.
    names = ("lemmas", "upos", "feats", "heads", "deprels", "coreference")
    columns = ["words", *(name for name in names if getattr(annotation, name) is not None)]
    yield f"# docgraph.columns = {' '.join(columns)}\n"
    if annotation.coreference is not None:
        yield "# global.Entity = GRP\n"
    if not len(document):
        yield "\n"
    rows = _RowFormatter(annotation)
    paragraph = None
    for index, sentence in enumerate(document):
        if paragraph is not None and sentence.paragraph != paragraph:
            yield "# newpar\n"
        paragraph = sentence.paragraph
        yield f"# sent_id = {identifier or 'document'}-{index + 1}\n"
        if sentence.speaker is not None:
            yield f"# speaker = {sentence.speaker.translate(_LINE_BREAKS)}\n"
        text = sentence.text.translate(_LINE_BREAKS)
        yield f"# text = {text}\n"
        yield from rows.sentence(index, text)
        yield "\n"


class _RowFormatter:
    """Formats the rows of one annotation."""

    def __init__(self, annotation: Annotation) -> None:
        self.offsets = annotation.offsets.tolist()
        self.starts = annotation.starts.tolist()
        self.ends = annotation.ends.tolist()
        self.forms = [_cell(form) for form in annotation.forms.to_list()]
        self.lemmas = self._cells(annotation.lemmas)
        self.upos = self._cells(annotation.upos)
        self.feats = self._cells(annotation.feats)
        self.deprels = self._cells(annotation.deprels)
        self.heads = None if annotation.heads is None else annotation.heads.tolist()
        links = [] if annotation.coreference is None else annotation.coreference.tolist()
        self.entities, self.antecedents = entity_columns(links)

    def sentence(self, sentence: int, text: str) -> Iterator[str]:
        """Yields the rows of a sentence. Words with the same characters become a multiword token."""
        begin, end = self.offsets[sentence], self.offsets[sentence + 1]
        groups = list(self._groups(begin, end))
        cursor = 0
        for number, (first, last) in enumerate(groups):
            start, stop = self.starts[first], self.ends[first]
            multiword = last - first > 1
            token = _cell(text[start:stop]) if multiword else self.forms[first]
            misc = [] if find_form(text, cursor, token) == (start, stop) else [f"WordSpan={start}:{stop}"]
            next_start = self.starts[groups[number + 1][0]] if number + 1 < len(groups) else None
            if next_start == stop:
                misc.append("SpaceAfter=No")
            cursor = stop
            if not multiword:
                yield self._row(first, begin, misc)
                continue
            empty_cells = "\t_" * 7
            yield f"{first - begin + 1}-{last - begin}\t{token}{empty_cells}\t{'|'.join(misc) or '_'}\n"
            default_spans = multiword_spans(start, text[start:stop], self.forms[first:last])
            for word, span in zip(range(first, last), default_spans, strict=True):
                yield self._row(word, begin, [] if span == (start, stop) else [f"WordSpan={start}:{stop}"])

    def _groups(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields (first, last + 1) of each run of words with the same span."""
        spans = list(zip(self.starts[begin:end], self.ends[begin:end], strict=True))
        edges = [begin + index + 1 for index, (span, after) in enumerate(pairwise(spans)) if span != after]
        if end > begin:
            yield from pairwise([begin, *edges, end])

    def _row(self, word: int, begin: int, misc: list[str]) -> str:
        if word in self.entities:
            misc = [*misc, f"Entity={self.entities[word]}"]
        if word in self.antecedents:
            misc = [*misc, f"Antecedent={self.antecedents[word]}"]
        head = "_"
        if self.heads is not None:
            head = "0" if self.heads[word] == word else str(self.heads[word] - begin + 1)
        return (
            f"{word - begin + 1}\t{self.forms[word]}\t{self.lemmas[word]}\t{self.upos[word]}\t_\t{self.feats[word]}"
            f"\t{head}\t{self.deprels[word]}\t_\t{'|'.join(sorted(misc)) or '_'}\n"
        )

    def _cells(self, column: Strings | None) -> list[str]:
        return ["_"] * len(self.forms) if column is None else [_cell(value) for value in column.to_list()]


def _cell(value: str) -> str:
    return value.translate(_LINE_BREAKS) or "_"
