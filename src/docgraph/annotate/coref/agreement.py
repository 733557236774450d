"""Agreement: person, number, gender and animacy of mentions, from the word lists and the tagger's features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docgraph.annotate.coref.trees import Trees
from docgraph.annotate.coref.word_lists import (
    ANIMACY,
    ANY_ANIMACY,
    ANY_GENDER,
    ANY_NUMBER,
    GENDER,
    GROUP,
    PERSON,
    MentionKind,
    Pronoun,
    PronounKind,
    WordAttributes,
    WordLists,
)
from docgraph.annotation import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Agreement:
    """Columns [N] over mentions. Number, gender, animacy and sort are the bit masks of `word_lists`."""

    pronoun_kind: IntArray
    person: IntArray
    number: IntArray
    gender: IntArray
    animacy: IntArray
    sort: IntArray
    """Bits: person 1, group 2, time 4, place 8."""


def find_agreement(
    word: IntArray,
    kind: IntArray,
    pronoun: IntArray,
    phrase_words: Sequence[Sequence[int]],
    trees: Trees,
    attributes: WordAttributes,
    form_ids: IntArray,
    lists: WordLists,
) -> Agreement:
    """Returns the agreement features of N mentions.

    `word`, `kind`, `pronoun` [N] and `phrase_words` describe the mentions; `form_ids` [W] are ids of the lower-cased
    forms.
    """
    is_name = kind == MentionKind.NAME
    name_sort, name_gender = _name_attributes(word, is_name, phrase_words, attributes, form_ids)
    sort = attributes.sort[word].astype(np.int32)
    sort = np.where(is_name, name_sort | (sort & ~PERSON), sort)
    animacy = _animacy(kind, sort, attributes.feats_animacy[word].astype(np.int32), "person" in lists.nouns)
    lexical_gender = np.where(is_name, name_gender, attributes.noun_gender[word])
    agreement = Agreement(
        pronoun_kind=np.zeros(len(word), dtype=np.int32),
        person=np.full(len(word), 3, dtype=np.int32),
        number=_number(word, sort, trees, attributes),
        gender=_gender(attributes.feats_gender[word].astype(np.int32), lexical_gender, animacy),
        animacy=animacy,
        sort=sort,
    )
    for row in np.flatnonzero(kind == MentionKind.PRONOUN).tolist():
        _set_pronoun(agreement, row, lists.pronouns[pronoun[row] - 1], int(word[row]), attributes)
    return agreement


def _set_pronoun(agreement: Agreement, row: int, pronoun: Pronoun, word: int, attributes: WordAttributes) -> None:
    """Sets the features of a pronoun from the word lists; the tagger narrows those that the lists leave open."""
    number, gender = pronoun.number, pronoun.gender
    if pronoun.kind != PronounKind.POSSESSIVE:  # the tagger's features of a possessive are those of the possessed
        number = number & int(attributes.feats_number[word]) or number
        gender = gender & int(attributes.feats_gender[word]) or gender
    agreement.pronoun_kind[row], agreement.person[row], agreement.sort[row] = pronoun.kind, pronoun.person, 0
    agreement.number[row], agreement.gender[row], agreement.animacy[row] = number, gender, pronoun.animacy


def _number(word: IntArray, sort: IntArray, trees: Trees, attributes: WordAttributes) -> IntArray:
    """Returns [N]: the tagger's number; groups and coordinations may be singular or plural."""
    number = attributes.feats_number[word].astype(np.int32)
    coordinated = trees.with_child(trees.has_relation({"conj"}))[word]
    return np.where((number == 0) | coordinated | (sort & GROUP > 0), ANY_NUMBER, number).astype(np.int32)


def _gender(grammatical: IntArray, lexical: IntArray, animacy: IntArray) -> IntArray:
    """Returns [N]: the grammatical gender, else that of the word lists, else the genders that the animacy allows."""
    gender = np.where(grammatical > 0, grammatical, lexical).astype(np.int32)
    gender[(gender == 0) & (animacy == ANIMACY["a"])] = GENDER["m"] | GENDER["f"]
    gender[(gender == 0) & (animacy == ANIMACY["i"])] = GENDER["n"]
    gender[gender == 0] = ANY_GENDER
    return gender


def _animacy(kind: IntArray, sort: IntArray, feats: IntArray, has_person_list: bool) -> IntArray:
    """Returns [N]: persons are animate, groups either. With a list of persons, all other nouns are inanimate."""
    animacy = np.full(len(kind), ANY_ANIMACY, dtype=np.int32)
    if has_person_list:
        animacy[(kind == MentionKind.NOUN) & (sort & (PERSON | GROUP) == 0)] = ANIMACY["i"]
    animacy[(sort & ~(PERSON | GROUP) != 0) & (sort & GROUP == 0)] = ANIMACY["i"]
    animacy[sort & PERSON != 0] = ANIMACY["a"]
    animacy = np.where(feats > 0, feats, animacy)
    animacy[kind == MentionKind.EVENT] = ANIMACY["i"]
    return animacy


def _name_attributes(
    word: IntArray,
    is_name: BoolArray,
    phrase_words: Sequence[Sequence[int]],
    attributes: WordAttributes,
    form_ids: IntArray,
) -> tuple[IntArray, IntArray]:
    """Returns [N], [N]: sort and gender of names. A bare "Bos" has those of an unambiguous "Nick Bos"."""
    sorts, genders = np.zeros(len(word), dtype=np.int32), np.zeros(len(word), dtype=np.int32)
    gender_of_form: dict[int, int] = {}
    rows = np.flatnonzero(is_name).tolist()
    for row in rows:
        words = list(phrase_words[row])
        if attributes.organisation[words].any():
            sorts[row] = GROUP
            continue
        gender = int(np.bitwise_or.reduce(attributes.title_gender[words] | attributes.noun_gender[words]))
        gender = gender or int(np.bitwise_or.reduce(attributes.name_gender[words]))
        if gender or (attributes.title[words] | attributes.sort[words] & PERSON).any():
            sorts[row], genders[row] = PERSON, gender
            for form in form_ids[words].tolist():
                gender_of_form[form] = gender_of_form.get(form, 0) | gender
    for row in rows:
        form = int(form_ids[word[row]])
        if genders[row] == 0 and sorts[row] != GROUP and form in gender_of_form:
            sorts[row], genders[row] = PERSON, gender_of_form[form]
    return sorts, genders
