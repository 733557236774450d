"""Documents of an experiment, translated."""

from __future__ import annotations

import torch
from experiment_examples import random_documents

from docgraph.translation.search import SearchConfig
from model.examples import sites, small_config, small_model

DOCUMENTS = random_documents(3, [3, 2, 5, 1, 4], [4], [2, 6, 3])
SEARCH = SearchConfig(beams=1, min_length=3)


def test_references_are_context_for_the_sentences_after_them_alone() -> None:
    model = small_model(small_config(), 1, open_gates=True)
    with torch.no_grad():
        for site in sites(model):
            site.last.weight.mul_(4.0)
    found, known = (DOCUMENTS.translate(model, SEARCH, known=known) for known in (False, True))
    assert [one[0] for one in known] == [one[0] for one in found], "nothing is before a first sentence"
    assert known != found
    cuts = [[range(m, m + 1) for m in range(len(document))] for document in DOCUMENTS.documents]
    assert DOCUMENTS.translate(model, SEARCH, cuts, known=True) == DOCUMENTS.translate(model, SEARCH, cuts)
    base = small_model(small_config(context=False))
    assert DOCUMENTS.translate(base, SEARCH, known=True) == DOCUMENTS.translate(base, SEARCH)
