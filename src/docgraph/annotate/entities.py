"""Entity= brackets in the MISC column of CoNLL-U: coreference chains as OntoGUM, GUM and CorefUD write them.

`(3(4)` opens a mention of entity 3 and holds a whole one of entity 4; `3)` closes. A fuller opening names more fields,
`(e12-person-giv:act-1-coref`, in the order `# global.Entity` gives; discontinuous mentions come in parts, `e5[1/2]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from docgraph.annotate.base import chain_links, head_word
from docgraph.annotation import IntArray
from docgraph.errors import DocgraphError

_BRACKET = re.compile(r"\((?P<opened>[^()]+)(?P<whole>\))?|(?P<closed>[^()]+)\)")
_PART = re.compile(r"(?P<entity>.*)\[(?P<part>[0-9]{1,4})/(?P<parts>[0-9]{1,4})\]")
_ENTITY_FIELDS = ("GRP", "eid")
_HEAD_FIELDS = ("head", "minspan")


@dataclass(slots=True)
class _Open:
    """A mention, or a part of one, whose closing bracket has not come yet."""

    first: int
    head: int | None
    line: int


class EntityReader:
    """Collects the mentions of one document as its words go by."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fields: tuple[str, ...] = ("GRP",)
        self._open: dict[str, list[_Open]] = {}
        self._parts: dict[str, list[int]] = {}
        self._mentions: list[tuple[str, list[int], int | None]] = []
        self._antecedents: dict[int, int] = {}

    def set_fields(self, declaration: str) -> None:
        """What `# global.Entity` says: the fields of an opening bracket, joined by hyphens."""
        self._fields = tuple(declaration.strip().split("-"))

    def read(self, value: str, first: int, last: int, line: int) -> None:
        """The brackets of one line: openings begin at word `first`, closings end at word `last`.

        An empty node is no word: there `last` is `first` - 1, and a mention of nothing else is dropped.
        """
        end = 0
        for match in _BRACKET.finditer(value):
            if match.start() != end:
                break
            end = match.end()
            if match["opened"] is not None:
                entity, head = self._identify(match["opened"])
                self._open.setdefault(entity, []).append(_Open(first, head, line))
                if match["whole"]:
                    self._close(entity, last, line)
            else:
                self._close(match["closed"], last, line)
        if end != len(value):
            raise DocgraphError(
                f"'Entity={value}' is not a row of brackets such as (1 or (e2-person) or 1)", path=self._path, line=line
            )

    def links(self, heads: IntArray | None) -> IntArray:
        """[C, 2]: each mention and the one before it in its entity, or the antecedent it names."""
        links = chain_links(self.chains(heads))
        for row, mention in enumerate(links[:, 1].tolist()):
            links[row, 0] = self._antecedents.get(mention, links[row, 0])
        return links

    def point(self, value: str, mention: int, line: int) -> None:
        """What `Antecedent=` says at a word: how many words back its antecedent stands."""
        if not re.fullmatch("[0-9]{1,9}", value) or not 1 <= int(value) <= mention:
            raise DocgraphError(
                f"'Antecedent={value}' is not a number of words back in the document", path=self._path, line=line
            )
        self._antecedents[mention] = mention - int(value)

    def chains(self, heads: IntArray | None) -> list[list[int]]:
        """The head words of the mentions of each entity, once the document has ended."""
        for entity, mentions in self._open.items():
            if mentions:
                raise DocgraphError(
                    f"the mention of entity '{entity}' that opens here never closes; add '{entity})' to its last word",
                    path=self._path,
                    line=mentions[-1].line,
                )
        chains: dict[str, list[int]] = {}
        for entity, words, head in self._mentions:
            told = head is not None and heads is None and 1 <= head <= len(words)
            chains.setdefault(entity, []).append(words[head - 1] if told and head else head_word(words, heads))
        return list(chains.values())

    def _identify(self, opening: str) -> tuple[str, int | None]:
        """(entity with its part, position of the head in the mention where a field tells)."""
        values = opening.split("-")
        if len(self._fields) == 1:
            return values[0], None
        named = dict(zip(self._fields, values, strict=False))
        entity = next((named[name] for name in _ENTITY_FIELDS if name in named), values[0])
        heads = (re.match(r"[0-9]{1,6}", named.get(name, "")) for name in _HEAD_FIELDS)
        return entity, next((int(found[0]) for found in heads if found), None)

    def _close(self, entity: str, last: int, line: int) -> None:
        stack = self._open.get(entity)
        if not stack:
            raise DocgraphError(
                f"a mention of entity '{entity}' closes here that never opened; add '({entity}' to its first word",
                path=self._path,
                line=line,
            )
        opened = stack.pop()
        words = list(range(opened.first, last + 1))
        part = _PART.fullmatch(entity)
        if part is not None:
            words = [*self._parts.get(part["entity"], []), *words]
            if int(part["part"]) < int(part["parts"]):
                self._parts[part["entity"]] = words
                return
            self._parts.pop(part["entity"], None)
            entity = part["entity"]
        if words:
            self._mentions.append((entity, words, opened.head))


def entity_columns(links: Iterable[tuple[int, int]]) -> tuple[dict[int, str], dict[int, int]]:
    """`Entity=` values by word, each mention on its head word, and `Antecedent=` values: read back, the same links.

    Where every mention has one antecedent, an entity is what the links connect; a mention that points past the one
    before it in its entity says how many words back. Else (two chains share a word, the head of both "John" and "John
    and Mary") every link belongs to one chain, and a chain goes from link to link.
    """
    pairs = sorted({(mention, antecedent) for antecedent, mention in links})
    if len({mention for mention, _ in pairs}) < len(pairs):
        return _chained(pairs), {}
    entity: dict[int, int] = {}
    last: dict[int, int] = {}
    back: dict[int, int] = {}
    for mention, antecedent in pairs:
        number = entity.setdefault(antecedent, len(last) + 1)
        entity[mention] = number
        if last.get(number, antecedent) != antecedent:
            back[mention] = mention - antecedent
        last[number] = mention
    return {word: f"({number})" for word, number in entity.items()}, back


def _chained(pairs: Iterable[tuple[int, int]]) -> dict[int, str]:
    values: dict[int, str] = {}
    ends: dict[int, list[int]] = {}
    count = 0
    for mention, antecedent in pairs:
        chains = ends.get(antecedent)
        if chains:
            chain = chains.pop(0)
        else:
            count += 1
            chain = count
            values[antecedent] = values.get(antecedent, "") + f"({chain})"
        values[mention] = values.get(mention, "") + f"({chain})"
        ends.setdefault(mention, []).append(chain)
    return values
