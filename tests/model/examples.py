"""Random documents with random graphs, and small models."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from docgraph.annotation import Annotation, Strings
from docgraph.graph import DocumentGraph, RelationOptions, build_graph
from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.config import ContextConfig, GraphConfig, ModelConfig, TransformerConfig
from docgraph.model.context_attention import GatedContextLayer
from docgraph.model.document_transformer import DocumentTransformer

BOS, EOS = 1, 2
VOCABULARY = 50

sentence_sizes = st.lists(st.integers(0, 7), min_size=1, max_size=7)
"""Numbers of words of the sentences of a document; some are 0."""
seeds = st.integers(0, 2**32 - 1)

SYSTEMS: dict[str, dict[str, Any]] = {
    "docgraph": {"encoder": "docgraph", "integration": "hyb"},
    "noise": {"encoder": "noise", "integration": "hyb"},
    "ctx": {"encoder": "ctx", "integration": "hyb", "sides": "source"},
    "han": {"encoder": "han", "integration": "post", "previous": 3},
    "selective": {"encoder": "selective", "integration": "post"},
    "hm_gdc": {"encoder": "hm_gdc", "integration": "post", "sides": "source"},
    "unified": {"encoder": "unified", "integration": "pre", "sides": "source"},
}
"""The systems of the paper's main table, as fields of `small_config`."""


