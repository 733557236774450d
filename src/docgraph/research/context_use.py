"""Where context helps: losses and BLEU by parts of the references, and attention by distance.

Losses are per target token of the references, given the context of the document and given that of another document.
Links and words come from the annotation of the source, which a prepared corpus holds, so no annotator is needed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import groupby

import numpy as np
import torch

from docgraph import __version__
from docgraph.annotation import Annotation, BoolArray
from docgraph.errors import DocgraphError
from docgraph.evaluation.buckets import (
    DISTANCES,
    SAMPLES,
    Breakdown,
    LinkRelation,
    backward_links,
    bucket_of,
    linked_distances,
    range_labels,
)
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import Scorer, Statistics, measure, ratio_scores
from docgraph.evaluation.significance import SEED, confidence_interval, resample
from docgraph.graph.links import LongArray, ragged_ranges
from docgraph.graph.relations import is_function_word
from docgraph.model.batch import DocumentBatch, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import context_needs, prepare
from docgraph.research.analysis_inputs import Documents, Log, SourceDocument, Systems
from docgraph.training.validation import DonorPair, Span, group_by_tokens, pair_with_donors
from docgraph.translation.decoding.scoring import TOKENS, log_probabilities
from docgraph.translation.explain import context_weights

RARE = 0.1
"""A rare word occurs in at most this share of the documents, or in one."""
ALL, AXIS = "all", "part of the references"
NLL: Scorer = partial(ratio_scores, scale=1)
Masks = dict[str, BoolArray]
"""By label: which sentences [S], or which target sub-words [T], belong to a part."""
Rows = Mapping[str, Statistics]
"""By system: statistics of the sentences [S, K] or sub-words [T, K]."""
Comparison = tuple[str, str, str]
"""A label and the names of two systems: the difference is first minus second."""


def context_use(
    systems: Systems, documents: Documents, translations: Mapping[str, Sequence[str]], log: Log = print
) -> list[tuple[Breakdown, ...]]:
    """Returns NLL per token by parts of the references and, for given translations [S], BLEU.

    Each comes with differences and their intervals: to the first system and, for the loss, between the context of
    another document and the right one.
    """
    layout = Layout(documents)
    losses: dict[str, Statistics] = {}
    comparisons: list[Comparison] = []
    first = next(iter(systems))
    for name, model in systems.items():
        log(f"{name}: loss of the references")
        own, wrong = token_losses(model, documents)
        losses[name] = loss_statistics(own)
        comparisons += [(f"{name} − {first}", name, first)] if name != first else []
        if wrong is not None:
            losses[other := f"{name}, wrong context"] = loss_statistics(wrong)
            comparisons.append((f"{name}, wrong − own", other, name))
    style = BreakdownStyle("context-use-nll", "NLL", NLL, "tokens", (4, 4), f"set:{documents.name}")
    document_of_token = layout.document_of[layout.sentence_of]
    tables = [breakdown_by_part(style, losses, comparisons, layout.all_token_parts, document_of_token)]
    if translations:
        tables.append(_bleu_by_part(layout, translations))
    return tables


def _bleu_by_part(layout: Layout, translations: Mapping[str, Sequence[str]]) -> tuple[Breakdown, ...]:
    documents = layout.documents
    reference = [text for document in documents.documents for text in document.reference]
    outputs = {name: list(texts) for name, texts in translations.items()}
    measured = measure("bleu", EvaluationSet(reference, outputs, layout.bounds))
    first = next(iter(outputs))
    comparisons = [(f"{name} − {first}", name, first) for name in outputs if name != first]
    signature = "|".join([*(f"{key}:{value}" for key, value in measured.signature.items()), f"set:{documents.name}"])
    style = BreakdownStyle("context-use-bleu", "BLEU", measured.scorer, "sentences", (2, 2), signature)
    return breakdown_by_part(style, measured.statistics, comparisons, layout.sentence_parts, layout.document_of)


class Layout:
    """T target sub-words in S sentences of D documents, concatenated, and the parts they are divided into."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        counts = [len(document) for document in documents.documents]
        lengths = [len(ids) for document in documents.documents for ids in document.target]
        self.bounds: LongArray = np.cumsum([0, *counts])
        """[D+1]: the first sentence of each document."""
        self.document_of: LongArray = np.repeat(np.arange(len(counts)), counts)
        """[S]: the document of each sentence."""
        self.sentence_of: LongArray = np.repeat(np.arange(len(lengths)), lengths)
        """[T]: the sentence of each sub-word."""

    @cached_property
    def sentence_parts(self) -> Masks:
        """Masks [S]: all; linked with an earlier sentence lexically or by coreference; by coreference; by a rare word.

        A division with an empty side is left out.
        """
        annotations = [document.annotation for document in self.documents.documents]
        known = [annotation for annotation in annotations if annotation is not None]
        if len(known) < len(annotations):
            raise DocgraphError(
                "these documents are not annotated, so their links are unknown; prepare them in a store"
            )
        linked = np.concatenate([np.empty(0, bool), *(linked_distances(one) > 0 for one in known)])
        coreferent = np.concatenate([np.empty(0, bool), *(_linked_by(one, "coreference") for one in known)])
        rare = zip(known, rare_words(known), strict=True)
        repeated = np.concatenate([np.empty(0, bool), *(_linked_by(one, "lexical", words) for one, words in rare)])
        return {
            ALL: np.ones(len(self.document_of), dtype=np.bool_),
            **_division("linked", "not linked", linked),
            **_division("coreferent", "not\ncoreferent", coreferent),
            **_division("rare word\nrepeated", "no rare word\nrepeated", repeated),
        }

    @cached_property
    def token_parts(self) -> Masks:
        """Masks [T]: rare target words that the reference of an earlier sentence has already, and all others."""
        decode = cache(self.documents.tokenizer.target.decode)
        words = [list(_target_words(document, decode)) for document in self.documents.documents]
        rare = in_few_documents([[word for sentence in document for word in sentence] for document in words])
        repeated = np.concatenate([np.empty(0, bool), *(_occurred_before(document) for document in words)])
        rare_and_repeated = repeated & np.concatenate([repeated[:0], *rare])
        return _division("tokens of rare\nwords repeated", "other\ntokens", rare_and_repeated)

    @property
    def all_token_parts(self) -> Masks:
        """Masks [T] of the tokens of `sentence_parts`, and `token_parts`."""
        return {label: mask[self.sentence_of] for label, mask in self.sentence_parts.items()} | self.token_parts


