"""What a document's earlier translations could tell a model of sentences: a cache, and nothing trained.

The cache (Tu et al. 2018, Khandelwal et al. 2021) holds the tokens y_j of sentences before the current one and the
states h_j the decoder was in when they were chosen, scaled to length 1. Of a token y in state h it says

    p(y) = (1 - λ) p_base(y) + λ Σ_j softmax_j(β h·h_j) [y_j = y],    λ = w max(0, 2 max_j h·h_j - 1)²

where p_base is Base calibrated: its softmax at the temperature of least loss on the dev split. Beside Base as it is, a
cache would gain by undoing label smoothing. β and w of each cache are those of least loss there, too, given that.
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
from docgraph.evaluation.metrics import Scorer, Statistics, ratio_scores
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
from docgraph.research.analyses import ALL, Progress, Systems, difference_interval, pieces
from docgraph.research.context_use import Layout, Masks, Shown, breakdowns, by_document
from docgraph.research.documents import Documents, SourceDocument
from docgraph.training.validation import pair_with_donors
from docgraph.translation.hypotheses import SearchConfig

COUNTS = (1, 2, 4, 8, 16)
TEMPERATURES = tuple(hundredths / 100 for hundredths in range(70, 122, 2))
SHARPNESS = (8, 16, 32, 64, 128)
"""β."""
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9)
"""w; without weight the cache is silent."""
BASE, CALIBRATED = "base", "calibrated"
KINDS = REFERENCES, OWN, OTHER = "references", "own translations", "another document"
CHOICES = ("graph", "nearest", "random")
SENTENCES = 256
"""Decoded together."""
SIMILARITIES = 1 << 24
"""Held at once."""
Losses = Mapping[str, Mapping[str, Statistics]]
"""[T] by system and cache."""
NLL: Scorer = partial(ratio_scores, scale=1)


@dataclass(frozen=True, eq=False)
class Decisions:
    """N tokens of the translations of M sentences, and the decoder states they are chosen in."""

    hidden: Tensor
    """[N, d]."""
    tokens: Tensor
    """[N]."""
    lengths: LongArray
    """[M]."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What Base and caches say of T target sub-words; caches go by kind, and by choice and count ('graph 4')."""

    temperatures: Sequence[float]
    sharpness: Sequence[int]
    base: Tensor
    """[temperatures, T]: log-probabilities."""
    top: Mapping[str, Tensor]
    """[T] each: the similarity of the nearest state, -1 where there is none."""
    share: Mapping[str, Tensor]
    """[sharpness, T] each: probabilities."""

    def losses(self, label: str, fit: Fit) -> Statistics:
        """[T]: of Base as it is, of Base calibrated, or of that with a cache."""
        base = self.base[self.temperatures.index(1.0 if label == BASE else fit.temperature)].double()
        if label in (BASE, CALIBRATED):
            return -base.numpy()
        beta, weight = fit.caches[label]
        share = self.share[label][self.sharpness.index(beta)]
        return mixed(base, self.top[label].double(), share.double(), weight).numpy()


@dataclass(frozen=True)
class Fit:
    """The temperature of Base, and (β, w) of each cache."""

    temperature: float
    caches: Mapping[str, tuple[int, float]]

    def signature(self, labels: Iterable[str]) -> str:
        caches = (f"{label}:β={beta},w={weight:g}" for label in labels for beta, weight in [self.caches[label]])
        return "|".join(["fit:dev", f"temperature:{self.temperature:g}", *caches])


