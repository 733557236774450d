"""What a translation looked at: the other sentences of the document, and how far the gates let them in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.integration import Recorder
from docgraph.model.memory import Memories, Memory, SlotMemory, WordMemory
from docgraph.model.packing import Packing, windows
from docgraph.model.systems import prepare
from docgraph.model.systems.linked import CacheMemory
from docgraph.model.tokenizer import Tokenizer, words_by_space
from docgraph.translation.hypotheses import Hypothesis

CELLS = 1 << 22
"""Sub-words inspected at once x sentences of their document: each site keeps a number for each."""
KEPT = 8
"""Sentences of context told for each sentence, the most read ones."""
Weights = dict[int, float]


@dataclass(frozen=True)
class Reading:
    """What a sentence read of the others of its document, as means over sub-words, heads and layers."""

    source: Weights
    """Sentences whose source was read, and how much, the most read first."""
    target: Weights
    """Sentences whose translation was read."""
    gate: float
    """The mean gate: 1 where no context is let in, 0 where all of it is."""

    def without(self, sentence: int) -> Reading:
        """The same, one sentence not told of."""
        source, target = ({m: w for m, w in each.items() if m != sentence} for each in (self.source, self.target))
        return replace(self, source=source, target=target)

    @classmethod
    def mean(cls, readings: Sequence[Reading]) -> Reading | None:
        """Of the parts of a sentence, which count alike."""
        if len(readings) < 2:
            return readings[0] if readings else None
        source, target = ([getattr(each, side) for each in readings] for side in ("source", "target"))
        return cls(_mean(source), _mean(target), sum(each.gate for each in readings) / len(readings))


def _mean(weights: Sequence[Weights]) -> Weights:
    sums = Counter[int]()
    for each in weights:
        sums.update(each)
    return {place: total / len(weights) for place, total in sums.most_common(KEPT)}


@torch.inference_mode()
def readings(
    model: DocumentTransformer, document: DocumentExample, owners: Sequence[int], kept: int = KEPT
) -> list[Reading]:
    """What each of P texts of a document with its translation read, by one teacher-forced pass.

    owners [P] is the sentence each text belongs to; what is read is told by it. Empty for a system without gates.
    """
    context, bos = model.config.context, model.config.transformer.bos
    if context is None or not document.source:
        return []
    document = prepare(document, model.config)
    whole = collate([document], bos).to(model.device)
    memories = model.memories(whole)
    sizes = [max(map(len, pair)) for pair in zip(document.source, document.target, strict=True)]
    owner = torch.tensor(owners, device=model.device)
    found: list[Reading] = []
    for window in windows(sizes, max(1, CELLS // len(sizes))):
        batch, part = whole, memories
        if len(window) < len(sizes):
            bare = replace(document, graph=None, source_words=(), target_words=(), window=window)
            batch = collate([bare], bos).to(model.device)
            part = Memories(*(_of_sentences(memory, window) for memory in (memories.source, memories.target)))
        recorders = model.inspect(batch, part)
        if recorders:
            found += _window_readings(recorders, model, batch, document, owner, kept)
    return found


def readings_of(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    example: DocumentExample,
    found: Sequence[Sequence[Hypothesis]],
    owners: Sequence[int],
) -> list[Reading]:
    """What texts with these hypotheses, the best first, read of each other; what they read of a memory behind them is
    not told."""
    target = [np.array([*best.tokens, model.config.transformer.eos]) for best, *_ in found]
    words = [words_by_space(tokenizer.target.pieces(ids)) for ids in target]
    known = np.array([best.given for best, *_ in found])
    example = replace(example, target=target, target_words=words, given=known, window=None)
    memory = max(owners, default=-1) + 1
    read = readings(model, example, [*owners, *[memory] * (len(example.source) - len(owners))])
    return [each.without(memory) for each in read]


def _window_readings(
    recorders: dict[str, Recorder],
    model: DocumentTransformer,
    batch: DocumentBatch,
    document: DocumentExample,
    owner: Tensor,
    kept: int,
) -> list[Reading]:
    assert model.config.context is not None
    assert batch.target is not None
    packings = {"encoder": batch.source.sentences, "decoder": batch.target.sentences}
    sides: dict[str, list[Tensor]] = {"source": [], "target": []}
    for stack, recorder in recorders.items():
        side = "source" if stack == "encoder" or model.config.context.sides == "source" else "target"
        texts = _texts_read(recorder, model, batch, document, side)
        sides[side].append(_by_sentence(recorder, packings[stack], texts, owner))
    gates = torch.stack([_mean_gate(recorder, packings[stack]) for stack, recorder in recorders.items()]).mean(0)
    own = owner[batch.index_of]
    source, target = (_strongest(parts, own, kept) for parts in sides.values())
    return [Reading(*each) for each in zip(source, target, gates.tolist(), strict=True)]


def _strongest(parts: Sequence[Tensor], own: Tensor, kept: int) -> list[Weights]:
    """The most read sentences of [S, M] (means where there are several), but for the own one [S] of each."""
    if not parts:
        return [{} for _ in own]
    rows = torch.stack(list(parts)).mean(0).scatter(1, own[:, None], 0.0)
    weights, places = rows.topk(min(kept, rows.shape[1]))
    pairs = zip(places.tolist(), weights.tolist(), strict=True)
    return [{m: w for m, w in zip(*row, strict=True) if w > 0} for row in pairs]


def _of_sentences(memory: Memory | None, window: range) -> Memory | None:
    return None if memory is None else memory.of_sentences(window)


def _means(values: Tensor, packing: Packing) -> Tensor:
    """Means over the sub-words of each sentence: [N, ...] -> [S, ...]."""
    sums = values.new_zeros(packing.num_sequences, *values.shape[1:]).index_add_(0, packing.sequence_of, values)
    counts = packing.boundaries.diff().clamp(min=1).to(values.dtype)
    return sums / counts.view(-1, *[1] * (values.dim() - 1))


def _mean_gate(recorder: Recorder, packing: Packing) -> Tensor:
    return _means(torch.stack(recorder.gates, dim=1).float(), packing).mean(1)


def _by_sentence(recorder: Recorder, packing: Packing, texts: Tensor, owner: Tensor) -> Tensor:
    """[S, M]: the attention of each text to the M sentences of its document; `texts` [S, columns] are read, or -1."""
    columns = torch.stack([_means(attention.float(), packing) for attention in recorder.attention]).mean(0)
    known = torch.where(texts >= 0, columns, 0.0)
    return columns.new_zeros(len(columns), int(owner.max()) + 1).scatter_add_(1, owner[texts.clamp(min=0)], known)


def _texts_read(
    recorder: Recorder, model: DocumentTransformer, batch: DocumentBatch, document: DocumentExample, side: str
) -> Tensor:
    """[S, columns]: the text that each column of attention belongs to; -1 for the current one's own words, or none."""
    assert model.config.context is not None
    memory, width = recorder.reader.memory, recorder.attention[0].shape[1]
    order = torch.arange(width, device=batch.index_of.device).expand(batch.num_sentences, -1)
    if isinstance(memory, CacheMemory):
        text_of = np.repeat(np.arange(len(document.target)), [len(ids) for ids in document.target])
        if side == "source":
            assert document.graph is not None
            text_of = document.graph.sentence_of.astype(np.int64)
        return torch.where(memory.visible, torch.from_numpy(text_of).to(order.device)[memory.slots], -1)
    if not isinstance(memory, WordMemory):
        own_words = isinstance(memory, SlotMemory) and memory.per == "sentence"
        if own_words and model.config.context.graph.nodes == "word":
            return torch.full_like(order, -1)
        return torch.where(order < len(batch.places), order, -1)
    if model.config.context.encoder == "han":
        return batch.index_of[:, None] - 1 - order
    [run] = memory.runs
    sequence_of = batch.context_source.sentences.sequence_of
    token = (run.begins[:, None] + order).clamp(max=len(sequence_of) - 1)
    return torch.where(order < run.lengths[:, None], sequence_of[token], -1)
