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
from docgraph.translation.text.digits import NOTE_MARK

_JOINERS = frozenset("\u200c\u200d\u20e3\ufe0e\ufe0f")
"""Characters that join several characters into one picture or word, as in a keycap emoji."""
_ARROW = re.compile(r"[\u2190-\u21ff\u25b6-\u25bb]")
"""Arrows between words (File → Open) stay, because they say how the words belong together."""
_KEY = re.compile(r"(?<![!-~])[(\"']?([!-~]{60,})")
_RUN_OF_MARKS = r"(?:([*=~#_])\1+|([+-])\2{2,})"
_TIME_STAMP = r"\[(?:[\d/.-]{6,10}[, T]\s?)?\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?\]"
_LEADING = re.compile(
    rf"\|+\s*(?=\w)|(?:{_TIME_STAMP}\s+(?=\S))+|(?:(?:\*|{_RUN_OF_MARKS})\s+)?"
    r"(?:(?:\((?:\d{1,3}|[a-z]{1,2}|[ivx]{1,4})\)|(?:\d{1,3}|[a-z])\)|(?:\d{1,3}\.)+(?:\d{1,3})?|[A-Z](?:\.\d{1,3})+\.?)"
    r"\s+(?=[A-Z])"
    r"|[A-EQ]\.\s+(?=[A-Z][a-z]*\s[a-z])|[A-Z]\)\s+(?=[A-Z])"
    r"|(?:[a-z]\)|\d{1,2}[.)])\s+(?!(?:and|are|in|is|of|or|to|was)\b)(?=[a-z]))?"
)
"""What precedes a text without belonging to it: the bars of a message with several forms (one file|%d files), a star or
several marks, the time in a log or a chat, and the number or letter of a section, an item or an answer."""
_TOPIC = r"#[^\W\d_]\w*"
_TRAILING = re.compile(
    rf"(?<!\s)\s+(?:[*·•|]|{_RUN_OF_MARKS})$|(?<=[.!?\"”’)])(?:\s?\[\d{{1,3}}\])+$|(?<=[.!?…])\s+{_TOPIC}$"
    rf"|(?<!\s)(?:\s+{_TOPIC}){{2,}}$"
)
"""What follows a text: a star, several marks, what separates it from the next item, the numbers of notes, or topics
(#holiday)."""
_FRAME = re.compile(r"(([*=~#_+-])\2{2,}\s*)(?=[^\W_]).*?(?<=[^\s*=~#_+-])(\s*\2{3,})")
"""A text between runs of marks: -----Original Message-----."""
_TRADEMARKS = frozenset("®™℠")
"""Signs that a model may spell in letters: TM."""
_LAST_WORD = re.compile(r"[\w.-]*\w$")
_OPENING = frozenset("([")
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
        readable, gaps, (last, stop) = "", list[InlineMarkup](), _without_frame(text)
        if last:
            gaps = [InlineMarkup(0, text[:last])]
        for begin, end in self._unreadable_spans(text) if not text.isascii() or _KEY.search(text) else ():
            begin, end = max(begin, last), min(end, stop)
            if begin >= end:
                continue
            while end == stop < len(text) and begin > last and text[begin - 1] == " ":  # the one after it is not here
                begin -= 1
            readable += text[last:begin]
            gaps.append(InlineMarkup(len(readable), text[begin:end]))
            last = end
        readable += text[last:stop]
        if stop < len(text):
            gaps.append(InlineMarkup(len(readable), text[stop:]))
        return readable, gaps

    def _unreadable_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields spans to remove, each with the space that would otherwise be left over beside it."""
        classes = self._classes_of(text)
        for key in _KEY.finditer(text):
            length = len(key[1].rstrip(".,;:!?)\"'"))
            classes = classes[: key.start(1)] + "s" * length + classes[key.start(1) + length :]
        for mark in NOTE_MARK.finditer(text):
            classes = classes[: mark.start()] + "s" * len(mark[0]) + classes[mark.end() :]
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
            elif before < begin or begin == 0 or text[begin - 1] in _OPENING:
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
            char == "•"
            or "\u2190" <= char < "\u2200"
            or (category == "So" and char != "©")
            or (char >= "\u2100" and category in ("Sk", "Co", "Cf"))
        )
        is_known = char.isascii() or not (category[0] in "LM" or is_picture) or not self.is_unknown(char)
        if char in _TRADEMARKS or not is_known:
            kind = "s" if is_picture else "x"
        self._classes[char] = kind
        return kind


def _without_frame(text: str) -> tuple[int, int]:
    """Returns the begin and the end of a text without what precedes and follows it."""
    if frame := _FRAME.fullmatch(text):
        return frame.end(1), frame.start(3)
    leading, trailing = _LEADING.match(text), _TRAILING.search(text)
    begin = leading.end() if leading else 0
    return begin, trailing.start() if trailing and trailing.start() > begin else len(text)


def put_back(readable: str, gaps: list[InlineMarkup], translation: str) -> str:
    """Returns the translation of a readable text with the removed parts back at its start, end or between its words."""
    first = "".join(gap.raw for gap in gaps if gap.offset == 0)
    last = "".join(gap.raw for gap in gaps if 0 < gap.offset == len(readable))
    inside = list[InlineMarkup]()
    for gap in gaps:
        if 0 < gap.offset < len(readable):
            marked = _after_same_word(readable, gap, translation) or _after_same_bracket(readable, gap, translation)
            translation = marked or translation
            inside += [] if marked else [gap]
    sentence = Sentence(readable, 0, len(readable), markup=tuple(inside))
    return first + transfer_markup(sentence, translation, str) + last


def _after_same_bracket(readable: str, gap: InlineMarkup, translation: str) -> str:
    """Returns a translation with a gap after the bracket that it began; empty if the brackets differ."""
    bracket = readable[gap.offset - 1]
    brackets = [match.end() for match in re.finditer(re.escape(bracket), translation)]
    if bracket not in _OPENING or len(brackets) != readable.count(bracket):
        return ""
    place = brackets[readable.count(bracket, 0, gap.offset) - 1]
    return f"{translation[:place]}{gap.raw}{translation[place:]}"


def _after_same_word(readable: str, gap: InlineMarkup, translation: str) -> str:
    """Returns a translation with a trademark sign after the word that it had before it; empty without that word."""
    word = _LAST_WORD.search(readable, 0, gap.offset)
    if word is None or gap.raw not in _TRADEMARKS:
        return ""
    found = re.search(rf"(?<![\w-]){re.escape(word[0])}(?![\w{''.join(_TRADEMARKS)}-])", translation)
    return f"{translation[: found.end()]}{gap.raw}{translation[found.end() :]}" if found else ""
