"""Text that the model cannot read: emoji and other pictures, words in unknown scripts, keys, hashes, and the numbers of
sections.

The sub-words would spell such text in single bytes, which the model has rarely seen: it would miscopy them or translate
the rest badly. So they are removed before the model and put back into the translation.

Stand-ins (stand_ins.py) are for text that the model must place in the sentence: they are found before a line is split
into segments, whatever the model, and a translation may lose one. What is removed here depends on the sub-words of the
model; it is put back like markup, and is never lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from docgraph.document import InlineMarkup, Sentence
from docgraph.formats.markup_transfer import transfer_markup
from docgraph.model.tokenizer import SubwordCoder

_JOINERS = frozenset("\u200c\u200d\u20e3\ufe0e\ufe0f")
"""Characters that join several characters into one picture or word, as in a keycap emoji."""
_ARROW = re.compile(r"[\u2190-\u21ff\u25b6-\u25bb]")
"""Arrows between words (File → Open) stay, because they say how the words belong together."""
_KEY = re.compile(r"(?<![!-~])[(\"']?([!-~]{60,})")
_LEADING = re.compile(
    r"\|+\s*(?=\w)"
    r"|(?:\((?:\d{1,3}|[a-z]{1,2}|[ivx]{1,4})\)|(?:\d{1,3}|[a-z])\)|(?:\d{1,3}\.)+(?:\d{1,3})?|[A-Z](?:\.\d{1,3})+\.?)"
    r"\s+(?=[A-Z])"
)
"""What precedes a text without belonging to it: the bars of a message with several forms (one file|%d files), and the
number of a section or an item."""
_CLOSING = frozenset(".,;:!?…،؛؟。、！？，；：")
_CATEGORY_CLASSES = {"Ps": "o", "Pi": "o", "Pe": "c", "Pf": "c", "Pd": "w"}
_UNIT = r"(?:[xs][xsj]*|(?<!w)wj+)"
_RUN = rf"(?:(?<![wxj])|(?=s)){_UNIT}(?:[p ]+{_UNIT})*(?:(?<=[sj])|(?![wxj]))"
_UNREADABLE = re.compile(rf"[oq]{_RUN}p*[cq]|(?:^|(?<=[poq])|(?<=[poq] )){_RUN}p*|{_RUN}")
"""Matches a string of character classes, one letter per character of a text: x unknown letter, s unknown picture,
j joiner, p closing mark, o and c opening and closing bracket, q quotation mark, w part of a readable word. Brackets
around an unreadable run belong to it."""


class TextProtector:
    """Removes text that the sub-words of a model cannot represent."""

    def __init__(self, coder: SubwordCoder) -> None:
        self._coder = coder
        self._unknown, self._is_byte = coder.special_pieces()
        self._classes = dict.fromkeys(_CLOSING, "p") | dict.fromkeys(_JOINERS, "j") | {'"': "q", "'": "w", "’": "w"}

    def is_unknown(self, char: str) -> bool:
        """Returns whether the sub-words have no piece for a character."""
        [ids] = self._coder.ids([char])
        return bool((ids == self._unknown).any() or self._is_byte[ids].any())

    def remove(self, text: str) -> tuple[str, list[InlineMarkup]]:
        """Returns the readable text, and the removed parts with their offsets in it."""
        readable, gaps, last = "", list[InlineMarkup](), 0
        if leading := _LEADING.match(text):
            gaps, last = [InlineMarkup(0, leading[0])], leading.end()
        for begin, end in self._unreadable_spans(text) if not text.isascii() or _KEY.search(text) else ():
            if begin < last:
                continue
            readable += text[last:begin]
            gaps.append(InlineMarkup(len(readable), text[begin:end]))
            last = end
        return readable + text[last:], gaps

    def _unreadable_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields spans to remove, each with the space that would otherwise be left over beside it."""
        classes = self._classes_of(text)
        for key in _KEY.finditer(text):
            length = len(key[1].rstrip(".,;:!?)\"'"))
            classes = classes[: key.start(1)] + "s" * length + classes[key.start(1) + length :]
        for run in _UNREADABLE.finditer(classes):
            begin, end = run.span()
            if begin > 0 and end < len(text) and _ARROW.fullmatch(text[begin:end]):
                continue
            before, after = begin, end
            while before and classes[before - 1] == " ":
                before -= 1
            while after < len(classes) and classes[after] == " ":
                after += 1
            if after == end:
                begin = before
            elif before < begin or begin == 0:
                end = after
            yield begin, end

    def _classes_of(self, text: str) -> str:
        """Returns the class of each character. A letter without a piece of its own may be part of a longer piece."""
        classes = "".join(map(self._class_of, text))
        if "x" not in classes:
            return classes
        ids, spans = self._coder.encode(text)
        readable = (ids != self._unknown) & ~self._is_byte[ids]
        letters = list(classes)
        for begin, end in spans[readable].tolist():
            letters[begin:end] = ["w" if letter == "x" else letter for letter in letters[begin:end]]
        return "".join(letters)

    def _class_of(self, char: str) -> str:
        if (known := self._classes.get(char)) is not None:
            return known
        category = unicodedata.category(char)
        kind = " " if char.isspace() else "w" if char.isalnum() else _CATEGORY_CLASSES.get(category, ".")
        is_picture = (
            char == "•" or (char >= "\u2100" and category in ("So", "Sk", "Co", "Cf")) or "\u2190" <= char < "\u2200"
        )
        if not char.isascii() and (category[0] in "LM" or is_picture) and self.is_unknown(char):
            kind = "s" if is_picture else "x"
        self._classes[char] = kind
        return kind


def put_back(readable: str, gaps: list[InlineMarkup], translation: str) -> str:
    """Returns the translation of a readable text with the removed parts back at its start, end or between its words."""
    first = "".join(gap.raw for gap in gaps if gap.offset == 0)
    last = "".join(gap.raw for gap in gaps if 0 < gap.offset == len(readable))
    inside = tuple(gap for gap in gaps if 0 < gap.offset < len(readable))
    sentence = Sentence(readable, 0, len(readable), markup=inside)
    return first + transfer_markup(sentence, translation, str) + last
