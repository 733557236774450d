"""<doc> and <seg>: IWSLT/WIT3 XML, WMT SGM, the newer WMT XML, and the train.tags files of IWSLT.

SGM is not XML (bare ampersands, tags in capitals), so one tolerant scanner of tags reads them all.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers.problems import Problems
from docgraph.corpus.readers.sides import SideDocument, match, pair
from docgraph.corpus.readers.text_files import clean, read_lines
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

_TAG = re.compile(r"<(/?)(doc|seg|src|ref|hyp)\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_HEADER = re.compile(r"\s*<(/?)([A-Za-z]+)\b([^<>]*)>(.*)", re.DOTALL)
_HEADERS = frozenset({"url", "speaker", "talkid", "title", "description", "keywords", "reviewer", "translator", "doc"})
LONGEST_SEGMENT = 10_000
"""Lines: a segment that goes on for more was never closed."""


@dataclass
class _Tag:
    line: int
    name: str
    closes: bool
    attributes: dict[str, str]
    text: str | None
    """Of a closing </seg>: the text in it; None where some of it was not UTF-8."""


def _tags(path: str, problems: Problems) -> Iterator[_Tag]:
    """The tags of a file in order; text outside of segments is passed over."""
    inside, begun = False, 0
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
                    what = "</seg> without <seg>" if closes else f"<seg> inside the <seg> of line {begun}"
                    raise DocgraphError(f"{what}; correct the markup", path=path, line=number)
                text = _joined(parts) if closes else None
                inside, parts, begun = not closes, [], begun if closes else number
            yield _Tag(begun if name == "seg" else number, name, closes, _attributes(tag[3]), text)
        if inside:
            parts.append(None if line is None else line[position:])
            if len(parts) > LONGEST_SEGMENT:
                raise DocgraphError("this <seg> is never closed; correct the markup", path=path, line=begun)
    if inside:
        raise DocgraphError("this <seg> is never closed; correct the markup", path=path, line=begun)


def _joined(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return " ".join(html.unescape(" ".join(known)).split()) if len(known) == len(parts) else None


def _attributes(text: str) -> dict[str, str]:
    found = _ATTRIBUTE.finditer(text)
    return {m[1].lower(): html.unescape(next((v for v in m.groups()[1:] if v is not None), "")) for m in found}


def _name(attributes: dict[str, str], number: int) -> str:
    return attributes.get("docid") or attributes.get("id") or str(number)


def _side(path: str, problems: Problems) -> Iterator[SideDocument]:
    """The documents of an SGM or mteval XML file."""
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


def read_sgm(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """<doc docid><seg id> on both sides: IWSLT/WIT3 XML (dev and test sets) and WMT SGM."""
    if entry.target is None:
        raise DocgraphError("this format has two files; name the other as 'target'", path=entry.source)
    yield from match(_side(entry.source, problems), _side(entry.target, problems), problems)


def read_wmt_xml(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """<doc id> with <src> and <ref> in one file; of several references the first is taken."""
    sides: dict[str, SideDocument] = {}
    current: SideDocument | None = None
    begun, segment, number = 0, "", 0
    for tag in _tags(entry.source, problems):
        if tag.name == "doc" and not tag.closes:
            number, begun, sides, name = number + 1, tag.line, {}, _name(tag.attributes, number + 1)
        elif tag.name == "doc":
            yield from _wmt_document(entry.source, begun, sides, problems)
            sides = {}
        elif tag.name != "seg":
            current = None if tag.closes or not number else SideDocument(name, entry.source, begun)
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
        yield from pair(sides["src"], sides["ref"], problems)
        return
    count = max([1, *(len(side.segments) for side in sides.values())])
    problems.add("documents differ", "this document has no <src> or no <ref>", path, line, count)


def _talks(path: str, problems: Problems) -> Iterator[SideDocument]:
    """The talks of a train.tags file: header lines in tags, then one sentence a line."""
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


def read_train_tags(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """The two train.tags files of an IWSLT/WIT3 release; tags may differ between them, talks and sentences not."""
    if entry.target is None:
        raise DocgraphError("this format has two files; name the other as 'target'", path=entry.source)
    yield from match(_talks(entry.source, problems), _talks(entry.target, problems), problems)
