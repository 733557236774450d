"""Dialogues that end on a bare noun, adjective or numeral, whose Russian form the sentence before decides.

*Dogs.* is *Собаки.*, *Собак.* or *С собаками.*; *The red one.* is *Красный.*, *Красную.* or *О красном.*
"""

from __future__ import annotations

import random

from .english import capitalised, with_article, written
from .nouns import Adjective, Frame, Noun, draw_leads, of_kinds, read_adjectives, read_counts, read_frames, read_nouns
from .russian import GENDERS, adjective, determiner, for_gender, with_preposition
from .tables import Dialogue, Sentence

_LISTENERS = (6, 4, 2)
"""Weights of a man, a woman and more than one as those who are asked."""
_CONTRASTS = (
    {"cold", "hot", "warm"},
    {"salty", "spicy", "tasteless"},
    {"good", "terrible"},
    {"delicious", "terrible"},
    {"excellent", "terrible"},
    {"new", "old"},
    {"kind", "strict"},
    {"cheerful", "quiet"},
    {"calm", "nervous"},
)
_ABSOLUTE = frozenset(
    {"terrible", "awful", "huge", "delicious", "excellent", "good", "fresh", "empty", "beautiful", "tasteless"}
)
"""Adjectives without *very* and *too*."""
_SCENES = {
    "food": "food",
    "drink": "food",
    "person": "love",
    "place": "travel",
    "city": "travel",
    "event": "party",
}
"""Scenes of the questions what something is like; others are at home."""
_POSSESSIVES = {"y": "my", "h": "his", "s": "her"}


def draw(generator: random.Random) -> tuple[Dialogue, ...]:
    """Returns a dialogue, or nothing if what was drawn does not go together."""
    kinds = (_draw_question, _draw_statement, _draw_which, _draw_property, _draw_number)
    dialogue = generator.choices(kinds, (50, 17, 14, 13, 6))[0](generator)
    return (dialogue,) if dialogue else ()


def _frames(*kinds: str) -> list[Frame]:
    return [frame for frame in read_frames() if frame.kind in kinds]


def _adjectives(question: str, noun: Noun) -> list[Adjective]:
    """Returns the adjectives that answer a question about a noun."""
    return [a for a in read_adjectives() if a.question == question and not set(a.kinds).isdisjoint(noun.kinds)]


def _draw_noun(frame: Frame, generator: random.Random) -> Noun:
    """Returns a noun that a frame asks for."""
    nouns = of_kinds(frame.kinds)
    if frame.article in "hst":
        nouns = [noun for noun in nouns if "spouse" not in noun.kinds]
    # His waitress, her judge
    if frame.article in "hs":
        nouns = [noun for noun in nouns if "person" not in noun.kinds or noun.article in "kx"]
    return generator.choice(nouns)


def _with_article(noun: Noun, article: str, described: str = "") -> str:
    """Returns an English noun with the article or possessive that a frame asks for."""
    words = f"{described} {noun.english}".strip()
    if noun.article == "x":
        return words
    if noun.article == "k":
        usual = "the" if {"kin", "friend", "spouse"}.isdisjoint(noun.kinds) else "my"
        return f"{_POSSESSIVES.get(article, usual)} {words}"
    if "place" in noun.kinds and noun.article == "m":
        return words
    if noun.article == "t" or article in "tyhs":
        return f"the {words}"
    if noun.english == "watch":
        return with_article(words)
    return words if noun.article in "mp" or noun.gender == "p" or article == "z" else with_article(words)


def _draw_question(generator: random.Random) -> Dialogue:
    """Returns a question about a noun and the noun alone."""
    frame = generator.choice(_frames("question"))
    noun = _draw_noun(frame, generator)
    gender = generator.choices(GENDERS, _LISTENERS)[0]
    if "spouse" in noun.kinds:
        gender = "m" if noun.gender == "f" else "f"
    form, described = noun.cases[frame.case], ""
    if not {"tool", "goods", "clothes"}.isdisjoint(noun.kinds) and generator.random() < 0.3:
        ordinals = ("other", "first", "second", "last")
        quality = generator.choice([a for a in _adjectives("which", noun) if a.english not in ordinals])
        described, form = quality.english, f"{adjective(quality.russian, noun.gender, frame.case)} {form}"
    source = _with_article(noun, frame.article, described)
    if frame.english.startswith("Whose"):
        source += "'" if source.endswith("s") and noun.gender == "p" else "'s"
    if source.startswith("my ") and generator.random() < 0.4:
        form = f"{determiner('мой', noun.gender, frame.case, animate=True)} {form}"
    if "vehicle" in noun.kinds and frame.article == "z":
        source = f"by {source}"
    question = frame.english, for_gender(frame.russian, gender)
    answer = f"{source}.", f"{with_preposition(frame.preposition, form)}."
    return [*draw_leads(generator, frame.scene, gender == "p"), question, written(answer)]


