"""simplemma: lemmas by dictionary, for words that another component found."""

from __future__ import annotations

from dataclasses import replace

from docgraph.annotate.base import WORDS, require
from docgraph.annotate.packages import load_package, package_version
from docgraph.annotation import Annotation, Layer, Strings
from docgraph.document import Document
from docgraph.errors import DocgraphError


def supported(language: str) -> bool:
    """Whether simplemma has a dictionary of that language."""
    factory = "simplemma.strategies.dictionaries.dictionary_factory"
    return language in load_package(factory, f"simplemma:{language}", "pip install simplemma").SUPPORTED_LANGUAGES


class SimplemmaAnnotator:
    """Lemmas of the words found so far; each distinct form is looked up once a document."""

    requires = WORDS
    assigns: frozenset[Layer] = frozenset({"lemmas"})

    def __init__(self, language: str) -> None:
        self.name = f"simplemma:{language}"
        self.version = f"{package_version('simplemma')} {language}"
        self._language = language
        if not supported(language):
            raise DocgraphError(f"simplemma has no dictionary for '{language}'; leave '+{self.name}' out")
        self._lemmatize = load_package("simplemma", self.name, "pip install simplemma").lemmatize

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        annotation = require(annotation, self.name)
        forms = annotation.forms
        lemma = [self._lemmatize(form, lang=self._language) for form in forms.table]
        return replace(annotation, lemmas=Strings.of(lemma[i] for i in forms.ids.tolist()))
