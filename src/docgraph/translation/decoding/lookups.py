"""Lookups: which dictionary words a sentence reads as hints.

A hint changes the whole translation of its sentence, and the model already knows most dictionary words. So a sentence
is first translated without the dictionary. If the translation lacks dictionary words, the sentence is translated again
with hints for these words, and the new translation is kept if it lacks fewer of them. Constraints override the
dictionary. The words that known translations correct (corrected_words.py) are a dictionary of their document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from docgraph.model.batch import DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.hints import Hint, hints_by_sentence
from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.decoding.constraints import Constraint, Constraints
from docgraph.translation.decoding.hypotheses import Hypothesis


class Lookups:
    """The dictionary words of a document, and the sentences that are being translated again with hints for them."""

    def __init__(self, document: DocumentExample, config: ModelConfig, coder: SubwordCoder) -> None:
        """`coder` is the coder of the target language."""
        self._hints = hints_by_sentence(document.lookups if config.hints is not None else ())
        self._coder = coder
        self._begun: dict[int, tuple[list[Hypothesis], list[Hint]]] = {}
        """For each sentence that is being translated again: its first translations, and hints for the missing words."""

    def begin(self, sentence: int, hypotheses: list[Hypothesis]) -> bool:
        """Returns whether a sentence has to be translated again, given its translations without a dictionary.

        If so, `read` returns hints for the words that the best of them lacks, until `end` is called.
        """
        if missing := self.missing(sentence, hypotheses):
            self._begun[sentence] = hypotheses, missing
        return bool(missing)

    def read(self, sentence: int) -> list[Hint]:
        """Returns the dictionary hints that a sentence currently reads."""
        return self._begun[sentence][1] if sentence in self._begun else []

    def has_begun(self, sentence: int) -> bool:
        """Returns whether a sentence is being translated again."""
        return sentence in self._begun

    def end(self, sentence: int, found: Iterable[Hypothesis]) -> list[Hypothesis]:
        """Returns `found`, translations with hints, if the best one lacks fewer words, else the first translations."""
        without, hints = self._begun.pop(sentence)
        entries = tuple(hint.entry.headword for hint in hints if hint.entry is not None)
        looked_up = [replace(each, looked_up=entries) for each in found]
        text = self._coder.decode(looked_up[0].tokens) if looked_up else ""
        has_any = any(hint.entry is not None and hint.entry.is_translated(text) for hint in hints)
        return looked_up if has_any and len(self.missing(sentence, looked_up)) < len(hints) else without

    def missing(self, sentence: int, hypotheses: Sequence[Hypothesis]) -> list[Hint]:
        """Returns hints for the words that the best of the translations of a sentence lacks."""
        if sentence not in self._hints or not hypotheses:
            return []
        text = self._coder.decode(hypotheses[0].tokens)
        return [hint for hint in self._hints[sentence] if hint.entry is not None and hint.entry.is_missing(text)]


def with_constraints(constraints: Constraints, document: DocumentExample) -> DocumentExample:
    """Returns a document whose constraints override its dictionary hints.

    A dictionary word with a constraint is hinted from the start if both agree, and has no hint if they differ.
    """
    constrained = {
        id(hint): any(hint.ids == phrase.tokens for phrase in each.alternatives)
        for hint in document.lookups
        for each in constraints.get(hint.sentence, ())
        if isinstance(each, Constraint) and each.source is not None and hint.first in each.source
    }
    said = [hint for hint in document.lookups if constrained.get(id(hint))]
    others = [hint for hint in document.lookups if id(hint) not in constrained]
    return replace(_with_hints(document, said), lookups=others)


def with_lookups(document: DocumentExample, hypotheses: Sequence[Sequence[Hypothesis]]) -> DocumentExample:
    """Returns a document whose hints are all those that its translations, the first of the hypotheses, read."""
    read = [
        hint
        for hint in document.lookups
        if hint.entry is not None and hint.entry.headword in hypotheses[hint.sentence][0].looked_up
    ]
    return _with_hints(document, read)


def _with_hints(document: DocumentExample, lookups: Sequence[Hint]) -> DocumentExample:
    if not lookups:
        return document
    hints = sorted([*document.hints, *lookups], key=lambda hint: (hint.sentence, hint.place))
    return replace(document, hints=hints)
