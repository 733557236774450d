"""Written sentences whose *it* or *them* has a hint: clauses alone, reported, joined, as questions and as orders."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from pronouns.clauses import (
    HAVE,
    TO_PERSON,
    Clause,
    ClauseWriter,
    capitalised,
    clitic,
    with_object,
)
from pronouns.conjugation import agree, conjugate, join, third_person
from pronouns.frames import FrameWriter
from pronouns.pairs import Written
from pronouns.vocabulary import read_lists

_JOINTS = (
    (" and ", " et "),
    (", but ", ", mais "),
    (", and then ", ", puis "),
    ("; ", " ; "),
    (", so ", ", alors "),
    (" because ", " parce que~ "),
)
_ASKING = (("why", "pourquoi"), ("when", "quand"), ("where", "où"), ("how", "comment"))
_INVERTED = {"je~": "je", "tu": "tu", "il": "il", "elle": "elle", "nous": "nous", "vous": "vous", "on": "on"}
_STRONG = {"me~": "moi", "te~": "toi"}
_OBJECTS = (("him", "le~", "m"), ("her", "la~", "f"), ("me", "me~", ""), ("us", "nous", ""), ("you", "te~", ""))

_CONTRACTIONS = tuple(
    (re.compile(rf"\b({subjects}) {auxiliary}(?= (?!not\b))", re.IGNORECASE), rf"\1{contraction}")
    for subjects, auxiliary, contraction in (
        ("I|you|he|she|we|they|it", "will", "'ll"),
        ("I|you|he|she|we|they", "would", "'d"),
        ("I", "am", "'m"),
        ("he|she|it", "is", "'s"),
        ("you|we|they", "are", "'re"),
        ("I|you|we|they", "have", "'ve"),
    )
)

_MAY_BE_REPORTED = re.compile(
    r"(?:He|She|It|They|This|That|These|Those|My|Our|The|His|Her|Both|All|None|Each|Most|Some|Many)\b(?!.*[?!]$)"
)
"""How a frame starts that can follow *she says that*; names would lose their capitals."""


class SentenceWriter:
    """Writes sentences of every kind at random."""

    def __init__(self, generator: random.Random) -> None:
        self._random, self._clauses, self._frames = generator, ClauseWriter(generator), FrameWriter(generator)
        self._feelings = [(base, past, conjugate(verb)) for base, past, verb in read_lists()["feeling"]]
        self._kinds: dict[str, tuple[Callable[[bool], Clause], int]] = {
            "object": (self._statement, 8),
            "reported": (self._reported, 5),
            "joined": (self._joined, 7),
            "question": (self._question, 4),
            "order": (self._order, 3),
            "gift": (self._clauses.gift, 4),
            "gift order": (self._gift_order, 1),
            "feeling": (self._feeling, 4),
        }

    def sentences(self, count: int) -> Iterator[Written]:
        """Yields about `count` different sentences: a third from frames, the others from clauses."""
        for written in self._all(count):
            yield written._replace(source=self._contracted(written.source))

    def _all(self, count: int) -> Iterator[Written]:
        frames = list(self._frames.sentences(count // 200))
        self._random.shuffle(frames)
        for frame in frames[: count // 3]:
            yield self._perhaps_reported(frame)
        total, seen = sum(share for _, share in self._kinds.values()), set[str]()
        for kind, (write, share) in self._kinds.items():
            for _ in range(2 * count * share // (3 * total)):
                plural = self._random.random() < 0.25
                written = self._finished(kind, write(plural), plural)
                if written.source not in seen:
                    seen.add(written.source)
                    yield written

    def _contracted(self, source: str) -> str:
        """Returns an English sentence, often with contracted auxiliaries."""
        for pattern, contraction in _CONTRACTIONS:
            if self._random.random() < 0.5:
                source = pattern.sub(contraction, source)
        return source

    def _finished(self, kind: str, clause: Clause, plural: bool) -> Written:
        mark = "?" if kind == "question" else "!" if "order" in kind and self._random.random() < 0.2 else "."
        targets = [capitalised(clause.french(f)) + ("." if mark == "." else f" {mark}") for f in (False, True)]
        words = ("they" if plural else "it") if kind == "feeling" else "them" if plural else "it"
        return Written(kind, capitalised(clause.source) + mark, (targets[0], targets[1]), words, plural)

    def _perhaps_reported(self, written: Written) -> Written:
        """Returns a statement from a frame, sometimes as what somebody says or thinks."""
        masculine, feminine = written.targets
        start = _MAY_BE_REPORTED.match(written.source)
        if start is None or masculine is None or feminine is None or self._random.random() < 0.6:
            return written
        (opinion, avis), first = self._clauses.opinion(), start[0][0].lower()
        targets = (capitalised(join(avis, text[0].lower() + text[1:])) for text in (masculine, feminine))
        return written._replace(
            source=capitalised(f"{opinion} {first}{written.source[1:]}"), targets=(next(targets), next(targets))
        )

    def _statement(self, plural: bool) -> Clause:
        return self._clauses.statement(plural)

    def _reported(self, plural: bool) -> Clause:
        (source, target), clause = self._clauses.opinion(), self._clauses.statement(plural)
        if self._random.random() < 0.4:
            source = source.removesuffix(" that")
        return Clause(f"{source} {clause.source}", lambda f: join(target, clause.french(f)))

    def _joined(self, plural: bool) -> Clause:
        tense = self._clauses.tense()
        first, second = self._clauses.statement(plural, tense), self._clauses.statement(plural, tense)
        (source, target) = self._random.choice(_JOINTS)
        return Clause(
            f"{first.source}{source}{second.source}", lambda f: join(f"{first.french(f)}{target}{second.french(f)}")
        )

    def _question(self, plural: bool) -> Clause:
        action, subject = self._clauses.action("thing"), self._clauses.subject()
        if self._random.random() < 0.15:
            who, qui = self._random.choice((("who", "qui"), ("which of you", "lequel d'entre vous")))
            return Clause(
                f"{who} {with_object(action.past, plural)}",
                lambda f: join(qui, clitic(f, plural), "a", agree(action.french.participle, f, plural)),
            )
        asking, demande = self._random.choice((("", ""), ("", ""), ("", ""), *_ASKING))
        if self._random.random() < 0.35:
            return self._modal_question(plural)
        past = self._random.random() < 0.7
        source = join(asking, "did" if past else "will", subject.source, with_object(action.base, plural))

        def french(feminine: bool) -> str:
            direct, auxiliary = clitic(feminine, plural), HAVE[subject.person]
            if not past:
                return join(demande, "est-ce que~", subject.target, direct, action.french.future[subject.person])
            participle = agree(action.french.participle, feminine, plural)
            if asking and subject.target in _INVERTED:
                link = "-t-" if auxiliary == "a" else "-"
                return join(demande, direct, f"{auxiliary}{link}{_INVERTED[subject.target]}", participle)
            return join(demande, "est-ce que~", subject.target, direct, auxiliary, participle)

        return Clause(source, french)

    def _modal_question(self, plural: bool) -> Clause:
        action = self._clauses.action("thing")
        source, target = self._random.choice(
            (
                ("can you", "peux-tu"), ("can you", "pouvez-vous"), ("could you", "pourriez-vous"),
                ("can he", "peut-il"), ("can she", "peut-elle"), ("should we", "devrions-nous"),
                ("do you want to", "veux-tu"), ("do you want to", "voulez-vous"), ("must she", "doit-elle"),
                ("must he", "doit-il"), ("can we", "pouvons-nous"), ("can I", "puis-je"),
                ("does she want to", "veut-elle"), ("does he want to", "veut-il"), ("will you", "vas-tu"),
                ("is she going to", "va-t-elle"), ("is he going to", "va-t-il"), ("where can I", "où puis-je"),
                ("when can she", "quand peut-elle"), ("how can we", "comment pouvons-nous"),
            )
        )  # fmt: skip
        return Clause(
            f"{source} {with_object(action.base, plural)}",
            lambda f: join(target, clitic(f, plural), action.french.infinitive),
        )

    def _order(self, plural: bool) -> Clause:
        action, (when, quand) = self._clauses.action("thing"), self._clauses.when("future", 0.3)
        negative = self._random.random() < 0.35
        if negative or when.startswith(("when he", "if she")):
            when = quand = ""
        person = self._random.choice((1, 4, 3))
        form = action.french.imperative(person)
        do, do_not = ("let's", "let's not") if person == 3 else ("", "don't")

        def french(feminine: bool) -> str:
            if negative:
                return join("ne~", clitic(feminine, plural), form, "pas")
            return join(f"{form}-{_after_order(feminine, plural)}", quand)

        return Clause(join(do_not if negative else do, with_object(action.base, plural), when), french)

    def _gift_order(self, plural: bool) -> Clause:
        action, person = self._clauses.action("person"), self._random.choice((1, 4))
        to, clitic_to = self._random.choice(TO_PERSON[:4])
        form, strong = action.french.imperative(person), _STRONG.get(clitic_to, clitic_to)
        polite, plait = self._random.choice(
            (("", ""), ("", ""), (", please", ", s'il te plaît" if person == 1 else ", s'il vous plaît"))
        )
        return Clause(
            f"{with_object(action.base, plural)} to {to}{polite}",
            lambda f: f"{form}-{_after_order(f, plural)}-{strong}{plait}",
        )

    def _feeling(self, plural: bool) -> Clause:
        """*It surprised her* - il or elle l'a surprise: the subject follows the hint, the object does not."""
        base, past, verb = self._random.choice(self._feelings)
        whom, direct, gender = self._random.choice(_OBJECTS)
        tense = self._random.choice(
            ("past", "perfect", "present", "future", "past negative") if gender else ("present", "future")
        )
        person, subject = (5, "they") if plural else (2, "it")
        have = "have" if plural else "has"
        source = {
            "past": f"{subject} {past} {whom}",
            "perfect": f"{subject} {have} always {past if past != 'woke' else 'woken'} {whom}",
            "past negative": f"{subject} didn't {base} {whom}",
            "present": f"{subject} {base if plural else third_person(base)} {whom} every day",
            "future": f"{subject} will {base} {whom}",
        }[tense]

        def french(feminine: bool) -> str:
            pronoun = ("elle" if feminine else "il") + ("s" if plural else "")
            participle = agree(verb.participle, gender == "f", plural=False)
            if tense == "future":
                return join(pronoun, direct, verb.future[person])
            if tense == "present":
                return join(pronoun, direct, verb.present[person], "tous les jours")
            adverb = "toujours" if tense == "perfect" else ""
            ne, pas = ("ne~", "pas") if "negative" in tense else ("", "")
            return join(pronoun, ne, direct, HAVE[person], pas, adverb, participle)

        return Clause(source, french)


def _after_order(feminine: bool, plural: bool) -> str:
    return clitic(feminine, plural).removesuffix("~")
