"""Markup transfer: replaces the sentences of a document and puts their inline markup back around the new words.

A sentence that did not change is copied raw. In a changed sentence, markup goes to the positions that
`markup_positions` finds, in the first of several ways that reads back as it was meant.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from docgraph.document import Alignment, Document, InlineMarkup, Sentence
from docgraph.formats.atoms import as_characters, text_with_atoms
from docgraph.formats.base import DELIMITERS, Format, IsIntact, space_between, splice
from docgraph.formats.markup_alignment import aligned_positions
from docgraph.formats.markup_positions import (
    elements_with_text,
    find_positions,
    in_new_order,
    positions_of_shared_words,
)

_CHANGE = "\0"
"""Stands for the change from one emphasis to another; new texts have no NUL."""
_PLACEHOLDER_STARTS = tuple(":-%$")
"""A placeholder that begins with one of these is no placeholder after a letter: `:smile:`, `--option`."""


def replace_sentences(
    document: Document,
    texts: Sequence[str],
    form: Format,
    cue_ends: Sequence[Sequence[int]] = (),
    alignments: Sequence[Alignment | None] = (),
) -> Document:
    """Return the document with `texts` as its sentences; changed sentences have no `markup`, only raw source.

    `cue_ends` has, for each sentence of subtitles, the positions of its cue breaks in the new text (on one line).
    `alignments` has the links of each sentence with its new text, if they are known.
    """
    parts: list[str] = []
    sentences: list[Sentence] = []
    old_end = new_end = index = 0
    while index < len(document):
        sentence, text = document.sentences[index], texts[index]
        following = index + 1
        while following < len(document) and document.sentences[following].start < sentence.end:
            following += 1
        inside = list(zip(document.sentences[index + 1 : following], texts[index + 1 : following], strict=True))
        nested = [(inner, _written_inside(inner, new, form)) for inner, new in inside if new != inner.text]
        changed = text != sentence.text and text != text_with_atoms(sentence)[0]
        gap = document.source[old_end : sentence.start]
        if changed:
            ends = cue_ends[index] if cue_ends else ()
            links = alignments[index] if alignments else None
            raw = _apart(document.source, sentence, _rewritten(sentence, text, form, nested, ends, links))
            if parts:
                gap = space_between(gap, document.source[old_end - 1], parts[-1][-1:], raw[:1])
        else:
            raw = _replace_nested(document.source[sentence.start : sentence.end], sentence.start, nested)
        parts += [gap, raw]
        start = new_end + len(gap)
        old_end, new_end = sentence.end, start + len(raw)
        keep_markup = sentence.markup if not changed and not nested else ()
        sentences.append(replace(sentence, text=text, start=start, end=new_end, markup=keep_markup))
        position = 0
        raws = {inner.start: written_inner for inner, written_inner in nested}
        for inner, new in inside:
            inner_raw = raws.get(inner.start, document.source[inner.start : inner.end])
            position = max(raw.find(inner_raw, position), position)
            inner_end = min(position + len(inner_raw), len(raw))
            sentences.append(replace(inner, text=new, start=start + position, end=start + inner_end, markup=()))
            position = inner_end
        index = following
    return replace(document, sentences=tuple(sentences), source="".join([*parts, document.source[old_end:]]))


def _rewritten(
    sentence: Sentence,
    text: str,
    form: Format,
    nested: list[tuple[Sentence, str]],
    cue_ends: Sequence[int],
    alignment: Alignment | None,
) -> str:
    """Return the raw form of a changed sentence; `nested` has new raw forms of the sentences inside its markup."""
    escape = form.escapes.get(sentence.syntax, form.escape)
    markup = tuple(replace(mark, raw=_replace_nested(mark.raw, mark.start, nested)) for mark in sentence.markup)
    if cue_ends:
        return _transfer_cues(replace(sentence, markup=markup), one_line(text), cue_ends, escape, form.filler)
    is_intact = form.is_intact if not sentence.syntax else None
    return transfer_markup(sentence, text, escape, alignment, markup, is_intact, form.filler)


def _written_inside(sentence: Sentence, text: str, form: Format) -> str:
    """Return the raw form of a sentence inside markup (an attribute), which has no markup of its own but atoms."""
    atoms = tuple(markup for markup in sentence.markup if markup.role == "atom")
    return transfer_markup(replace(sentence, markup=atoms), text, form.escapes.get(sentence.syntax, form.escape))


def _apart(source: str, sentence: Sentence, raw: str) -> str:
    """Return the raw form with its prefix, and with spaces where it would grow together with the words around it."""
    before, after = source[max(sentence.start - 1, 0) : sentence.start], source[sentence.end : sentence.end + 1]
    if _must_be_apart(before, raw[:1]) and not _must_be_apart(before, source[sentence.start]):
        raw = f" {raw}"
    if _must_be_apart(raw[-1:], after) and not _must_be_apart(source[sentence.end - 1], after):
        raw = f"{raw} "
    return sentence.prefix + raw


def _must_be_apart(before: str, after: str) -> bool:
    """Return whether the ends of a sentence and of what is beside it, words or inline code, must be apart."""
    beside_code = (before == "`" and after.isalnum()) or (before.isalnum() and after == "`")
    return beside_code or _grow_together(before, after)


def _grow_together(before: str, after: str) -> bool:
    """Return whether two characters belong to one word, or to one run of delimiters such as "``"."""
    if before.isalnum() and (after.isalnum() or after in _PLACEHOLDER_STARTS):
        return True
    return before == after and before in DELIMITERS


def _replace_nested(raw: str, start: int, nested: list[tuple[Sentence, str]]) -> str:
    """Return source[start:start + len(raw)] with the new texts of the sentences nested in it."""
    if start < 0:
        return raw
    first = bisect_left(nested, start, key=lambda entry: entry[0].start)
    last = bisect_right(nested, start + len(raw), key=lambda entry: entry[0].end)
    return splice(raw, ((inner.start - start, inner.end - start, new) for inner, new in nested[first:last]))


def transfer_markup(
    sentence: Sentence,
    text: str,
    escape: Callable[[str], str],
    alignment: Alignment | None = None,
    markup: Sequence[InlineMarkup] | None = None,
    is_intact: IsIntact | None = None,
    filler: str = "",
) -> str:
    """Return `text`, escaped and on one line, with the markup of the sentence inserted.

    This is done in the first of these ways that encloses words and, by `is_intact`, reads back. Atoms that the text has
    stay there. Other markup goes around words that both texts share and around words that the alignment links; around
    shared words only; or not, because it would have to change its order; or around whole words. At last, emphasis is
    given up, and emphasis that began before the sentence lasts until its end. `markup` is the markup as it is written,
    if that is not the old one.
    """
    # The links are positions in the text as it was given.
    alignment, text = alignment if one_line(text) == text else None, one_line(text)
    shown = as_characters(sentence, text, markup)
    sentence, text = in_new_order(shown.sentence, shown.text), shown.text
    elements = elements_with_text(sentence)
    for exact, whole_words in _ways(sentence, text, alignment):
        positions = find_positions(sentence, text, exact, whole_words)
        raw, flat = map(shown.fill, _insert(sentence, positions, text, escape, filler))
        encloses = all(text[positions[start] : positions[end]].strip() for start, end in elements)
        if (encloses or not text) and (is_intact is None or is_intact(raw, flat, sentence.markup)):
            return raw
    opened, closed, rest = _without_emphasis(sentence)
    raw = shown.fill(_insert(rest, find_positions(rest, text, {}, True), text, escape, filler)[0])
    if opened and closed:  # emphasis ends inside the sentence, and other emphasis begins in it
        left, _, right = raw.partition(_CHANGE)
        return f"{left.rstrip()}{closed} {opened}{right.lstrip() or '&#8203;'}"
    return opened + raw + closed


def _ways(sentence: Sentence, text: str, alignment: Alignment | None) -> Iterator[tuple[Mapping[int, int], bool]]:
    """Yield the arguments `exact` and `whole_words` of `find_positions`, the best ones first."""
    if alignment and (aligned := aligned_positions(sentence, text, alignment)):
        yield aligned, False
    yield positions_of_shared_words(sentence, text), False
    yield {}, False
    yield {}, True


def one_line(text: str) -> str:
    """Return a new text as it is written: on one line, without NUL characters."""
    return " ".join(line.strip() for line in text.replace("\0", "").splitlines()).strip()


def _transfer_cues(
    sentence: Sentence, text: str, ends: Sequence[int], escape: Callable[[str], str], filler: str
) -> str:
    """Return the raw form of a text in several subtitle cues, of which each keeps its own markup.

    Markup at the start or the end of a cue stays there. `ends` are the positions of the breaks in the text.
    """
    markups, parts = sentence.markup, list[str]()
    breaks = [index for index, markup in enumerate(markups) if markup.role == "break"]
    bounds = [0, *(markups[index].offset for index in breaks), len(sentence.text)]
    cues = map(itertools.pairwise, ([-1, *breaks, len(markups)], bounds, [0, *ends, len(text)]))
    for (before, after), (start, end), (new_start, new_end) in zip(*cues, strict=True):
        own = markups[before + 1 : after]
        start += len(sentence.text[start:end]) - len(sentence.text[start:end].lstrip())
        new = text[new_start:new_end].strip()
        opening = [markup.raw for markup in own if markup.offset <= start]
        closing = [markup.raw for markup in own if markup.offset >= max(end, start + 1)]
        inner = tuple(replace(markup, offset=markup.offset - start) for markup in own if start < markup.offset < end)
        cue = replace(sentence, text=sentence.text[start:end], markup=inner)
        if new:
            raw = transfer_markup(cue, new, escape, filler=filler)
        else:  # without line breaks: a blank line would end the cue
            raw = "".join(markup.raw for markup in inner if not _is_break(markup.raw)) + filler
        parts += [*opening, raw, *closing, *(markup.raw for markup in markups[after : after + 1])]
    return "".join(parts)


def _insert(
    sentence: Sentence, positions: list[int], text: str, escape: Callable[[str], str], filler: str
) -> tuple[str, str]:
    """Return the raw form of the text with markup at its positions, and the text with atoms but no other markup."""
    old, markups = sentence.text, sentence.markup
    parts: list[str] = []
    flat: list[str] = []
    start, trim = 0, False
    is_empty_line = True
    bounds = [*positions, len(text)]
    for index, (markup, position) in enumerate(zip(markups, positions, strict=True)):
        piece = text[start:position]
        piece = piece.lstrip() if trim else piece
        # Markup that begins or ends with white space replaces the space of the text there.
        piece = piece.rstrip() if markup.raw[:1].isspace() else piece
        raw = markup.raw
        is_empty_line = is_empty_line and not piece.strip()
        if _is_break(raw):
            line_end = next((i for i in range(index + 1, len(markups)) if _is_break(markups[i].raw)), len(positions))
            is_next_empty = not text[position : bounds[line_end]].strip()
            if not raw.strip() and (is_empty_line or is_next_empty):
                raw = ""  # a blank line would end a paragraph or a subtitle
            elif filler and is_next_empty:
                raw += filler
            is_empty_line = True
        if markup.role not in ("open", "close"):
            follows_atom = index > 0 and markups[index - 1].role == "atom" and markups[index - 1].offset < markup.offset
            last = piece[-1:] or next((part for part in reversed(parts) if part), "")[-1:]
            if trim and not piece and markup.role == "atom":
                raw = raw.lstrip(" ")  # a line would begin with it
            elif (markup.role == "atom" and not piece and follows_atom) or _grow_together(last, raw[:1]):
                piece += " "  # two code spans, or a word and an identifier, would become one
        elif markup.role == "open" and not piece and index and markups[index - 1].role == "atom":
            piece = " " if _grow_together(parts[-1][-1:], raw[:1]) else piece
        if index and _touches(markups[:index], parts, piece, old):
            piece = f" {piece}"
        parts += [_escaped(piece, parts, escape), raw]
        flat += [piece, raw if markup.role == "atom" else ""]
        start, trim = position, raw[-1:].isspace() if raw else trim
    piece = text[start:]
    piece = piece.lstrip() if trim else piece
    if markups and _touches(markups, parts, piece, old):
        piece = f" {piece}"
    raw = "".join([*parts, _escaped(piece, parts, escape)])
    return raw if text or raw.strip() else raw + filler, "".join([*flat, piece])


def _escaped(piece: str, before: Sequence[str], escape: Callable[[str], str]) -> str:
    """Return a piece of text, escaped; marks that mean something at the start of a line do so only there."""
    last = next((part for part in reversed(before) if part), "\n")
    inside = escape(f".{piece}") if last[-1:] not in "\r\n" else ""
    return inside[1:] if inside.startswith(".") else escape(piece)


def _touches(markups: Sequence[InlineMarkup], parts: Sequence[str], piece: str, old: str) -> bool:
    """Return whether a word would follow an atom, or an element that ends with one, without a space.

    A word of the old text that did so may do it again.
    """
    markup, raw = markups[-1], parts[-1]
    atom = next((mark for mark in reversed(markups) if mark.role != "close"), markup)
    if atom.role != "atom" or atom.offset != markup.offset or not piece[:1].isalnum() or not raw or raw[-1:].isspace():
        return False
    return raw[-1:].isalnum() or not old[markup.offset : markup.offset + 1].isalnum()


def _is_break(raw: str) -> bool:
    """Return whether the markup ends a line."""
    return "\n" in raw or "\r" in raw


def _without_emphasis(sentence: Sentence) -> tuple[str, str, Sentence]:
    """Return the emphasis that begins in the sentence, the emphasis that ends in it, and the sentence without any.

    Emphasis that begins and ends in the sentence is dropped. If both of the others exist, a mark is left between them.
    """
    rest: list[InlineMarkup] = []
    opened: list[InlineMarkup] = []
    closed: list[InlineMarkup] = []
    for markup in sentence.markup:
        if markup.raw.strip("*_~="):
            rest.append(markup)
        elif markup.role == "close" and not (opened and opened.pop()):
            closed.append(markup)
        elif markup.role == "open":
            opened.append(markup)
    if opened and closed:
        change = InlineMarkup(closed[-1].offset, _CHANGE, "close")
        rest.insert(bisect_right(rest, change.offset, key=lambda markup: markup.offset), change)
    before, after = ("".join(markup.raw for markup in found) for found in (opened, closed))
    return before, after, replace(sentence, markup=tuple(rest))
