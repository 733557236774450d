"""Contrastive suites: read them, score their candidates with a model, count accuracies."""

from docgraph.evaluation.suites.readers import read_suite
from docgraph.evaluation.suites.suite import Contrast, Suite, write_suite

__all__ = ["Contrast", "Suite", "read_suite", "write_suite"]