def _draw_statement(generator: random.Random) -> Dialogue | None:
    """Returns a statement and an echo or correction of its noun."""
    frame = generator.choice(_frames("statement", "lack"))
    noun, other = _draw_noun(frame, generator), _draw_noun(frame, generator)
    if noun == other or (frame.article == "t" and "kin" in (*noun.kinds, *other.kinds)):
        return None
    one, two = _with_article(noun, frame.article), _with_article(other, frame.article)
    first, second = (with_preposition(frame.preposition, word.cases[frame.case]) for word in (noun, other))
    gap = f"{frame.preposition} {{n}}" if frame.preposition else "{n}"
    third = frame.english.replace("{n}", one), capitalised(frame.russian.replace(gap, first))
    answers = [*[(f"{one}?", f"{first}?")] * 2, (f"And {two}?", f"А {second}?")]
    if frame.kind == "statement":
        answers += [
            *[(f"No, {two}.", f"Нет, {second}.")] * 2,
            (f"Not {one}. {capitalised(two)}.", f"Не {first}, а {second}."),
            (f"{one} or {two}?", f"{first} или {second}?"),
            (f"Maybe {two}?", f"Может, {second}?"),
        ]
    if {"job", "city", "place", "event"}.isdisjoint(noun.kinds):
        answers += [(f"Only {one}?", f"Только {first}?")]
    return [*draw_leads(generator, frame.scene, False), written(third), written(generator.choice(answers))]


def _draw_which(generator: random.Random) -> Dialogue | None:
    """Returns a question *Which car?* and an answer without the noun."""
    frame = generator.choice(_frames("which"))
    noun = generator.choice(of_kinds(frame.kinds))
    if noun.english in ("money", "taxi"):
        return None
    case, gender = frame.case, noun.gender
    is_plural = gender == "p" and noun.english != "watch"
    listener = generator.choices(GENDERS, _LISTENERS)[0]
    asked = adjective("какой", gender, case)
    slots = {
        "{W}": capitalised(asked),
        "{w}": asked,
        "{n}": noun.cases[case],
        "{нравится}": "нравятся" if gender == "p" else "нравится",
        "{самый}": adjective("самый", gender, "nom"),
        "{дорогой}": adjective("дорогой", gender, "nom"),
    }
    target = for_gender(frame.russian, listener)
    for slot, words in slots.items():
        target = target.replace(slot, words)
    source = frame.english.replace("{n}", noun.english).replace("{is}", "are" if is_plural else "is")
    qualities = _adjectives("which", noun)
    if "{дорогой}" in frame.russian:
        qualities = [quality for quality in qualities if quality.english not in ("expensive", "cheap")]
    answer = _draw_which_answer(noun, case, "ones" if is_plural else "one", qualities, generator)
    answer = answer[0], f"{with_preposition(frame.preposition, answer[1])}."
    return [*draw_leads(generator, frame.scene, listener == "p"), (source, target), written(answer)]


def _draw_which_answer(
    noun: Noun, case: str, ones: str, qualities: list[Adjective], generator: random.Random
) -> Sentence:
    """Returns *The red one.*, *This one.* or *Mine.*, the Russian without its preposition."""
    kind = generator.random()
    if kind < 0.7:
        quality = generator.choice(qualities)
        return f"the {quality.english} {ones}.", adjective(quality.russian, noun.gender, case)
    if kind < 0.8:
        return "these." if ones == "ones" else "this one.", determiner("этот", noun.gender, case)
    if kind < 0.9:
        return "those." if ones == "ones" else "that one.", determiner("тот", noun.gender, case)
    return "mine.", determiner("мой", noun.gender, case)


