"""The annotator protocol, and pipelines of annotators.

An annotator takes a document and what is known of it so far, and returns what is known after it. It declares the layers
it needs and the layers it adds, so that a pipeline is checked before it runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from docgraph.annotation import LAYERS, Annotation, IntArray, Layer
from docgraph.document import Document, Sentence
from docgraph.errors import DocgraphError

WORDS: frozenset[Layer] = frozenset({"words"})
PROVIDERS: dict[Layer, str] = {
    "words": "words:LANGUAGE",
    "lemmas": "simplemma:LANGUAGE",
    "tags": "spacy:PIPELINE",
    "heads": "spacy:PIPELINE",
    "coreference": "coref:LANGUAGE",
}
"""A component that assigns each layer, to name in an error."""


@runtime_checkable
class Annotator(Protocol):
    """One component: a name, a version, the layers it requires and assigns, and a call that adds them."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Whatever the result depends on beside the text (package, model, settings): it enters the cache key."""
        ...

    @property
    def requires(self) -> frozenset[Layer]: ...

    @property
    def assigns(self) -> frozenset[Layer]: ...

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        """The annotation with this component's layers; `annotation` is None for the first component."""
        ...


@dataclass(frozen=True)
class Pipeline:
    """Components in order; calling it annotates a document from nothing."""

    components: tuple[Annotator, ...]
    spec: str | None = None
    """The string `load_pipeline` makes this pipeline from, where it came from one."""
    notes: tuple[str, ...] = ()
    """What this pipeline leaves out and how to get it; passed on to every annotation."""

    def __post_init__(self) -> None:
        known: frozenset[Layer] = frozenset()
        for component in self.components:
            missing = [layer for layer in LAYERS if layer in component.requires - known]
            if missing:
                raise DocgraphError(
                    f"annotator '{component.name}' needs {missing[0]}, which no component before it assigns; "
                    f"put one before it that does: '{PROVIDERS[missing[0]]}+{component.name}'"
                )
            if "words" in component.assigns & known:
                raise DocgraphError(
                    f"annotator '{component.name}' would replace the words found before it; keep one component that "
                    "assigns words"
                )
            known |= component.assigns
        if "words" not in known:
            raise DocgraphError(
                f"no annotator assigns words; begin the pipeline with one that does, such as '{PROVIDERS['words']}'"
            )

    @property
    def assigns(self) -> frozenset[Layer]:
        return frozenset().union(*(component.assigns for component in self.components))

    @cached_property
    def version(self) -> str:
        """A digest of the names and versions of the components, of the length of a file name."""
        joint = "\n".join(f"{component.name}\t{component.version}" for component in self.components)
        return hashlib.blake2b("\n".join((joint, *self.notes)).encode(), digest_size=10).hexdigest()

    def __call__(self, document: Document) -> Annotation:
        annotation: Annotation | None = None
        for component in self.components:
            annotation = component(document, annotation)
            try:
                annotation.check(document)
            except ValueError as error:
                raise DocgraphError(
                    f"annotator '{component.name}' broke document '{document.id}': {error}; "
                    "report it to the author of that annotator"
                ) from error
        assert annotation is not None
        return annotation.with_notes(*self.notes)


def require(annotation: Annotation | None, name: str) -> Annotation:
    """The annotation an annotator was given, for one that cannot be the first of a pipeline."""
    if annotation is None:
        raise DocgraphError(f"annotator '{name}' needs words; put a component before it that assigns them")
    return annotation


def head_word(words: list[int], heads: IntArray | None) -> int:
    """The head of a mention: its first word whose own head lies outside it; its last word where there is no parse."""
    if heads is None:
        return words[-1]
    inside = set(words)
    for word in words:
        head = int(heads[word])
        if head == word or head not in inside:
            return word
    return words[-1]


def chain_links(chains: Iterable[Iterable[int]]) -> IntArray:
    """[C, 2]: each mention (a head word) linked to the one before it in its chain; no link twice."""
    links: set[tuple[int, int]] = set()
    for chain in chains:
        mentions = sorted(set(chain))
        links.update((mention, antecedent) for antecedent, mention in pairwise(mentions))
    array = np.array(sorted(links), dtype=np.int32).reshape(-1, 2)
    return array[:, ::-1].copy()


def lines_document(
    texts: Iterable[str],
    id: str = "",
    speakers: Iterable[str | None] | None = None,
    paragraphs: Iterable[int] | None = None,
) -> Document:
    """A document of sentences that come from an annotation store: one a line, each exactly as it is."""
    texts = list(texts)
    speakers = list(speakers) if speakers is not None else [None] * len(texts)
    paragraphs = list(paragraphs) if paragraphs is not None else [0] * len(texts)
    sentences, start = [], 0
    for text, speaker, paragraph in zip(texts, speakers, paragraphs, strict=True):
        sentences.append(Sentence(text, start, start + len(text), paragraph=paragraph, speaker=speaker))
        start += len(text) + 1
    return Document(tuple(sentences), "".join(f"{text}\n" for text in texts), id)
