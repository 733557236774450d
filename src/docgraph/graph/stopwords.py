"""Which words carry no content: by part of speech where there is one, else by shape and spaCy's word lists."""

from __future__ import annotations

import unicodedata

import numpy as np

from docgraph.annotation import Annotation, BoolArray

FUNCTION_POS = frozenset({"ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "PUNCT", "SCONJ", "SYM", "X"})


def is_function_word(annotation: Annotation) -> BoolArray:
    """[W]: True at punctuation and, where parts of speech are known, at function words."""
    marks = np.array([_is_punctuation(form) for form in annotation.forms.table], dtype=np.bool_)
    skip = marks[annotation.forms.ids] if len(marks) else np.zeros(annotation.num_words, dtype=np.bool_)
    if annotation.upos is not None and len(annotation.upos.table):
        skip = (
            skip | np.array([pos in FUNCTION_POS for pos in annotation.upos.table], dtype=np.bool_)[annotation.upos.ids]
        )
    return skip


def _is_punctuation(form: str) -> bool:
    return all(unicodedata.category(character)[0] in "PSZ" for character in form)
