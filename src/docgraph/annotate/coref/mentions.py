"""Mentions: every word that heads something a text can come back to, with what agreement and syntax say of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.agreement import find_agreement
from docgraph.annotate.coref.kinds import Definiteness, MentionKind, PronounKind, Role
from docgraph.annotate.coref.lexicon import Lexicon
from docgraph.annotate.coref.phrases import Phrases, find_phrases
from docgraph.annotate.coref.quotes import Speakers, find_quotes, find_speakers
from docgraph.annotate.coref.tables import Table
from docgraph.annotate.coref.trees import Trees, attach_titles, base, mark
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
NEVER = frozenset(
    {"flat", "fixed", "goeswith", "expl", "amod", "nummod", "advmod", "case", "mark", "cc", "punct", "discourse"}
)
OWNERS = frozenset({"nmod:poss", "det:poss"})
INTRODUCERS = (
    Definiteness.QUANTIFIED,
    Definiteness.INDEFINITE,
    Definiteness.DEFINITE,
    Definiteness.DEMONSTRATIVE,
    Definiteness.POSSESSED,
)
"""The surer ones last: they win over others on the same noun."""
EVENT_CLAUSES = frozenset({"root", "conj", "parataxis", "ccomp", "advcl", "csubj"})
NOMINAL = ("NOUN", "PROPN", "NUM", "X", "SYM", "ADJ", "DET")


@dataclass(frozen=True, eq=False)
class Mentions:
    """N mentions in document order, in columns [N]; masks are those of `tables`, -1 stands for none."""

    word: IntArray
    sentence: IntArray
    kind: IntArray
    pronoun: IntArray
    """Which pronoun of the table, counted from 1; 0 for other words."""
    pronoun_kind: IntArray
    person: IntArray
    number: IntArray
    gender: IntArray
    animacy: IntArray
    sort: IntArray
    """Bits: person 1, group 2, time 4, place 8."""
    definiteness: IntArray
    role: IntArray
    left: IntArray
    """First and last word of the whole phrase."""
    right: IntArray
    head: IntArray
    """The word above the mention's head word."""
    clause: IntArray
    """The word that heads the clause."""
    lemma: IntArray
    form: IntArray
    core: IntArray
    """Identity of the phrase's core, lower-cased and without determiners."""
    phrase: IntArray
    """Identity of core and complements together."""
    acronym: IntArray
    """Identity of the acronym a name is or abbreviates to."""
    head_bits: npt.NDArray[np.uint64]
    """The head lemma as one bit of 64."""
    modifier_bits: npt.NDArray[np.uint64]
    """The lemmas of the modifiers, one bit each."""
    speaker: IntArray
    """Who says the sentence."""
    addressee: IntArray
    """To whom it is said."""
    names_speaker: IntArray
    """The speaker that a name is the name of."""
    quote: IntArray
    """Which quotation the word stands in."""
    quoted_by: IntArray
    """The word that names the speaker of that quotation."""
    pleonastic: BoolArray
    """Looks like a pronoun that stands for nothing ("it rains")."""
    coordinated: BoolArray
    predicative: BoolArray
    """Is what a copula says of its subject."""
    word_lemmas: tuple[tuple[int, ...], ...]
    """The lemmas of the content words of each mention, head first."""

    def __len__(self) -> int:
        return len(self.word)


def find_mentions(document: Document, annotation: Annotation, table: Table) -> Mentions:
    """The mentions of a document, whether or not anything refers back to them."""
    annotation = attach_titles(annotation, table)
    trees, lexicon = Trees(annotation), Lexicon(annotation, table)
    lower = Strings.of(form.lower() for form in annotation.forms.to_list())
    lemmas = Strings.of(lemma.lower() for lemma in (annotation.lemmas or annotation.forms).to_list())
    pronouns = _pronoun_numbers(lower, trees, table)
    kinds = _kinds(annotation, trees, pronouns, table)
    word = np.flatnonzero(kinds >= 0).astype(np.int32)
    sentence, kind, pronoun = annotation.sentence_of[word], kinds[word], pronouns[word]
    phrases = find_phrases(word, kind == MentionKind.NAME, annotation, trees, lower, lemmas)
    agreement = find_agreement(word, kind, pronoun, phrases, trees, lexicon, lower.ids, table)
    quotes, speakers = find_quotes(annotation, trees, table), find_speakers(document)
    left, right = trees.spans
    lemma_ids = lemmas.ids.tolist()
    return Mentions(
        word=word,
        sentence=sentence,
        kind=kind,
        pronoun=pronoun,
        pronoun_kind=agreement.pronoun_kind,
        person=agreement.person,
        number=agreement.number,
        gender=agreement.gender,
        animacy=agreement.animacy,
        sort=agreement.sort,
        definiteness=_definiteness(trees, lower, table)[word],
        role=_roles(trees)[word],
        left=left[word],
        right=right[word],
        head=trees.heads[word],
        clause=trees.clauses[word],
        lemma=lemmas.ids[word],
        form=lower.ids[word],
        core=phrases.core,
        phrase=phrases.phrase,
        acronym=phrases.acronym,
        head_bits=phrases.head_bits,
        modifier_bits=phrases.modifier_bits,
        speaker=speakers.speaker[sentence],
        addressee=speakers.addressee[sentence],
        names_speaker=_names_speaker(kind, phrases, lower, speakers),
        quote=quotes.quote[word],
        quoted_by=quotes.quoted_by[word],
        pleonastic=_pleonastic(trees, lemmas, pronouns, table)[word],
        coordinated=trees.with_child(trees.has_relation({"conj"}))[word],
        predicative=trees.with_child(trees.has_relation({"cop"}))[word],
        word_lemmas=tuple(tuple(lemma_ids[w] for w in entry) for entry in phrases.words),
    )


