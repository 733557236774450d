"""The parts of documents, the losses of their tokens, and attention by distance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from experiment_examples import Words, random_documents

from docgraph.annotation import Strings, from_spans
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.model.config import ConcatenationConfig, ModelConfig
from docgraph.research.analysis_inputs import Documents, SourceDocument
from docgraph.research.context_use import Layout, attention_distance, context_use, token_losses
from docgraph.translation.decoding.scoring import score_documents
from model.examples import EOS, SYSTEMS, context_layers, small_config, small_model

DOCUMENTS = random_documents(5, [3, 2, 5, 1, 4, 3], [4, 2], [2, 6, 3])
TEXTS = [["zebra runs", "a zebra sleeps", "rain falls"], ["rain runs", "rain sleeps"]]
TARGETS = [[[5, 6], [7, 5], [8]], [[6], [6, 9]]]


def by_hand() -> Documents:
    """Words in one document alone: zebra, a, falls; on the target side 5, 7, 8, 9."""
    found = []
    for texts, targets in zip(TEXTS, TARGETS, strict=True):
        words = [[(text.find(word), text.find(word) + len(word)) for word in text.split()] for text in texts]
        annotation = from_spans(words, Document.from_sentences(texts))
        ids = [np.array([*target, EOS]) for target in targets]
        owners = [np.array([*range(len(target)), -1]) for target in targets]
        reference = [Words.target.decode(target) for target in ids]
        found.append(SourceDocument(ids, owners, annotation, ids, owners, reference))
    return Documents(found, Words, "by hand")  # type: ignore[arg-type]


def quiet(line: str) -> None:
    pass


def test_parts_follow_links_and_rare_words() -> None:
    layout = Layout(by_hand())
    sentences = {label: mask.nonzero()[0].tolist() for label, mask in layout.sentence_parts.items()}
    assert sentences == {
        "all": [0, 1, 2, 3, 4],
        "linked": [1, 4],
        "not linked": [0, 2, 3],
        "rare word\nrepeated": [1],
        "no rare word\nrepeated": [0, 2, 3, 4],
    }
    # Sub-words, ends of sentences among them: 5 6 . 7 5 . 8 . 6 . 6 9 .
    tokens = {label: mask.nonzero()[0].tolist() for label, mask in layout.token_parts.items()}
    assert tokens["tokens of rare\nwords repeated"] == [4]
    assert len(tokens["other\ntokens"]) == 12


def test_names_and_coreference() -> None:
    documents = by_hand()
    [first, second] = documents.documents
    assert first.annotation is not None
    assert second.annotation is not None
    tags = Strings.of("PROPN" if form == "rain" else "NOUN" for form in second.annotation.forms.to_list())
    named = replace(second, annotation=replace(second.annotation, upos=tags))
    referring = replace(first, annotation=replace(first.annotation, coreference=np.array([[0, 6]], dtype=np.int32)))
    parts = Layout(replace(documents, documents=[referring, named])).sentence_parts
    assert parts["rare word\nrepeated"].tolist() == [False, True, False, False, True]
    assert parts["coreferent"].tolist() == [False, False, True, False, False]
    assert parts["linked"].tolist() == [False, True, True, False, True]


def test_documents_without_annotation_are_refused() -> None:
    bare = replace(DOCUMENTS, documents=[replace(one, annotation=None) for one in DOCUMENTS.documents])
    with pytest.raises(DocgraphError, match="not annotated"):
        context_use({"base": small_model(small_config(context=False))}, bare, {}, quiet)


@pytest.mark.parametrize("system", ["base", "joined", *SYSTEMS, "linked"])
def test_losses_are_those_of_forced_decoding(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docgraph.research.context_use.TOKENS", 25)
    fields: dict[str, Any] = {"base": {"context": False}, "linked": {"encoder": "linked"}}
    config = small_config(**(fields | SYSTEMS).get(system, {"context": False}))
    if system == "joined":
        config = ModelConfig(config.transformer, concatenation=ConcatenationConfig(source=2, target=2))
    model = small_model(config, open_gates=config.context is not None)
    own, wrong = token_losses(model, DOCUMENTS)
    whole = [document.part(range(len(document)), config) for document in DOCUMENTS.documents]
    wanted = [scores for document in score_documents(model, whole) for scores in document]
    assert torch.allclose(torch.tensor(own), -torch.tensor(np.concatenate(wanted)).double(), atol=1e-4)
    # Unified and concatenation read context along with the sentence: there are no memories to exchange.
    assert (wrong is None) == (system in ("base", "joined", "unified"))
    if wrong is not None:
        assert np.abs(own - wrong).max() > 1e-6
    assert token_losses(model, DOCUMENTS.first(1))[1] is None  # there is no other document


def test_systems_and_contexts_are_compared_part_by_part() -> None:
    systems = {
        "base": small_model(small_config(context=False), 1),
        "graph": small_model(small_config(), 2, open_gates=True),
    }
    reference = [text for document in DOCUMENTS.documents for text in document.reference]
    texts = {"base": reference, "graph": [text.replace("1", "2") for text in reference]}
    (losses, gains), (bleu, lost) = context_use(systems, DOCUMENTS, texts, quiet)
    assert list(losses.values) == ["base", "graph", "graph, wrong context"]
    assert list(gains.values) == ["graph − base", "graph, wrong − own"]
    own, wrong = token_losses(systems["graph"], DOCUMENTS)
    assert losses.values["graph"][0] == pytest.approx(own.mean())
    assert losses.counts["graph"][0] == len(own)
    assert wrong is not None
    assert gains.values["graph, wrong − own"][0] == pytest.approx(float(wrong.mean() - own.mean()), rel=1e-3)
    for value, ends in zip(gains.values["graph − base"], gains.intervals["graph − base"], strict=True):
        assert value is not None
        assert ends is None or ends[0] - 0.1 < value < ends[1] + 0.1
    assert bleu.values["base"][0] == pytest.approx(100)
    assert lost.values["graph − base"][0] == pytest.approx((bleu.values["graph"][0] or 0) - 100)
    assert set(bleu.labels) < set(losses.labels)
    assert lost.signature.startswith("bs:1000|seed:12345|over:documents|interval:difference|nrefs:1|case:mixed|")
    parts = dict(zip(losses.labels, losses.counts["base"], strict=True))
    assert parts["linked"] + parts["not linked"] == parts["all"]


def test_even_attention_has_relative_weight_one() -> None:
    systems = {"graph": small_model(small_config(sides="both"), open_gates=True)}
    for site in context_layers(systems["graph"]):
        torch.nn.init.zeros_(site.attention.query.weight)
        torch.nn.init.zeros_(site.attention.query.bias)
    part = attention_distance(systems, DOCUMENTS, quiet)
    assert list(part.values) == ["graph, source", "graph, target"]
    assert part.labels == tuple(
        [f"{span}\nbefore" for span in ("4–5", "3", "2", "1")] + [f"{span}\nafter" for span in ("1", "2", "3", "4–5")]
    )
    assert part.values["graph, source"] == pytest.approx([1.0] * 8)
    assert part.values["graph, target"][4:] == [None] * 4
    # Six, two and three sentences: as many ordered pairs, and half of them look back.
    assert sum(part.counts["graph, source"]) == 30 + 2 + 6
    assert sum(part.counts["graph, target"]) == (30 + 2 + 6) // 2


def test_attention_by_distance_is_not_even_in_general() -> None:
    part = attention_distance({"graph": small_model(small_config(sides="source"), open_gates=True)}, DOCUMENTS, quiet)
    assert list(part.values) == ["graph, source"]
    assert max(value or 0 for value in part.values["graph, source"]) > 1.0001


@pytest.mark.parametrize(
    "fields", [{"context": False}, SYSTEMS["unified"], {"encoder": "linked"}], ids=["base", "unified", "linked"]
)
def test_systems_that_do_not_attend_to_sentences_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(DocgraphError, match="'graph' has no attention over the sentences"):
        attention_distance({"graph": small_model(small_config(**fields))}, DOCUMENTS, quiet)
