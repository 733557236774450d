"""Less context, shorter documents and noisier trees, on random models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from experiment_examples import Words, random_documents
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotation import Annotation
from docgraph.errors import DocgraphError
from docgraph.graph import build_graph
from docgraph.model.batch import collate
from docgraph.model.config import ConcatenationConfig, LinkedConfig, ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import prepare
from docgraph.research import context_ablations
from docgraph.research.analysis_inputs import Documents
from docgraph.research.context_ablations import attachment_score, decode_within, reattach
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.decoding.search import search
from model.examples import BOS, EOS, SYSTEMS, random_annotation, sentence_sizes, small_config, small_model

DOCUMENTS = random_documents(5, [3, 2, 5, 1, 4, 3], [4, 2], [2, 6, 3])
SMALL = random_documents(3, [3, 2, 5, 1, 4], [4], [2, 6, 3])
BEAM = SearchConfig(beams=2, min_length=3, max_length_factor=1.0, max_length_constant=3)
GREEDY = SearchConfig(beams=1, min_length=3, max_length_factor=1.0, max_length_constant=3)
LONGER = SearchConfig(beams=1, min_length=3)
LINKED = {"encoder": "linked", "integration": "hyb"}
POINTER = {"encoder": "pointer", "integration": "post", "sides": "target", "linked": LinkedConfig(own_weight=0.0)}


def system(**fields: Any) -> dict[str, Any]:
    return {"graph": small_model(small_config(**fields), open_gates=True)}


def quiet(line: str) -> None:
    pass


@pytest.mark.parametrize(("sentences", "size", "lengths"), [(10, 4, [3, 4, 3]), (4, 4, [4]), (3, 1, [1, 1, 1])])
def test_pieces_are_few_and_even(sentences: int, size: int, lengths: list[int]) -> None:
    found = context_ablations.even_parts(sentences, size)
    assert sorted(map(len, found)) == sorted(lengths)
    assert [m for piece in found for m in piece] == list(range(sentences))


def test_the_usual_case_has_no_interval_and_no_changed_sentence() -> None:
    part = context_ablations.context_size(system(), DOCUMENTS, GREEDY, (0, 9), quiet)
    assert part.labels == ("0", "9", "all")
    assert part.counts["graph"][0] > 0
    assert part.counts["graph"][1:] == [0, 0]
    value = part.values["graph"][2]
    assert value is not None
    assert part.intervals["graph"][2] == (value, value)
    assert part.values["graph"][1] == value


def test_documents_of_one_sentence_are_sentences_without_context() -> None:
    sizes = context_ablations.document_size(system(), DOCUMENTS, GREEDY, (1, 99), quiet)
    reaches = context_ablations.context_size(system(), DOCUMENTS, GREEDY, (0,), quiet)
    assert sizes.values["graph"][0] == reaches.values["graph"][0]
    assert sizes.values["graph"][1] == sizes.values["graph"][2]


def test_noise_in_trees_reaches_a_system_that_reads_them_and_no_other() -> None:
    systems = {
        **system(graph={"relations": ("dependency",)}),
        "lexical": small_model(small_config(graph={"relations": ("lexical",)}), open_gates=True),
    }
    part = context_ablations.dependency_noise(systems, DOCUMENTS, GREEDY, (0.9,), 2, quiet)
    assert part.labels[0] == "0%\n(UAS 100.0)"
    assert part.labels[1].startswith("90%\n(UAS ")
    assert part.counts["graph"][1] > 0
    assert part.counts["lexical"] == [0, 0]


@pytest.mark.parametrize("integration", ["hyb", "post", "pre"])
def test_noise_in_trees_reaches_every_integration(integration: str) -> None:
    graph = system(integration=integration, graph={"relations": ("dependency",)})
    part = context_ablations.dependency_noise(graph, SMALL, GREEDY, (0.9,), 1, quiet)
    assert part.labels[1].startswith("90%\n(UAS ")
    noisy = SMALL.with_annotations(lambda one: reattach(one, 0.9, seed=1))
    first, second = (first_logits(graph["graph"], documents) for documents in (SMALL, noisy))
    assert not torch.equal(first, second)


@torch.no_grad()
def first_logits(model: DocumentTransformer, documents: Documents) -> torch.Tensor:
    """The logits of the references of the first document."""
    document = documents.documents[0]
    return model.logits(collate([document.part(range(len(document)), model.config)], BOS))


def test_curves_of_han_and_selective() -> None:
    """HAN reads the sentences just before; Selective reads the whole document."""
    systems = {name: reading_model(**SYSTEMS[name]) for name in ("han", "selective")}
    reach = context_ablations.context_size(systems, DOCUMENTS, LONGER, (0, 1, 3), quiet)
    assert systems["han"].config.context is not None
    assert systems["han"].config.context.previous == 3
    assert reach.counts["han"][-2:] == [0, 0]
    assert reach.counts["han"][0] > 0
    assert reach.counts["selective"][0] > 0
    sizes = context_ablations.document_size(systems, DOCUMENTS, LONGER, (1, 2), quiet)
    assert {name: values[0] for name, values in sizes.values.items()} == {
        name: values[0] for name, values in reach.values.items()
    }


def test_noise_without_trees_is_refused() -> None:
    bare = DOCUMENTS.with_annotations(lambda one: replace(one, heads=None))
    with pytest.raises(DocgraphError, match="no syntactic trees"):
        context_ablations.dependency_noise(system(), bare, GREEDY, (0.1,), 1, quiet)


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
    return documents.detokenize(decode_within(model, documents, reach, config))


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
            [[best, *_]] = search(model, batch, model.encode(batch, memories), memories, BEAM)
            found.append(best.tokens)
        texts.append([Words.target.decode(tokens) for tokens in found])
    return texts


@pytest.mark.parametrize("reach", [0, 1, 3])
@pytest.mark.parametrize("system", [*SYSTEMS, "linked"])
def test_parallel_decoding_equals_sequential_decoding_with_less_context(system: str, reach: int) -> None:
    model = reading_model(**(LINKED if system == "linked" else SYSTEMS[system]))
    assert translate_within(model, SMALL, reach, BEAM) == in_order(model, SMALL, reach)


@pytest.mark.parametrize("system", [*SYSTEMS, "linked"])
def test_unlimited_reach_equals_the_whole_document(system: str) -> None:
    model = reading_model(**(LINKED if system == "linked" else SYSTEMS[system]))
    whole = SMALL.translate(model, LONGER)
    assert translate_within(model, SMALL, 5, LONGER) == whole
    assert translate_within(model, SMALL, 0, LONGER) != whole


@pytest.mark.parametrize("system", ["docgraph", "linked", "pointer"])
def test_unlimited_reach_with_known_translations_equals_the_whole_document(system: str) -> None:
    fields = {"linked": LINKED, "pointer": POINTER}.get(system) or SYSTEMS[system]
    model = small_model(small_config(**fields), 1) if system == "pointer" else reading_model(**fields)
    whole = SMALL.translate(model, LONGER, known=True)
    assert SMALL.detokenize(decode_within(model, SMALL, 5, LONGER, known=True)) == whole
    assert SMALL.detokenize(decode_within(model, SMALL, 0, LONGER, known=True)) != whole


@pytest.mark.parametrize("system", ["docgraph", "han"])
def test_a_guess_does_not_change_the_result(system: str) -> None:
    model = reading_model(**SYSTEMS[system])
    wanted = decode_within(model, SMALL, 2, BEAM)
    assert decode_within(model, SMALL, 2, BEAM, decode_within(model, SMALL, 0, BEAM)) == wanted
    assert decode_within(model, SMALL, 2, BEAM, dict.fromkeys(wanted, (7, 9))) == wanted


def test_concatenation_uses_only_the_visible_sentences() -> None:
    base = small_config(context=False)
    model = small_model(ModelConfig(base.transformer, concatenation=ConcatenationConfig(source=3)))
    whole = SMALL.translate(model, LONGER)
    assert translate_within(model, SMALL, 2, LONGER) == whole
    assert translate_within(model, SMALL, 0, LONGER) != whole


def test_base_has_no_context_to_lose() -> None:
    model = small_model(small_config(context=False))
    assert translate_within(model, SMALL, 0, LONGER) == SMALL.translate(model, LONGER)


def is_forest(annotation: Annotation) -> bool:
    """Whether every word reaches a root of its own sentence."""
    assert annotation.heads is not None
    reached = np.arange(annotation.num_words)
    for _ in range(annotation.num_words):
        reached = annotation.heads[reached]
    sentences = annotation.sentence_of
    return bool((annotation.heads[reached] == reached).all() and (sentences[reached] == sentences).all())


@given(sentence_sizes, st.integers(0, 99), st.floats(0, 1))
def test_trees_stay_trees_with_the_same_roots(sizes: list[int], seed: int, rate: float) -> None:
    gold = random_annotation(np.random.default_rng(seed), sizes)
    noisy = reattach(gold, rate, seed)
    assert gold.heads is not None
    assert noisy.heads is not None
    assert is_forest(noisy)
    words = np.arange(gold.num_words)
    assert ((gold.heads == words) == (noisy.heads == words)).all()
    assert (reattach(gold, rate, seed).heads == noisy.heads).all()
    assert (reattach(gold, 0.0, seed).heads == gold.heads).all()


def test_the_attachment_score_falls_by_the_noise_rate() -> None:
    gold = random_annotation(np.random.default_rng(0), [25] * 80)
    scores = [attachment_score(gold, reattach(gold, rate)) for rate in (0.0, 0.1, 0.5)]
    assert scores[0] == 1.0
    assert abs(scores[1] - 0.9) < 0.03
    assert abs(scores[2] - 0.5) < 0.05


@given(sentence_sizes, st.integers(0, 99), st.data())
def test_the_graph_of_a_part_is_that_part_of_the_graph(sizes: list[int], seed: int, data: st.DataObject) -> None:
    whole = random_annotation(np.random.default_rng(seed), sizes)
    begin = data.draw(st.integers(0, len(sizes)))
    end = data.draw(st.integers(begin, len(sizes)))
    part = whole.part(range(begin, end))
    first, last = int(whole.offsets[begin]), int(whole.offsets[end])
    assert part.forms.to_list() == whole.forms.to_list()[first:last]
    for relation in ("adjacency", "dependency", "lexical", "coreference"):
        edges = build_graph(whole, relation).edges(relation)
        inside = (edges.source >= first) & (edges.source < last) & (edges.target >= first) & (edges.target < last)
        wanted = {
            (a - first, b - first)
            for a, b in zip(edges.source[inside].tolist(), edges.target[inside].tolist(), strict=True)
        }
        found = build_graph(part, relation).edges(relation)
        assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == wanted
