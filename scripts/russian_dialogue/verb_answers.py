"""Answers that leave out a verb in English (*He did.*), with the verb that Russian repeats."""

from __future__ import annotations

from typing import NamedTuple

from .english import auxiliary
from .persons import HE, THEY, WE, Person
from .russian import GENDERS, predicate
from .tables import Sentence
from .verbs import Verb, conjugated


class Exchange(NamedTuple):
    """What an answer is made of: the verb of the sentence before, and the persons as the one who answers calls them."""

    verb: Verb
    tense: str
    aspect: str
    person: Person
    """The subject of the sentence before."""
    speaker: Person
    """The one who answers: *I*."""
    acquaintance: tuple[Person, str, str]
    """Somebody else: the person, and the English and Russian words."""
    is_plural: bool
    """True if вы is said to the one who answers."""
    is_shared: bool
    """True of what more than one can do: to smile, but not to break the mirror."""

    def say(self, person: Person) -> str:
        """Returns the Russian verb for a person; of *can* the auxiliary alone."""
        text = conjugated(self.verb, self.tense, person, self.aspect)
        return text.split()[0] if self.tense == "can" else text

    def tell(self, subject: str, person: Person, between: str = "") -> str:
        """Returns a Russian clause with the verb for a person."""
        return predicate(subject, self.say(person), between)

    def auxiliaries(self, person: Person) -> tuple[str, str]:
        """Returns the English auxiliary and its negation."""
        return auxiliary(self.tense, person)


def answers(exchange: Exchange, mood: str) -> list[Sentence]:
    """Returns answers to a question (?), an assertion (+) or a denial (-); likely ones more than once."""
    found = []
    if mood in "?-":
        found += _affirmations(exchange, mood)
    if mood in "?+":
        found += _denials(exchange, mood)
    found += {"?": _about_all, "+": _after_assertion, "-": _after_denial}[mood](exchange)
    if exchange.person.place not in (1, 4):
        found += _other_tenses(exchange, mood) + _without_tense(exchange, mood)
    return found


def _affirmations(exchange: Exchange, mood: str) -> list[Sentence]:
    """*I did.*: answers to a question or a denial."""
    subject, (auxiliary, _) = exchange.person.english, exchange.auxiliaries(exchange.person)
    verb = exchange.say(exchange.person)
    found = [
        *[(f"{subject} {auxiliary}.", f"{verb}.")] * 4,
        *[(f"Yes, {subject} {auxiliary}.", f"{'Да' if mood == '?' else 'Нет'}, {verb}.")] * 2,
        (f"Of course {subject} {auxiliary}.", f"Конечно, {verb}."),
        (f"{subject} {auxiliary}, believe me.", f"{verb}, {'поверьте' if exchange.is_plural else 'поверь'}."),
    ]
    if mood == "-":
        found += [(f"Oh yes, {subject} {auxiliary}.", f"Ещё как {verb}.")]
        found += [(f"But {subject} {auxiliary}!", f"Но ведь {verb}!")]
    if exchange.person.is_first:
        found += [(f"You know {subject} {auxiliary}.", f"{_you_know(exchange)}, что {verb}.")]
    if exchange.person.is_third:
        found += [
            (f"I think {subject} {auxiliary}.", f"Думаю, что {verb}."),
            (f"I know {subject} {auxiliary}.", f"Я знаю, что {verb}."),
            (f"Maybe {subject} {auxiliary}.", f"Возможно, {verb}."),
            (f"I hope {subject} {auxiliary}.", f"Надеюсь, что {verb}."),
        ]
    return found


def _denials(exchange: Exchange, mood: str) -> list[Sentence]:
    """*I didn't.*: answers to a question or an assertion."""
    subject, (_, negated) = exchange.person.english, exchange.auxiliaries(exchange.person)
    verb = f"не {exchange.say(exchange.person)}"
    found = [*[(f"{subject} {negated}.", f"{verb}.")] * 3, *[(f"No, {subject} {negated}.", f"Нет, {verb}.")] * 2]
    if exchange.person.is_third:
        found += [(f"I hope {subject} {negated}.", f"Надеюсь, что {verb}.")]
        # Not of mistakes and losses
        if "m" in exchange.verb.uses:
            found += [(f"I'm afraid {subject} {negated}.", f"Боюсь, что {verb}.")]
    if exchange.person.is_first and mood == "+":
        found += [(f"You know {subject} {negated}.", f"{_you_know(exchange)}, что {verb}.")]
    return found