def evidence(
    systems: Systems,
    documents: Documents,
    dev: Documents,
    translations: Mapping[str, Sequence[str]],
    search: SearchConfig,
    counts: Sequence[int] = COUNTS,
    say: Progress = print,
) -> list[tuple[Breakdown, ...]]:
    """NLL a token of the Base in each system and what caches gain beside it calibrated, by parts and by choice.

    A system's own translations [S] are made here where they are not given, and those of the dev split always.
    """
    if unknown := translations.keys() - systems.keys():
        raise DocgraphError(f"there is no model '{min(unknown)}' to go with these translations; name one so")
    layout = Layout(documents)
    parts = {label: mask[layout.sentence_of] for label, mask in layout.sentence_parts.items()} | layout.token_parts
    losses, fits = dict[str, dict[str, Statistics]](), dict[str, Fit]()
    for name, model in systems.items():
        base, given = base_of(model), translations.get(name)
        say(f"{name}: fit on {dev.name}")
        fit = fits[name] = fitted(gathered(base, dev, dev.translate(base, search), counts))
        say(f"{name}: caches of {documents.name}")
        own = documents.translate(base, search) if given is None else _by_document(given, layout.bounds)
        sharpness = sorted({beta for beta, _ in fit.caches.values()})
        found = gathered(base, documents, own, counts, (1.0, fit.temperature), sharpness)
        labels = (BASE, CALIBRATED, *(found.top.keys() & fit.caches.keys()))
        losses[name] = {label: found.losses(label, fit) for label in labels}
    document_of = layout.document_of[layout.sentence_of]
    return [
        _kinds(losses, fits, parts, document_of, documents.name),
        (_curve(losses, fits, counts, document_of, documents.name),),
    ]


def _kinds(
    losses: Losses, fits: Mapping[str, Fit], parts: Masks, document_of: LongArray, name: str
) -> tuple[Breakdown, ...]:
    """The loss of Base, calibrated, and with each kind of cache of all earlier sentences; what these gain then."""
    rows, compared, told = dict[str, Statistics](), list[tuple[str, str, str]](), [f"set:{name}"]
    for system, found in losses.items():
        kinds = [kind for kind in KINDS if kind in found]
        calibrated = f"{system} {CALIBRATED}"
        rows |= {system: _statistics(found[BASE]), calibrated: _statistics(found[CALIBRATED])}
        rows |= {f"{system} + {kind}": _statistics(found[kind]) for kind in kinds}
        compared += [(f"{system}: {kind}", f"{system} + {kind}", calibrated) for kind in kinds]
        told.append(f"system:{system}|{fits[system].signature(kinds)}")
    how = Shown("evidence-nll", "NLL", NLL, "tokens", (4, 4), "|".join(told))
    return breakdowns(how, rows, compared, parts, document_of)


def base_of(model: DocumentTransformer) -> DocumentTransformer:
    """The Transformer in a system, with the same weights: it reads sentences alone."""
    base = checkpoint.blank(ModelConfig(model.config.transformer), "meta").eval()
    base.embeddings, base.encoder, base.decoder = model.embeddings, model.encoder, model.decoder
    return base


def _by_document(texts: Sequence[str], bounds: LongArray) -> list[list[str]]:
    return [list(texts[begin:end]) for begin, end in pairwise(bounds.tolist())]


def _statistics(losses: Statistics) -> Statistics:
    """[T, 2]: losses [T] and what they are counted over."""
    return np.stack([losses, np.ones_like(losses)], axis=1)


def _curve(
    losses: Losses, fits: Mapping[str, Fit], counts: Sequence[int], document_of: LongArray, name: str
) -> Breakdown:
    """What each choice of so many sentences gains; counted are the tokens the cache has something to say of."""
    labels = (*map(str, counts), ALL)
    values: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    changed: dict[str, list[int]] = {}
    told = [f"bs:{SAMPLES}|seed:{SEED}|over:documents|interval:difference|set:{name}"]
    for system, found in losses.items():
        usual = by_document(_statistics(found[CALIBRATED]), document_of)
        for choice in CHOICES:
            caches = [*(f"{choice} {count}" for count in counts), REFERENCES]
            steps = [found[label] for label in caches]
            sums = [by_document(_statistics(step), document_of) for step in steps]
            series = f"{system}, {choice}"
            values[series] = [float(np.mean(step - found[CALIBRATED])) for step in steps]
            intervals[series] = [difference_interval(one, usual, NLL) if len(one) > 1 else None for one in sums]
            changed[series] = [int((step != found[CALIBRATED]).sum()) for step in steps]
        every = [f"{choice} {count}" for choice in CHOICES for count in counts]
        told.append(f"system:{system}|{fits[system].signature([*every, REFERENCES])}")
    told.append(f"documents:{document_of.max(initial=-1) + 1}|docgraph:{__version__}")
    shown = labels, values, intervals, changed, "tokens changed", "|".join(told), (4, 4)
    return Breakdown("evidence-choice", "Δ NLL", "earlier references in the cache, in sentences", *shown)


