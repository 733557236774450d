"""Dialogues that name somebody or something twice, and keep to one of two accepted Russian renderings of the name.

The four sentences belong to one scene; two versions have the same English, and differ in the rendering alone (Ватсон,
Уотсон).
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .russian import CASES, CONSONANTS, preposition_before
from .tables import FOLDER, LENGTH, Dialogue, Sentence, check, rows

_TWICE = 0.2
"""How often two earlier sentences name what the last one names."""

_NAME_KINDS = ("man", "woman", "surname", "place", "company", "ship", "street")
_MASCULINE = frozenset({"man", "mister", "place", "ship"})
_ANIMATE = frozenset({"man", "mister"})
_FIXED = frozenset({"company", "street"})
_VOWELS = "аеёиоуыэюя"
_HUSHING = "жчшщц"
_SLOT = re.compile(r"(?:(?<!\w)(?P<preposition>[ОоСсВв]) )?(?P<quote>«?)\{(?P<case>[a-z]+)\}")


class Name(NamedTuple):
    """An English name and its two Russian renderings, in the nominative."""

    english: str
    kind: str
    renderings: tuple[str, str]


class Frame(NamedTuple):
    """A sentence of a scene with a slot for a name; the case of a neutral one is empty."""

    kind: str
    scene: str
    english: str
    russian: str
    case: str


class Role(NamedTuple):
    """What a dialogue talks about: the kind of its names, the kinds of its frames, and how often it is drawn."""

    role: str
    names: str
    frames: tuple[str, ...]
    weight: int


_ROLES = (
    Role("man", "man", ("person", "man"), 30),
    Role("woman", "woman", ("person", "woman"), 28),
    Role("mister", "surname", ("person", "man", "mister", "estate"), 16),
    Role("lady", "surname", ("lady",), 6),
    Role("place", "place", ("place",), 6),
    Role("company", "company", ("company",), 5),
    Role("ship", "ship", ("ship",), 5),
    Role("street", "street", ("street",), 4),
)
_FRAME_KINDS = frozenset({"neutral"}).union(*(role.frames for role in _ROLES))


@cache
def read_names(path: Path = FOLDER / "names.tsv") -> tuple[Name, ...]:
    """Returns the names of a table; raises SystemExit if a row is wrong."""
    names: list[Name] = []
    seen: set[tuple[str, str]] = set()
    for where, (english, kind, first, second) in rows(path, 4):
        check(kind in _NAME_KINDS, where, f"unknown kind {kind!r}; use one of {', '.join(_NAME_KINDS)}")
        check((english, kind) not in seen, where, f"{english} is there twice as a {kind}")
        role = "mister" if kind == "surname" else kind
        for case in CASES:
            are_equal = decline(first, case, role) == decline(second, case, role)
            check(not are_equal, where, f"the two renderings of {english} are equal in the case {case}")
        for rendering in (first, second):
            is_russian = re.fullmatch(r"[А-ЯЁ][А-ЯЁа-яё]*(?:[ -][А-ЯЁа-яё]+)*", rendering)
            check(bool(is_russian), where, f"{rendering!r} is not a capitalised Russian name")
        seen.add((english, kind))
        names.append(Name(english, kind, (first, second)))
    return tuple(names)


@cache
def read_frames(path: Path = FOLDER / "name_frames.tsv") -> tuple[Frame, ...]:
    """Returns the sentence frames of a table; raises SystemExit if a row is wrong."""
    frames: list[Frame] = []
    for where, (kind, scene, english, russian) in rows(path, 4):
        check(kind in _FRAME_KINDS, where, f"unknown kind {kind!r}; use one of {', '.join(sorted(_FRAME_KINDS))}")
        slots, cases = re.findall(r"[{}][^{}]*[{}]", english), re.findall(r"[{}]([^{}]*)[{}]", russian)
        if kind == "neutral":
            check(not slots and not cases, where, "a neutral sentence has no slot for a name")
        else:
            has_slots = slots == ["{name}"] and len(cases) == 1 and cases[0] in CASES
            check(has_slots, where, f"expected one {{name}} in English and one of {', '.join(CASES)} in Russian")
        frames.append(Frame(kind, scene, english, russian, cases[0] if cases else ""))
    return tuple(frames)


def decline(name: str, case: str, role: str) -> str:
    """Returns a Russian rendering in a case, declined as the role asks (a man, a woman, *Mrs.*, a ship...)."""
    if case == "nom" or role in _FIXED:
        return name
    stem, last = name[:-1], name[-1]
    if last in CONSONANTS or last in "йь":
        return _decline_masculine(name, case, role in _ANIMATE) if role in _MASCULINE else name
    # Андреа, Теа, Гарсиа: an -а after a vowel stays, as do all vowels but -а and -я
    if last == "а" and stem[-1:].lower() not in _VOWELS:
        endings = ("и" if stem[-1] in "гкх" + "жчшщ" else "ы", "е", "у", "ей" if stem[-1] in _HUSHING else "ой", "е")
    elif last == "я":
        oblique = "и" if stem[-1] == "и" else "е"
        endings = ("и", oblique, "ю", "ей", oblique)
    else:
        return name
    return stem + dict(zip(CASES[1:], endings, strict=True))[case]


def _decline_masculine(name: str, case: str, animate: bool) -> str:
    """Returns a masculine rendering that ends in a consonant, -й or -ь in a case other than the nominative."""
    if case == "acc" and not animate:
        return name
    if name[-1] in "йь":
        stem, endings = name[:-1], ("я", "ю", "я", "ем", "и" if name.endswith("ий") else "е")
    else:
        stem, endings = name, ("а", "у", "а", "ем" if name[-1] in _HUSHING else "ом", "е")
    return stem + dict(zip(CASES[1:], endings, strict=True))[case]


def filled(frame: Frame, name: Name, version: int, role: str) -> Sentence:
    """Returns a frame in English and Russian with a name in one of its two renderings."""
    rendering = name.renderings[version]

    def fill(match: re.Match[str]) -> str:
        """Returns the name in the case of the slot, after the preposition if there is one."""
        form, preposition = decline(rendering, match["case"], role), match["preposition"]
        before = f"{preposition_before(preposition, form)} " if preposition else ""
        return f"{before}{match['quote']}{form}"

    return frame.english.replace("{name}", name.english), _SLOT.sub(fill, frame.russian)


@cache
def _frames_by_scene(kinds: tuple[str, ...]) -> dict[str, list[Frame]]:
    """Returns the frames of some kinds by scene."""
    scenes: dict[str, list[Frame]] = {}
    for frame in read_frames():
        if frame.kind in kinds:
            scenes.setdefault(frame.scene, []).append(frame)
    return scenes


def draw(generator: random.Random) -> tuple[Dialogue, ...]:
    """Returns a dialogue with the first rendering of a name and with the second; the last sentence has the name."""
    role = generator.choices(_ROLES, [role.weight for role in _ROLES])[0]
    name = generator.choice([name for name in read_names() if name.kind == role.names])
    # A dialogue needs two other sentences with the name.
    scenes = {scene: named for scene, named in _frames_by_scene(role.frames).items() if len(named) >= 3}
    frames = [frame for named in scenes.values() for frame in named]
    # Cases are drawn first, for the rarer ones to be trained, too.
    case = generator.choice([case for case in CASES if any(frame.case == case for frame in frames)])
    last = generator.choice([frame for frame in frames if frame.case == case])
    places = generator.sample(range(LENGTH - 1), 2 if generator.random() < _TWICE else 1)
    others = [frame for frame in scenes[last.scene] if frame != last]
    earlier = dict(zip(places, generator.sample(others, len(places)), strict=True))
    neutral = generator.sample(_frames_by_scene(("neutral",))[last.scene], LENGTH - 1)
    chosen = [*(earlier.get(place, neutral[place]) for place in range(LENGTH - 1)), last]
    first, second = ([filled(frame, name, version, role.role) for frame in chosen] for version in (0, 1))
    return first, second
