"""BLEU with less context, with shorter documents, and with noisier syntax trees (the paper's figures)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import ne

import numpy as np
import torch

from docgraph.annotation import Annotation, IntArray
from docgraph.errors import DocgraphError
from docgraph.evaluation.buckets import SAMPLES, Breakdown
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import Measurement, Statistics, format_signature, measure
from docgraph.evaluation.significance import SEED
from docgraph.model.batch import DocumentExample, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.packing import windows
from docgraph.model.systems import context_class, context_needs, prepare
from docgraph.model.tokenizer import words_by_space
from docgraph.research.analysis_inputs import Documents, Log, Systems
from docgraph.research.context_use import ALL, difference_interval
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.decoding.search import search

REACHES = (0, 1, 3, 5, 10)
SIZES = (1, 5, 10, 20, 50)
RATES = (0.1, 0.2, 0.4, 0.8)
Texts = list[list[str]]
"""Sentences by document."""
Outputs = Mapping[str, Mapping[str, list[Texts]]]
"""By system and point of the axis: one output, or several random draws."""
SentenceKey = tuple[int, int]
"""A document, and a sentence of it."""
Translations = dict[SentenceKey, tuple[int, ...]]
"""Translations in sub-words."""
CONTEXT_TOKENS = {"cpu": 1 << 15, "cuda": 1 << 18}
"""Source sub-words of the views that are encoded together; one sentence of each view is decoded."""


@dataclass(frozen=True)
class Axis:
    """The variable of an analysis: its name, its label, and the point that others are compared with."""

    name: str
    label: str
    usual: str


def context_size(
    systems: Systems,
    documents: Documents,
    search: SearchConfig,
    reaches: Sequence[int] = REACHES,
    log: Log = print,
    *,
    known: bool = False,
) -> Breakdown:
    """Returns BLEU if each sentence sees only so many sentences before and after it, and with all of them.

    With `known`, references are the target context.
    """
    outputs: dict[str, dict[str, list[Texts]]] = {}
    for name, model in systems.items():
        outputs[name] = {}
        translations: Translations = {}
        for reach in sorted(reaches):
            log(f"{name}: {reach} sentences of context")
            translations = decode_within(model, documents, reach, search, translations, known=known)
            outputs[name][str(reach)] = [documents.detokenize(translations)]
        log(f"{name}: all sentences of context")
        outputs[name][ALL] = [documents.translate(model, search, known=known)]
    label = "sentences of context before and after" + (", their translations known" if known else "")
    return bleu_curve(Axis("context-size", label, ALL), outputs, documents)


def document_size(
    systems: Systems, documents: Documents, search: SearchConfig, sizes: Sequence[int] = SIZES, log: Log = print
) -> Breakdown:
    """Returns BLEU if documents are cut into even parts of at most so many sentences, translated independently."""
    outputs: dict[str, dict[str, list[Texts]]] = {}
    for name, model in systems.items():
        outputs[name] = {}
        for size in sizes:
            log(f"{name}: documents of {size} sentences")
            parts = [even_parts(len(document), size) for document in documents.documents]
            outputs[name][str(size)] = [documents.translate(model, search, parts)]
        log(f"{name}: whole documents")
        outputs[name][ALL] = [documents.translate(model, search)]
    return bleu_curve(Axis("document-size", "sentences of a document at most", ALL), outputs, documents)


def even_parts(sentences: int, size: int) -> list[range]:
    """Returns the fewest ranges of at most `size` sentences, of about equal length."""
    bounds = np.linspace(0, sentences, -(-sentences // size) + 1).round().astype(int).tolist()
    return [range(begin, end) for begin, end in pairwise(bounds)]


def dependency_noise(
    systems: Systems,
    documents: Documents,
    search: SearchConfig,
    rates: Sequence[float] = RATES,
    draws: int = 3,
    log: Log = print,
) -> Breakdown:
    """Returns BLEU if words are attached to another head at these rates; `draws` random trees per rate are pooled."""
    annotations = [document.annotation for document in documents.documents if document.annotation is not None]
    if not annotations or any(annotation.heads is None for annotation in annotations):
        raise DocgraphError("these documents have no syntactic trees; prepare them with an annotator that parses")
    outputs: dict[str, dict[str, list[Texts]]] = {name: {} for name in systems}
    for rate in (0.0, *rates):
        seeds = range(draws if rate else 1)
        noisy = [documents.with_annotations(partial(reattach, rate=rate, seed=seed)) for seed in seeds]
        scores = [attachment_score(gold, reattach(gold, rate, seed)) for gold in annotations for seed in seeds]
        weights = [gold.num_words for gold in annotations for _ in seeds]
        label = f"{rate:.0%}\n(UAS {100 * np.average(scores, weights=weights):.1f})"
        for name, model in systems.items():
            log(f"{name}: {rate:.0%} of words attached to another head")
            outputs[name][label] = [changed.translate(model, search) for changed in noisy]
    usual = next(iter(next(iter(outputs.values()))))
    return bleu_curve(Axis("dependency-noise", "words attached to another head", usual), outputs, documents)


def bleu_curve(axis: Axis, outputs: Outputs, documents: Documents) -> Breakdown:
    """Returns BLEU at each point of the axis, with the interval of the difference to the usual point.

    Counts are the sentences that differ from the usual output, as the mean over the draws of a point.
    """
    bounds = np.cumsum([0, *(len(document) for document in documents.documents)])
    reference = [text for document in documents.documents for text in document.reference]
    labels = list(next(iter(outputs.values())))
    values: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    counts: dict[str, list[int]] = {}
    for name, points in outputs.items():
        sentences = {
            f"{point} {draw}": [text for lines in texts for text in lines]
            for point, drawn in points.items()
            for draw, texts in enumerate(drawn)
        }
        data = EvaluationSet(reference, sentences, bounds)
        measured = measure("bleu", data)
        draws = {point: [f"{point} {draw}" for draw in range(len(points[point]))] for point in labels}
        sums = {point: _sum_by_document(measured, data, draws[point]) for point in labels}
        values[name] = [float(measured.scorer(sums[point].sum(axis=0))) for point in labels]
        intervals[name] = [_interval(sums[point], sums[axis.usual], measured) for point in labels]
        usual = sentences[draws[axis.usual][0]]
        changed = {system: sum(map(ne, usual, lines)) for system, lines in sentences.items()}
        counts[name] = [round(float(np.mean([changed[system] for system in draws[point]]))) for point in labels]
    items = {
        "bs": str(SAMPLES),
        "seed": str(SEED),
        "over": "documents",
        "interval": "difference",
        "set": documents.name,
    }
    signature = format_signature(measured.signature | items, data, "sentence")
    numbers = tuple(labels), values, intervals, counts
    return Breakdown(axis.name, "BLEU", axis.label, *numbers, "sentences changed", signature)


def _sum_by_document(measured: Measurement, data: EvaluationSet, systems: Sequence[str]) -> Statistics:
    """Returns [D, statistics]: sums over the sentences of each document and over some systems."""
    total = np.sum([measured.statistics[system] for system in systems], axis=0)
    return np.add.reduceat(total, data.documents[:-1], axis=0)


def _interval(point: Statistics, usual: Statistics, measured: Measurement) -> tuple[float, float]:
    """Returns the usual score plus the 95% interval of the difference to it."""
    value = float(measured.scorer(usual.sum(axis=0)))
    low, high = difference_interval(point, usual, measured.scorer)
    return value + low, value + high


@dataclass(frozen=True, eq=False)
class _View:
    """A sentence and the sentences of its document that it may see."""

    key: SentenceKey
    first: int
    """The first visible sentence."""
    example: DocumentExample

    @property
    def size(self) -> int:
        return sum(map(len, self.example.source))


@torch.inference_mode()
def decode_within(
    model: DocumentTransformer,
    documents: Documents,
    reach: int,
    config: SearchConfig = SearchConfig(),
    guess: Translations | None = None,
    *,
    known: bool = False,
) -> Translations:
    """Returns the translations of all sentences, each with `reach` sentences of context before and after it.

    The rest of the document is absent, not masked: the graph is built from the visible sentences alone, which is exact
    for every system. The translations that a sentence reads were made under the same restriction. As in
    `docgraph.translation.decoding.document_decoding`, all sentences are decoded at once and again until nothing
    changes, with the result of decoding them in order.

    A good `guess`, such as the translations with less context, saves passes and does not change the result. With
    `known`, each sentence reads the references of the earlier sentences in place of their translations.
    """
    views = list(_views(model, documents, reach, known))
    if known:
        return dict(_decode_views(model, documents, views, _references(documents), config))
    translations = dict(guess or {})
    pending = views
    while pending:
        decoded = dict(_decode_views(model, documents, pending, translations, config))
        changed = {key for key, tokens in decoded.items() if translations.get(key) != tokens}
        translations |= decoded
        pending = []
        if context_needs(model.config).reads_own_translations:
            pending = [v for v in views if any((v.key[0], m) in changed for m in range(v.first, v.key[1]))]
    return translations


def _references(documents: Documents) -> Translations:
    numbered = enumerate(documents.documents)
    return {(number, m): tuple(ids[:-1].tolist()) for number, one in numbered for m, ids in enumerate(one.target)}


def _views(model: DocumentTransformer, documents: Documents, reach: int, known: bool) -> Iterator[_View]:
    for number, document in enumerate(documents.documents):
        for m in range(len(document)):
            visible = range(max(0, m - reach), min(len(document), m + reach + 1))
            current = m - visible.start
            given = np.arange(len(visible)) < current if known else np.zeros(len(visible), dtype=np.bool_)
            example = replace(document.part(visible, model.config), target=(), target_words=(), given=given)
            example = prepare(example, model.config)
            yield _View((number, m), visible.start, replace(example, window=range(current, current + 1)))


def _decode_views(
    model: DocumentTransformer,
    documents: Documents,
    views: Sequence[_View],
    translations: Translations,
    config: SearchConfig,
) -> Iterator[tuple[SentenceKey, tuple[int, ...]]]:
    """Yields the translation of the sentence of each view, with the current translations as its context."""
    context, bos = context_class(model.config), model.config.transformer.bos
    room = CONTEXT_TOKENS["cuda" if model.device.type == "cuda" else "cpu"]
    for part in windows([view.size for view in views], room) if views else ():
        group = views[part.start : part.stop]
        examples = [
            _with_translations(view, documents, translations) if translations else view.example for view in group
        ]
        batch = collate(examples, bos).to(model.device)
        memories = model.memories(batch)
        hypotheses = search(model, batch, model.encode(batch, memories), memories, config)
        for view, (best, *_) in zip(group, hypotheses, strict=True):
            yield view.key, context.translation(model.config, best.tokens)


def _with_translations(view: _View, documents: Documents, translations: Translations) -> DocumentExample:
    """Returns the view with the translations before its sentence; later ones are empty and never read."""
    (document, current), coder = view.key, documents.tokenizer.target
    visible = range(view.first, view.first + len(view.example.source))
    targets = [np.array([*(translations[document, m] if m < current else ()), coder.eos]) for m in visible]
    words = [words_by_space(coder.pieces(target)) for target in targets]
    return replace(view.example, target=targets, target_words=words)


def reattach(annotation: Annotation, rate: float, seed: int = 0) -> Annotation:
    """Returns the annotation with each word but the root attached, with probability `rate`, to another head.

    The new head is drawn uniformly among the words of the sentence that are neither the old head nor descendants of the
    word, so trees stay trees; if there is no such word, the old head stays. The result depends on the seed and the
    annotation alone.
    """
    if annotation.heads is None:
        return annotation
    rng = np.random.default_rng([seed, annotation.num_words])
    heads = annotation.heads.copy()
    for begin, end in pairwise(annotation.offsets.tolist()):
        drawn = rng.random(end - begin) < rate
        for word in (begin + np.flatnonzero(drawn)).tolist():
            if heads[word] != word:
                heads[word] = _another_head(heads, word, rng.permutation(np.arange(begin, end)))
    return replace(annotation, heads=heads)


def _another_head(heads: IntArray, word: int, candidates: IntArray) -> int:
    """Returns the first candidate that is neither the head nor in the subtree of the word; else the head."""
    for candidate in candidates.tolist():
        if candidate != heads[word] and not _in_subtree(heads, candidate, word):
            return int(candidate)
    return int(heads[word])


def _in_subtree(heads: IntArray, node: int, word: int) -> bool:
    """Returns whether `node` is the word itself or one of its descendants."""
    while node != word:
        if heads[node] == node:
            return False
        node = int(heads[node])
    return True


def attachment_score(gold: Annotation, other: Annotation) -> float:
    """Returns the unlabelled attachment score (UAS): the share of words with the same head in both."""
    assert gold.heads is not None
    assert other.heads is not None
    return float((gold.heads == other.heads).mean()) if gold.num_words else 1.0
