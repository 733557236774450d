"""Dialogues that end on *He did.*: Russian repeats the verb of the sentence before in the right form (*Позвонил.*)."""

from __future__ import annotations

import random
import re

from . import english
from .nouns import draw_acquaintance, draw_leads, of_kinds
from .persons import (
    HE,
    OBJECTS,
    POSSESSIVES,
    SHE,
    THEY,
    YOU_ALL,
    Person,
    as_other_speaker_says,
    first_person,
    second_person,
)
from .russian import plural_imperative, with_preposition
from .tables import Dialogue, Sentence
from .verb_answers import Exchange, answers, command_answers
from .verbs import Verb, conjugated, draw_aspect, read_verbs

_MASCULINE = 0.8
"""Share of men among those whom only the Russian verb tells from women."""
_PRONOUN_FIRST = 0.7
"""How often a Russian pronoun stands before the verb."""
_TENSES = {
    "past": 30,
    "perfect": 12,
    "present": 15,
    "progressive": 6,
    "future": 16,
    "going": 4,
    "conditional": 8,
    "can": 5,
    "imperative": 8,
    "should": 6,
    "never": 5,
    "who": 7,
}
_SUBJECTS = {"I": 12, "you": 34, "you all": 8, "he": 12, "she": 9, "they": 8, "acquaintance": 17}
_OBJECTS_OF = {
    0: ("you", "you", "him", "her", "them"),
    1: ("me", "me", "me", "him", "her", "us"),
    2: ("me", "you", "us"),
    4: ("me", "him", "her"),
    5: ("me", "us", "him", "her"),
}
_SINGULAR_OBJECT = re.compile(r"(the|a|an|this|that)\b")

Subject = tuple[Person, str, str]
"""A person, and the English and Russian words."""


def draw(generator: random.Random) -> tuple[Dialogue, ...]:
    """Returns a dialogue, or nothing if what was drawn does not go together."""
    dialogue = _draw_dialogue(generator)
    return (dialogue,) if dialogue else ()


def _draw_dialogue(generator: random.Random) -> Dialogue | None:
    tense = generator.choices(list(_TENSES), list(_TENSES.values()))[0]
    verb = generator.choice(read_verbs())
    aspect = draw_aspect(verb, tense, generator)
    if not aspect:
        return None
    if tense == "who":
        return _draw_who(verb, aspect, generator)
    if tense in ("imperative", "should"):
        return _draw_command(verb, tense, generator)
    return _draw_clause(verb, tense, aspect, generator)


def _draw_clause(verb: Verb, tense: str, aspect: str, generator: random.Random) -> Dialogue | None:
    """Returns a dialogue with a question, an assertion or a denial."""
    subject = _draw_subject(generator)
    person = subject[0]
    mood = generator.choices("?+-", (0, 1, 1) if person.place == 0 else (4, 3, 3))[0]
    is_never = tense == "never"
    if is_never:
        mood, tense = "-", "past"
    # "I haven't lost it yet." sounds as if one meant to.
    if mood == "-" and tense == "perfect" and "m" not in verb.uses:
        return None
    after, behind = _draw_complement(verb, person, generator)
    is_first = generator.random() < _PRONOUN_FIRST
    adverbs = ("", "")
    if tense == "present" and mood != "-" and "P" in verb.uses and "s" not in verb.uses:
        adverbs = generator.choice((("always ", "всегда "), ("often ", "часто "), ("still ", "до сих пор ")))
    russian = conjugated(verb, tense, person, aspect)
    if mood == "-":
        russian = f"{'никогда ' if is_never else 'ещё ' if tense == 'perfect' else ''}не {russian}"
    third = (
        _english_clause(verb, tense, mood, subject, after, adverbs[0], is_never),
        _russian_clause(subject[2], adverbs[1] + russian, behind, is_first) + ("?" if mood == "?" else "."),
    )
    exchange = _exchange(verb, tense, aspect, person, after, generator)
    fourth = generator.choice(answers(exchange, mood))
    return _dialogue(verb, person, third, fourth, generator)


def _draw_command(verb: Verb, tense: str, generator: random.Random) -> Dialogue:
    """Returns a dialogue with a command or advice."""
    person = _draw_subject(generator)[0]
    if person.place not in (1, 4):
        person = second_person(person.gender if person.gender in "mf" else "m")
    after, behind = _draw_complement(verb, person, generator)
    if tense == "imperative":
        form = plural_imperative(verb.imperative) if person == YOU_ALL else verb.imperative
        third = f"{verb.base} {after}".strip() + ".", f"{form} {behind}".strip() + "."
    else:
        ought, need = generator.choice((("should", "стоит"), ("must", "надо"), ("have to", "нужно")))
        words = " ".join(filter(None, (person.dative, need, verb.infinitive, behind)))
        third = f"you {ought} {verb.base} {after}".strip() + ".", f"{words}."
    exchange = _exchange(verb, "future", "p", person, after, generator)
    return _dialogue(verb, person, third, generator.choice(command_answers(exchange)), generator)


