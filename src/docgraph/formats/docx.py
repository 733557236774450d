"""Word documents: paragraphs of the main text, notes, headers and footers; run boundaries are inline markup.

The source of the document is its XML parts joined by NUL, a character that XML cannot contain. The styles are one of
the parts, because they declare the language of the text.
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
from docgraph.formats.base import Block, Format, decode, document_of
from docgraph.formats.html import add_text
from docgraph.formats.html import escape as escape_html

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

MAX_UNPACKED = 512 * 2**20
"""Maximum size in bytes of the unpacked archive; a larger one is taken for a zip bomb."""
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
    """Return the XML parts that hold text, checked for well-formedness and joined."""
    with _open(data, name) as archive:
        for info in archive.infolist():
            _read(archive, info, name)  # reports damage on reading, not on writing
        parts = [(info, _read(archive, info, name)) for info in _parts(archive, name)]
    return "\0".join(decode(content, f"{name}/{info.filename}")[0] for info, content in parts)


def pack(data: bytes, source: str) -> bytes:
    """Return the archive with the parts of the new source; all other parts are copied."""
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
    """Return the parts that hold text, the main text first."""
    kinds = [(match[1], info) for info in archive.infolist() if (match := _PART.fullmatch(info.filename))]
    names = [info.filename for _, info in kinds]
    if not any(kind == "document" for kind, _ in kinds):
        raise DocgraphError("is a zip archive but not a Word document (it has no word/document.xml)", path=name)
    if len(set(names)) != len(names):
        raise DocgraphError("holds the same part twice; open it in a word processor and save it again", path=name)
    return [info for _, info in sorted(kinds, key=lambda part: (_ORDER.index(part[0]), part[1].filename))]


def _read(archive: ZipFile, info: ZipInfo, name: str) -> bytes:
    """Return an entry of the archive; XML parts that hold text are checked."""
    if info.flag_bits & 1:
        raise DocgraphError("is protected by a password; save it without one", path=name)
    try:
        content = archive.read(info)
    except Exception as error:  # each decompressor raises its own exceptions
        raise DocgraphError(
            f"is damaged: {info.filename!r} cannot be unpacked; get the file again", path=name
        ) from error
    if _PART.fullmatch(info.filename):
        _check(content, f"{name}/{info.filename}")
    return content


def _check(xml: bytes, name: str) -> None:
    """Refuse XML that is not well-formed or has a document type, whose entities can expand without bound."""
    from xml.parsers import expat

    def refuse(*_: object) -> None:
        raise DocgraphError(
            "declares a document type, which Word documents do not have; save it again in a word processor", path=name
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(xml, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise DocgraphError(
            f"is not well-formed XML ({error}); open and save it in a word processor", path=name
        ) from error


def parse(source: str, language: str) -> list[Document]:
    """Read the joined XML parts of a Word document."""
    return document_of(source, _paragraphs(source), language)


def _paragraphs(source: str) -> Iterator[Block]:
    """Yield the paragraphs; all source between two text elements (`w:t`), run boundaries included, is one markup."""
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
                block.markup(run_end, tag.end(), source[run_end : tag.start()] + _preserving_spaces(tag[0]))
            text_start = tag.end()
        elif tag["name"] in breaks:
            yield block
            block, run_end = Block(source), None
    yield block


def _prefix(source: str) -> str:
    namespace = _NAMESPACE.search(source)
    return namespace[1] if namespace else "w"


def declare(source: str, language: str) -> str:
    """Set the proofing language where it is the main language of the document; words in other languages keep theirs."""
    prefix = re.escape(_prefix(source))
    mark = re.compile(rf"""(<{prefix}:lang\s(?:[^<>]*\s)?{prefix}:val\s*=\s*["'])([A-Za-z]+)([\w-]*)""")
    most_common = Counter(match[2].lower() for match in mark.finditer(source)).most_common(1)
    return mark.sub(lambda match: match[1] + language if match[2].lower() == most_common[0][0] else match[0], source)


def _preserving_spaces(tag: str) -> str:
    """Return the start tag of a text element, with the attribute that preserves outer spaces of its text."""
    return tag if "xml:space" in tag else f'{tag[:-1]} xml:space="preserve">'


def escape(text: str) -> str:
    """Escape text for XML and remove the characters that XML does not allow."""
    return escape_html(_ILLEGAL.sub("", text))


DOCX = Format("docx", (".docx", ".docm", ".dotx"), parse, escape, unpack, pack, declare)
