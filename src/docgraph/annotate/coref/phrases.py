"""The wording of mentions as integers, so that string matches over all pairs are comparisons of arrays."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.trees import Trees, mark
from docgraph.annotation import Annotation, IntArray, Strings

CONTENT = frozenset({"NOUN", "PROPN", "ADJ", "NUM", "VERB", "X", "SYM"})
BitArray = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Phrases:
    """Columns [N] over mentions; equal numbers mean equal wording."""

    core: IntArray
    """The phrase's core, lower-cased and without determiners."""
    phrase: IntArray
    """Core and complements ("of", possessors) together."""
    acronym: IntArray
    """The acronym a name is, or abbreviates to; -1 for none."""
    head_bits: BitArray
    """The head lemma as one bit of 64."""
    modifier_bits: BitArray
    """The lemmas of the modifiers, one bit each."""
    words: tuple[tuple[int, ...], ...]
    """The content words of each mention, head first."""


class _Ids(dict[Hashable, int]):
    """Numbers things in the order they are met."""

    def __missing__(self, key: Hashable) -> int:
        self[key] = len(self)
        return self[key]


def find_phrases(
    word: IntArray,
    is_name: npt.NDArray[np.bool_],
    annotation: Annotation,
    trees: Trees,
    lower: Strings,
    lemmas: Strings,
) -> Phrases:
    """The wording of the mentions headed by `word` [N]."""
    content = mark(trees.upos, CONTENT.__contains__).tolist()
    forms, keys, lemma_ids = annotation.forms.to_list(), lower.ids.tolist(), lemmas.ids.tolist()
    core_left, core_right = (side.tolist() for side in trees.cores)
    complements = _complements(trees)
    cores, phrases, acronyms = _Ids(), _Ids(), _Ids()
    columns = np.zeros((len(word), 3), dtype=np.int32)
    words: list[tuple[int, ...]] = []
    for row, (head, name) in enumerate(zip(word.tolist(), is_name.tolist(), strict=True)):
        inner = [w for w in range(core_left[head], core_right[head] + 1) if content[w] or w == head]
        core = tuple(keys[w] for w in inner)
        outer = complements.get(head, [])
        acronym = _acronym([forms[w] for w in inner]) if name else ""
        columns[row] = (
            cores[core],
            phrases[(core, *(keys[w] for w in outer))],
            acronyms[acronym] if acronym else -1,
        )
        words.append((head, *(w for w in inner if w != head), *outer))
    bits = [1 << (lemma % 64) for lemma in lemma_ids]
    modifiers = np.array([sum({bits[w] for w in entry[1:]}) for entry in words], dtype=np.uint64)
    heads = np.array([bits[entry[0]] for entry in words], dtype=np.uint64)
    return Phrases(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy(), heads, modifiers, tuple(words))


def _complements(trees: Trees) -> dict[int, list[int]]:
    """The nouns that depend on each noun as complement or possessor."""
    found: dict[int, list[int]] = {}
    nouns = trees.has_relation({"nmod"}) & trees.has_pos("NOUN", "PROPN")
    for child in np.flatnonzero(nouns).tolist():
        found.setdefault(int(trees.heads[child]), []).append(child)
    return found


def _acronym(forms: list[str]) -> str:
    """ "WHO" for "WHO", "W.H.O." and "World Health Organization"; nothing for other single words."""
    if len(forms) == 1:
        plain = forms[0].replace(".", "")
        return plain if plain.isupper() and 2 <= len(plain) <= 6 else ""
    initials = [form[0] for form in forms if form[0].isupper()]
    return "".join(initials) if len(initials) == len(forms) else ""
