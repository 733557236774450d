"""Subtitles: SubRip (.srt) and WebVTT (.vtt). Numbers and times are kept; a sentence may span several cues.

Line breaks and cue breaks inside a sentence are inline markup. WebVTT adds notes and styles, which are left alone,
voices, which are read as speakers, and character references.
"""

from __future__ import annotations

import html
import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from docgraph.document import Document, Sentence
from docgraph.formats.base import LINE, Cue, Format, Span, line_groups, splice, strip_span
from docgraph.formats.html import add_text
from docgraph.formats.html import escape as escape_html
from docgraph.formats.paragraph import Block

AddText = Callable[[Block, int, int], None]
"""(block, start, end): adds source[start:end], which has no tags, to the block."""
_TIME = r"-?(?:\d{1,4}:){1,2}\d{1,2}(?:[.,]\d{1,3})?"
_TIMING = re.compile(rf"[ \t]*(?P<begin>{_TIME})[ \t]*-->[ \t]*(?P<end>{_TIME})(?:[ \t][^\r\n]*)?$")
_SRT_NUMBER = re.compile(r"[ \t]*\d+[ \t]*$")
_SRT_TAG = re.compile(r"</?[a-zA-Z][^<>\r\n]*>|\{\\[^{}\r\n]*\}|\{[a-zA-Z]:[^{}\r\n]*\}")
_VTT_TAG = re.compile(r"<[^<>\r\n]*>")
_ANY_TAG = re.compile(rf"{_SRT_TAG.pattern}|{_VTT_TAG.pattern}")
_WORD = re.compile(rf"(?:{_ANY_TAG.pattern}|[^ \t\r\n])+")
"""A word with its tags, which may contain spaces."""
_VTT_NOT_CUES = re.compile(r"(?:NOTE|STYLE|REGION|WEBVTT)(?:[ \t]|$)")
_VOICE = re.compile(r"[ \t]*<v(?:\.[^\s<>]*)?[ \t]+(?P<speaker>[^<>\r\n]*)>")
_DASH = re.compile(r"[ \t]*(?:<[^<>\r\n]*>)*[ \t]*(?P<dash>[-‐–—][ \t]*)(?=[^\s\d-])")
_SOUND = re.compile(r"[ \t]*(?:<[^<>\r\n]*>)*[ \t]*(?:[♪♫\[(（【]|>>|&gt;&gt;)")
_SOUND_ENDS = ("♪", "♫", "]", ")", "）", "】")
_PAUSE = 2.0
"""Seconds without a subtitle after which a new sentence begins."""
_MAX_CUES, _MOST_CUES = 6, 24
"""A sentence over more cues with fewer than one punctuation mark in six cues, or over many more, has no punctuation:
then each of its cues is read as a sentence."""
_MARK = re.compile(r"[,;:.!?…–—、，；：](?!\w)")


@dataclass(slots=True)
class _Utterance:
    """Consecutive lines that may form one sentence; `cues` has the start of each cue in the source."""

    speaker: str | None
    lines: list[Span] = field(default_factory=list)
    cues: list[int] = field(default_factory=list)


def parse_srt(source: str, language: str) -> list[Document]:
    """Read SubRip subtitles."""
    return _document(source, _srt_cues(source), language, _SRT_TAG, Block.text)


def parse_vtt(source: str, language: str) -> list[Document]:
    """Read WebVTT subtitles."""
    return _document(source, _vtt_cues(source), language, _VTT_TAG, add_text)


def _srt_cues(source: str) -> Iterator[Cue]:
    """Yield cues, each of which ends at the number (or the times) of the next cue, not at a blank line."""
    lines = [match.span("text") for match in LINE.finditer(source)]
    timings = [(index, match) for index, line in enumerate(lines) if (match := _TIMING.match(source, *line))]
    for position, (index, timing) in enumerate(timings):
        last = timings[position + 1][0] if position + 1 < len(timings) else len(lines)
        if last < len(lines) and last - 1 > index and _SRT_NUMBER.match(source, *lines[last - 1]):
            last -= 1
        spans = (strip_span(source, *line) for line in lines[index + 1 : last])
        yield _cue(timing, [(start, end) for start, end in spans if start < end])


def _vtt_cues(source: str) -> Iterator[Cue]:
    """Yield cues, each of which ends at a blank line or at the times of the next cue."""
    for group in line_groups(source):
        if _VTT_NOT_CUES.match(source, *group[0]):
            continue
        timings = [(index, match) for index, line in enumerate(group) if (match := _TIMING.match(source, *line))]
        ends = [*(index for index, _ in timings[1:]), len(group)]
        for (index, timing), end in zip(timings, ends, strict=False):
            yield _cue(timing, [strip_span(source, *line) for line in group[index + 1 : end]])


def _cue(timing: re.Match[str], lines: list[Span]) -> Cue:
    return Cue(_seconds(timing["begin"]), _seconds(timing["end"]), lines)


def _seconds(time: str) -> float:
    """Return the seconds of a time such as `1:02:03,450` or `02:03.450`."""
    total = 0.0
    for part in time.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return total


def _document(
    source: str, cues: Iterable[Cue], language: str, tag: re.Pattern[str], add_plain: AddText
) -> list[Document]:
    """Return the document of the cues; `tag` matches a tag, `add_plain` adds the text between tags to a block."""

    def read(lines: list[Span], speaker: str | None) -> list[Sentence]:
        return _block(source, lines, speaker, tag, add_plain).sentences(language, paragraph)

    sentences: list[Sentence] = []
    paragraph = 0
    for utterance in _utterances(source, cues):
        found = read(utterance.lines, utterance.speaker)
        if any(_lacks_punctuation(sentence, utterance.cues) for sentence in found):
            found = [sentence for lines in _lines_by_cue(utterance) for sentence in read(lines, utterance.speaker)]
        sentences += found
        paragraph += bool(found)
    return [Document(tuple(sentences), source)]


