"""Every system: which sentences its context comes from, and properties of single systems."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.model import systems
from docgraph.model.batch import DocumentExample
from docgraph.model.context_attention import ContextReader
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import SlotMemory
from docgraph.model.padding import capacity, fill_up
from docgraph.model.systems import context_class, context_needs, selective
from docgraph.model.systems.han import HierarchicalAttention
from docgraph.model.systems.selective import SelectiveAttention
from docgraph.training.flops import FlopCounter
from docgraph.translation.explain import context_weights

from ..examples import (
    SYSTEMS,
    assert_steps_as_forced,
    batch_of,
    context_layers,
    documents,
    rewritten,
    sentence_rows,
    small_config,
    small_model,
    with_base_of,
)

DOCUMENTS = documents(5, [5, 4, 3, 6, 2, 4], [3, 7])
"""Every sentence has sub-words that can be changed on both sides (seeded; `rewritten` checks)."""
LENGTHS = [len(target) for example in DOCUMENTS for target in example.target]
NAMES = list(SYSTEMS)
REACH = {"docgraph": None, "hm_gdc": None, "selective": None, "ctx": 2, "han": 3, "unified": 2, "noise": 0}
"""Over how many later sentences a source sentence is read; None for the whole document."""


def system(name: str, seed: int = 0, transformer: dict[str, str] | None = None) -> DocumentTransformer:
    return small_model(small_config(transformer=transformer, **SYSTEMS[name]), seed, open_gates=True)


@torch.no_grad()
def logits_by_sentence(model: DocumentTransformer, examples: list[DocumentExample]) -> list[Tensor]:
    lengths = [len(target) for example in examples for target in example.target]
    logits = model.logits(batch_of(examples))
    return [logits[rows] for rows in sentence_rows(lengths)]


def changed(model: DocumentTransformer, side: str, sentence: int) -> list[bool]:
    """Which sentences of both documents change if a sentence of the first document does."""
    before = logits_by_sentence(model, DOCUMENTS)
    after = logits_by_sentence(model, [rewritten(DOCUMENTS[0], side, sentence), DOCUMENTS[1]])
    return [float((a - b).abs().max()) > 1e-5 for a, b in zip(before, after, strict=True)]


@pytest.mark.parametrize("sentence", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_a_source_sentence_reaches_those_that_read_it(name: str, sentence: int) -> None:
    reach = REACH[name]
    expected = [reach is None or sentence <= m <= sentence + reach for m in range(6)]
    assert changed(system(name), "source", sentence) == [*expected, False, False]


@pytest.mark.parametrize("sentence", [0, 2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_a_translation_reaches_only_later_sentences(name: str, sentence: int) -> None:
    reach = {"docgraph": 9, "selective": 9, "han": 3}.get(name, 0)
    expected = [sentence <= m <= sentence + reach for m in range(6)]
    assert changed(system(name), "target", sentence) == [*expected, False, False]


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_translates_like_single_documents(name: str) -> None:
    model = system(name).double()
    together = logits_by_sentence(model, DOCUMENTS[::-1])
    alone = [logits for example in DOCUMENTS[::-1] for logits in logits_by_sentence(model, [example])]
    for found, wanted in zip(together, alone, strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_a_window_translates_like_the_whole_document(name: str) -> None:
    model = system(name).double()
    whole = batch_of(DOCUMENTS)
    part = batch_of(
        [dataclasses.replace(DOCUMENTS[0], window=range(2, 5)), dataclasses.replace(DOCUMENTS[1], window=range(1, 2))]
    )
    kept = [2, 3, 4, 7]
    assert whole.target is not None
    rows = torch.isin(whole.target.sentences.sequence_of, torch.tensor(kept))
    torch.testing.assert_close(model.logits(part), model.logits(whole)[rows])


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_a_memory_can_be_cut_to_some_sentences(name: str) -> None:
    model, example = system(name).double(), DOCUMENTS[0]
    part = batch_of([dataclasses.replace(example, window=range(2, 5))])
    memories = model.memories(batch_of([example]))
    cut = dataclasses.replace(
        memories,
        source=None if memories.source is None else memories.source.of_sentences(range(2, 5)),
        target=None if memories.target is None else memories.target.of_sentences(range(2, 5)),
    )
    torch.testing.assert_close(model.states(part, cut).hidden, model.states(part, model.memories(part)).hidden)


@pytest.mark.parametrize("name", [name for name in NAMES if "sides" not in SYSTEMS.get(name, {})])
@torch.no_grad()
def test_translations_that_are_not_read_change_nothing(name: str) -> None:
    """Parallel decoding relies on this."""
    model, example = system(name), DOCUMENTS[0]
    before = logits_by_sentence(model, [example])
    unread = read = 0
    for changed in range(len(example.source)):
        after = logits_by_sentence(model, [rewritten(example, "target", changed)])
        for m in set(range(len(example.source))) - {changed}:
            same = torch.equal(before[m], after[m])
            if changed in context_class(model.config).translations_read(model.config, example, m):
                read += not same
            else:
                assert same
                unread += m > changed
    assert (read > 0, unread > 0) == (name != "noise", name == "han")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("unified", "noise")])
@torch.no_grad()
def test_the_memory_of_another_document_can_be_read(name: str) -> None:
    """Measures of context use do this."""
    model, mine = system(name), batch_of(DOCUMENTS)
    theirs = batch_of(
        [
            dataclasses.replace(e, window=range(2, 2 + n))
            for e, n in zip(documents(9, [2] * 40, [7] * 9), (6, 2), strict=True)
        ]
    )
    own, other = (model.states(mine, model.memories(batch)).hidden for batch in (mine, theirs))
    assert other.isfinite().all()
    assert not torch.allclose(own, other)


@pytest.mark.parametrize("name", NAMES)
def test_padding_and_blocks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docgraph.model.padding.WIDTHS", {"document": 8, "sentence": 2})
    model = system(name)
    batch = batch_of(DOCUMENTS)
    filled = fill_up(batch, capacity([batch], margin=0.5), pad=0)
    assert filled is not None
    found, wanted = (model(each, 0.1)[0] for each in (filled, batch))
    torch.testing.assert_close(found, wanted)
    parameters = list(model.parameters())
    for ours, theirs in zip(*(torch.autograd.grad(loss, parameters) for loss in (found, wanted)), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", NAMES)
def test_packed_kernels_equal_padded_attention(name: str) -> None:
    """In half precision on a GPU, including sentences without context and padding."""
    model, batch = system(name), batch_of(DOCUMENTS)
    filled = fill_up(batch, capacity([batch], margin=0.5), pad=0)
    assert filled is not None
    exact = model(batch, 0.1)[0]
    wanted = torch.cat([g.flatten() for g in torch.autograd.grad(exact, list(model.parameters()))])
    model = model.to("cuda", torch.bfloat16)
    for each in (batch, filled):
        rough = model(each.to("cuda"), 0.1)[0]
        torch.testing.assert_close(rough.cpu(), exact, rtol=0.02, atol=0.0, check_dtype=False)
        found = torch.cat([g.flatten().cpu() for g in torch.autograd.grad(rough, list(model.parameters()))]).float()
        assert (found - wanted).norm() < 0.1 * wanted.norm()


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_every_parameter(name: str, norm: str) -> None:
    model = system(name, transformer={"norm": norm}).train()
    model(batch_of(DOCUMENTS), 0.1)[0].backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
        # A shift of all keys alike moves no attention: its gradient is rounding.
        assert parameter.grad.any() or parameter_name.endswith("key.bias"), parameter_name


@pytest.mark.parametrize("name", [name for name in NAMES if name != "unified"])
def test_the_start_and_a_closed_gate_equal_base(name: str) -> None:
    base = small_model(small_config(context=False))
    batch = batch_of(DOCUMENTS)
    start = with_base_of(small_model(small_config(**SYSTEMS[name]), seed=1), base)
    assert torch.equal(start.logits(batch), base.logits(batch))
    paper = with_base_of(small_model(small_config(gate="paper", **SYSTEMS[name]), seed=1), base)
    assert not torch.allclose(paper.logits(batch), base.logits(batch))
    for site in context_layers(paper):
        torch.nn.init.constant_(site.gate_input.bias, 1e4)
    assert torch.equal(paper.logits(batch), base.logits(batch))


@pytest.mark.parametrize("name", ["ctx", "han", "selective", "unified"])
def test_a_sentence_without_context_is_translated_as_by_base(name: str) -> None:
    base = small_model(small_config(context=False))
    model = with_base_of(system(name, seed=1), base)
    single = batch_of(documents(2, [4], [6], [1]))
    torch.testing.assert_close(model.logits(single), base.logits(single), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_half_precision_decodes(name: str) -> None:
    model, batch = system(name).bfloat16(), batch_of(DOCUMENTS)
    memories = model.memories(batch)
    state = model.start(batch, model.encode(batch, memories), memories, 2, 3)
    assert model.step(torch.ones(2 * batch.num_sentences, dtype=torch.int64), state).isfinite().all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "unified"])
def test_inspection_sees_weights_that_sum_to_one(name: str) -> None:
    model, batch = system(name), batch_of(DOCUMENTS)
    found = model.inspect(batch)
    for recorder, side in ((found["encoder"], batch.source), (found["decoder"], batch.target)):
        assert side is not None
        for attention, gate in zip(recorder.attention, recorder.gates, strict=True):
            some = gate < 1
            assert len(attention) == side.sentences.num_tokens
            assert some.any()
            torch.testing.assert_close(attention.sum(1), some.float())


def reader_of(model: DocumentTransformer) -> tuple[ContextReader, Tensor, Tensor]:
    """The reader of the encoder, random input of its layer, and the index of each row's sentence in its document."""
    batch = batch_of(DOCUMENTS)
    reader = model.integration.reader("encoder", model.memories(batch), batch.source.queries)
    assert isinstance(reader, ContextReader)
    return reader, torch.randn(len(batch.source.tokens), 32), batch.index_of[batch.source.sentences.sequence_of]


