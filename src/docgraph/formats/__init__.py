"""Files to documents and back: `read`, `render`, `write`.

    documents = read("letter.docx")
    write(documents, "letter.fr.docx", [translate(document.texts) for document in documents])

A file that is read and written without changes is the same file, byte for byte.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from docgraph.document import Alignment, Document
from docgraph.errors import DocgraphError
from docgraph.files import display_name, replacing
from docgraph.formats.base import Format, decode
from docgraph.formats.cue_breaks import SubtitleLimits, cue_ends
from docgraph.formats.markup_transfer import replace_sentences
from docgraph.formats.paragraph import Block, document_of
from docgraph.formats.plain_text import LINES, TEXT, looks_like_lines
from docgraph.formats.registry import FORMATS, by_extension, extensions, get_format

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "Block",
    "Format",
    "SubtitleLimits",
    "by_extension",
    "document_of",
    "extensions",
    "get_format",
    "read",
    "read_document",
    "render",
    "with_texts",
    "write",
]

Alignments = Sequence[Alignment | None]
"""The alignment of each sentence of a document with its translation; None, or empty, if it is not known."""
MAX_BYTES = 128 * 2**20
"""Maximum file size: documents are held in memory."""


def read(
    source: str | Path | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    language: str = "en",
    max_bytes: int = MAX_BYTES,
) -> list[Document]:
    """Return the documents of a file, a stream or standard input (`-`); only the format `lines` can hold several.

    The extension determines the format. Without a format, plain text is read as `lines` if it looks like one sentence
    per line, and as `text` otherwise. `language` (ISO 639-1) selects the rules of sentence splitting.
    """
    name, data = _load(source, max_bytes)
    form = get_format(format) if format is not None else by_extension(name)
    if form is not None and form.check is not None and format is None:
        form.check(data, name)
    container = None
    if form is not None and form.unpack is not None:
        text, encoding, container = form.unpack(data, name), "utf-8", data
    else:
        text, encoding = decode(data, name)
    if form is None or (form is TEXT and format is None):
        form = LINES if looks_like_lines(text, language) else TEXT
    try:
        documents = _parse(form, text, language)
    except DocgraphError as error:
        raise DocgraphError(str(error), path=name) from error
    stem = display_name(Path(name.strip("<>")).stem)
    path = None if name.startswith("<") else name
    return [
        replace(
            document,
            id=stem if len(documents) == 1 else f"{stem}.{number}",
            format=form.name,
            path=path,
            encoding=encoding,
            container=container,
        )
        for number, document in enumerate(documents, start=1)
    ]


def read_document(
    source: str | Path | IO[bytes] | IO[str], format: str | None = None, *, language: str = "en"
) -> Document:
    """The document of a file or stream that holds one; see `read` for the arguments."""
    documents = read(source, format, language=language)
    if len(documents) != 1:
        raise DocgraphError(f"has {len(documents)} documents; read them with docgraph.formats.read", path=str(source))
    return documents[0]


def render(
    documents: Sequence[Document],
    texts: Sequence[Sequence[str]] | None = None,
    language: str | None = None,
    alignments: Sequence[Alignments] | None = None,
    limits: SubtitleLimits = SubtitleLimits(),
) -> str | bytes:
    """Return the file that the documents were read from (str, or bytes for a container), with new sentences `texts`.

    `language` is written where the file declares its language. `alignments` (of translations) help to place
    inline markup, and to divide sentences among subtitle cues, which `limits` applies to.
    """
    if texts is None:
        texts = [document.texts for document in documents]
    sources = []
    for document, new, links in zip(documents, texts, alignments or [()] * len(documents), strict=True):
        if len(new) != len(document):
            raise ValueError(f"document '{document.id}' has {len(document)} sentences and {len(new)} were given")
        form = get_format(document.format)
        source = _replace(form, document, new, links, limits).source
        if form.cues is not None and limits.line_length is not None:
            from docgraph.formats.subtitles import wrap_cues

            source = wrap_cues(source, form, limits.line_length)
        sources.append(source if language is None else form.declare(source, language))
    pack = get_format(documents[0].format).pack if documents else None
    if pack is None:
        return "".join(sources)
    container = documents[0].container
    if len(documents) != 1 or container is None:
        raise ValueError("a container format writes one document, which must have been read from a file")
    return container if sources[0] == documents[0].source else pack(container, sources[0])


def _replace(
    form: Format,
    document: Document,
    texts: Sequence[str],
    alignments: Alignments = (),
    limits: SubtitleLimits = SubtitleLimits(),
) -> Document:
    ends = [] if form.cues is None else cue_ends(document, texts, form.cues(document.source), alignments, limits)
    return replace_sentences(document, texts, form, ends, alignments)


def with_texts(document: Document, texts: Sequence[str], alignments: Alignments = ()) -> Document:
    """Return the document with `texts` as its sentences, in the same format; `alignments` as in `render`."""
    form = get_format(document.format)
    new = _replace(form, document, texts, alignments)
    if form.pack is None or document.container is None or new.source == document.source:
        return new
    return replace(new, container=form.pack(document.container, new.source))


def write(
    documents: Sequence[Document],
    path: str | Path,
    texts: Sequence[Sequence[str]] | None = None,
    language: str | None = None,
    alignments: Sequence[Alignments] | None = None,
    limits: SubtitleLimits = SubtitleLimits(),
) -> None:
    """Write the result of `render` to a file, completely or not at all; `-` is standard output."""
    content = render(documents, texts, language, alignments, limits)
    if isinstance(content, str):
        encoding = documents[0].encoding if documents else "utf-8"
        content = content.encode(encoding, "replace")
    if str(path) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _load(source: str | Path | IO[bytes] | IO[str], max_bytes: int) -> tuple[str, bytes]:
    """Return (name, bytes) of a path or stream; a stream without a name is `<stream>`."""
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
    """Parse the text after the byte order mark, then put the mark back into the first document."""
    mark = "\ufeff" if text.startswith("\ufeff") and form.unpack is None else ""
    first, *rest = form.parse(text[len(mark) :], language)
    if mark:
        sentences = (
            replace(s, start=s.start + 1, end=s.end + 1, markup=tuple(replace(m, start=m.start + 1) for m in s.markup))
            for s in first.sentences
        )
        first = replace(first, source=mark + first.source, sentences=tuple(sentences))
    return [first, *rest]
