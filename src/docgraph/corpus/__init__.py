"""Parallel corpora: readers of what people have, sub-words, and the prepared store that training reads."""