def _you_know(exchange: Exchange) -> str:
    return "Вы же знаете" if exchange.is_plural else "Ты же знаешь"


def _about_all(exchange: Exchange) -> list[Sentence]:
    """*Nobody did.*: answers to a question about others than its subject."""
    subject, (auxiliary, _) = exchange.person.english, exchange.auxiliaries(exchange.person)
    his = exchange.auxiliaries(HE)[0]
    found = [(f"Nobody {his}.", exchange.tell("Никто", HE, "не") + ".")]
    if exchange.is_shared:
        found += [(f"Everyone {his}.", exchange.tell("Все", THEY) + ".")]
    if exchange.person.is_third:
        other, name, russian = exchange.acquaintance
        verb = exchange.say(exchange.person)
        if not verb.endswith(" бы"):
            found += [(f"I don't know if {subject} {auxiliary}.", f"Не знаю, {verb} ли {exchange.person.russian}.")]
        found += [(f"{name} {exchange.auxiliaries(other)[0]}.", exchange.tell(russian, other) + ".")]
        if exchange.is_shared:
            found += [(f"We all {exchange.auxiliaries(WE)[0]}.", exchange.tell("Мы все", WE) + ".")]
    return found


def _after_assertion(exchange: Exchange) -> list[Sentence]:
    """*Did he?* and *So did I.*: answers to an assertion that believe it."""
    person, speaker = exchange.person, exchange.speaker
    subject, (auxiliary, _) = person.english, exchange.auxiliaries(person)
    verb, (his, his_not) = exchange.say(person), exchange.auxiliaries(HE)
    found = [*[(f"I know {subject} {auxiliary}.", f"Знаю, что {verb}.")] * 2]
    if not person.is_first:
        found += [*[(f"{auxiliary} {subject}?", f"Правда {verb}?")] * 2, (f"{subject} {auxiliary}?", f"{verb}?")]
    if person.is_third:
        found += [(f"Are you sure {subject} {auxiliary}?", f"Точно {verb}?")]
    if not exchange.is_shared:
        return found
    if not person.is_first:
        (mine, mine_not), (other, name, russian) = exchange.auxiliaries(speaker), exchange.acquaintance
        theirs, theirs_not = exchange.auxiliaries(other)
        found += [
            *[(f"So {mine} {speaker.english}.", exchange.tell("Я", speaker, "тоже") + ".")] * 2,
            *[(f"So {theirs} {name}.", exchange.tell(russian, other, "тоже") + ".")] * 2,
            (f"Well, I {mine_not}.", exchange.tell("А я", speaker, "не") + "."),
            (f"{name} {theirs_not}.", exchange.tell(f"А {russian}", other, "не") + "."),
        ]
    found += [
        (f"We all {exchange.auxiliaries(WE)[0]}.", exchange.tell("Мы все", WE) + "."),
        (f"Who {his_not}?", exchange.tell("А кто", HE, "не") + "?"),
        (f"Nobody else {his}.", exchange.tell("Больше никто", HE, "не") + "."),
    ]
    return found


def _after_denial(exchange: Exchange) -> list[Sentence]:
    """*He didn't?* and *Neither did I.*: answers to a denial that believe it."""
    person, speaker = exchange.person, exchange.speaker
    subject, (_, negated) = person.english, exchange.auxiliaries(person)
    verb, his = f"не {exchange.say(person)}", exchange.auxiliaries(HE)[0]
    found = [
        *[(f"I know {subject} {negated}.", f"Знаю, что {verb}.")] * 2,
        (f"None of us {his}.", exchange.tell("Никто из нас", HE, "не") + "."),
        (f"Nobody {his}.", exchange.tell("Никто", HE, "не") + "."),
        (f"Somebody {his}.", exchange.tell("Кто-то", HE) + "."),
    ]
    if person.is_third:
        found += [(f"Are you sure {subject} {negated}?", f"Точно {verb}?")]
    if not person.is_first:
        mine, (other, name, russian) = exchange.auxiliaries(speaker)[0], exchange.acquaintance
        theirs = exchange.auxiliaries(other)[0]
        found += [
            (f"{subject} {negated}?", f"{verb}?"),
            (f"Why {negated} {subject}?", f"Почему {verb}?"),
            *[(f"Neither {mine} {speaker.english}.", exchange.tell("Я", speaker, "тоже не") + ".")] * 2,
            *[(f"Neither {theirs} {name}.", exchange.tell(russian, other, "тоже не") + ".")] * 2,
            (f"Well, I {mine}.", exchange.tell("А я", speaker) + "."),
            (f"{name} {theirs}.", exchange.tell(f"Зато {russian}", other) + "."),
        ]
    return found


