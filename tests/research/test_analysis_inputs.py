"""Documents of an analysis, translated with references as context."""

from __future__ import annotations

from dataclasses import replace

import torch
from experiment_examples import random_documents

from docgraph.model.config import LinkedConfig
from docgraph.translation.decoding.hypotheses import SearchConfig
from model.examples import context_layers, small_config, small_model

DOCUMENTS = random_documents(3, [3, 2, 5, 1, 4], [4], [2, 6, 3])
SEARCH = SearchConfig(beams=1, min_length=3)


def test_references_are_context_for_the_sentences_after_them_alone() -> None:
    model = small_model(small_config(), 1, open_gates=True)
    with torch.no_grad():
        for site in context_layers(model):
            site.last.weight.mul_(4.0)
    found, known = (DOCUMENTS.translate(model, SEARCH, known=known) for known in (False, True))
    assert [one[0] for one in known] == [one[0] for one in found], "nothing is before a first sentence"
    assert known != found
    cuts = [[range(m, m + 1) for m in range(len(document))] for document in DOCUMENTS.documents]
    assert DOCUMENTS.translate(model, SEARCH, cuts, known=True) == DOCUMENTS.translate(model, SEARCH, cuts)
    base = small_model(small_config(context=False))
    assert DOCUMENTS.translate(base, SEARCH, known=True) == DOCUMENTS.translate(base, SEARCH)


def test_no_sentence_reads_the_references_after_it() -> None:
    linked = LinkedConfig(words=5, sentences=2, length=3, own_weight=0.0)
    model = small_model(small_config(encoder="pointer", integration="post", sides="target", linked=linked), 1)
    torch.nn.init.constant_(model.integration.output[0].gate_outer.bias, 20.0)
    found, known = (DOCUMENTS.translate(model, SEARCH, known=known) for known in (False, True))
    assert known != found
    for m in range(5):
        others = [
            replace(one, target=[ids if n < m else ids[:1] + 1 for n, ids in enumerate(one.target)])
            for one in DOCUMENTS.documents
        ]
        changed = replace(DOCUMENTS, documents=others).translate(model, SEARCH, known=True)
        assert [one[: m + 1] for one in changed] == [one[: m + 1] for one in known]
