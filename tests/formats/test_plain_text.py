from __future__ import annotations

import io

import pytest
from format_examples import TEXT
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.formats import read, render
from docgraph.formats.plain_text import looks_like_lines


def read_text(source: str, format: str | None = None, language: str = "en") -> list[Document]:
    return read(io.BytesIO(source.encode()), format, language=language)


def test_lines_are_sentences_and_blank_lines_separate_documents() -> None:
    first, second = read_text("\n One sentence.  And more.\n two\n\n \n\nThree\n\n", "lines")
    assert first.texts == ["One sentence.  And more.", "two"]
    assert second.texts == ["Three"]
    assert (first.source, second.source) == ("\n One sentence.  And more.\n two\n\n \n\n", "Three\n\n")


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1), min_size=1))
def test_lines_keep_documents_and_sentences_when_rewritten(texts: list[list[str]]) -> None:
    source = "\n\n".join("\n".join("old" for _ in document) for document in texts)
    new = [[f"{text} new" for text in document] for document in texts]
    written = render(read_text(source, "lines"), new)
    assert isinstance(written, str)
    assert [len(document) for document in read_text(written, "lines")] == [len(document) for document in texts]


def test_prose_is_unwrapped_and_wrapped_again() -> None:
    (document,) = read_text(TEXT)
    assert document.format == "text"
    assert len(document) == 4
    assert document.texts[1].startswith(
        "Alice was beginning to get very tired of sitting by her sister on the bank, and of"
    )
    assert "\n" not in "".join(document.texts)
    assert [sentence.paragraph for sentence in document] == [0, 1, 1, 2]
    written = render([document], [[text.upper() for text in document.texts]])
    assert written == TEXT.upper()


def test_a_longer_translation_spreads_over_the_lines_of_the_paragraph() -> None:
    source = "The quick brown fox jumped over the lazy dog and then\nit ran away into the dark wood that lay there.\n"
    (document,) = read_text(source, "text")
    written = render([document], [["le mot " * 30]])
    assert isinstance(written, str)
    lines = written.splitlines()
    assert len(lines) == 2
    assert abs(len(lines[0]) - len(lines[1])) < 30


def test_tabs_separate_cells_and_stay() -> None:
    source = "Name:\tJohn Smith\nItem \t Unit price\t\tQuantity\n\nThe end.\n"
    [document] = read(io.BytesIO(source.encode()), "text")
    assert document.texts == ["Name:", "John Smith", "Item", "Unit price", "Quantity", "The end."]
    assert render([document], [[text.upper() for text in document.texts]]) == source.upper()


def test_short_lines_are_not_joined() -> None:
    (document,) = read_text("Red roses\nBlue violets\nWhite lilies\n", "text")
    assert document.texts == ["Red roses", "Blue violets", "White lilies"]


def test_lines_of_different_lengths_are_not_joined_even_in_lower_case() -> None:
    lines = [
        "are you free?",
        "yeah, what's up",
        "thinking about a pizza at the new place around 8",
        "great",
        "see you",
    ]
    (document,) = read_text("\n".join(lines), "text")
    assert document.texts == lines


def test_one_line_paragraphs_are_not_joined() -> None:
    line = "This is a paragraph on one line, with some length. It has two sentences" + " and many words" * 10
    (document,) = read_text(f"{line}\n{line} more.\n{line}\n", "text")
    assert len(document) == 6


@pytest.mark.parametrize(
    ("language", "source", "translations", "written"),
    [
        ("zh", "港口关了。“太低了，”他说。", ["It closed.", "“Too low,” he said."], "It closed. “Too low,” he said.\n"),
        ("en", "It closed. It is low.", ["港口关了。", "它太低了。"], "港口关了。它太低了。\n"),
        ("en", "It closed. It is low.", ["Il est fermé.", "Il est bas."], "Il est fermé. Il est bas.\n"),
    ],
)
def test_translations_are_separated_as_their_script_demands(
    language: str, source: str, translations: list[str], written: str
) -> None:
    (document,) = read_text(f"{source}\n", "text", language=language)
    assert render([document], [translations]) == written


def test_wrapped_chinese_is_joined_without_a_space() -> None:
    line = "爱丽丝挨着她姐姐坐在河岸边，由于没有什么事情可做，她开始感到厌倦，她一次又一次地瞧瞧姐姐"
    (document,) = read_text(f"{line}\n{line}。\n", "text", language="zh")
    assert document.texts == [f"{line}{line}。"]
    assert render([document], [["字" * 90 + "。"]]) == "字" * 45 + "\n" + "字" * 45 + "。\n"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("One.\nTwo.\n\nThree.\nFour.\n", True),
        ("One sentence.\n\nAnother sentence.\n\nA third one.\n", False),
        ("One. Two.\nThree. Four.\n", False),
        (TEXT, False),
        ("", False),
    ],
)
def test_one_sentence_per_line_is_distinguished_from_prose(source: str, lines: bool) -> None:
    assert looks_like_lines(source, "en") is lines


def test_lines_with_dot_leaders_are_not_joined() -> None:
    menu = [
        "Fish and chips with mushy peas and a pickled onion ....... £13.50",
        "Roast chicken, gravy and a choice of seasonal vegetables ... £14.00",
        "Mushroom risotto with parmesan and a glass of white wine ... £12.50",
    ]
    [document] = read(io.BytesIO("\n".join(menu).encode()), "text")
    assert {sentence.paragraph for sentence in document} == {0, 1, 2}
    assert "".join(document.texts).replace(" ", "") == "".join(menu).replace(" ", "")
