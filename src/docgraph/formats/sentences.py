"""Sentence splitting: character spans of sentences, by the rules of `sentencex` (about 300 languages, no model).

sentencex does not look into quotation marks and brackets, so they are hidden from it; known errors are corrected.
`benchmarks/sentence_splitting.py` compares the result with other splitters; docs/formats.md has the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from docgraph.formats.base import strip_span
from docgraph.languages import base_language

_WINDOW = 4000
"""Characters that sentencex sees at once: its time is quadratic for some texts (unclosed brackets)."""
_HIDDEN = re.compile(
    r"[\s\ud800-\udfff\"“”„«»‹›(){}「」『』（）]|\[(?!\d)|(?<!\d)\]"
    r"|(?<![^\s\"“(\[—-])['‘](?=\w)|(?<=[.!?,…])['’](?!\w)"
)
"""Quotation marks and brackets. Also white space and surrogates: sentencex 1.0 indexes bytes, and panics on non-ASCII
white space after an initial."""
_UNSPACED_ENDS = "。！？"
"""Sentence ends that no space follows."""
_OPENING = "\"'“‘„«‹([{¿¡「『（"
_ABBREVIATION = {
    "en": re.compile(
        r"(?<![^\W_])(?:M(?:r|rs|s|x|essrs|me|lle)|Drs?|Prof|Rev|Hon|Gen|Col|Lt|Capt|Sgt|Maj|Gov|Sen|Rep|Pres|approx|vs"
        r"|[Ff]igs?|[Vv]ols?|pp|cf|e\.?g|i\.?e|ca|[Ee]sp|incl|resp|viz|Ft|Attn)\.\s*$"
    ),
    "fr": re.compile(r"(?<!\w)MM?\.\s*$"),
    "ru": re.compile(r"(?<!\w)[тТ]\.\s?[еЕ]\.\s*$"),
}
"""Abbreviations that sentencex mistakes for the end of a sentence: after--Mr. Bingley, M. Dupont, т. е. (that is)."""
_MISSED_END = {"en": re.compile(r"(?:(?<!\w)No|\d\s[a-z])\.\s+(?=[^\W\d_a-z])")}
"""Sentence ends that sentencex mistakes for an abbreviation or initial: No. I do not. It is 12 m. It is deep."""
_BEFORE_DAY = re.compile(r"\d\s?[ap]\.m\.\s*$")
_DAY = re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|(?:[ECMP][SD]?T|GMT|UTC|BST)\b")
"""A day or time zone, which continues a sentence after a time: at 5 p.m. Friday."""
_NUMBER = re.compile(
    r"(?:(?:^|(?<!\bNo)(?<!\bno)(?<!\bp)(?<!\bpp)[.!?;][\"”’')\]]*\s)\s*\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[IVXivx]{1,5})|:\s+\(?1)[.)]\s*$"
)
"""The number of a heading or list item, which belongs to the text after it: 1. Summary."""
_TAIL = re.compile(
    r"(?:\[\d{1,3}\]|(?<=\s)(?:[>}]?[:;=8][o'^-]?[)(\]\[DPpOo/|*]+|\^_*\^|<3)(?!\w))+\s*|[^\w\s\"'“‘„«‹(\[{¿¡<$€£#@*-]+(?:\s+|$)"
)
"""What belongs to the sentence before it: a note [1], a smiley, closing marks."""
_BOX = re.compile(r"[☐-☒□■▢✓✔✗✘](?!\w)|(?<![^\s])\[[ xX]\](?!\S)")
_BOX_LAST = re.compile(rf"(?:{_BOX.pattern})\s*$")
"""Check boxes, which stand before or after the words of each item of a form."""
_SPEECH = re.compile(
    r"(?:(?:[A-Z][\w’'-]*\.?|the|his|her|my|old|young)\s+){1,4}(?:said|asked|cried|replied|answered|whispered|shouted"
    r"|exclaimed|added|muttered|called|returned|continued|murmured|inquired|enquired|demanded|remarked|observed"
    r"|repeated|began|went\son)\b(?!\sthat\b)"
)
"""Who speaks, after a quotation that ends with ? or !: “Really?” Tom asked."""
_QUESTION = re.compile(r"[!?…][\"”’'»]+\s*$")
_QUOTE_END = re.compile(r"[.!?…]\s?[\"”’'»]+\s*$")


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return the spans (start, end) of the sentences in order, without surrounding white space."""
    code = base_language(language)
    spans = (strip_span(text, *segment) for segment in _segments(text, code))
    return [(start, end) for start, end in spans if start < end]


