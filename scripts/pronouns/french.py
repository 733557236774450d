"""French gender: of nouns (counted in a text), of phrases, and sentences whose subject pronoun changes its gender."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

Gender = Literal["f", "m"]
FEMININE = frozenset({"la", "une", "cette", "ma", "ta", "sa"})
MASCULINE = frozenset({"le", "un", "ce", "du", "au", "cet"})
MIN_COUNT = 3
"""Occurrences with an article that a noun needs to have a gender, and a word to exist."""

_ARTICLE_AND_NOUN = re.compile(r"\b(le|un|du|au|ce|la|une|cette|ma|ta|sa)\s+([a-zà-ÿœ\-]{3,})", re.IGNORECASE)
_WORD = re.compile(r"[a-zà-ÿœ\-]+")


class Lexicon:
    """The words of a French text, and how often each follows a masculine and a feminine article."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.words, self._articles = Counter[str](), {"m": Counter[str](), "f": Counter[str]()}
        for sentence in sentences:
            self.words.update(_WORD.findall(sentence))
            for article, noun in _ARTICLE_AND_NOUN.findall(sentence):
                self._articles["f" if article.lower() in FEMININE else "m"][noun.lower()] += 1

    def exists(self, word: str) -> bool:
        """True if the text has the word often enough."""
        return self.words[word] >= MIN_COUNT

    def nouns(self, gender: Gender, min_count: int = 15, share: float = 0.96) -> dict[str, int]:
        """Returns nouns of one gender and their counts; nouns of both genders are left out."""
        own, other = self._articles[gender], self._articles["m" if gender == "f" else "f"]
        return {
            noun: count
            for noun, count in own.items()
            if len(noun) > 3 and count + other[noun] >= min_count and count > share * (count + other[noun])
        }

    def gender(self, phrase: str) -> Gender | None:
        """Returns the gender of a noun with or without its article, or None if unknown."""
        words = _WORD.findall(phrase.lower())
        if not words:
            return None
        if len(words) > 1 and words[0] in FEMININE | MASCULINE:
            return "f" if words[0] in FEMININE else "m"
        for noun in (words[-1], words[-1].rstrip("s"), words[-1].rstrip("x")):
            feminine, masculine = self._articles["f"][noun], self._articles["m"][noun]
            if feminine + masculine >= MIN_COUNT:
                return "f" if feminine > 2 * masculine else "m" if masculine > 2 * feminine else None
        return None


_BE = re.compile(
    r"\b(?:suis|es|est|sommes|êtes|sont|étai[ts]|étaient|ser(?:a|ai|as|ons|ez|ont|ait|aient)|fut|furent|soi[ts]|soient|"
    r"été|être|étant|devien\w+|devenu\w*|dev(?:enait|enaient|int|inrent)|rest(?:e|ent|ait|aient|era|eront|é|a|èrent)|"
    r"sembl\w+|para(?:ît|issent|issait|issaient)|demeur\w+|rend\w*|trouv\w+)\b",
    re.IGNORECASE,
)
AGREES_ELSEWHERE = re.compile(
    r"\b(?:eux|seule?s?|toute?s?|tous|lui-même|elle-même|eux-mêmes|elles-mêmes|prête?s?|premi(?:er|ère)s?|"
    r"derni(?:er|ère)s?|quel\w*|celui|celle|ceux|celles|aucune?|chacune?|l['’]une?|certaine?s?|leurs? propres?)\b",
    re.IGNORECASE,
)
_IMPERSONAL = re.compile(
    r"\b(?:se mi(?:t|rent) à|se fait|cela|ça|neig\w*|pleu\w*|possible|impossible|temps|utile|permis|question|lieu de|"
    r"vaut|mieux|tard|reste|rest\w+ (?:à|que)|y a)\b",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?:pas|plus|jamais|très|trop|si|aussi|bien|mal|déjà|encore|toujours|souvent|également|donc|ainsi|désormais|"
    r"maintenant|vraiment|assez|plutôt|parfaitement|tout à fait|peu|moins|parfois|\w+ment)"
)
_BEFORE_BE = re.compile(
    r"\s*(?:(?:ne|n['’]|se|s['’]|y|en|lui|leur|nous|vous|me|te|le|la|les|l['’]|a|ont|avai\w+|aur\w+|doi\w+|peu\w+|"
    r"pourr\w+|dev\w+|va|vont|pas|plus|jamais|déjà|été|toujours|bien|sont|est|était|étaient)\s*)*"
)
_COMPLEMENT = re.compile(rf"((?:[ -](?:ils?|elles?))?(?: {_ADVERBS})* )([a-zà-ÿœ]+)")
_PREPOSITIONS = """le la les des en à au dans sur de du pour par là ici ce que qui son sa leur notre sous chez avec
sans entre ailleurs vers"""
_INVARIABLE = frozenset(_PREPOSITIONS.split())
_SECOND_COMPLEMENT = re.compile(
    r"\s*(?:et|ou|,|ni|mais)\s+(?:\w+ )?[a-zà-ÿœ]+(?:é|ée|és|ées|if|ive|eux|euse|ant|ante|ent|ente|[aeiou]ble)\b"
)
_APPOSITION = re.compile(
    r",\s*[a-zà-ÿ]+(?:ée?s?|ie?s?|ue?s?)\b (?:de|par|à|en|dans|sur)\b"
    r"|,\s*(?:[a-zà-ÿ]+ment|très|trop|si|toutes?|tous) [a-zà-ÿ]+"
)
_SUBJECT = re.compile(r"\b(ils?|elles?)\b", re.IGNORECASE)
_ENDINGS: tuple[tuple[str, str], ...] = (
    ("if", "ive"),
    ("el", "elle"),
    ("ien", "ienne"),
    ("er", "ère"),
    ("on", "onne"),
    ("et", "ète"),
    ("", "e"),
)
"""Masculine and feminine endings of adjectives and participles, the special ones first."""


