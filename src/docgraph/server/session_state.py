"""The state of a session as plain data: sentences, and the changes that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.result import SentenceTranslation

GlossaryEntries = list[dict[str, str]]
"""Terms and their translations: {"source": ..., "target": ...}."""

LOW_SCORE = -2.5
"""A translation with a lower score is doubtful."""


@dataclass(frozen=True)
class SentenceState:
    """The translations of a sentence by the user and by the model."""

    translation: str | None = None
    confirmed: bool = False
    machine: str | None = None
    """The model's translation, made with the confirmed translations of other sentences."""
    score: float | None = None
    """Score of `machine`."""
    doubtful: Sequence[str] = field(default_factory=list)
    """Doubts about `machine`."""
    refused: str | None = None
    """A translation by the model that the user refused; it is not proposed again."""
    tokens: Sequence[Sequence[int]] = field(default_factory=list)
    """The sub-words that the model decoded for each segment, before terms were enforced."""
    base: Sequence[Sequence[int]] = field(default_factory=list)
    """The base translation of each segment (`Hypothesis.base`); empty if equal to `tokens`."""
    looked_up: Sequence[Sequence[str]] = field(default_factory=list)
    """Dictionary entries that each segment read; empty if no segment read any."""

    @property
    def known(self) -> str | None:
        """The confirmed translation, which is context for other sentences."""
        return self.translation if self.confirmed else None

    @property
    def doubts(self) -> list[str]:
        """Doubts about `machine`, including a low score."""
        is_low = self.score is not None and self.score < LOW_SCORE
        return [*self.doubtful, *(["low score"] if is_low else [])]

    @property
    def segments(self) -> list[Hypothesis]:
        """The hypothesis of each segment."""
        return [
            Hypothesis(tuple(ids), 0.0, 0.0, base=None if base == ids else tuple(base), looked_up=tuple(words))
            for ids, base, words in zip(
                self.tokens, self.base or self.tokens, self.looked_up or [()] * len(self.tokens), strict=True
            )
        ]

    @property
    def is_undecoded(self) -> bool:
        """True if the model still has to translate the sentence."""
        return self.machine is None and not self.confirmed

    @property
    def proposal(self) -> str | None:
        """The model's translation, if it differs from the current and from the refused one; None for no proposal."""
        is_new = self.machine != self.translation and self.machine != self.refused
        return self.machine if is_new and self.translation is not None and not self.confirmed else None

    def translated_by(self, translation: SentenceTranslation) -> SentenceState:
        """Returns the state with a new translation by the model.

        If the user wrote a translation before the model did, the model's translation is not proposed.
        """
        tokens = [list(each.tokens) for each in translation.segments]
        base = [list(each.base_tokens) for each in translation.segments]
        looked_up = [list(each.looked_up) for each in translation.segments]
        is_new = tokens != [list(ids) for ids in self.tokens] or not tokens
        score = translation.score if is_new else self.score
        is_first = self.machine is None and self.translation is not None
        return replace(
            self,
            machine=translation.text,
            score=score,
            doubtful=list(translation.doubts),
            refused=translation.text if is_first else self.refused,
            tokens=tokens,
            base=[] if base == tokens else base,
            looked_up=looked_up if any(looked_up) else [],
        )

    def with_user_part(self, other: SentenceState) -> SentenceState:
        """Returns this state with the user's decisions in another one, or the model's translation if there are none."""
        translation = self.machine if other.translation is None else other.translation
        return replace(self, translation=translation, confirmed=other.confirmed, refused=other.refused)

    def merged(self, base: SentenceState, other: SentenceState) -> SentenceState:
        """Merges two states that began as `base`: the model changed this one, and a user changed `other`."""
        if other == base:
            return self
        if self == base:
            return other
        is_first = other.machine is None and other.translation is not None
        return replace(self.with_user_part(other), refused=self.machine if is_first else other.refused)


@dataclass
class Step:
    """A change that can be undone: the sentences that it changed, before and after."""

    before: dict[str, dict[str, Any]] = field(default_factory=dict)
    after: dict[str, dict[str, Any]] = field(default_factory=dict)
    glossaries: list[GlossaryEntries] | None = None
    """The glossary before and after, if it changed."""
    deferred: bool = False
    """Whether the step has only the user's changes, because affected sentences were translated again later."""
