"""Annotation: words, lemmas, tags, heads and coreference, by annotators that combine."""

from docgraph.annotate.base import Annotator, Pipeline
from docgraph.annotate.registry import load_pipeline

__all__ = ["Annotator", "Pipeline", "load_pipeline"]
