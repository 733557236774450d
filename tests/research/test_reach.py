"""Less context: the rest of the document is absent, not hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from experiment_examples import Words, random_documents

from docgraph.model.batch import collate
from docgraph.model.config import ConcatenationConfig, LinkedConfig, ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import prepare
from docgraph.research.documents import Documents
from docgraph.research.reach import decode_within
from docgraph.translation.hypotheses import SearchConfig
from docgraph.translation.search import search
from model.examples import BOS, EOS, SYSTEMS, small_config, small_model

DOCUMENTS = random_documents(3, [3, 2, 5, 1, 4], [4], [2, 6, 3])
SEARCH = SearchConfig(beams=2, min_length=3, max_length_factor=1.0, max_length_constant=3)
LONGER = SearchConfig(beams=1, min_length=3)
LINKED = {"encoder": "linked", "integration": "hyb"}
POINTER = {"encoder": "pointer", "integration": "post", "sides": "target", "linked": LinkedConfig(own_weight=0.0)}


def reading_model(**fields: Any) -> DocumentTransformer:
    """A small random model that listens to its context."""
    model = small_model(small_config(transformer={"output_bias": True}, **fields), 1, open_gates=True)
    with torch.no_grad():
        assert model.embeddings.output_bias is not None
        model.embeddings.output_bias[EOS] = 1.0
        for site in model.integration.decoder:  # type: ignore[union-attr]
            site.last.weight.mul_(4.0)
    return model


def translate_within(
    model: DocumentTransformer, documents: Documents, reach: int, config: SearchConfig
) -> list[list[str]]:
    return documents.spell(decode_within(model, documents, reach, config))


@torch.inference_mode()
def in_order(model: DocumentTransformer, documents: Documents, reach: int) -> list[list[str]]:
    """The definition: one sentence after another, each in a document of its own with the translations before it."""
    texts = []
    for document in documents.documents:
        found: list[tuple[int, ...]] = []
        for m in range(len(document)):
            left = range(max(0, m - reach), min(len(document), m + reach + 1))
            targets = [np.array([*(found[n] if n < m else ()), EOS]) for n in left]
            words = [np.append(np.arange(len(target) - 1), -1) for target in targets]
            here = range(m - left.start, m - left.start + 1)
            example = replace(document.part(left, model.config), target=targets, target_words=words, window=here)
            batch = collate([prepare(example, model.config)], BOS)
            memories = model.memories(batch)
            [[best, *_]] = search(model, batch, model.encode(batch, memories), memories, SEARCH)
            found.append(best.tokens)
        texts.append([Words.target.decode(tokens) for tokens in found])
    return texts


@pytest.mark.parametrize("reach", [0, 1, 3])
@pytest.mark.parametrize("system", [*SYSTEMS, "linked"])
def test_all_at_once_is_one_after_another(system: str, reach: int) -> None:
    model = reading_model(**(LINKED if system == "linked" else SYSTEMS[system]))
    assert translate_within(model, DOCUMENTS, reach, SEARCH) == in_order(model, DOCUMENTS, reach)


@pytest.mark.parametrize("system", [*SYSTEMS, "linked"])
def test_all_sentences_are_the_whole_document_and_fewer_are_not(system: str) -> None:
    model = reading_model(**(LINKED if system == "linked" else SYSTEMS[system]))
    whole = DOCUMENTS.translate(model, LONGER)
    assert translate_within(model, DOCUMENTS, 5, LONGER) == whole
    assert translate_within(model, DOCUMENTS, 0, LONGER) != whole


@pytest.mark.parametrize("system", ["docgraph", "linked", "pointer"])
def test_known_translations_of_all_sentences_are_those_of_the_whole_document(system: str) -> None:
    fields = {"linked": LINKED, "pointer": POINTER}.get(system) or SYSTEMS[system]
    model = small_model(small_config(**fields), 1) if system == "pointer" else reading_model(**fields)
    whole = DOCUMENTS.translate(model, LONGER, known=True)
    assert DOCUMENTS.spell(decode_within(model, DOCUMENTS, 5, LONGER, known=True)) == whole
    assert DOCUMENTS.spell(decode_within(model, DOCUMENTS, 0, LONGER, known=True)) != whole


@pytest.mark.parametrize("system", ["docgraph", "han"])
def test_a_guess_changes_nothing(system: str) -> None:
    model = reading_model(**SYSTEMS[system])
    wanted = decode_within(model, DOCUMENTS, 2, SEARCH)
    assert decode_within(model, DOCUMENTS, 2, SEARCH, decode_within(model, DOCUMENTS, 0, SEARCH)) == wanted
    assert decode_within(model, DOCUMENTS, 2, SEARCH, dict.fromkeys(wanted, (7, 9))) == wanted


def test_concatenated_sentences_come_from_what_is_left() -> None:
    base = small_config(context=False)
    model = small_model(ModelConfig(base.transformer, concatenation=ConcatenationConfig(source=3)))
    whole = DOCUMENTS.translate(model, LONGER)
    assert translate_within(model, DOCUMENTS, 2, LONGER) == whole
    assert translate_within(model, DOCUMENTS, 0, LONGER) != whole


def test_base_has_no_context_to_lose() -> None:
    model = small_model(small_config(context=False))
    assert translate_within(model, DOCUMENTS, 0, LONGER) == DOCUMENTS.translate(model, LONGER)
