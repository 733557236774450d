"""Bytes to text and back: UTF-8, or UTF-16 and UTF-32 with a byte order mark, which stays in the text."""

from __future__ import annotations

import codecs

from docgraph.errors import DocgraphError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes, name: str) -> tuple[str, str]:
    """(text, encoding); the encoding turns the text into the same bytes again."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-8" and (data.startswith(b"%PDF-") or b"\0" in data[:4096]):
            raise DocgraphError(
                "is not a text file; take its text out first, or save it as DOCX, HTML or text", path=name
            ) from None
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        raise DocgraphError(
            f"byte {error.start + 1} (0x{data[error.start]:02x}) is not {encoding.upper()}; convert the file, for"
            " example with: iconv -f WINDOWS-1252 -t UTF-8",
            path=name,
            line=line,
        ) from error
    if len(text) >= 64 and text.count("\0") * 5 > len(text):
        raise DocgraphError("is a binary file, or UTF-16 without a byte order mark; convert it to UTF-8", path=name)
    return text, encoding
