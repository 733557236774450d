"""Forbidden words: a constraint that excludes words from a translation.

Whole words are compared, in lower case: forbidding "te" does not forbid "terre". A row may not complete a
forbidden word, that is, go on with anything but a letter after it. A word of at least `LONG` letters is forbidden with
its last sub-word, so that it takes no room in the beam. A shorter word may be the beginning of another word: it is made
less likely until the next sub-word shows which word it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from docgraph.model.tokenizer import SPACE, SubwordCoder

LONG = 4
"""Minimum letters of a word that is forbidden with its last sub-word."""
PENALTY = 3.0
"""Subtracted from the log-probability of a shorter word, and added again if the word goes on."""
_LAST = 8
"""Maximum sub-words of the current word."""
_WORD = re.compile(r"[^\W_]+'?")
_HEAD = re.compile(r"[^\W_]*")


class ForbiddenWords:
    """Words that a translation must not contain. One object serves all sentences."""

    def __init__(
        self, coder: SubwordCoder, words: Iterable[str], ending: str = "", allowed: Iterable[str] = ()
    ) -> None:
        """Forbids `words` and all words with the `ending`, in lower case, without those in `allowed`.

        A word ends with a letter, or with an apostrophe: "t'". A compound in `allowed`, such as "rendez-vous", allows
        its last part after the others.
        """
        self._words, self._ending, self._allowed = frozenset(words), ending, frozenset(allowed)
        self._compounds = tuple({text[: text.rindex("-") + 1] for text in self._allowed if "-" in text})
        pieces, (_, is_byte) = coder.pieces(range(coder.size)), coder.special_pieces()
        # A single byte, such as <0xC3>, is no letter by itself.
        self._texts = [
            "\ufffd" if is_byte[token] else piece.replace(SPACE, " ").lower().replace("’", "'")
            for token, piece in enumerate(pieces)
        ]
        self._bytes = [
            bytes([int(piece[3:-1], 16)]) if is_byte[token] else piece.replace(SPACE, " ").encode()
            for token, piece in enumerate(pieces)
        ]
        self._heads: dict[str, list[int]] = {}
        """The tokens that continue a word, by the letters that they add to it."""
        self._other: list[int] = []
        """The tokens that do not continue a word."""
        self._elided: list[int] = []
        """Those of them that begin with an apostrophe."""
        self._never: list[int] = []
        """The tokens that contain a forbidden word, whatever precedes them."""
        self._rarely: list[int] = []
        """The tokens that end with a short forbidden word, whatever precedes them."""
        for token, text in enumerate(self._texts):
            head = _HEAD.match(text)
            assert head is not None
            if head[0]:
                self._heads.setdefault(head[0], []).append(token)
            else:
                self._other.append(token)
                if text.startswith("'"):
                    self._elided.append(token)
            rest = text[head.end() :]
            ends = [(match[0], match.end() == len(rest)) for match in _WORD.finditer(rest)]
            if any(self.is_forbidden(word) and (not at_end or self._is_final(word)) for word, at_end in ends):
                self._never.append(token)
            elif any(self.is_forbidden(word) for word, _ in ends):
                self._rarely.append(token)
        self._beginnings = {word[:end] for word in self._words | self._allowed for end in range(len(word) + 1)}
        self._found: dict[tuple[str, torch.device], tuple[Tensor, Tensor]] = {}

    def is_forbidden(self, word: str) -> bool:
        """Returns whether a whole word, in lower case, is forbidden."""
        has_ending = bool(self._ending) and word.endswith(self._ending) and word != self._ending
        return (word in self._words or has_ending) and word not in self._allowed

    @staticmethod
    def _is_final(word: str) -> bool:
        """Returns whether a forbidden word counts as complete, whatever follows."""
        return len(word) >= LONG or word.endswith("'")

    def apply(self, log_probabilities: Tensor, paths: Sequence[Sequence[int]]) -> None:
        """Forbids tokens [R, V] that complete a forbidden word after the tokens of each row, in place."""
        for own, path in zip(log_probabilities, paths, strict=True):
            word = self._current_word(path)
            if self.is_forbidden(word):  # a short one: it has been made less likely
                own += PENALTY
            never, rarely = self._tokens(word, own.device)
            own[never] = -torch.inf
            own[rarely] -= PENALTY

    def _current_word(self, path: Sequence[int]) -> str:
        """Returns the letters after the last space or sign, with the first part of a compound that allows them.

        Of a word that no listed word begins with, only the last letters are returned, after a NUL.
        """
        text = b"".join(self._bytes[token] for token in path[-_LAST:]).decode(errors="replace").lower()
        begin = len(text)
        while begin and text[begin - 1].isalnum():
            begin -= 1
        compound = next((each for each in self._compounds if text.endswith(each, 0, begin)), "")
        word = compound + text[begin:]
        # Words that no listed word begins with differ only in whether the next letters complete the ending.
        return word if word in self._beginnings else "\0" + word[-max(len(self._ending), 1) :]

    def _tokens(self, word: str, device: torch.device) -> tuple[Tensor, Tensor]:
        """Returns the tokens that complete a forbidden word after its beginning `word`, and those that may do so."""
        if (word, device) not in self._found:
            never, rarely = (torch.tensor(each, dtype=torch.int64, device=device) for each in self._tokens_after(word))
            self._found[word, device] = never, rarely
        return self._found[word, device]

    def _tokens_after(self, word: str) -> tuple[list[int], list[int]]:
        never, rarely = set(self._never), set(self._rarely)
        if self.is_forbidden(word):
            never.update(self._other)
        elif self.is_forbidden(f"{word}'"):
            never.update(self._elided)
        for head in self._completing(word):
            for token in self._heads.get(head, ()):
                text, whole = self._texts[token], word + head
                rest = text[len(head) :]
                if self.is_forbidden(f"{whole}'") and rest.startswith("'"):
                    never.add(token)
                elif self.is_forbidden(whole):
                    (never if rest or self._is_final(whole) else rarely).add(token)
        return sorted(never), sorted(rarely - never)

    def _completing(self, word: str) -> Iterator[str]:
        """Yields the letters that complete a forbidden word after its beginning `word`."""
        for whole in self._words:
            if whole.startswith(word):
                yield whole.removesuffix("'")[len(word) :]
        if self._ending:
            for head in self._heads:
                if (word + head).endswith(self._ending):
                    yield head
