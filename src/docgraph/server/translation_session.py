"""A document being translated, as plain state: what is translated so far, and how it is continued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import render
from docgraph.translation.translator import Translator

STEP = 32
"""Sentences translated before they are saved."""


class Session:
    """The documents of a file and their translations."""

    can_undo = can_redo = False

    def __init__(
        self, documents: Sequence[Document], translator: Translator, state: dict[str, Any] | None = None
    ) -> None:
        self.documents, self.translator = documents, translator
        self._sources = [(document, m) for document in documents for m in range(len(document))]
        waiting: dict[str, Any] = {"translation": None, "state": "waiting", "doubtful": [], "score": None}
        self._states = [dict(waiting) for _ in self._sources] if state is None else list(state["sentences"])

    @property
    def state(self) -> dict[str, Any]:
        """The state as plain data."""
        return {"sentences": list(self._states)}

    @property
    def sentences(self) -> list[dict[str, Any]]:
        """The sentences as clients see them."""
        return [
            {
                "index": index,
                "source": document.sentences[m].text,
                **self._states[index],
                "proposal": None,
                "block": {"kind": "paragraph", "index": document.sentences[m].paragraph, "label": None},
            }
            for index, (document, m) in enumerate(self._sources)
        ]

    def translate(self) -> Iterator[list[int]]:
        """Translates the sentences that wait; yields the indices of those that are translated."""
        waiting = [index for index, state in enumerate(self._states) if state["state"] == "waiting"]
        for start in range(0, len(waiting), STEP):
            part = waiting[start : start + STEP]
            texts = [self._sources[index][0].sentences[self._sources[index][1]].text for index in part]
            for index, sentence in zip(part, self.translator.translate(texts), strict=True):
                self._states[index] = {
                    "translation": sentence.text,
                    "state": "translated",
                    "doubtful": list(sentence.doubts),
                    "score": sentence.score,
                }
            yield part

    def download(self, kind: str) -> tuple[bytes, str, str]:
        """Returns the translated file, its media type and the end of its name; waiting sentences keep their source."""
        if kind != "original":
            raise DocgraphError(f"there is no download '{kind}'; choose original")
        texts, place = list[list[str]](), 0
        for document in self.documents:
            states = self._states[place : place + len(document)]
            texts.append([state["translation"] or text for state, text in zip(states, document.texts, strict=True)])
            place += len(document)
        languages = self.translator.languages
        content = render(self.documents, texts, languages[1] if languages else None)
        if isinstance(content, str):
            content = content.encode(self.documents[0].encoding, "replace")
        return content, "application/octet-stream", ""
