"""Draft: the sentences of a file with the translations by the user and by the model.

The model reads the confirmed translations and the glossary. After the user has changed these, the draft is outdated
(`is_behind`): `follow` translates the affected sentences again, and the differences are proposed to the user. If the
file is still being translated, `translate` calls `follow` before it continues.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from docgraph.document import Document
from docgraph.formats.atoms import shown_texts
from docgraph.server.session_state import GlossaryEntries, SentenceState
from docgraph.translation.corrections import follow_correction, translate_sentences, warm_up
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.decoding.relevance import Judgements
from docgraph.translation.model_input import FinishedSentences, TranslationRequest
from docgraph.translation.result import SentenceTranslation
from docgraph.translation.terms.formality import FormalityOption
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.terms.term import Term
from docgraph.translation.translator import Translator

STEP = 24
"""Sentences translated together by `translate`."""


class Draft:
    """The documents of a file and their translations; sentences are numbered through all documents."""

    def __init__(
        self,
        documents: Sequence[Document],
        translator: Translator,
        search: SearchConfig,
        formality: FormalityOption | None = None,
    ) -> None:
        """`formality` defaults to `Translator.formality`."""
        self.documents, self.translator, self.search = list(documents), translator, search
        self.formality = formality
        self.texts = [text for document in self.documents for text in shown_texts(document)]
        self.spans = list(_spans(self.documents))
        self.states = [SentenceState()] * len(self.texts)
        self.glossary: GlossaryEntries = []
        self.read_known: dict[int, str | None] = {}
        """The confirmed translations that the model has read, of sentences for which they have changed since."""
        self.read_glossary: GlossaryEntries | None = None
        """The glossary that the model has used, if it has changed since."""
        self._judged: list[Judgements] = [{} for _ in self.documents]

    def copy(self) -> Draft:
        """Returns an independent copy of the draft."""
        other = copy.copy(self)
        other.states, other.glossary, other.read_known = list(self.states), list(self.glossary), dict(self.read_known)
        return other

    @property
    def is_behind(self) -> bool:
        """Whether confirmed translations or terms have changed since the model read them."""
        return bool(self.read_known) or self.read_glossary is not None

    def known(self, number: int) -> list[str | None]:
        """Returns the confirmed translations of a document."""
        return [state.known for state in self.states_of(number)]

    def states_of(self, number: int) -> list[SentenceState]:
        """Returns the states of the sentences of a document."""
        span = self.spans[number]
        return self.states[span.start : span.stop]

    def number_of(self, index: int) -> int:
        """Returns the number of the document that contains a sentence."""
        return next(number for number, span in enumerate(self.spans) if index in span)

    def set_states(self, states: Mapping[int, SentenceState]) -> None:
        """Sets the states of some sentences."""
        self._replace([states.get(index, state) for index, state in enumerate(self.states)], self.glossary)

    def set_glossary(self, entries: GlossaryEntries) -> None:
        """Sets the glossary; raises an error if it has an empty term."""
        self._glossary(entries)
        self._replace(self.states, entries)

    def restore(self, states: Mapping[int, SentenceState], glossary: GlossaryEntries) -> None:
        """Sets states and the glossary that the model used for them."""
        for index, state in states.items():
            self.states[index] = state
        self.glossary = glossary

    def merge(self, base: Sequence[SentenceState], other: Draft) -> None:
        """Adopts the decisions of users in another draft of the same file; both drafts began with the states `base`."""
        merged = [mine.merged(*pair) for mine, *pair in zip(self.states, base, other.states, strict=True)]
        self._replace(merged, other.glossary)

    def _replace(self, states: list[SentenceState], glossary: GlossaryEntries) -> None:
        """Replaces states and glossary, and records which old values the model has read."""
        read = [self.read_known.get(index, state.known) for index, state in enumerate(self.states)]
        used = self.glossary if self.read_glossary is None else self.read_glossary
        self.states, self.glossary = states, glossary
        self.read_known = {index: known for index, known in enumerate(read) if known != states[index].known}
        self.read_glossary = None if used == glossary else used

    def translate(self) -> Iterator[list[int]]:
        """Translates untranslated sentences, some at a time; yields the indices of changed sentences.

        The iterator may be dropped at any time; a new one continues. Sentences may change between two steps.
        """
        unfinished = set[int]()
        while True:
            if self.is_behind:
                yield self.follow()
                continue
            waiting = [[index for index in span if self.states[index].is_undecoded] for span in self.spans]
            number = next((number for number, span in enumerate(waiting) if span or number in unfinished), None)
            if number is None:
                return
            step = waiting[number] if self.translator.needs.reads_document else waiting[number][:STEP]
            changed = self._translate(number, step)
            if len(step) == len(waiting[number]):
                if len(step) < len(self.spans[number]):
                    changed = sorted({*changed, *self._finish(number)})
                unfinished.discard(number)
                yield changed
                warm_up(self.translator, self.documents[number], self.finished(number))
            else:
                unfinished.add(number)
                yield changed

    def _translate(self, number: int, indices: list[int]) -> list[int]:
        """Translates some sentences of a document for the first time."""
        self._set_translations(number, indices, indices)
        for index in indices:
            if self.states[index].translation is None:
                self.states[index] = replace(self.states[index], translation=self.states[index].machine)
        return indices

    def _finish(self, number: int) -> list[int]:
        """Applies decisions for a whole document, such as the kind of quotation marks; returns changed sentences."""
        span, before = self.spans[number], list(self.states)
        self._set_translations(number, [index for index in span if not before[index].confirmed], ())
        changed = [index for index in span if self.states[index] != before[index]]
        for index in changed:
            if before[index].translation == before[index].machine:
                self.states[index] = replace(self.states[index], translation=self.states[index].machine)
        return changed

    def _set_translations(self, number: int, indices: Iterable[int], again: Container[int]) -> None:
        """Sets the model's translations of some sentences; those in `again` are decoded again."""
        first = self.spans[number].start
        if chosen := [index - first for index in indices]:
            translated = translate_sentences(
                self.translator, self.request(number), chosen, self.search, finished=self.finished(number, again)
            )
            self._set_machine(number, translated)

    def request(self, number: int) -> TranslationRequest:
        """Returns a document with its confirmed translations, glossary and formality."""
        glossary = self._glossary(self.glossary)
        return TranslationRequest(
            self.documents[number], self.known(number), glossary=glossary, formality=self.formality
        )

    def finished(self, number: int, again: Container[int] = ()) -> FinishedSentences:
        """Returns the hypotheses of the translated sentences, without those in `again`.

        A sentence that the user translated before the model has no hypotheses.
        """
        first = self.spans[number].start
        states = {first + m: state for m, state in enumerate(self.states_of(number)) if first + m not in again}
        return {
            index - first: state.segments
            for index, state in states.items()
            if state.machine is not None or state.translation is not None
        }

    def _set_machine(self, number: int, translated: Mapping[int, SentenceTranslation]) -> None:
        first = self.spans[number].start
        for m, sentence in translated.items():
            self.states[first + m] = self.states[first + m].translated_by(sentence)

    def follow(self) -> list[int]:
        """Translates the sentences again that the user's changes affect; returns the indices of changed sentences."""
        before = list(self.states)
        for number in range(len(self.documents)):
            self._follow(number)
        self.read_known, self.read_glossary = {}, None
        return [index for index, state in enumerate(self.states) if state != before[index]]

    def _follow(self, number: int) -> None:
        span, after = self.spans[number], self.known(number)
        before = [self.read_known.get(index, known) for index, known in zip(span, after, strict=True)]
        again = [index - span.start for index in self._with_other_terms(number)]
        if before == after and not again:
            return
        translated = follow_correction(
            self.translator,
            self.request(number),
            before,
            self.search,
            finished=self.finished(number),
            again=again,
            judged=self._judged[number],
        )
        self._set_machine(number, translated)

    def _with_other_terms(self, number: int) -> list[int]:
        """Returns the sentences of a document whose terms differ from those that the model used."""
        if self.read_glossary is None:
            return []
        old, new = self._glossary(self.read_glossary), self._glossary(self.glossary)
        return [
            index
            for index in self.spans[number]
            if self.states[index].machine is not None
            and not self.states[index].confirmed
            and _found(old, self.texts[index]) != _found(new, self.texts[index])
        ]

    def _glossary(self, entries: GlossaryEntries) -> Glossary | None:
        """Returns the glossary of the translator, extended by `entries`; None if both are empty."""
        general = self.translator.glossary
        if not entries:
            return general
        own = Glossary.of([(entry["source"], entry["target"]) for entry in entries], self.translator.languages)
        return own if general is None else Glossary([*general.entries, *own.entries], self.translator.languages)


def _found(glossary: Glossary | None, text: str) -> list[Term]:
    return [] if glossary is None else glossary.find(text)


def _spans(documents: Sequence[Document]) -> Iterator[range]:
    """Yields the indices of the sentences of each document."""
    first = 0
    for document in documents:
        yield range(first, first + len(document))
        first += len(document)