@torch.no_grad()
def test_both_levels_of_han_sum_to_one() -> None:
    reader, x, index = reader_of(system("han"))
    site, (projected, layout) = reader.layers[0].func, reader.layers[0].keywords.values()
    assert isinstance(site, HierarchicalAttention)
    assert len(projected) == 3
    sentences = site.attention_weights(x, projected, layout)
    distance = torch.arange(3)
    assert not sentences[(index > 0)[:, None] & (distance >= index[:, None])].any()
    torch.testing.assert_close(sentences[index > 0].sum(1), torch.ones(int((index > 0).sum())))
    for run in projected:
        words = site.span_weights(x, run, layout)
        torch.testing.assert_close(words.sum(-1), torch.ones(words.shape[:2]))


@torch.no_grad()
def test_selective_ignores_most_sentences_and_words() -> None:
    model = system("selective")
    for site in context_layers(model):  # sharper than at the start, as training makes it
        for layer in (site.sentence_query, site.attention.query):
            layer.weight.mul_(20)
    reader, x, index = reader_of(model)
    site, (projected, layout) = reader.layers[0].func, reader.layers[0].keywords.values()
    assert isinstance(site, SelectiveAttention)
    query = layout.rows.pad(site.attention.split(site.attention.query(x))).transpose(1, 2)
    by_sentence = site.sentence_level(x, projected, layout)
    everything = torch.ones_like(by_sentence)
    by_word = selective.word_level(query, projected, everything)
    for weights in (by_sentence, by_word):
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-4, rtol=0.0)
        assert (weights >= 0).all()
    where_read = selective.word_level(query, projected, by_sentence)
    torch.testing.assert_close(where_read, by_word * (by_sentence > 0)[..., None], rtol=0, atol=0)
    sentences = layout.rows.pack(by_sentence.transpose(1, 2))
    first = torch.cat([torch.ones(int(batch_of(DOCUMENTS[:1]).source.sentences.num_tokens)), torch.zeros(len(x))])[
        : len(x)
    ]
    others = sentences[first.bool()][:, :, :6]
    assert (others == 0).float().mean() > 0.5  # exact zeros among sentences that could be read
    assert not sentences.gather(2, index[:, None, None].expand(-1, 4, 1)).any()  # never the sentence itself


