"""Case study: a term that one system translates in several ways and another always as the reference does.

A chain is a term and its uses in one document, linked by a relation of the document graph:

- definition: the uses of a defined term; the expected translation is the equivalent that the definition prints.
- lexical: a noun or name (its lemma) and its repetitions; the expected translation is the word that the reference is
  most often aligned with.

Only sentences whose reference has the expected translation count, and a chain has at least `MIN_USES` of them. A
sentence is right if the system has the expected translation as often as the reference. A system has it *always* if all
counted sentences of the chain are right, *sometimes* if some are, *never* if none is. Words are compared by their
lower-cased lemmas.

The chain shown is chosen by rule: of the chains that the first system translates as expected sometimes and the second
always, with at most `MAX_USES` sentences so that they fit on the page, the one in which the first system fails most
often; ties go to the chain with more sentences, then to the first one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from docgraph.annotate.pipeline import Pipeline
from docgraph.annotate.registry import load_pipeline
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.evaluation.alignment import THRESHOLD, BitextAnnotator, Words, align, word_annotator
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.graph.definitions import find_uses
from docgraph.graph.links import LongArray

MIN_USES, MAX_USES = 3, 12
GAP = 4
"""Characters between two marked words that are marked, too: articles and prepositions."""
CHAIN_TAGS = frozenset({"NOUN", "PROPN"})
ChainRelation = Literal["definition", "lexical"]
Frequency = Literal["always", "sometimes", "never"]
"""How often a system has the expected translation in a chain."""
FREQUENCIES: tuple[Frequency, ...] = ("always", "sometimes", "never")


@dataclass(frozen=True, eq=False)
class Text:
    """The sentences of one side or system, with their words."""

    sentences: list[str]
    words: Words
    spans: LongArray
    """[W, 2]: the characters of each word in its sentence."""

    @classmethod
    def of(cls, sentences: list[str], annotations: Sequence[Annotation]) -> Text:
        """Returns sentences with the words of their annotated documents."""
        columns = [np.stack([one.starts, one.ends], 1) for one in annotations]
        return cls(sentences, Words.of(annotations), np.concatenate([np.empty((0, 2), np.int64), *columns]))

    def find(self, sentence: int, keys: tuple[str, ...]) -> list[range]:
        """Returns the places of a sentence with these keys in a row."""
        begin, end = self.words.offsets[sentence : sentence + 2].tolist()
        places = (range(first, first + len(keys)) for first in range(begin, end - len(keys) + 1))
        return [place for place in places if tuple(self.words.keys[place.start : place.stop]) == keys]

    def characters(self, words: Sequence[int]) -> list[tuple[int, int]]:
        """Returns the spans of words in their sentence; words that are close together share one."""
        spans: list[tuple[int, int]] = []
        for begin, end in sorted(self.spans[list(words)].tolist()):
            if spans and begin <= spans[-1][1] + GAP:
                spans[-1] = spans[-1][0], max(end, spans[-1][1])
            else:
                spans.append((begin, end))
        return spans


@dataclass(frozen=True)
class Chain:
    """A term of a document and its uses."""

    document: int
    term: str
    """As it is first written."""
    expected: tuple[str, ...]
    """Keys of the expected translation."""
    origin: tuple[int, tuple[int, ...]]
    """The sentence that defines the term or uses it first, and the words of the term there."""
    uses: tuple[tuple[int, tuple[int, ...]], ...]
    """The counted sentences after the origin, and the words of the term in each."""


@dataclass(frozen=True)
class Use:
    """A system's translation of a sentence with the term."""

    text: str
    right: bool
    expected: list[tuple[int, int]]
    """Characters of the expected translation."""
    other: list[tuple[int, int]]
    """Characters of other words that are aligned with the term, unless all its uses have the expected translation."""


@dataclass(frozen=True)
class CaseStudy:
    """All chains of a test set, how often two systems translate them as expected, and the chosen chain."""

    relation: ChainRelation
    systems: tuple[str, str]
    counts: dict[tuple[Frequency, Frequency], int]
    """Chains by how often the first and the second system have the expected translation."""
    chains: int
    documents: int
    """Documents that have chains."""
    chosen: Chain | None
    source: Text
    uses: dict[str, list[Use]]
    """The translations of each system at the origin of the chosen chain and at each of its uses."""

    @property
    def cases(self) -> int:
        """Chains with the expected translation sometimes by the first system and always by the second."""
        return self.counts["sometimes", "always"]

    @property
    def opposite(self) -> int:
        """Chains with the expected translation always by the first system and sometimes by the second."""
        return self.counts["always", "sometimes"]


