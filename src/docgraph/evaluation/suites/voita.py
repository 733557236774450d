"""The consistency sets of Voita et al. (2019), English-Russian: deixis, lexical cohesion, ellipsis.

A file is a list of items {src, dst[], true_ind, ctx_dist}: four sentences a side, joined by `_eos`, Moses-tokenised;
the variants in `dst` differ in the last sentence alone. The original script takes one loss a variant, in file order;
an item is right when the first variant of the lowest loss is the true one. It counts by `ctx_dist` but for the two
ellipsis sets.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docgraph.evaluation.suites.base import Contrast, Suite, field_of, reading, stem, texts_of

SEPARATOR = "_eos"
_JOINS = (
    (re.compile(r" ?(\x90|\u202d|\ufeff) ?"), ""),
    (re.compile(r" ('(?:s|t|re|m|ll|ve|d)\b)", re.IGNORECASE), r"\1"),
    (re.compile(r" ' (s|em)\b"), r"'\1"),
    (re.compile(r"s ' (?=\w)"), "s' "),
    (re.compile(r' ([.,?!:;%)\]]|\.\.+)(?= |$|")'), r"\1"),
    (re.compile(r"([(\[$]) "), r"\1"),
    (re.compile(r"(\d) / (\d)"), r"\1/\2"),
)
_QUOTED = re.compile(r'" ([^"]*?) ?"')


def read(path: str | Path, items: Any) -> Suite:
    """A set from the parsed items of its file."""
    name = stem(path)
    contrasts = []
    for number, item in enumerate(items, 1):
        with reading(f"item {number}", path):
            contrasts.append(_contrast(item, by_distance=not name.startswith("ellipsis")))
    return Suite(name, tuple(contrasts), ("en", "ru"), ties="first", text="detokenised")


def _contrast(item: Any, by_distance: bool) -> Contrast:
    *context, source = _sentences(field_of(item, "src", str))
    variants = [_sentences(text) for text in texts_of(item, "dst")]
    if any(len(variant) != len(context) + 1 or variant[:-1] != variants[0][:-1] for variant in variants):
        raise ValueError("the variants in 'dst' do not differ in the last sentence alone, or have too few or too many")
    distance = field_of(item, "ctx_dist", int)
    return Contrast(
        source,
        tuple(variant[-1] for variant in variants),
        tuple(context),
        tuple(variants[0][:-1]) if variants else (),
        field_of(item, "true_ind", int),
        distance=distance if by_distance else None,
    )


def _sentences(text: str) -> list[str]:
    return [detokenise(sentence.strip()) for sentence in text.split(SEPARATOR)]


def detokenise(text: str) -> str:
    """Moses tokens as written text: models here read raw text."""
    for pattern, joined in _JOINS:
        text = pattern.sub(joined, text)
    return _QUOTED.sub(r'"\1"', text).strip()
