"""Reader of parallel pages: XML and HTML files whose blocks (paragraphs, titles, ...) correspond one to one."""

from __future__ import annotations

from collections.abc import Iterator, Set
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from everyday.documents import Document, Pair, Reader, twins

MIN_MATCHED = 0.95
"""Minimum share of the blocks that two pages must have in common to count as translations."""


def pages(pattern: str, english: str, french: str, blocks: Set[str], skip: Set[str] = frozenset()) -> Reader:
    """Return a reader of page pairs, each a document; `blocks` are elements with text, `skip` those to ignore."""

    def read(folder: Path) -> Iterator[Document]:
        for path, twin in twins(folder, pattern, english, french):
            pairs = aligned(_blocks(path, blocks, skip), _blocks(twin, blocks, skip))
            yield Document(str(path.relative_to(folder)), pairs)

    return read


def aligned(english: list[tuple[str, str]], french: list[tuple[str, str]]) -> list[Pair]:
    """Pair the texts of blocks (element, text) whose sequence of elements is the same on both sides."""
    one, other = ([name for name, _ in side] for side in (english, french))
    pairs = [
        (english[match.a + offset][1], french[match.b + offset][1])
        for match in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
        for offset in range(match.size)
    ]
    return pairs if len(pairs) > MIN_MATCHED * max(len(one), len(other)) else []


def _blocks(path: Path, blocks: Set[str], skip: Set[str]) -> list[tuple[str, str]]:
    """Return element and text of the innermost blocks of a page, in order."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = (
        etree.HTMLParser()
        if path.suffix == ".html"
        else etree.XMLParser(recover=True, load_dtd=False, resolve_entities=False)
    )
    texts = []
    for element in etree.parse(path, parser).iter(etree.Element):
        inside = {_name(child) for child in element.iterdescendants(etree.Element)}
        if _name(element) in blocks and not inside & blocks and not skip & set(map(_name, element.iterancestors())):
            texts.append((_name(element), " ".join("".join(element.itertext()).split())))
    return texts


def _name(element: Any) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[-1]
