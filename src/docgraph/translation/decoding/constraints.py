"""Lexical constraints: phrases that a translation must contain, as token sequences, and words that it must not contain.

A constraint has alternatives, for example the forms of a word; one of them must appear. An alternative may say which
tokens must not stand next to it, so that a phrase is not glued to other letters and elision is right: "d'Elizabeth" and
"de Netherfield", but neither "de Elizabeth" nor "Netherfields".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from docgraph.model.hints import Hint, moved_by
from docgraph.model.tokenizer import SPACE, SubwordCoder
from docgraph.translation.decoding.forbidden_words import ForbiddenWords

_JOINED = "d'"
"""Encoded before a phrase to find its tokens where no space precedes it."""
_ELIDED = frozenset(
    ["au", "ce", "de", "du", "je", "jusque", "la", "le", "lorsque", "ma", "me", "ne", "puisque", "que", "sa", "se"]
)
"""French words that have another form before a vowel."""
_ARTICLES = frozenset(["au", "aux", "des", "du", "la", "le", "les", "un", "une"])
_APOSTROPHES = ("'", "’")
_SENTENCE_END = ".!?"
_VOWELS = frozenset("aeiouœæ")


@dataclass(frozen=True, eq=False)
class Phrase:
    """A token sequence and the tokens that must not stand next to it."""

    tokens: tuple[int, ...]
    not_after: Collection[int] = frozenset()
    not_before: Collection[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Constraint:
    """Alternatives, one of which a translation must contain; two equal constraints need two occurrences."""

    alternatives: tuple[Phrase, ...]
    source: range | None = None
    """The source tokens that the phrase translates, if known: the phrase is placed where the model attends to them."""
    ends: Collection[int] = frozenset()
    """Tokens that do not precede the phrase anywhere, because they end its sentence."""

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest alternative."""
        return max(len(phrase.tokens) for phrase in self.alternatives)

    def moved_by(self, hints: Collection[Hint]) -> Constraint:
        """Returns the constraint with source positions in the sentence with these hints inserted."""
        if self.source is None or not hints:
            return self
        first, last = (moved_by(place, hints) for place in (self.source.start, self.source.stop - 1))
        return replace(self, source=range(first, last + 1))


Constraints = Mapping[int, Sequence[Constraint | ForbiddenWords]]
"""The constraints of some sentences, by index; forbidden words at most once for each."""


class ConstraintEncoder:
    """Turns texts into constraints for the target side of a model."""

    def __init__(self, coder: SubwordCoder, language: str | None = None) -> None:
        self._coder = coder
        self._french = language == "fr"
        self._unknown = coder.special_pieces()[0]

    def constraint(
        self,
        texts: Iterable[str],
        source: range | None = None,
        *,
        allows_article: bool = True,
        allows_begin: bool = True,
        in_first_sentence: bool = False,
    ) -> Constraint | None:
        """Returns the constraint that one of some texts appears as whole words; None if no text can be encoded.

        `source` are the source tokens that they translate. If `allows_article` is False, no French article precedes; if
        `allows_begin` is False, the translation does not begin with a text, because a sign such as a quotation mark
        does. If `in_first_sentence` is True, no sentence ends before the text.
        """
        signs = self._signs
        excluded = frozenset[int]() if allows_begin else signs.silent
        excluded |= signs.articles if self._french and not allows_article else frozenset()
        phrases = tuple(phrase for text in dict.fromkeys(texts) for phrase in self._phrases(text, excluded))
        return Constraint(phrases, source, signs.ends if in_first_sentence else frozenset()) if phrases else None

    def _phrases(self, text: str, excluded: frozenset[int]) -> Iterable[Phrase]:
        """Yields a text as tokens after a space, after an apostrophe or an opening bracket, and as a first word.

        It does not follow an `excluded` token.
        """
        vowel = self._french and initial(text) in _VOWELS
        # "h" may be silent or not: both forms are allowed.
        consonant = self._french and not vowel and text[:1].lower() != "h"
        signs = self._signs
        not_before = signs.letters if text[-1:].isalnum() else frozenset()
        unknown = self._unknown
        spaced = tuple(self._coder.ids([text])[0][:-1].tolist())
        if spaced and unknown not in spaced:
            elision = signs.elided if vowel else signs.apostrophes if consonant else frozenset[int]()
            yield Phrase(spaced, _union(excluded, elision), not_before)
        ids, spans = self._coder.encode(_JOINED + text)
        joined = [(token, begin) for token, (begin, _) in zip(ids[:-1].tolist(), spans.tolist(), strict=False)]
        tokens = tuple(token for token, begin in joined if begin >= len(_JOINED))
        before = self._coder.decode(token for token, begin in joined if begin < len(_JOINED))
        if tokens and before == _JOINED and unknown not in tokens and tokens != spaced:
            before_it = _union(signs.words, signs.apostrophes) if consonant else signs.words
            yield Phrase(tokens, before_it, not_before)
        if text[:1].islower():
            first = tuple(self._coder.ids([text[0].upper() + text[1:]])[0][:-1].tolist())
            if unknown not in first:
                yield Phrase(first, _union(signs.with_letters, excluded), not_before)

    @cached_property
    def _signs(self) -> _Signs:
        return _Signs(self._coder)


class _Signs:
    """Sets of tokens by the characters at their edges."""

    def __init__(self, coder: SubwordCoder) -> None:
        pieces, (_, is_byte) = coder.pieces(range(coder.size)), coder.special_pieces()
        rows = [(token, piece, piece.removeprefix(SPACE), bool(is_byte[token])) for token, piece in enumerate(pieces)]
        self.letters = frozenset(
            token
            for token, piece, text, byte in rows
            if byte or (text == piece and (text[:1].isalnum() or text[:1] == "·"))
        )
        """Pieces that continue a word: the first character is a letter or digit, or the dot of "étudiant·e"."""
        self.words = frozenset(token for token, piece, text, byte in rows if byte or text[-1:].isalnum() or not piece)
        """Pieces that a phrase may not be joined to: the last character is a letter or digit; and no piece at all."""
        self.apostrophes = frozenset(token for token, _, text, _ in rows if text.endswith(_APOSTROPHES))
        """Pieces that end with an apostrophe: "l'" does not precede a consonant."""
        self.with_letters = frozenset(token for token, _, text, _ in rows if any(map(str.isalnum, text)))
        """Pieces that contain a letter or digit: no first word follows them."""
        self.silent = frozenset(token for token, piece, _, _ in rows if not piece)
        """Begin-of-sentence and the like."""
        words = [(token, text.lower()) for token, piece, text, _ in rows if piece.startswith(SPACE)]
        self.articles = frozenset(token for token, word in words if word in _ARTICLES)
        """French articles, also joined to prepositions."""
        self.elided = frozenset(token for token, word in words if word in _ELIDED)
        """French words that have another form before a vowel."""
        self.ends = frozenset(
            token for token, _, text, byte in rows if not byte and text and not text.strip(_SENTENCE_END)
        )
        """Marks that end a sentence."""


@lru_cache(64)
def _union(some: frozenset[int], others: frozenset[int]) -> frozenset[int]:
    """Returns the union of token sets, cached: forms of a verb share sets of thousands of tokens."""
    return some | others


def initial(text: str) -> str:
    """Returns the first letter of a text in lower case, without its accent."""
    return unicodedata.normalize("NFD", text[:1].lower())[:1]
