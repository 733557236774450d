"""Where context pays: sentences with links to earlier ones apart from those without, repeated rare words from the rest.

Losses are those of the references a token, given the document's own context and given another document's, as training
logs them. A link or word is what the annotation of the source says; a store holds that, so no annotator is needed.
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
from docgraph.evaluation.buckets import SAMPLES, Breakdown, LinkRelation, backward_links, linked_distances
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import Scorer, Statistics, measure, ratio_scores
from docgraph.evaluation.significance import SEED
from docgraph.graph.links import LongArray, ragged_ranges
from docgraph.graph.relations import is_function_word
from docgraph.model.batch import DocumentBatch, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import context_needs, prepare
from docgraph.research.analyses import Progress, Systems, difference_interval
from docgraph.research.documents import Documents, SourceDocument
from docgraph.training.validation import DonorPair, Span, group_by_tokens, pair_with_donors
from docgraph.translation.scoring import TOKENS, log_probabilities

RARE = 0.1
"""A rare word stands in at most this share of the documents, or in one."""
ALL, AXIS = "all", "part of the references"
Masks = dict[str, BoolArray]
"""By label: which sentences [S], or which target sub-words [T], are of a part."""
Rows = Mapping[str, Statistics]
"""By system: statistics of the sentences [S, K] or sub-words [T, K]."""


def context_use(
    systems: Systems, documents: Documents, translations: Mapping[str, Sequence[str]], say: Progress = print
) -> list[tuple[Breakdown, ...]]:
    """NLL a token by parts of the references and, of the sentences of given translations [S], BLEU.

    Beside each the differences, with intervals: to the first system and, of the loss, with another document's context
    to with the own.
    """
    layout = Layout(documents)
    tokens = {label: mask[layout.sentence_of] for label, mask in layout.sentence_parts.items()} | layout.token_parts
    losses: dict[str, Statistics] = {}
    compared: list[tuple[str, str, str]] = []
    first = next(iter(systems))
    for name, model in systems.items():
        say(f"{name}: loss of the references")
        own, wrong = token_losses(model, documents)
        losses[name] = np.stack([own, np.ones_like(own)], axis=1)
        compared += [(f"{name} − {first}", name, first)] if name != first else []
        if wrong is not None:
            losses[other := f"{name}, wrong context"] = np.stack([wrong, np.ones_like(own)], axis=1)
            compared.append((f"{name}, wrong − own", other, name))
    nll: Scorer = partial(ratio_scores, scale=1)
    how = Shown("context-use-nll", "NLL", nll, "tokens", (4, 4), f"set:{documents.name}")
    found = [breakdowns(how, losses, compared, tokens, layout.document_of[layout.sentence_of])]
    if translations:
        reference = [text for document in documents.documents for text in document.reference]
        lines = {name: list(texts) for name, texts in translations.items()}
        measured = measure("bleu", EvaluationSet(reference, lines, layout.bounds))
        first = next(iter(lines))
        compared = [(f"{name} − {first}", name, first) for name in lines if name != first]
        signature = "|".join(f"{key}:{value}" for key, value in measured.signature.items())
        how = Shown(
            "context-use-bleu", "BLEU", measured.scorer, "sentences", (2, 2), f"{signature}|set:{documents.name}"
        )
        found.append(breakdowns(how, measured.statistics, compared, layout.sentence_parts, layout.document_of))
    return found


class Layout:
    """T target sub-words in S sentences of D documents, end to end, and their parts."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        counts = [len(document) for document in documents.documents]
        lengths = [len(ids) for document in documents.documents for ids in document.target]
        self.bounds: LongArray = np.cumsum([0, *counts])
        self.document_of: LongArray = np.repeat(np.arange(len(counts)), counts)
        """[S]."""
        self.sentence_of: LongArray = np.repeat(np.arange(len(lengths)), lengths)
        """[T]."""

    @cached_property
    def sentence_parts(self) -> Masks:
        """All; linked with an earlier sentence (lexically or by coreference); by coreference; by a rare word or name.

        A division that leaves one of its sides empty is none.
        """
        annotations = [document.annotation for document in self.documents.documents]
        known = [annotation for annotation in annotations if annotation is not None]
        if len(known) < len(annotations):
            raise DocgraphError("these documents are not annotated, so that no link is known; prepare them in a store")
        linked = np.concatenate([np.empty(0, bool), *(linked_distances(one) > 0 for one in known)])
        coreferent = np.concatenate([np.empty(0, bool), *(_linked_by(one, "coreference") for one in known)])
        rare = zip(known, rare_words(known), strict=True)
        repeated = np.concatenate([np.empty(0, bool), *(_linked_by(one, "lexical", words) for one, words in rare)])
        return {
            ALL: np.ones(len(self.document_of), dtype=np.bool_),
            **_divided("linked", "not linked", linked),
            **_divided("coreferent", "not\ncoreferent", coreferent),
            **_divided("rare word\nrepeated", "no rare word\nrepeated", repeated),
        }

    @cached_property
    def token_parts(self) -> Masks:
        """Target words that are rare and stand in the translation of an earlier sentence already; the others."""
        spell = cache(self.documents.tokenizer.target.decode)
        words = [list(_target_words(document, spell)) for document in self.documents.documents]
        rare = few_hold([[word for sentence in document for word in sentence] for document in words])
        again = np.concatenate([np.empty(0, bool), *(_said_before(document) for document in words)])
        return _divided("tokens of rare\nwords repeated", "other\ntokens", again & np.concatenate([again[:0], *rare]))