def _division(label: str, other: str, mask: BoolArray) -> Masks:
    return {label: mask, other: ~mask} if mask.any() and not mask.all() else {}


def _linked_by(annotation: Annotation, relation: LinkRelation, words: BoolArray | None = None) -> BoolArray:
    """Returns [M]: sentences with a word (one of `words` [W]) that a relation links with an earlier sentence."""
    ends = backward_links(annotation, relation).target
    linked = np.zeros(annotation.num_sentences, dtype=np.bool_)
    linked[annotation.sentence_of[ends if words is None else ends[words[ends]]]] = True
    return linked


def rare_words(annotations: Sequence[Annotation]) -> list[BoolArray]:
    """Returns [W] for each document: names, and content words whose lemma occurs in few documents."""
    lemmas = []
    for annotation in annotations:
        column, skip = annotation.lemmas or annotation.forms, is_function_word(annotation).tolist()
        lemmas.append(["" if s else word.lower() for word, s in zip(column.to_list(), skip, strict=True)])
    names = [
        np.array([] if one.upos is None else [tag == "PROPN" for tag in one.upos.to_list()], dtype=np.bool_)
        for one in annotations
    ]
    return [rare | name if len(name) else rare for rare, name in zip(in_few_documents(lemmas), names, strict=True)]


def in_few_documents(documents: Sequence[Sequence[str]]) -> list[BoolArray]:
    """Returns for the words of each document whether they occur in few documents; empty strings are not words."""
    frequency = Counter(word for words in documents for word in set(words))
    most = max(1.0, RARE * len(documents))
    return [np.array([word != "" and frequency[word] <= most for word in words], dtype=bool) for words in documents]


def _target_words(document: SourceDocument, decode: Callable[[tuple[int, ...]], str]) -> Iterator[list[str]]:
    """Yields for each sentence the word of each of its sub-words, without punctuation; empty for none."""
    for ids, owners in zip(document.target, document.target_words, strict=True):
        words: list[str] = []
        for owner, pairs in groupby(zip(owners.tolist(), ids.tolist(), strict=True), key=lambda pair: pair[0]):
            pieces = tuple(piece for _, piece in pairs)
            text = "" if owner < 0 else re.sub(r"^\W+|\W+$", "", decode(pieces)).lower()
            words += [text] * len(pieces)
        yield words


