"""Files to documents and back: `read`, `render`, `write`.

    documents = read("letter.docx")
    write(documents, "letter.fr.docx", [translate(document.texts) for document in documents])

A file that is read and written untouched is the same file, byte for byte.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.formats.base import Block, Format, document_of
from docgraph.formats.docx import DOCX
from docgraph.formats.encoding import decode
from docgraph.formats.html import HTML
from docgraph.formats.lines import LINES
from docgraph.formats.markdown import MARKDOWN
from docgraph.formats.splice import spliced
from docgraph.formats.srt import SRT
from docgraph.formats.text import TEXT, looks_like_lines
from docgraph.formats.vtt import VTT

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "Block",
    "Format",
    "by_extension",
    "document_of",
    "get_format",
    "read",
    "render",
    "translated",
    "write",
]

FORMATS: dict[str, Format] = {form.name: form for form in (LINES, TEXT, MARKDOWN, SRT, VTT, HTML, DOCX)}
"""The formats of this package; those of others come by the entry point group `docgraph.formats`."""
MAX_BYTES = 128 * 2**20
"""Largest file that is read: documents are held in memory whole."""


def read(
    source: str | Path | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    language: str = "en",
    max_bytes: int = MAX_BYTES,
) -> list[Document]:
    """The documents of a file, a stream or standard input (`-`); several only from lines parted by blank lines.

    The format is told by the extension. Plain text without a format named is `lines` where it looks like one sentence
    a line, else `text`. `language` (ISO 639-1) chooses the rules of sentence splitting.
    """
    name, data = _load(source, max_bytes)
    known = get_format(format) if format is not None else by_extension(name)
    container = None
    if known is not None and known.unpack is not None:
        text, encoding, container = known.unpack(data, name), "utf-8", data
    else:
        text, encoding = decode(data, name)
    if known is None or (known is TEXT and format is None):
        known = LINES if looks_like_lines(text, language) else TEXT
    documents = _parse(known, text, language)
    stem = Path(name.strip("<>")).stem
    path = None if name.startswith("<") else name
    return [
        replace(
            document,
            id=stem if len(documents) == 1 else f"{stem}.{number}",
            format=known.name,
            path=path,
            encoding=encoding,
            container=container,
        )
        for number, document in enumerate(documents, start=1)
    ]


def render(
    documents: Sequence[Document], texts: Sequence[Sequence[str]] | None = None, language: str | None = None
) -> str | bytes:
    """The file that the documents came from (text, or bytes of a container), with new sentences where given, and in
    another language by its own account, where it gives one."""
    if texts is None:
        texts = [document.texts for document in documents]
    sources = []
    for document, new in zip(documents, texts, strict=True):
        if len(new) != len(document):
            raise ValueError(f"document '{document.id}' has {len(document)} sentences and {len(new)} were given")
        form = get_format(document.format)
        made = spliced(document, new, form.escape).source
        sources.append(made if language is None else form.declare(made, language))
    pack = get_format(documents[0].format).pack if documents else None
    if pack is None:
        return "".join(sources)
    container = documents[0].container
    if len(documents) != 1 or container is None:
        raise ValueError("a container holds one document, and needs the file it was read from")
    return container if sources[0] == documents[0].source else pack(container, sources[0])


def translated(document: Document, texts: Sequence[str]) -> Document:
    """The document with `texts` for its sentences, as a document of the same format."""
    form = get_format(document.format)
    made = spliced(document, texts, form.escape)
    if form.pack is None or document.container is None or made.source == document.source:
        return made
    return replace(made, container=form.pack(document.container, made.source))


def write(
    documents: Sequence[Document],
    path: str | Path,
    texts: Sequence[Sequence[str]] | None = None,
    language: str | None = None,
) -> None:
    """Write what `render` makes, whole or not at all; `-` is standard output."""
    content = render(documents, texts, language)
    if isinstance(content, str):
        encoding = documents[0].encoding if documents else "utf-8"
        content = content.encode(encoding, "replace")
    if str(path) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def get_format(name: str) -> Format:
    """A format by name, of this package or of another that registered it."""
    form = FORMATS.get(name) or _foreign().get(name)
    if form is None:
        names = ", ".join([*FORMATS, *_foreign()])
        raise DocgraphError(f"there is no format '{name}'; choose one of {names}")
    return form


@cache
def _foreign() -> dict[str, Format]:
    from importlib.metadata import entry_points

    forms = [entry.load() for entry in entry_points(group="docgraph.formats")]
    return {form.name: form for form in forms}


def by_extension(name: str) -> Format | None:
    """The format that the name of a file says, if any."""
    extension = Path(name).suffix.lower()
    for registry in (FORMATS, _foreign()) if extension else ():
        for form in registry.values():
            if extension in form.extensions:
                return form
    return None


def _load(source: str | Path | IO[bytes] | IO[str], max_bytes: int) -> tuple[str, bytes]:
    """(name, bytes) of a path or a stream; a stream without a name is `<stream>`."""
    stream: IO[bytes] | IO[str]
    if isinstance(source, (str, Path)) and str(source) != "-":
        name = str(source)
        with Path(source).open("rb") as stream:
            data: bytes | str = stream.read(max_bytes + 1)
    else:
        stream = sys.stdin.buffer if isinstance(source, (str, Path)) else source
        label = getattr(stream, "name", None)
        name = "<stdin>" if stream is sys.stdin.buffer else label if isinstance(label, str) else "<stream>"
        data = stream.read(max_bytes + 1)
    content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(content) > max_bytes:
        raise DocgraphError(f"is larger than {max_bytes / 2**20:.0f} MiB; split it into smaller files", path=name)
    return name, content


def _parse(form: Format, text: str, language: str) -> list[Document]:
    """Parse what follows the byte order mark, then put the mark back before the first document."""
    mark = "\ufeff" if text.startswith("\ufeff") and form.unpack is None else ""
    first, *rest = form.parse(text[len(mark) :], language)
    if mark:
        sentences = (replace(s, start=s.start + 1, end=s.end + 1) for s in first.sentences)
        first = replace(first, source=mark + first.source, sentences=tuple(sentences))
    return [first, *rest]