def _pronoun(person: Person) -> str:
    """Returns the Russian subject of an answer; *I* and *we* are left out."""
    return "" if person.is_first else f"{person.russian} "


def _other_tenses(exchange: Exchange, mood: str) -> list[Sentence]:
    """*He will.* after a past tense, *He already has.* after a future."""
    verb, person, tense = exchange.verb, exchange.person, exchange.tense
    subject, found = person.english, list[Sentence]()
    if tense in ("past", "perfect") and "f" in verb.uses and mood != "+":
        future = conjugated(verb, "future", person, "p")
        if mood == "-":
            found += [(f"{subject} will.", f"{future}.")] * 2
            found += [(f"But {subject} will.", f"Но {future}.")]
            found += [(f"And {subject} never will.", f"И никогда не {future}.")]
        elif exchange.aspect == "p":
            found += [(f"Not yet, but {subject} will.", f"Ещё нет, но {future}.")]
    if tense in ("future", "going") and "P" in verb.uses and mood in "?+":
        past, has = conjugated(verb, "past", person, "p"), auxiliary("perfect", person)[0]
        found += [(f"{subject} already {has}.", f"{_pronoun(person)}уже {past}.")] * 2
        found += [(f"{subject} already did.", f"Уже {past}.")]
    return found


def _without_tense(exchange: Exchange, mood: str) -> list[Sentence]:
    """*He wanted to.*: the infinitive is left out."""
    verb, person, tense = exchange.verb, exchange.person, exchange.tense
    if exchange.aspect != "p" or "m" not in verb.uses or tense not in ("past", "perfect", "future", "going"):
        return []
    subject, pronoun, infinitive = person.english, _pronoun(person), verb.infinitive
    place = GENDERS.index(person.gender)
    tried, forgot = ("пытался", "пыталась", "пытались")[place], ("забыл", "забыла", "забыли")[place]
    promised, wanted = ("обещал", "обещала", "обещали")[place], ("хотел", "хотела", "хотели")[place]
    could = ("смог", "смогла", "смогли")[place]
    found = []
    if mood in "?-" and "d" in verb.uses:
        found += [(f"{subject} promised to.", f"{pronoun}{promised} {infinitive}.")]
    if tense in ("future", "going"):
        return found
    if mood == "+":
        return [(f"{subject} had to.", f"{person.dative} пришлось {infinitive}.")] * 2
    if "d" in verb.uses:
        found += [(f"{subject} forgot to.", f"{pronoun}{forgot} {infinitive}.")]
    return [
        *found,
        (f"{subject} tried to.", f"{pronoun}{tried} {infinitive}."),
        (f"{subject} wanted to.", f"{pronoun}{wanted} {infinitive}."),
        (f"{subject} couldn't.", f"Не {could} {infinitive}."),
    ]


def command_answers(exchange: Exchange) -> list[Sentence]:
    """Returns answers to a command or to advice; the person is *I* or *we*."""
    verb, person = exchange.verb, exchange.person
    place, subject = GENDERS.index(person.gender), person.english
    future, past = conjugated(verb, "future", person, "p"), conjugated(verb, "past", person, "p")
    tried = ("пытался", "пыталась", "пытались")[place]
    found = [
        (f"{subject} will.", f"{future}."),
        (f"{subject} won't.", f"Не {future}."),
        (f"All right, {subject} will.", f"Хорошо, {future}."),
        (f"{subject} already have.", f"Уже {past}."),
        (f"{subject} did.", f"{past}."),
        (f"{subject} already did.", f"{person.russian} уже {past}."),
        (f"Don't worry, {subject} will.", f"Не {'волнуйтесь' if exchange.is_plural else 'волнуйся'}, {future}."),
        (f"{subject} tried to.", f"{person.russian} {tried} {verb.infinitive}."),
    ]
    if verb.imperfective:
        infinitive, want = verb.imperfective.infinitive, "хочу" if person.place == 0 else "хотим"
        obliged = ("обязан", "обязана", "обязаны")[place]
        found += [(f"{subject} don't want to.", f"Не {want} {infinitive}.")]
        found += [(f"{subject} don't have to.", f"{person.russian} не {obliged} {infinitive}.")]
    return found
