"""Preprocessing: the segments of a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.translation.text.preprocessing import (
    Preprocessor,
    Segment,
    Segments,
    cut,
    is_translatable,
    split_items,
    split_line,
)
from translation.translator_examples import embedded, english_to_french


@pytest.fixture(scope="module")
def preprocessor() -> Preprocessor:
    return english_to_french()


def test_a_title_is_lowercased_if_the_model_is_more_confident_then() -> None:
    asked: list[str] = []

    def confidence(texts: list[str]) -> list[float]:
        asked.extend(texts)
        return [float("lett" in text) for text in texts]

    def segmented(texts: list[str], confidence: Callable[[list[str]], list[float]]) -> list[str]:
        preprocessor = english_to_french(independent=True, confidence=confidence)
        return [segment.text for segment in preprocessor.segment(Document.from_sentences(texts)).segments]

    texts = ["How to Write a Good Letter", "He met Mary.", "How to Write a Good Story", "European Parliament"]
    assert segmented(texts, confidence) == ["How to write a good letter", *texts[1:]]
    assert asked == ["How to write a good letter", "How to write a good story", texts[0], texts[2]]
    assert segmented(texts[3:], lambda _: pytest.fail("there is no title")) == texts[3:]


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["Mon", "Sun", "Jan"], ["Monday", "Sunday", "Jan"]),
        (["Jan", "Feb.", "Sun", "May"], ["January", "February", "Sun", "May"]),
        (["Jan", "Sun", "May"], ["Jan", "Sun", "May"]),
        (["The Sun", "Mon"], ["The Sun", "Monday"]),
    ],
)
def test_a_star_is_a_day_beside_other_days(preprocessor: Preprocessor, texts: list[str], shown: list[str]) -> None:
    segments = preprocessor.segment(Document.from_sentences(texts)).segments
    assert [segment.text for segment in segments] == shown
    assert [segment.source for segment in segments] == texts


@pytest.mark.parametrize(
    "text",
    [
        "docs/results.md",
        "config.json",
        "C:\\data\\a.txt",
        "max_positions",
        "www.a.org",
        "<a@b.org>",
        "FormData",
        "URLSearchParams",
        "supportsColor",
        "pop [--index] [-q|--quiet] [<stash>]",
        "push [-k|--[no-]keep-index] [(-m|--message) <text>] [--] [<path>…]",
    ],
)
def test_file_names_and_identifiers_are_not_translated(text: str) -> None:
    assert not is_translatable(text)
    assert is_translatable(f"Open {text}")


@pytest.mark.parametrize("text", ["<state>", "<b>", "f", "C", " x ", "<file name> <1>"])
def test_placeholders_and_single_letters_are_not_translated(text: str) -> None:
    assert not is_translatable(text)
    assert is_translatable(f"Open {text}")


def test_topics_alone_are_not_translated() -> None:
    assert not is_translatable("#travel #paris")
    assert is_translatable("#travel to Paris")


def test_items_of_a_line_are_translated_separately() -> None:
    assert split_items("Website • About us • Contact") == ["Website • ", "About us • ", "Contact"]
    assert split_items("Full-time · £32k p.a. · Bristol") == ["Full-time · ", "£32k p.a. · ", "Bristol"]
    assert split_items("A | B and 1 | 2") == ["A | B and 1 | 2"]


@pytest.mark.parametrize(
    "text", ["Yes/No", "Press [Enter] (or <key>)", "e.g.", "U.S.", "Well-known", "Stop!", "Why?No."]
)
def test_words_with_punctuation_are_translated(text: str) -> None:
    assert is_translatable(text)


@given(st.text(alphabet="ab .,。!\u3000", max_size=200), st.integers(1, 30))
def test_parts_fit_and_join_to_the_text(text: str, room: int) -> None:
    parts = list(cut(text, lambda part: len(part) <= room))
    assert "".join(parts) == text
    assert all(len(part) <= max(room, 1) for part in parts)


def test_a_long_sentence_is_cut_at_its_clauses_and_joined_again() -> None:
    text = "The men came home in the rain, tired and wet; the women, who had waited, gave them bread, and all was well."
    preprocessor = Preprocessor(embedded().source, ("en", "fr"), 20)
    segments = preprocessor.segment(replace(Document.from_sentences([text]), format="text"))
    sources = [segment.source for segment in segments.segments]
    assert " ".join(sources) == text
    assert sources[0].endswith("wet;") or sources[1].endswith("wet;")
    said = [f"Une phrase {n}." for n in range(len(sources))]
    joined = segments.join(said, 0)
    assert joined.startswith("Une phrase 0")
    assert joined.endswith(f"une phrase {len(sources) - 1}.")
    assert joined.count(".") == 1
    assert joined.count("Une") == 1


def test_parts_of_a_chinese_sentence_are_joined_with_spaces() -> None:
    text = "男人们在雨中回家了，又累又湿；女人们等了很久，给了他们面包，一切都好。" * 2
    segments = Segments([Segment(part, part, "", None) for part in cut(text, lambda part: len(part) < 30)])
    segments.of_sentence.append(range(len(segments)))
    english = segments.join(["The men came home."] * len(segments), 0)
    assert english.startswith("The men came home")
    assert "homeThe" not in english
    assert " " not in segments.join(["男人回家了"] * len(segments), 0)


def test_sentences_of_a_line_keep_their_full_stops() -> None:
    preprocessor = english_to_french(independent=True)
    segments = preprocessor.segment(Document.from_sentences(['He said "yes." They left! It was late.']))
    assert segments.join(['Il a dit "oui".', "Ils partirent.", "Il était tard."], 0) == (
        'Il a dit "oui". Ils partirent. Il était tard.'
    )


def test_a_text_is_cut_where_a_sentence_or_a_clause_ends() -> None:
    text = "One two three four. Five six, seven eight nine"
    assert list(cut(text, lambda part: len(part) < 30)) == ["One two three four. ", "Five six, seven eight nine"]
    assert list(cut("one two, three four", lambda part: len(part) < 12)) == ["one two, ", "three four"]


@pytest.mark.parametrize("text", ["été", "北京", "№ five", "see www.example.org", "no"])
def test_words_are_translated(text: str) -> None:
    assert is_translatable(text)


@pytest.mark.parametrize(
    "parts",
    [
        ["No. ", "I am serious. ", "I am."],
        ["The com.sun.star.util.Date object is one. ", "So is this."],
        ['He said, "No. They do." ', "Then he left. 42"],
        ["1. Then he left. ", "So did I.\t"],
        ["..."],
        [""],
    ],
)
def test_a_line_is_split_after_its_sentences(parts: list[str]) -> None:
    assert split_line("".join(parts), "en") == parts
