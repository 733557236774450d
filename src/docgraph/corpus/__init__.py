"""Parallel corpora: readers of common formats, sub-words, and the prepared store that training reads."""
