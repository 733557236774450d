"""Session: one file under correction. Correct a sentence, and the sentences that are linked with it follow.

The user confirms translations. The model reads them as context (known translations); sentences that it now translates
differently get proposals. Every change can be undone. The state is plain data: a session restored from it continues as
if it had not been interrupted.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import get_format, render
from docgraph.formats.atoms import shown_texts
from docgraph.formats.blocks import blocks_of
from docgraph.server.draft import Draft
from docgraph.server.session_state import GlossaryEntries, SentenceState, Step
from docgraph.translation.chains import DocumentChains
from docgraph.translation.checks.doubts import doubts
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.explain import explain_sentence
from docgraph.translation.files.bilingual import BILINGUAL, BilingualSegment
from docgraph.translation.terms.formality import FormalityOption
from docgraph.translation.translator import Translator

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
        formality: FormalityOption | None = None,
    ) -> None:
        """`documents` are those of one file; sentences are numbered through all of them. `state` is the state of an
        earlier session. `formality` defaults to `Translator.formality`."""
        self._draft = Draft(documents, translator, search, formality)
        self.documents, self.translator, self.search = self._draft.documents, translator, search
        self._texts = self._draft.texts
        self.deferred = False
        """Whether affected sentences are left to another session, which runs `translate`."""
        self._undone: list[Step] = []
        self._done: list[Step] = []
        self._chains = [DocumentChains(document, translator) for document in documents]
        self._blocks = [block for document in documents for block in blocks_of(document)]
        self._digest = hashlib.sha256("\0".join(self._texts).encode("utf-8", "surrogatepass")).hexdigest()
        if state is not None:
            self._restore(state)

    def _restore(self, state: Mapping[str, Any]) -> None:
        is_known = state.get("version", _VERSION) == _VERSION
        if not is_known or state.get("digest", self._digest) != self._digest:
            raise DocgraphError("the saved work belongs to another document or version; translate the document again")
        draft, states = self._draft, [SentenceState(**each) for each in state["sentences"]]
        if len(states) != len(self._texts):
            raise DocgraphError("the saved work has another number of sentences; translate the document again")
        draft.states, draft.glossary = states, [dict(entry) for entry in state.get("glossary", [])]
        draft.formality = state.get("formality")
        draft.read_known = {int(index): known for index, known in state.get("read_known", {}).items()}
        draft.read_glossary = state.get("read_glossary")
        self._done, self._undone = ([Step(**step) for step in state.get(name, [])] for name in ("done", "undone"))

    @property
    def state(self) -> dict[str, Any]:
        """The session as plain data, for JSON."""
        return {
            "version": _VERSION,
            "digest": self._digest,
            "sentences": [asdict(each) for each in self._states],
            "glossary": [dict(entry) for entry in self.glossary],
            "formality": self._draft.formality,
            "read_known": {str(index): known for index, known in self._draft.read_known.items()},
            "read_glossary": self._draft.read_glossary,
            "done": [asdict(step) for step in self._done],
            "undone": [asdict(step) for step in self._undone],
        }

    @property
    def glossary(self) -> GlossaryEntries:
        """Terms and their translations."""
        return self._draft.glossary

    @property
    def _states(self) -> list[SentenceState]:
        return self._draft.states

    def copy(self) -> Session:
        """Returns an independent copy of the session."""
        other = copy.copy(self)
        other._draft, other._done, other._undone = self._draft.copy(), list(self._done), list(self._undone)
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
        """Returns the doubts about the current translation."""
        state = self._states[index]
        if state.translation is None or state.confirmed:
            return []
        if state.translation == state.machine:
            return state.doubts
        found = doubts(self._texts[index], state.translation, self.translator.languages)
        return [doubt.reason for doubt in found]

    def _checked(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise DocgraphError(f"there is no sentence {index}; the document has sentences 0 to {len(self) - 1}")
        return index

    def translate(self) -> Iterator[list[int]]:
        """Translates untranslated sentences, some at a time; yields the indices of changed sentences.

        The iterator may be dropped at any time; a new one continues. Users may change sentences between two steps.
        """
        return self._draft.translate()

    def merge(self, base: Sequence[Mapping[str, Any]], state: Mapping[str, Any]) -> None:
        """Merges the changes that users made in a copy of this session; `state` is the current state of the copy.

        `base` are the sentences of the state from which the copy was made.
        """
        other = Session(self.documents, self.translator, state, self.search)
        self._draft.merge([SentenceState(**each) for each in base], other._draft)
        self._done, self._undone = other._done, other._undone

    def correct(self, index: int, translation: str, confirm: bool = True) -> list[dict[str, Any]]:
        """Sets the translation of a sentence; returns the new proposals for other sentences.

        A confirmed translation is context for the other sentences and no longer changes. If `confirm` is False,
        the sentence is no longer confirmed.
        """
        text = _SPACES.sub(" ", translation).strip(" ")
        if not text:
            raise DocgraphError("a translation cannot be empty; write one, or keep the one there is")
        old = self._states[self._checked(index)]
        refused = old.refused if text == old.machine else old.machine
        state = replace(old, translation=text, confirmed=confirm, refused=refused)
        return self._change({index: state})

    def set_glossary(self, entries: Iterable[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Replaces the glossary; returns the new proposals for sentences whose terms have changed.

        An entry has a `source` and a `target`; an empty target keeps the term as it is.
        """
        new = [{side: _SPACES.sub(" ", each[side]).strip(" ") for side in ("source", "target")} for each in entries]
        return [] if new == self.glossary else self._change({}, new)

    def accept(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Replaces the translations of some sentences by their proposals; returns the changes."""
        states = {index: self._states[self._checked(index)] for index in indices}
        accepted = {
            index: replace(state, translation=state.proposal) for index, state in states.items() if state.proposal
        }
        self._change(accepted)
        return [
            {"index": index, "before": states[index].translation, "after": state.translation}
            for index, state in accepted.items()
        ]

    def refuse(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Drops the proposals for some sentences; the same proposals are not made again. No translation changes."""
        states = {index: self._states[self._checked(index)] for index in indices}
        return self._change(
            {index: replace(state, refused=state.proposal) for index, state in states.items() if state.proposal}
        )

    def _change(
        self, states: Mapping[int, SentenceState], glossary: GlossaryEntries | None = None
    ) -> list[dict[str, Any]]:
        """Sets the states of some sentences and the glossary; adds a step to the history.

        Returns the new proposals for affected sentences; none if `deferred`.
        """
        draft = self._draft
        if not self.deferred:
            draft.follow()  # what a translation that was cancelled has left
        before, old = list(self._states), self.glossary
        if glossary is not None:
            draft.set_glossary(glossary)
        draft.set_states({index: before[index].with_user_part(state) for index, state in states.items()})
        if not self.deferred:
            draft.follow()
        changed = [index for index, state in enumerate(before) if state != self._states[index]]
        if changed or glossary is not None:
            step = Step(
                {str(index): asdict(before[index]) for index in changed},
                {str(index): asdict(self._states[index]) for index in changed},
                None if glossary is None else [old, glossary],
                self.deferred,
            )
            self._done = [*self._done, step][-MAX_HISTORY:]
            self._undone.clear()
        return [
            {"index": index, "before": self._states[index].translation, "after": self._states[index].proposal}
            for index in changed
            if self._states[index].proposal is not None and self._states[index].proposal != before[index].proposal
        ]

    def undo(self) -> list[dict[str, Any]]:
        """Undoes the last change; returns the changed translations."""
        if not self._done:
            raise DocgraphError("there is no change to undo")
        step = self._done.pop()
        self._undone.append(step)
        return self._set(step, step.before, 0)

    def redo(self) -> list[dict[str, Any]]:
        """Repeats the last undone change; returns the changed translations."""
        if not self._undone:
            raise DocgraphError("there is no undone change")
        step = self._undone.pop()
        self._done.append(step)
        return self._set(step, step.after, 1)

    def _set(self, step: Step, states: Mapping[str, Mapping[str, Any]], side: int) -> list[dict[str, Any]]:
        """Sets the sentences and the glossary of one side of a step; returns the changed translations."""
        before, draft = list(self._states), self._draft
        new = {int(key): SentenceState(**state) for key, state in states.items()}
        glossary = self.glossary if step.glossaries is None else step.glossaries[side]
        if step.deferred:  # the model has translated since
            draft.set_glossary(glossary)
            draft.set_states({index: before[index].with_user_part(state) for index, state in new.items()})
            if not self.deferred:
                draft.follow()
        else:
            draft.restore(new, glossary)
        return [
            {"index": index, "before": before[index].translation, "after": self._states[index].translation}
            for index in new
            if before[index].translation != self._states[index].translation
        ]

    def compare(self) -> list[dict[str, Any]]:
        """Returns the translation of each translated sentence without context."""
        indices = [index for index, state in enumerate(self._states) if state.translation is not None]
        places = {
            index: (number, index - span.start) for number, span in enumerate(self._draft.spans) for index in span
        }
        alone = (
            replace(self.documents[number], sentences=self.documents[number].sentences[m : m + 1])
            for number, m in map(places.__getitem__, indices)
        )
        translations = self.translator.translate_all(list(alone), self.search)
        return [
            {"index": index, "translation": translation.texts[0]}
            for index, translation in zip(indices, translations, strict=True)
        ]

    def chains(self) -> dict[str, Any]:
        """Returns the chains of linked words with their translations, and the links between sentences."""
        chains, links = [], []
        for number, span in enumerate(self._draft.spans):
            graph = self._chains[number].graph(
                [state.translation for state in self._draft.states_of(number)], span.start
            )
            chains += graph["chains"]
            links += graph["links"]
        return {"chains": chains, "links": links}

    def explain(self, index: int) -> dict[str, Any]:
        """Returns the context and the hints that the translation of a sentence, or its proposal, read."""
        number = self._draft.number_of(self._checked(index))
        first, state = self._draft.spans[number].start, self._states[index]
        values: dict[str, Any] = {"index": index, "gate": None}
        values |= {name: [] for name in ("source", "target", "hints", "memory", "n_best")}
        if state.translation is None or state.confirmed:
            return values
        translations = [each.translation for each in self._draft.states_of(number)]
        if state.proposal is not None:
            # The model made it when it had read its own latest translations of the others, accepted or not.
            translations = [each.known or each.machine or each.translation for each in self._draft.states_of(number)]
        read = explain_sentence(
            self.translator,
            self._draft.request(number),
            index - first,
            translations,
            finished=self._draft.finished(number),
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
        """Returns content, media type and suffix of the translated file, or of a bilingual file unless `original`.

        A sentence without a translation keeps its source in the original format and has no translation in the others.
        """
        languages = self.translator.languages
        if kind == "original":
            texts = [
                [
                    state.translation or text
                    for state, text in zip(self._draft.states_of(number), document.texts, strict=True)
                ]
                for number, document in enumerate(self.documents)
            ]
            alignments = [self.translator.alignments(*pair) for pair in zip(self.documents, texts, strict=True)]
            content = render(self.documents, texts, self.translator.target_language, alignments)
            if isinstance(content, str):
                content = content.encode(self.documents[0].encoding if self.documents else "utf-8", "replace")
            extensions = get_format(self.documents[0].format).extensions if self.documents else ()
            return content, "application/octet-stream", extensions[0] if extensions else ".txt"
        if kind not in BILINGUAL:
            raise DocgraphError(f"there is no download '{kind}'; choose original, {', '.join(BILINGUAL)}")
        segments = [
            BilingualSegment(text, state.translation, state.confirmed, document.id)
            for number, document in enumerate(self.documents)
            for text, state in zip(shown_texts(document), self._draft.states_of(number), strict=True)
        ]
        form = BILINGUAL[kind]
        return form.write(segments, languages).encode(), form.media_type, form.suffixes[0]
