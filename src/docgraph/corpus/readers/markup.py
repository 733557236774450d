"""Formats with <doc> and <seg> tags: IWSLT/WIT3 XML, WMT SGM, the newer WMT XML, and the train.tags files of IWSLT.

SGM is not XML (it has bare ampersands and upper-case tags), so that one tolerant tag scanner reads all of them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers.aligned import DocumentBuilder, target_path
from docgraph.corpus.readers.text_files import Problems, clean, read_lines
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

_TAG = re.compile(r"<(/?)(doc|seg|src|ref|hyp)\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_HEADER = re.compile(r"\s*<(/?)([A-Za-z]+)\b([^<>]*)>(.*)", re.DOTALL)
_HEADERS = frozenset({"url", "speaker", "talkid", "title", "description", "keywords", "reviewer", "translator", "doc"})
MAX_SEGMENT_LINES = 10_000
"""A longer segment is taken for one that is never closed."""
MAX_WAITING = 64
"""With --skip-bad, at most this many documents of a side wait for their partners; then the oldest is dropped."""


@dataclass
class SideDocument:
    """One side of a document: its id, its position, and (line, segment id, text) of its sentences."""

    id: str
    path: str
    line: int
    segments: list[tuple[int, str, str | None]] = field(default_factory=list)


@dataclass
class _Tag:
    line: int
    name: str
    closes: bool
    attributes: dict[str, str]
    text: str | None
    """For </seg>: the text of the segment, or None if a part of it is not UTF-8."""


def read_sgm(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads <doc docid><seg id> on both sides: IWSLT/WIT3 XML (dev and test sets) and WMT SGM."""
    target = target_path(entry)
    yield from _match_documents(_documents(entry.source, problems), _documents(target, problems), problems)


