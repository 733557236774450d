"""The paper's analyses: how much context, how large a document, how good a tree, and how far attention reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import ne

import numpy as np

from docgraph import __version__
from docgraph.errors import DocgraphError
from docgraph.evaluation.buckets import SAMPLES, Breakdown, bucket_of, range_labels
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import Measurement, Scorer, Statistics, format_signature, measure
from docgraph.evaluation.significance import SEED, confidence_interval, resample
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import context_needs
from docgraph.research.documents import Documents, SourceDocument
from docgraph.research.reach import Found, decode_within
from docgraph.research.tree_noise import attachment_score, reattach
from docgraph.translation.explain import Reading, readings
from docgraph.translation.hypotheses import SearchConfig

REACHES = (0, 1, 3, 5, 10)
SIZES = (1, 5, 10, 20, 50)
RATES = (0.1, 0.2, 0.4, 0.8)
DISTANCES = (1, 2, 3, 5, 10, 20)
ALL = "all"
Systems = Mapping[str, DocumentTransformer]
Texts = list[list[str]]
"""Sentences by document."""
Outputs = Mapping[str, Mapping[str, list[Texts]]]
"""By system and step: one output, or several draws."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Axis:
    """What an analysis changes: a name, what the steps are of, and which of them is the usual case."""

    name: str
    label: str
    usual: str


def context_size(
    systems: Systems,
    documents: Documents,
    search: SearchConfig,
    reaches: Sequence[int] = REACHES,
    say: Progress = print,
    *,
    known: bool = False,
) -> Breakdown:
    """BLEU with so many sentences of context before and after each sentence at inference, and with all.

    With `known`, translations that are context are references.
    """
    outputs: dict[str, dict[str, list[Texts]]] = {}
    for name, model in systems.items():
        outputs[name] = {}
        found: Found = {}
        for reach in sorted(reaches):
            say(f"{name}: {reach} sentences of context")
            found = decode_within(model, documents, reach, search, found, known=known)
            outputs[name][str(reach)] = [documents.spell(found)]
        say(f"{name}: all sentences of context")
        outputs[name][ALL] = [documents.translate(model, search, known=known)]
    label = "sentences of context before and after" + (", their translations known" if known else "")
    return _curve(Axis("context-size", label, ALL), outputs, documents)


def document_size(
    systems: Systems, documents: Documents, search: SearchConfig, sizes: Sequence[int] = SIZES, say: Progress = print
) -> Breakdown:
    """BLEU where documents are cut into even pieces of at most so many sentences, which know nothing of each other."""
    outputs: dict[str, dict[str, list[Texts]]] = {}
    for name, model in systems.items():
        outputs[name] = {}
        for size in sizes:
            say(f"{name}: documents of {size} sentences")
            cuts = [pieces(len(document), size) for document in documents.documents]
            outputs[name][str(size)] = [documents.translate(model, search, cuts)]
        say(f"{name}: whole documents")
        outputs[name][ALL] = [documents.translate(model, search)]
    return _curve(Axis("document-size", "sentences of a document at most", ALL), outputs, documents)