def with_gender(sentence: str, gender: Gender, lexicon: Lexicon) -> str | None:
    """Returns the sentence with its one subject pronoun (il, elle, ils, elles) and its complement in a gender.

    None if something else may agree with the pronoun, or if the pronoun may be impersonal.
    """
    subjects = list(_SUBJECT.finditer(sentence))
    if len(subjects) != 1 or AGREES_ELSEWHERE.search(sentence) or _APPOSITION.search(sentence):
        return None
    subject, plural = subjects[0], subjects[0].group().lower().endswith("s")
    if (not plural and _IMPERSONAL.search(sentence)) or re.search(r"-(?:t-)?il\b", sentence):
        return None
    changed = _with_complement(sentence, subject, gender, plural, lexicon)
    if changed is None:
        return None
    if gender == "f":
        changed = re.sub(r"\b([Ss])['’](?=ils?\b)", r"\1i ", changed)
    else:
        changed = re.sub(r"\b([Ss])i (?=elles?\b)", r"\1'", changed)
    pronoun = ("elle" if gender == "f" else "il") + ("s" if plural else "")
    return _SUBJECT.sub(lambda old: pronoun.capitalize() if old.group()[0].isupper() else pronoun, changed, count=1)


def _with_complement(
    sentence: str, subject: re.Match[str], gender: Gender, plural: bool, lexicon: Lexicon
) -> str | None:
    """Returns the sentence with the complement of its subject in a gender; None if the complement is not certain."""
    verbs = list(_BE.finditer(sentence))
    if any(verb.end() < subject.start() for verb in verbs):
        return None
    if not verbs:
        return None if re.search(r"\bs['’]ét", sentence) else sentence
    if len(verbs) > 1 and not (len(verbs) == 2 and verbs[1].group().lower() == "été"):
        return None
    verb = verbs[-1]
    rest = sentence[verb.end() :]
    complement = _COMPLEMENT.match(rest)
    if not complement or not _BEFORE_BE.fullmatch(sentence[subject.end() : verb.start()]):
        return None
    word, after = complement.group(2), rest[complement.end() :]
    if word in _INVARIABLE:
        return sentence
    form = _form(word, gender, plural, lexicon)
    if form is None or word in ("un", "une") or _SECOND_COMPLEMENT.match(after):
        return None
    return sentence[: verb.end()] + complement.group(1) + form + after


def _form(word: str, gender: Gender, plural: bool, lexicon: Lexicon) -> str | None:
    """Returns an adjective or participle in a gender, or None if the text does not have that form."""
    if word.endswith("eux"):
        form = word[:-1] + ("ses" if plural else "se")
        return (form if lexicon.exists(form) else None) if gender == "f" else word
    ending = "s" if plural and word.endswith("s") else ""
    stem = word.removesuffix(ending)
    if gender == "f":
        if stem.endswith("e"):
            return word
        forms = [stem.removesuffix(m) + f + ending for m, f in _ENDINGS if stem.endswith(m)]
    else:
        if not stem.endswith("e"):
            return None
        forms = [stem.removesuffix(f) + m + ending for m, f in _ENDINGS if stem.endswith(f)]
        forms = [form for form in forms if not form.endswith("ss")]
    found = next((form for form in forms if lexicon.exists(form)), None)
    if found is None and gender == "m" and not re.search(r"(?:ée|ie|ue|te|se|re|lle|nne|ve|de|ne|ale)$", stem):
        return word  # the same in both genders
    return found
