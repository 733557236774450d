"""CoNLL-U files: documents with annotations made elsewhere, read one document at a time.

A word of a multiword token gets its own characters when the words together spell the token (do + n't), and all
characters of the token when they do not (du = de + le). Empty nodes are skipped: they stand for no characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from docgraph.annotate.base import lines_document
from docgraph.annotate.columns import Columns, word_spans
from docgraph.annotate.entities import EntityReader
from docgraph.annotation import LAYERS, Annotation, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

ID, FORM, LEMMA, UPOS, _XPOS, FEATS, HEAD, DEPREL, _DEPS, MISC = range(10)
_WORD_ID = re.compile(r"[1-9][0-9]{0,7}")
_RANGE_ID = re.compile(r"([1-9][0-9]{0,7})-([1-9][0-9]{0,7})")
_EMPTY_ID = re.compile(r"[0-9]{1,8}\.[0-9]{1,8}")
_HEAD = re.compile(r"[0-9]{1,8}")
_WORD_SPAN = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")

Annotated = tuple[Document, Annotation]
COLUMN_OF: dict[Layer, str] = {layer: "upos" if layer == "tags" else layer for layer in LAYERS}


def read(path: str | Path) -> list[Annotated]:
    """All documents of a file."""
    return list(iterate(path))


def iterate(path: str | Path) -> Iterator[Annotated]:
    """The documents of a file, one in memory at a time."""
    with Path(path).open("rb") as file:
        yield from parse(file, str(path))


def parse(
    lines: Iterable[bytes], path: str, *, first_line: int = 1, entity_fields: str | None = None
) -> Iterator[Annotated]:
    """The documents in lines of UTF-8; `path` names them in errors, and a document that has no `# newdoc` line.

    `entity_fields` is what `# global.Entity` said before these lines: it holds for the whole file.
    """
    builder: _DocumentBuilder | None = None
    for block in _blocks(lines, path, first_line):
        entity_fields = block.value("global.Entity") or entity_fields
        if block.document_id is not None:
            if builder is not None:
                yield builder.build()
            builder = _DocumentBuilder(path, block.document_id)
        elif builder is None:
            builder = _DocumentBuilder(path, Path(path).stem)
        builder.add(block, entity_fields)
    if builder is not None:
        yield builder.build()


@dataclass(slots=True)
class _Block:
    """What stands between two blank lines."""

    line: int
    document_id: str | None = None
    paragraph: bool = False
    comments: dict[str, tuple[int, str]] = field(default_factory=dict)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)

    def comment(self, line: int, text: str) -> None:
        key, equals, value = text[1:].partition("=")
        words = key.split()
        if words[:1] == ["newdoc"]:
            self.document_id = value.strip() if equals else ""
        elif words[:1] == ["newpar"]:
            self.paragraph = True
        elif equals:
            self.comments[key.strip()] = (line, value.removeprefix(" "))

    def value(self, key: str) -> str | None:
        found = self.comments.get(key)
        return None if found is None else found[1]


def _blocks(lines: Iterable[bytes], path: str, first_line: int) -> Iterator[_Block]:
    block: _Block | None = None
    for number, raw in enumerate(lines, start=first_line):
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
            block.comment(number, text)
            continue
        cells = text.split("\t")
        if len(cells) != 10:
            raise DocgraphError(
                f"{len(cells)} column{'s' * (len(cells) > 1)} where CoNLL-U has 10, with tabs between them",
                path=path,
                line=number,
            )
        block.rows.append((number, cells))
    if block is not None:
        yield block


@dataclass(slots=True)
class _Surface:
    """A token of the text: one word, or a range of words that share its characters."""

    line: int
    form: str
    misc: dict[str, str]
    words: list[tuple[int, list[str]]]


class _DocumentBuilder:
    """Grows one document sentence by sentence."""

    def __init__(self, path: str, id: str) -> None:
        self.path, self.id = path, id
        self.texts: list[str] = []
        self.speakers: list[str | None] = []
        self.paragraphs: list[int] = []
        self.columns = Columns()
        self.entities = EntityReader(path)
        self.layers: set[Layer] = {"words"}
        self.declared: frozenset[str] | None = None
        self.headless: int | None = None
        self.has_feats = self.has_deprels = False

    def add(self, block: _Block, entity_fields: str | None) -> None:
        if entity_fields is not None:
            self.entities.set_fields(entity_fields)
            self.layers.add("coreference")
        declared = block.value("docgraph.columns")
        if declared is not None:
            self.declared = frozenset(declared.split())
        text = block.value("text")
        if not block.rows and text is None:
            return
        surfaces = self._surfaces(block)
        self.texts.append(_spell(surfaces) if text is None else text)
        self.speakers.append(block.value("speaker"))
        self.paragraphs.append(self.paragraphs[-1] + block.paragraph if self.paragraphs else 0)
        begin = len(self.columns.starts)
        for surface, span in zip(surfaces, self._places(surfaces), strict=True):
            self._add_words(surface, span, begin)
        self.columns.end_sentence()
        self._check_heads(block, begin)

    def build(self) -> Annotated:
        declared = self.declared
        if declared is not None:
            self.layers = {"words", *(layer for layer in LAYERS if COLUMN_OF[layer] in declared)}
        if "heads" in self.layers and self.headless is not None:
            raise DocgraphError(
                "this word has no head although others of its document do; give it one, 0 if it is a root",
                path=self.path,
                line=self.headless,
            )
        annotation = self.columns.annotation(frozenset(self.layers))
        if not (self.has_feats if declared is None else "feats" in declared):
            annotation = replace(annotation, feats=None)
        if not (self.has_deprels if declared is None else "deprels" in declared):
            annotation = replace(annotation, deprels=None)
        if "coreference" in self.layers:
            annotation = replace(annotation, coreference=self.entities.links(annotation.heads))
        return lines_document(self.texts, self.id, self.speakers, self.paragraphs), annotation

    def _surfaces(self, block: _Block) -> list[_Surface]:
        """The tokens of a sentence; their ids must run from 1 on, each range just before its first word."""
        surfaces: list[_Surface] = []
        count = last_of_range = 0
        for line, cells in block.rows:
            identifier = cells[ID]
            if _WORD_ID.fullmatch(identifier) and int(identifier) == count + 1:
                count += 1
                if count > last_of_range:
                    surfaces.append(_Surface(line, cells[FORM], _misc(cells[MISC]), []))
                surfaces[-1].words.append((line, cells))
            elif (found := _RANGE_ID.fullmatch(identifier)) is not None:
                first, last = int(found[1]), int(found[2])
                if first != count + 1 or last < first or first <= last_of_range:
                    raise self._error(f"the range '{identifier}' does not begin with the next word, {count + 1}", line)
                last_of_range = last
                surfaces.append(_Surface(line, cells[FORM], _misc(cells[MISC]), []))
            elif _EMPTY_ID.fullmatch(identifier):
                self._read_entities(_misc(cells[MISC]), len(self.columns.starts) + count, empty=True, line=line)
            else:
                raise self._error(f"the id is '{identifier}' where {count + 1} is due", line)
            if _EMPTY_ID.fullmatch(identifier) is None and "-" not in identifier:
                self._read_entities(_misc(cells[MISC]), len(self.columns.starts) + count - 1, empty=False, line=line)
        if last_of_range > count:
            raise self._error(f"the last range goes to {last_of_range}, but the sentence has {count} words", block.line)
        return surfaces

    def _read_entities(self, misc: dict[str, str], word: int, *, empty: bool, line: int) -> None:
        value = misc.get("Entity")
        if value:
            self.layers.add("coreference")
            self.entities.read(value, word, word - empty, line)
        if "Antecedent" in misc and not empty:
            self.entities.point(misc["Antecedent"], word, line)

    def _places(self, surfaces: list[_Surface]) -> Iterator[tuple[int, int]]:
        """Where each token stands in the text of the sentence."""
        text, cursor = self.texts[-1], 0
        for surface in surfaces:
            span = word_span(surface.misc, len(text)) or place(text, cursor, surface.form)
            if span is None:
                raise self._error(
                    f"the word '{surface.form}' does not come next in the '# text' of its sentence; correct either",
                    surface.line,
                )
            cursor = span[1]
            yield span

    def _add_words(self, surface: _Surface, span: tuple[int, int], begin: int) -> None:
        forms = [cells[FORM] for _, cells in surface.words]
        text = self.texts[-1]
        shared = len(forms) > 1
        spans = word_spans(span[0], text[span[0] : span[1]], forms) if shared else [span]
        for (line, cells), default in zip(surface.words, spans, strict=True):
            own = word_span(_misc(cells[MISC]), len(text)) if shared else None
            start, end = own or default
            self._add_word(line, cells, start, end, begin)

    def _add_word(self, line: int, cells: list[str], start: int, end: int, begin: int) -> None:
        form, lemma, upos, feats, deprel = cells[FORM], cells[LEMMA], cells[UPOS], cells[FEATS], cells[DEPREL]
        head = len(self.columns.starts)
        if _HEAD.fullmatch(cells[HEAD]):
            self.layers.add("heads")
            if cells[HEAD] == cells[ID]:
                raise self._error("this word is its own head; write 0 if it is a root", line)
            head = begin + int(cells[HEAD]) - 1 if int(cells[HEAD]) else head
        elif cells[HEAD] == "_":
            self.headless = self.headless or line
        else:
            raise self._error(
                f"the head '{cells[HEAD]}' is no number; write the id of a word, 0 for a root, or _", line
            )
        if lemma != "_":
            self.layers.add("lemmas")
        elif form != "_":
            lemma = form.lower()
        if upos != "_":
            self.layers.add("tags")
        self.has_feats = self.has_feats or feats != "_"
        self.has_deprels = self.has_deprels or deprel != "_"
        self.columns.add(start, end, form, lemma, _value(upos), _value(feats), head, _value(deprel))

    def _check_heads(self, block: _Block, begin: int) -> None:
        """Every head is a word of the sentence, and every word reaches a root."""
        heads = [head - begin for head in self.columns.heads[begin:]]
        lines = [line for line, cells in block.rows if "-" not in cells[ID] and "." not in cells[ID]]
        for head, line in zip(heads, lines, strict=True):
            if head >= len(heads):
                raise self._error(f"the head {head + 1} is not among the {len(heads)} words of the sentence", line)
        settled = [head == word for word, head in enumerate(heads)]
        for start in range(len(heads)):
            word, path = start, set()
            while not settled[word]:
                if word in path:
                    raise self._error("the heads from this word on form a cycle; one of them must be 0", lines[word])
                path.add(word)
                word = heads[word]
            for passed in path:
                settled[passed] = True

    def _error(self, message: str, line: int) -> DocgraphError:
        return DocgraphError(message, path=self.path, line=line)


def place(text: str, cursor: int, form: str) -> tuple[int, int] | None:
    """Where `form` stands in `text` after white space at the cursor; white space inside need not be the same."""
    while cursor < len(text) and text[cursor].isspace() and not text.startswith(form, cursor):
        cursor += 1
    if text.startswith(form, cursor):
        return cursor, cursor + len(form)
    end = cursor
    for character in form:
        if character.isspace():
            continue
        while end < len(text) and text[end].isspace():
            end += 1
        if end >= len(text) or text[end] != character:
            return None
        end += 1
    return cursor, end


def word_span(misc: dict[str, str], length: int) -> tuple[int, int] | None:
    """The characters MISC gives a word outright (`WordSpan=3:7`), where the form alone does not tell."""
    found = _WORD_SPAN.fullmatch(misc.get("WordSpan", ""))
    if found is None:
        return None
    start, end = int(found[1]), int(found[2])
    return (start, end) if start <= end <= length else None


def _misc(cell: str) -> dict[str, str]:
    if cell == "_":
        return {}
    return {key: value for key, _, value in (part.partition("=") for part in cell.split("|"))}


def _spell(surfaces: list[_Surface]) -> str:
    """The text of a sentence that has no `# text`."""
    spelled = "".join(surface.form + ("" if surface.misc.get("SpaceAfter") == "No" else " ") for surface in surfaces)
    return spelled.removesuffix(" ")


def _value(cell: str) -> str:
    return "" if cell == "_" else cell
