"""The state of a session as plain data: sentences, and the changes that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from docgraph.translation.result import SentenceTranslation


@dataclass(frozen=True)
class SentenceState:
    """What is known of the translation of a sentence."""

    translation: str | None = None
    confirmed: bool = False
    machine: str | None = None
    """The translation by the model, given the confirmed translations of other sentences."""
    score: float | None = None
    """Score of `machine`."""
    doubtful: Sequence[str] = ()
    """Doubts about `machine`."""
    refused: str | None = None
    """A translation by the model that is not proposed."""
    tokens: Sequence[Sequence[int]] = ()
    """What the model decoded first (`SentenceTranslation.tokens`)."""

    @property
    def proposal(self) -> str | None:
        """The translation by the model, if it is new to the user."""
        is_new = self.machine != self.translation and self.machine != self.refused
        return self.machine if is_new and self.translation is not None and not self.confirmed else None

    def translated_by(self, translation: SentenceTranslation) -> SentenceState:
        """Returns the state with a new translation by the model."""
        tokens = [list(ids) for ids in translation.tokens]
        is_new = tokens != [list(ids) for ids in self.tokens] or not tokens
        score = translation.score if is_new else self.score
        doubtful = list(translation.doubts)
        return replace(self, machine=translation.text, score=score, doubtful=doubtful, tokens=tokens)


@dataclass
class Step:
    """A change that can be undone: the sentences that it changed, before and after."""

    before: dict[str, dict[str, Any]] = field(default_factory=dict)
    after: dict[str, dict[str, Any]] = field(default_factory=dict)
    glossaries: list[list[dict[str, str]]] | None = None
    """The glossary before and after, if it changed."""