def read_train_tags(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads the two train.tags files of an IWSLT/WIT3 release; the header tags of the two sides may differ."""
    target = target_path(entry)
    yield from _match_documents(_talks(entry.source, problems), _talks(target, problems), problems)


def read_wmt_xml(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads <doc id> with <src> and <ref> in one file; the first of several references is used."""
    sides: dict[str, SideDocument] = {}
    current: SideDocument | None = None
    start, segment, number = 0, "", 0
    for tag in _tags(entry.source, problems):
        if tag.name == "doc" and not tag.closes:
            number, start, sides, name = number + 1, tag.line, {}, _name(tag.attributes, number + 1)
        elif tag.name == "doc":
            yield from _wmt_document(entry.source, start, sides, problems)
            sides = {}
        elif tag.name != "seg":
            current = None if tag.closes or not number else SideDocument(name, entry.source, start)
            if current is not None and tag.name in ("src", "ref"):
                sides.setdefault(tag.name, current)
        elif tag.closes and current is not None:
            current.segments.append((tag.line, segment, tag.text))
        segment = tag.attributes.get("id", "")
    if not number:
        raise DocgraphError("there is no <doc> in this file; choose another 'format'", path=entry.source)


def _wmt_document(
    path: str, line: int, sides: dict[str, SideDocument], problems: Problems
) -> Iterator[ParallelDocument]:
    if "src" in sides and "ref" in sides:
        yield from _pair(sides["src"], sides["ref"], problems)
        return
    count = max([1, *(len(side.segments) for side in sides.values())])
    problems.add("documents differ", "this document has no <src> or no <ref>", path, line, count)


def _tags(path: str, problems: Problems) -> Iterator[_Tag]:
    """Yields the tags of a file in order; text outside of segments is ignored."""
    inside, start = False, 0
    parts: list[str | None] = []
    for number, line in enumerate(read_lines(path, problems), start=1):
        position = 0
        for tag in _TAG.finditer(line or ""):
            name, closes = tag[2].lower(), bool(tag[1])
            if inside:
                parts.append((line or "")[position : tag.start()])
            position = tag.end()
            text = None
            if name == "seg":
                if inside != closes:
                    error = "</seg> without <seg>" if closes else f"<seg> inside the <seg> of line {start}"
                    raise DocgraphError(f"{error}; correct the markup", path=path, line=number)
                text = _join(parts) if closes else None
                inside, parts, start = not closes, [], start if closes else number
            yield _Tag(start if name == "seg" else number, name, closes, _attributes(tag[3]), text)
        if inside:
            parts.append(None if line is None else line[position:])
            if len(parts) > MAX_SEGMENT_LINES:
                break
    if inside:
        raise DocgraphError("this <seg> is never closed; correct the markup", path=path, line=start)


def _join(parts: list[str | None]) -> str | None:
    texts = [part for part in parts if part is not None]
    return " ".join(html.unescape(" ".join(texts)).split()) if len(texts) == len(parts) else None


def _attributes(text: str) -> dict[str, str]:
    matches = _ATTRIBUTE.finditer(text)
    return {m[1].lower(): html.unescape(next((v for v in m.groups()[1:] if v is not None), "")) for m in matches}


def _name(attributes: dict[str, str], number: int) -> str:
    return attributes.get("docid") or attributes.get("id") or str(number)


def _documents(path: str, problems: Problems) -> Iterator[SideDocument]:
    """Yields the documents of an SGM or mteval XML file."""
    document: SideDocument | None = None
    number, segment = 0, ""
    for tag in _tags(path, problems):
        if tag.name == "doc":
            if document is not None:
                yield document
                document = None
            if not tag.closes:
                number += 1
                document = SideDocument(_name(tag.attributes, number), path, tag.line)
        elif tag.name == "seg":
            if document is None:
                raise DocgraphError("<seg> outside of a <doc>; correct the markup", path=path, line=tag.line)
            if tag.closes:
                document.segments.append((tag.line, segment, tag.text))
            segment = tag.attributes.get("id", "")
    if document is not None:
        yield document
    if not number:
        raise DocgraphError("there is no <doc> in this file; choose another 'format'", path=path)


def _talks(path: str, problems: Problems) -> Iterator[SideDocument]:
    """Yields the talks of a train.tags file: header lines in tags, then one sentence per line."""
    talk: SideDocument | None = None
    number = 0
    for line_number, line in enumerate(read_lines(path, problems), start=1):
        header = _HEADER.match(line or "")
        if header is not None and header[2].lower() in _HEADERS:
            if talk is None or talk.segments:
                if talk is not None:
                    yield talk
                number += 1
                talk = SideDocument(str(number), path, line_number)
            talk.id = _talk_id(header) or talk.id
        elif line != "":
            talk = talk or SideDocument("", path, line_number)
            text = None if line is None else clean(" ".join(html.unescape(line).split()))
            talk.segments.append((line_number, str(len(talk.segments)), text))
    if talk is not None and talk.segments:
        yield talk
    if not number:
        raise DocgraphError("no line begins with <url>, <talkid> or <doc>; choose another 'format'", path=path)


def _talk_id(header: re.Match[str]) -> str:
    if header[2].lower() == "talkid":
        return header[4].partition("<")[0].strip()
    return _attributes(header[3]).get("docid", "") if header[2].lower() == "doc" else ""


def _match_documents(
    sources: Iterator[SideDocument], targets: Iterator[SideDocument], problems: Problems
) -> Iterator[ParallelDocument]:
    """Yields the documents with the same id on both sides, in order; a document without a partner is a problem."""
    waiting: tuple[dict[str, SideDocument], dict[str, SideDocument]] = ({}, {})
    while True:
        heads = next(sources, None), next(targets, None)
        if heads == (None, None):
            break
        source, target = heads
        if source is not None and target is not None and source.id == target.id:
            yield from _pair(source, target, problems)
            continue
        for side, document in enumerate(heads):
            if document is None:
                continue
            if not problems.skip:
                _report_unmatched(document, heads[1 - side], problems)
            partner = waiting[1 - side].pop(document.id, None)
            if partner is not None:
                yield from _pair(*((document, partner) if side == 0 else (partner, document)), problems)
                continue
            waiting[side][document.id] = document
            if len(waiting[side]) > MAX_WAITING:
                _report_unmatched(waiting[side].pop(next(iter(waiting[side]))), None, problems)
    for document in (*waiting[0].values(), *waiting[1].values()):
        _report_unmatched(document, None, problems)


def _report_unmatched(document: SideDocument, opposite: SideDocument | None, problems: Problems) -> None:
    other = "the other side has no such document" if opposite is None else f"the other side has '{opposite.id}' here"
    message = f"document '{document.id}' has no partner: {other}"
    problems.add("documents differ", message, document.path, document.line, max(1, len(document.segments)))


def _pair(source: SideDocument, target: SideDocument, problems: Problems) -> Iterator[ParallelDocument]:
    """Yields the parallel document of two sides with the same segment ids."""
    if [segment for _, segment, _ in source.segments] != [segment for _, segment, _ in target.segments]:
        counts = f"{len(source.segments)} segments and {len(target.segments)} in {target.path}:{target.line}"
        message = f"document '{source.id}' has {counts}, or other segment ids"
        problems.add("boundaries differ", message, source.path, source.line, max(1, len(source.segments)))
        return
    builder = DocumentBuilder(source.path, problems)
    yield from builder.finish(source.id)
    for (line, _, text), (_, _, other) in zip(source.segments, target.segments, strict=True):
        builder.add(line, text, other)
    yield from builder.finish()
