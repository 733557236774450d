"""Word alignment by cross-attention."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from docgraph.formats import read
from docgraph.formats.markup_positions import token_spans
from docgraph.model.model_folder import find_model
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.decoding.word_alignment import SubwordAttention
from docgraph.translation.translator import Translator
from translation.translator_examples import model_folder

SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
The quick fox

2
00:00:02,000 --> 00:00:03,000
jumps.

3
00:00:09,000 --> 00:00:10,000
It told him that.
"""


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(find_model("en-fr"), threads=1)


def test_words_are_linked_with_the_words_that_they_translate(translator: Translator) -> None:
    source, target = "The black dog saw the white house yesterday.", "Hier, le chien noir a vu la maison blanche."
    [attention] = translator.subword_attention([source], [target])
    links = attention.links(source, target)
    assert list(links) == sorted(links, key=lambda link: link.target)
    spans = token_spans(target)
    expected = {"Hier,": "yesterday", "chien": "dog", "noir": "black", "maison": "house", "blanche.": "white"}
    for begin, end in spans:
        own = [link for link in links if begin <= link.target < end]
        assert sum(link.weight for link in own) <= 1.0001
        if (word := target[begin:end]) in expected:
            best = max(own, key=lambda link: link.weight)
            place = source.index(expected[word])
            assert place <= best.source < place + len(expected[word]), word


def test_an_alignment_does_not_depend_on_the_batch(translator: Translator) -> None:
    pairs = [("The door was open.", "La porte était ouverte."), ("Yes.", "Oui."), ("It rained all day.", "Il a plu.")]
    together = translator.subword_attention([source for source, _ in pairs], [target for _, target in pairs])
    for (source, target), attention in zip(pairs, together, strict=True):
        [alone] = translator.subword_attention([source], [target])
        one, other = attention.links(source, target), alone.links(source, target)
        assert [link[:2] for link in one] == [link[:2] for link in other]
        assert [link.weight for link in one] == pytest.approx([link.weight for link in other], abs=1e-3)


@pytest.mark.parametrize("context", [True, False])
def test_only_sentences_over_several_cues_are_aligned(tmp_path: Path, context: bool) -> None:
    translator = Translator.load(model_folder(tmp_path, **({} if context else {"context": False})), device="cpu")
    translator.repair = False
    [document] = read(io.StringIO(SUBTITLES), "srt")
    translation = translator.translate(document, SearchConfig(beams=1, max_length_constant=3))
    assert document.texts == ["The quick fox jumps.", "It told him that."]
    assert [alignment is None for alignment in translation.alignments] == [False, True]
    assert translation.document.source.count("-->") == 3


def test_a_sentence_that_is_too_long_is_aligned_as_far_as_the_model_reads(tmp_path: Path) -> None:
    translator = Translator.load(model_folder(tmp_path, context=False, max_positions=16), device="cpu")
    source = "The fox. " * 20
    [attention] = translator.subword_attention([source], ["x y"])
    assert all(link.source < 60 for link in attention.links(source, "x y"))


def test_only_sentences_with_markup_around_some_words_are_aligned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(model_folder(tmp_path, context=False), device="cpu")
    translator.repair = False
    aligned: list[str] = []
    own = translator.subword_attention

    def recorded(sources: Sequence[str], targets: Sequence[str]) -> list[SubwordAttention]:
        aligned.extend(sources)
        return own(sources, targets)

    monkeypatch.setattr(translator, "subword_attention", recorded)
    search = SearchConfig(beams=1, max_length_constant=3)
    [plain] = read(io.StringIO("The quick fox jumps.\n\nIt told him that.\n"), "markdown")
    [marked] = read(io.StringIO("The *quick* fox jumps.\n\nIt told him that.\n"), "markdown")
    without = translator.translate(plain, search)
    assert without.alignments == [None, None]
    assert aligned == []
    translation = translator.translate(marked, search, known=["Le renard rapide saute.", None])
    assert aligned == ["The quick fox jumps."]
    assert translation.texts[1] == without.texts[1]
    assert translation.document.source.replace("*", "").startswith("Le renard rapide saute.\n\n")


def test_emphasis_goes_to_the_words_that_translate_it(translator: Translator) -> None:
    [document] = read(io.StringIO("Open **Settings** and click **Save**.\n"), "markdown")
    known = ["Ouvrez Paramètres et cliquez sur Enregistrer."]
    written = translator.translate(document, known=known).document.source
    assert written == "Ouvrez **Paramètres** et cliquez sur **Enregistrer**.\n"
