"""Upper bounds on re-ranking: the best of a system's n-best translations, chosen by the reference (an oracle)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from docgraph.annotation import Annotation, BoolArray
from docgraph.errors import DocgraphError
from docgraph.evaluation.buckets import Breakdown, backward_links
from docgraph.graph.relations import is_function_word
from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.packing import windows
from docgraph.model.tokenizer import SPACE, SubwordCoder, words_by_space
from docgraph.research.analysis_inputs import Documents, Log, SourceDocument, Systems
from docgraph.research.context_ablations import Axis, Texts, bleu_curve
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.decoding.word_alignment import TOKENS, cross_attention

ALL, LINKED, LINKED_AND_FUNCTION, OTHER = "oracle", "linked words", "linked and function words", "other words"
ELSEWHERE = "linked words, as elsewhere"
CHOICES = (ALL, LINKED, LINKED_AND_FUNCTION, ELSEWHERE, OTHER)
"""The candidates that an oracle chooses among, by the words in which they differ from the first translation."""
CONSISTENT = "more consistent, no oracle"
"""A choice without the reference: the first candidate with other linked words that makes the document consistent."""
Words = list[str]


@dataclass(frozen=True, eq=False)
class SentenceContext:
    """Properties of a sentence that the choices depend on."""

    linked: BoolArray
    """[W]: source words with a link to another sentence."""
    function: BoolArray
    """[W]: function words and punctuation marks of the source."""
    elsewhere: frozenset[str]
    """The words of the first translations of the other sentences of the document, normalised."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """The words of a translation and, for each, the source word that it attends to most; -1 if there is none."""

    words: Words
    source: Ids


def n_best(systems: Systems, documents: Documents, search: SearchConfig, log: Log = print) -> Breakdown:
    """Returns BLEU of the first translation of beam search and of the best choices among the `search.n_best` ones.

    The best translation of a sentence is the one with the highest sentence-BLEU; the model's score breaks ties.
    Candidates are all of them, or those that differ from the first one in certain words only: see `differs_in`. A last
    choice does without the reference: the first of the candidates that are more consistent (`is_more_consistent`) and
    differ in linked words.
    """
    narrow = replace(search, beams=min(search.beams, SearchConfig().beams), n_best=1)
    usual = f"beam {search.beams}"
    outputs: dict[str, dict[str, list[Texts]]] = {}
    for name, model in systems.items():
        outputs[name] = {}
        if narrow.beams < search.beams:
            log(f"{name}: beam {narrow.beams}")
            outputs[name][f"beam {narrow.beams}"] = [documents.translate(model, narrow)]
        log(f"{name}: {search.n_best} translations per sentence, beam {search.beams}")
        chosen = _choose(model, documents, search)
        outputs[name] |= {label or usual: [texts] for label, texts in chosen.items()}
    return bleu_curve(Axis("n-best", f"choice among {search.n_best} translations", usual), outputs, documents)


def differs_in(choice: str, first: Aligned, other: Aligned, context: SentenceContext) -> bool:
    """Returns whether a translation differs from the first one only in the words of a choice.

    Changed words are those outside the longest matching blocks of the two; each stands for the source word that it
    attends to most. For "linked words", all of these source words have a link; for "linked words, as elsewhere", the
    new words also occur in first translations of other sentences; for "linked and function words", one source word has
    a link and the others have one or are function words; for "other words", none has a link.
    """
    if choice == ALL:
        return True
    old, new = _changed(first.words, other.words)
    changed = np.concatenate([first.source[old], other.source[new]])
    if not len(changed) or (changed < 0).any():
        return False
    linked, function = context.linked[changed], context.function[changed]
    if choice == OTHER:
        return not linked.any()
    if choice == LINKED_AND_FUNCTION:
        return bool(linked.any() and (linked | function).all())
    is_elsewhere = bool(new) and all(_normalise(other.words[place]) in context.elsewhere for place in new)
    return bool(linked.all()) and (choice == LINKED or is_elsewhere)


def is_more_consistent(first: str, other: str, elsewhere: frozenset[str]) -> bool:
    """Returns whether all new words of a translation occur elsewhere, and none of the words that they replace."""
    words = [text.split() for text in (first, other)]
    old, new = (
        [_normalise(text[place]) for place in places] for text, places in zip(words, _changed(*words), strict=True)
    )
    return bool(old) and bool(new) and elsewhere.issuperset(new) and elsewhere.isdisjoint(old)


def _changed(first: Words, other: Words) -> tuple[list[int], list[int]]:
    """Returns the places of the words outside the longest matching blocks of two translations."""
    codes = SequenceMatcher(None, first, other, autojunk=False).get_opcodes()
    changed = [(range(a, b), range(c, d)) for tag, a, b, c, d in codes if tag != "equal"]
    return [place for old, _ in changed for place in old], [place for _, new in changed for place in new]


def _normalise(word: str) -> str:
    """Returns a word in small letters, without the space mark and punctuation around it."""
    return re.sub(r"^\W+|\W+$", "", word.replace(SPACE, "")).lower()


def linked_words(annotation: Annotation) -> BoolArray:
    """Returns [W]: content words with a lexical link, and words with a coreference link, to another sentence."""
    linked = np.zeros(annotation.num_words, dtype=np.bool_)
    for relation in ("lexical", "coreference"):
        edges = backward_links(annotation, relation)
        linked[edges.source] = linked[edges.target] = True
    return linked


def _choose(model: DocumentTransformer, documents: Documents, search: SearchConfig) -> dict[str, Texts]:
    """Returns the chosen translations by document and sentence: the first ones under "", and those of each choice."""
    inputs = [DecoderInput(document.part(range(len(document)), model.config)) for document in documents.documents]
    decoded = decode_documents(model, documents.tokenizer, inputs, DecodingOptions(search))
    coder, metric = documents.tokenizer.target, BLEU(effective_order=True)
    results: dict[str, Texts] = {choice: [] for choice in ("", *CHOICES, CONSISTENT)}
    for document, found in zip(documents.documents, decoded, strict=True):
        candidates = [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in found.sentences]
        texts = [[coder.decode(tokens) for tokens in each] for each in candidates]
        ranked = [_better(metric, each, reference) for each, reference in zip(texts, document.reference, strict=True)]
        first = [each[0] for each in texts]
        contexts = _contexts(document, first)
        consistent = [
            [place for place, text in enumerate(each) if is_more_consistent(each[0], text, context.elsewhere)]
            for each, context in zip(texts, contexts, strict=True)
        ]
        needed = [sorted({*better, *steady}) for better, steady in zip(ranked, consistent, strict=True)]
        wanted = [(m, place) for m, places in enumerate(needed) for place in ((0, *places) if places else ())]
        aligned = dict(zip(wanted, _align(model, coder, document, candidates, wanted), strict=True))
        results[""].append(first)
        for label, choice, choices in (*((each, each, ranked) for each in CHOICES), (CONSISTENT, LINKED, consistent)):
            best = [
                next((p for p in places if differs_in(choice, aligned[m, 0], aligned[m, p], contexts[m])), 0)
                for m, places in enumerate(choices)
            ]
            results[label].append([each[place] for each, place in zip(texts, best, strict=True)])
    return results


def _better(metric: BLEU, texts: Sequence[str], reference: str) -> list[int]:
    """Returns the candidates with a higher sentence-BLEU than the first one, best first."""
    scores = [metric.sentence_score(text, [reference]).score for text in texts]
    better = [place for place, score in enumerate(scores) if score > scores[0]]
    return sorted(better, key=lambda place: -scores[place])


def _contexts(document: SourceDocument, translations: Sequence[str]) -> list[SentenceContext]:
    """Returns the context of each sentence of a document, given the first translations."""
    annotation = document.annotation
    if annotation is None:
        raise DocgraphError("these documents are not annotated, so their links are unknown; prepare them in a store")
    linked, function = linked_words(annotation), is_function_word(annotation)
    words = [frozenset(map(_normalise, text.split())) - {""} for text in translations]
    counts = Counter(word for sentence in words for word in sentence)
    return [
        SentenceContext(linked[begin:end], function[begin:end], frozenset(w for w in counts if counts[w] > (w in own)))
        for own, (begin, end) in zip(words, pairwise(annotation.offsets.tolist()), strict=True)
    ]


def _align(
    model: DocumentTransformer,
    coder: SubwordCoder,
    document: SourceDocument,
    candidates: Sequence[Sequence[Sequence[int]]],
    wanted: Sequence[tuple[int, int]],
) -> Iterator[Aligned]:
    """Yields the words of the wanted candidates (sentence, place) with their source words, by cross-attention."""
    eos = model.config.transformer.eos
    targets = [np.array([*candidates[m][place], eos]) for m, place in wanted]
    sizes = [max(len(document.source[m]), len(target)) for (m, _), target in zip(wanted, targets, strict=True)]
    for part in windows(sizes, TOKENS) if sizes else ():
        sentences = [m for m, _ in wanted[part.start : part.stop]]
        own = targets[part.start : part.stop]
        weights = cross_attention(model, DocumentExample([document.source[m] for m in sentences], own))
        for m, target, matrix in zip(sentences, own, weights.float().cpu().numpy(), strict=True):
            pieces = coder.pieces(target[:-1])
            word_of = words_by_space(pieces)
            words = ["".join(p for p, w in zip(pieces, word_of, strict=True) if w == n) for n in range(_count(word_of))]
            owner = np.asarray(document.words[m])
            sums = np.zeros((len(words), _count(owner)))
            rows, columns = np.flatnonzero(word_of >= 0), np.flatnonzero(owner >= 0)
            np.add.at(sums, np.ix_(word_of[rows], owner[columns]), matrix[np.ix_(rows, columns)])
            yield Aligned(words, sums.argmax(1) if sums.shape[1] else np.full(len(words), -1))


def _count(word_of: Ids) -> int:
    return int(word_of.max(initial=-1)) + 1
