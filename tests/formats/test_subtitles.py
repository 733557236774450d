from __future__ import annotations

import io
import re

import pytest
from format_examples import SRT, VTT, soup
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.formats import read, render

TIMES = re.compile(r"[\d:.,]+ --> .*")


def read_one(source: str, format: str) -> Document:
    (document,) = read(io.BytesIO(source.encode()), format)
    return document


def rewrite(document: Document, texts: list[str]) -> str:
    written = render([document], [texts])
    assert isinstance(written, str)
    return written


def cue(number: int, begin: float, end: float, text: str) -> str:
    return f"{number}\n00:00:{begin:06.3f} --> 00:00:{end:06.3f}\n{text}\n\n".replace(".", ",")


def test_a_sentence_spans_cues() -> None:
    document = read_one(SRT, "srt")
    assert document.texts == [
        "Oh dear!",
        "Oh dear!",
        "I shall be too late for the party, said the rabbit.",
        "[clock ticks]",
    ]
    assert [markup.raw for markup in document.sentences[2].markup] == [
        "</i>",
        "\n\n2\n00:00:02,600 --> 00:00:04,000\n",
        "<i>",
        "</i>",
        "\n",
    ]


@pytest.mark.parametrize(("source", "format"), [(SRT, "srt"), (VTT, "vtt")])
def test_new_text_of_the_same_shape_goes_where_the_old_was(source: str, format: str) -> None:
    document = read_one(source, format)
    shouted = rewrite(document, [text.upper() for text in document.texts])
    kept = re.compile(r"^(?:\d.*|WEBVTT.*|NOTE.*|STYLE|::cue.*|intro)$|</?[a-z][^>]*>|&\w+;", re.M)
    assert kept.findall(shouted) == kept.findall(source)
    assert kept.sub("", shouted) == kept.sub("", source).upper()


def test_every_cue_has_words_if_there_are_enough() -> None:
    source = "".join(cue(i, i, i + 1, f"part {i} of it") for i in range(1, 5))
    document = read_one(source, "srt")
    assert len(document) == 1
    written = rewrite(document, ["one twotwotwotwotwotwotwotwotwotwo three four"])
    assert [block.splitlines()[2] for block in written.strip().split("\n\n")] == [
        "one",
        "twotwotwotwotwotwotwotwotwotwo",
        "three",
        "four",
    ]


@given(st.lists(st.tuples(st.text("ab. ?!\n-é中", max_size=20), st.booleans()), min_size=1, max_size=8), st.data())
def test_cue_count_and_times_survive_any_new_text(cues: list[tuple[str, bool]], data: st.DataObject) -> None:
    source = "".join(cue(i, 3 * i, 3 * i + 1 + pause, text) for i, (text, pause) in enumerate(cues, start=1))
    document = read_one(source, "srt")
    texts = [data.draw(st.text("ab 1中\n->:,0", max_size=40)) for _ in document]
    written = rewrite(document, texts)
    assert TIMES.findall(written) == TIMES.findall(source)


@given(soup("vtt"), st.data())
def test_vtt_times_survive_any_new_text(source: str, data: st.DataObject) -> None:
    document = read_one(source, "vtt")
    times = re.compile(r"^\d\d:[\d:.]+ --> .*$", re.M)
    written = rewrite(document, [data.draw(st.text("ab 1\n->:.0", max_size=40)) for _ in document])
    assert len(times.findall(written)) == len(times.findall(source))


def test_voices_are_speakers_and_separate_sentences() -> None:
    document = read_one(VTT, "vtt")
    assert [(sentence.speaker, sentence.text) for sentence in document] == [
        ("Alice", "Curiouser & curiouser, said Alice to herself."),
        ("Queen", "Off with her head!"),
    ]


@pytest.mark.parametrize(
    ("first", "second", "pause", "texts"),
    [
        ("well I", "think so", 0.1, ["well I think so"]),
        ("well I", "think so", 5, ["well I", "think so"]),
        ("- who", "- me", 0.1, ["who", "me"]),
        ("<i>- who</i>", "me", 0.1, ["who me"]),
        ("[music]", "hello", 0.1, ["[music]", "hello"]),
        ("hello", "♪ la la ♪", 0.1, ["hello", "♪ la la ♪"]),
        ("{\\an8}up", "<font color='red'>there</font>", 0.1, ["up there"]),
        ("minus", "-5 degrees", 0.1, ["minus -5 degrees"]),
    ],
)
def test_what_begins_a_new_sentence(first: str, second: str, pause: float, texts: list[str]) -> None:
    source = cue(1, 1, 2, first) + cue(2, 2 + pause, 9, second)
    assert read_one(source, "srt").texts == texts


def test_captions_without_punctuation_have_one_sentence_per_cue() -> None:
    source = "".join(cue(i, i, i + 1, f"words {i}\nand more") for i in range(1, 12))
    assert read_one(source, "srt").texts == [f"words {i} and more" for i in range(1, 12)]


def test_blank_lines_inside_a_cue_and_missing_numbers() -> None:
    source = "00:00:01,000 --> 00:00:02,000\nHello\n\nthere.\n\n00:00:03,000 --> 00:00:04,000\n42\n"
    assert read_one(source, "srt").texts == ["Hello there.", "42"]


def test_negative_times_are_accepted() -> None:
    assert read_one("1\n-00:00:01,000 --> 00:00:05,000\nHello.\n", "srt").texts == ["Hello."]


def test_a_file_without_cues_has_no_sentences() -> None:
    assert read_one("Just some text.\n", "srt").texts == []
    assert read_one("WEBVTT\n\nJust some text.\n", "vtt").texts == []
