"""Mentions: the words that head a phrase which a text can refer back to, with their attributes as columns."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.agreement import Agreement, find_agreement
from docgraph.annotate.coref.quotes import Speakers, find_quotes, find_speakers
from docgraph.annotate.coref.trees import Trees, attach_titles, base_relation, mark
from docgraph.annotate.coref.word_lists import Definiteness, MentionKind, PronounKind, Role, WordAttributes, WordLists
from docgraph.annotation import Annotation, BoolArray, IntArray, Strings
from docgraph.document import Document

ROLES = {
    "nsubj": Role.SUBJECT,
    "csubj": Role.SUBJECT,
    "obj": Role.OBJECT,
    "iobj": Role.OBJECT,
    "obl": Role.OBLIQUE,
    "nmod": Role.MODIFIER,
    "conj": Role.CONJUNCT,
    "appos": Role.APPOSITION,
    "root": Role.ROOT,
    "compound": Role.COMPOUND,
}
NON_MENTION_RELATIONS = frozenset(
    {"flat", "fixed", "goeswith", "expl", "amod", "nummod", "advmod", "case", "mark", "cc", "punct", "discourse"}
)
POSSESSOR_RELATIONS = frozenset({"nmod:poss", "det:poss"})
DETERMINER_ORDER = (
    Definiteness.QUANTIFIED,
    Definiteness.INDEFINITE,
    Definiteness.DEFINITE,
    Definiteness.DEMONSTRATIVE,
    Definiteness.POSSESSED,
)
"""If a noun has several determiners, the last one in this order decides."""
EVENT_CLAUSES = frozenset({"root", "conj", "parataxis", "ccomp", "advcl", "csubj"})
NOMINAL = ("NOUN", "PROPN", "NUM", "X", "SYM", "ADJ", "DET")
CONTENT_POS = frozenset({"NOUN", "PROPN", "ADJ", "NUM", "VERB", "X", "SYM"})
BitArray = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Wording:
    """The wording of N mentions as columns [N] of ids, so that string matches compare integers; -1 means none."""

    core: IntArray
    """Id of the core of the phrase, lower-cased and without determiners."""
    phrase: IntArray
    """Id of core and complements."""
    acronym: IntArray
    """Id of the acronym of a name."""
    head_bits: BitArray
    """The head lemma, hashed to one of 64 bits."""
    modifier_bits: BitArray
    """The lemmas of the modifiers, each hashed to one of 64 bits."""
    content_words: list[tuple[int, ...]]
    """The content words of each mention, head first."""


@dataclass(frozen=True, eq=False)
class Mentions(Agreement, Wording):
    """N mentions in document order, as columns [N]; -1 means none."""

    word: IntArray
    """The head word."""
    sentence: IntArray
    kind: IntArray
    pronoun: IntArray
    """Position of the pronoun in the word lists, from 1; 0 for other words."""
    definiteness: IntArray
    role: IntArray
    left: IntArray
    """First word of the whole phrase."""
    right: IntArray
    """Last word of the whole phrase."""
    head: IntArray
    """The head of the head word."""
    clause: IntArray
    """The head word of the clause."""
    lemma: IntArray
    form: IntArray
    speaker: IntArray
    """The speaker of the sentence."""
    addressee: IntArray
    """The addressee of the sentence."""
    names_speaker: IntArray
    """The speaker whom the mention names."""
    quote: IntArray
    """The quotation that contains the word."""
    quoted_by: IntArray
    """The word that names the speaker of that quotation."""
    pleonastic: BoolArray
    """Whether it is probably a pronoun without referent ("it rains")."""
    coordinated: BoolArray
    predicative: BoolArray
    """Whether the mention is the predicate of a copula."""
    word_lemmas: list[list[int]]
    """The lemmas of the content words of each mention, head first."""

    def __len__(self) -> int:
        return len(self.word)


def find_mentions(document: Document, annotation: Annotation, lists: WordLists) -> Mentions:
    """Returns all mentions of a document, including singletons."""
    annotation = attach_titles(annotation, lists)
    trees, attributes = Trees(annotation), WordAttributes(annotation, lists)
    lower = Strings.of(form.lower() for form in annotation.forms.to_list())
    lemmas = Strings.of(lemma.lower() for lemma in (annotation.lemmas or annotation.forms).to_list())
    pronouns = _pronoun_numbers(lower, trees, lists)
    kinds = _kinds(annotation, trees, pronouns, lists)
    word = np.flatnonzero(kinds >= 0).astype(np.int32)
    sentence, kind, pronoun = annotation.sentence_of[word], kinds[word], pronouns[word]
    wording = _find_wording(word, kind == MentionKind.NAME, annotation, trees, lower, lemmas)
    agreement = find_agreement(word, kind, pronoun, wording.content_words, trees, attributes, lower.ids, lists)
    quote, quoted_by = find_quotes(annotation, trees, lists)
    speakers = find_speakers(document)
    left, right = trees.spans
    lemma_ids = lemmas.ids.tolist()
    return Mentions(
        **vars(agreement),
        **vars(wording),
        word=word,
        sentence=sentence,
        kind=kind,
        pronoun=pronoun,
        definiteness=_definiteness(trees, lower, lists)[word],
        role=_roles(trees)[word],
        left=left[word],
        right=right[word],
        head=trees.heads[word],
        clause=trees.clauses[word],
        lemma=lemmas.ids[word],
        form=lower.ids[word],
        speaker=speakers.speaker[sentence],
        addressee=speakers.addressee[sentence],
        names_speaker=_names_speaker(kind, wording.content_words, lower, speakers),
        quote=quote[word],
        quoted_by=quoted_by[word],
        pleonastic=_pleonastic(trees, lemmas, pronouns, lists)[word],
        coordinated=trees.with_child(trees.has_relation({"conj"}))[word],
        predicative=trees.with_child(trees.has_relation({"cop"}))[word],
        word_lemmas=[[lemma_ids[w] for w in words] for words in wording.content_words],
    )


def _pronoun_numbers(lower: Strings, trees: Trees, lists: WordLists) -> IntArray:
    """Returns [W]: the position of each pronoun in the word lists, from 1; 0 for other words."""
    before_noun = mark(trees.deprels, lambda relation: relation in POSSESSOR_RELATIONS) | trees.has_pos("DET")

    def column(before_noun: bool) -> IntArray:
        numbers = lists.pronoun_numbers(before_noun=before_noun)
        return np.array([numbers.get(form, 0) for form in lower.table] or [0], dtype=np.int32)[lower.ids]

    possessive, other = column(True), column(False)
    alone = np.where(other > 0, other, possessive)
    beside_noun = np.where(possessive > 0, possessive, np.where(trees.has_pos("PRON"), other, 0))
    numbers = np.where(before_noun, beside_noun, alone)
    return np.where(trees.has_pos("PRON", "DET"), numbers, 0).astype(np.int32)


def _kinds(annotation: Annotation, trees: Trees, pronouns: IntArray, lists: WordLists) -> IntArray:
    """Returns [W]: the kind of mention that each word heads, or -1."""
    kinds = np.full(trees.count, -1, dtype=np.int32)
    excluded = trees.has_relation(NON_MENTION_RELATIONS)
    noun = trees.has_pos(*NOMINAL) & ~excluded & ~trees.has_relation({"det", "cop", "aux"})
    capital = mark(annotation.forms, lambda form: form[:1].isupper())
    noun &= ~(trees.has_relation({"compound"}) & ~trees.has_pos("PROPN") & ~capital)
    title = mark(annotation.forms, lambda form: any(form.lower() in words for words in lists.titles.values()))
    noun &= ~mark(trees.deprels, lambda relation: relation == "nmod:desc") & ~(title & trees.has_relation({"compound"}))
    noun &= ~(trees.has_pos("ADJ", "DET", "SYM", "X") & ~trees.has_relation({"nsubj", "obj", "iobj", "obl", "nmod"}))
    kinds[noun] = MentionKind.NOUN
    kinds[noun & trees.has_pos("PROPN")] = MentionKind.NAME
    relative = np.array([False, *(p.kind == PronounKind.RELATIVE for p in lists.pronouns)], dtype=np.bool_)[pronouns]
    if annotation.feats is not None:
        relative |= mark(annotation.feats, lambda feats: "PronType=Rel" in feats or "PronType=Int" in feats)
    kinds[trees.has_pos("PRON") | (pronouns > 0)] = -1
    kinds[(pronouns > 0) & ~relative & ~trees.has_relation(NON_MENTION_RELATIONS - {"expl"})] = MentionKind.PRONOUN
    kinds[_event_words(trees) & (kinds < 0)] = MentionKind.EVENT
    return kinds


def _event_words(trees: Trees) -> BoolArray:
    """Returns [W]: the word that stands for the event of a clause: its copula or passive auxiliary, else its verb."""
    auxiliary = trees.has_relation({"cop"}) | mark(trees.deprels, lambda relation: relation == "aux:pass")
    clause = trees.is_root | trees.has_relation(EVENT_CLAUSES)
    verb = trees.has_pos("VERB") & clause & ~trees.with_child(auxiliary)
    return verb | (auxiliary & clause[trees.heads])


def _definiteness(trees: Trees, lower: Strings, lists: WordLists) -> IntArray:
    """Returns [W]: the type of determiner of the noun phrase that each word heads."""
    definiteness = np.zeros(trees.count, dtype=np.int32)
    determiner = trees.has_relation({"det"}) & ~trees.is_root
    values = [int(lists.determiners.get(form, Definiteness.BARE)) for form in lower.table]
    kinds = np.array(values or [0], dtype=np.int32)
    for value in DETERMINER_ORDER:
        definiteness[trees.heads[determiner & (kinds[lower.ids] == value)]] = value
    possessor = mark(trees.deprels, lambda relation: relation in POSSESSOR_RELATIONS)
    definiteness[trees.heads[possessor & ~trees.is_root]] = Definiteness.POSSESSED
    if Definiteness.DEFINITE not in lists.determiners.values():  # without articles, bare nouns may be definite
        definiteness[definiteness == Definiteness.BARE] = Definiteness.DEFINITE
    return definiteness


def _roles(trees: Trees) -> IntArray:
    """Returns [W]: the grammatical role of each word."""
    table = [
        Role.POSSESSOR if relation in POSSESSOR_RELATIONS else ROLES.get(base_relation(relation), Role.OTHER)
        for relation in trees.deprels.table
    ]
    roles = np.array(table, dtype=np.int32)[trees.deprels.ids] if table else np.zeros(0, dtype=np.int32)
    auxiliary = trees.has_relation({"cop", "aux"})
    return np.where(auxiliary, roles[trees.heads], roles)


def _pleonastic(trees: Trees, lemmas: Strings, pronouns: IntArray, lists: WordLists) -> BoolArray:
    """Returns [W]: pronouns without referent, which is decided by the predicate of their clause."""
    possible = np.array([False, *(p.pleonastic for p in lists.pronouns)], dtype=np.bool_)[pronouns]
    clausal = trees.with_child(trees.has_relation({"ccomp", "csubj", "xcomp", "advcl"}))
    predicate = mark(lemmas, lists.pleonastic.__contains__) & clausal
    return possible & (trees.has_relation({"expl"}) | (trees.has_relation({"nsubj"}) & predicate[trees.heads]))


def _find_wording(
    word: IntArray, is_name: BoolArray, annotation: Annotation, trees: Trees, lower: Strings, lemmas: Strings
) -> Wording:
    """Returns the wording of the mentions with the head words `word` [N]."""
    content = mark(trees.upos, CONTENT_POS.__contains__).tolist()
    forms, form_ids, lemma_ids = annotation.forms.to_list(), lower.ids.tolist(), lemmas.ids.tolist()
    core_left, core_right = (side.tolist() for side in trees.cores)
    complements = _complements(trees)
    ids: tuple[dict[Hashable, int], ...] = ({}, {}, {"": -1})
    columns = np.zeros((len(word), 3), dtype=np.int32)
    words: list[tuple[int, ...]] = []
    for row, (head, name) in enumerate(zip(word.tolist(), is_name.tolist(), strict=True)):
        inner = [w for w in range(core_left[head], core_right[head] + 1) if content[w] or w == head]
        core = tuple(form_ids[w] for w in inner)
        outer = complements.get(head, [])
        acronym = _acronym([forms[w] for w in inner]) if name else ""
        keys = (core, (core, *(form_ids[w] for w in outer)), acronym)
        columns[row] = [known.setdefault(key, len(known)) for known, key in zip(ids, keys, strict=True)]
        words.append((head, *(w for w in inner if w != head), *outer))
    bits = [1 << (lemma % 64) for lemma in lemma_ids]
    modifiers = np.array([sum({bits[w] for w in entry[1:]}) for entry in words], dtype=np.uint64)
    heads = np.array([bits[entry[0]] for entry in words], dtype=np.uint64)
    core_column, phrase_column, acronym_column = columns.T.copy()
    return Wording(core_column, phrase_column, acronym_column, heads, modifiers, words)


def _complements(trees: Trees) -> dict[int, list[int]]:
    """Returns the nouns that depend on each noun as complement or possessor."""
    complements: dict[int, list[int]] = {}
    nouns = trees.has_relation({"nmod"}) & trees.has_pos("NOUN", "PROPN")
    for child in np.flatnonzero(nouns).tolist():
        complements.setdefault(int(trees.heads[child]), []).append(child)
    return complements


def _acronym(forms: list[str]) -> str:
    """Returns "WHO" for "WHO", "W.H.O." and "World Health Organization", and "" for other single words."""
    if len(forms) == 1:
        plain = forms[0].replace(".", "")
        return plain if plain.isupper() and 2 <= len(plain) <= 6 else ""
    initials = [form[0] for form in forms if form[0].isupper()]
    return "".join(initials) if len(initials) == len(forms) else ""


def _names_speaker(
    kind: IntArray, content_words: list[tuple[int, ...]], lower: Strings, speakers: Speakers
) -> IntArray:
    """Returns [N]: the speaker whose name a mention is, or -1 if there is none or several match."""
    named = np.full(len(kind), -1, dtype=np.int32)
    if speakers.by_name_part:
        for row in np.flatnonzero(kind == MentionKind.NAME).tolist():
            matches = {speakers.by_name_part.get(lower[w], -1) for w in content_words[row]} - {-1}
            if len(matches) == 1:
                named[row] = matches.pop()
    return named
