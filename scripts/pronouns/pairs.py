"""Training pairs whose pronoun takes its gender from a hint.

A pair has *it* or *they* in English and one subject pronoun in French. Its hint is a noun of the pronoun's gender,
drawn at random. If the French can be put into the other gender, that sentence, with a noun of that gender as its hint,
is a second pair: the same English, so that only the hint decides.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pronouns.french import Gender, Lexicon, with_gender

MAX_LENGTH = 300
"""Characters of the longest source sentence."""
PRONOUN = re.compile(r"\b(it|they)\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)
_SINGULAR = re.compile(r"\b(il|elle)\b", re.IGNORECASE)
_PLURAL = re.compile(r"\b(ils|elles)\b", re.IGNORECASE)
IMPERSONAL = re.compile(
    r"\bil (?:(?:ne|n'|me|m'|te|nous|vous|lui|leur|en|y|se|s'|s’|n’|m’)\s?)*(?:y a|y av|a fallu|faut|faud|fall|faill|"
    r"agi|sembl|convien|suffi|rest|import|para[iî]t|pleu|neig|arriv|exist|va de|va sans|en va|en est|peut que|pourr|"
    r"trouve|vaut|tard|fait (?:beau|froid|chaud|nuit|jour)|advien|appar|incombe|revien|manqu|avait |aura |aurait |"
    r"a été |est (?:temps|question|vrai|clair|certain|important|essentiel|nécessaire|possible|impossible|regrettable|"
    r"évident|difficile|facile|bon|trop|très|donc|tout|plus|aussi|indispensable|inacceptable|normal|juste|grand|urgent|"
    r"primordial|à |de |en |des |du |\d|midi|minuit|tard))"
    r"|\bil (?:\w+['’ ])?(?:n['’])?(?:est|était|sera|serait|fut|soit|a été|paraît|semble)\b[^.;,]{0,60}"
    r"\b(?:que|qu|de|d)\b",
    re.IGNORECASE,
)
PLEONASTIC = re.compile(
    r"\bit(?:'s| is| was| will be| would be| has been| seems| appears| takes| took|'s been)\b[^.;]{0,50}"
    r"\b(?:that|to|for|how|whether|why|who)\b|\bit (?:rain|snow|seem|appear|take|took|turn|happen|follow|depend|"
    r"remain)",
    re.IGNORECASE,
)
_BEFORE = """
and but so then if when because however yet now i think hope believe know that would does did will can is has
was were had do are have could should how why where what may also instead furthermore therefore perhaps maybe
obviously since yes no well oh as for once until after before though although moreover nevertheless today in
fact indeed of course actually says said am sure suppose afraid not only again at first still even thus hence
sometimes usually often
"""
_NO_ANTECEDENT = frozenset(_BEFORE.split())
"""Words before a pronoun that cannot be its antecedent."""
_DETERMINERS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "plural": (
        ("les ", 35),
        ("des ", 20),
        ("ces ", 10),
        ("leurs ", 5),
        ("nos ", 4),
        ("ses ", 4),
        ("mes ", 3),
        ("", 12),
    ),
    "vowel": (("l'", 45), ("un ", 20), ("son ", 5), ("votre ", 3), ("notre ", 4), ("", 12)),
    "m": (
        ("le ", 40),
        ("un ", 20),
        ("ce ", 8),
        ("son ", 5),
        ("mon ", 4),
        ("notre ", 3),
        ("du ", 2),
        ("au ", 2),
        ("", 11),
    ),
    "f": (("la ", 40), ("une ", 20), ("cette ", 8), ("sa ", 5), ("ma ", 4), ("notre ", 3), ("de la ", 2), ("", 11)),
}
_ENDS = (("", 66), (".", 20), (",", 6), ("?", 3), (" ?", 3), (" !", 2))
"""A hint keeps the punctuation beside its noun, so these do, too."""


class PronounPair(NamedTuple):
    """A sentence pair with the gender and number of its pronoun."""

    source: str
    target: str
    gender: Gender
    plural: bool
    words: str
    """The words with the hint, in lower case, separated by spaces."""


class Written(NamedTuple):
    """An English sentence, and its French for a masculine and a feminine hint.

    The two are equal if the hint has no effect. One is None if the referent, hence its gender, is in the sentence.
    """

    kind: str
    source: str
    targets: tuple[str | None, str | None]
    words: str
    """The words with the hint, in lower case, separated by spaces."""
    plural: bool


def as_pairs(written: Written) -> tuple[PronounPair, ...]:
    """Returns the pairs of a written sentence, one for each gender with a French text."""
    genders: tuple[Gender, Gender] = ("m", "f")
    return tuple(
        PronounPair(written.source, target, gender, written.plural, written.words)
        for gender, target in zip(genders, written.targets, strict=True)
        if target is not None
    )


def find_pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[PronounPair]:
    """Yields the pairs whose one pronoun in French renders *it* or *they*."""
    for source, target in pairs:
        pronouns = {pronoun.lower() for pronoun in PRONOUN.findall(source)}
        if len(pronouns) != 1 or len(source) > MAX_LENGTH or _PERSON.search(source):
            continue
        plural = pronouns == {"they"}
        own, other = (_PLURAL, _SINGULAR) if plural else (_SINGULAR, _PLURAL)
        found = [pronoun.lower().startswith("elle") for pronoun in own.findall(target)]
        if other.search(target) or len(found) != len(PRONOUN.findall(source)) or len(set(found)) != 1:
            continue
        if plural or found[0] or not (IMPERSONAL.search(target) or PLEONASTIC.search(source)):
            yield PronounPair(source, target, "f" if found[0] else "m", plural, pronouns.pop())


def twin(pair: PronounPair, lexicon: Lexicon) -> PronounPair | None:
    """Returns the pair with its French in the other gender; None unless the antecedent must be in another sentence."""
    first = PRONOUN.search(pair.source)
    before = re.findall(r"[a-z']+", pair.source[: first.start()].lower()) if first else []
    if len(PRONOUN.findall(pair.source)) > 1 or len(before) > 4 or not _NO_ANTECEDENT.issuperset(before):
        return None
    gender: Gender = "m" if pair.gender == "f" else "f"
    target = with_gender(pair.target, gender, lexicon)
    return None if target is None or target == pair.target else pair._replace(target=target, gender=gender)


class HintWriter:
    """Draws nouns, with a determiner and punctuation as hints have them."""

    def __init__(self, lexicon: Lexicon, excluded: frozenset[str], generator: random.Random) -> None:
        self._random = generator
        self._nouns: dict[Gender, tuple[list[str], list[float]]] = {}
        genders: tuple[Gender, ...] = ("f", "m")
        for gender in genders:
            counts = {n: c for n, c in lexicon.nouns(gender).items() if excluded.isdisjoint((n, n.rstrip("s")))}
            self._nouns[gender] = list(counts), [count**0.5 for count in counts.values()]

    def draw(self, gender: Gender, plural: bool) -> str:
        """Returns a noun phrase of a gender and number."""
        noun = self._noun(gender)
        while plural and (noun.endswith(("s", "x", "z", "al", "ail", "au", "eu"))):
            noun = self._noun(gender)
        kind = "plural" if plural else "vowel" if noun[0] in "aeiouyhéèêâîôûœ" else gender
        determiner = self._choose(_DETERMINERS[kind])
        if gender == "f" and kind == "vowel" and determiner == "un ":
            determiner = "une "
        phrase = determiner + noun + ("s" if plural else "")
        return (phrase[0].upper() + phrase[1:] if self._random.random() < 0.15 else phrase) + self._choose(_ENDS)

    def _noun(self, gender: Gender) -> str:
        return self._random.choices(*self._nouns[gender])[0]

    def _choose(self, options: tuple[tuple[str, int], ...]) -> str:
        return self._random.choices([text for text, _ in options], [weight for _, weight in options])[0]
