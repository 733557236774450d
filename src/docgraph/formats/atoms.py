"""Atoms inside a translated text: inline code, placeholders and the like, written as in the source.

`Sentence.text` has no atoms. `text_with_atoms` shows them, and a new text of the sentence may have them, too. Each one
then stays where it is in the new text; any other atom is placed like other markup.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from docgraph.document import InlineMarkup, Sentence
from docgraph.formats.base import ATOM_CHARACTERS, DELIMITERS, Span, splice

_MAX_LENGTH = 200
"""Longer atoms (pictures inside the text) are not shown."""
_FIRST_CHARACTER, _LAST_CHARACTER = map(ord, ATOM_CHARACTERS.split("-"))
"""Each of these stands for an atom while markup is transferred."""


def text_with_atoms(sentence: Sentence) -> tuple[str, list[Span]]:
    """Return the text of a sentence with its inline code and placeholders, and the spans of these."""
    indices = [index for index, markup in enumerate(sentence.markup) if _core(markup)]
    if not indices:
        return sentence.text, []
    cores = {index: _core(sentence.markup[index]) for index in indices}
    parts, spans, length = list[str](), list[Span](), 0
    for index, piece in _pieces(sentence, cores):
        if index in cores:
            spans.append((length, length + len(cores[index])))
            piece = cores[index]
        parts.append(piece)
        length += len(piece)
    return "".join(parts), spans


def shown_texts(sentences: Iterable[Sentence]) -> list[str]:
    """Return the texts of sentences with their inline code and placeholders, as people should see them."""
    return [text_with_atoms(sentence)[0] for sentence in sentences]


def _pieces(sentence: Sentence, atoms: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield the text between markup as (-1, text), and each markup as (its index, "").

    White space inside the raw form of the chosen atoms, and of markup beside them, is yielded as text; so is the end of
    a line after an atom, but not the end of a cue.
    """
    last, offsets, is_after_atom = 0, _offsets(sentence, atoms), False
    for index, markup in enumerate(sentence.markup):
        if markup.offset > last:
            yield -1, sentence.text[last : markup.offset]
            last, is_after_atom = markup.offset, False
        is_beside = markup.offset in offsets and not _is_break(markup)
        if is_beside and markup.raw[0].isspace():
            yield -1, " "
        yield index, ""
        ends_line = is_after_atom and _is_break(markup) and markup.role != "break"
        if is_space := ends_line or (is_beside and markup.raw[-1].isspace()):
            yield -1, " "
        is_after_atom = not is_space and (is_after_atom or index in atoms)
    yield -1, sentence.text[last:]


def _offsets(sentence: Sentence, atoms: Collection[int]) -> set[int]:
    return {sentence.markup[index].offset for index in atoms}


def _is_break(markup: InlineMarkup) -> bool:
    return not markup.raw.strip() or markup.role == "break"


def _core(markup: InlineMarkup) -> str:
    """Return an atom without the space around it; empty for other markup, and for atoms that are not shown."""
    core = markup.raw.strip() if markup.role == "atom" else ""
    is_shown = core and len(core) <= _MAX_LENGTH and "\n" not in core and "\r" not in core and not core.startswith(">")
    return core if is_shown else ""


@dataclass(frozen=True, slots=True)
class AtomCharacters:
    """A sentence and its new text, in which each atom that both have is one private use character."""

    sentence: Sentence
    text: str
    atoms: dict[str, str]
    """Character -> atom as it is written."""

    def fill(self, text: str) -> str:
        """Return a text with its atoms; two code spans do not grow together."""
        if not self.atoms:
            return text
        parts: list[str] = []
        for char in text:
            atom = self.atoms.get(char)
            last, piece = parts[-1] if parts else "", char if atom is None else atom
            is_beside_atom = atom is not None or last in self.atoms.values()
            if is_beside_atom and last[-1:] in DELIMITERS and last[-1:] == piece[0]:
                parts.append(" ")
            parts.append(piece)
        return "".join(parts)


def as_characters(sentence: Sentence, text: str, markup: Sequence[InlineMarkup] | None = None) -> AtomCharacters:
    """Return a sentence and its new text with characters for the atoms that the new text has.

    Each atom of the sentence is looked for once. `markup` is the markup as it is written, if that is not the old one.
    """
    written = sentence.markup if markup is None else markup
    cores = {index: core for index, mark in enumerate(sentence.markup) if (core := _core(mark))}
    found: dict[int, Span] = {}
    taken: list[Span] = []
    # Longer atoms first: a shorter one may be a part of them.
    for index in sorted(cores, key=lambda index: -len(cores[index])):
        for match in re.finditer(_whole(cores[index]), text):
            if all(match.end() <= start or end <= match.start() for start, end in taken):
                found[index] = match.span()
                taken.append(match.span())
                break
    if not found or len(found) > _LAST_CHARACTER - _FIRST_CHARACTER:
        return AtomCharacters(replace(sentence, markup=tuple(written)), text, {})
    characters = {index: chr(_FIRST_CHARACTER + n) for n, index in enumerate(sorted(found))}
    shown = splice(text, ((*span, characters[index]) for index, span in found.items()))
    atoms = {characters[index]: written[index].raw.strip() for index in found}
    return AtomCharacters(_with_characters(sentence, written, characters), shown, atoms)


def _whole(core: str) -> str:
    """Return a pattern of an atom that is no part of a word."""
    before = r"(?<!\w)" if core[0].isalnum() or core[0] == "_" else ""
    return before + re.escape(core) + (r"(?!\w)" if core[-1].isalnum() or core[-1] == "_" else "")


def _with_characters(sentence: Sentence, written: Sequence[InlineMarkup], characters: dict[int, str]) -> Sentence:
    """Return a sentence whose atoms are characters of its text."""
    parts, rest, length = list[str](), list[InlineMarkup](), 0
    offsets = _offsets(sentence, characters)
    for index, piece in _pieces(sentence, characters):
        if index in characters:
            piece = characters[index]
        elif index >= 0:
            is_beside = sentence.markup[index].offset in offsets and not _is_break(sentence.markup[index])
            raw = written[index].raw.strip() if is_beside else written[index].raw
            rest.append(replace(written[index], raw=raw, offset=length))
        parts.append(piece)
        length += len(piece)
    return replace(sentence, text="".join(parts), markup=tuple(rest))