def _occurred_before(sentences: Sequence[Sequence[str]]) -> BoolArray:
    """Returns for the sub-words of a document whether an earlier sentence has the same word."""
    seen: set[str] = set()
    repeated: list[bool] = []
    for words in sentences:
        repeated += [word in seen for word in words]
        seen.update(words)
    return np.array(repeated, dtype=np.bool_)


@torch.inference_mode()
def token_losses(model: DocumentTransformer, documents: Documents) -> tuple[Statistics, Statistics | None]:
    """Returns the loss of all target sub-words [T] with their own context, and with that of another document.

    The second is None for a system without exchangeable memories, and for a single document.
    """
    config, counts = model.config, [len(document) for document in documents.documents]
    examples = [prepare(document.part(range(len(document)), config), config) for document in documents.documents]

    def make_batch(spans: Sequence[Span]) -> DocumentBatch:
        windows = [replace(examples[d], window=range(begin, end)) for d, begin, end in spans]
        return collate(windows, config.transformer.bos).to(model.device)

    has_wrong = context_needs(config).memories and len(counts) > 1
    whole: list[DonorPair] = [((d, 0, n), None) for d, n in enumerate(counts) if n]
    pairs = pair_with_donors(counts) if has_wrong else whole
    own_losses, wrong_losses = [np.empty(0)], [np.empty(0)]
    for group in group_by_tokens(pairs, [sum(map(len, document.target)) for document in documents.documents], TOKENS):
        spans, donors = [span for span, _ in group], [donor for _, donor in group if donor is not None]
        batch = make_batch(spans)
        assert batch.gold is not None
        assert batch.target is not None
        lengths = np.array(
            [len(documents.documents[d].target[m]) for d, begin, end in spans for m in range(begin, end)]
        )
        # A concatenation system has earlier sentences before the current one: its own sub-words come last.
        own_tokens = ragged_ranges(batch.target.sentences.boundaries[1:].cpu().numpy() - lengths, lengths)
        for losses, context in ((own_losses, batch), (wrong_losses, make_batch(donors) if donors else None)):
            if context is not None:
                scores = log_probabilities(model.states(batch, model.memories(context)), model, batch.gold)
                losses.append(-scores.double().cpu().numpy()[own_tokens])
    return np.concatenate(own_losses), np.concatenate(wrong_losses) if has_wrong else None


def loss_statistics(losses: Statistics) -> Statistics:
    """Returns [T, 2]: losses [T] and ones, whose sums give the mean loss."""
    return np.stack([losses, np.ones_like(losses)], axis=1)


@dataclass(frozen=True)
class BreakdownStyle:
    """Names and format of a breakdown."""

    name: str
    metric: str
    scorer: Scorer
    counted: str
    digits: tuple[int, int]
    signature: str
    """The first items of the signature."""


def breakdown_by_part(
    style: BreakdownStyle, rows: Rows, comparisons: Sequence[Comparison], parts: Masks, document_of: LongArray
) -> tuple[Breakdown, ...]:
    """Returns the score of each part and, for each comparison, the difference with its interval over documents.

    `document_of` [N] is parallel to the rows and masks.
    """
    sums = {
        name: [sum_by_document(one[mask], document_of[mask]) for mask in parts.values()] for name, one in rows.items()
    }
    scores = {name: [float(style.scorer(part.sum(axis=0))) for part in sums[name]] for name in rows}
    counts = [int(mask.sum()) for mask in parts.values()]
    values: dict[str, list[float | None]] = {name: [*some] for name, some in scores.items()}
    no_intervals: dict[str, list[tuple[float, float] | None]] = dict.fromkeys(rows, [None] * len(parts))
    signature = f"{style.signature}|documents:{document_of.max(initial=-1) + 1}|rare:{RARE:g}|docgraph:{__version__}"
    numbers = tuple(parts), values, no_intervals, dict.fromkeys(rows, counts)
    plain = Breakdown(style.name, style.metric, AXIS, *numbers, style.counted, signature, style.digits)
    if not comparisons:
        return (plain,)
    differences: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    for label, one, other in comparisons:
        differences[label] = [a - b for a, b in zip(scores[one], scores[other], strict=True)]
        both = zip(sums[one], sums[other], strict=True)
        intervals[label] = [difference_interval(a, b, style.scorer) if len(a) > 1 else None for a, b in both]
    difference = replace(
        plain,
        name=f"{plain.name}-differences",
        metric=f"Δ {style.metric}",
        values=differences,
        intervals=intervals,
        counts=dict.fromkeys(differences, counts),
        signature=f"bs:{SAMPLES}|seed:{SEED}|over:documents|interval:difference|{signature}",
    )
    return plain, difference


