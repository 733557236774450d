"""Written clauses: a person, a verb and a hinted *it* or *them* as its object, in many tenses and forms.

Each clause has one English and two French texts: le or la, and the participles that agree, follow the gender of the
hint. The subject is a person and never follows it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from pronouns.conjugation import agree, conjugate, gerund, join, third_person
from pronouns.vocabulary import Action, Subject, read_actions, read_lists, read_subjects

HAVE = conjugate("avoir").present
_HAD = conjugate("avoir").imperfect
TO_PERSON = (("me", "me~"), ("us", "nous"), ("him", "lui"), ("her", "lui"), ("them", "leur"), ("you", "te~"))
_PHRASAL = frozenset({"up", "back", "behind", "away", "apart", "off", "on"})
_MODALS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("want to", "wants to", ("veux", "veux", "veut", "voulons", "voulez", "veulent")),
    ("can", "can", ("peux", "peux", "peut", "pouvons", "pouvez", "peuvent")),
    ("must", "must", ("dois", "dois", "doit", "devons", "devez", "doivent")),
    ("should", "should", ("devrais", "devrais", "devrait", "devrions", "devriez", "devraient")),
    ("could", "could", ("pourrais", "pourrais", "pourrait", "pourrions", "pourriez", "pourraient")),
    ("would like to", "would like to", ("aimerais", "aimerais", "aimerait", "aimerions", "aimeriez", "aimeraient")),
    ("hope to", "hopes to", ("espère", "espères", "espère", "espérons", "espérez", "espèrent")),
    ("wanted to", "wanted to", ("voulais", "voulais", "voulait", "voulions", "vouliez", "voulaient")),
    ("had to", "had to", ("devais", "devais", "devait", "devions", "deviez", "devaient")),
)
_PAST_MODALS = (
    ("tried to", "essayé de~"),
    ("decided to", "décidé de~"),
    ("forgot to", "oublié de~"),
    ("refused to", "refusé de~"),
    ("managed to", "réussi à"),
    ("agreed to", "accepté de~"),
    ("promised to", "promis de~"),
    ("was able to", "pu"),
)
_GOING = ("vais", "vas", "va", "allons", "allez", "vont")
_NOT = {"do": "don't", "does": "doesn't", "did": "didn't", "will": "won't", "would": "wouldn't"}
_NOT |= {"have": "haven't", "has": "hasn't", "had": "hadn't"}


class Clause(NamedTuple):
    """A clause without capital and full stop; `french` writes it for a gender (True: feminine)."""

    source: str
    french: Callable[[bool], str]


Tense = Callable[[bool, Subject, bool], Clause]
"""Writes a clause with *it* or *them* (True: plural), a subject, and a negation if asked for."""


def be(subject: Subject, past: bool) -> str:
    """Returns the form of *be* for a subject."""
    if past:
        return "was" if subject.is_third or subject.person == 0 else "were"
    return "am" if subject.person == 0 else "is" if subject.is_third else "are"


class ClauseWriter:
    """Writes clauses at random."""

    def __init__(self, generator: random.Random) -> None:
        self._random = generator
        self._actions, self._subjects, self._lists = read_actions(), read_subjects(), read_lists()

    def action(self, *kinds: str) -> Action:
        """Returns a verb of one of the kinds."""
        return self._random.choice([action for action in self._actions if action.kind in kinds])

    def subject(self) -> Subject:
        """Returns a person."""
        return self._random.choice(self._subjects)

    def when(self, name: str, chance: float = 0.5) -> tuple[str, str]:
        """Returns an adverbial of a list in both languages, or two empty strings."""
        if self._random.random() >= chance:
            return "", ""
        source, target = self._random.choice(self._lists[name])
        return source, target

    def opinion(self) -> tuple[str, str]:
        """Returns words that a clause follows ("she says that") in both languages."""
        source, target = self._random.choice(self._lists["opinion"])
        return source, target

    def tense(self) -> Tense:
        """Returns a tense."""
        weights: dict[Tense, int] = {
            self.past: 24,
            self.perfect: 14,
            self.present: 14,
            self.future: 8,
            self.conditional: 4,
            self.modal: 14,
            self.past_modal: 8,
            self.going: 5,
            self.progressive: 6,
            self.pluperfect: 5,
        }
        return self._random.choices(list(weights), list(weights.values()))[0]

    def statement(self, plural: bool, tense: Tense | None = None) -> Clause:
        """Returns a statement in a given or random tense, perhaps negative."""
        return (tense or self.tense())(plural, self.subject(), self._random.random() < 0.25)

    def past(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she sold it* - elle l'a vendue."""
        action, (when, quand) = self.action("thing", "state"), self.when("past")
        verb = (
            f"{self._negated('did')} {with_object(action.base, plural)}"
            if negative
            else with_object(action.past, plural)
        )
        return Clause(
            join(subject.source, verb, when),
            lambda f: join(compound(subject, action, f, plural, negative, HAVE), quand),
        )

    def perfect(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she has already sold it* - elle l'a déjà vendue."""
        action, have = self.action("thing", "state"), "has" if subject.is_third else "have"
        adverb, adverbe = ("", "") if negative else self._random.choice((("already", "déjà"), ("just", ""), ("", "")))
        if adverb == "just":
            going = _present_of("viens viens vient venons venez viennent", subject)
            return Clause(
                f"{subject.source} {have} just {with_object(action.participle, plural)}",
                lambda f: join(subject.target, going, "de", clitic(f, plural), action.french.infinitive),
            )
        verb = self._negated(have) if negative else join(have, adverb)
        yet, encore = ("yet", "encore") if negative and self._random.random() < 0.5 else ("", "")
        return Clause(
            join(subject.source, verb, with_object(action.participle, plural), yet),
            lambda f: compound(subject, action, f, plural, negative, HAVE, adverbe, encore),
        )

    def pluperfect(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she had sold it* - elle l'avait vendue."""
        action, (when, quand) = self.action("thing", "state"), self.when("past", 0.3)
        had = self._negated("had") if negative else "had"
        return Clause(
            join(subject.source, had, with_object(action.participle, plural), when),
            lambda f: join(compound(subject, action, f, plural, negative, _HAD), quand),
        )

    def present(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she sells it* - elle la vend."""
        action, (when, quand) = self.action("thing", "state"), self.when("habit")
        while action.base == action.past:
            action = self.action("thing", "state")
        if negative:
            verb = self._negated("does" if subject.is_third else "do") + " " + action.base
        else:
            verb = third_person(action.base) if subject.is_third else action.base
        return Clause(
            join(subject.source, with_object(verb, plural), when),
            lambda f: join(simple(subject, action.french.present, f, plural, negative), quand),
        )

    def future(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she will sell it* - elle la vendra."""
        action, (when, quand) = self.action("thing", "state"), self.when("future")
        will = self._negated("will") if negative else "will"
        return Clause(
            join(subject.source, will, with_object(action.base, plural), when),
            lambda f: join(simple(subject, action.french.future, f, plural, negative), quand),
        )

    def conditional(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she would sell it* - elle la vendrait."""
        action, would = self.action("thing", "state"), self._negated("would") if negative else "would"
        return Clause(
            join(subject.source, would, with_object(action.base, plural)),
            lambda f: simple(subject, action.french.conditional, f, plural, negative),
        )

    def progressive(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she was selling it* - elle la vendait."""
        action, past = self.action("thing"), self._random.random() < 0.5
        forms = action.french.imperfect if past else action.french.present
        return Clause(
            join(
                subject.source, be(subject, past), "not" if negative else "", with_object(gerund(action.base), plural)
            ),
            lambda f: simple(subject, forms, f, plural, negative),
        )

    def modal(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she wants to sell it* - elle veut la vendre."""
        action, (other, third, forms) = self.action("thing"), self._random.choice(_MODALS)
        when, quand = self.when("future", 0 if third in ("wanted to", "had to") else 0.3)
        return Clause(
            join(subject.source, third if subject.is_third else other, with_object(action.base, plural), when),
            lambda f: join(subject.target, forms[subject.person], clitic(f, plural), action.french.infinitive, quand),
        )

    def past_modal(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she tried to sell it* - elle a essayé de la vendre."""
        action, (tried, essaye) = self.action("thing"), self._random.choice(_PAST_MODALS)
        if tried == "was able to" and be(subject, past=True) == "were":
            tried = "were able to"
        return Clause(
            join(subject.source, tried, with_object(action.base, plural)),
            lambda f: join(subject.target, HAVE[subject.person], essaye, clitic(f, plural), action.french.infinitive),
        )

    def going(self, plural: bool, subject: Subject, negative: bool) -> Clause:
        """Returns *she is going to sell it* - elle va la vendre."""
        action, (when, quand) = self.action("thing"), self.when("future")
        ne, pas = ("ne~", "pas") if negative else ("", "")
        return Clause(
            join(subject.source, be(subject, past=False), "not" if negative else "", "going to",
                 with_object(action.base, plural), when),
            lambda f: join(subject.target, ne, _GOING[subject.person], pas, clitic(f, plural),
                           action.french.infinitive, quand),
        )  # fmt: skip

    def gift(self, plural: bool) -> Clause:
        """Returns *she gave it to him* - elle le lui a donné."""
        subject, action = self.subject(), self.action("person")
        to, clitic_to = self._random.choice([pair for pair in TO_PERSON if pair[0] != "them" or not plural])
        while (to, subject.person) in (("me", 0), ("us", 3), ("you", 1), ("you", 4)) or (
            to == "us" and subject.source == "we"
        ):
            to, clitic_to = self._random.choice(TO_PERSON[:4])
        negative, tense = self._random.random() < 0.2, self._random.choice(("past", "past", "present", "future"))
        ne, pas = ("ne~", "pas") if negative else ("", "")
        auxiliary = {"past": "did", "present": "does" if subject.is_third else "do", "future": "will"}[tense]
        if negative:
            verb = f"{self._negated(auxiliary)} {action.base}"
        elif tense == "past":
            verb = action.past
        elif tense == "future":
            verb = f"will {action.base}"
        else:
            verb = third_person(action.base) if subject.is_third else action.base
        if tense == "present" and action.base == action.past:
            return self.gift(plural)

        def french(feminine: bool) -> str:
            pronouns = join_clitics(clitic(feminine, plural), clitic_to)
            if tense == "past":
                participle = agree(action.french.participle, feminine, plural)
                return join(subject.target, ne, *pronouns, HAVE[subject.person], pas, participle)
            forms = action.french.present if tense == "present" else action.french.future
            return join(subject.target, ne, *pronouns, forms[subject.person], pas)

        return Clause(f"{subject.source} {with_object(verb, plural)} to {to}", french)

    def _negated(self, auxiliary: str) -> str:
        return _NOT[auxiliary] if self._random.random() < 0.7 else f"{auxiliary} not"


def capitalised(text: str) -> str:
    """Returns a text with a capital at its start."""
    return text[0].upper() + text[1:]


def _present_of(forms: str, subject: Subject) -> str:
    return forms.split()[subject.person]


def with_object(verb: str, plural: bool) -> str:
    """Returns an English verb with *it* or *them*, before its particle if the verb can be split."""
    pronoun, (first, _, particle) = "them" if plural else "it", verb.rpartition(" ")
    return f"{first} {pronoun} {particle}" if first and particle in _PHRASAL else f"{verb} {pronoun}"


def clitic(feminine: bool, plural: bool) -> str:
    """Returns le, la or les, marked for elision."""
    return "les" if plural else "la~" if feminine else "le~"


def join_clitics(direct: str, to: str) -> tuple[str, str]:
    """Returns the object pronouns of a verb in the order of French: me le, le lui."""
    return (direct, to) if to in ("lui", "leur") else (to, direct)


def simple(subject: Subject, forms: tuple[str, ...], feminine: bool, plural: bool, negative: bool) -> str:
    """Returns subject, object pronoun and a simple tense."""
    ne, pas = ("ne~", "pas") if negative else ("", "")
    return join(subject.target, ne, clitic(feminine, plural), forms[subject.person], pas)


def compound(
    subject: Subject,
    action: Action,
    feminine: bool,
    plural: bool,
    negative: bool,
    auxiliary: tuple[str, ...],
    *adverbs: str,
) -> str:
    """Returns subject, object pronoun, auxiliary and the participle that agrees with the object."""
    ne, pas = ("ne~", "pas") if negative else ("", "")
    participle = agree(action.french.participle, feminine, plural)
    return join(subject.target, ne, clitic(feminine, plural), auxiliary[subject.person], pas, *adverbs, participle)
