"""Forced decoding: the log-probabilities of given translations, in batches.

Candidate translations of the same sentence share the memories and the encoded source of their document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample, Ids, collate, concatenate
from docgraph.model.config import ModelConfig
from docgraph.model.device import to_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Queries
from docgraph.model.output import CHUNK_ELEMENTS, DecoderOutput
from docgraph.model.packing import Blocks, Packing, split_by_size
from docgraph.model.systems import context_class, prepare

TOKENS = 16_000
"""Sub-words per batch, source and translations together."""
LogProbabilities = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ScoringTask:
    """A document and the translations to score for each sentence of its window."""

    document: DocumentExample
    """Its `target`, if any, holds the translations that later sentences read as context."""
    translations: Sequence[Sequence[Ids]]
    """[W] lists of candidates, one for each sentence of the window."""

    @property
    def size(self) -> int:
        """Number of sub-words in a batch."""
        context = sum(map(len, self.document.source))
        return context + sum(len(ids) for sentence in self.translations for ids in sentence)

    @property
    def longest(self) -> int:
        """Length of the longest candidate."""
        return max((len(ids) for sentence in self.translations for ids in sentence), default=0)


def score_documents(
    model: DocumentTransformer, documents: Sequence[DocumentExample], tokens: int = TOKENS
) -> list[list[LogProbabilities]]:
    """Returns the log-probability of every sub-word of the documents' own translations, by document and sentence."""
    tasks = [ScoringTask(document, [[document.target[m]] for m in document.translated]) for document in documents]
    scored = score_candidates(model, tasks, tokens)
    return [[sentence[0] for sentence in document] for document in scored]


def score_candidates(
    model: DocumentTransformer,
    tasks: Sequence[ScoringTask],
    tokens: int = TOKENS,
    on_batch: Callable[[int], None] | None = None,
) -> list[list[list[LogProbabilities]]]:
    """Returns the log-probability of every sub-word of every candidate, end-of-sentence included.

    Either all documents have a `target`, which their sentences read as context, or none has. `on_batch` receives the
    number of candidates of each batch.
    """
    scored: list[tuple[Sequence[int], Tensor]] = []
    prepared = [_prepared(task, model.config) for task in tasks]
    by_length = sorted(range(len(prepared)), key=lambda index: prepared[index].longest)
    for chosen in split_by_size(by_length, tokens, lambda index: prepared[index].size):
        batch = [prepared[index] for index in chosen]
        # Copied to the CPU only after the last batch, so that the GPU does not wait.
        scored.append((chosen, _score(model, batch)))
        if on_batch is not None:
            on_batch(sum(len(sentence) for task in batch for sentence in task.translations))
    results: list[list[list[LogProbabilities]]] = [[] for _ in tasks]
    for chosen, values in scored:
        pieces = iter(_split_by_candidate(values.cpu().numpy(), [prepared[index] for index in chosen]))
        for index in chosen:
            results[index] = [[next(pieces)[-len(ids) :] for ids in sentence] for sentence in tasks[index].translations]
    return results


def sentence_score(log_probabilities: LogProbabilities, normalise: bool = False) -> float:
    """Returns the log-probability of a sentence: the sum over its sub-words, or their mean if `normalise`."""
    total = float(log_probabilities.sum(dtype=np.float64))
    return total / max(len(log_probabilities), 1) if normalise else total


def _prepared(task: ScoringTask, model: ModelConfig) -> ScoringTask:
    """Returns a task as the model reads it; a model that joins sentences gets candidates with their prefixes."""
    document, context = task.document, context_class(model)
    prefixes = [context.target_prefix(model, document.target, m) for m in document.translated]
    pairs = zip(prefixes, task.translations, strict=True)
    translations = [[np.append(prefix, ids) for ids in sentence] for prefix, sentence in pairs]
    return ScoringTask(prepare(document, model), translations)


def _split_by_candidate(values: LogProbabilities, tasks: Sequence[ScoringTask]) -> list[LogProbabilities]:
    lengths = [len(ids) for task in tasks for sentence in task.translations for ids in sentence]
    return [values[begin:end] for begin, end in pairwise([0, *np.cumsum(lengths).tolist()])]


@torch.inference_mode()
def _score(model: DocumentTransformer, tasks: Sequence[ScoringTask]) -> Tensor:
    """Returns the log-probabilities of all candidates of a batch, concatenated: [N] in fp32, on the model's device."""
    device, bos = model.device, model.config.transformer.bos
    batch = collate([task.document for task in tasks], bos)
    sentences = [sentence for task in tasks for sentence in task.translations]
    candidates = [ids for sentence in sentences for ids in sentence]
    inputs, gold = concatenate([np.append(bos, ids[:-1]) for ids in candidates]), concatenate(candidates)
    owner = torch.tensor([index for index, sentence in enumerate(sentences) for _ in sentence], dtype=torch.int64)
    target = Packing.of([len(ids) for ids in candidates])
    rows, source = _repeat_source(batch.source.sentences, owner)
    queries = _queries(batch, owner, target)
    batch, target, source, queries = to_device((batch, target, source, queries), device)
    memories = model.memories(batch)
    encoded = model.encode(batch, memories)[rows.to(device)]
    reader = model.integration.reader("decoder", memories, queries)
    decoded = model.decode_with(inputs.to(device), encoded, target, source, reader)
    return log_probabilities(decoded, model, gold.to(device))


def _repeat_source(source: Packing, owner: Tensor) -> tuple[Tensor, Packing]:
    """Repeats the source sentence of each of H candidates, owner [H]; returns the source rows and their packing."""
    packing = Packing.of(source.boundaries.diff()[owner])
    return source.boundaries[owner][packing.sequence_of] + packing.positions, packing


def _queries(batch: DocumentBatch, owner: Tensor, target: Packing) -> Queries:
    """Returns the sub-words of the candidates as rows that read memories; candidates of a sentence are adjacent."""
    sentence = owner[target.sequence_of]
    by_document = batch.document_of[sentence].bincount(minlength=batch.num_documents)
    by_sentence = sentence.bincount(minlength=batch.num_sentences)
    return Queries(sentence, Blocks(Packing.of(by_document)), Packing.of(by_sentence))


def log_probabilities(decoded: DecoderOutput, model: DocumentTransformer, gold: Tensor) -> Tensor:
    """Returns the log-probabilities of gold [N] after N states, in fp32, because candidates differ in few words."""
    weight, bias = model.embeddings.output_weight.float(), model.embeddings.output_bias
    chunk = max(1, CHUNK_ELEMENTS // len(weight))
    parts = [weight.new_empty(0)]
    for begin in range(0, len(gold), chunk):
        rows, labels = decoded.hidden[begin : begin + chunk].float(), gold[begin : begin + chunk]
        logits = F.linear(rows, weight, None if bias is None else bias.float())
        parts.append(logits.gather(1, labels[:, None])[:, 0] - logits.logsumexp(-1))
    base = torch.cat(parts)
    return base if decoded.copies is None else decoded.copies.log_probability_of(gold, base)