def _lacks_punctuation(sentence: Sentence, cues: list[int]) -> bool:
    """Return whether the sentence spans more cues than its punctuation explains."""
    breaks = bisect_left(cues, sentence.end) - bisect_right(cues, sentence.start)
    return breaks >= _MAX_CUES and (breaks >= _MOST_CUES or _MAX_CUES * len(_MARK.findall(sentence.text[:-1])) < breaks)


def _lines_by_cue(utterance: _Utterance) -> Iterator[list[Span]]:
    starts = [start for start, _ in utterance.lines]
    cuts = [bisect_left(starts, begin) for begin in utterance.cues] + [len(starts)]
    for first, last in zip([0, *cuts], cuts, strict=False):
        if first < last:
            yield utterance.lines[first:last]


def _utterances(source: str, cues: Iterable[Cue]) -> Iterator[_Utterance]:
    """Group lines into utterances; a pause, a new voice, a dash, or a sound in brackets begins a new one."""
    current = _Utterance(None)
    previous_end, after_sound = 0.0, False
    for cue in cues:
        after_pause = cue.begin - previous_end >= _PAUSE
        speaker = None
        for index, (start, end) in enumerate(cue.lines):
            voice = _VOICE.match(source, start, end)
            speaker = voice["speaker"].strip() or None if voice else speaker
            dash = _DASH.match(source, start, end)
            is_sound = _SOUND.match(source, start, end) is not None
            if after_pause or after_sound or dash or is_sound or speaker != current.speaker:
                yield current
                current = _Utterance(speaker)
            if not index:
                current.cues.append(start)
            current.lines.append((dash.end() if dash else start, end))
            after_sound = is_sound and source[start:end].rstrip().endswith(_SOUND_ENDS)
            after_pause = False
        previous_end = cue.end
    yield current


def _block(source: str, lines: list[Span], speaker: str | None, tag: re.Pattern[str], add_plain: AddText) -> Block:
    block = Block(source, speaker)
    for index, (start, end) in enumerate(lines):
        if index:
            last = lines[index - 1][1]
            block.line_break(last, start, "break" if "-->" in source[last:start] else "")
        for match in tag.finditer(source, start, end):
            add_plain(block, start, match.start())
            block.markup(*match.span())
            start = match.end()
        add_plain(block, start, end)
    return block


def escape_srt(text: str) -> str:
    """Replace the arrow of a timing line, which SubRip cannot represent in text."""
    return text.replace("-->", "→")


def wrap_cues(source: str, form: Format, limit: int) -> str:
    """Return subtitles with the lines of each cue that has a longer line than `limit` broken again, evenly."""
    assert form.cues is not None
    edits = []
    for cue in form.cues(source):
        if any(_visible(source[start:end]) > limit for start, end in cue.lines):
            new = [line for group in _line_groups(source, cue) for line in _wrapped(group, limit)]
            newline = "\r\n" if "\r\n" in source[cue.lines[0][0] - 2 : cue.lines[0][0]] else "\n"
            edits.append((cue.lines[0][0], cue.lines[-1][1], newline.join(new)))
    return splice(source, edits)


def fast_cues(source: str, form: Format, speed: float) -> tuple[int, int]:
    """Return how many cues have more than `speed` characters per second, and the number of cues."""
    assert form.cues is not None
    cues = [cue for cue in form.cues(source) if cue.lines]
    lengths = [sum(_visible(source[start:end]) for start, end in cue.lines) for cue in cues]
    fast = sum(length > speed * (cue.end - cue.begin) for cue, length in zip(cues, lengths, strict=True))
    return fast, len(cues)


def _line_groups(source: str, cue: Cue) -> list[str]:
    """Return the lines of a cue; lines that continue the one before are joined, those of other speakers are not."""
    groups: list[str] = []
    for start, end in cue.lines:
        if groups and not _DASH.match(source, start, end) and not _VOICE.match(source, start, end):
            groups[-1] += f" {source[start:end]}"
        else:
            groups.append(source[start:end])
    return groups


def _visible(text: str) -> int:
    """Return the number of characters that are shown."""
    return len(html.unescape(_ANY_TAG.sub("", text)))


def _wrapped(text: str, limit: int) -> list[str]:
    """Return a text as the fewest lines of at most `limit` characters, as even as possible; words are not cut."""
    words = [word for word in _WORD.findall(text) if word]
    lengths = [_visible(word) for word in words]
    lines = len(_filled(lengths, limit))
    width = next(width for width in range(1, limit + 1) if len(_filled(lengths, width)) <= lines)
    bounds = itertools.pairwise([0, *itertools.accumulate(_filled(lengths, width))])
    return [" ".join(words[first:last]) for first, last in bounds]


def _filled(lengths: list[int], width: int) -> list[int]:
    """Return the number of words of each line if lines are filled one after the other."""
    lines: list[int] = []
    room = 0
    for length in lengths:
        if not lines or length + 1 > room:
            lines.append(0)
            room = width + 1
        lines[-1] += 1
        room -= length + 1
    return lines


_FILLER = "\u00a0"
"""Stands in a cue whose words went elsewhere: a blank line would end the cue, and the rest of it would be lost."""
SRT = Format("srt", (".srt",), parse_srt, escape_srt, filler=_FILLER, cues=_srt_cues)
VTT = Format("vtt", (".vtt",), parse_vtt, escape_html, filler=_FILLER, cues=_vtt_cues)