def _draw_property(generator: random.Random) -> Dialogue | None:
    """Returns a question what something is like and a bare adjective."""
    noun = generator.choice([noun for noun in read_nouns() if _adjectives("is", noun) and noun.english != "money"])
    quality, other = (generator.choice(_adjectives("is", noun)) for _ in range(2))
    first, second = (adjective(a.russian, noun.gender, "nom") for a in (quality, other))
    is_plural = (noun.gender == "p" or noun.article == "p") and noun.english != "watch"
    be, source, russian = "are" if is_plural else "is", f"the {noun.english}", noun.cases["nom"]
    if noun.article == "k":
        source, russian = f"your {noun.english}", f"{_your(noun.gender)} {russian}"
    elif noun.article == "x":
        source = noun.english
    contrasts = any({quality.english, other.english} <= group for group in _CONTRASTS)
    if first != second and contrasts and "event" not in noun.kinds and generator.random() < 0.8:
        question = f"{be} {source} {other.english}?", f"{russian} {second}?"
        answers = [(f"{quality.english}.", f"{first}."), (f"No, {quality.english}.", f"Нет, {first}.")]
    else:
        question = generator.choice(_property_questions(noun, be, source, russian))
        answers = [(f"{quality.english}.", f"{first}.")] * 6
        if quality.english not in _ABSOLUTE:
            answers += [
                (f"Very {quality.english}.", f"Очень {first}."),
                (f"Rather {quality.english}.", f"Довольно {first}."),
            ]
    scene = next((_SCENES[kind] for kind in noun.kinds if kind in _SCENES), "home")
    return [*draw_leads(generator, scene, False), written(question), written(generator.choice(answers))]


def _property_questions(noun: Noun, be: str, source: str, russian: str) -> list[Sentence]:
    """Returns the questions what something is like."""
    what = adjective("какой", noun.gender, "nom")
    if "event" in noun.kinds:
        was = {"m": "был", "f": "была", "n": "было", "p": "были"}[noun.gender]
        return [(f"What {'were' if be == 'are' else 'was'} {source} like?", f"{what} {was} {russian}?")]
    it = {"m": "он", "f": "она", "n": "оно", "p": "они"}[noun.gender]
    this = "" if noun.article in "kx" else f"{determiner('этот', noun.gender, 'nom')} "
    questions = [
        (f"What {be} {source} like?", f"{what} {it}, {this}{russian}?"),
        (f"And {source}?", f"А {russian} {what}?"),
        (f"And what about {source}?", f"А {russian}?"),
    ]
    if {"food", "drink"}.isdisjoint(noun.kinds):
        return questions
    return [(f"How {be} {source}?", f"Как {russian}?"), *questions[1:]]


def _your(gender: str) -> str:
    """Returns the nominative of твой."""
    return "тв" + determiner("мой", gender, "nom").removeprefix("м")


def _draw_number(generator: random.Random) -> Dialogue:
    """Returns a question how many and a numeral that agrees with the noun."""
    frame = generator.choice(_frames("number"))
    count = generator.choice([count for count in read_counts() if not set(count.kinds).isdisjoint(frame.kinds)])
    gender, is_accusative = count.gender, frame.case == "acc"
    animate = count.is_animate and is_accusative
    one = {"m": "одного" if animate else "один", "f": "одну" if is_accusative else "одна", "n": "одно"}[gender]
    two = "двух" if animate else {"m": "два", "f": "две", "n": "два"}[gender]
    answers = [
        ("One.", f"{one}."),
        ("Just one.", f"Только {one}."),
        ("Two.", f"{two}."),
        ("Only two.", f"Всего {two}."),
        ("Two, I think.", f"Кажется, {two}."),
        ("One or two.", f"{one} или {two}."),
        ("Not a single one.", f"{'ни одной' if gender == 'f' else 'ни одного'}."),
        ("One, maybe two.", f"{one}, может, {two}."),
    ]
    if {"kin", "estate"}.isdisjoint(count.kinds):
        answers += [("Twenty-one.", f"двадцать {one}.")]
    listener = generator.choices(GENDERS, _LISTENERS)[0]
    question = (
        frame.english.replace("{n}", count.english),
        for_gender(frame.russian, listener).replace("{n}", count.russian),
    )
    return [*draw_leads(generator, frame.scene, listener == "p"), question, written(generator.choice(answers))]
