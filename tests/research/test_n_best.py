"""The oracle over n-best translations, on random models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiment_examples import random_documents
from sacrebleu.metrics.bleu import BLEU

from docgraph.annotation import Annotation, Strings
from docgraph.errors import DocgraphError
from docgraph.research.analysis_inputs import Documents
from docgraph.research.n_best import (
    ALL,
    CHOICES,
    CONSISTENT,
    ELSEWHERE,
    LINKED,
    LINKED_AND_FUNCTION,
    OTHER,
    Aligned,
    SentenceContext,
    differs_in,
    is_more_consistent,
    linked_words,
    n_best,
)
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig
from model.examples import small_config, small_model

SEARCH = SearchConfig(beams=5, n_best=5, min_length=3, max_length_factor=1.0, max_length_constant=3)
DOCUMENTS = random_documents(5, [3, 2, 5, 1, 4, 3], [4, 2], [2, 6, 3])
MODEL = small_model(small_config(), open_gates=True)


def quiet(line: str) -> None:
    pass


def candidates(documents: Documents) -> list[list[list[str]]]:
    inputs = [DecoderInput(document.part(range(len(document)), MODEL.config)) for document in documents.documents]
    decode = documents.tokenizer.target.decode
    return [
        [[decode(hypothesis.tokens) for hypothesis in hypotheses] for hypotheses in document.sentences]
        for document in decode_documents(MODEL, documents.tokenizer, inputs, DecodingOptions(SEARCH))
    ]


def with_references(references: list[list[str]]) -> Documents:
    pairs = zip(DOCUMENTS.documents, references, strict=True)
    return replace(DOCUMENTS, documents=[replace(one, reference=texts) for one, texts in pairs])


def test_the_oracle_finds_the_reference_among_the_candidates() -> None:
    third = [[texts[2] for texts in document] for document in candidates(DOCUMENTS)]
    part = n_best({"graph": MODEL}, with_references(third), SEARCH, quiet)
    assert part.labels == ("beam 4", "beam 5", *CHOICES, CONSISTENT)
    values, counts = (
        dict(zip(part.labels, each, strict=True)) for each in (part.values["graph"], part.counts["graph"])
    )
    assert values[ALL] == pytest.approx(100)
    assert counts[ALL] == sum(map(len, third))
    assert counts["beam 5"] == 0
    assert counts[OTHER] + counts[LINKED_AND_FUNCTION] <= counts[ALL]
    assert counts[LINKED] <= counts[LINKED_AND_FUNCTION]


def test_the_oracle_is_the_best_candidate_of_each_sentence() -> None:
    part = n_best({"graph": MODEL}, DOCUMENTS, SEARCH, quiet)
    metric = BLEU(effective_order=True)
    references = [text for document in DOCUMENTS.documents for text in document.reference]
    texts = [texts for document in candidates(DOCUMENTS) for texts in document]
    best = [
        max(each, key=lambda text, reference=reference: metric.sentence_score(text, [reference]).score)  # type: ignore[misc]
        for each, reference in zip(texts, references, strict=True)
    ]
    assert part.values["graph"][part.labels.index(ALL)] == pytest.approx(BLEU().corpus_score(best, [references]).score)
    first = BLEU().corpus_score([each[0] for each in texts], [references]).score
    assert part.values["graph"][part.labels.index("beam 5")] == pytest.approx(first)


def test_one_translation_leaves_no_choice() -> None:
    part = n_best({"graph": MODEL}, DOCUMENTS, replace(SEARCH, beams=1, n_best=1), quiet)
    assert part.labels == ("beam 1", *CHOICES, CONSISTENT)
    assert set(part.counts["graph"]) == {0}
    assert len(set(part.values["graph"])) == 1


@pytest.mark.parametrize(
    ("words", "source", "choices"),
    [
        ("le port est petit", [0, 1, 2, 3], {ALL}),
        ("le bassin est petit", [0, 1, 2, 3], {ALL, LINKED, LINKED_AND_FUNCTION}),
        ("le Havre, est petit", [0, 1, 2, 3], {ALL, LINKED, LINKED_AND_FUNCTION, ELSEWHERE}),
        ("la baie est petit", [0, 1, 2, 3], {ALL, LINKED_AND_FUNCTION}),
        ("la port est petit", [0, 1, 2, 3], {ALL, OTHER}),
        ("le port est menu", [0, 1, 2, 3], {ALL, OTHER}),
        ("la baie est menue", [0, 1, 2, 3], {ALL}),
        ("le grand port est petit", [0, 1, 1, 2, 3], {ALL, LINKED, LINKED_AND_FUNCTION}),
        ("le grand port est petit", [0, 3, 1, 2, 3], {ALL, OTHER}),
        ("le grand port est petit", [0, -1, 1, 2, 3], {ALL}),
    ],
)
def test_candidates_are_told_apart_by_the_source_of_the_changed_words(
    words: str, source: list[int], choices: set[str]
) -> None:
    """The harbour is small: *harbour* is linked, *the* and *is* are function words; *havre* occurs elsewhere."""
    masks = np.array([False, True, False, False]), np.array([True, False, True, False])
    context = SentenceContext(*masks, frozenset({"havre", "menu"}))
    first = Aligned(["le", "port", "est", "petit"], np.arange(4))
    other = Aligned(words.split(), np.array(source))
    assert {choice for choice in CHOICES if differs_in(choice, first, other, context)} == choices


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("le Havre est petit", True),
        ("le bassin est petit", False),  # not elsewhere
        ("le port est menu", False),  # petit is elsewhere, too
        ("le Havre et le port est petit", False),  # nothing was replaced
        ("le port est petit", False),
    ],
)
def test_a_more_consistent_translation_replaces_words_that_occur_nowhere_else(other: str, expected: bool) -> None:
    elsewhere = frozenset({"havre", "menu", "petit", "et", "le"})
    assert is_more_consistent("le port est petit", other, elsewhere) == expected


def test_linked_words_have_a_partner_in_another_sentence() -> None:
    """Nothing links *twin twin*, which are in one sentence, nor function words."""
    sentences = ["the harbour twin twin", "it shines", "the harbour"]
    forms = [form for sentence in sentences for form in sentence.split()]
    offsets = np.array([0, 4, 6, 8], dtype=np.int32)
    zeros = np.zeros(len(forms), dtype=np.int32)
    upos = ["DET", "NOUN", "NOUN", "NOUN", "PRON", "VERB", "DET", "NOUN"]
    links = np.array([[1, 4]], dtype=np.int32)
    annotation = Annotation(offsets, zeros, zeros, Strings.of(forms), upos=Strings.of(upos), coreference=links)
    assert [form for form, is_linked in zip(forms, linked_words(annotation), strict=True) if is_linked] == [
        "harbour",
        "it",
        "harbour",
    ]


def test_documents_without_annotation_are_refused() -> None:
    bare = replace(DOCUMENTS, documents=[replace(one, annotation=None) for one in DOCUMENTS.documents])
    base = small_model(replace(MODEL.config, context=None))
    with pytest.raises(DocgraphError, match="not annotated"):
        n_best({"base": base}, bare, SEARCH, quiet)
