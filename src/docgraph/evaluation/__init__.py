"""Evaluation: metrics and their significance, document measures, contrastive suites."""