def _pronoun_numbers(lower: Strings, trees: Trees, table: Table) -> IntArray:
    """[W]: which pronoun of the table a word is, counted from 1; 0 for none."""
    owner = mark(trees.deprels, lambda relation: relation in OWNERS) | trees.has_pos("DET")
    word = trees.has_pos("PRON", "DET")

    def column(before_noun: bool) -> IntArray:
        numbers = table.numbers(before_noun=before_noun)
        return np.array([numbers.get(form, 0) for form in lower.table] or [0], dtype=np.int32)[lower.ids]

    owners, others = column(True), column(False)
    alone = np.where(others > 0, others, owners)
    beside = np.where(owners > 0, owners, np.where(trees.has_pos("PRON"), others, 0))
    return np.where(word, np.where(owner, beside, alone), 0).astype(np.int32)


def _kinds(annotation: Annotation, trees: Trees, pronouns: IntArray, table: Table) -> IntArray:
    """[W]: the kind of mention each word heads, -1 for none."""
    kinds = np.full(trees.count, -1, dtype=np.int32)
    excluded = trees.has_relation(NEVER)
    noun = trees.has_pos(*NOMINAL) & ~excluded & ~trees.has_relation({"det", "cop", "aux"})
    capital = mark(annotation.forms, lambda form: form[:1].isupper())
    noun &= ~(trees.has_relation({"compound"}) & ~trees.has_pos("PROPN") & ~capital)
    title = mark(annotation.forms, lambda form: any(form.lower() in words for words in table.titles.values()))
    noun &= ~mark(trees.deprels, lambda relation: relation == "nmod:desc") & ~(title & trees.has_relation({"compound"}))
    noun &= ~(trees.has_pos("ADJ", "DET", "SYM", "X") & ~trees.has_relation({"nsubj", "obj", "iobj", "obl", "nmod"}))
    kinds[noun] = MentionKind.NOUN
    kinds[noun & trees.has_pos("PROPN")] = MentionKind.NAME
    relative = np.array([False, *(p.kind == PronounKind.RELATIVE for p in table.pronouns)], dtype=np.bool_)[pronouns]
    if annotation.feats is not None:
        relative |= mark(annotation.feats, lambda feats: "PronType=Rel" in feats or "PronType=Int" in feats)
    kinds[trees.has_pos("PRON") | (pronouns > 0)] = -1
    kinds[(pronouns > 0) & ~relative & ~trees.has_relation(NEVER - {"expl"})] = MentionKind.PRONOUN
    kinds[_events(trees) & (kinds < 0)] = MentionKind.EVENT
    return kinds


def _events(trees: Trees) -> BoolArray:
    """[W]: the word an event goes by: the copula or passive auxiliary of a clause, else its verb."""
    carrier = trees.has_relation({"cop"}) | mark(trees.deprels, lambda relation: relation == "aux:pass")
    clause = trees.is_root | trees.has_relation(EVENT_CLAUSES)
    plain = trees.has_pos("VERB") & clause & ~trees.with_child(carrier)
    return plain | (carrier & clause[trees.heads])


def _definiteness(trees: Trees, lower: Strings, table: Table) -> IntArray:
    """[W]: how the noun phrase under each word is introduced."""
    found = np.zeros(trees.count, dtype=np.int32)
    determiner = trees.has_relation({"det"}) & ~trees.is_root
    values = [int(table.determiners.get(form, Definiteness.BARE)) for form in lower.table]
    kinds = np.array(values or [0], dtype=np.int32)
    for value in INTRODUCERS:
        found[trees.heads[determiner & (kinds[lower.ids] == value)]] = value
    possessed = mark(trees.deprels, lambda relation: relation in OWNERS)
    found[trees.heads[possessed & ~trees.is_root]] = Definiteness.POSSESSED
    if not table.has_articles:  # a bare noun may be definite there
        found[found == Definiteness.BARE] = Definiteness.DEFINITE
    return found


def _roles(trees: Trees) -> IntArray:
    """[W]: the place of each word in its clause."""
    table = [
        Role.POSSESSOR if relation in OWNERS else ROLES.get(base(relation), Role.OTHER)
        for relation in trees.deprels.table
    ]
    roles = np.array(table, dtype=np.int32)[trees.deprels.ids] if table else np.zeros(0, dtype=np.int32)
    verbal = trees.has_relation({"cop", "aux"})
    return np.where(verbal, roles[trees.heads], roles)


def _pleonastic(trees: Trees, lemmas: Strings, pronouns: IntArray, table: Table) -> BoolArray:
    """[W]: pronouns that may stand for nothing and whose clause says they do."""
    can = np.array([False, *(p.pleonastic for p in table.pronouns)], dtype=np.bool_)[pronouns]
    clausal = trees.with_child(trees.has_relation({"ccomp", "csubj", "xcomp", "advcl"}))
    predicate = mark(lemmas, table.pleonastic.__contains__) & clausal
    return can & (trees.has_relation({"expl"}) | (trees.has_relation({"nsubj"}) & predicate[trees.heads]))


def _names_speaker(kind: IntArray, phrases: Phrases, lower: Strings, speakers: Speakers) -> IntArray:
    """[N]: the speaker whose name a mention is; -1 for none."""
    found = np.full(len(kind), -1, dtype=np.int32)
    if speakers.by_name_part:
        for row in np.flatnonzero(kind == MentionKind.NAME).tolist():
            matches = {speakers.by_name_part.get(lower[w], -1) for w in phrases.words[row]} - {-1}
            if len(matches) == 1:
                found[row] = matches.pop()
    return found
