"""How much a document's earlier translations could tell a sentence-level model: a cache, without training.

The cache (Tu et al. 2018, Khandelwal et al. 2021) holds the tokens y_j of earlier sentences and the decoder states h_j
in which they were chosen, scaled to length 1. For a token y in state h it gives

    p(y) = (1 - λ) p_base(y) + λ Σ_j softmax_j(β h·h_j) [y_j = y],    λ = w max(0, 2 max_j h·h_j - 1)²

where p_base is the calibrated Base: its softmax at the temperature with the least loss on the dev split. Without
calibration, a cache would gain by undoing label smoothing. β and w of each cache minimise the dev loss, too, given that
temperature.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph import __version__
from docgraph.annotation import BoolArray
from docgraph.errors import DocgraphError
from docgraph.evaluation.buckets import SAMPLES, Breakdown
from docgraph.evaluation.metrics import Statistics
from docgraph.evaluation.significance import SEED
from docgraph.graph import build_graph
from docgraph.graph.links import Integers, LongArray
from docgraph.graph.selection import select
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentExample, Ids, collate
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Memories
from docgraph.model.output import CHUNK_ELEMENTS
from docgraph.research.analysis_inputs import Documents, Log, SourceDocument, Systems
from docgraph.research.context_ablations import even_parts
from docgraph.research.context_use import (
    ALL,
    NLL,
    BreakdownStyle,
    Comparison,
    Layout,
    Masks,
    breakdown_by_part,
    difference_interval,
    loss_statistics,
    sum_by_document,
)
from docgraph.training.validation import pair_with_donors
from docgraph.translation.decoding.hypotheses import SearchConfig

COUNTS = (1, 2, 4, 8, 16)
TEMPERATURES = tuple(hundredths / 100 for hundredths in range(70, 122, 2))
SHARPNESS = (8, 16, 32, 64, 128)
"""Values of β."""
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9)
"""Values of w; 0 ignores the cache."""
BASE, CALIBRATED = "base", "calibrated"
CONTENTS = REFERENCES, OWN, OTHER = "references", "own translations", "another document"
CHOICES = ("graph", "nearest", "random")
SENTENCES = 256
"""Sentences in a batch."""
SIMILARITIES = 1 << 24
"""Similarities in memory at once."""
Losses = Mapping[str, Mapping[str, Statistics]]
"""Losses [T] by system and cache."""


@dataclass(frozen=True, eq=False)
class DecoderStates:
    """N tokens of the translations of M sentences, and the decoder states in which they are predicted."""

    hidden: Tensor
    """[N, d]."""
    tokens: Tensor
    """[N]."""
    lengths: LongArray
    """[M]: tokens of each sentence."""


@dataclass(frozen=True, eq=False)
class CachePredictions:
    """Predictions of Base and of each cache for T target sub-words.

    A cache is labelled by its content ('references'), or by choice and number of sentences ('graph 4').
    """

    temperatures: Sequence[float]
    sharpness: Sequence[int]
    base: Tensor
    """[temperatures, T]: log-probabilities of Base."""
    similarity: Mapping[str, Tensor]
    """[T] each: the similarity of the nearest state, -1 for an empty cache."""
    probability: Mapping[str, Tensor]
    """[sharpness, T] each: probabilities of the cache."""

    def losses(self, label: str, fit: CacheFit) -> Statistics:
        """Returns the losses [T] of Base, of the calibrated Base, or of the calibrated Base with a cache."""
        base = self.base[self.temperatures.index(1.0 if label == BASE else fit.temperature)].double()
        if label in (BASE, CALIBRATED):
            return -base.numpy()
        beta, weight = fit.caches[label]
        probability = self.probability[label][self.sharpness.index(beta)]
        return mix(base, self.similarity[label].double(), probability.double(), weight).numpy()


@dataclass(frozen=True)
class CacheFit:
    """The temperature of Base, and (β, w) of each cache."""

    temperature: float
    caches: Mapping[str, tuple[int, float]]

    def signature(self, labels: Iterable[str]) -> str:
        """Returns the fitted values of some caches as signature items."""
        caches = (f"{label}:β={beta},w={weight:g}" for label in labels for beta, weight in [self.caches[label]])
        return "|".join(["fit:dev", f"temperature:{self.temperature:g}", *caches])


def evidence(
    systems: Systems,
    documents: Documents,
    dev: Documents,
    translations: Mapping[str, Sequence[str]],
    search: SearchConfig,
    counts: Sequence[int] = COUNTS,
    log: Log = print,
) -> list[tuple[Breakdown, ...]]:
    """Returns the NLL per token of the Base of each system, and gains of caches, by part and by choice of sentences.

    `translations` are a system's own translations [S]; missing ones, and those of the dev split, are made here.
    """
    if unknown := translations.keys() - systems.keys():
        raise DocgraphError(f"there is no model '{min(unknown)}' for these translations; use the name of a model")
    layout = Layout(documents)
    parts, document_of = layout.all_token_parts, layout.document_of[layout.sentence_of]
    losses, fits = dict[str, dict[str, Statistics]](), dict[str, CacheFit]()
    for name, model in systems.items():
        base, given = base_of(model), translations.get(name)
        log(f"{name}: fit on {dev.name}")
        fit = fits[name] = fit_caches(predict_with_caches(base, dev, dev.translate(base, search), counts))
        log(f"{name}: caches of {documents.name}")
        own = documents.translate(base, search) if given is None else _split_by_document(given, layout.bounds)
        sharpness = sorted({beta for beta, _ in fit.caches.values()})
        predictions = predict_with_caches(base, documents, own, counts, (1.0, fit.temperature), sharpness)
        labels = (BASE, CALIBRATED, *(predictions.similarity.keys() & fit.caches.keys()))
        losses[name] = {label: predictions.losses(label, fit) for label in labels}
    return [
        _by_content(losses, fits, parts, document_of, documents.name),
        (_by_choice(losses, fits, counts, document_of, documents.name),),
    ]


def base_of(model: DocumentTransformer) -> DocumentTransformer:
    """Returns the Transformer of a system, with shared weights; it translates sentences without context."""
    base = checkpoint.blank(ModelConfig(model.config.transformer), "meta").eval()
    base.embeddings, base.encoder, base.decoder = model.embeddings, model.encoder, model.decoder
    return base


def _split_by_document(texts: Sequence[str], bounds: LongArray) -> list[list[str]]:
    return [list(texts[begin:end]) for begin, end in pairwise(bounds.tolist())]


def _by_content(
    losses: Losses, fits: Mapping[str, CacheFit], parts: Masks, document_of: LongArray, set_name: str
) -> tuple[Breakdown, ...]:
    """Returns the losses of Base, calibrated, and with a cache of all earlier sentences; and the gain of each cache."""
    rows, comparisons = dict[str, Statistics](), list[Comparison]()
    signature = [f"set:{set_name}"]
    for system, by_cache in losses.items():
        contents = [content for content in CONTENTS if content in by_cache]
        calibrated = f"{system} {CALIBRATED}"
        rows |= {system: loss_statistics(by_cache[BASE]), calibrated: loss_statistics(by_cache[CALIBRATED])}
        rows |= {f"{system} + {content}": loss_statistics(by_cache[content]) for content in contents}
        comparisons += [(f"{system}: {content}", f"{system} + {content}", calibrated) for content in contents]
        signature.append(f"system:{system}|{fits[system].signature(contents)}")
    style = BreakdownStyle("evidence-nll", "NLL", NLL, "tokens", (4, 4), "|".join(signature))
    return breakdown_by_part(style, rows, comparisons, parts, document_of)


def _by_choice(
    losses: Losses, fits: Mapping[str, CacheFit], counts: Sequence[int], document_of: LongArray, set_name: str
) -> Breakdown:
    """Returns the gain of a cache by number and choice of sentences; counts are the tokens that the cache changes."""
    labels = (*map(str, counts), ALL)
    values: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    changed: dict[str, list[int]] = {}
    signature = [f"bs:{SAMPLES}|seed:{SEED}|over:documents|interval:difference|set:{set_name}"]
    for system, by_cache in losses.items():
        calibrated = by_cache[CALIBRATED]
        calibrated_sums = sum_by_document(loss_statistics(calibrated), document_of)
        for choice in CHOICES:
            points = [by_cache[label] for label in (*(f"{choice} {count}" for count in counts), REFERENCES)]
            sums = [sum_by_document(loss_statistics(point), document_of) for point in points]
            series = f"{system}, {choice}"
            values[series] = [float(np.mean(point - calibrated)) for point in points]
            intervals[series] = [
                difference_interval(one, calibrated_sums, NLL) if len(one) > 1 else None for one in sums
            ]
            changed[series] = [int((point != calibrated).sum()) for point in points]
        every = [f"{choice} {count}" for choice in CHOICES for count in counts]
        signature.append(f"system:{system}|{fits[system].signature([*every, REFERENCES])}")
    signature.append(f"documents:{document_of.max(initial=-1) + 1}|docgraph:{__version__}")
    numbers = labels, values, intervals, changed, "tokens changed", "|".join(signature), (4, 4)
    return Breakdown("evidence-choice", "Δ NLL", "earlier references in the cache, in sentences", *numbers)


def fit_caches(predictions: CachePredictions) -> CacheFit:
    """Returns the temperature with the least loss and, given it, the β and w with the least loss of each cache."""
    temperature = predictions.temperatures[int(predictions.base.sum(1).argmax())]
    caches: dict[str, tuple[int, float]] = {}
    for label in predictions.similarity:
        grid = [(beta, weight) for beta in predictions.sharpness for weight in WEIGHTS]
        caches[label] = min(
            grid, key=lambda values: predictions.losses(label, CacheFit(temperature, {label: values})).sum()
        )
    return CacheFit(temperature, caches)


def predict_with_caches(
    model: DocumentTransformer,
    documents: Documents,
    own: Sequence[Sequence[str]],
    counts: Sequence[int] = COUNTS,
    temperatures: Sequence[float] = TEMPERATURES,
    sharpness: Sequence[int] = SHARPNESS,
) -> CachePredictions:
    """Returns the predictions of Base and of caches for the references.

    There is a cache for each content and, with references as content, for each choice and number of sentences. `own`
    are the translations of Base, by document.
    """
    base = list[Tensor]()
    similarity, probability = defaultdict[str, list[Tensor]](list), defaultdict[str, list[Tensor]](list)
    for number, queries, caches in _caches(model, documents, own):
        base.append(log_probabilities(model, queries, temperatures))
        for content, cache in caches.items():
            views = {content: np.tri(len(queries.lengths), k=-1, dtype=np.bool_)}
            if content == REFERENCES:
                views |= choose_sentences(documents.documents[number], counts, number)
            looked_up = look_up(queries, cache, np.stack(list(views.values())), sharpness)
            for label, nearest, probabilities in zip(views, *looked_up, strict=True):
                similarity[label].append(nearest)
                probability[label].append(probabilities)
    if not base:
        raise DocgraphError(f"there is no document in {documents.name}; prepare some")
    joined = ({label: torch.cat(rows, -1) for label, rows in one.items()} for one in (similarity, probability))
    return CachePredictions(temperatures, sharpness, torch.cat(base, -1), *joined)


def choose_sentences(document: SourceDocument, counts: Sequence[int], seed: int) -> dict[str, BoolArray]:
    """Returns [M, M] for each choice and count: the earlier sentences that each sentence sees."""
    size = len(document)
    assert document.annotation is not None
    graph, rng = build_graph(document.annotation, "inter"), np.random.default_rng([SEED, seed])
    shuffled = np.full((size, max(counts)), -1)
    for m in range(size):
        drawn = rng.permutation(m)[: max(counts)]
        shuffled[m, : len(drawn)] = drawn
    masks: dict[str, BoolArray] = {}
    for count in counts:
        nearest = np.arange(size)[:, None] - np.arange(1, count + 1)
        tables = select(graph, 0, count).sentences, np.maximum(nearest, -1), shuffled[:, :count]
        masks |= {f"{choice} {count}": _as_mask(table) for choice, table in zip(CHOICES, tables, strict=True)}
    return masks


def _as_mask(table: Integers) -> BoolArray:
    """Returns [M, M] from sentence numbers [M, K]; -1 is none."""
    mask = np.zeros((len(table), len(table) + 1), dtype=np.bool_)
    np.put_along_axis(mask, table.astype(np.int64), True, axis=1)
    return mask[:, :-1]


def _caches(
    model: DocumentTransformer, documents: Documents, own: Sequence[Sequence[str]]
) -> Iterator[tuple[int, DecoderStates, dict[str, DecoderStates]]]:
    """Yields for each document its number, the states of its references, and a cache of M sentences per content."""
    everything, coder = documents.documents, documents.tokenizer.target
    donated: list[list[tuple[int, int]]] = [[] for _ in everything]
    for (number, _, _), donor in pair_with_donors([len(document) for document in everything]):
        other, begin, end = donor or (number, 0, 0)
        donated[number] += [(other, m) for m in range(begin, end)]
    for number, document in enumerate(everything):
        if not len(document):
            continue
        references = decoder_states(model, document.source, document.target)
        caches = {REFERENCES: references, OWN: decoder_states(model, document.source, coder.ids(own[number]))}
        if len(everything) > 1:
            pairs = ((everything[d].source[m], everything[d].target[m]) for d, m in donated[number])
            caches[OTHER] = decoder_states(model, *zip(*pairs, strict=True))
        yield number, references, caches


@torch.inference_mode()
def decoder_states(model: DocumentTransformer, source: Sequence[Ids], target: Sequence[Ids]) -> DecoderStates:
    """Returns the decoder states of a sentence-level model at every token of the translations of M sentences."""
    states, tokens = list[Tensor](), list[Tensor]()
    for part in even_parts(len(source), SENTENCES):
        inside = slice(part.start, part.stop)
        batch = collate([DocumentExample(source[inside], target[inside])], model.config.transformer.bos)
        batch = batch.to(model.device)
        assert batch.gold is not None
        states.append(model.states(batch, Memories()).hidden.float())
        tokens.append(batch.gold)
    return DecoderStates(torch.cat(states), torch.cat(tokens), np.array([len(ids) for ids in target]))


@torch.inference_mode()
def log_probabilities(model: DocumentTransformer, queries: DecoderStates, temperatures: Sequence[float]) -> Tensor:
    """Returns the log-probabilities of the tokens of `queries`, [temperatures, N], on the CPU."""
    chunk = max(1, CHUNK_ELEMENTS // model.config.transformer.target_vocabulary)
    chunks = []
    for begin in range(0, len(queries.tokens), chunk):
        hidden, gold = queries.hidden[begin : begin + chunk], queries.tokens[begin : begin + chunk]
        logits = model.embeddings.logits(hidden)
        own = logits.gather(1, gold[:, None])[:, 0]
        chunks.append(torch.stack([own / t - (logits / t).logsumexp(-1) for t in temperatures]))
    return torch.cat(chunks, dim=1).cpu()


@torch.inference_mode()
def look_up(
    queries: DecoderStates, cache: DecoderStates, views: BoolArray, sharpness: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Returns the predictions of a cache for N tokens, on the CPU: similarities [V, N] and probabilities [V, β, N].

    `views` [V, M, M]: sentence m sees the cached sentences views[:, m], all of them before m. The similarity is that of
    the nearest state, -1 for an empty cache. Weights are summed by cached sentence once for all views; the sums over
    the visible sentences give the softmax.
    """
    keys, states = F.normalize(cache.hidden, dim=1), F.normalize(queries.hidden, dim=1)
    sentence_of, ends = np.repeat(np.arange(len(queries.lengths)), queries.lengths), np.cumsum(cache.lengths)
    lengths, masks = (torch.from_numpy(array).to(states.device) for array in (cache.lengths, views))
    rows = max(1, SIMILARITIES // max(len(keys), 1))
    nearest, probabilities = list[Tensor](), list[Tensor]()
    for begin in range(0, len(states), rows):
        inside = slice(begin, begin + rows)
        count = max(int(sentence_of[inside][-1]), 1)  # no query sees later sentences
        size = int(ends[count - 1])
        similarity = keys[:size] @ states[inside].T
        same_token = cache.tokens[:size, None] == queries.tokens[inside]
        visible = masks[:, torch.from_numpy(sentence_of[inside]).to(states.device), :count].mT
        by_sentence = partial(torch.segment_reduce, lengths=lengths[:count], axis=0)
        nearest.append(torch.where(visible, by_sentence(similarity, "max"), -1.0).amax(1))
        by_sharpness = []
        for beta in sharpness:
            weights = (beta * (similarity - 1)).exp()  # at most 1
            right, total = ((by_sentence(one, "sum") * visible).sum(1) for one in (weights * same_token, weights))
            by_sharpness.append(right / total.clamp(min=torch.finfo(total.dtype).tiny))
        probabilities.append(torch.stack(by_sharpness, dim=1))
    return torch.cat(nearest, dim=-1).cpu(), torch.cat(probabilities, dim=-1).cpu()


def mix(base: Tensor, similarity: Tensor, probability: Tensor, weight: float) -> Tensor:
    """Returns losses [N] of Base mixed with a cache, from log-probabilities of Base and the cache's `look_up` [N]."""
    trust = weight * (2 * similarity - 1).clamp(min=0).square()
    return -torch.logaddexp(base + (-trust).log1p(), trust.log() + probability.log())
