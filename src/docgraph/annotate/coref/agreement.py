"""Agreement: person, number, gender and animacy of mentions, from the tables and the tagger's features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from docgraph.annotate.coref.kinds import MentionKind, PronounKind
from docgraph.annotate.coref.lexicon import GROUP, PERSON, Lexicon
from docgraph.annotate.coref.phrases import Phrases
from docgraph.annotate.coref.tables import ANIMACY, ANY_ANIMACY, ANY_GENDER, ANY_NUMBER, GENDER, Pronoun, Table
from docgraph.annotate.coref.trees import Trees
from docgraph.annotation import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Agreement:
    """Columns [N]; number, gender and animacy are the masks of `tables`, sort the bits of `lexicon`."""

    pronoun_kind: IntArray
    person: IntArray
    number: IntArray
    gender: IntArray
    animacy: IntArray
    sort: IntArray


def find_agreement(
    word: IntArray,
    kind: IntArray,
    pronoun: IntArray,
    phrases: Phrases,
    trees: Trees,
    lexicon: Lexicon,
    keys: IntArray,
    table: Table,
) -> Agreement:
    """The features of the mentions headed by `word` [N]; `keys` [W] number the words by their lower-cased form."""
    is_name = kind == MentionKind.NAME
    name_sort, name_gender = _names(word, is_name, phrases, lexicon, keys)
    sort = lexicon.sort[word].astype(np.int32)
    sort = np.where(is_name, name_sort | (sort & ~PERSON), sort)
    animacy = _animacy(kind, sort, lexicon.feats_animacy[word].astype(np.int32), "person" in table.nouns)
    lexical = np.where(is_name, name_gender, lexicon.noun_gender[word])
    found = Agreement(
        pronoun_kind=np.zeros(len(word), dtype=np.int32),
        person=np.full(len(word), 3, dtype=np.int32),
        number=_number(word, sort, trees, lexicon),
        gender=_gender(lexicon.feats_gender[word].astype(np.int32), lexical, animacy),
        animacy=animacy,
        sort=sort,
    )
    for row in np.flatnonzero(kind == MentionKind.PRONOUN).tolist():
        _set_pronoun(found, row, table.pronouns[pronoun[row] - 1], int(word[row]), lexicon)
    return found


def _set_pronoun(found: Agreement, row: int, entry: Pronoun, word: int, lexicon: Lexicon) -> None:
    """What the table says of a pronoun, narrowed by the tagger where the table leaves it open."""
    number, gender = entry.number, entry.gender
    if entry.kind != PronounKind.POSSESSIVE:  # there the tagger means what is possessed
        number = number & int(lexicon.feats_number[word]) or number
        gender = gender & int(lexicon.feats_gender[word]) or gender
    found.pronoun_kind[row], found.person[row], found.sort[row] = entry.kind, entry.person, 0
    found.number[row], found.gender[row], found.animacy[row] = number, gender, entry.animacy


def _number(word: IntArray, sort: IntArray, trees: Trees, lexicon: Lexicon) -> IntArray:
    """[N]: groups and coordinations can be one or several."""
    number = lexicon.feats_number[word].astype(np.int32)
    coordinated = trees.with_child(trees.has_relation({"conj"}))[word]
    return np.where((number == 0) | coordinated | (sort & GROUP > 0), ANY_NUMBER, number).astype(np.int32)


def _gender(grammatical: IntArray, lexical: IntArray, animacy: IntArray) -> IntArray:
    """[N]: the grammar's where it has one, else what the lists know, else what animacy leaves."""
    gender = np.where(grammatical > 0, grammatical, lexical).astype(np.int32)
    gender[(gender == 0) & (animacy == ANIMACY["a"])] = GENDER["m"] | GENDER["f"]
    gender[(gender == 0) & (animacy == ANIMACY["i"])] = GENDER["n"]
    gender[gender == 0] = ANY_GENDER
    return gender


def _animacy(kind: IntArray, sort: IntArray, feats: IntArray, closed: bool) -> IntArray:
    """[N]: persons are animate, groups either, other nouns things where the language has a list of persons."""
    animacy = np.full(len(kind), ANY_ANIMACY, dtype=np.int32)
    if closed:
        animacy[(kind == MentionKind.NOUN) & (sort & (PERSON | GROUP) == 0)] = ANIMACY["i"]
    animacy[(sort & ~(PERSON | GROUP) != 0) & (sort & GROUP == 0)] = ANIMACY["i"]
    animacy[sort & PERSON != 0] = ANIMACY["a"]
    animacy = np.where(feats > 0, feats, animacy)
    animacy[kind == MentionKind.EVENT] = ANIMACY["i"]
    return animacy


def _names(
    word: IntArray, is_name: BoolArray, phrases: Phrases, lexicon: Lexicon, keys: IntArray
) -> tuple[IntArray, IntArray]:
    """[N], [N]: sort and gender of names; a bare "Bos" has those of "Nick Bos" where no other Bos differs."""
    sorts, genders = np.zeros(len(word), dtype=np.int32), np.zeros(len(word), dtype=np.int32)
    known: dict[int, int] = {}
    rows = np.flatnonzero(is_name).tolist()
    for row in rows:
        inside = list(phrases.words[row])
        if lexicon.organisation[inside].any():
            sorts[row] = GROUP
            continue
        gender = int(np.bitwise_or.reduce(lexicon.title_gender[inside] | lexicon.noun_gender[inside]))
        gender = gender or int(np.bitwise_or.reduce(lexicon.name_gender[inside]))
        if gender or (lexicon.title[inside] | lexicon.sort[inside] & PERSON).any():
            sorts[row], genders[row] = PERSON, gender
            for part in inside:
                known[int(keys[part])] = known.get(int(keys[part]), 0) | gender
    for row in rows:
        part = int(keys[word[row]])
        if genders[row] == 0 and sorts[row] != GROUP and part in known:
            sorts[row], genders[row] = PERSON, known[part]
    return sorts, genders
