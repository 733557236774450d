"""What a model cannot read stays out of its sight: emoji and other pictures, words in letters that it does not know,
and keys, hashes and the like, which are longer than any word.

Shown in single bytes, of which it has seen few, they would come back as other characters or lead it astray.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from docgraph.document import InlineMarkup, Sentence
from docgraph.formats.markup_transfer import transfer_markup
from docgraph.model.tokenizer import SubwordCoder

_JOINERS = frozenset("\u200c\u200d\u20e3\ufe0e\ufe0f")
"""What makes one picture, or one word, of several characters: 1 and two of these are a key."""
_BETWEEN = re.compile(r"[\u2190-\u21ff\u25b6-\u25bb]")
"""Between words (File → Open) an arrow says how they belong together, and is shown."""
_KEY = re.compile(r"(?<![!-~])[(\"']?([!-~]{60,})")
_CLOSING = frozenset(".,;:!?…،؛؟。、！？，；：")
_KINDS = {"Ps": "o", "Pi": "o", "Pe": "c", "Pf": "c", "Pd": "w"}
_UNIT = r"(?:[xs][xsj]*|(?<!w)wj+)"
_RUN = rf"(?:(?<![wxj])|(?=s)){_UNIT}(?:[p ]+{_UNIT})*(?:(?<=[sj])|(?![wxj]))"
_UNREADABLE = re.compile(rf"[oq]{_RUN}p*[cq]|(?:^|(?<=[poq])|(?<=[poq] )){_RUN}p*|{_RUN}")
"""Over the kinds of characters: letters (x) and pictures (s) that are not known, joiners, closing marks (p), brackets,
quotation marks, and (w) what makes a word of the letters beside it. What is in brackets of its own goes with them."""


class Unreadable:
    """Parts texts from what the sub-words of a model do not know."""

    def __init__(self, coder: SubwordCoder) -> None:
        self._coder = coder
        self._unknown, self._is_byte = coder.special_pieces()
        self._kinds = dict.fromkeys(_CLOSING, "p") | dict.fromkeys(_JOINERS, "j") | {'"': "q", "'": "w", "’": "w"}

    def spelt_out(self, char: str) -> bool:
        """Whether the sub-words have no piece for a character."""
        [ids] = self._coder.ids([char])
        return bool((ids == self._unknown).any() or self._is_byte[ids].any())

    def parted(self, text: str) -> tuple[str, list[InlineMarkup]]:
        """The text without what cannot be read, and where that goes in it."""
        plain, gaps, last = "", list[InlineMarkup](), 0
        for begin, end in self._found(text) if not text.isascii() or _KEY.search(text) else ():
            plain += text[last:begin]
            gaps.append(InlineMarkup(len(plain), text[begin:end]))
            last = end
        return plain + text[last:], gaps

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        """Spans, with the space on the side where one is left over."""
        kinds = "".join(map(self._kind, text))
        for key in _KEY.finditer(text):
            length = len(key[1].rstrip(".,;:!?)\"'"))
            kinds = kinds[: key.start(1)] + "s" * length + kinds[key.start(1) + length :]
        for run in _UNREADABLE.finditer(kinds):
            begin, end = run.span()
            if begin > 0 and end < len(text) and _BETWEEN.fullmatch(text[begin:end]):
                continue
            before, after = begin, end
            while before and kinds[before - 1] == " ":
                before -= 1
            while after < len(kinds) and kinds[after] == " ":
                after += 1
            if after == end:
                begin = before
            elif before < begin or begin == 0:
                end = after
            yield begin, end

    def _kind(self, char: str) -> str:
        if (kind := self._kinds.get(char)) is None:
            category = unicodedata.category(char)
            kind = " " if char.isspace() else "w" if char.isalnum() else _KINDS.get(category, ".")
            picture = (
                char == "•"
                or (char >= "\u2100" and category in ("So", "Sk", "Co", "Cf"))
                or "\u2190" <= char < "\u2200"
            )
            if not char.isascii() and (category[0] in "LM" or picture) and self.spelt_out(char):
                kind = "s" if picture else "x"
            self._kinds[char] = kind
        return kind


def put_back(plain: str, gaps: list[InlineMarkup], translation: str) -> str:
    """The translation of a text with what was parted from it: first, last, or between its words."""
    first = "".join(gap.raw for gap in gaps if gap.offset == 0)
    last = "".join(gap.raw for gap in gaps if 0 < gap.offset == len(plain))
    inside = tuple(gap for gap in gaps if 0 < gap.offset < len(plain))
    return first + transfer_markup(Sentence(plain, 0, len(plain), markup=inside), translation, str) + last
