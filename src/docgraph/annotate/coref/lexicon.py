"""What the word lists say of each word of a document: sort, gender and animacy of nouns, genders of names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.tables import ANIMACY, GENDER, NUMBER, Table
from docgraph.annotation import Annotation, Strings

PERSON, GROUP, TIME, PLACE = 1, 2, 4, 8
SORTS = {"masculine": PERSON, "feminine": PERSON, "person": PERSON, "group": GROUP, "time": TIME, "place": PLACE}
GENDERS = {"masculine": GENDER["m"], "feminine": GENDER["f"]}
ByteArray = npt.NDArray[np.uint8]


def _bits(column: Strings, lists: Mapping[str, frozenset[str]], values: Mapping[str, int]) -> ByteArray:
    """[W]: the union of the values of the lists each word is in."""
    table = [
        sum({values[key] for key in values if text in lists.get(key, ())}) for text in map(str.lower, column.table)
    ]
    flags = np.array(table, dtype=np.uint8)
    return flags[column.ids] if len(flags) else np.zeros(len(column), dtype=np.uint8)


class Lexicon:
    """Columns [W] of bit masks from the word lists; 0 where the lists are silent."""

    def __init__(self, annotation: Annotation, table: Table) -> None:
        lemmas = annotation.lemmas or annotation.forms
        self.sort = _bits(lemmas, table.nouns, SORTS)
        self.noun_gender = _bits(lemmas, table.nouns, GENDERS)
        self.title = _bits(annotation.forms, table.titles, SORTS)
        self.title_gender = _bits(annotation.forms, table.titles, GENDERS)
        self.name_gender = _bits(annotation.forms, table.names, GENDERS)
        self.organisation = _bits(annotation.forms, table.names, {"organisation": GROUP})
        feats = annotation.feats or Strings(np.zeros(annotation.num_words, dtype=np.int32), ("",))
        self.feats_number = _feature(feats, "Number", {"Sing": NUMBER["s"], "Plur": NUMBER["p"]})
        self.feats_gender = _feature(feats, "Gender", {"Masc": GENDER["m"], "Fem": GENDER["f"], "Neut": GENDER["n"]})
        self.feats_animacy = _feature(feats, "Animacy", {"Anim": ANIMACY["a"], "Inan": ANIMACY["i"]})


def _feature(feats: Strings, name: str, values: Mapping[str, int]) -> ByteArray:
    """[W]: a universal feature as a mask; 0 where it is not given."""
    table = np.zeros(len(feats.table), dtype=np.uint8)
    for index, text in enumerate(feats.table):
        for pair in text.split("|"):
            key, _, value = pair.partition("=")
            if key == name:
                table[index] = sum(values.get(part, 0) for part in value.split(","))
    return table[feats.ids] if len(table) else np.zeros(len(feats), dtype=np.uint8)