def _divided(label: str, other: str, mask: BoolArray) -> Masks:
    return {label: mask, other: ~mask} if mask.any() and not mask.all() else {}


def _linked_by(annotation: Annotation, relation: LinkRelation, words: BoolArray | None = None) -> BoolArray:
    """[M]: sentences with a word (one of `words` [W]) that a relation links with an earlier sentence."""
    ends = backward_links(annotation, relation).target
    linked = np.zeros(annotation.num_sentences, dtype=np.bool_)
    linked[annotation.sentence_of[ends if words is None else ends[words[ends]]]] = True
    return linked


def rare_words(annotations: Sequence[Annotation]) -> list[BoolArray]:
    """[W] for each document: content words whose lemma few documents hold, and names."""
    lemmas = []
    for annotation in annotations:
        column, skip = annotation.lemmas or annotation.forms, is_function_word(annotation).tolist()
        lemmas.append(["" if s else word.lower() for word, s in zip(column.to_list(), skip, strict=True)])
    names = [
        np.array([] if one.upos is None else [tag == "PROPN" for tag in one.upos.to_list()], dtype=np.bool_)
        for one in annotations
    ]
    return [rare | name if len(name) else rare for rare, name in zip(few_hold(lemmas), names, strict=True)]


def few_hold(documents: Sequence[Sequence[str]]) -> list[BoolArray]:
    """For the words of each document, whether few documents hold them; empty ones are no words."""
    frequency = Counter(word for words in documents for word in set(words))
    most = max(1.0, RARE * len(documents))
    return [np.array([word != "" and frequency[word] <= most for word in words], dtype=bool) for words in documents]


def _target_words(document: SourceDocument, spell: Callable[[tuple[int, ...]], str]) -> Iterator[list[str]]:
    """For each sentence, the word that each of its sub-words belongs to, without punctuation; empty for none."""
    for ids, owners in zip(document.target, document.target_words, strict=True):
        words: list[str] = []
        for owner, pairs in groupby(zip(owners.tolist(), ids.tolist(), strict=True), key=lambda pair: pair[0]):
            pieces = tuple(piece for _, piece in pairs)
            text = "" if owner < 0 else re.sub(r"^\W+|\W+$", "", spell(pieces)).lower()
            words += [text] * len(pieces)
        yield words


def _said_before(sentences: Sequence[Sequence[str]]) -> BoolArray:
    """[sub-words of a document]: whether an earlier sentence has the same word."""
    seen: set[str] = set()
    found: list[bool] = []
    for words in sentences:
        found += [word in seen for word in words]
        seen.update(words)
    return np.array(found, dtype=np.bool_)