def _segments(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield consecutive segments that cover the text, with known errors of sentencex corrected."""
    missed_end = _MISSED_END.get(language)
    start = 0
    for end in _ends(text, language):
        cut = _after_tail(text, _before_opening_quote(text, start, end))
        if cut <= start or (cut < len(text) and _continues(text, start, cut, language)):
            continue
        ends = [match.end() for match in missed_end.finditer(text, start, cut)] if missed_end is not None else []
        bounds = {*ends, *_box_bounds(text, start, cut), cut}
        yield from pairwise([start, *sorted(bound for bound in bounds if bound > start)])
        start = cut
    bounds = {*_box_bounds(text, start, len(text)), len(text)}
    yield from pairwise([start, *sorted(bound for bound in bounds if bound > start)])


def _box_bounds(text: str, start: int, end: int) -> list[int]:
    """Return the bounds of the items of a form (☐ Yes  ☐ No) in a sentence; none if it has fewer than two check boxes.

    Items begin with their boxes, or end with them if the sentence begins with words and ends with a box.
    """
    boxes = list(_BOX.finditer(text, start, end))
    if len(boxes) < 2:
        return []
    is_after = text[start : boxes[0].start()].strip() and _BOX_LAST.search(text, boxes[-1].start(), end)
    return [box.end() if is_after else box.start() for box in boxes]


def _ends(text: str, language: str) -> Iterator[int]:
    """Yield the ends of the segments of sentencex, which sees a window of the text at a time."""
    from sentencex import segment

    hidden = _HIDDEN.sub(" ", text)
    position = 0
    while position < len(hidden):
        window = hidden[position : position + _WINDOW]
        pieces = list(segment(language, window))
        is_last = position + len(window) == len(hidden)
        # The last piece may go on after the window; it is read again, unless it is all there is.
        for piece in pieces if is_last else pieces[:-1]:
            position += len(piece)
            yield position
        if not is_last and len(pieces) == 1:
            position += len(window)


def _continues(text: str, start: int, end: int, language: str) -> bool:
    """Return whether the sentence goes on after `end`, where sentencex ended it."""
    before = text[max(start, end - 80) : end]
    abbreviation = _ABBREVIATION.get(language)
    if abbreviation is not None and abbreviation.search(before):
        return True
    if _NUMBER.search(before):
        return True
    if text[end].islower() and _QUOTE_END.search(before):
        return True  # “Really?” he asked.
    if language != "en":
        return False
    if _BEFORE_DAY.search(before) and _DAY.match(text, end):
        return True
    return _QUESTION.search(before) is not None and _SPEECH.match(text, end) is not None


def _before_opening_quote(text: str, start: int, end: int) -> int:
    """Return the end of a segment, without a trailing opening quote or bracket, which belongs to the next segment."""
    trimmed = start + len(text[start:end].rstrip())
    cut = trimmed if text[start:trimmed].endswith(("«", "‹")) else end  # a French quotation begins with a space
    while cut > start and text[cut - 1] in _OPENING:
        cut -= 1
    is_trailing = start < cut < end < len(text) and not text[end].isspace()
    return cut if is_trailing and (text[cut - 1].isspace() or text[cut - 1] in _UNSPACED_ENDS) else end


def _after_tail(text: str, end: int) -> int:
    """Return the end of a segment, with the note or smiley that follows it."""
    match = _TAIL.match(text, end) if end < len(text) else None
    return match.end() if match else end
