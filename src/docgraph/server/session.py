"""Session: one file under correction. Correct a sentence, and the sentences that are linked with it follow.

The user confirms translations. The model reads the confirmed ones as context (known translations), and what it would
now translate otherwise is proposed. Every change can be undone. The state is plain data: a session that is restored
from it goes on as if it had not been interrupted.

    session = Session(read("report.docx"), Translator.load())
    for indices in session.translate():
        ...
    session.correct(3, "La défenseure des droits a présenté le bilan annuel.", confirm=True)
    session.accept([7, 9])
    content, media_type, suffix = session.download("original")
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import get_format, render
from docgraph.formats.atoms import shown_texts
from docgraph.formats.blocks import blocks_of
from docgraph.server.session_state import SentenceState, Step
from docgraph.translation.bilingual import BILINGUAL, BilingualSegment
from docgraph.translation.chains import DocumentChains
from docgraph.translation.checks import doubts
from docgraph.translation.corrections import explain_sentence, follow_correction, translate_sentences
from docgraph.translation.glossary import Glossary
from docgraph.translation.hypotheses import SearchConfig
from docgraph.translation.result import SentenceTranslation
from docgraph.translation.terms import Term
from docgraph.translation.translator import Translator

STEP = 24
"""Sentences translated together by `translate`."""
MAX_HISTORY = 100
"""Changes that can be undone."""
_SPACES = re.compile(r"[ \t\r\n\f\v\0]+")
_VERSION = 1


class Session:
    """The documents of a file, their translations, and the changes made to them. Not for several threads at once."""

    def __init__(
        self,
        documents: Sequence[Document],
        translator: Translator,
        state: Mapping[str, Any] | None = None,
        search: SearchConfig = SearchConfig(),
    ) -> None:
        """`documents` are those of one file, in order; sentences are numbered through all of them. `state` is that of
        an earlier session."""
        self.documents, self.translator, self.search = list(documents), translator, search
        self._texts = [text for document in self.documents for text in shown_texts(document)]
        self._spans = list(_spans(self.documents))
        self._states = [SentenceState()] * len(self._texts)
        self.glossary: list[dict[str, str]] = []
        """Terms and their translations: {"source": ..., "target": ...}."""
        self._undone: list[Step] = []
        self._done: list[Step] = []
        self._chains = [DocumentChains(document, translator) for document in self.documents]
        self._blocks = [block for document in self.documents for block in blocks_of(document)]
        self._digest = hashlib.sha256("\0".join(self._texts).encode("utf-8", "surrogatepass")).hexdigest()
        if state is not None:
            self._restore(state)

    def _restore(self, state: Mapping[str, Any]) -> None:
        is_known = state.get("version", _VERSION) == _VERSION
        if not is_known or state.get("digest", self._digest) != self._digest:
            raise DocgraphError("the saved work belongs to another document or version; translate the document again")
        self._states = [SentenceState(**each) for each in state["sentences"]]
        if len(self._states) != len(self._texts):
            raise DocgraphError("the saved work has another number of sentences; translate the document again")
        self.glossary = [dict(entry) for entry in state.get("glossary", [])]
        self._done, self._undone = ([Step(**step) for step in state.get(name, [])] for name in ("done", "undone"))

    @property
    def state(self) -> dict[str, Any]:
        """The session as plain data, for JSON."""
        return {
            "version": _VERSION,
            "digest": self._digest,
            "sentences": [asdict(each) for each in self._states],
            "glossary": [dict(entry) for entry in self.glossary],
            "done": [asdict(step) for step in self._done],
            "undone": [asdict(step) for step in self._undone],
        }

    def copy(self) -> Session:
        """Returns the session as it is now; a later change of one of the two does not change the other."""
        other = copy.copy(self)
        other._states, other.glossary = list(self._states), list(self.glossary)
        other._done, other._undone = list(self._done), list(self._undone)
        return other

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone change."""
        return bool(self._undone)

    @property
    def sentences(self) -> list[dict[str, Any]]:
        """The sentences as clients see them."""
        return [self.sentence(index) for index in range(len(self))]

    def sentence(self, index: int) -> dict[str, Any]:
        """Returns a sentence as clients see it."""
        state = self._states[self._checked(index)]
        is_translated = "confirmed" if state.confirmed else "translated"
        return {
            "index": index,
            "source": self._texts[index],
            "translation": state.translation,
            "state": "waiting" if state.translation is None else is_translated,
            "proposal": state.proposal,
            "doubtful": self._doubtful(index),
            "score": state.score if state.translation == state.machine else None,
            "block": asdict(self._blocks[index]),
        }

    def _doubtful(self, index: int) -> list[str]:
        """Returns what may be wrong with the translation that is shown."""
        state = self._states[index]
        if state.translation is None or state.confirmed:
            return []
        if state.translation == state.machine:
            return list(state.doubtful)
        found = doubts(self._texts[index], state.translation, self.translator.languages)
        return [doubt.reason for doubt in found]

    def _checked(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise DocgraphError(f"there is no sentence {index}; the document has sentences 0 to {len(self) - 1}")
        return index

    def _known(self, number: int) -> list[str | None]:
        """Returns the confirmed translations of a document."""
        return [state.translation if state.confirmed else None for state in self._states_of(number)]

    def _states_of(self, number: int) -> list[SentenceState]:
        span = self._spans[number]
        return self._states[span.start : span.stop]

    def translate(self) -> Iterator[list[int]]:
        """Translates the sentences that have no translation, some at a time; yields their indices.

        The iterator may be dropped at any time; a new one goes on.
        """
        for number, span in enumerate(self._spans):
            while waiting := [index for index in span if self._states[index].translation is None]:
                step = waiting if self.translator.needs.reads_document else waiting[:STEP]
                self._translate(number, step)
                changed = step
                if len(step) == len(waiting) < len(span):
                    changed = sorted({*step, *self._finish(number)})
                for index in step:
                    self._states[index] = replace(self._states[index], translation=self._states[index].machine)
                yield changed

    def _translate(self, number: int, indices: Iterable[int]) -> None:
        """Lets the model translate some sentences of a document."""
        again = {*indices}
        self._set_translations(number, again, again)

    def _finish(self, number: int) -> list[int]:
        """Applies what is decided for the whole document, such as its quotation marks; returns what changed."""
        span, before = self._spans[number], list(self._states)
        self._set_translations(number, [index for index in span if not before[index].confirmed], ())
        changed = [index for index in span if self._states[index] != before[index]]
        for index in changed:
            if before[index].translation == before[index].machine:
                self._states[index] = replace(self._states[index], translation=self._states[index].machine)
        return changed

    def _set_translations(self, number: int, indices: Iterable[int], again: Container[int]) -> None:
        """Sets the translations by the model of some sentences; those in `again` are decoded again."""
        first = self._spans[number].start
        if chosen := [index - first for index in indices]:
            translated = translate_sentences(
                self.translator,
                self.documents[number],
                chosen,
                self.search,
                known=self._known(number),
                glossary=self._terms,
                finished=self._finished(number, again),
            )
            self._set_machine(number, translated)

    def _finished(self, number: int, again: Container[int] = ()) -> dict[int, Sequence[Sequence[int]]]:
        """Returns what the model has decoded of a document, without the sentences in `again`."""
        span = self._spans[number]
        return {
            index - span.start: self._states[index].tokens
            for index in span
            if index not in again and self._states[index].tokens
        }

    def _set_machine(self, number: int, translated: Mapping[int, SentenceTranslation]) -> None:
        first = self._spans[number].start
        for m, sentence in translated.items():
            self._states[first + m] = self._states[first + m].translated_by(sentence)

    @property
    def _terms(self) -> Glossary | None:
        """The terms of the session after those of the translator; None if the session has none."""
        if not self.glossary:
            return None
        pairs = [(entry["source"], entry["target"]) for entry in self.glossary]
        own = Glossary.of(pairs, self.translator.languages)
        general = self.translator.glossary
        return own if general is None else Glossary([*general.entries, *own.entries], self.translator.languages)

    def correct(self, index: int, translation: str, confirm: bool = True) -> list[dict[str, Any]]:
        """Sets the translation of a sentence; returns what the model now proposes for others.

        A confirmed translation is context for the other sentences and is not changed any more. If `confirm` is False,
        the sentence is no longer confirmed.
        """
        text = _SPACES.sub(" ", translation).strip(" ")
        if not text:
            raise DocgraphError("a translation cannot be empty; write one, or keep the one there is")
        before, old = list(self._states), self._states[self._checked(index)]
        refused = old.refused if text == old.machine else old.machine
        state = replace(old, translation=text, confirmed=confirm, refused=refused)
        return self._change(before, {index: state})

    def set_glossary(self, entries: Iterable[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Replaces the glossary; returns what the model now proposes for the sentences whose terms have changed.

        An entry has a `source` and a `target`; an empty target keeps the term as it is.
        """
        before, old, terms = list(self._states), self.glossary, self._terms
        self.glossary = [
            {side: _SPACES.sub(" ", each[side]).strip(" ") for side in ("source", "target")} for each in entries
        ]
        try:
            new = self._terms
        except DocgraphError:
            self.glossary = old
            raise
        if self.glossary == old:
            return []
        for number, span in enumerate(self._spans):
            self._translate(
                number,
                [
                    index
                    for index in span
                    if self._states[index].machine is not None
                    and not self._states[index].confirmed
                    and _found(terms, self._texts[index]) != _found(new, self._texts[index])
                ],
            )
        return self._record(before, [old, self.glossary])

    def accept(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Replaces the translations of some sentences by their proposals; returns the changes."""
        states = {index: self._states[self._checked(index)] for index in indices}
        accepted = {
            index: replace(state, translation=state.proposal) for index, state in states.items() if state.proposal
        }
        self._change(list(self._states), accepted)
        return [
            {"index": index, "before": states[index].translation, "after": state.translation}
            for index, state in accepted.items()
        ]

    def refuse(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Drops the proposals for some sentences; the same ones are not made again. No translation changes."""
        states = {index: self._states[self._checked(index)] for index in indices}
        refused = {index: replace(state, refused=state.proposal) for index, state in states.items() if state.proposal}
        return self._change(list(self._states), refused)

    def _change(self, before: list[SentenceState], states: Mapping[int, SentenceState]) -> list[dict[str, Any]]:
        """Sets the states of some sentences, translates those again that may change, and adds a step to the history."""
        known = [self._known(number) for number in range(len(self.documents))]
        for index, state in states.items():
            self._states[index] = state
        for number in {self._number(index) for index in states}:
            self._follow(number, known[number])
        return self._record(before)

    def _record(
        self, before: list[SentenceState], glossaries: list[list[dict[str, str]]] | None = None
    ) -> list[dict[str, Any]]:
        """Adds a step to the history; returns the new proposals."""
        changed = [index for index, old in enumerate(before) if old != self._states[index]]
        if changed or glossaries:
            self._done.append(
                Step(
                    {str(index): asdict(before[index]) for index in changed},
                    {str(index): asdict(self._states[index]) for index in changed},
                    glossaries,
                )
            )
            del self._done[:-MAX_HISTORY]
            self._undone.clear()
        return [
            {"index": index, "before": self._states[index].translation, "after": self._states[index].proposal}
            for index in changed
            if self._states[index].proposal is not None and self._states[index].proposal != before[index].proposal
        ]

    def _follow(self, number: int, before: Sequence[str | None]) -> None:
        """Translates the sentences of a document again that may change with its confirmed translations."""
        after = self._known(number)
        if after == before:
            return
        translated = follow_correction(
            self.translator,
            self.documents[number],
            [state.machine for state in self._states_of(number)],
            before,
            after,
            self.search,
            glossary=self._terms,
            finished=self._finished(number),
        )
        self._set_machine(number, translated)

    def _number(self, index: int) -> int:
        """Returns the number of the document that contains a sentence."""
        return next(number for number, span in enumerate(self._spans) if index in span)

    def undo(self) -> list[dict[str, Any]]:
        """Undoes the last change; returns the changed translations."""
        if not self._done:
            raise DocgraphError("there is no change to undo")
        step = self._done.pop()
        self._undone.append(step)
        if step.glossaries is not None:
            self.glossary = step.glossaries[0]
        return self._set(step.before)

    def redo(self) -> list[dict[str, Any]]:
        """Makes the last undone change again; returns the changed translations."""
        if not self._undone:
            raise DocgraphError("there is no undone change")
        step = self._undone.pop()
        self._done.append(step)
        if step.glossaries is not None:
            self.glossary = step.glossaries[1]
        return self._set(step.after)

    def _set(self, states: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        changes = []
        for key, state in states.items():
            old, new = self._states[int(key)], SentenceState(**state)
            # Sentences that were translated since the change stay so.
            self._states[int(key)] = new if new.translation is not None or old.translation is None else old
            if old.translation != self._states[int(key)].translation:
                changes.append(
                    {"index": int(key), "before": old.translation, "after": self._states[int(key)].translation}
                )
        return changes

    def compare(self) -> list[dict[str, Any]]:
        """Returns the translation of each translated sentence without context."""
        indices = [index for index, state in enumerate(self._states) if state.translation is not None]
        places = {index: (number, index - span.start) for number, span in enumerate(self._spans) for index in span}
        alone = [self._alone(*places[index]) for index in indices]
        translations = self.translator.translate_all(alone, self.search)
        return [
            {"index": index, "translation": translation.texts[0]}
            for index, translation in zip(indices, translations, strict=True)
        ]

    def _alone(self, number: int, m: int) -> Document:
        """Returns a sentence as a document of its own."""
        return replace(self.documents[number], sentences=self.documents[number].sentences[m : m + 1])

    def chains(self) -> dict[str, Any]:
        """Returns the chains of linked words with their translations, and the links between sentences."""
        chains, links = [], []
        for number, span in enumerate(self._spans):
            graph = self._chains[number].graph([state.translation for state in self._states_of(number)], span.start)
            chains += graph["chains"]
            links += graph["links"]
        return {"chains": chains, "links": links}

    def explain(self, index: int) -> dict[str, Any]:
        """Returns what the translation of a sentence read, and how much."""
        number = self._number(self._checked(index))
        first, text = self._spans[number].start, self._states[index].translation
        values: dict[str, Any] = {"index": index, "gate": None}
        values |= {name: [] for name in ("source", "target", "hints", "memory", "n_best")}
        if text is None or self._states[index].confirmed:
            return values
        translations = [state.translation for state in self._states_of(number)]
        read = explain_sentence(
            self.translator, self.documents[number], index - first, translations, known=self._known(number)
        )
        values["hints"] = [
            {**asdict(use), "sentence": None if use.sentence is None else first + use.sentence} for use in read.hints
        ]
        if (weights := read.context) is not None:
            values["gate"] = weights.gate
            for side, weights_of in (("source", weights.source), ("target", weights.target)):
                values[side] = [{"sentence": first + m, "weight": weight} for m, weight in weights_of.items()]
        if self.translator.memory is not None:
            pairs = self.translator.memory.nearest_pairs([self._texts[index]])
            values["memory"] = [{"source": source, "translation": target} for source, target in pairs]
        return values

    def download(self, kind: str) -> tuple[bytes, str, str]:
        """Returns the translated file (`original`), or source and translation side by side; media type, file suffix.

        A sentence without a translation keeps its source in the original format and has no translation in the others.
        """
        languages = self.translator.languages
        if kind == "original":
            texts = [
                [state.translation or text for state, text in zip(self._states_of(number), document.texts, strict=True)]
                for number, document in enumerate(self.documents)
            ]
            alignments = [self.translator.alignments(*pair) for pair in zip(self.documents, texts, strict=True)]
            content = render(self.documents, texts, languages[1] if languages else None, alignments)
            if isinstance(content, str):
                content = content.encode(self.documents[0].encoding if self.documents else "utf-8", "replace")
            extensions = get_format(self.documents[0].format).extensions if self.documents else ()
            return content, "application/octet-stream", extensions[0] if extensions else ".txt"
        if kind not in BILINGUAL:
            raise DocgraphError(f"there is no download '{kind}'; choose original, {', '.join(BILINGUAL)}")
        segments = [
            BilingualSegment(text, state.translation, state.confirmed, document.id)
            for number, document in enumerate(self.documents)
            for text, state in zip(shown_texts(document), self._states_of(number), strict=True)
        ]
        form = BILINGUAL[kind]
        return form.write(segments, languages).encode(), form.media_type, form.suffixes[0]


def _found(glossary: Glossary | None, text: str) -> list[Term]:
    return [] if glossary is None else glossary.find(text)


def _spans(documents: Sequence[Document]) -> Iterator[range]:
    """Yields the indices of the sentences of each document."""
    first = 0
    for document in documents:
        yield range(first, first + len(document))
        first += len(document)