@torch.inference_mode()
def token_losses(model: DocumentTransformer, documents: Documents) -> tuple[Statistics, Statistics | None]:
    """[T] each: the loss of all target sub-words with their own context and, for memories, with another's."""
    config, counts = model.config, [len(document) for document in documents.documents]
    everything = [prepare(d.part(range(len(d)), config), config) for d in documents.documents]

    def batch_of(pieces: Sequence[Span]) -> DocumentBatch:
        windows = [(everything[d], range(begin, end)) for d, begin, end in pieces]
        return collate([replace(e, window=w) for e, w in windows], config.transformer.bos).to(model.device)

    other = context_needs(config).memories and len(counts) > 1
    pairs: list[DonorPair] = (
        pair_with_donors(counts) if other else [((d, 0, n), None) for d, n in enumerate(counts) if n]
    )
    losses: list[list[Statistics]] = [[np.empty(0)], [np.empty(0)]]
    for group in group_by_tokens(pairs, [sum(map(len, document.target)) for document in documents.documents], TOKENS):
        pieces, donors = [piece for piece, _ in group], [donor for _, donor in group if donor is not None]
        batch = batch_of(pieces)
        assert batch.gold is not None
        assert batch.target is not None
        lengths = np.array(
            [len(documents.documents[d].target[m]) for d, begin, end in pieces for m in range(begin, end)]
        )
        # A system that translates sentences joined has others before a sentence: its own sub-words come last.
        own = ragged_ranges(batch.target.sentences.boundaries[1:].cpu().numpy() - lengths, lengths)
        for place, source in enumerate([batch, batch_of(donors)] if donors else [batch]):
            found = log_probabilities(model.states(batch, model.memories(source)), model, batch.gold)
            losses[place].append(-found.double().cpu().numpy()[own])
    return np.concatenate(losses[0]), np.concatenate(losses[1]) if other else None


@dataclass(frozen=True)
class Shown:
    """How numbers are named and shown."""

    name: str
    metric: str
    scorer: Scorer
    counted: str
    digits: tuple[int, int]
    signature: str
    """How it begins."""


def breakdowns(
    how: Shown, rows: Rows, compared: Sequence[tuple[str, str, str]], parts: Masks, document_of: LongArray
) -> tuple[Breakdown, ...]:
    """The score of each part and, of each pair to compare (label, one, other), the difference with its interval.

    `document_of` [N] is beside the rows and the masks of the parts.
    """
    sums = {name: [by_document(one[mask], document_of[mask]) for mask in parts.values()] for name, one in rows.items()}
    scores = {name: [float(how.scorer(part.sum(axis=0))) for part in sums[name]] for name in rows}
    counts = [int(mask.sum()) for mask in parts.values()]
    values: dict[str, list[float | None]] = {name: [*some] for name, some in scores.items()}
    intervals: dict[str, list[tuple[float, float] | None]] = dict.fromkeys(rows, [None] * len(parts))
    told = f"{how.signature}|documents:{document_of.max(initial=-1) + 1}|rare:{RARE:g}|docgraph:{__version__}"
    shown = tuple(parts), values, intervals, dict.fromkeys(rows, counts)
    plain = Breakdown(how.name, how.metric, AXIS, *shown, how.counted, told, how.digits)
    if not compared:
        return (plain,)
    gains: dict[str, list[float | None]] = {}
    intervals = {}
    for label, one, other in compared:
        gains[label] = [a - b for a, b in zip(scores[one], scores[other], strict=True)]
        both = zip(sums[one], sums[other], strict=True)
        intervals[label] = [difference_interval(a, b, how.scorer) if len(a) > 1 else None for a, b in both]
    difference = replace(
        plain,
        name=f"{plain.name}-differences",
        metric=f"Δ {how.metric}",
        values=gains,
        intervals=intervals,
        counts=dict.fromkeys(gains, counts),
        signature=f"bs:{SAMPLES}|seed:{SEED}|over:documents|interval:difference|{told}",
    )
    return plain, difference


def by_document(rows: Statistics, document_of: LongArray) -> Statistics:
    """[documents that hold some, K]: sums of rows [N, K]; document_of [N] ascends."""
    begins = np.flatnonzero(np.diff(document_of, prepend=-1))
    return np.add.reduceat(rows, begins, axis=0) if len(rows) else rows
