"""Annotation of documents: words, lemmas, tags, dependency heads and coreference, by pipelines of annotators."""

from docgraph.annotate.pipeline import Annotator, Pipeline
from docgraph.annotate.registry import load_pipeline

__all__ = ["Annotator", "Pipeline", "load_pipeline"]
