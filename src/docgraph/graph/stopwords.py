"""Which words carry no content: punctuation by its characters, function words by part of speech where there is one."""

from __future__ import annotations

import unicodedata

import numpy as np

from docgraph.annotation import Annotation, BoolArray, Strings

FUNCTION_POS = frozenset({"ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "PUNCT", "SCONJ", "SYM"})


def is_function_word(annotation: Annotation) -> BoolArray:
    """[W]: True at punctuation and, where parts of speech are known, at function words."""
    skip = _look_up(annotation.forms, [_is_punctuation(form) for form in annotation.forms.table])
    if annotation.upos is not None:
        skip |= _look_up(annotation.upos, [pos in FUNCTION_POS for pos in annotation.upos.table])
    return skip


def _look_up(column: Strings, flags: list[bool]) -> BoolArray:
    return np.array(flags, dtype=np.bool_)[column.ids]


def _is_punctuation(form: str) -> bool:
    return all(unicodedata.category(character)[0] in "PSZ" for character in form)