def _draw_who(verb: Verb, aspect: str, generator: random.Random) -> Dialogue | None:
    """Returns a dialogue with a question *Who ...?* and the one who did it."""
    after, behind = generator.choice(verb.complements)
    person, name, russian = _draw_subject(generator)
    # A pronoun could be the one who answers, or the one who is named.
    if "{" in after or person.place in (1, 4):
        return None
    question = _russian_clause("кто", conjugated(verb, "past", HE, aspect), behind)
    third = f"who {verb.past} {after}".strip() + "?", f"{question}?"
    past = conjugated(verb, "past", first_person("m") if person.place == 0 else person, aspect)
    fourth = f"{name} did.", f"{russian} {past}."
    if name != person.english and generator.random() < 0.5:
        fourth = f"I think {name} did.", f"Думаю, {russian} {past}."
    leads = draw_leads(generator, verb.scene, is_several=False)
    return [*leads, english.written(third), english.written(fourth)]


def _draw_subject(generator: random.Random) -> Subject:
    """Returns a subject; if it is a noun, the person is its pronoun."""
    gender = "m" if generator.random() < _MASCULINE else "f"
    which = generator.choices(list(_SUBJECTS), list(_SUBJECTS.values()))[0]
    if which == "acquaintance":
        return draw_acquaintance(generator)
    persons = {"I": first_person(gender), "you": second_person(gender), "you all": YOU_ALL}
    person = (persons | {"he": HE, "she": SHE, "they": THEY})[which]
    return person, person.english, person.russian


def _draw_complement(verb: Verb, person: Person, generator: random.Random) -> Sentence:
    """Returns what follows the verb, with an object that is not the subject."""
    source, target = generator.choice(verb.complements)
    source = source.replace("{own}", POSSESSIVES[person.english])
    match = re.search(r"(?:(\w+) )?\{(\w+)\}", target)
    if not match:
        return source, target
    word = generator.choice(_OBJECTS_OF[person.place])
    preposition, form = match[1] or "", OBJECTS[word][match[2]]
    if preposition and word in ("him", "her", "them") and not form.startswith("н"):
        form = "н" + form
    return source.replace("{o}", word), target.replace(match[0], with_preposition(preposition, form))


def _english_clause(
    verb: Verb, tense: str, mood: str, subject: Subject, after: str, adverb: str, is_never: bool
) -> str:
    """Returns an English question, assertion or denial."""
    person, words, _ = subject
    auxiliary, negated = english.auxiliary(tense, person)
    lexical = {"perfect": verb.participle, "progressive": english.gerund(verb.base)}.get(tense, verb.base)
    if tense == "going":
        lexical = f"going to {verb.base}"
    if mood == "?":
        return f"{auxiliary} {words} {adverb}{lexical} {after}".strip() + "?"
    if mood == "-":
        predicate = f"never {verb.past}" if is_never else f"{negated} {lexical}"
        return f"{words} {predicate} {after}".strip() + (" yet." if tense == "perfect" else ".")
    if tense == "past":
        predicate = verb.past
    elif tense == "present":
        predicate = adverb + (english.third_person(verb.base) if person.place == 2 else verb.base)
    else:
        predicate = f"{auxiliary} {lexical}"
    return f"{words} {predicate} {after}".strip() + "."


def _russian_clause(subject: str, verb: str, complement: str, is_pronoun_first: bool = False) -> str:
    """Returns a Russian clause without its mark; a pronoun without preposition may stand before the verb."""
    if verb.endswith(" бы"):
        verb = verb.removesuffix(" бы")
        subject, is_pronoun_first = f"{subject} бы", is_pronoun_first and " " not in subject
    pronouns = {form for cases in OBJECTS.values() for case, form in cases.items() if case != "loc"}
    first, _, rest = complement.partition(" ")
    if first in pronouns and is_pronoun_first:
        return " ".join(filter(None, (subject, first, verb, rest)))
    return " ".join(filter(None, (subject, verb, complement))).replace(" ,", ",")


def _exchange(verb: Verb, tense: str, aspect: str, person: Person, after: str, generator: random.Random) -> Exchange:
    """Returns what the answer to a sentence about a person is made of."""
    return Exchange(
        verb,
        tense,
        aspect,
        person=as_other_speaker_says(person),
        speaker=first_person(person.gender if person.place == 1 else "m"),
        acquaintance=draw_acquaintance(generator),
        is_plural=person == YOU_ALL,
        is_shared=tense == "present" or not _SINGULAR_OBJECT.match(after),
    )


def _dialogue(verb: Verb, person: Person, third: Sentence, fourth: Sentence, generator: random.Random) -> Dialogue:
    """Returns a dialogue with two leads; the third sentence may name the one it speaks to."""
    if person.place == 1 and generator.random() < (0.75 if person.gender == "f" else 0.35):
        noun = generator.choice([noun for noun in of_kinds(("name",)) if noun.gender == person.gender])
        third = f"{noun.english}, {third[0]}", f"{noun.cases['nom']}, {third[1]}"
    leads = draw_leads(generator, verb.scene, is_several=person == YOU_ALL)
    return [*leads, english.written(third), english.written(fourth)]
