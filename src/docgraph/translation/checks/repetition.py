"""Loops: phrases and words that a translation repeats and its source does not.

Repetitions of the source are allowed in the translation, and so are a few that a language needs ("nous nous levons",
"un homme, un homme charmant" for "a man, a charming man").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docgraph.translation.text.language_check import is_function_word

WORD = re.compile(r"[^\W_]+(?:·[^\W_]+)*")
_LONGEST_UNIT = 12
"""Words of the longest phrase whose immediate repetition is looked for."""
_NEARBY, _NEAR = 8, 4
"""A translation may repeat a phrase, or a word, if its source repeats a word within this many words."""
_OFTEN_SIZE, _OFTEN = 4, 3
"""A phrase of this many words may not occur this often in a translation, unless the source repeats itself."""
_TWICE_SIZE, _TWICE_CONTENT = 6, 3
"""A phrase of this many words and content words may not occur twice, unless the source repeats itself."""
_MORE_NAMES = 2
"""A translation that contains a name this many times more often than its source is a loop."""
_SEPARATORS = frozenset(',;:.!?…–—()"«»“”\n')
_CHARACTER_LOOP = re.compile(r"([^\W\d_]{1,8}?)\1{4,}|([^\w\s])(?:\s?\2){9,}|\b(\w+)·\3\b")
"""A syllable five times or a punctuation mark ten times in a row, or a word with itself as its other form."""
_DOUBLED = {"fr": frozenset(["faire", "nous", "vous"])}
"""Words that may be doubled, by language; in other languages, any function word may be doubled."""
_BETWEEN_TWO = frozenset(["à", "en", "par", "pour", "contre"])
"""Prepositions between a word and itself: "tour à tour à mon esprit"."""


@dataclass(frozen=True)
class _Repetition:
    """A phrase that occurs several times in a row."""

    phrase: Sequence[str]
    times: int
    separated: bool
    """Whether punctuation separates the occurrences."""


def is_loop(source: str, translation: str, language: str | None = None) -> bool:
    """Returns whether a translation into `language` repeats a phrase or a word, and its source does not."""
    source_words, words = split_words(source), split_words(translation)
    allowed = max((each.times for each in _repetitions(source)), default=1)
    repeated = _repeated_within(source_words, _NEARBY)
    for each in _repetitions(translation):
        if each.times <= allowed:
            continue
        if each.times == 2 and len(each.phrase) == 2 and each.phrase[1] in _BETWEEN_TWO and not each.separated:
            continue
        # "un homme, un homme charmant" for "a man, a charming man"
        content = sum(not is_function_word(word) for word in each.phrase)
        if each.times > 2 or not each.separated or len(repeated) < max(content, 1):
            return True
    if allowed == 1 and not any(one == other for one, other in pairwise(source_words)):
        is_excused = bool(_repeated_within(source_words, _NEAR))
        if any(not (is_separate and is_excused) for is_separate in _doubled_words(translation, language)):
            return True
    often = _most_frequent(words, _OFTEN_SIZE)
    if often >= _OFTEN and often > _most_frequent(source_words, 2):
        return True
    if not repeated and _most_frequent(source_words, 2) < 2 and _says_phrase_twice(words):
        return True
    if _repeats_name(source, translation):
        return True
    return _CHARACTER_LOOP.search(translation) is not None and _CHARACTER_LOOP.search(source) is None


def _repeats_name(source: str, translation: str) -> bool:
    """Returns whether a capitalised word of the source occurs at least two more times in the translation."""
    before, after = Counter(WORD.findall(source)), Counter(WORD.findall(translation))
    return any(
        word[0].isupper() and len(word) > 2 and 0 < before[word] <= count - _MORE_NAMES for word, count in after.items()
    )


def split_words(text: str) -> list[str]:
    """Returns the lower-case words of a text."""
    return [word.lower() for word in WORD.findall(text)]


def _repetitions(text: str) -> Iterator[_Repetition]:
    """Yields the phrases that occur several times in a row; a single word counts from the third time on."""
    matches = list(WORD.finditer(text))
    words = [match[0].lower() for match in matches]
    for size in range(1, min(_LONGEST_UNIT, len(words) // 2) + 1):
        same = 0
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            if same >= size and same % size == 0 and (size > 1 or same > 1):
                between = text[matches[place - size].end() : matches[place - size + 1].start()]
                separated = size > 1 and not {*between}.isdisjoint(_SEPARATORS)
                yield _Repetition(words[place - size + 1 : place + 1], same // size + 1, separated)


def _repeated_within(words: Sequence[str], distance: int) -> set[str]:
    """Returns the words other than function words that occur again within `distance` words."""
    return {
        word
        for place, word in enumerate(words)
        if not is_function_word(word) and word in words[place + 1 : place + 1 + distance]
    }


def _doubled_words(text: str, language: str | None) -> Iterator[bool]:
    """Yields, for each word that is doubled without need, whether a comma separates the two occurrences.

    A comma may stand between function words. Numbers and parts of compounds ("elle elle-même") do not count.
    """
    allowed = _DOUBLED.get(language or "")
    for first, second in pairwise(WORD.finditer(text)):
        word, between = first[0].lower(), text[first.end() : second.start()].strip()
        if word != second[0].lower() or word.isdigit() or between not in ("", ",", "-"):
            continue
        in_compound = text[first.start() - 1 : first.start()] == "-" or text[second.end() : second.end() + 1] in "-'’"
        if between != "-" and in_compound and second.end() < len(text):
            continue
        if word in (allowed or ()) or (is_function_word(word) and (allowed is None or between == ",")):
            continue
        yield between == ","


def _most_frequent(words: Sequence[str], size: int) -> int:
    counts = Counter(zip(*(words[start:] for start in range(size)), strict=False))
    return max(counts.values(), default=0)


def _says_phrase_twice(words: Sequence[str]) -> bool:
    counts = Counter(zip(*(words[start:] for start in range(_TWICE_SIZE)), strict=False))
    return any(
        count > 1 and sum(not is_function_word(word) for word in phrase) >= _TWICE_CONTENT
        for phrase, count in counts.items()
    )
