"""Text files, plain or compressed, as streams of lines; and the policy for bad lines and sentence pairs."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, Literal

from docgraph.errors import DocgraphError

MAX_LINE = 1 << 20
"""Maximum length of a line in bytes; a file with a longer line is not a text file."""
BLOCK = 1 << 16
DAMAGED = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)
"""Exceptions raised by a compressed file that is truncated or corrupt."""
_BOM = b"\xef\xbb\xbf"
_END = "\n"
"""Marks the end of a file beside longer ones; a line never contains it."""
_DAMAGED_MESSAGE = "the compressed file is cut short or damaged; download it again"

Reason = Literal[
    "boundaries differ",
    "documents differ",
    "empty side",
    "lengths differ",
    "line counts differ",
    "malformed",
    "not UTF-8",
    "too long",
]


class Problems:
    """Policy for bad sentence pairs: raise an error for the first one, or (`skip`) drop and count them by reason."""

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.dropped: Counter[str] = Counter()
        """Number of sentence pairs dropped, by reason."""
        self.first: dict[str, str] = {}
        """Position (file and line) of the first dropped pair, by reason."""

    def add(self, reason: Reason, message: str, path: str | Path, line: int | None = None, pairs: int = 1) -> None:
        """Raises a DocgraphError, or counts `pairs` as dropped."""
        if not self.skip:
            raise DocgraphError(f"{message}; correct it, or drop such pairs with --skip-bad", path=path, line=line)
        self.dropped[reason] += pairs
        self.first.setdefault(reason, f"{path}:{line}" if line is not None else str(path))


def clean(text: str) -> str:
    """Returns a line as a sentence: stripped, with NUL characters and line breaks replaced by spaces."""
    return text.replace("\0", " ").replace("\r", " ").replace("\n", " ").strip()


def open_bytes(path: str | Path, utf16: bool = False) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    """Opens a file for reading; gzip and xz are detected by content. UTF-16 is refused unless `utf16` is set."""
    if Path(path).is_dir():
        raise DocgraphError("this is a folder; give a file", path=path)
    with Path(path).open("rb") as file:
        magic = file.read(6)
    if magic.startswith((b"\xff\xfe", b"\xfe\xff")) and not utf16:
        raise DocgraphError("this is UTF-16; convert it, for example with: iconv -f UTF-16 -t UTF-8", path=path)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    return lzma.open(path) if magic == b"\xfd7zXZ\0" else Path(path).open("rb")


def read_blocks(path: str | Path) -> Iterator[bytes]:
    """Yields the decompressed bytes of a file in any encoding, in blocks, for an incremental parser."""
    try:
        with open_bytes(path, utf16=True) as file:
            while block := file.read(BLOCK):
                yield block
    except DAMAGED:
        raise DocgraphError(_DAMAGED_MESSAGE, path=path) from None


def read_lines(path: str | Path, problems: Problems, tabs: bool = False) -> Iterator[str | None]:
    """Yields the lines of a file, cleaned; None for a line that is not UTF-8, which is a problem. Only \\n ends a line.

    With `tabs`, white space around a line is kept, because tabs there separate empty columns.
    """
    number = 0
    try:
        with open_bytes(path) as file:
            while data := file.readline(MAX_LINE):
                number += 1
                if len(data) == MAX_LINE:
                    message = "this line is over a megabyte long, so this is not a text file; give a text file"
                    raise DocgraphError(message, path=path, line=number)
                text = _decode(data.removeprefix(_BOM) if number == 1 else data, path, number, problems)
                yield text if text is None or tabs else clean(text)
    except DAMAGED:
        raise DocgraphError(_DAMAGED_MESSAGE, path=path, line=number) from None
    if number == 0:
        raise DocgraphError("this file is empty; give one with text in it", path=path)


def _decode(data: bytes, path: str | Path, number: int, problems: Problems) -> str | None:
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        problems.add("not UTF-8", f"byte {error.start + 1} of the line is not UTF-8", path, number)
        return None


def read_aligned_lines(paths: Sequence[str], problems: Problems) -> Iterator[tuple[int, list[str | None]] | None]:
    """Yields (line number, that line of each file); None at the end if the files differ in their number of lines."""
    streams = [read_lines(path, problems) for path in paths]
    for number, row in enumerate(zip_longest(*streams, fillvalue=_END), start=1):
        if _END not in row:
            yield number, list(row)
            continue
        shorter, longer = row.index(_END), next(index for index, line in enumerate(row) if line != _END)
        extra = 1 + sum(1 for _ in streams[longer])
        counts = f"has {number - 1:,} lines and {paths[longer]} has {number - 1 + extra:,}"
        message = f"{counts}, so they are not line-aligned"
        problems.add("line counts differ", message, paths[shorter], number - 1, extra)
        yield None
        return
