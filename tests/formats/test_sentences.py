from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import sentencex
from benchmarks.sentence_examples import EXAMPLES
from benchmarks.sentence_splitting import docgraph_splitter, measure, paragraphs
from hypothesis import given
from hypothesis import strategies as st

from docgraph.formats.sentences import split_sentences
from shared_data import SHARED, needs_data


def split(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, language)]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. J. K. Smith paid $3.50, e.g. for tea.", "Did he?", "Yes!"]),
        ("en", ["He left.", '"And then?', "Nothing."]),
        ("de", ["Er sagte: „Ich gehe.", "Du bleibst.“", "Dann ging er."]),
        ("fr", ["Il dit : « Je pars.", "Tu restes. »", "Puis il partit."]),
        ("en", ["No.", "It is 12 m.", "It is deep, see No. 12."]),
        ("en", ["We meet at 5 p.m. Friday.", "They met at 5 p.m. EST.", "He left at 6 p.m.", "She stayed."]),
        ("fr", ["M. Dupont est venu.", "« Bonjour ! » dit-il.", "Il pleut, cf. p. 4."]),
        ("de", ["Das ist z. B. gut.", "Am 3. Oktober kam Dr. Müller.", "Gut."]),
        ("ru", ["Он жил в г. Москве, т. е. далеко.", "Потом уехал."]),
        ("pt-BR", ["Ele veio.", "O Sr. Silva saiu."]),
        ("qqq", ["No such language.", "It works."]),
        ("en", ["Please choose:", "☐ Yes", "☐ No", "☒ I agree with the terms."]),
        ("en", ["Yes ☐", "No ☐"]),
        ("en", ["[ ] Red", "[x] Blue", "[ ] Green"]),
        ("en", ["Tick the ☐ box.", "An array a[x] and b[x]."]),
    ],
)
def test_sentences_of_many_languages(language: str, sentences: list[str]) -> None:
    assert split(" ".join(sentences), language) == sentences


def test_an_opening_quote_belongs_to_the_next_chinese_sentence() -> None:
    sentences = ["他说围墙太低了。", "“我们不能再等了，”局长说。", "海水漫过围墙。"]
    assert split("".join(sentences), "zh") == sentences


def test_surrogates_are_accepted() -> None:
    assert split("One \ud800. Two.") == ["One \ud800.", "Two."]


def test_chinese_needs_no_spaces() -> None:
    assert split("他来了。她走了！真的吗？", "zh") == ["他来了。", "她走了！", "真的吗？"]


@given(
    st.lists(
        st.text(max_size=5) | st.sampled_from(["J. ", "Dr. ", "\u00a0", "e.g. ", "“", '"', "? ", "。", "\n\n"])
    ).map("".join)
)
def test_spans_cover_everything_but_white_space(text: str) -> None:
    for language in ("en", "fr", "zh"):
        spans = split_sentences(text, language)
        assert all(a < b for a, b in spans)
        assert all(b <= c for (_, b), (c, _) in pairwise(spans))
        assert all(text[a:b] == text[a:b].strip() for a, b in spans)
        outside = [text[b:c] for (_, b), (c, _) in zip([(0, 0), *spans], [*spans, (len(text), 0)], strict=True)]
        assert not "".join(outside).strip()


@pytest.mark.parametrize("unit", ["word ", "Word. ", "“A. ", "a.", '"', "(", "\n", "‹!", "<![CDATA[", "`a"])
def test_the_library_sees_short_pieces_only(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of sentencex is quadratic for some texts, so that the length of its inputs bounds the total time."""
    lengths: list[int] = []
    segment = sentencex.segment

    def record(language: str, text: str) -> list[str]:
        lengths.append(len(text))
        return list(segment(language, text))

    monkeypatch.setattr("sentencex.segment", record)
    text = unit * 20_000
    assert "".join("".join(split(text)).split()) == "".join(text.split())
    assert max(lengths) <= 4000
    assert sum(lengths) <= 3 * len(text)


@pytest.mark.parametrize("sentences", EXAMPLES, ids=lambda sentences: sentences[0][:40])
def test_novels_reports_and_notes(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences


def test_sentences_longer_than_a_window_stay_whole() -> None:
    sentences = ["One " + "very " * 3000 + "long one.", "Another one."]
    assert split(" ".join(sentences)) == sentences


@needs_data
@pytest.mark.parametrize(("treebank", "bar"), [("en_ewt-dev", 88.5), ("en_ewt-test", 86.0), ("en_ontogum-dev", 97.0)])
def test_boundaries_of_treebanks(treebank: str, bar: float) -> None:
    gold = list(paragraphs(Path(SHARED) / "ud" / f"{treebank}.conllu.xz"))
    assert measure(docgraph_splitter("en"), gold)[2] >= bar
