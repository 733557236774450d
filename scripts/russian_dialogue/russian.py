"""Russian grammar: prepositions, determiners, adjectives and verb paradigms."""

from __future__ import annotations

import re
from typing import NamedTuple

CASES = ("nom", "gen", "dat", "acc", "ins", "loc")
GENDERS = "mfp"
"""Of past tenses: masculine, feminine, plural; nouns are neuter (n), too."""
CONSONANTS = "бвгджзклмнпрстфхцчшщ"

# An empty accusative is the genitive of animate nouns and the nominative of others.
_DETERMINERS = {
    "мой": {
        "m": ("мой", "моего", "моему", "", "моим", "моём"),
        "f": ("моя", "моей", "моей", "мою", "моей", "моей"),
        "n": ("моё", "моего", "моему", "моё", "моим", "моём"),
        "p": ("мои", "моих", "моим", "", "моими", "моих"),
    },
    "этот": {
        "m": ("этот", "этого", "этому", "", "этим", "этом"),
        "f": ("эта", "этой", "этой", "эту", "этой", "этой"),
        "n": ("это", "этого", "этому", "это", "этим", "этом"),
        "p": ("эти", "этих", "этим", "", "этими", "этих"),
    },
    "тот": {
        "m": ("тот", "того", "тому", "", "тем", "том"),
        "f": ("та", "той", "той", "ту", "той", "той"),
        "n": ("то", "того", "тому", "то", "тем", "том"),
        "p": ("те", "тех", "тем", "", "теми", "тех"),
    },
}


def preposition_before(preposition: str, word: str) -> str:
    """Returns a preposition, capital or not, in the form that it has before a word (со, об, во, ко)."""
    lower, word = preposition.lower(), word.lower()
    if lower == "о":
        ending = "бо" if re.match(r"мне\b", word) else "б" if word[:1] in tuple("аоуэи") else ""
    elif lower == "с":
        ending = "о" if re.match(rf"[жзсш][{CONSONANTS}]|мной\b", word) else ""
    elif lower == "в":
        ending = "о" if re.match(rf"[вф][{CONSONANTS}]|мне\b", word) else ""
    else:
        ending = "о" if lower in ("к", "над", "перед") and re.match(r"(мне|мной)\b", word) else ""
    return preposition + ending


def with_preposition(preposition: str, words: str) -> str:
    """Returns words after a preposition; the words alone if it is empty."""
    return f"{preposition_before(preposition, words)} {words}" if preposition else words


def determiner(word: str, gender: str, case: str, animate: bool = False) -> str:
    """Returns a form of мой, этот or тот."""
    return _form(_DETERMINERS[word][gender], case, animate)


def adjective(word: str, gender: str, case: str, animate: bool = False) -> str:
    """Returns a form of an adjective given in the masculine nominative."""
    stem, ending = word[:-2], word[-2:]
    is_soft = ending == "ий" and stem[-1] not in "гкхжшчщ"
    o = "е" if is_soft or (stem[-1] in "жшчщц" and ending != "ой") else "о"
    y = "и" if is_soft or stem[-1] in "гкхжшчщ" else "ы"
    a, u = ("я", "ю") if is_soft else ("а", "у")
    forms = {
        "m": (ending, f"{o}го", f"{o}му", "", f"{y}м", f"{o}м"),
        "f": (f"{a}я", f"{o}й", f"{o}й", f"{u}ю", f"{o}й", f"{o}й"),
        "n": (f"{o}е", f"{o}го", f"{o}му", f"{o}е", f"{y}м", f"{o}м"),
        "p": (f"{y}е", f"{y}х", f"{y}м", "", f"{y}ми", f"{y}х"),
    }[gender]
    return stem + _form(forms, case, animate)


def _form(forms: tuple[str, ...], case: str, animate: bool) -> str:
    """Returns the form of a case."""
    return forms[CASES.index(case)] or forms[1 if animate else 0]


def for_gender(text: str, gender: str) -> str:
    """Returns a text with one of each [man|woman|more] or [one|more], as its gender asks."""

    def choose(match: re.Match[str]) -> str:
        choices = match[1].split("|")
        return choices[GENDERS.index(gender)] if len(choices) == 3 else choices[gender == "p"]

    return re.sub(r"\[([^\]]+)\]", choose, text)


class Paradigm(NamedTuple):
    """The forms of a verb in one aspect."""

    infinitive: str
    past: tuple[str, str, str]
    """Masculine, feminine, plural."""
    persons: tuple[str, ...]
    """Six persons of the present, of the future if the aspect is perfective."""

    def past_of(self, gender: str) -> str:
        """Returns the past tense of a gender (m, f or p)."""
        return self.past[GENDERS.index(gender)]


def read_paradigm(text: str) -> Paradigm:
    """Returns the forms of "писать писал пишу пишет пишут", or of all six persons; raises ValueError if it is wrong."""
    infinitive, *words = text.split()
    if len(words) not in (4, 7):
        raise ValueError(f"5 or 8 Russian forms expected: {text}")
    masculine, _, feminine = words[0].partition("/")
    if not feminine:
        feminine = masculine[:-2] + "ась" if masculine.endswith("лся") else masculine + "а"
    plural = feminine[:-3] + "ись" if feminine.endswith("ась") else feminine[:-1] + "и"
    persons = words[1:]
    if len(persons) == 3:
        first, third, they = persons
        match = re.fullmatch(r"(.+)т(ся)?", third)
        if not match or not re.search(r"т(ся)?$", they):
            raise ValueError(f"not third persons: {third}, {they}")
        stem, tail = match[1], match[2] or ""
        persons = [first, f"{stem}шь{tail}", third, f"{stem}м{tail}", f"{stem}те{'сь' if tail else ''}", they]
    return Paradigm(infinitive, (masculine, feminine, plural), tuple(persons))


def plural_imperative(verb: str) -> str:
    """Returns the imperative said to more than one, given the one said to one."""
    return verb[:-2] + "тесь" if verb.endswith(("ся", "сь")) else verb + "те"


def predicate(subject: str, verb: str, between: str = "") -> str:
    """Returns a clause; the particle бы of a conditional follows the subject."""
    if verb.endswith(" бы"):
        subject, verb = f"{subject} бы", verb.removesuffix(" бы")
    return " ".join(filter(None, (subject, between, verb)))
