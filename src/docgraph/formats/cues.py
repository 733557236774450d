"""What subtitle formats share: sentences that run over several cues, line breaks and cue breaks being gaps in them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from docgraph.document import Document, Sentence
from docgraph.formats.base import NEWLINE, Block

AddLine = Callable[[Block, int, int], None]
"""(block, start, end): add a line of a cue, source[start:end], to the block."""
LINE = re.compile(rf"(?P<text>[^\r\n]*)(?:{NEWLINE}|\Z)")
_TIME = r"-?(?:\d{1,4}:){1,2}\d{1,2}(?:[.,]\d{1,3})?"
TIMING = re.compile(rf"[ \t]*(?P<begin>{_TIME})[ \t]*-->[ \t]*(?P<end>{_TIME})(?:[ \t][^\r\n]*)?$")
_VOICE = re.compile(r"[ \t]*<v(?:\.[^\s<>]*)?[ \t]+(?P<speaker>[^<>\r\n]*)>")
_DASH = re.compile(r"[ \t]*(?:<[^<>\r\n]*>)*[ \t]*(?P<dash>[-‐–—][ \t]*)(?=[^\s\d-])")
_SOUND = re.compile(r"[ \t]*(?:<[^<>\r\n]*>)*[ \t]*(?:[♪♫\[(（【]|>>|&gt;&gt;)")
_SOUND_ENDS = ("♪", "♫", "]", ")", "）", "】")
_PAUSE = 2.0
"""Seconds without a subtitle after which a new sentence begins."""
_MOST_CUES = 6
"""A sentence over more cues than this lacks punctuation: each of its cues is then read by itself."""


@dataclass(slots=True)
class Cue:
    """One subtitle: its times in seconds and its lines, as spans in the source."""

    begin: float
    end: float
    lines: list[tuple[int, int]]


@dataclass(slots=True)
class _Utterance:
    """Lines that one speaker may say in one breath; `cues` tells where in the source each cue begins."""

    speaker: str | None
    lines: list[tuple[int, int]] = field(default_factory=list)
    cues: list[int] = field(default_factory=list)


def cue(timing: re.Match[str], lines: list[tuple[int, int]]) -> Cue:
    return Cue(_seconds(timing["begin"]), _seconds(timing["end"]), lines)


def _seconds(time: str) -> float:
    """`1:02:03,450` or `02:03.450`."""
    total = 0.0
    for part in time.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return total


def document_of_cues(source: str, cues: Iterable[Cue], language: str, add_line: AddLine) -> list[Document]:
    sentences: list[Sentence] = []
    paragraph = 0
    for utterance in _utterances(source, cues):
        found = _block(source, utterance.lines, utterance.speaker, add_line).sentences(language, paragraph)
        if any(_breaks(sentence, utterance.cues) >= _MOST_CUES for sentence in found):
            found = []
            for lines in _by_cue(utterance):
                found += _block(source, lines, utterance.speaker, add_line).sentences(language, paragraph)
        sentences += found
        paragraph += bool(found)
    return [Document(tuple(sentences), source)]


def _breaks(sentence: Sentence, cues: list[int]) -> int:
    """How many cues begin inside the sentence."""
    return bisect_left(cues, sentence.end) - bisect_right(cues, sentence.start)


def _by_cue(utterance: _Utterance) -> Iterator[list[tuple[int, int]]]:
    starts = [start for start, _ in utterance.lines]
    cuts = [bisect_left(starts, begin) for begin in utterance.cues] + [len(starts)]
    for first, last in zip([0, *cuts], cuts, strict=False):
        if first < last:
            yield utterance.lines[first:last]


def _utterances(source: str, cues: Iterable[Cue]) -> Iterator[_Utterance]:
    """A pause, a new voice, a dash, or a sound in brackets begins a new utterance."""
    current = _Utterance(None)
    before, sound = 0.0, False
    for cue in cues:
        fresh = cue.begin - before >= _PAUSE
        speaker = None
        for index, (start, end) in enumerate(cue.lines):
            voice = _VOICE.match(source, start, end)
            speaker = voice["speaker"].strip() or None if voice else speaker
            dash = _DASH.match(source, start, end)
            opens_sound = _SOUND.match(source, start, end) is not None
            if fresh or sound or dash or opens_sound or speaker != current.speaker:
                yield current
                current = _Utterance(speaker)
            if not index:
                current.cues.append(start)
            current.lines.append((dash.end() if dash else start, end))
            sound = opens_sound and source[start:end].rstrip().endswith(_SOUND_ENDS)
            fresh = False
        before = cue.end
    yield current


def _block(source: str, lines: list[tuple[int, int]], speaker: str | None, add_line: AddLine) -> Block:
    block = Block(source, speaker)
    for index, (start, end) in enumerate(lines):
        if index:
            block.line_break(lines[index - 1][1], start)
        add_line(block, start, end)
    return block


def content(source: str, start: int, end: int) -> tuple[int, int]:
    """The line less the white space around it."""
    text = source[start:end]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())