def sum_by_document(rows: Statistics, document_of: LongArray) -> Statistics:
    """Returns [documents with rows, K]: sums of rows [N, K]; document_of [N] ascends."""
    begins = np.flatnonzero(np.diff(document_of, prepend=-1))
    return np.add.reduceat(rows, begins, axis=0) if len(rows) else rows


def difference_interval(ours: Statistics, other: Statistics, scorer: Scorer) -> tuple[float, float]:
    """Returns the middle 95% of the difference of two scores over the same resamples of documents [D, statistics]."""
    return confidence_interval(resample(ours, scorer, SAMPLES) - resample(other, scorer, SAMPLES))


def attention_distance(systems: Systems, documents: Documents, log: Log = print) -> Breakdown:
    """Returns attention to context by distance, relative to the same attention spread evenly over the context.

    Values are means over sub-words, heads and layers, in one pass over the references; a sentence is not its own
    context.
    """
    totals: dict[str, Statistics] = {}
    for name, model in systems.items():
        log(f"{name}: attention")
        sides = _attention_by_side(model, documents)
        if not sides:
            raise DocgraphError(f"'{name}' has no attention over the sentences of its document; choose another system")
        totals |= {f"{name}, {side}": total for side, total in sides.items()}
    spans = range_labels(DISTANCES)
    labels = [*(f"{span}\nbefore" for span in reversed(spans)), *(f"{span}\nafter" for span in spans)]
    occurring = [index for index in range(len(labels)) if any(total[2, index] for total in totals.values())]
    values = {
        name: [float(total[0, index] / total[1, index]) if total[2, index] else None for index in occurring]
        for name, total in totals.items()
    }
    counts = {name: [int(total[2, index]) for index in occurring] for name, total in totals.items()}
    no_intervals: dict[str, list[tuple[float, float] | None]] = {name: [None] * len(occurring) for name in totals}
    signature = f"set:{documents.name}|documents:{len(documents)}|translations:reference|docgraph:{__version__}"
    numbers = tuple(labels[index] for index in occurring), values, no_intervals, counts
    axis = "distance of the context, in sentences"
    return Breakdown("attention-distance", "attention (1: even)", axis, *numbers, "pairs", signature)


def _attention_by_side(model: DocumentTransformer, documents: Documents) -> dict[str, Statistics]:
    """Returns the sums of `_by_distance` for source and target context; empty if the model attends to no sentences."""
    if context_needs(model.config).links:  # attends to words that the graph selects, not to sentences
        return {}
    whole = [
        (document.part(range(len(document)), model.config), range(len(document))) for document in documents.documents
    ]
    attended = [context_weights(model, example, everything, len(everything)) for example, everything in whole]
    sides: dict[str, Statistics] = {}
    for side in ("source", "target"):
        rows = [(m, w) for document in attended for m, one in enumerate(document) if (w := getattr(one, side))]
        total = np.sum([_by_distance(m, weights) for m, weights in rows], axis=0)
        sides |= {side: total} if total.any() else {}
    return sides


def _by_distance(m: int, weights: Mapping[int, float]) -> Statistics:
    """Returns [3, labels]: attention of sentence m by distance, the same spread evenly, and the number of sentences."""
    size = len(DISTANCES) + 1
    table = np.zeros((3, 2 * size))
    others, attention = np.array(list(weights), dtype=np.int64), np.array(list(weights.values()))
    buckets = bucket_of(np.abs(others - m), DISTANCES)
    places = np.where(others > m, size + buckets, size - 1 - buckets)
    even = np.full_like(attention, attention.mean())
    np.add.at(table.T, places, np.stack([attention, even, np.ones_like(attention)], axis=1))
    return table
