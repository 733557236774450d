"""Read annotated documents from CoNLL-U, one document in memory at a time; `conllu_writer.py` writes them.

The words of a multiword token have their own characters if they spell the token (do + n't), otherwise all characters
of the token (du = de + le). Empty nodes are skipped because they have no characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from docgraph.annotate.builder import (
    AnnotationBuilder,
    Word,
    document_from_lines,
    find_cycle,
    find_form,
    multiword_spans,
)
from docgraph.annotate.conllu_entities import EntityReader
from docgraph.annotation import LAYERS, Annotation, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

ID, FORM, LEMMA, UPOS, _XPOS, FEATS, HEAD, DEPREL, _DEPS, MISC = range(10)
_WORD_ID = re.compile(r"[1-9][0-9]{0,7}")
_RANGE_ID = re.compile(r"([1-9][0-9]{0,7})-([1-9][0-9]{0,7})")
_EMPTY_ID = re.compile(r"[0-9]{1,8}\.[0-9]{1,8}")
_HEAD = re.compile(r"[0-9]{1,8}")
_WORD_SPAN = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")

AnnotatedDocument = tuple[Document, Annotation]
COLUMN_OF: dict[Layer, str] = {layer: "upos" if layer == "tags" else layer for layer in LAYERS}
"""The name of each layer in the comment `docgraph.columns`."""


def read(path: str | Path) -> list[AnnotatedDocument]:
    """Reads all documents of a file."""
    return list(iterate(path))


def iterate(path: str | Path) -> Iterator[AnnotatedDocument]:
    """Yields the documents of a file."""
    with Path(path).open("rb") as file:
        yield from parse(file, str(path))


def parse(
    lines: Iterable[bytes], path: str, *, first_line: int = 1, entity_fields: str | None = None
) -> Iterator[AnnotatedDocument]:
    """Yields the documents of UTF-8 lines.

    `path` is used in errors, and as the id of a document without a `# newdoc` line. `entity_fields` is the value of an
    earlier `# global.Entity`, which is valid for the whole file.
    """
    for reader in _read_documents(lines, path, first_line, entity_fields):
        yield reader.build()


def parse_with_chains(lines: Iterable[bytes], path: str) -> Iterator[tuple[Document, Annotation, list[list[int]]]]:
    """Like `parse`, but also yields the chains: the head words of each entity, which may share words."""
    for reader in _read_documents(lines, path):
        document, annotation = reader.build()
        yield document, annotation, reader.entities.chains(annotation.heads)


def _read_documents(
    lines: Iterable[bytes], path: str, first_line: int = 1, entity_fields: str | None = None
) -> Iterator[_DocumentReader]:
    reader: _DocumentReader | None = None
    for block in _blocks(lines, path, first_line):
        entity_fields = block.comments.get("global.Entity") or entity_fields
        if block.document_id is not None:
            if reader is not None:
                yield reader
            reader = _DocumentReader(path, block.document_id)
        elif reader is None:
            reader = _DocumentReader(path, Path(path).stem)
        reader.add(block, entity_fields)
    if reader is not None:
        yield reader


@dataclass(slots=True)
class _Block:
    """The comments and rows between two blank lines."""

    line: int
    document_id: str | None = None
    paragraph: bool = False
    comments: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    """(line number, cells)."""

    def add_comment(self, text: str) -> None:
        """Adds a comment line."""
        key, equals, value = text[1:].partition("=")
        words = key.split()
        if words[:1] == ["newdoc"]:
            self.document_id = value.strip() if equals else ""
        elif words[:1] == ["newpar"]:
            self.paragraph = True
        elif equals:
            self.comments[key.strip()] = value.removeprefix(" ")


def _blocks(lines: Iterable[bytes], path: str, first_line: int) -> Iterator[_Block]:
    block: _Block | None = None
    for number, raw in enumerate(chain(lines, [b""]), start=first_line):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise DocgraphError("this line is not UTF-8; convert the file with iconv", path=path, line=number) from None
        if not text.strip():
            if block is not None:
                yield block
            block = None
            continue
        block = block or _Block(number)
        if text[0] == "#":
            block.add_comment(text)
            continue
        cells = text.split("\t")
        if len(cells) != 10:
            columns = f"{len(cells)} column{'s' * (len(cells) > 1)}"
            raise DocgraphError(f"{columns} instead of the 10 tab-separated ones of CoNLL-U", path=path, line=number)
        block.rows.append((number, cells))


@dataclass(slots=True)
class _Token:
    """A token of the text: one word, or the words of a multiword token."""

    line: int
    form: str
    misc: dict[str, str]
    words: list[tuple[int, list[str]]]


class _DocumentReader:
    """Builds one document from its sentences."""

    def __init__(self, path: str, id: str) -> None:
        self.path, self.id = path, id
        self.texts: list[str] = []
        self.speakers: list[str | None] = []
        self.paragraphs: list[int] = []
        self.builder = AnnotationBuilder()
        self.entities = EntityReader(path)
        self.layers: set[Layer] = {"words"}
        self.declared: frozenset[str] | None = None
        """The columns that the comment `docgraph.columns` declares."""
        self.first_headless_line: int | None = None
        self.has_feats = self.has_deprels = False

    def add(self, block: _Block, entity_fields: str | None) -> None:
        """Adds a sentence."""
        if entity_fields is not None:
            self.entities.fields = tuple(entity_fields.strip().split("-"))
            self.layers.add("coreference")
        declared = block.comments.get("docgraph.columns")
        if declared is not None:
            self.declared = frozenset(declared.split())
        text = block.comments.get("text")
        if not block.rows and text is None:
            return
        tokens = self._tokens(block)
        self.texts.append(_spell(tokens) if text is None else text)
        self.speakers.append(block.comments.get("speaker"))
        self.paragraphs.append(self.paragraphs[-1] + block.paragraph if self.paragraphs else 0)
        first = len(self.builder.words)
        for token, span in zip(tokens, self._token_spans(tokens), strict=True):
            self._add_token(token, span, first)
        self.builder.end_sentence()
        self._check_heads(block, first)

    def build(self) -> AnnotatedDocument:
        """Returns the document and its annotation."""
        declared = self.declared
        if declared is not None:
            self.layers = {"words", *(layer for layer in LAYERS if COLUMN_OF[layer] in declared)}
        if "heads" in self.layers and self.first_headless_line is not None:
            raise self._error(
                "this word has no head but other words of its document do; give it a head, 0 if it is a root",
                self.first_headless_line,
            )
        annotation = self.builder.build(frozenset(self.layers))
        if not (self.has_feats if declared is None else "feats" in declared):
            annotation = replace(annotation, feats=None)
        if not (self.has_deprels if declared is None else "deprels" in declared):
            annotation = replace(annotation, deprels=None)
        if "coreference" in self.layers:
            annotation = replace(annotation, coreference=self.entities.links(annotation.heads))
        return document_from_lines(self.texts, self.id, self.speakers, self.paragraphs), annotation

    def _tokens(self, block: _Block) -> list[_Token]:
        """Groups the rows of a sentence into tokens. Ids count from 1; a range precedes its first word."""
        tokens: list[_Token] = []
        count = last_of_range = 0
        for line, cells in block.rows:
            identifier, misc = cells[ID], _parse_misc(cells[MISC])
            if _WORD_ID.fullmatch(identifier) and int(identifier) == count + 1:
                count += 1
                if count > last_of_range:
                    tokens.append(_Token(line, cells[FORM], misc, []))
                tokens[-1].words.append((line, cells))
                self._read_entities(misc, len(self.builder.words) + count - 1, empty=False, line=line)
            elif (ids := _RANGE_ID.fullmatch(identifier)) is not None:
                first, last = int(ids[1]), int(ids[2])
                if first != count + 1 or last < first or first <= last_of_range:
                    raise self._error(f"the range '{identifier}' does not begin with the next word, {count + 1}", line)
                last_of_range = last
                tokens.append(_Token(line, cells[FORM], misc, []))
            elif _EMPTY_ID.fullmatch(identifier):
                self._read_entities(misc, len(self.builder.words) + count, empty=True, line=line)
            else:
                raise self._error(f"the id is '{identifier}' but should be {count + 1}", line)
        if last_of_range > count:
            raise self._error(f"the last range ends at {last_of_range}, but the sentence has {count} words", block.line)
        return tokens

    def _read_entities(self, misc: dict[str, str], word: int, *, empty: bool, line: int) -> None:
        value = misc.get("Entity")
        if value:
            self.layers.add("coreference")
            self.entities.read(value, word, word - empty, line)
        if "Antecedent" in misc and not empty:
            self.entities.read_antecedent(misc["Antecedent"], word, line)

    def _token_spans(self, tokens: list[_Token]) -> Iterator[tuple[int, int]]:
        """Yields the span of each token in the text of the sentence."""
        text, cursor = self.texts[-1], 0
        for token in tokens:
            span = _explicit_span(token.misc, len(text)) or find_form(text, cursor, token.form)
            if span is None:
                raise self._error(
                    f"the word '{token.form}' is not the next one in the '# text' of its sentence; correct one of them",
                    token.line,
                )
            cursor = span[1]
            yield span

    def _add_token(self, token: _Token, span: tuple[int, int], first: int) -> None:
        if len(token.words) == 1:
            self._add_word(*token.words[0], span, first)
            return
        text, forms = self.texts[-1], [cells[FORM] for _, cells in token.words]
        spans = multiword_spans(span[0], text[span[0] : span[1]], forms)
        for (line, cells), default in zip(token.words, spans, strict=True):
            self._add_word(line, cells, _explicit_span(_parse_misc(cells[MISC]), len(text)) or default, first)

    def _add_word(self, line: int, cells: list[str], span: tuple[int, int], first: int) -> None:
        form, lemma, upos, feats, deprel = cells[FORM], cells[LEMMA], cells[UPOS], cells[FEATS], cells[DEPREL]
        head = len(self.builder.words)
        if _HEAD.fullmatch(cells[HEAD]):
            self.layers.add("heads")
            if cells[HEAD] == cells[ID]:
                raise self._error("this word is its own head; write 0 if it is a root", line)
            head = first + int(cells[HEAD]) - 1 if int(cells[HEAD]) else head
        elif cells[HEAD] == "_":
            self.first_headless_line = self.first_headless_line or line
        else:
            raise self._error(
                f"the head '{cells[HEAD]}' is not a number; write the id of a word, 0 for a root, or _", line
            )
        if lemma != "_":
            self.layers.add("lemmas")
        elif form != "_":
            lemma = form.lower()
        if upos != "_":
            self.layers.add("tags")
        self.has_feats = self.has_feats or feats != "_"
        self.has_deprels = self.has_deprels or deprel != "_"
        upos, feats, deprel = ("" if cell == "_" else cell for cell in (upos, feats, deprel))
        self.builder.words.append(Word(*span, form, lemma, upos, feats, head, deprel))

    def _check_heads(self, block: _Block, first: int) -> None:
        """Raises DocgraphError if a head is not a word of the sentence, or the heads form a cycle."""
        heads = [word.head - first for word in self.builder.words[first:]]
        lines = [line for line, cells in block.rows if "-" not in cells[ID] and "." not in cells[ID]]
        for head, line in zip(heads, lines, strict=True):
            if head >= len(heads):
                raise self._error(f"the head {head + 1} is not among the {len(heads)} words of the sentence", line)
        word = find_cycle(heads)
        if word is not None:
            raise self._error("the heads form a cycle that starts at this word; make one of them 0", lines[word])

    def _error(self, message: str, line: int) -> DocgraphError:
        return DocgraphError(message, path=self.path, line=line)


def _explicit_span(misc: dict[str, str], length: int) -> tuple[int, int] | None:
    """Returns the span of a `WordSpan=3:7` in MISC, or None if there is none or it exceeds the text."""
    span = _WORD_SPAN.fullmatch(misc.get("WordSpan", ""))
    if span is None:
        return None
    start, end = int(span[1]), int(span[2])
    return (start, end) if start <= end <= length else None


def _parse_misc(cell: str) -> dict[str, str]:
    if cell == "_":
        return {}
    return {key: value for key, _, value in (part.partition("=") for part in cell.split("|"))}


def _spell(tokens: list[_Token]) -> str:
    """Returns the text of a sentence that has no `# text`."""
    text = "".join(token.form + ("" if token.misc.get("SpaceAfter") == "No" else " ") for token in tokens)
    return text.removesuffix(" ")
