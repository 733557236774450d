"""Zip archives of XML parts (DOCX, PPTX, XLSX, ODT, EPUB): read with limits, written with only the changed parts new.

The source of a document is its XML parts that hold text, joined by NUL, a character that XML cannot contain. All other
parts, the order of the archive, and the compressed bytes of unchanged parts are copied.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats.base import Format, decode
from docgraph.formats.paragraph import Block, document_of
from docgraph.formats.xml_text import Vocabulary, escape, escape_attribute, is_html

if TYPE_CHECKING:
    from zipfile import ZipFile

MAX_UNPACKED = 512 * 2**20
"""Maximum size in bytes of the unpacked archive; a larger one is taken for a zip bomb."""
MAX_TEXT = 64 * 2**20
"""Maximum size in bytes of the unpacked XML parts that are read."""
MAX_PARTS = 20_000
"""Maximum number of files in the archive."""
MAX_DEPTH = 500
"""Maximum nesting of XML elements."""
MAX_ELEMENTS = 4_000_000
"""Maximum number of elements in an XML part."""
_OLE = b"\xd0\xcf\x11\xe0"
_CENTRAL_RECORD = b"PK\x01\x02"
_CHUNK = 2**20


class Archive:
    """An opened zip archive; `label` names its format in errors ("DOCX"). Parts are unpacked only on request."""

    def __init__(self, data: bytes, name: str, label: str) -> None:
        self.name = name
        self.label = label
        self._data = data
        self._zip = self._open()
        self._read: set[str] = set()
        infos = self._zip.infolist()
        if sum(info.file_size for info in infos) > MAX_UNPACKED:
            raise self.error(f"unpacks to more than {MAX_UNPACKED >> 20} MiB; split the document")
        if any(info.flag_bits & 1 for info in infos):
            raise self.error("is protected by a password; save it without one")
        self.parts = [info.filename for info in infos]
        """Names of all parts in the order of the archive."""
        self._infos = {info.filename: info for info in infos}

    def error(self, message: str, part: str | None = None) -> DocgraphError:
        """Return an error about the file, or about one of its parts."""
        return DocgraphError(message, path=self.name if part is None else f"{self.name}/{part}")

    def __contains__(self, part: str) -> bool:
        return part in self._infos

    def require(self, part: str) -> None:
        """Raise if the archive lacks the part that makes it a file of its format."""
        if part not in self._infos:
            raise self.error(f"is a zip archive but not in {self.label} format (it has no {part})")

    def content(self, part: str) -> bytes:
        """Return the bytes of a part."""
        info = self._infos[part]
        if len(self.parts) != len(self._infos) and self.parts.count(part) > 1:
            raise self.error("holds the same part twice; open it in its application and save it again")
        self._read.add(part)
        if sum(self._infos[each].file_size for each in self._read) > MAX_TEXT:
            raise self.error(f"holds more than {MAX_TEXT >> 20} MiB of XML text; split the document")
        try:
            return self._zip.read(info)
        except Exception as error:  # each decompressor raises its own exceptions
            raise self._damaged(part) from error

    def xml(self, part: str, allow_doctype: bool = False) -> tuple[str, str]:
        """Return (text, encoding) of an XML part, which is checked for well-formedness, nesting and entities."""
        content = self.content(part)
        self._check(content, part, allow_doctype)
        return decode(content, f"{self.name}/{part}")

    def tree(self, part: str) -> ElementTree.Element:
        """Return an XML part that describes the others (a manifest, relationships) as a tree."""
        content = self.content(part)
        self._check(content, part, allow_doctype=True)
        try:
            return ElementTree.fromstring(content)
        except ElementTree.ParseError as error:
            raise self._malformed(part, error) from error

    def verify(self) -> None:
        """Raise if a part cannot be unpacked, so that damage is reported on reading, not after translating."""
        for info in self._infos.values():
            try:
                with self._zip.open(info) as stream:
                    while stream.read(_CHUNK):
                        pass
            except Exception as error:
                raise self._damaged(info.filename) from error

    def rewrite(self, contents: dict[str, bytes]) -> bytes:
        """Return the archive with new contents of some parts; the other entries are copied as they are, compressed."""
        from zipfile import ZipFile

        buffer = io.BytesIO()
        central = self._zip.infolist()
        physical = sorted(central, key=lambda info: info.header_offset)
        ends = [info.header_offset for info in physical[1:]] + [self._zip.start_dir]
        with ZipFile(buffer, "w") as target:
            target.comment = self._zip.comment
            for info, end in zip(physical, ends, strict=True):
                new = copy(info)
                if info.filename in contents:
                    new.extra = b""  # sizes and times of the old content
                    target.writestr(new, contents[info.filename], info.compress_type)
                    continue
                new.header_offset = target.start_dir
                buffer.seek(target.start_dir)
                buffer.write(self._data[info.header_offset : end])
                target.start_dir = buffer.tell()
                target.filelist.append(new)
                target.NameToInfo[new.filename] = new
            order = {id(info): index for index, info in enumerate(central)}
            ranks = {id(new): order[id(old)] for new, old in zip(target.filelist, physical, strict=True)}
            target.filelist.sort(key=lambda info: ranks[id(info)])
        return buffer.getvalue()

    def _open(self) -> ZipFile:
        from zipfile import BadZipFile, ZipFile

        if self._data.startswith(_OLE):
            raise self.error(f"is an old or password-protected Office file; save it as {self.label} without a password")
        if self._data.count(_CENTRAL_RECORD) > MAX_PARTS:  # counted before zipfile makes an object for each
            raise self.error(f"holds more than {MAX_PARTS:,} parts; split the document")
        try:
            return ZipFile(io.BytesIO(self._data))
        except (BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
            raise self.error(
                f"is not in {self.label} format (not a zip archive, or cut short); check the file or name its format"
            ) from error

    def _damaged(self, part: str) -> DocgraphError:
        return self.error(f"is damaged: {part!r} cannot be unpacked; get the file again")

    def _malformed(self, part: str, error: Exception) -> DocgraphError:
        return self.error(f"is not well-formed XML ({error}); open and save it in its application", part)

    def _check(self, xml: bytes, part: str, allow_doctype: bool) -> None:
        """Refuse XML that is not well-formed, is too deep or large, or declares entities."""
        from xml.parsers import expat

        depth = elements = 0

        def refuse_doctype(*_: object) -> None:
            raise self.error(
                f"declares a document type, which {self.label} files do not have; save it again in its application",
                part,
            )

        def refuse_entity(*_: object) -> None:
            raise self.error("declares XML entities; replace them by their text", part)

        def enter(*_: object) -> None:
            nonlocal depth, elements
            depth += 1
            elements += 1
            if depth > MAX_DEPTH:
                raise self.error(f"nests XML elements more than {MAX_DEPTH} deep; simplify the document", part)
            if elements > MAX_ELEMENTS:
                raise self.error(f"has more than {MAX_ELEMENTS:,} XML elements; split the document", part)

        def leave(*_: object) -> None:
            nonlocal depth
            depth -= 1

        parser = expat.ParserCreate()
        parser.EntityDeclHandler = refuse_entity
        if allow_doctype:
            parser.UseForeignDTD(True)  # &nbsp; is declared in a file that is not read
        else:
            parser.StartDoctypeDeclHandler = refuse_doctype
        parser.StartElementHandler = enter
        parser.EndElementHandler = leave
        try:
            parser.Parse(xml, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise self._malformed(part, error) from error


def zipped_format(
    name: str,
    extensions: tuple[str, ...],
    parts: Callable[[Archive], Sequence[str]],
    vocabulary: Vocabulary,
    *,
    declare: Callable[[str, str], str],
    fixed: Callable[[Archive], Iterable[str]] | None = None,
    html_blocks: Callable[[str, int, int, str], Iterator[Block]] | None = None,
    escapes: Mapping[str, Callable[[str], str]] | None = None,
) -> Format:
    """Return the format of zip archives whose `parts`, in reading order, hold text in the elements of `vocabulary`.

    `fixed` returns texts that must not change, because other parts refer to them. `html_blocks` reads parts that are
    XHTML; without it, the format has none, and document types are refused. `escapes` are further ones of `Format`.
    """
    label = name.upper()

    def unpack(data: bytes, file: str) -> str:
        archive = Archive(data, file, label)
        texts = [archive.xml(part, html_blocks is not None)[0] for part in parts(archive)]
        archive.verify()
        sources = [vocabulary.hoist(text) for text in texts]
        if fixed is not None:
            sources.append("\n".join(sorted(fixed(archive))))
        return "\0".join(sources)

    def pack(data: bytes, source: str) -> bytes:
        archive = Archive(data, "the original document", label)
        contents = {}
        for part, new in zip(parts(archive), source.split("\0"), strict=fixed is None):
            old, encoding = archive.xml(part, html_blocks is not None)
            if (text := vocabulary.lower(new)) != old:
                contents[part] = vocabulary.preserve_spaces(old, text).encode(encoding)
        return archive.rewrite(contents)

    def parse(source: str, language: str) -> list[Document]:
        return document_of(source, blocks(source, language), language)

    def blocks(source: str, language: str) -> Iterator[Block]:
        spans = [part.span(1) for part in re.finditer(r"(?:\A|\0)([^\0]*)", source)]
        kept = frozenset(source[slice(*spans.pop())].split("\n")) if fixed is not None else frozenset()
        for start, end in spans:
            if html_blocks is not None and is_html(source, start, end):
                yield from html_blocks(source, start, end, language)
            else:
                yield from vocabulary.blocks(source, start, end, kept)

    all_escapes = {"attribute": escape_attribute, **(escapes or {})}
    return Format(name, extensions, parse, escape, unpack, pack, declare, escapes=all_escapes)