def fitted(found: Evidence) -> Fit:
    """The temperature of least loss and, given it, the sharpness and weight of least loss of each cache."""
    temperature = found.temperatures[int(found.base.sum(1).argmax())]
    caches: dict[str, tuple[int, float]] = {}
    for label in found.top:
        grid = [(beta, weight) for beta in found.sharpness for weight in WEIGHTS]
        caches[label] = min(grid, key=lambda one: found.losses(label, Fit(temperature, {label: one})).sum())
    return Fit(temperature, caches)


def gathered(
    model: DocumentTransformer,
    documents: Documents,
    own: Sequence[Sequence[str]],
    counts: Sequence[int] = COUNTS,
    temperatures: Sequence[float] = TEMPERATURES,
    sharpness: Sequence[int] = SHARPNESS,
) -> Evidence:
    """What Base says of the references, and caches of each kind and, of references, of each choice of sentences.

    `own` are the sentences of Base's translations, by document.
    """
    base, top, share = list[Tensor](), defaultdict[str, list[Tensor]](list), defaultdict[str, list[Tensor]](list)
    for number, queries, caches in _caches(model, documents, own):
        base.append(log_probabilities(model, queries, temperatures))
        for kind, cache in caches.items():
            views = {kind: np.tri(len(queries.lengths), k=-1, dtype=np.bool_)}
            if kind == REFERENCES:
                views |= chosen(documents.documents[number], counts, number)
            found = recall(queries, cache, np.stack(list(views.values())), sharpness)
            for label, nearest, said in zip(views, *found, strict=True):
                top[label].append(nearest)
                share[label].append(said)
    if not base:
        raise DocgraphError(f"there is no document in {documents.name}; prepare some")
    tops, shares = ({label: torch.cat(rows, -1) for label, rows in one.items()} for one in (top, share))
    return Evidence(temperatures, sharpness, torch.cat(base, -1), tops, shares)


def chosen(document: SourceDocument, counts: Sequence[int], seed: int) -> dict[str, BoolArray]:
    """[M, M] for each choice and count: the sentences that each sentence sees, all of them before it."""
    size = len(document)
    assert document.annotation is not None
    graph, rng = build_graph(document.annotation, "inter"), np.random.default_rng([SEED, seed])
    shuffled = np.full((size, max(counts)), -1)
    for m in range(size):
        drawn = rng.permutation(m)[: max(counts)]
        shuffled[m, : len(drawn)] = drawn
    found: dict[str, BoolArray] = {}
    for count in counts:
        nearest = np.arange(size)[:, None] - np.arange(1, count + 1)
        tables = select(graph, 0, count).sentences, np.maximum(nearest, -1), shuffled[:, :count]
        found |= {f"{choice} {count}": _seen(table) for choice, table in zip(CHOICES, tables, strict=True)}
    return found


def _seen(table: Integers) -> BoolArray:
    """[M, M] of sentences [M, K], -1 being none."""
    seen = np.zeros((len(table), len(table) + 1), dtype=np.bool_)
    np.put_along_axis(seen, table.astype(np.int64), True, axis=1)
    return seen[:, :-1]


def _caches(
    model: DocumentTransformer, documents: Documents, own: Sequence[Sequence[str]]
) -> Iterator[tuple[int, Decisions, dict[str, Decisions]]]:
    """Of each document its number, its references, and what caches of each kind hold: as many sentences."""
    everything, coder = documents.documents, documents.tokenizer.target
    lent: list[list[tuple[int, int]]] = [[] for _ in everything]
    for (number, _, _), donor in pair_with_donors([len(document) for document in everything]):
        other, begin, end = donor or (number, 0, 0)
        lent[number] += [(other, m) for m in range(begin, end)]
    for number, document in enumerate(everything):
        if not len(document):
            continue
        references = decisions(model, document.source, document.target)
        caches = {REFERENCES: references, OWN: decisions(model, document.source, coder.ids(own[number]))}
        if len(everything) > 1:
            sides = zip(*((everything[d].source[m], everything[d].target[m]) for d, m in lent[number]), strict=True)
            caches[OTHER] = decisions(model, *sides)
        yield number, references, caches


