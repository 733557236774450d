"""Preprocessing: segments, normalised text for the embedded model, and model input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotate.registry import load_pipeline
from docgraph.corpus.config import DataConfig, DataEntry, LanguagesConfig, PrepareConfig, SubwordsConfig
from docgraph.corpus.prepare import prepare
from docgraph.corpus.store import PreparedCorpus
from docgraph.document import Document
from docgraph.model.config import ContextConfig, ModelConfig, TransformerConfig
from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import SubwordCoder, Tokenizer
from docgraph.translation.postprocessing import Postprocessor
from docgraph.translation.preprocessing import (
    Preprocessor,
    Segment,
    Segments,
    cut,
    example_from_text,
    is_all_caps,
    is_translatable,
    split_items,
    split_line,
)
from docgraph.translation.protected_text import TextProtector
from model.subword_examples import processor


@cache
def embedded() -> Tokenizer:
    folder = find_model("en-fr")
    return Tokenizer.load(folder, ModelFolder(folder).config.transformer)


def english_to_french(**options: Any) -> Preprocessor:
    return Preprocessor(embedded().source, ("en", "fr"), 100, **options)


@pytest.fixture(scope="module")
def preprocessor() -> Preprocessor:
    return english_to_french()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SAFETY INSTRUCTIONS", "Safety instructions"),
        ("CHAPTER 12", "Chapter 12"),
        ("UNICEF", "UNICEF"),
        ("DO NOT USE HTML ON NATO SERVERS.", "Do not use HTML on NATO servers."),
        ("The screen is 7′ 2″ wide.", "The screen is 7' 2\" wide."),
        ("IT IS A TEST OF THE US.", "It is a test of the US."),
        ("NEVER touch it. You MUST NOT go, says the WHO.", "Never touch it. You must not go, says the WHO."),
        ("Analysts expected $117.9bn and £3m.", "Analysts expected $117.9 billion and £3 million."),
        ("Open Mon–Fri, on Sat from 10 a.m.", "Open Monday to Friday, on Sat from 10:00."),
        ("The doors open at 6 p.m. and close at 11:45 PM.", "The doors open at 18:00 and close at 23:45."),
        ("Prices in the U.K. and the U.S., too, rose.", "Prices in the UK and the US, too, rose."),
        ("Go (e.g. at 10:30 p.m.).", "Go (e.g. at 22:30)."),
        ("Updated: January 5, 2024.", "Updated: 5 January 2024."),
        ("On Tuesday, March 19th, or by May 7, 2024, we meet.", "On Tuesday, 19 March, or by 7 May 2024, we meet."),
        ("On April 29 and May 6, may 5 come.", "On 29 April and 6 May, may 5 come."),
        ("It is 12 am. It was 12:30 p.m.", "It is 0:00. It was 12:30."),
        ("It was over--Mr. Hill left,--and so on.", "It was over—Mr. Hill left,—and so on."),
        ("2.1 Installing it", "Installing it"),
        ("(a) Check the oil.", "Check the oil."),
    ],
)
def test_text_is_normalised_to_characters_that_the_model_knows(
    preprocessor: Preprocessor, text: str, shown: str
) -> None:
    assert preprocessor.normalize(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "NATO",
        "HTML DOM",
        "Choose Tools - Protect Sheet.",
        "European Parliament",
        "He met Mary Byrne at Mount Etna.",
        "I am 12.",
        "From March 19-21 and in July 2024, May 12 of them?",
        "He left the U.K.",
        "A. B. Smith has a B.Sc. of e.g. York.",
        "The ECOFIN Council has met.",
        "The functions AND, OR and NOT of the US are here.",
    ],
)
def test_names_and_prose_are_not_changed(preprocessor: Preprocessor, text: str) -> None:
    assert preprocessor.normalize(text) == text


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


def test_known_characters_and_other_languages_are_not_changed() -> None:
    other = Preprocessor(embedded().source, None, 100)
    assert Postprocessor(other, None).finish("Why?", "Pourquoi?") == "Pourquoi?"
    assert other.normalize("« café » at 6 p.m.") == "« café » at 6 p.m."


def test_a_heading_is_all_caps_and_an_abbreviation_is_not() -> None:
    assert all(map(is_all_caps, ["INVOICE NO. 12", "INVOICE", "CHAPTER 1"]))
    assert not any(map(is_all_caps, ["UNICEF", "JSON", "CSS DOM", "A B C", "Invoice NUMBER TWELVE", "42", ""]))


@given(
    st.lists(st.sampled_from(["A.B.", "6 p.m.", "“", '"', "12,000", "$1.50", " ", "NO WAY", "no", "?", ":", "«", "é"]))
)
def test_rules_keep_text_and_never_fail(parts: list[str]) -> None:
    preprocessor = english_to_french()
    text = "".join(parts)
    assert bool(preprocessor.normalize(text).strip()) == bool(text.strip())
    assert bool(Postprocessor(preprocessor, ("en", "fr")).finish(text, text).strip()) == bool(text.strip())


@pytest.mark.parametrize(
    ("text", "shown", "said", "finished"),
    [
        ("The harbour report 🚢", "The harbour report", "Le rapport", "Le rapport 🚢"),
        ("✅ Well done 🎉!", "Well done!", "Bravo !", "✅ Bravo 🎉\u202f!"),
        ("👩‍💻 works ❤️ here.", "works here.", "travaille ici.", "👩‍💻 travaille ❤️ ici."),
        ("1️⃣ First step", "First step", "Première étape", "1️⃣ Première étape"),
        ("• First item", "First item", "Premier point", "• Premier point"),
        ("مرحبا بالعالم. This is peace (שלום) now.", "This is peace now.", "C'est la paix maintenant.",
         "مرحبا بالعالم. C'est la paix (שלום) maintenant."),
        ("Hello, 東京, old friend", "Hello, old friend", "Bonjour, vieil ami", "Bonjour, 東京, vieil ami"),
        ("Choose File → Open.", "Choose File → Open.", "Choisissez Fichier → Ouvrir.", "Choisissez Fichier → Ouvrir."),
        ("Łukasz saw α-rays at 20 °C.", "Łukasz saw α-rays at 20 °C.", "Łukasz vit.", "Łukasz vit."),
        ("co\u00adoperation at −5", "cooperation at -5", "coopération à -5", "coopération à -5"),
        ("The key (" + 9 * "aGVsbG8gd" + ") is old.", "The key is old.", "La clé est usée.",
         "La clé (" + 9 * "aGVsbG8gd" + ") est usée."),
        ("שלום עולם!", "", "", ""),
    ],
)  # fmt: skip
def test_unreadable_text_is_removed_and_put_back(
    preprocessor: Preprocessor, text: str, shown: str, said: str, finished: str
) -> None:
    assert preprocessor.normalize(text) == shown
    assert Postprocessor(preprocessor, ("en", "fr")).finish(text, said) == finished


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


def test_items_of_a_line_are_translated_separately() -> None:
    assert split_items("Website • About us • Contact") == ["Website • ", "About us • ", "Contact"]
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


def test_letters_are_readable_if_a_longer_piece_has_them() -> None:
    table = {"</s>": 2, "<unk>": 3, "▁港口": 4, "旧": 5}
    config = TransformerConfig(source_vocabulary=8, target_vocabulary=8)
    coder = SubwordCoder(processor(["港口 港口 旧港口"], 12), table, config)
    protector = TextProtector(coder)
    assert protector.is_unknown("港")
    assert protector.remove("港口") == ("港口", [])
    assert protector.remove("港")[0] == ""


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


@pytest.mark.parametrize("text", ["été", "北京", "№ five", "see www.example.org", "x"])
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


SOURCE = ["The house is old.", "A man owns the house.", "He likes old houses."]
TARGET = ["La maison est vieille.", "Un homme a la maison.", "Il aime les vieilles maisons."]


@pytest.fixture
def corpus(tmp_path: Path) -> PreparedCorpus:
    (tmp_path / "a.en").write_text("\n".join(SOURCE))
    (tmp_path / "a.fr").write_text("\n".join(TARGET))
    entry = DataEntry(str(tmp_path / "a.en"), str(tmp_path / "a.fr"))
    config = PrepareConfig(
        DataConfig(train=(entry,)),
        LanguagesConfig("en", "fr"),
        SubwordsConfig(size=300),
        "words:en",
        out=str(tmp_path / "out"),
    )
    prepare(config, cache=tmp_path / "cache")
    return PreparedCorpus.open(config.out)


def test_model_input_from_text_equals_that_of_the_store(corpus: PreparedCorpus) -> None:
    annotation = load_pipeline("words:en")(Document.from_sentences(SOURCE))
    ours, theirs = example_from_text(SOURCE, corpus.tokenizer, annotation, ["all"], TARGET), corpus.example(0)
    for name in ("source", "target", "source_words", "target_words"):
        for mine, stored in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_array_equal(mine, stored)
    assert ours.graph is not None
    assert theirs.graph is not None
    mine, stored = ours.graph.union(), theirs.graph.union()
    np.testing.assert_array_equal(np.stack([mine.source, mine.target]), np.stack([stored.source, stored.target]))
    assert ours.window is None


def test_without_annotation_there_is_no_graph(corpus: PreparedCorpus) -> None:
    example = example_from_text(SOURCE, corpus.tokenizer)
    assert (example.graph, list(example.target), list(example.source_words)) == (None, [], [])
    for mine, stored in zip(example.source, corpus.example(0).source, strict=True):
        np.testing.assert_array_equal(mine, stored)


def test_relations_are_those_the_model_reads() -> None:
    assert context_needs(ModelConfig()).relations is None
    assert context_needs(ModelConfig(context=ContextConfig(sides="target"))).relations is None
    assert context_needs(ModelConfig(context=ContextConfig())).relations == ("all",)
