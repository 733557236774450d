"""Coreference chains in CoNLL-U: the `Entity=` brackets of the MISC column, as in OntoGUM, GUM and CorefUD.

`(3(4)` opens a mention of entity 3 and is a one-word mention of entity 4; `3)` closes the mention of entity 3. An
opening bracket may have more fields, `(e12-person-giv:act-1-coref`, in the order that `# global.Entity` declares.
The parts of a discontinuous mention are numbered, `e5[1/2]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from docgraph.annotate.builder import chain_links, head_word
from docgraph.annotation import IntArray
from docgraph.errors import DocgraphError

_BRACKET = re.compile(r"\((?P<opened>[^()]+)(?P<closed_too>\))?|(?P<closed>[^()]+)\)")
_PART = re.compile(r"(?P<entity>.*)\[(?P<part>[0-9]{1,4})/(?P<parts>[0-9]{1,4})\]")
_ENTITY_FIELDS = ("GRP", "eid")
_HEAD_FIELDS = ("head", "minspan")


@dataclass(slots=True)
class _OpenMention:
    """A mention, or a part of one, before its closing bracket."""

    first: int
    head: int | None
    line: int


class EntityReader:
    """Collects the mentions of one document, word by word."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.fields: tuple[str, ...] = ("GRP",)
        """The fields of opening brackets, in the order that `# global.Entity` declares."""
        self._open: dict[str, list[_OpenMention]] = {}
        self._parts: dict[str, list[int]] = {}
        self._mentions: list[tuple[str, list[int], int | None]] = []
        """(entity, words, position of the head word in the mention, counted from 1, if a field names it)."""
        self._antecedents: dict[int, int] = {}

    def read(self, value: str, first: int, last: int, line: int) -> None:
        """Reads the brackets of one row: mentions open at word `first` and close at word `last`.

        An empty node is not a word; there, `last` is `first` - 1, and a mention without other words is dropped.
        """
        end = 0
        for match in _BRACKET.finditer(value):
            if match.start() != end:
                break
            end = match.end()
            if match["opened"] is not None:
                entity, head = self._parse_opening(match["opened"])
                self._open.setdefault(entity, []).append(_OpenMention(first, head, line))
                if match["closed_too"]:
                    self._close(entity, last, line)
            else:
                self._close(match["closed"], last, line)
        if end != len(value):
            raise self._error(f"'Entity={value}' is not a sequence of brackets such as (1 or (e2-person) or 1)", line)

    def read_antecedent(self, value: str, mention: int, line: int) -> None:
        """Reads `Antecedent=` of a mention: the distance in words to its antecedent."""
        if not re.fullmatch("[0-9]{1,9}", value) or not 1 <= int(value) <= mention:
            raise self._error(f"'Antecedent={value}' is not a number of words back in the document", line)
        self._antecedents[mention] = mention - int(value)

    def links(self, heads: IntArray | None) -> IntArray:
        """Returns links [C, 2] from each mention to the previous one of its entity, or to its `Antecedent=`."""
        links = chain_links(self.chains(heads))
        for row, mention in enumerate(links[:, 1].tolist()):
            links[row, 0] = self._antecedents.get(mention, links[row, 0])
        return links

    def chains(self, heads: IntArray | None) -> list[list[int]]:
        """Returns the head words of the mentions of each entity. Call it at the end of the document."""
        for entity, mentions in self._open.items():
            if mentions:
                raise self._error(
                    f"the mention of entity '{entity}' that opens here never closes; add '{entity})' to its last word",
                    mentions[-1].line,
                )
        chains: dict[str, list[int]] = {}
        for entity, words, head in self._mentions:
            if heads is None and head is not None and 1 <= head <= len(words):
                chains.setdefault(entity, []).append(words[head - 1])
            else:
                chains.setdefault(entity, []).append(head_word(words, heads))
        return list(chains.values())

    def _parse_opening(self, opening: str) -> tuple[str, int | None]:
        """Returns the entity, with its part number, and the position of the head word if a field names it."""
        values = opening.split("-")
        if len(self.fields) == 1:
            return values[0], None
        fields = dict(zip(self.fields, values, strict=False))
        entity = next((fields[name] for name in _ENTITY_FIELDS if name in fields), values[0])
        heads = (re.match(r"[0-9]{1,6}", fields.get(name, "")) for name in _HEAD_FIELDS)
        return entity, next((int(head[0]) for head in heads if head), None)

    def _close(self, entity: str, last: int, line: int) -> None:
        stack = self._open.get(entity)
        if not stack:
            raise self._error(
                f"a mention of entity '{entity}' closes here but never opened; add '({entity}' to its first word", line
            )
        mention = stack.pop()
        words = list(range(mention.first, last + 1))
        part = _PART.fullmatch(entity)
        if part is not None:
            words = [*self._parts.get(part["entity"], []), *words]
            if int(part["part"]) < int(part["parts"]):
                self._parts[part["entity"]] = words
                return
            self._parts.pop(part["entity"], None)
            entity = part["entity"]
        if words:
            self._mentions.append((entity, words, mention.head))

    def _error(self, message: str, line: int) -> DocgraphError:
        return DocgraphError(message, path=self._path, line=line)


def entity_columns(links: Iterable[tuple[int, int]]) -> tuple[dict[int, str], dict[int, int]]:
    """Returns `Entity=` values and `Antecedent=` values by word, from which `EntityReader` restores the links.

    Each mention is a bracket on its head word. If every mention has one antecedent, connected links are one entity;
    a mention whose antecedent is not the previous mention of its entity gets an `Antecedent=`. Otherwise two chains
    share a word (the head of both "John" and "John and Mary"); then each link belongs to exactly one chain.
    """
    pairs = sorted({(mention, antecedent) for antecedent, mention in links})
    if len({mention for mention, _ in pairs}) < len(pairs):
        return _chain_columns(pairs), {}
    entity: dict[int, int] = {}
    last_mention: dict[int, int] = {}
    distances: dict[int, int] = {}
    for mention, antecedent in pairs:
        number = entity.setdefault(antecedent, len(last_mention) + 1)
        entity[mention] = number
        if last_mention.get(number, antecedent) != antecedent:
            distances[mention] = mention - antecedent
        last_mention[number] = mention
    return {word: f"({number})" for word, number in entity.items()}, distances


def _chain_columns(pairs: Iterable[tuple[int, int]]) -> dict[int, str]:
    """Returns `Entity=` values by word where a link continues a chain that ends at its antecedent, or starts one."""
    values: dict[int, str] = {}
    ending: dict[int, list[int]] = {}
    count = 0
    for mention, antecedent in pairs:
        chains = ending.get(antecedent)
        if chains:
            chain = chains.pop(0)
        else:
            count += 1
            chain = count
            values[antecedent] = values.get(antecedent, "") + f"({chain})"
        values[mention] = values.get(mention, "") + f"({chain})"
        ending.setdefault(mention, []).append(chain)
    return values
