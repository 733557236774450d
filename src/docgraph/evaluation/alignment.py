"""Words of both sides in columns over a whole evaluation set, and their alignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from docgraph.annotate.runner import annotate_all
from docgraph.annotation import Annotation, BoolArray
from docgraph.document import Document
from docgraph.evaluation.aligner import Aligner, AlignerConfig, Bitext, Posteriors
from docgraph.evaluation.dataset import EvaluationSet, read_set
from docgraph.graph.links import LongArray
from docgraph.graph.relations import is_function_word

THRESHOLD = 0.1
"""Product of posteriors below which a word counts as not aligned."""
Pairs = list[tuple[list[str], list[str]]]
"""Words of sentence pairs."""


@dataclass(frozen=True, eq=False)
class Words:
    """All W words of the N sentences of a set, in order."""

    forms: list[str]
    keys: list[str]
    """Lower-cased lemmas; forms where there are none."""
    tags: list[str] | None
    """Universal parts of speech."""
    relations: list[str] | None
    content: BoolArray
    """[W]: no punctuation, no function word."""
    offsets: LongArray
    """[N+1]: the words of sentence n are offsets[n] .. offsets[n+1]-1."""
    documents: LongArray
    """[W]: the document of each word."""

    @classmethod
    def of(cls, annotations: Sequence[Annotation]) -> Words:
        def column(name: str) -> list[str] | None:
            columns = [getattr(annotation, name) for annotation in annotations]
            return None if None in columns else [text for column in columns for text in column.to_list()]

        forms = column("forms") or []
        lengths = [np.diff(annotation.offsets) for annotation in annotations]
        sizes = [annotation.num_words for annotation in annotations]
        content = [is_function_word(annotation) for annotation in annotations]
        return cls(
            forms,
            [key.lower() for key in column("lemmas") or forms],
            column("upos"),
            column("deprels"),
            ~np.concatenate([np.empty(0, np.bool_), *content]),
            np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths])),
            np.repeat(np.arange(len(annotations)), sizes),
        )

    @property
    def sentences(self) -> LongArray:
        """[W]: the sentence of each word, counted through the set."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def split(self) -> list[list[str]]:
        """The keys of each sentence."""
        bounds = self.offsets.tolist()
        return [self.keys[a:b] for a, b in pairwise(bounds)]


@dataclass(frozen=True, slots=True)
class Languages:
    """What finds the words of the two sides, and where finished annotations are kept."""

    source: str
    """Annotator of the source by spec or language."""
    target: str
    """Language of the translations."""
    cache: Path | None = None
    jobs: int = 1

    def annotate(self, documents: Sequence[Document]) -> list[Annotation]:
        """The source documents, annotated."""
        return list(annotate_all(documents, self.source, jobs=self.jobs, cache=self.cache))

    def source_words(self, data: EvaluationSet) -> Words:
        assert data.source is not None
        return Words.of(self.annotate(data.split_documents(data.source)))

    def target_words(self, data: EvaluationSet, sentences: Sequence[str]) -> Words:
        from docgraph.annotate.registry import load_pipeline

        pipeline = load_pipeline(word_finder(self.target))
        return Words.of([pipeline(document) for document in data.split_documents(sentences)])

    def read_pairs(self, source: str | Path, target: str | Path) -> Pairs:
        """Sentence pairs to learn alignment from, in line mode."""
        data = read_set({}, target, source)
        return pairs(self.source_words(data), self.target_words(data, data.reference))


def word_finder(language: str) -> str:
    """The spec of words and dictionary lemmas of a language, without a parser: quick, and one for all systems."""
    from docgraph.annotate.rule_based import has_simplemma_dictionary

    if language == "zh":
        return "jieba"
    return f"words:{language}+simplemma:{language}" if has_simplemma_dictionary(language) else f"words:{language}"


def pairs(source: Words, target: Words) -> Pairs:
    return list(zip(source.split(), target.split(), strict=True))


def align(
    source: Words, targets: Iterable[Words], corpus: Pairs, config: AlignerConfig = AlignerConfig()
) -> list[Posteriors]:
    """Candidate links of the source with each target, by positions in the two.

    One model is learnt from the corpus and all targets: what the links of a system are does not depend on which other
    systems are evaluated as long as `targets` holds none of them.
    """
    targets = list(targets)
    bitext = Bitext.of(corpus + [pair for target in targets for pair in pairs(source, target)])
    found = Aligner(bitext, config).posteriors(first=len(corpus))
    aligned, sentences = [], len(source.offsets) - 1
    for number, target in enumerate(targets):
        first = len(corpus) + number * sentences
        begin, end = bitext.source_offsets[first], bitext.source_offsets[first + sentences]
        part = found.where((found.source >= begin) & (found.source < end))
        aligned.append(Posteriors(part.source - begin, part.target - bitext.target_offsets[first], part.agreement))
        assert len(target.forms) == bitext.target_offsets[first + sentences] - bitext.target_offsets[first]
    return aligned
