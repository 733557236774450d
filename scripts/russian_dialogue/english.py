"""English grammar: verb forms, auxiliaries, articles and contractions."""

from __future__ import annotations

import re

from .persons import Person
from .tables import Sentence

_VOWELS = "aeiou"
_DOUBLED = frozenset({"kidnap", "forget", "quit"})
_MODALS = {
    "past": ("did", "didn't"),
    "future": ("will", "won't"),
    "conditional": ("would", "wouldn't"),
    "can": ("can", "can't"),
}
_CONTRACTED = {"am": "'m", "are": "'re", "is": "'s", "will": "'ll", "have": "'ve", "has": "'s"}


def third_person(verb: str) -> str:
    """Returns the *-s* form of a verb, of the first word of several."""
    word, space, rest = verb.partition(" ")
    if word in ("do", "go") or re.search(r"(s|x|z|ch|sh)$", word):
        form = word + "es"
    elif re.search(rf"[^{_VOWELS}]y$", word):
        form = word[:-1] + "ies"
    else:
        form = {"have": "has"}.get(word, word + "s")
    return form + space + rest


def past(verb: str) -> str:
    """Returns the regular *-ed* form of a verb, of the first word of several."""
    word, space, rest = verb.partition(" ")
    if word.endswith("e"):
        form = word + "d"
    elif re.search(rf"[^{_VOWELS}]y$", word):
        form = word[:-1] + "ied"
    else:
        form = _doubled(word) + "ed"
    return form + space + rest


def gerund(verb: str) -> str:
    """Returns the *-ing* form of a verb, of the first word of several."""
    word, space, rest = verb.partition(" ")
    if word.endswith("ie"):
        form = word[:-2] + "ying"
    elif re.search(r"[^eo]e$", word):
        form = word[:-1] + "ing"
    else:
        form = _doubled(word) + "ing"
    return form + space + rest


def _doubled(verb: str) -> str:
    """Returns a verb with its last consonant doubled if endings ask for that."""
    doubles = verb in _DOUBLED or re.fullmatch(rf"[^{_VOWELS}]*[{_VOWELS}][^{_VOWELS}wxy]", verb)
    return verb + verb[-1] if doubles else verb


def auxiliary(tense: str, person: Person) -> tuple[str, str]:
    """Returns the auxiliary of a tense and its negation."""
    is_third = person.place == 2
    if tense == "perfect":
        return ("has", "hasn't") if is_third else ("have", "haven't")
    if tense == "present":
        return ("does", "doesn't") if is_third else ("do", "don't")
    if tense in ("progressive", "going"):
        if person.place == 0:
            return "am", "am not"
        return ("is", "isn't") if is_third else ("are", "aren't")
    return _MODALS[tense]


def with_article(noun: str) -> str:
    """Returns a noun after *a* or *an*."""
    return f"{'an' if noun[0] in _VOWELS and not noun.startswith('uni') else 'a'} {noun}"


def capitalised(text: str) -> str:
    """Returns a text with a capital letter in front."""
    return text[:1].upper() + text[1:]


def written(sentence: Sentence) -> Sentence:
    """Returns a sentence with capital letters and, in English, contractions."""
    english, russian = (capitalised(re.sub(r" +", " ", text)) for text in sentence)
    english = re.sub(r"^Am not I", "Aren't I", english).replace("I am not", "I'm not")
    subject_verb = r"^(I|You|He|She|We|They) (am|are|is|will|have|has) (?!to )(?=\w)"
    return re.sub(subject_verb, lambda match: f"{match[1]}{_CONTRACTED[match[2]]} ", english), russian
