"""Readers of pages in parallel: XML and HTML files whose blocks (paragraphs, titles, ...) correspond one to one."""

from __future__ import annotations

from collections.abc import Iterator, Set
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from everyday.documents import Document, Pair, Reader, twins

MATCHED = 0.95
"""The least share of the blocks that two pages must have in common to be taken for translations."""


def pages(pattern: str, english: str, french: str, blocks: Set[str], skip: Set[str] = frozenset()) -> Reader:
    """Pairs of pages, each a document; `blocks` are the elements with text, what is in one of `skip` is not read."""

    def read(folder: Path) -> Iterator[Document]:
        for path, twin in twins(folder, pattern, english, french):
            pairs = aligned(_blocks(path, blocks, skip), _blocks(twin, blocks, skip))
            yield Document(str(path.relative_to(folder)), pairs)

    return read


def aligned(english: list[tuple[str, str]], french: list[tuple[str, str]]) -> list[Pair]:
    """The texts of blocks (element, text) whose elements follow each other alike on both sides."""
    one, other = ([name for name, _ in side] for side in (english, french))
    pairs = [
        (english[match.a + place][1], french[match.b + place][1])
        for match in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
        for place in range(match.size)
    ]
    return pairs if len(pairs) > MATCHED * max(len(one), len(other)) else []


def _blocks(path: Path, blocks: Set[str], skip: Set[str]) -> list[tuple[str, str]]:
    """Element and text of the innermost blocks of a page, in order."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = (
        etree.HTMLParser()
        if path.suffix == ".html"
        else etree.XMLParser(recover=True, load_dtd=False, resolve_entities=False)
    )
    found = []
    for element in etree.parse(path, parser).iter(etree.Element):
        inside = {_name(child) for child in element.iterdescendants(etree.Element)}
        if _name(element) in blocks and not inside & blocks and not skip & set(map(_name, element.iterancestors())):
            found.append((_name(element), " ".join("".join(element.itertext()).split())))
    return found


def _name(element: Any) -> str:
    """The name of an element, without its namespace."""
    return str(element.tag).rpartition("}")[-1]