def test_the_upper_layers_of_unified_never_see_context() -> None:
    model = system("unified")
    rows: list[list[int]] = []
    for layer in model.encoder.layers:
        layer.register_forward_hook(lambda _module, inputs, _output: rows[-1].append(len(inputs[0])))
    with torch.no_grad():
        for examples in (DOCUMENTS, [dataclasses.replace(DOCUMENTS[0], window=range(3, 4))]):
            rows.append([])
            batch = batch_of(examples)
            model.encode(batch, model.memories(batch))
            tokens = len(batch.source.tokens)
            assert rows[-1][0] > tokens
            assert rows[-1][1:] == [tokens]


def test_noise_reads_nothing_of_the_document() -> None:
    model = system("noise")
    other = documents(7, [1, 9, 2, 3, 3, 8])[0]  # as many sentences, other words, another graph
    mine, theirs = (batch_of([example]) for example in (DOCUMENTS[0], other))
    with torch.no_grad():
        memories = [model.memories(batch) for batch in (mine, theirs, mine)]
        for memory in memories[1:]:
            assert memory.source is not None
            assert memory.target is not None
            assert memories[0].source is not None
            assert torch.equal(memory.source.states, memories[0].source.states)
        model.train()
        drawn = [model.memories(mine).source for _ in range(2)]
    assert drawn[0] is not None
    assert drawn[1] is not None
    assert not torch.allclose(drawn[0].states, drawn[1].states)


