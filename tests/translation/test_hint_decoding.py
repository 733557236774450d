"""Decoding with hints that say translations of other sentences."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from docgraph.model.batch import DocumentExample
from docgraph.model.config import HintsConfig, ModelConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import Hint, Referent
from docgraph.translation.document_decoding import Mode, decode_documents, given_hypotheses
from docgraph.translation.hypotheses import SearchConfig
from model.examples import EOS, VOCABULARY

TOKENIZER: Any = SimpleNamespace(
    target=SimpleNamespace(
        pieces=lambda ids: [f"\u2581{i}" for i in ids],
        words=lambda sentences: [np.arange(len(ids)) for ids in sentences],
    )
)
SEARCH = SearchConfig(beams=2, min_length=3)


def model(hints: bool = True, seed: int = 0) -> DocumentTransformer:
    torch.manual_seed(seed)
    transformer = TransformerConfig(
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        dimension=32,
        feed_forward=64,
        heads=2,
        encoder_layers=2,
        decoder_layers=2,
        dropout=0.0,
        norm="pre",
    )
    return DocumentTransformer(ModelConfig(transformer, hints=HintsConfig() if hints else None)).eval()


def documents(seed: int = 1) -> list[DocumentExample]:
    """Two documents with hints at random words: some printed, most about the translation of an earlier sentence."""
    rng = np.random.default_rng(seed)
    made = []
    for size in (9, 4):
        source = [np.append(rng.integers(4, VOCABULARY, rng.integers(2, 6)), EOS) for _ in range(size)]
        hints = [Hint(1, 1, (7, 8))]
        for m in range(2, size):
            earlier = int(rng.integers(0, m))
            if rng.random() < 0.7:
                hints.append(Hint(m, 1, relation="coreference", referent=Referent(earlier, (0,), ())))
        made.append(DocumentExample(source, hints=hints))
    return made


def translate(system: DocumentTransformer, mode: Mode = "parallel", **options: Any) -> list[list[tuple[int, ...]]]:
    decoded = decode_documents(system, TOKENIZER, documents(), SEARCH, mode, **options)
    return [[best.tokens for best, *_ in document.sentences] for document in decoded]


def test_parallel_is_sequential() -> None:
    assert translate(model()) == translate(model(), "sequential")


def test_hints_change_translations_and_base_ignores_them() -> None:
    with_hints, without = translate(model()), translate(model(hints=False))
    assert with_hints[0][0] == without[0][0]
    assert with_hints != without


def test_filled_hints_are_reported_with_words_of_the_referents_translation() -> None:
    decoded = decode_documents(model(), TOKENIZER, documents(), SEARCH)
    filled = [
        (document, hint)
        for document in decoded
        for hints in document.hints.values()
        for hint in hints
        if hint.referent is not None and hint.ids
    ]
    assert filled
    for document, hint in filled:
        assert hint.referent is not None
        assert {*hint.ids} <= {*document.sentences[hint.referent.sentence][0].tokens}


def test_a_known_translation_is_what_the_hint_says() -> None:
    source = documents()[0].source
    everything = Referent(0, tuple(range(len(source[0]) - 1)), ())
    document = DocumentExample(source, hints=[Hint(2, 1, relation="coreference", referent=everything)])
    [decoded] = decode_documents(model(), TOKENIZER, [document], SEARCH, known=[{0: given_hypotheses([20, 21, 22])}])
    [hint] = decoded.hints[2]
    assert hint.ids
    assert {*hint.ids} <= {20, 21, 22}


@pytest.mark.parametrize("tokens", [8, 64])
def test_windows_do_not_change_the_result(tokens: int) -> None:
    assert translate(model(), tokens=tokens) == translate(model())