def study(data: EvaluationSet, annotator: BitextAnnotator, relation: ChainRelation) -> CaseStudy:
    """Compares the two systems of an evaluation set."""
    assert data.source is not None
    first, second = data.systems
    annotations = annotator.annotate(data.split_documents(data.source))
    source = Text.of(data.source, annotations)
    pipeline = load_pipeline(word_annotator(annotator.target))

    def target(sentences: list[str]) -> Text:
        return Text.of(sentences, [pipeline(document) for document in data.split_documents(sentences)])

    reference = target(data.reference)
    outputs = {name: target(data.systems[name]) for name in (first, second)}
    links = align(source.words, [text.words for text in (reference, *outputs.values())], [])
    best = [part.best_target(len(source.words.forms), THRESHOLD) for part in links]
    found = (
        _defined_chains(data, annotations, pipeline)
        if relation == "definition"
        else _repeated_chains(source.words, reference.words, best[0])
    )
    chains = [_counted(chain, reference) for chain in found]
    chains = [chain for chain in chains if len(chain.uses) >= MIN_USES]
    frequencies = [
        tuple(_frequency([_is_right(outputs[name], reference, m, chain) for m, _ in chain.uses]) for name in outputs)
        for chain in chains
    ]
    counts = Counter(frequencies)
    chosen = _choose(chains, frequencies, outputs[first], reference)
    return CaseStudy(
        relation,
        (first, second),
        {(one, other): counts[one, other] for one in FREQUENCIES for other in FREQUENCIES},
        len(chains),
        len({chain.document for chain in chains}),
        chosen,
        source,
        {} if chosen is None else _shown(chosen, outputs, reference, dict(zip(outputs, best[1:], strict=True))),
    )


def _defined_chains(data: EvaluationSet, annotations: Sequence[Annotation], pipeline: Pipeline) -> Iterator[Chain]:
    """Yields the uses of each defined term whose definition prints an equivalent."""
    first_word = 0
    for document, annotation in enumerate(annotations):
        first_sentence = int(data.documents[document])
        sentence_of, forms = annotation.sentence_of.tolist(), annotation.forms
        uses: dict[tuple[int, int], list[tuple[int, tuple[int, ...]]]] = {}
        definitions = {}
        for definition, words in find_uses(annotation):
            if definition.printed:
                key = definition.sentence, definition.term.start
                definitions[key] = definition
                moved = tuple(word + first_word for word in words)
                uses.setdefault(key, []).append((first_sentence + sentence_of[words.start], moved))
        for key, found in uses.items():
            definition = definitions[key]
            term = tuple(word + first_word for word in definition.term)
            printed = " ".join(forms[word] for word in definition.printed)
            yield Chain(
                document,
                " ".join(forms[word] for word in definition.term),
                _keys(printed, pipeline),
                (first_sentence + definition.sentence, term),
                tuple(found),
            )
        first_word += annotation.num_words


def _keys(text: str, pipeline: Pipeline) -> tuple[str, ...]:
    return tuple(Words.of([pipeline(Document.from_sentences([text]))]).keys)


def _repeated_chains(source: Words, reference: Words, best: LongArray) -> Iterator[Chain]:
    """Yields the repetitions of each noun and name, with the translation that the reference has most often."""
    sentences, tags = source.sentences.tolist(), source.tags or ["NOUN"] * len(source.forms)
    groups: dict[tuple[int, str], list[int]] = {}
    for word in np.flatnonzero(source.content).tolist():
        if tags[word] in CHAIN_TAGS and source.keys[word].isalpha():
            groups.setdefault((int(source.documents[word]), source.keys[word]), []).append(word)
    for (document, _), members in groups.items():
        aligned = Counter(reference.keys[best[word]] for word in members if best[word] >= 0)
        if len(members) > MIN_USES and aligned:
            [(expected, _)] = aligned.most_common(1)
            uses = [(sentences[word], (word,)) for word in members]
            yield Chain(document, source.forms[members[0]], (expected,), uses[0], tuple(uses[1:]))


def _counted(chain: Chain, reference: Text) -> Chain:
    """Returns the chain with one entry for each later sentence whose reference has the expected translation."""
    by_sentence: dict[int, tuple[int, ...]] = {}
    for sentence, words in chain.uses:
        if sentence != chain.origin[0] and reference.find(sentence, chain.expected):
            by_sentence[sentence] = (*by_sentence.get(sentence, ()), *words)
    return replace(chain, uses=tuple(sorted(by_sentence.items())))


def _is_right(output: Text, reference: Text, sentence: int, chain: Chain) -> bool:
    return len(output.find(sentence, chain.expected)) >= len(reference.find(sentence, chain.expected))


def _frequency(right: Sequence[bool]) -> Frequency:
    return "always" if all(right) else "sometimes" if any(right) else "never"


def _choose(
    chains: Sequence[Chain], frequencies: Sequence[tuple[Frequency, ...]], first: Text, reference: Text
) -> Chain | None:
    cases = [
        chain
        for chain, found in zip(chains, frequencies, strict=True)
        if found == ("sometimes", "always") and len(chain.uses) <= MAX_USES
    ]

    def rank(chain: Chain) -> tuple[int, int]:
        return sum(not _is_right(first, reference, m, chain) for m, _ in chain.uses), len(chain.uses)

    return max(cases, key=rank, default=None)


def _shown(chain: Chain, outputs: dict[str, Text], reference: Text, best: dict[str, LongArray]) -> dict[str, list[Use]]:
    shown: dict[str, list[Use]] = {}
    for name, text in outputs.items():
        shown[name] = []
        for sentence, words in (chain.origin, *chain.uses):
            right = _is_right(text, reference, sentence, chain)
            found = text.find(sentence, chain.expected)
            expected = {word for place in found for word in place}
            linked = {int(best[name][word]) for word in words if best[name][word] >= 0}
            is_complete = len(found) * len(chain.term.split()) >= len(words)
            other = [] if right and is_complete else text.characters(sorted(linked - expected))
            shown[name].append(Use(text.sentences[sentence], right, text.characters(sorted(expected)), other))
    return shown
