"""Glossaries: terms and the translations that a document must use for them.

A term is found in any inflected form ("hard drives" for "hard drive"), and its translation is used in any form that the
dictionary of the target language has; the model chooses the form and the place. A term in lower case is found in any
case, a term with capitals only as it is written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from docgraph.annotate.inflection import Lexicon, words
from docgraph.annotate.rule_based import unicode_words
from docgraph.errors import DocgraphError
from docgraph.translation.terms.glossary_files import Entry, read_entries
from docgraph.translation.terms.term import Term

_POSSESSIVE = re.compile(r"(?<=\w)['’]s?$")
_PARTICIPLES = ("ing", "ed")


@dataclass(frozen=True)
class _Pattern:
    """A term to look for."""

    source: str
    words: tuple[str, ...]
    targets: tuple[str, ...]
    """Empty for a term that stays as it is."""


@dataclass(eq=False)
class Glossary:
    """Terms with their translations."""

    entries: list[Entry]
    languages: tuple[str, str] | None = None
    notes: list[str] = field(default_factory=list)
    """Conflicts among the entries, one line each."""
    digest: str = ""
    """A digest of the entries."""

    def __post_init__(self) -> None:
        self.digest = hashlib.sha256(repr([(e.source, e.targets) for e in self.entries]).encode()).hexdigest()
        source, target = self.languages or (None, None)
        self._english = source == "en"
        self._source = Lexicon(source)
        self._target = Lexicon(target, (word for e in self.entries for text in e.targets for word in words(text)[:1]))
        self._patterns: dict[str, list[_Pattern]] = {}
        """By the first word of the term, in lower case, as it is and as a lemma."""
        for pattern in self._merged():
            first = pattern.words[0].lower()
            for key in {first, self._source.lemma(first)}:
                self._patterns.setdefault(key, []).append(pattern)
        for patterns in self._patterns.values():
            patterns.sort(key=lambda pattern: (-len(pattern.words), pattern.source.islower()))
        self._forms = cache(self._target.inflected)

    @classmethod
    def read(cls, paths: Sequence[str | Path], languages: tuple[str, str] | None) -> Glossary:
        """Reads glossary files: .tsv, .csv or .tbx. `languages` are those of the model."""
        return cls([entry for path in paths for entry in read_entries(Path(path), languages)], languages)

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str | None]], languages: tuple[str, str] | None = None) -> Glossary:
        """Returns a glossary of (term, translation) pairs; None keeps the term untranslated."""
        entries = [Entry(source, (target,) if target and target != source else ()) for source, target in pairs]
        if any(not unicode_words(entry.source) for entry in entries):
            raise DocgraphError("a term of the glossary is empty; remove it")
        return cls(entries, languages)

    def __len__(self) -> int:
        return len(self.entries)

    def __reduce__(self) -> tuple[type[Glossary], tuple[list[Entry], tuple[str, str] | None]]:
        # The rest is derived from these, and caches cannot be pickled.
        return Glossary, (self.entries, self.languages)

    def _merged(self) -> list[_Pattern]:
        """Joins entries with the same term; notes those that contradict each other."""
        merged: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if unicode_words(entry.source):
                merged.setdefault(entry.source, []).append(entry)
        patterns = []
        for source, same in merged.items():
            kept = any(not entry.targets for entry in same)
            targets = tuple(dict.fromkeys(target for entry in same for target in entry.targets))
            if len({entry.targets for entry in same}) > 1:
                every = [*targets, *([source] if kept else [])]
                self.notes.append(f"the glossary has {len(every)} translations of '{source}': {', '.join(every)}")
            form = tuple(source[start:end] for start, end in unicode_words(source))
            patterns.append(_Pattern(source, form, (*targets, source) if targets and kept else targets))
        return patterns

    def find(self, text: str) -> list[Term]:
        """Returns the terms of a text, in order; of overlapping ones, the first, and the longest of these."""
        spans = unicode_words(text)
        found: list[Term] = []
        place = 0
        while place < len(spans):
            pattern = self._match(text, spans, place)
            if pattern is None:
                place += 1
                continue
            last = place + len(pattern.words) - 1
            found.append(self._term(pattern, text, spans[place][0], self._end(text, *spans[last])))
            place = last + 1
        return found

    def _match(self, text: str, spans: list[tuple[int, int]], place: int) -> _Pattern | None:
        word = self._bare(text[slice(*spans[place])])
        candidates = [p for key in {word.lower(), self._source.lemma(word)} for p in self._patterns.get(key, ())]
        for pattern in sorted(candidates, key=lambda pattern: -len(pattern.words)):
            own = [text[slice(*span)] for span in spans[place : place + len(pattern.words)]]
            if len(own) == len(pattern.words) and all(
                self._same(given, wanted, pattern) for given, wanted in zip(own, pattern.words, strict=True)
            ):
                return pattern
        return None

    def _bare(self, word: str) -> str:
        return _POSSESSIVE.sub("", word) if self._english else word

    def _end(self, text: str, start: int, end: int) -> int:
        """Returns the end of a word without the ending of a possessive."""
        return start + len(self._bare(text[start:end]))

    def _same(self, given: str, wanted: str, pattern: _Pattern) -> bool:
        """Returns whether a word of a text is a form of a word of a term."""
        bare = self._bare(given)
        if wanted in (given, bare):
            return True
        if any(map(str.isupper, wanted)):
            return False
        bare = bare.lower()
        if bare == wanted:
            return True
        is_verb_form = self._english and bare.endswith(_PARTICIPLES) and not wanted.endswith(_PARTICIPLES)
        if is_verb_form and not any(map(self._target.is_verb, pattern.targets)):
            return False  # "driving" is a form of the verb "drive", not of the noun
        return self._source.lemma(bare) == self._source.lemma(wanted)

    def _term(self, pattern: _Pattern, text: str, start: int, end: int) -> Term:
        source = text[start:end]
        if not pattern.targets:
            return Term(source, start, end, (source,), "glossary")
        last, wanted = source.split()[-1].lower(), pattern.words[-1].lower()
        plural = self._english and last != wanted and last.endswith("s")
        targets = dict.fromkeys(
            form.replace("’", "'") for target in pattern.targets for form in self._forms(target, plural)
        )
        return Term(source, start, end, tuple(targets), "glossary")
