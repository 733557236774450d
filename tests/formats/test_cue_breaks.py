"""Division of translated sentences among subtitle cues: alignment, time, line length."""

from __future__ import annotations

import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Alignment, Document, Link
from docgraph.formats import SubtitleLimits, read, render
from docgraph.formats.cue_breaks import place_breaks
from docgraph.formats.markup_positions import token_spans
from docgraph.formats.subtitles import SRT, VTT, fast_cues, wrap_cues


def srt(*cues: tuple[str, float]) -> str:
    """Cues of (text, seconds), one after the other."""
    parts, begin = [], 0.0
    for number, (text, seconds) in enumerate(cues, start=1):
        end = begin + seconds
        times = f"00:00:{begin:06.3f} --> 00:00:{end:06.3f}".replace(".", ",")
        parts.append(f"{number}\n{times}\n{text}\n\n")
        begin = end
    return "".join(parts)


def read_srt(source: str) -> Document:
    (document,) = read(io.StringIO(source), "srt")
    return document


def cue_lines(source: str | bytes, form: str = "srt") -> list[list[str]]:
    assert isinstance(source, str)
    cues = (SRT if form == "srt" else VTT).cues
    assert cues is not None
    return [[source[a:b] for a, b in cue.lines] for cue in cues(source)]


def links(source: str, target: str, pairs: dict[str, str]) -> Alignment:
    """Links between words, given by target word."""
    found = [Link(target.index(word), source.index(other), 1.0) for word, other in pairs.items()]
    return tuple(sorted(found))


def test_words_go_to_the_cue_of_the_words_that_they_translate() -> None:
    document = read_srt(srt(("Yesterday evening we all", 2), ("saw the black dog", 2)))
    [sentence] = document.sentences
    new = "Nous avons vu le chien noir hier soir"
    assert cue_lines(render([document], [[new]])) == [["Nous avons vu le chien"], ["noir hier soir"]]
    aligned = links(sentence.text, new, {"Nous": "we", "avons": "saw", "vu": "saw", "le": "the", "chien": "dog"})
    assert cue_lines(render([document], [[new]], alignments=[[aligned]])) == [
        ["Nous avons"],
        ["vu le chien noir hier soir"],
    ]


@pytest.mark.parametrize(
    ("text", "projected", "before"),
    [
        ("Quand la pluie cessera, nous irons", 25.0, "Quand la pluie cessera,"),
        ("Il mangera le gâteau", 11.5, "Il mangera"),
        ("Il a vu l' homme", 8.5, "Il a vu"),
    ],
)
def test_a_break_comes_after_punctuation_and_not_after_an_article(text: str, projected: float, before: str) -> None:
    spans = token_spans(text)
    [count] = place_breaks(spans, text, [10], [projected], [99.0, 99.0], None)
    assert text[: spans[count - 1][1]] == before


def test_markup_stays_in_its_cue() -> None:
    source = srt(("<i>The committee</i>", 2), ("<i>met <b>today</b> and</i>", 2), ("voted.", 2))
    written = render([read_srt(source)], [["La commission s'est réunie aujourd'hui et a voté."]])
    assert isinstance(written, str)
    assert [line.count("<i>") for [line] in cue_lines(written)] == [1, 1, 0]
    assert all(line.startswith("<i>") and line.endswith("</i>") for [line] in cue_lines(written)[:2])
    assert cue_lines(written)[1][0].count("<b>") == 1


def test_a_reading_speed_moves_words_to_longer_cues() -> None:
    document = read_srt(srt(("a short cue", 1), ("and a much longer one", 10)))
    new = "une réplique très courte puis une autre bien plus longue"
    free, limited = (cue_lines(render([document], [[new]], limits=SubtitleLimits(speed))) for speed in (None, 12.0))
    assert len(free[0][0]) > 12
    assert len(limited[0][0]) <= 12
    assert " ".join(itertools.chain(*limited)) == new


def test_other_sentences_in_a_cue_take_their_room() -> None:
    source = srt(("Yes, I know it well. We", 2), ("came home after the long war.", 9))
    document = read_srt(source)
    texts = ["Oui, je le sais bien.", "Nous sommes rentrés après la longue guerre."]
    first, second = cue_lines(render([document], [texts], limits=SubtitleLimits(12.0)))
    assert first == ["Oui, je le sais bien. Nous"]
    assert second == ["sommes rentrés après la longue guerre."]


def test_long_lines_are_broken_evenly() -> None:
    source = srt(("one two three four five six seven", 2), ("- who is that there now\n- me", 2), ("short\nlines", 2))
    assert cue_lines(wrap_cues(source, SRT, 20)) == [
        ["one two three four", "five six seven"],
        ["- who is that", "there now", "- me"],
        ["short", "lines"],
    ]


def test_tags_and_entities_have_no_length() -> None:
    source = "WEBVTT\n\n00:01.000 --> 00:02.000\n<c.yellow.bg_blue>Tom &amp; Ann</c>\n"
    assert wrap_cues(source, VTT, 9) == source
    assert fast_cues(source, VTT, 9) == (0, 1)
    assert fast_cues(source, VTT, 8.5) == (1, 1)


def test_line_length_is_an_option_of_render() -> None:
    document = read_srt(srt(("A long line that nobody can read.", 3)))
    written = render([document], [["Une longue ligne que personne ne peut lire."]], limits=SubtitleLimits(None, 24))
    assert cue_lines(written) == [["Une longue ligne que", "personne ne peut lire."]]


def test_long_sentences_with_punctuation_span_many_cues() -> None:
    texts = ["and so we went on,", "over the hills"] * 6
    assert len(read_srt(srt(*((text, 1.0) for text in texts)))) == 1
    assert len(read_srt(srt(*((text.replace(",", ""), 1.0) for text in texts)))) == 12


@given(
    st.lists(st.text("abcdé,'", min_size=1, max_size=8), min_size=1, max_size=12),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.floats(0, 1)), max_size=20),
    st.data(),
)
def test_breaks_ascend_and_leave_no_cue_empty(
    words: list[str], count: int, found: list[tuple[int, int, float]], data: st.DataObject
) -> None:
    text = " ".join(words)
    breaks = sorted(data.draw(st.lists(st.integers(1, 60), min_size=count, max_size=count)))
    room = data.draw(st.lists(st.floats(-5, 80), min_size=count + 1, max_size=count + 1))
    projected = [place * len(text) / 60 for place in breaks]
    alignment = tuple(Link(*link) for link in sorted(found))
    spans = token_spans(text)
    placed = place_breaks(spans, text, breaks, projected, room, alignment)
    assert len(placed) == count
    assert placed == sorted(placed)
    assert all(0 < place <= len(spans) for place in placed)
    if len(spans) > count:
        assert len({0, *placed, len(spans)}) == count + 2


@pytest.mark.parametrize("limit", [8, 20, 42])
@given(st.lists(st.text("ab \n-é", max_size=60), min_size=1, max_size=4))
def test_wrapping_keeps_words_and_times(limit: int, texts: list[str]) -> None:
    source = srt(*((text, 1.0) for text in texts))
    wrapped = wrap_cues(source, SRT, limit)
    assert wrapped.split() == source.split()
    assert len(cue_lines(wrapped)) == len(cue_lines(source))
    long = (word for lines in cue_lines(wrapped) for line in lines if len(line) > limit for word in [line])
    assert all(" " not in line.removeprefix("- ") for line in long)
