"""Forbidden words: whole words are forbidden, whatever their sub-words, and other words are not."""

from __future__ import annotations

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.decoding.constraints import ConstraintEncoder
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.forbidden_words import PENALTY, ForbiddenWords
from docgraph.translation.model_input import example_from_text
from docgraph.translation.terms.formality import forbidden_words, formality_of
from docgraph.translation.translator import Translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-fr", device="cpu")


@pytest.fixture(scope="module")
def coder(translator: Translator) -> SubwordCoder:
    return translator.tokenizer.target


def value_of(words: ForbiddenWords, coder: SubwordCoder, tokens: list[int]) -> float:
    """The change of the log-probability of a path by forbidden words: 0, or minus infinity."""
    total = 0.0
    for place, token in enumerate(tokens):
        row = torch.zeros(1, coder.size)
        words.apply(row, [tokens[:place]])
        total += float(row[0, token])
    return total


@pytest.fixture(scope="module")
def informal(coder: SubwordCoder) -> ForbiddenWords:
    return forbidden_words(coder, "informal")


@pytest.fixture(scope="module")
def formal(coder: SubwordCoder) -> ForbiddenWords:
    return forbidden_words(coder, "formal")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("Je te vois.", False),
        ("La terre est à nous.", True),
        ("Le teinturier a un tonneau et une tulipe.", True),
        ("Tu dors", False),
        ("Dors-tu", False),
        ("Il t'attend", False),
        ("Il t’attend", False),
        ("A-t-il un état ?", True),
        ("C'est à toi.", False),
        ("Le toit est haut.", True),
        ("C'est le tien.", False),
        ("Vous dormez.", True),
        ("Êtes-vous là ? Œtes.", True),
    ],
)
def test_informal_words(coder: SubwordCoder, informal: ForbiddenWords, text: str, allowed: bool) -> None:
    found = value_of(informal, coder, coder.ids([text])[0].tolist())
    assert found == (0 if allowed else -math.inf)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("Vous dormez.", False),
        ("Dormez bien", False),
        ("Êtes-", False),
        ("C'est le vôtre", False),
        ("Prenez rendez-vous", False),
        ("J'ai un rendez-vous chez lui, assez loin.", True),
        ("Tu dors.", True),
        ("La voûte et le votant.", True),
    ],
)
def test_formal_words(coder: SubwordCoder, formal: ForbiddenWords, text: str, allowed: bool) -> None:
    found = value_of(formal, coder, coder.ids([text])[0].tolist())
    assert found == (0 if allowed else -math.inf)


@pytest.fixture(scope="module")
def short(coder: SubwordCoder) -> ForbiddenWords:
    return ForbiddenWords(coder, ["te", "tu", "t'"])


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["te", "terre", "t", "e", " ", "-", "tu", "r", "'"]), max_size=8))
def test_a_path_is_forbidden_if_its_text_has_a_forbidden_word(
    coder: SubwordCoder, short: ForbiddenWords, parts: list[str]
) -> None:
    tokens = coder.ids(["".join(parts)])[0].tolist()
    text = coder.decode(tokens)
    has_word = re.search(r"\b(?:te|tu)\b|\bt'", text) is not None
    assert (value_of(short, coder, tokens) == -math.inf) == has_word


def test_a_short_word_is_made_less_likely_until_it_goes_on(coder: SubwordCoder, short: ForbiddenWords) -> None:
    [begin] = [token for token, piece in enumerate(coder.pieces(range(coder.size))) if piece == "▁te"]
    row = torch.zeros(1, coder.size)
    short.apply(row, [[]])
    assert row[0, begin] == -PENALTY


def test_a_search_finds_a_translation_without_the_words_and_with_a_required_phrase(translator: Translator) -> None:
    coder = translator.tokenizer.target
    sources = ["You forgot your coat.", "The harbour is closed.", "Are you tired?"]
    examples = [example_from_text([text], translator.tokenizer) for text in sources]
    free = translator.decode([DecoderInput(example) for example in examples], DecodingOptions())
    required = ConstraintEncoder(coder, "fr").constraint(["caban"])
    assert required is not None
    for formality in ("formal", "informal"):
        words = forbidden_words(coder, formality)
        wanted = [{0: [required, words]}, {0: [words]}, {0: [words]}]
        inputs = [DecoderInput(example, constraints=own) for example, own in zip(examples, wanted, strict=True)]
        found = decode_documents(translator.model, translator.tokenizer, inputs)
        texts = [coder.decode(each.sentences[0][0].tokens) for each in found]
        assert "caban" in texts[0]
        assert formality not in map(formality_of, texts)
        assert found[1].sentences[0][0].tokens == free[1].sentences[0][0].tokens
        best = found[1].sentences[0][0].log_probability
        assert best == pytest.approx(free[1].sentences[0][0].log_probability, abs=1e-4)
