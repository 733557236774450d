"""Dictionary words as terms: words that a translation lacks although the model has read them as hints.

The model may ignore a hint. The sentence is then decoded again, and must contain one of the translations of the word
(term_enforcement.py). Because another translation is often as good as those of the dictionary, this is done only if the
entry says which words it replaces, or for nouns of a sentence whose translation has a word that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from docgraph.annotate.dictionary import NOUNS, Entry
from docgraph.annotate.inflection import Lexicon, words
from docgraph.model.hints import Hint
from docgraph.translation.checks.lexicon import invented_words
from docgraph.translation.terms.term import Term

MAX_VERBS = 3
"""Translations of a verb of which one must appear, each in any form."""
_ALWAYS_PLURAL = ("nmp", "nfp")
_REFLEXIVE = re.compile(r"^(?:se |s['’])")


def dictionary_terms(
    lookups: Iterable[Hint], text: str, translation: str, spans: Sequence[Sequence[int]], is_plural: Iterable[bool]
) -> Iterator[Term]:
    """Yields the dictionary words in `lookups` that the translation of a text lacks.

    `spans` are those of the sub-words of the text; `is_plural` says which of the words are nouns in the plural.
    """
    for hint, plural in zip(lookups, is_plural, strict=True):
        entry = hint.entry
        if entry is not None and entry.is_missing(translation) and _is_needed(entry, translation):
            start, end = spans[hint.span[0]][0], spans[hint.span[-1]][1]
            forms = _forms(entry, plural and entry.word_class not in _ALWAYS_PLURAL)
            yield Term(text[start:end], start, end, forms, "dictionary", entry=entry)


def _is_needed(entry: Entry, translation: str) -> bool:
    if entry.instead_of:
        return True
    return entry.word_class in NOUNS and any(invented_words("", translation, entry.language))


@lru_cache(1024)
def _forms(entry: Entry, plural: bool) -> tuple[str, ...]:
    """Returns the forms of the translations of an entry; those of nouns in the number that is wanted."""
    if entry.word_class in NOUNS:
        lexicon = Lexicon(entry.language)
        found = [form for each in entry.translations for form in lexicon.inflected(each, plural)]
    elif entry.word_class == "v":
        # The model chooses the reflexive pronoun: effondrer for s'effondrer.
        verbs = [_REFLEXIVE.sub("", each) for each in entry.translations[:MAX_VERBS]]
        lexicon = Lexicon(entry.language, (words(each)[0] for each in verbs))
        found = [form for each in verbs for form in lexicon.inflected(each)[0 if entry.allows_infinitive else 1 :]]
    else:
        lexicon = Lexicon(entry.language, (words(each)[0] for each in entry.translations))
        found = [form for each in entry.translations for form in lexicon.inflected(each)]
    return tuple(dict.fromkeys(found))
