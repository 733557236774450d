"""Lines of text files, plain or compressed, as a stream; several files side by side."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from docgraph.corpus.readers.problems import Problems
from docgraph.errors import DocgraphError

LONGEST = 1 << 20
"""Bytes: a file with a longer line is no text file."""
BLOCK = 1 << 16
DAMAGED = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)
"""What reading a compressed file raises where it is cut short or not what it seems."""
_BOM = b"\xef\xbb\xbf"


def clean(text: str) -> str:
    """A line as a sentence: without white space around it, NUL or carriage return in it."""
    return text.replace("\0", " ").replace("\r", " ").replace("\n", " ").strip()


def open_bytes(path: str | Path, utf16: bool = False) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    """A file, decompressed where its first bytes say gzip or xz; UTF-16 is refused unless the caller can read it."""
    place = Path(path)
    if place.is_dir():
        raise DocgraphError("this is a folder; name a file", path=path)
    with place.open("rb") as file:
        magic = file.read(6)
    if magic.startswith((b"\xff\xfe", b"\xfe\xff")) and not utf16:
        raise DocgraphError("this is UTF-16; convert it, for example with: iconv -f UTF-16 -t UTF-8", path=path)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(place)
    return lzma.open(place) if magic == b"\xfd7zXZ\0" else place.open("rb")


def read_blocks(path: str | Path) -> Iterator[bytes]:
    """The bytes of a file in any encoding, decompressed, for a parser that takes them as they come."""
    try:
        with open_bytes(path, utf16=True) as file:
            while block := file.read(BLOCK):
                yield block
    except DAMAGED:
        raise DocgraphError("the compressed file is cut short or damaged; get it again", path=path) from None


def read_lines(path: str | Path, problems: Problems, tabs: bool = False) -> Iterator[str | None]:
    """The lines of a file, cleaned; None for one that is not UTF-8, which is counted. Only \\n ends a line.

    With `tabs`, white space around the line stays: tabs there are empty columns.
    """
    number = 0
    try:
        with open_bytes(path) as file:
            while data := file.readline(LONGEST):
                number += 1
                if len(data) == LONGEST:
                    raise DocgraphError("a line of over a megabyte: this is no text file", path=path, line=number)
                text = _decode(data.removeprefix(_BOM) if number == 1 else data, path, number, problems)
                yield text if text is None or tabs else clean(text)
    except DAMAGED:
        raise DocgraphError(
            "the compressed file is cut short or damaged; get it again", path=path, line=number
        ) from None
    if number == 0:
        raise DocgraphError("this file is empty; give one with text in it", path=path)


def _decode(data: bytes, path: str | Path, number: int, problems: Problems) -> str | None:
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        problems.add("not UTF-8", f"byte {error.start + 1} of the line is not UTF-8", path, number)
        return None


def side_by_side(paths: Sequence[str], problems: Problems) -> Iterator[tuple[int, list[str | None]] | None]:
    """(number, a line of each file); None at the end, once, where one file has fewer lines than another."""
    streams = [read_lines(path, problems) for path in paths]
    number = 0
    while True:
        number += 1
        row: list[str | None] = []
        ended: list[int] = []
        for index, stream in enumerate(streams):
            try:
                row.append(next(stream))
            except StopIteration:
                ended.append(index)
        if len(ended) == len(streams):
            return
        if ended:
            _report_lengths(paths, streams, ended, number, problems)
            yield None
            return
        yield number, row


def _report_lengths(
    paths: Sequence[str], streams: Sequence[Iterator[str | None]], ended: Sequence[int], number: int, problems: Problems
) -> None:
    short = ended[0]
    long = next(index for index in range(len(paths)) if index not in ended)
    rest = 1 + sum(1 for _ in streams[long])
    message = f"has {number - 1:,} lines and {paths[long]} has {number - 1 + rest:,}, so they are not line-aligned"
    problems.add("line counts differ", message, paths[short], number - 1, rest)
