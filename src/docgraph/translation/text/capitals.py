"""Words in capitals: which of them are phrases that somebody stresses, and which are abbreviations or code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from docgraph.translation.text.stand_ins import STAND_IN

WORD = re.compile(rf"(?!{STAND_IN}(?!\w))[^\W\d_]+(?:['’][^\W\d_]+)*")
"""A word, but not a stand-in."""
RUN = re.compile(
    r"(?<![\w$@#/\\.<-])[A-Z](?:[A-Z'’]*[A-Z])?(?:,? [A-Z](?:[A-Z'’]*[A-Z])?)+(?![\w@/\\>(=-]|\.\w|['’]\w)"
)
"""Several words in capitals."""
FUNCTION_WORDS = frozenset(
    """A ABOUT AFTER AGAIN ALWAYS AM ANY ANYONE ARE BE BECAUSE BEEN BEFORE BEST BUT BUY CAN CAN'T CANNOT CLICK COULD
    DIDN'T DO DOES DOESN'T DON'T DOWN DURING EVER EVERY EVERYONE EVERYTHING FOR FREE GET GO GOT HAD HAS HAVE HE HELP
    HER HERE HIM HIS HOW I I'M IS IT IT'S LET ME MORE MOST MUCH MUST MY NEVER NO NOBODY NOTHING NOW OF OFF OUR OUT
    OVER PLEASE REALLY SHE SHOULD SO SOME STILL THANK THANKS THAT THE THEIR THEM THERE THESE THEY THIS THOSE TO TOO
    UNTIL UP VERY WAS WE WERE WHAT WHY WILL WITH WITHOUT WON'T WORST WOULD YOU YOUR""".split()  # noqa: SIM905
)
_AMBIGUOUS = frozenset("A AM CAN DO DOWN FOR GET GO I IS IT OF OFF THE UP WITH".split())  # noqa: SIM905
"""Function words that say nothing in a pair: PAGE DOWN, CAN BUS, THE HAGUE."""
LABEL = re.compile(r"[A-Z]+(?: [A-Z]+)+(?= ?:\s)")
"""Several words in capitals before a colon at the start of a text: SPOILER ALERT: ..."""
_KEYWORDS = frozenset(
    """ALTER BEGIN BETWEEN CREATE DELETE DISTINCT DROP EXISTS FROM GROUP HAVING INSERT INTO JOIN KEY NULL ORDER SELECT
    TABLE UNION UPDATE VALUES WHERE""".split()  # noqa: SIM905
)
"""Words of statements in SQL: IF NOT EXISTS."""
_WITH_KEYWORDS = _KEYWORDS | frozenset(
    """ADD ALL AND ANY AS BY DEFAULT FOR FULL IF IN INDEX INNER IS LEFT LIKE NO NOT ON OR OUTER RIGHT SET TO""".split()  # noqa: SIM905
)
_LETTERS, _WORDS, _RUN_WORDS = 8, 2, 3
"""Minimum letters and words of a text in capitals, and words of a run without function words."""
_SINGLE_LETTERS = 4
"""Minimum letters of a single word in capitals that is no abbreviation."""
_CONTENT_LETTERS = 3
"""Minimum letters of each word in a run without function words."""


def is_all_caps(text: str) -> bool:
    """Returns whether a text is in capitals throughout, as a heading or a warning may be; an abbreviation is not."""
    words = [word for word in WORD.findall(text) if len(word) > 1]
    if not text.isupper() or not words:
        return False
    if len(words) == 1:
        return len(words[0]) >= _SINGLE_LETTERS and is_english_word(words[0].lower())
    is_cry = text.endswith("!") and all(is_english_word(word.lower()) for word in words)
    return is_cry or sum(map(len, words)) >= _LETTERS or is_shouted(words)


def is_shouted(words: Sequence[str]) -> bool:
    """Returns whether consecutive words in capitals are a phrase (SOLD OUT), not abbreviations, a name or code."""
    words = [word for word in words if len(word) > 1]
    known = [word for word in words if word in FUNCTION_WORDS or is_english_word(word.lower())]
    if len(words) < _WORDS or (_KEYWORDS.intersection(words) and _WITH_KEYWORDS.issuperset(words)):
        return False
    if len(words) < _RUN_WORDS:
        return known == words and not (FUNCTION_WORDS - _AMBIGUOUS).isdisjoint(words)
    if FUNCTION_WORDS.isdisjoint(words):
        return known == words and min(map(len, words)) >= _CONTENT_LETTERS
    return 2 * len(known) > len(words)


def is_label(text: str) -> bool:
    """Returns whether the words in capitals before the colon of a text are English words (SPOILER ALERT)."""
    return all(len(word) >= _SINGLE_LETTERS and is_english_word(word.lower()) for word in text.split())


@lru_cache(1 << 16)
def is_english_word(word: str) -> bool:
    """Returns whether the English dictionary has a word in small letters: chapter, but not unicef."""
    from simplemma import is_known

    return bool(is_known(word, lang="en"))
