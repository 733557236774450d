"""Annotations as CoNLL-U, which `conllu.read` reads back to the same words, heads and coreference links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from docgraph.annotate.columns import word_spans
from docgraph.annotate.conllu import place
from docgraph.annotate.entities import entity_columns
from docgraph.annotation import Annotation, Strings
from docgraph.document import Document
from docgraph.files import replacing

_BREAKS = str.maketrans("\t\n\r", "   ")


def write(path: str | Path, documents: Iterable[tuple[Document, Annotation]]) -> None:
    """All documents into a file, whole or not at all, one in memory at a time."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        dump(file, documents)


def dump(file: BinaryIO, documents: Iterable[tuple[Document, Annotation]]) -> None:
    """All documents into an open file."""
    for document, annotation in documents:
        file.writelines(line.encode() for line in lines(document, annotation))


def lines(document: Document, annotation: Annotation) -> Iterator[str]:
    """The lines of one document, line breaks included."""
    identifier = " ".join(document.id.split())
    yield f"# newdoc id = {identifier}\n" if identifier else "# newdoc\n"
    yield f"# docgraph.columns = {' '.join(_columns(annotation))}\n"
    if annotation.coreference is not None:
        yield "# global.Entity = GRP\n"
    if not len(document):
        yield "\n"
    writer = _SentenceWriter(annotation)
    paragraph = None
    for index, sentence in enumerate(document):
        if paragraph is not None and sentence.paragraph != paragraph:
            yield "# newpar\n"
        paragraph = sentence.paragraph
        yield f"# sent_id = {identifier or 'document'}-{index + 1}\n"
        if sentence.speaker is not None:
            yield f"# speaker = {sentence.speaker.translate(_BREAKS)}\n"
        text = sentence.text.translate(_BREAKS)
        yield f"# text = {text}\n"
        yield from writer.rows(index, text)
        yield "\n"


def _columns(annotation: Annotation) -> list[str]:
    """The columns an annotation has: a file with few words, or odd ones, does not show it."""
    names = ("lemmas", "upos", "feats", "heads", "deprels", "coreference")
    return ["words", *(name for name in names if getattr(annotation, name) is not None)]


class _SentenceWriter:
    """Rows of the sentences of one annotation."""

    def __init__(self, annotation: Annotation) -> None:
        self.offsets = annotation.offsets.tolist()
        self.starts = annotation.starts.tolist()
        self.ends = annotation.ends.tolist()
        self.forms = [_cell(form) for form in annotation.forms.to_list()]
        self.lemmas = self._optional(annotation.lemmas)
        self.upos = self._optional(annotation.upos)
        self.feats = self._optional(annotation.feats)
        self.deprels = self._optional(annotation.deprels)
        self.heads = None if annotation.heads is None else annotation.heads.tolist()
        links = [] if annotation.coreference is None else annotation.coreference.tolist()
        self.entities, self.antecedents = entity_columns(links)

    def rows(self, sentence: int, text: str) -> Iterator[str]:
        """The rows of a sentence: a range before words that share their characters."""
        begin, end = self.offsets[sentence], self.offsets[sentence + 1]
        groups = list(self._groups(begin, end))
        cursor = 0
        for number, (first, last) in enumerate(groups):
            start, stop = self.starts[first], self.ends[first]
            shared = last - first > 1
            surface = _cell(text[start:stop]) if shared else self.forms[first]
            misc = [] if place(text, cursor, surface) == (start, stop) else [f"WordSpan={start}:{stop}"]
            following = self.starts[groups[number + 1][0]] if number + 1 < len(groups) else None
            if following == stop:
                misc.append("SpaceAfter=No")
            cursor = stop
            if not shared:
                yield self._row(first, begin, misc)
                continue
            yield f"{first - begin + 1}-{last - begin}\t{surface}{'	_' * 7}\t{'|'.join(misc) or '_'}\n"
            defaults = word_spans(start, text[start:stop], self.forms[first:last])
            for word, default in zip(range(first, last), defaults, strict=True):
                yield self._row(word, begin, [] if default == (start, stop) else [f"WordSpan={start}:{stop}"])

    def _groups(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Runs of words with the same characters."""
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

    def _optional(self, column: Strings | None) -> list[str]:
        return ["_"] * len(self.forms) if column is None else [_cell(value) for value in column.to_list()]


def _cell(value: str) -> str:
    return value.translate(_BREAKS) or "_"
