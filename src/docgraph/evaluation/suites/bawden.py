"""The discourse sets of Bawden et al. (2018), English-French: anaphora and lexical choice.

A file is an object of numbered blocks; all contrasts of a block are pairs of the same two or so sentences in contexts
that ask for one or the other, so that a scorer blind to context gets half of them. (In block 17 of the anaphora file
one of the four pairs is worded differently: a blind scorer that changes its mind with the wording may gain or lose
that one.) The original script takes two scores a pair, right before wrong, blocks by number; a pair is right when its
right translation has strictly the better score (lower, unless told to maximise), a block when all its pairs are. It
counts by kind of pronoun, and apart where the translation of the antecedent is only semi-correct, or by type of
lexical choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docgraph.evaluation.suites.base import Contrast, Suite, field_of, reading, stem, texts_of


def read(path: str | Path, blocks: dict[str, Any]) -> Suite:
    """A set from the parsed blocks of its file."""
    contrasts = list[Contrast]()
    with reading("the numbering of blocks", path):
        numbers = sorted(blocks, key=int)
    for number in numbers:
        with reading(f"block {number}", path):
            contrasts.extend(_block(number, blocks[number]))
    return Suite(stem(path), tuple(contrasts), ("en", "fr"))


def _block(number: str, block: Any) -> Iterator[Contrast]:
    if "trg" in block:  # anaphora: one source, several translations of it
        for pair in field_of(block, "trg", list):
            right = "correct" if "correct" in pair else "semi-correct"
            labels = {"pronoun": field_of(pair, "type", str), "antecedent": right}
            yield _contrast(texts_of(block, "src"), texts_of(pair, right), texts_of(pair, "incorrect"), labels, number)
    else:
        for example in field_of(block, "examples", list):
            target = field_of(example, "trg", dict)
            labels = {"type": field_of(block, "type", str)}
            pair = texts_of(target, "correct"), texts_of(target, "incorrect")
            yield _contrast(texts_of(example, "src"), *pair, labels, number)


def _contrast(
    source: tuple[str, ...], right: tuple[str, ...], wrong: tuple[str, ...], labels: dict[str, str], block: str
) -> Contrast:
    if not len(source) == len(right) == len(wrong) or right[:-1] != wrong[:-1]:
        raise ValueError("source, right and wrong translation do not have the same sentences before the last")
    return Contrast(source[-1], (right[-1], wrong[-1]), source[:-1], right[:-1], labels=labels, block=block)
