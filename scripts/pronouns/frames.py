"""Sentences from frames.tsv: prepositions, possessives, demonstratives, *one*, *both*, *mine*, people beside a hint.

A frame has slots: <who> is a person in the third person singular, <he> the pronoun of that person, <name> a person who
is not a pronoun, <who2> another one; <adj> any adjective and <big> a gradable one, which agree with the hint; <adj1>
the adjective in the singular; <more>, <more1> comparatives; <mine> a possessive pronoun; <part>, <parts>, <son>
something that belongs to the referent; <past>, <future> an adverbial or nothing. {m|f} depends on the gender of the
hint. "@" makes the word before it agree with <who>.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from pronouns.clauses import capitalised
from pronouns.conjugation import VOWELS, join
from pronouns.pairs import Written
from pronouns.vocabulary import read_lists, read_rows

_SLOT = re.compile(r"<(\w+)>")
_CHOICE = re.compile(r"\{([^|}]*)\|([^|}]*)\}")


class FrameWriter:
    """Fills frames at random."""

    def __init__(self, generator: random.Random) -> None:
        self._random, self._lists = generator, read_lists()
        self._lists["adj"] = self._lists["gradable"] + self._lists["state"]
        self._lists["name"] = [row for row in self._lists["who"] if row[0] not in ("he", "she")]
        self._frames = read_rows("frames.tsv")

    def sentences(self, times: int) -> Iterator[Written]:
        """Yields each frame `times` times with different words; a frame without slots only once."""
        for kind, words, number, source, target in self._frames:
            seen = set[str]()
            for _ in range(times):
                texts = self._fill(source, target, plural=number == "p")
                written = Written(kind, texts[0], texts[1:], words, number == "p")
                if written.source not in seen:
                    seen.add(written.source)
                    yield written

    def _fill(self, english: str, french: str, plural: bool) -> tuple[str, str, str]:
        """Returns a frame with its slots filled: English, and French for a masculine and a feminine hint."""
        person = self._draw("name" if "<name>" in english.lower() else "who")
        source, target = dict[str, str](), dict[str, str]()
        for name in ("who", "name", "Who", "Name"):
            source[name], target[name] = (capitalised(word) if name[0].isupper() else word for word in person[:2])
        other = self._draw("name")
        while other[0] == person[0]:
            other = self._draw("name")
        source["who2"], target["who2"] = other[:2]
        feminine_person = person[2] == "f"
        source["he"], target["he"] = ("she", "elle") if feminine_person else ("he", "il")
        for name in ("past", "future"):
            source[name], target[name] = self._draw(name) if self._random.random() < 0.6 else ("", "")
        part = self._draw("part")
        source["part"], target["part"] = part[:2]
        target["son"] = "sa" if part[2] == "f" and part[1][0] not in VOWELS else "son"
        source["parts"], target["parts"] = self._draw("parts")
        agreeing = {"adj": "adj", "big": "gradable", "more": "comparative", "mine": "possessive"}
        chosen = {slot: self._draw(name) for slot, name in agreeing.items()}
        source |= {slot: row[0] for slot, row in chosen.items()}

        def in_gender(feminine: bool) -> str:
            forms = {slot: pluralised(row[1 + feminine], plural) for slot, row in chosen.items()}
            forms |= {f"{slot}1": row[1 + feminine] for slot, row in chosen.items()}
            text = _CHOICE.sub(lambda choice: choice[1 + feminine], french)
            text = text.replace("à <who2>", re.sub("^à le ", "au ", f"à {target['who2']}"))
            text = _SLOT.sub(lambda slot: {**target, **forms}[slot[1]], text)
            return _tidy(join(re.sub(r"(\w+)@", lambda word: _feminine(word[1]) if feminine_person else word[1], text)))

        text = _SLOT.sub(lambda slot: source[slot[1].removesuffix("1")], english)
        return _tidy(text), in_gender(feminine=False), in_gender(feminine=True)

    def _draw(self, name: str) -> list[str]:
        return self._random.choice(self._lists[name])


def pluralised(adjective: str, plural: bool) -> str:
    """Returns an adjective or possessive, given in the singular, in a number."""
    if not plural or adjective.endswith(("s", "x", "marché")):
        return adjective
    return adjective + ("x" if adjective.endswith("eau") else "s")


def _feminine(word: str) -> str:
    if word.endswith("er"):
        return word[:-2] + "ère"
    return word[:-1] + "se" if word.endswith("x") else word + "e"


def _tidy(text: str) -> str:
    """Returns a text without the spaces that an empty slot leaves."""
    text = re.sub(r" +([.,])", r"\1", re.sub(r" +", " ", text))
    return capitalised(text.strip())
