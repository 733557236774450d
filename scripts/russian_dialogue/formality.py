"""Dialogues with one form of address: English *you* is ты or вы in Russian, as in an earlier sentence.

The four sentences belong to one scene; two versions have the same English, with ты and with вы.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .tables import FOLDER, LENGTH, Dialogue, check, rows

_MANY = 0.15
"""Share of dialogues with two or three earlier sentences that address somebody, rather than one."""
_ANY = 0.15
"""Chance of a sentence that fits every scene."""
_SLOT = re.compile(r"\{\w+\}")
_SLOTS: dict[str, tuple[tuple[str, str], ...]] = {
    # Names of men only: past tenses and adjectives of the text agree with them.
    "{name}": (
        ("Tom", "Том"),
        ("Jack", "Джек"),
        ("Mike", "Майк"),
        ("Peter", "Питер"),
        ("Frank", "Фрэнк"),
        ("Sam", "Сэм"),
        ("David", "Дэвид"),
        ("John", "Джон"),
        ("Robert", "Роберт"),
        ("Paul", "Пол"),
        ("Max", "Макс"),
        ("Victor", "Виктор"),
        ("Martin", "Мартин"),
        ("Oliver", "Оливер"),
        ("Daniel", "Дэниел"),
        ("Alex", "Алекс"),
        ("Henry", "Генри"),
        ("Walter", "Уолтер"),
    ),
    "{time}": (
        ("at five", "в пять"),
        ("at six", "в шесть"),
        ("at seven", "в семь"),
        ("at eight", "в восемь"),
        ("at nine", "в девять"),
        ("at ten", "в десять"),
        ("at half past six", "в половине седьмого"),
        ("at half past seven", "в половине восьмого"),
        ("at half past eight", "в половине девятого"),
    ),
    "{day}": (
        ("on Monday", "в понедельник"),
        ("on Tuesday", "во вторник"),
        ("on Wednesday", "в среду"),
        ("on Thursday", "в четверг"),
        ("on Friday", "в пятницу"),
        ("on Saturday", "в субботу"),
        ("on Sunday", "в воскресенье"),
    ),
}


class Line(NamedTuple):
    """A sentence with slots, and its Russian with ты and with вы (the same if it addresses nobody)."""

    english: str
    familiar: str
    polite: str


@cache
def read_lines(path: Path = FOLDER / "formality.tsv") -> dict[tuple[str, bool], list[Line]]:
    """Returns the sentences by scene and by whether they address somebody; raises SystemExit if a row is wrong."""
    lines: dict[tuple[str, bool], list[Line]] = {}
    seen: set[str] = set()
    for where, (kind, scene, english, familiar, polite) in rows(path, 5):
        check(kind in ("marked", "neutral"), where, f"the kind is marked or neutral, not {kind!r}")
        line = Line(english, familiar, polite or familiar)
        check((line.familiar != line.polite) == (kind == "marked"), where, "ты and вы differ in marked lines only")
        slots = [sorted(_SLOT.findall(text)) for text in line]
        check(slots[0] == slots[1] == slots[2], where, "the slots are not the same in all texts")
        check(set(slots[0]) <= _SLOTS.keys(), where, "unknown slot")
        check(english not in seen, where, "repeats an English text")
        seen.add(english)
        lines.setdefault((scene, kind == "marked"), []).append(line)
    return lines


def draw(generator: random.Random) -> tuple[Dialogue, ...]:
    """Returns a dialogue with ты and with вы; the last sentence and an earlier one address somebody."""
    scene = generator.choice(sorted({scene for scene, _ in read_lines()} - {"any"}))
    chosen: list[Line] = []
    for is_marked in _draw_marks(generator):
        chosen.append(_draw_line(generator, scene, is_marked, chosen))
    filled = _filled(generator, chosen)
    return [(line.english, line.familiar) for line in filled], [(line.english, line.polite) for line in filled]


def _draw_marks(generator: random.Random) -> list[bool]:
    """Returns which sentences address somebody: the last, and one or more before it."""
    last = LENGTH - 1
    earlier = generator.choice((2, 3)) if generator.random() < _MANY else 1
    places = {last, *generator.sample(range(last), earlier)}
    return [place in places for place in range(LENGTH)]


def _draw_line(generator: random.Random, scene: str, is_marked: bool, used: list[Line]) -> Line:
    """Returns a sentence of the scene, or sometimes one that fits every scene, that is not used yet."""
    while True:
        line = generator.choice(read_lines()["any" if generator.random() < _ANY else scene, is_marked])
        if line not in used:
            return line


def _filled(generator: random.Random, lines: list[Line]) -> list[Line]:
    """Returns the sentences with their slots filled; all of them speak to the same name."""
    person = generator.choice(_SLOTS["{name}"])
    filled = []
    for line in lines:
        english, familiar, polite = line
        for slot, words in _SLOTS.items():
            source, target = person if slot == "{name}" else generator.choice(words)
            english, familiar = english.replace(slot, source), familiar.replace(slot, target)
            polite = polite.replace(slot, target)
        filled.append(Line(english, familiar, polite))
    return filled
