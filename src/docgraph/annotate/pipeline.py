"""The annotator protocol, pipelines of annotators, and the optional packages that annotators load.

An annotator takes a document and its annotation so far, and returns the annotation with more layers. It declares the
layers it requires and the layers it assigns, so a pipeline is checked before it runs.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import warnings
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Protocol, runtime_checkable

from docgraph.annotation import LAYERS, Annotation, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

WORDS: frozenset[Layer] = frozenset({"words"})
PROVIDERS: dict[Layer, str] = {
    "words": "words:LANGUAGE",
    "lemmas": "simplemma:LANGUAGE",
    "tags": "spacy:PIPELINE",
    "heads": "spacy:PIPELINE",
    "coreference": "coref:LANGUAGE",
}
"""For each layer, a component that assigns it. Error messages suggest it."""


@runtime_checkable
class Annotator(Protocol):
    """One component of a pipeline."""

    @property
    def name(self) -> str:
        """The spec of the component, such as `words:fr`."""

    @property
    def version(self) -> str:
        """Everything except the text that the result depends on (package, model, settings). Part of the cache key."""

    @property
    def requires(self) -> frozenset[Layer]:
        """Layers that earlier components must assign."""

    @property
    def assigns(self) -> frozenset[Layer]:
        """Layers that this component adds."""

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        """Returns the annotation with this component's layers. `annotation` is None for the first component."""


@dataclass(frozen=True)
class Pipeline:
    """Annotators in the order they run. Raises DocgraphError if their layers do not fit together."""

    components: tuple[Annotator, ...]
    spec: str | None = None
    """The string from which `load_pipeline` builds this pipeline; None if it was built in Python."""
    notes: tuple[str, ...] = ()
    """Messages about missing layers and how to get them. Copied to every annotation."""

    def __post_init__(self) -> None:
        known: frozenset[Layer] = frozenset()
        for component in self.components:
            missing = [layer for layer in LAYERS if layer in component.requires - known]
            if missing:
                raise DocgraphError(
                    f"annotator '{component.name}' needs {missing[0]}, which no earlier component assigns; "
                    f"add such a component: '{PROVIDERS[missing[0]]}+{component.name}'"
                )
            if "words" in component.assigns & known:
                raise DocgraphError(
                    f"annotator '{component.name}' would replace the words of an earlier component; "
                    "keep only one component that assigns words"
                )
            known |= component.assigns
        if "words" not in known:
            raise DocgraphError(
                f"no annotator assigns words; start the pipeline with one that does, such as '{PROVIDERS['words']}'"
            )

    @property
    def assigns(self) -> frozenset[Layer]:
        """The layers of the annotations that the pipeline returns."""
        return frozenset().union(*(component.assigns for component in self.components))

    @cached_property
    def version(self) -> str:
        """A digest of the component names and versions, usable as a folder name."""
        components = "\n".join(f"{component.name}\t{component.version}" for component in self.components)
        return hashlib.blake2b("\n".join((components, *self.notes)).encode(), digest_size=10).hexdigest()

    def __call__(self, document: Document) -> Annotation:
        """Runs all components and checks the annotation after each one."""
        annotation: Annotation | None = None
        for component in self.components:
            annotation = component(document, annotation)
            try:
                annotation.check(document)
            except ValueError as error:
                raise DocgraphError(
                    f"annotator '{component.name}' returned an invalid annotation of document '{document.id}': {error};"
                    " report it to the author of the annotator"
                ) from error
        assert annotation is not None
        return annotation.with_notes(*self.notes)


def require_words(annotation: Annotation | None, name: str) -> Annotation:
    """Returns the annotation that annotator `name` received, or raises DocgraphError if there is none."""
    if annotation is None:
        raise DocgraphError(f"annotator '{name}' needs words; put a component that assigns words before it")
    return annotation


def load_package(module: str, annotator: str, install: str) -> ModuleType:
    """Imports an optional package, or raises DocgraphError with the command that installs it.

    Import-time warnings of the package are suppressed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != module:
            raise DocgraphError(
                f"annotator '{annotator}' needs {module}, which fails to import ({error}); repair it with: {install}"
            ) from error
        raise DocgraphError(f"annotator '{annotator}' needs {module}; install it with: {install}") from None


def package_version(distribution: str) -> str:
    """Returns the name and installed version of a distribution, for cache keys."""
    try:
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return distribution