def pieces(sentences: int, size: int) -> list[range]:
    """As few ranges of at most `size` sentences as there can be, of about the same length."""
    bounds = np.linspace(0, sentences, -(-sentences // size) + 1).round().astype(int).tolist()
    return [range(begin, end) for begin, end in pairwise(bounds)]


def dependency_noise(
    systems: Systems,
    documents: Documents,
    search: SearchConfig,
    rates: Sequence[float] = RATES,
    draws: int = 3,
    say: Progress = print,
) -> Breakdown:
    """BLEU with trees in which words are attached to another head at these rates; `draws` trees a rate, together."""
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
            say(f"{name}: {rate:.0%} of words attached to another head")
            outputs[name][label] = [changed.translate(model, search) for changed in noisy]
    usual = next(iter(next(iter(outputs.values()))))
    return _curve(Axis("dependency-noise", "words attached to another head", usual), outputs, documents)


def _curve(axis: Axis, outputs: Outputs, documents: Documents) -> Breakdown:
    """BLEU of every step, of several outputs together; intervals are those of the difference to the usual case.

    What is counted is how many sentences came out otherwise than usual, as a mean over the outputs of a step.
    """
    sizes = np.cumsum([0, *(len(document) for document in documents.documents)])
    reference = [text for document in documents.documents for text in document.reference]
    labels = list(next(iter(outputs.values())))
    values: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    counts: dict[str, list[int]] = {}
    for name, steps in outputs.items():
        flat = {
            f"{step} {draw}": [text for lines in texts for text in lines]
            for step, drawn in steps.items()
            for draw, texts in enumerate(drawn)
        }
        data = EvaluationSet(reference, flat, sizes)
        measured = measure("bleu", data)
        draws = {step: [f"{step} {draw}" for draw in range(len(steps[step]))] for step in labels}
        sums = {step: _by_document(measured, data, draws[step]) for step in labels}
        usual = flat[draws[axis.usual][0]]
        values[name] = [float(measured.scorer(sums[step].sum(axis=0))) for step in labels]
        intervals[name] = [_interval(sums[step], sums[axis.usual], measured) for step in labels]
        changed = {system: sum(map(ne, usual, lines)) for system, lines in flat.items()}
        counts[name] = [round(float(np.mean([changed[system] for system in draws[step]]))) for step in labels]
    items = {
        "bs": str(SAMPLES),
        "seed": str(SEED),
        "over": "documents",
        "interval": "difference",
        "set": documents.name,
    }
    signature = format_signature(measured.signature | items, data, "sentence")
    shown = tuple(labels), values, intervals, counts
    return Breakdown(axis.name, "BLEU", axis.label, *shown, "sentences changed", signature)


def _by_document(measured: Measurement, data: EvaluationSet, systems: Sequence[str]) -> Statistics:
    """[D, statistics]: sums over the sentences of each document and over some systems."""
    total = np.sum([measured.statistics[system] for system in systems], axis=0)
    return np.add.reduceat(total, data.documents[:-1], axis=0)


def _interval(step: Statistics, usual: Statistics, measured: Measurement) -> tuple[float, float]:
    """The middle 95% of the difference to the usual case, over the same resamples of documents, put at its value."""
    value = float(measured.scorer(usual.sum(axis=0)))
    low, high = difference_interval(step, usual, measured.scorer)
    return value + low, value + high


def difference_interval(ours: Statistics, other: Statistics, scorer: Scorer) -> tuple[float, float]:
    """The middle 95% of the difference of two scores over the same resamples of documents [D, statistics]."""
    return confidence_interval(resample(ours, scorer, SAMPLES) - resample(other, scorer, SAMPLES))


def attention_distance(systems: Systems, documents: Documents, say: Progress = print) -> Breakdown:
    """How much attention goes to context by its distance, relative to the same attention spread evenly over it.

    Means over sub-words, heads and layers, by one pass over the references; a sentence itself is not its context.
    """
    found: dict[str, Statistics] = {}
    for name, model in systems.items():
        say(f"{name}: attention")
        read = [] if _reads_words(model) else [_read(model, document) for document in documents.documents]
        sides: dict[str, Statistics] = {}
        for side in ("source", "target"):
            rows = [(m, w) for document in read for m, one in enumerate(document) if (w := getattr(one, side))]
            total = np.sum([_by_distance(m, weights) for m, weights in rows], axis=0)
            sides |= {f"{name}, {side}": total} if total.any() else {}
        if not sides:
            raise DocgraphError(f"'{name}' has no attention over the sentences of its document; choose another system")
        found |= sides
    spans = range_labels(DISTANCES)
    labels = [*(f"{span}\nbefore" for span in reversed(spans)), *(f"{span}\nafter" for span in spans)]
    kept = [index for index in range(len(labels)) if any(total[2, index] for total in found.values())]
    values = {name: [_ratio(total, index) for index in kept] for name, total in found.items()}
    counts = {name: [int(total[2, index]) for index in kept] for name, total in found.items()}
    none: dict[str, list[tuple[float, float] | None]] = {name: [None] * len(kept) for name in found}
    signature = f"set:{documents.name}|documents:{len(documents)}|translations:reference|docgraph:{__version__}"
    shown = tuple(labels[index] for index in kept), values, none, counts
    axis = "distance of the context, in sentences"
    return Breakdown("attention-distance", "attention (1: even)", axis, *shown, "pairs", signature)


def _reads_words(model: DocumentTransformer) -> bool:
    """Whether a system attends to words that the graph chose for it, wherever they stand."""
    return context_needs(model.config).links


def _read(model: DocumentTransformer, document: SourceDocument) -> list[Reading]:
    everything = range(len(document))
    return readings(model, document.part(everything, model.config), everything, len(document))


def _by_distance(m: int, weights: Mapping[int, float]) -> Statistics:
    """[3, labels]: what sentence m reads at each distance; as much, spread evenly; and how many sentences it reads."""
    size = len(DISTANCES) + 1
    found = np.zeros((3, 2 * size))
    others, read = np.array(list(weights), dtype=np.int64), np.array(list(weights.values()))
    buckets = bucket_of(np.abs(others - m), DISTANCES)
    places = np.where(others > m, size + buckets, size - 1 - buckets)
    np.add.at(found.T, places, np.stack([read, np.full_like(read, read.mean()), np.ones_like(read)], axis=1))
    return found


def _ratio(total: Statistics, index: int) -> float | None:
    return float(total[0, index] / total[1, index]) if total[2, index] else None
