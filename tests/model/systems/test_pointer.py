"""The pointer over linked translations: loss, search and scoring use the same mixture of probabilities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn

from docgraph.errors import DocgraphError
from docgraph.graph.selection import select
from docgraph.model import output
from docgraph.model.batch import DocumentBatch, DocumentExample
from docgraph.model.checkpoint import load, save
from docgraph.model.config import LinkedConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Memories
from docgraph.model.output import MAX_SHARE, CopyDistribution, DecoderOutput, linear_cross_entropy
from docgraph.model.padding import capacity, fill_up
from docgraph.model.quantize import pack_for_cpu
from docgraph.model.systems.pointer import LOOK_UP, NEAR, SLOPE, Pointer
from docgraph.model.tokenizer import SPACE
from docgraph.training.validation import mean_gates
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import Known, SearchConfig, given_hypotheses
from docgraph.translation.decoding.scoring import score_documents
from docgraph.translation.explain import context_weights

from ..examples import EOS, assert_steps_as_forced, batch_of, documents, small_config, small_model

SIZES = LinkedConfig(words=5, sentences=2, length=3)
TOKENIZER: Any = SimpleNamespace(target=SimpleNamespace(pieces=lambda ids: [f"{SPACE}{i}" for i in ids]))


def selected(example: DocumentExample) -> DocumentExample:
    assert example.graph is not None
    return replace(example, selection=select(example.graph, SIZES.words, SIZES.sentences))


DOCUMENTS = [selected(example) for example in documents(5, [3, 4, 5, 2, 6], [4, 2, 3])]


def model_of(sides: str = "both", own_weight: float = 1.0, eager: float = 1.5) -> DocumentTransformer:
    """`eager` is added to the gate: states of a random model are not near each other."""
    linked = replace(SIZES, own_weight=own_weight)
    config = small_config(encoder="pointer", integration="post", sides=sides, linked=linked)
    model = small_model(config, open_gates=True)
    with torch.no_grad():
        pointer_of(model).gate_outer.bias += eager
        pointer_of(model).slope.fill_(2.0)
    return model


def pointer_of(model: DocumentTransformer) -> Pointer:
    [pointer] = model.integration.output
    assert isinstance(pointer, Pointer)
    return pointer


def decoded(model: DocumentTransformer, batch: DocumentBatch) -> tuple[DecoderOutput, CopyDistribution]:
    found = model.states(batch, model.memories(batch))
    assert found.copies is not None
    return found, found.copies


def mixture(model: DocumentTransformer, batch: DocumentBatch) -> Tensor:
    """[N, V]: the probabilities, written out."""
    found, copies = decoded(model, batch)
    base = model.embeddings.logits(found.hidden).softmax(-1) * (1 - copies.weights.sum(1, keepdim=True))
    for row, column in np.ndindex(*copies.tokens.shape):
        base[row, copies.tokens[row, column]] += copies.weights[row, column]
    return base


def test_the_mixture_by_hand() -> None:
    copies = CopyDistribution(torch.tensor([[2, 0, 2], [1, 1, 0]]), torch.tensor([[0.1, 0.3, 0.2], [0.0, 0.0, 0.0]]))
    logits = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]).log() + 7.0
    expected = torch.tensor([[0.4 * 0.5 + 0.3, 0.4 * 0.25, 0.4 * 0.25 + 0.3], [0.2, 0.2, 0.6]])
    torch.testing.assert_close(copies.mix_(logits.log_softmax(-1)).exp(), expected)
    assert torch.equal(copies.mix_(logits.log_softmax(-1))[1], logits.log_softmax(-1)[1])
    gold = torch.tensor([2, 2])
    own = logits.log_softmax(-1).gather(1, gold[:, None])[:, 0]
    torch.testing.assert_close(copies.log_probability_of(gold, own), expected[:, 2].log())
    assert copies.log_probability_of(gold, own)[1] == own[1]


def test_a_certain_pointer_leaves_the_softmax_something() -> None:
    copies = CopyDistribution(torch.tensor([[1]]), torch.tensor([[1.0]]))
    assert copies.share == MAX_SHARE
    assert copies.mix_(torch.zeros(1, 3).log_softmax(-1)).isfinite().all()


def test_it_starts_as_a_look_up_by_cosines() -> None:
    model, batch = small_model(model_of("target").config), batch_of(DOCUMENTS)
    _, copies = decoded(model, batch)
    assert batch.target is not None
    assert batch.gold is not None
    assert batch.linked is not None
    states = nn.functional.normalize(model.states(batch, Memories()).hidden, dim=1)
    bounds, ends = batch.target.sentences.boundaries.tolist(), batch.gold == EOS
    inner = ~ends & ~ends.roll(-1)
    for sentence, earlier in enumerate(batch.linked.sentences.tolist()):
        slots = [t for m in earlier if m >= 0 for t in range(bounds[m], min(bounds[m + 1], bounds[m] + SIZES.length))]
        for row in range(bounds[sentence], bounds[sentence + 1]):
            cosines = states[slots] @ states[row]
            weights = (LOOK_UP * cosines).softmax(0) * (SLOPE * (cosines.amax() - NEAR)).sigmoid() if slots else cosines
            seen = copies.weights[row] > 0
            proposed = inner[slots]
            torch.testing.assert_close(copies.weights[row, seen], weights[proposed])
            assert copies.tokens[row, seen].tolist() == batch.gold[slots][proposed].tolist()


@pytest.mark.parametrize("sides", ["target", "both"])
def test_probabilities_are_the_mixture_everywhere(sides: str) -> None:
    model, batch = model_of(sides), batch_of(DOCUMENTS)
    expected = mixture(model, batch)
    torch.testing.assert_close(expected.sum(1), torch.ones(len(expected)))
    torch.testing.assert_close(model.logits(batch).softmax(-1), expected)
    assert batch.gold is not None
    likely = expected.gather(1, batch.gold[:, None])[:, 0].log()
    torch.testing.assert_close(model(batch)[1], -likely.sum())
    scored = np.concatenate([s for document in score_documents(model, DOCUMENTS) for s in document])
    torch.testing.assert_close(torch.from_numpy(scored), likely)
    share = decoded(model, batch)[1].share
    assert 0.2 < share[share > 0].mean() < 0.8, "both parts count"
    inside = model.inspect(batch)["decoder"]
    torch.testing.assert_close(inside.gates[0], 1 - share)
    torch.testing.assert_close(inside.attention[0].sum(1), (share > 0).float())
    assert mean_gates(model, batch)["decoder"] == pytest.approx([1 - share[share > 0].mean().item()])


def test_the_loss_smooths_the_softmax_in_the_mixture() -> None:
    model, batch = model_of(), batch_of(DOCUMENTS)
    assert batch.gold is not None
    found, _ = decoded(model, batch)
    likely = mixture(model, batch).gather(1, batch.gold[:, None]).log()
    smooth = model.embeddings.logits(found.hidden).log_softmax(-1).mean(-1)
    torch.testing.assert_close(model(batch, 0.1)[0], -(0.9 * likely.sum() + 0.1 * smooth.sum()))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_of_the_chunked_loss(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(output, "CHUNK_ELEMENTS", 4 * 7)
    hidden, weight, bias = (
        torch.randn(*size, dtype=torch.float64, requires_grad=True) for size in [(9, 5), (7, 5), (7,)]
    )
    gold = torch.tensor([1, 2, 3, 0, 4, 5, 6, 1, 2])
    shares = torch.rand(2, 9, dtype=torch.float64) * torch.tensor([[0.8], [0.3]])
    shares[:, 1], shares[1, 2] = 0.0, 0.0
    inputs = [hidden, weight, bias, shares.requires_grad_()]
    found = linear_cross_entropy(hidden, weight, bias, gold, smoothing, 0, copies=shares)[0]
    base = nn.functional.linear(hidden, weight, bias).log_softmax(-1)
    likely = ((1 - shares[0]) * base.gather(1, gold[:, None])[:, 0].exp() + shares[1]).log()
    expected = -((1 - smoothing) * likely + smoothing * base.mean(-1))[gold != 0].sum()
    torch.testing.assert_close(found, expected)
    pairs = zip(*(torch.autograd.grad(each, inputs) for each in (found, expected)), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)


def test_every_parameter_learns_from_the_start() -> None:
    model, batch = small_model(model_of("target").config), batch_of(DOCUMENTS)
    model.freeze("base")
    pointer = pointer_of(model)
    optimizer = torch.optim.SGD(pointer.parameters(), lr=0.1)
    for live in ({"query.weight", "query.bias", "gate_outer.weight", "gate_outer.bias", "slope"}, None):
        optimizer.zero_grad()
        model(batch, 0.1)[0].backward()
        found = {name for name, value in pointer.named_parameters() if value.grad is not None and value.grad.any()}
        assert found == (live or {name for name, _ in pointer.named_parameters()})
        optimizer.step()
    assert all(value.grad is None for value in model.decoder.parameters())


def test_without_links_or_with_a_closed_gate_it_is_base() -> None:
    batch = batch_of([selected(example) for example in documents(6, [3], [1])])
    model = model_of("target")
    base = small_model(replace(model.config, context=None))
    base.load_state_dict({k: v for k, v in model.state_dict().items() if not k.startswith("integration.")})
    assert torch.equal(model.logits(batch), base.logits(batch).log_softmax(-1))
    assert model(batch, 0.1)[0] == base(batch, 0.1)[0]
    linked, closed = batch_of(DOCUMENTS), model_of("target", eager=-200.0)
    assert torch.equal(closed.logits(linked), base.logits(linked).log_softmax(-1))
    assert torch.equal(decoded(closed, linked)[1].share, torch.zeros(len(linked.gold)))  # type: ignore[arg-type]


def test_windows_padding_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docgraph.model.padding.WIDTHS", {"document": 8, "sentence": 2})
    model, whole = model_of(), batch_of(DOCUMENTS)
    part = batch_of([replace(DOCUMENTS[0], window=range(2, 4)), replace(DOCUMENTS[1], window=range(1))])
    assert whole.target is not None
    rows = torch.isin(whole.target.sentences.sequence_of, torch.tensor([2, 3, 5]))
    torch.testing.assert_close(model.logits(part), model.logits(whole)[rows])
    filled = fill_up(whole, capacity([whole]), pad=0)
    assert filled is not None
    wanted, found = (
        torch.autograd.grad(model(each, 0.1)[0], list(pointer_of(model).parameters())) for each in (whole, filled)
    )
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_the_training_step_is_one_graph() -> None:
    model, plain = model_of(), batch_of(DOCUMENTS)
    batch = fill_up(plain, capacity([plain]), pad=0)
    torch.compiler.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    parameters = list(model.parameters())
    losses = [one(batch, 0.1)[0] for one in (model, compiled)]
    torch.testing.assert_close(losses[1], losses[0])
    for theirs, ours in zip(*(torch.autograd.grad(loss, parameters) for loss in losses), strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.compiler.reset()


@pytest.mark.parametrize("beams", [1, 2])
@pytest.mark.parametrize("own_weight", [1.0, 0.3])
def test_parallel_decoding_equals_sequential_and_scoring(beams: int, own_weight: float) -> None:
    model = model_of(own_weight=own_weight)
    config = SearchConfig(beams=beams, min_length=3, max_length_factor=0.0)
    known = [{0: given_hypotheses((7, 8, 9))}, {}]
    inputs = [DecoderInput(*pair) for pair in zip(DOCUMENTS, known, strict=True)]
    at_once, in_order = (
        decode_documents(model, TOKENIZER, inputs, DecodingOptions(config, mode)) for mode in ("parallel", "sequential")
    )
    for one, other, example, place in zip(at_once, in_order, DOCUMENTS, known, strict=True):
        best = [sentence[0] for sentence in one.sentences]
        assert [h.tokens for h in best] == [sentence[0].tokens for sentence in other.sentences]
        targets = [np.array([*h.tokens, EOS]) for h in best]
        made = np.array([m in place for m in range(len(best))])
        [scored] = score_documents(model, [replace(example, target=targets, target_words=(), given=made)])
        for m, (hypothesis, values) in enumerate(zip(best, scored, strict=True)):
            if m not in place:
                assert hypothesis.log_probability == pytest.approx(float(values.sum()), abs=1e-4)
    assert max(document.passes for document in at_once) > 1


@settings(max_examples=8)
@drawn(
    known=st.sets(st.integers(0, 7)),
    own_weight=st.sampled_from([0.0, 0.3]),
    sides=st.sampled_from(["target", "both"]),
    beams=st.sampled_from([1, 2]),
    ahead=st.booleans(),
)
def test_all_decoding_modes_agree_with_known_translations(
    known: set[int], own_weight: float, sides: str, beams: int, ahead: bool
) -> None:
    model, config = model_of(sides, own_weight), SearchConfig(beams=beams, min_length=3, max_length_factor=0.0)
    examples = [replace(example, ahead=ahead) for example in DOCUMENTS]
    places = [[m for m in range(5) if m in known], [m for m in range(3) if m + 5 in known]]
    told = [{m: given_hypotheses((7 + m, 8, 9)) for m in some} for some in places]
    inputs = [DecoderInput(*pair) for pair in zip(examples, told, strict=True)]
    best = []
    for mode, tokens in (("parallel", None), ("sequential", None), ("parallel", 8), ("sequential", 1)):
        found = decode_documents(model, TOKENIZER, inputs, DecodingOptions(config, mode, tokens))  # type: ignore[arg-type]
        best.append([[hypotheses[0] for hypotheses in each.sentences] for each in found])
    assert all([[h.tokens for h in d] for d in way] == [[h.tokens for h in d] for d in best[0]] for way in best)
    for example, some, hypotheses in zip(examples, places, best[0], strict=True):
        target = [np.array([*h.tokens, EOS]) for h in hypotheses]
        flags = np.isin(np.arange(len(target)), some)
        [scored] = score_documents(model, [replace(example, target=target, target_words=(), given=flags)])
        for m, (hypothesis, values) in enumerate(zip(hypotheses, scored, strict=True)):
            assert m in some or hypothesis.log_probability == pytest.approx(float(values.sum()), abs=1e-4)


@pytest.mark.parametrize("own_weight", [0.0, 0.3])
@pytest.mark.parametrize("ahead", [False, True])
def test_given_translations_are_read_ahead_only_if_allowed(own_weight: float, ahead: bool) -> None:
    model, config = model_of(own_weight=own_weight), SearchConfig(beams=1, min_length=3, max_length_factor=0.0)
    example = replace(DOCUMENTS[0], ahead=ahead)

    def before(known: Known) -> list[float]:
        [found] = decode_documents(model, TOKENIZER, [DecoderInput(example, known)], DecodingOptions(config))
        return [best[0].log_probability for best in found.sentences[:4]]

    one, other, none = (
        before(known) for known in ({4: given_hypotheses((7, 8, 9))}, {4: given_hypotheses((10, 11, 12))}, {})
    )
    for a, b, c in zip(one, other, none, strict=True):
        unread = a == pytest.approx(b, abs=1e-3) and a == pytest.approx(c, abs=1e-3)
        assert unread == (own_weight > 0 or not ahead)


def test_translations_of_an_earlier_run_are_not_given() -> None:
    model, config = model_of(own_weight=0.3), SearchConfig(beams=2, min_length=3, max_length_factor=0.0)

    def later(known: Known) -> list[float]:
        [found] = decode_documents(model, TOKENIZER, [DecoderInput(DOCUMENTS[0], known)], DecodingOptions(config))
        return [best[0].log_probability for best in found.sentences[3:]]

    first = DecoderInput(DOCUMENTS[0], {0: given_hypotheses((7, 8, 9))})
    [whole] = decode_documents(model, TOKENIZER, [first], DecodingOptions(config))
    done = dict(enumerate(whole.sentences[:3]))
    expected = [best[0].log_probability for best in whole.sentences[3:]]
    assert later(done) == pytest.approx(expected, abs=1e-4)
    assert later({m: given_hypotheses(best[0].tokens) for m, best in done.items()}) != pytest.approx(expected, abs=0.1)


def test_own_translations_are_weighted_by_own_weight() -> None:
    model, batch = model_of(own_weight=0.25), batch_of(DOCUMENTS)
    everything = decoded(model, batch)[1].weights
    marked = [np.arange(len(example.source)) % 2 == 0 for example in DOCUMENTS]
    partly = batch_of([replace(example, given=flags) for example, flags in zip(DOCUMENTS, marked, strict=True)])
    assert batch.linked is not None
    assert batch.target is not None
    sentences = batch.linked.sentences.repeat_interleave(SIZES.length, 1)
    trust = torch.where(torch.from_numpy(np.concatenate(marked))[sentences.clamp(min=0)], 1.0, 0.25)
    torch.testing.assert_close(
        decoded(model, partly)[1].weights, everything * trust[batch.target.sentences.sequence_of]
    )
    with pytest.raises(DocgraphError, match="own_weight"):
        LinkedConfig(own_weight=1.5)


def test_a_checkpoint_and_int8_keep_the_pointer(tmp_path: Path) -> None:
    model, batch = model_of(own_weight=0.5), batch_of(DOCUMENTS)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.config == model.config
    expected = model.logits(batch).log_softmax(-1)
    assert torch.equal(again.logits(batch).log_softmax(-1), expected)
    with torch.inference_mode():
        quick = pack_for_cpu(again, "int8").logits(batch).log_softmax(-1)
    assert (quick - expected).abs().mean() < 0.05


def test_explanations_name_the_translations_read() -> None:
    model, example = model_of("target"), DOCUMENTS[0]
    assert example.selection is not None
    found = context_weights(model, example, range(len(example.source)))
    share = decoded(model, batch_of([example]))[1].share
    assert np.mean([reading.gate < 1 for reading in found]) > 0.5
    assert sum(len(t) * (1 - r.gate) for t, r in zip(example.target, found, strict=True)) == pytest.approx(
        share.sum().item(), abs=1e-3
    )
    for m, reading in enumerate(found):
        assert reading.source == {}
        assert set(reading.target) <= {int(s) for s in example.selection.sentences[m] if s >= 0}


def test_the_source_side_alone_is_refused() -> None:
    with pytest.raises(DocgraphError, match="'pointer' reads target or both, not 'source'"):
        model_of("source")


def test_step_by_step_is_teacher_forcing() -> None:
    assert_steps_as_forced(model_of(), batch_of(DOCUMENTS))


def test_the_end_of_a_sentence_is_never_proposed() -> None:
    """No last word of these translations occurs within them."""
    document = next(one for one in DOCUMENTS if len(one.source) > 2)
    last = 7
    assert all(last not in ids for ids in document.target)
    target = [np.concatenate([ids[:-1], [last], ids[-1:]]) for ids in document.target]
    _, copies = decoded(model_of(), batch_of([replace(document, target=target, target_words=())]))
    assert copies.weights.any()
    for token in (last, EOS):
        assert not copies.probability_of(torch.full((len(copies.tokens),), token)).any()
