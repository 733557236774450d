"""Pipelines of annotators: required layers, versions, and invalid annotations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from docgraph.annotate.builder import chain_links, head_word
from docgraph.annotate.pipeline import Annotator, Pipeline
from docgraph.annotate.rule_based import WordAnnotator
from docgraph.annotation import Annotation, Layer, Strings, from_spans, int_array
from docgraph.document import Document
from docgraph.errors import DocgraphError

DOCUMENT = Document.from_sentences(["One fish.", "", "Two fish."])


@dataclass(frozen=True)
class Upper:
    """Requires words and assigns the upper-cased form as lemma."""

    name: str = "upper"
    version: str = "1"
    requires: frozenset[Layer] = frozenset({"words"})
    assigns: frozenset[Layer] = frozenset({"lemmas"})

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        assert annotation is not None
        return replace(annotation, lemmas=Strings.of(form.upper() for form in annotation.forms.to_list()))


@dataclass(frozen=True)
class Outside(Upper):
    """Assigns a word outside its sentence."""

    name: str = "outside"
    requires: frozenset[Layer] = frozenset()
    assigns: frozenset[Layer] = frozenset({"words"})

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        return from_spans([[(0, 99)], [], []], document)


def test_components_combine() -> None:
    pipeline = Pipeline((WordAnnotator("en"), Upper()), notes=("a note",))
    assert isinstance(pipeline.components[1], Annotator)
    annotation = pipeline(DOCUMENT)
    assert annotation.offsets.tolist() == [0, 3, 3, 6]
    assert annotation.lemmas is not None
    assert annotation.lemmas.to_list() == ["ONE", "FISH", ".", "TWO", "FISH", "."]
    assert annotation.notes == ("a note",)
    assert pipeline.assigns == {"words", "lemmas"}


def test_missing_layer_is_named_with_a_component_that_assigns_it() -> None:
    with pytest.raises(DocgraphError, match=r"'upper' needs words, .*'words:LANGUAGE\+upper'"):
        Pipeline((Upper(),))
    with pytest.raises(DocgraphError, match=r"'upper' needs heads, .*'spacy:PIPELINE\+upper'"):
        Pipeline((WordAnnotator("en"), Upper(requires=frozenset({"words", "heads"}))))


def test_exactly_one_component_assigns_words() -> None:
    with pytest.raises(DocgraphError, match="would replace the words"):
        Pipeline((WordAnnotator("en"), WordAnnotator("fr")))
    with pytest.raises(DocgraphError, match="no annotator assigns words"):
        Pipeline(())


def test_version_follows_the_components() -> None:
    words = WordAnnotator("en")
    versions = {
        Pipeline((words,)).version,
        Pipeline((words, Upper())).version,
        Pipeline((words, Upper(version="2"))).version,
        Pipeline((words,), notes=("n",)).version,
    }
    assert len(versions) == 4
    assert Pipeline((words, Upper())).version == Pipeline((WordAnnotator("en"), Upper())).version


def test_a_broken_annotator_is_named() -> None:
    with pytest.raises(
        DocgraphError, match="annotator 'outside' returned an invalid annotation of document '': a word lies outside"
    ):
        Pipeline((Outside(),))(DOCUMENT)


def test_head_word_is_the_first_whose_head_is_outside() -> None:
    heads = int_array([2, 2, 2, 2, 3])  # root 2
    assert head_word([0, 1, 2], heads) == 2
    assert head_word([0, 1], heads) == 0
    assert head_word([3, 4], heads) == 3
    assert head_word([3, 4], None) == 4


def test_chain_links_go_from_mention_to_mention() -> None:
    assert chain_links([[5, 1, 5, 3], [1, 3], [7]]).tolist() == [[1, 3], [3, 5]]
    assert chain_links([]).shape == (0, 2)