@torch.inference_mode()
def decisions(model: DocumentTransformer, source: Sequence[Ids], target: Sequence[Ids]) -> Decisions:
    """What a model of sentences is like at every token of the translations of M sentences."""
    states, tokens = list[Tensor](), list[Tensor]()
    for part in pieces(len(source), SENTENCES):
        inside = slice(part.start, part.stop)
        batch = collate([DocumentExample(source[inside], target[inside])], model.config.transformer.bos)
        batch = batch.to(model.device)
        assert batch.gold is not None
        states.append(model.states(batch, Memories()).hidden.float())
        tokens.append(batch.gold)
    return Decisions(torch.cat(states), torch.cat(tokens), np.array([len(ids) for ids in target]))


@torch.inference_mode()
def log_probabilities(model: DocumentTransformer, queries: Decisions, temperatures: Sequence[float]) -> Tensor:
    """[temperatures, N] on the CPU: of the tokens decided for."""
    chunk = max(1, CHUNK_ELEMENTS // model.config.transformer.target_vocabulary)
    found = []
    for begin in range(0, len(queries.tokens), chunk):
        hidden, gold = queries.hidden[begin : begin + chunk], queries.tokens[begin : begin + chunk]
        logits = model.embeddings.logits(hidden)
        own = logits.gather(1, gold[:, None])[:, 0]
        found.append(torch.stack([own / t - (logits / t).logsumexp(-1) for t in temperatures]))
    return torch.cat(found, dim=1).cpu()


@torch.inference_mode()
def recall(queries: Decisions, cache: Decisions, views: BoolArray, sharpness: Sequence[int]) -> tuple[Tensor, Tensor]:
    """What a cache says of N tokens where sentence m sees the sentences views[:, m], all before place m: [V, M, M].

    The similarity of the nearest state, [V, N], -1 where there is none, and for each β the probability of the token,
    [V, β, N], on the CPU. Weights are summed sentence by sentence, once for all views: of the sentences seen,
    the sums give the softmax.
    """
    keys, states = F.normalize(cache.hidden, dim=1), F.normalize(queries.hidden, dim=1)
    sentence_of, ends = np.repeat(np.arange(len(queries.lengths)), queries.lengths), np.cumsum(cache.lengths)
    lengths, masks = (torch.from_numpy(array).to(states.device) for array in (cache.lengths, views))
    rows = max(1, SIMILARITIES // max(len(keys), 1))
    tops, shares = list[Tensor](), list[Tensor]()
    for begin in range(0, len(states), rows):
        inside = slice(begin, begin + rows)
        count = max(int(sentence_of[inside][-1]), 1)  # later sentences nobody sees
        size = int(ends[count - 1])
        similar = keys[:size] @ states[inside].T
        same = cache.tokens[:size, None] == queries.tokens[inside]
        seen = masks[:, torch.from_numpy(sentence_of[inside]).to(states.device), :count].mT
        by_sentence = partial(torch.segment_reduce, lengths=lengths[:count], axis=0)
        tops.append(torch.where(seen, by_sentence(similar, "max"), -1.0).amax(1))
        found = []
        for beta in sharpness:
            weights = (beta * (similar - 1)).exp()  # the largest there can be is 1
            right, total = ((by_sentence(one, "sum") * seen).sum(1) for one in (weights * same, weights))
            found.append(right / total.clamp(min=torch.finfo(total.dtype).tiny))
        shares.append(torch.stack(found, dim=1))
    return torch.cat(tops, dim=-1).cpu(), torch.cat(shares, dim=-1).cpu()


def mixed(base: Tensor, top: Tensor, share: Tensor, weight: float) -> Tensor:
    """Losses [N] from log-probabilities of Base, similarities of the nearest state and what the cache says [N]."""
    trust = weight * (2 * top - 1).clamp(min=0).square()
    return -torch.logaddexp(base + (-trust).log1p(), trust.log() + share.log())