def random_annotation(rng: np.random.Generator, sizes: list[int], kinds: int = 6) -> Annotation:
    """An annotation of sentences of these sizes, with random forms, lemmas, trees and coreference."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    count = int(offsets[-1])
    heads = np.arange(count, dtype=np.int32)
    for begin, end in itertools.pairwise(offsets):
        for word in range(begin + 1, end):
            heads[word] = rng.integers(begin, word)
    pairs = np.sort(rng.integers(0, max(count, 1), (count // 3, 2)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).astype(np.int32)
    forms = rng.integers(0, kinds, count)
    lemmas = np.where(rng.random(count) < 0.8, forms // 2, rng.integers(0, kinds, count))
    zeros = np.zeros(count, dtype=np.int32)
    return Annotation(
        offsets,
        zeros,
        zeros,
        Strings.of(f"form{f}" for f in forms),
        lemmas=Strings.of(f"lemma{lemma}" for lemma in lemmas),
        heads=heads,
        coreference=pairs.reshape(-1, 2),
    )


def zipfian_annotation(rng: np.random.Generator, sizes: list[int], kinds: int) -> Annotation:
    """Like `random_annotation`, with Zipfian word frequencies; each form is its own lemma."""
    plain = random_annotation(rng, sizes)
    weights = 1 / (np.arange(kinds) + 2.7)
    words = rng.choice(kinds, size=plain.num_words, p=weights / weights.sum()).astype(np.int32)
    return replace(plain, forms=Strings(words, tuple(f"form{index}" for index in range(kinds))), lemmas=None)


def random_graph(rng: np.random.Generator, sizes: list[int], max_distance: int | None = None) -> DocumentGraph:
    return build_graph(random_annotation(rng, sizes), "all", RelationOptions(max_distance=max_distance))


def random_document(rng: np.random.Generator, sizes: list[int]) -> DocumentExample:
    """A document with words of one or two sub-words, a translation and a source graph."""
    source, target, source_words, target_words = [], [], [], []
    start = 0
    for size in sizes:
        owner = np.repeat(np.arange(size), rng.integers(1, 3, size))
        source.append(np.append(rng.integers(3, VOCABULARY, len(owner)), EOS))
        source_words.append(np.append(owner + start, -1))
        start += size
        length = int(rng.integers(0, size + 3))
        target.append(np.append(rng.integers(3, VOCABULARY, length), EOS))
        target_words.append(np.append(np.arange(length), -1))
    return DocumentExample(source, target, random_graph(rng, sizes), source_words, target_words)


def documents(seed: int, *sizes: list[int]) -> list[DocumentExample]:
    """One random document for each list of sentence sizes."""
    rng = np.random.default_rng(seed)
    return [random_document(rng, each) for each in sizes]


def batch_of(examples: Sequence[DocumentExample], plain_graph: bool = False) -> DocumentBatch:
    return collate(examples, BOS, plain_graph)


def rewritten(example: DocumentExample, side: str, sentence: int) -> DocumentExample:
    """The document with all sub-words of one sentence of `source` or `target` changed, but not lengths and graph."""
    sentences = list(getattr(example, side))
    tokens = sentences[sentence].copy()
    assert len(tokens) > 1, "a sentence without words cannot be changed"
    tokens[:-1] = 3 + (tokens[:-1] - 3 + 17) % (VOCABULARY - 3)
    sentences[sentence] = tokens
    return replace(example, **{side: sentences})


def small_config(
    norm: str = "post",
    context: bool = True,
    graph: dict[str, Any] | None = None,
    transformer: dict[str, Any] | None = None,
    **changes: Any,
) -> ModelConfig:
    """A config with two layers and d = 32, and with these transformer, context and graph fields."""
    fields: dict[str, Any] = {
        "source_vocabulary": VOCABULARY,
        "target_vocabulary": VOCABULARY,
        "dimension": 32,
        "feed_forward": 64,
        "heads": 4,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "norm": norm,
        "max_positions": 256,
        **(transformer or {}),
    }
    if not context:
        return ModelConfig(TransformerConfig(**fields))
    return ModelConfig(
        TransformerConfig(**fields), ContextConfig(heads=4, graph=GraphConfig(**(graph or {})), **changes)
    )


def small_model(config: ModelConfig, seed: int = 0, open_gates: bool = False) -> DocumentTransformer:
    """A seeded model in evaluation mode; with `open_gates`, context flows through every context attention."""
    torch.manual_seed(seed)
    model = DocumentTransformer(config).eval()
    if open_gates:
        with torch.no_grad():
            for site in context_layers(model):
                nn.init.xavier_uniform_(site.last.weight)
                site.gate_input.bias.fill_(-3.0)
    return model


def loss_and_gradients(model: DocumentTransformer, batch: DocumentBatch) -> list[Tensor]:
    """The label-smoothed loss, the NLL and all gradients of a batch."""
    model.zero_grad()
    loss, nll = model(batch, smoothing=0.1)
    loss.backward()
    return [loss.detach(), nll, *(p.grad for p in model.parameters() if p.grad is not None)]


def assert_steps_as_forced(model: DocumentTransformer, batch: DocumentBatch) -> None:
    """Asserts that the first decoding step has the scores of teacher forcing."""
    assert batch.target is not None
    memories = model.memories(batch)
    state = model.start(batch, model.encode(batch, memories), memories, 1, 4)
    first = model.step(torch.full((batch.num_sentences,), BOS), state)
    begins = batch.target.sentences.boundaries[:-1].long()
    torch.testing.assert_close(first, model.logits(batch)[begins])


def context_layers(model: DocumentTransformer) -> list[GatedContextLayer]:
    """The gated context layers of a model."""
    return [module for module in model.modules() if isinstance(module, GatedContextLayer)]


def with_base_of(model: DocumentTransformer, base: DocumentTransformer) -> DocumentTransformer:
    """`model` with the parameters of Base."""
    missing, unexpected = model.load_state_dict(base.state_dict(), strict=False)
    assert not unexpected
    assert all(name.startswith(("context.", "integration.")) for name in missing)
    return model


def sentence_rows(lengths: Iterable[int]) -> list[slice]:
    """The rows of each packed sentence."""
    bounds = np.concatenate([[0], np.cumsum(list(lengths))])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(bounds)]


def tensors(value: object) -> list[Tensor]:
    """Returns the tensors of a dataclass or a tuple, and of all those inside it."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, tuple):
        return [tensor for part in value for tensor in tensors(part)]
    if is_dataclass(value):
        return [tensor for field in fields(value) for tensor in tensors(getattr(value, field.name))]
    return []
