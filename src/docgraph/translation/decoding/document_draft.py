"""Drafts: documents that are being decoded, with their translations so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from docgraph.model.batch import DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.memory import Memory
from docgraph.model.packing import windows
from docgraph.model.systems import prepare
from docgraph.model.tokenizer import SubwordCoder, Tokenizer, words_by_space
from docgraph.translation.decoding.decoder import DecoderInput
from docgraph.translation.decoding.hints import HintedDocument
from docgraph.translation.decoding.hypotheses import Known
from docgraph.translation.decoding.relevance import judges_relevance, linked_columns


def untranslated(document: DocumentExample, known: Known) -> DocumentExample:
    """Strips the targets and marks which ones the user supplied."""
    given = np.array([m in known and known[m][0].given for m in range(len(document.source))], dtype=np.bool_)
    return replace(document, target=(), target_words=(), given=given)


class DocumentDraft(HintedDocument):
    """A document and its translation so far. `window` is being decoded; sentences before it are final."""

    def __init__(self, document: DecoderInput, config: ModelConfig, coder: SubwordCoder, redecode_known: bool) -> None:
        super().__init__(document, config, coder)
        self.known, self.constraints = document.known, document.constraints
        self.document = prepare(document.example, config)
        """The document as the model reads it."""
        self.base = dict(document.base)
        """Base translations, if relevance is judged."""
        self.selection = self.document.selection
        """The translations that each sentence reads."""
        if judges_relevance(config) and self.selection is not None:
            self.selection = replace(self.selection, sentences=self.selection.sentences.copy())
            self.selection.sentences[:, : linked_columns(config)] = -1
        self.window = self.document.translated
        self.source_memory: Memory | None = None
        """Source memory of the whole document, if it is decoded in windows."""
        self.fixed: Known = {} if redecode_known else self.known
        """Known translations that are kept."""
        if redecode_known:
            self.hypotheses = [[] for _ in self.hypotheses]
        self.passes = 0

    def is_pending(self, window: range) -> bool:
        """Returns whether a window has a sentence to decode."""
        return any(m not in self.fixed for m in window)

    def example(self, tokenizer: Tokenizer, eos: int) -> DocumentExample:
        """Returns the sentences that the window may read, with their translations; a missing translation is empty."""
        end = len(self.document.source) if self.document.ahead else self.window.stop
        visible = [self.visible(m) for m in range(end)]
        targets = [np.array([*(() if best is None else best.tokens), eos]) for best in visible]
        given = np.array([best is not None and best.given for best in visible])
        words = [words_by_space(tokenizer.target.pieces(target)) for target in targets]
        source = self.document.source[:end]
        return DocumentExample(source, targets, None, (), words, self.window, self.selection, given)

    def without_graph(self, window: range) -> DocumentExample:
        """Returns the document without its graph, to translate `window`."""
        return replace(self.document, graph=None, source_words=(), window=window)

    def memory_of(self, window: range) -> Memory | None:
        """Returns the source memory for the sentences of a window."""
        return None if self.source_memory is None else self.source_memory.of_sentences(window)

    def forced(self, sentences: list[int], eos: int) -> DocumentExample:
        """Returns some sentences with their translations as decoder input."""
        targets = [np.array([*self.hypotheses[m][0].tokens, eos]) for m in sentences]
        return DocumentExample([self.document.source[m] for m in sentences], targets)


def groups(drafts: Sequence[DocumentDraft], max_tokens: int) -> Iterator[list[DocumentDraft]]:
    """Yields drafts to decode together: whole documents up to `max_tokens`; a longer one alone, window by window.

    Documents and windows with nothing to decode are skipped.
    """
    group: list[DocumentDraft] = []
    size = 0
    for draft in drafts:
        lengths = [len(sentence) for sentence in draft.document.source[: draft.window.stop]]
        tokens = sum(lengths)
        if group and size + tokens > max_tokens:
            yield group
            group, size = [], 0
        if tokens > max_tokens:
            begin = next((m for m in draft.window if m not in draft.fixed), len(lengths))
            for window in filter(draft.is_pending, windows(lengths, max_tokens, begin)):
                draft.window = window
                yield [draft]
        elif draft.is_pending(draft.window):
            group.append(draft)
            size += tokens
    if group:
        yield group