def test_noise_has_the_parameters_of_the_document_graph() -> None:
    shapes = [{name: p.shape for name, p in system(name).named_parameters()} for name in ("noise", "docgraph")]
    assert shapes[0] == shapes[1]


def test_a_side_that_a_system_cannot_read_is_refused() -> None:
    with pytest.raises(DocgraphError, match=r"'ctx' reads source, not 'both'; set 'context.sides'"):
        small_model(small_config(encoder="ctx"))
    with pytest.raises(DocgraphError, match="there is no context encoder 'nothing'; choose among ctx, docgraph, han"):
        small_model(small_config(encoder="nothing"))


@pytest.mark.parametrize("name", NAMES)
def test_only_the_document_graph_needs_annotation(name: str) -> None:
    assert context_needs(small_config(**SYSTEMS[name])).relations == (("all",) if name == "docgraph" else None)


@pytest.mark.parametrize("kind", ["whole", "windowed", "filled-up"])
@pytest.mark.parametrize("name", ["docgraph", "noise", "hm_gdc"])
@torch.no_grad()
def test_prefixes_equal_the_visibility_mask(name: str, kind: str) -> None:
    """For sentence states in the order of the slots of their document."""
    first, second = DOCUMENTS
    batch = batch_of([dataclasses.replace(first, window=range(2, 4) if kind == "windowed" else None), second])
    if kind == "filled-up":
        filled = fill_up(batch, capacity([batch]), 0)
        assert filled is not None
        batch = filled
    memories = system(name).memories(batch)
    for memory in (memories.source, memories.target):
        if memory is None:
            continue
        assert isinstance(memory, SlotMemory)
        prefix, order = memory.prefix, torch.arange(memory.slots.shape[1])
        assert prefix is not None
        assert torch.equal(memory.visible, order < prefix.seen[:, None])
        used = order < prefix.count[:, None]
        assert torch.equal(memory.slots[used], (prefix.first[:, None] + order)[used])
        assert (prefix.seen <= prefix.count[batch.document_of]).all()
        part = memory.of_sentences(range(1, 3)).prefix
        assert part is not None
        assert torch.equal(part.seen, prefix.seen[1:3])


def test_selective_gives_the_same_result_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = system("selective"), batch_of(DOCUMENTS)
    with torch.inference_mode():
        whole = model.logits(batch)
        monkeypatch.setattr(selective, "CELLS", 1)
        torch.testing.assert_close(model.logits(batch), whole)


def test_the_system_of_the_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code alone makes a system that trains, decodes, counts its FLOPs and explains its context."""
    page = (Path(__file__).parents[3] / "docs" / "systems.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert code.count("\n") <= 32
    monkeypatch.setattr(systems, "CONTEXTS", dict(systems.CONTEXTS))
    exec(compile(code, "bag_of_words.py", "exec"), {"__name__": "docgraph.model.systems.bag_of_words"})
    model = small_model(small_config(encoder="bag_of_words", sides="source", integration="post"), open_gates=True)
    assert changed(model, "source", 2) == [m >= 2 and m < 6 for m in range(8)]
    batch = batch_of(DOCUMENTS)
    model(batch, 0.1)[0].backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert_steps_as_forced(model, batch)
    weights = context_weights(model, DOCUMENTS[0], range(6))
    assert [sorted(each.source) for each in weights] == [list(range(m)) for m in range(6)]
    assert FlopCounter(model)(batch) > 0
