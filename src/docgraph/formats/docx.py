"""Word documents: the paragraphs of the main text, notes, headers and footers; boundaries of runs are gaps.

The source of the document is its XML parts joined by NUL, which no XML part can hold; the styles are one of them,
because they say what language the text is in.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats.base import Block, Format, document_of
from docgraph.formats.encoding import decode
from docgraph.formats.html import add_text
from docgraph.formats.html import escape as escape_html

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

MAX_UNPACKED = 512 * 2**20
"""Most bytes of the whole archive once unpacked: beyond that it is a zip bomb."""
_PART = re.compile(r"word/(document|footnotes|endnotes|header|footer|styles)\d*\.xml")
_ORDER = ("document", "footnotes", "endnotes", "header", "footer", "styles")
_NAMESPACE = re.compile(
    r"""xmlns:([A-Za-z_][\w.-]*)\s*=\s*["'](?:http://schemas\.openxmlformats\.org/wordprocessingml/2006/main"""
    r"""|http://purl\.oclc\.org/ooxml/wordprocessingml/main)["']"""
)
_TAG = re.compile(
    r"""<!--(?s:.*?)-->|<!\[CDATA\[(?s:.*?)\]\]>|<\?(?s:.*?)\?>"""
    r"""|<(?P<close>/?)(?P<name>[^\s<>/]+)(?P<rest>(?:[^<>"']|"[^"]*+"|'[^']*+')*+)>"""
)
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BREAKS = ("p", "br", "cr", "tab", "ptab")


def unpack(data: bytes, name: str) -> str:
    """The XML parts with text, checked and joined."""
    with _open(data, name) as archive:
        for info in archive.infolist():
            _read(archive, info, name)  # damage is told now, not when the document is written
        parts = [(info, _read(archive, info, name)) for info in _parts(archive, name)]
    return "\0".join(decode(content, f"{name}/{info.filename}")[0] for info, content in parts)


def pack(data: bytes, source: str) -> bytes:
    """The archive with new parts in the place of the old, all else as it was."""
    from zipfile import ZipFile

    name, buffer = "the original document", io.BytesIO()
    with _open(data, name) as archive, ZipFile(buffer, "w") as target:
        texts = dict(zip((info.filename for info in _parts(archive, name)), source.split("\0"), strict=True))
        for info in archive.infolist():
            content = _read(archive, info, name)
            if info.filename in texts:
                content = texts[info.filename].encode(decode(content, name)[1])
            target.writestr(copy(info), content, info.compress_type)
    return buffer.getvalue()


def _open(data: bytes, name: str) -> ZipFile:
    from zipfile import BadZipFile, ZipFile

    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise DocgraphError("is an old or password-protected Word file; save it as plain .docx", path=name)
    try:
        archive = ZipFile(io.BytesIO(data))
    except (BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
        raise DocgraphError(
            "is not a DOCX file (not a zip archive); check the file or name its format", path=name
        ) from error
    if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED:
        raise DocgraphError(f"unpacks to more than {MAX_UNPACKED >> 20} MiB; split the document", path=name)
    return archive


def _parts(archive: ZipFile, name: str) -> list[ZipInfo]:
    """The parts that hold text, the main text first."""
    kinds = [(match[1], info) for info in archive.infolist() if (match := _PART.fullmatch(info.filename))]
    names = [info.filename for _, info in kinds]
    if not any(kind == "document" for kind, _ in kinds):
        raise DocgraphError("is a zip archive but no Word document (it has no word/document.xml)", path=name)
    if len(set(names)) != len(names):
        raise DocgraphError("holds the same part twice; open it in a word processor and save it again", path=name)
    return [info for _, info in sorted(kinds, key=lambda part: (_ORDER.index(part[0]), part[1].filename))]


def _read(archive: ZipFile, info: ZipInfo, name: str) -> bytes:
    """One entry of the archive; XML that holds text is checked."""
    if info.flag_bits & 1:
        raise DocgraphError("is protected by a password; save it without", path=name)
    try:
        content = archive.read(info)
    except Exception as error:  # those of every decompressor come through
        raise DocgraphError(f"is damaged: {info.filename!r} cannot be unpacked", path=name) from error
    if _PART.fullmatch(info.filename):
        _check(content, f"{name}/{info.filename}")
    return content


def _check(xml: bytes, name: str) -> None:
    """Refuse what is not well-formed, and document types, whose entities can grow without bound."""
    from xml.parsers import expat

    def refuse(*_: object) -> None:
        raise DocgraphError("declares a document type, which no Word document does; it is not read", path=name)

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(xml, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise DocgraphError(
            f"is not well-formed XML ({error}); open and save it in a word processor", path=name
        ) from error


def parse(source: str, language: str) -> list[Document]:
    return document_of(source, _paragraphs(source), language)


def _paragraphs(source: str) -> Iterator[Block]:
    """What stands between the end of one text element and the start of the next, run boundaries and all, is one gap."""
    prefix = _prefix(source)
    text_tag, breaks = f"{prefix}:t", {f"{prefix}:{name}" for name in _BREAKS}
    block, text_start, run_end = Block(source), None, None
    for tag in _TAG.finditer(source):
        if text_start is not None:
            add_text(block, text_start, tag.start())
            text_start = tag.end()
        if tag["name"] == text_tag and tag["close"]:
            text_start, run_end = None, tag.start()
        elif tag["name"] == text_tag and not tag["rest"].endswith("/"):
            if run_end is not None:
                block.markup(run_end, tag.end(), source[run_end : tag.start()] + _keeping_spaces(tag[0]))
            text_start = tag.end()
        elif tag["name"] in breaks:
            yield block
            block, run_end = Block(source), None
    yield block


def _prefix(source: str) -> str:
    namespace = _NAMESPACE.search(source)
    return namespace[1] if namespace else "w"


def declare(source: str, language: str) -> str:
    """Proofing marks of the document's own language name the new one; those of words in a third are left."""
    prefix = re.escape(_prefix(source))
    mark = re.compile(rf"""(<{prefix}:lang\s(?:[^<>]*\s)?{prefix}:val\s*=\s*["'])([A-Za-z]+)([\w-]*)""")
    most_common = Counter(found[2].lower() for found in mark.finditer(source)).most_common(1)
    return mark.sub(lambda found: found[1] + language if found[2].lower() == most_common[0][0] else found[0], source)


def _keeping_spaces(tag: str) -> str:
    """The start tag of a text element whose text may now begin or end with a space."""
    return tag if "xml:space" in tag else f'{tag[:-1]} xml:space="preserve">'


def escape(text: str) -> str:
    return escape_html(_ILLEGAL.sub("", text))


DOCX = Format("docx", (".docx", ".docm", ".dotx"), parse, escape, unpack, pack, declare)
