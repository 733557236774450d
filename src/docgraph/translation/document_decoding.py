"""Documents: sentence after sentence, or all sentences at once with the same result.

A sentence sees the translations of those before it: of each the known one where there is one, else the decoded one.
`sequential` decodes in that order: the definition. `parallel` decodes many at once with the translations there are as
context, and again those that read one that changed. Of what is still to be looked at, the first sentence has its final
context, so that none is looked at more often than there are sentences up to it, and in the end every sentence is what
it is given the others: the sequential result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Memories, Memory
from docgraph.model.packing import windows
from docgraph.model.systems import context_class, context_needs, prepare
from docgraph.model.tokenizer import Tokenizer, words_by_space
from docgraph.translation.hypotheses import Hypothesis, SearchConfig
from docgraph.translation.search import search, verify_greedy

Mode = Literal["parallel", "sequential"]
Known = Mapping[int, list[Hypothesis]]
"""Of some sentences of a document, by their place in it: hypotheses, the best of which others see as context."""
BATCH_TOKENS = 1 << 14
"""Source sub-words encoded together."""
AT_ONCE = {"cpu": 64, "cuda": 1 << 12}
"""Sentences x beams decoded at once, where a second look is a second search: enough to keep a device busy; the fewer,
the more of them see final translations. Greedy translations are verified, so that all at once is quickest."""
CONTEXT_CELLS = 1 << 24
"""Sub-words that go through the model together x sentences of their document: context attention masks each for each."""
KEPT = 1 << 16
"""Sub-words of translations whose states are kept for the documents that follow: those read last."""


@dataclass(frozen=True)
class DecodedDocument:
    """The translation of a document."""

    sentences: list[list[Hypothesis]]
    """[M] lists of hypotheses, the best first."""
    passes: int
    """How often the sentence that took longest was looked at."""


def given(tokens: Iterable[int]) -> list[Hypothesis]:
    """A translation, its end not counted, that nobody has to look for: one hypothesis, and a certain one."""
    return [Hypothesis(tuple(tokens), 0.0, 0.0, given=True)]


def any_given(known: Known) -> bool:
    """Whether any of them is such a one, and not all from an earlier run."""
    return any(best.given for best, *_ in known.values())


@torch.inference_mode()
def decode_documents(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    documents: Sequence[DocumentExample],
    search: SearchConfig = SearchConfig(),
    mode: Mode = "parallel",
    progress: Callable[[int, int], None] | None = None,
    *,
    tokens: int | None = None,
    known: Sequence[Known] | None = None,
    again: bool = False,
    kept: dict[tuple[Any, ...], Tensor] | None = None,
    on_final: Callable[[int, int, list[list[Hypothesis]]], None] | None = None,
) -> list[DecodedDocument]:
    """Translate documents, many together, each from its `window`, if it has one; what is outside is context alone, and
    its translation known. `target` and `target_words` of the examples are not read.

    `progress` is told, whenever it grows, how many sentences are final, and of how many. `tokens` are the source
    sub-words encoded together (BATCH_TOKENS). `known`, for each document, are translations of any of its sentences,
    from an earlier run or a person: they stay as they are or, with `again`, are context for the others alone, so that
    nothing is waited for where all are known. `kept` is where states of the model are found and left (DocumentBatch)
    that another call may read again. `on_final` gets what became final: the document, a sentence of it and the
    hypotheses from there on.
    """
    pairs = zip(documents, known or [{}] * len(documents), strict=True)
    drafts = [_Draft(prepare(_bare(*pair), model.config), pair[1], again) for pair in pairs]
    number = {id(draft): index for index, draft in enumerate(drafts)}
    total = sum(len(draft.window) for draft in drafts)
    final = total - sum(m not in draft.kept for draft in drafts for m in draft.window)
    kept = {} if kept is None else kept
    for group in _groups(drafts, tokens or BATCH_TOKENS):
        decoder = _GroupDecoder(model, tokenizer, search, group, kept)
        for done in decoder.decode(mode if context_needs(model.config).reads_own_translations else "once"):
            if progress is not None:
                progress(final + done, total)
        final += len(decoder.open)
        _forget(kept)
        if on_final is not None:
            for draft in group:
                window = draft.window
                on_final(number[id(draft)], window.start, draft.found[window.start : window.stop])
    return [DecodedDocument(draft.found, draft.passes) for draft in drafts]


def _bare(document: DocumentExample, known: Known) -> DocumentExample:
    """Without translations, but with which will be given."""
    given = np.array([m in known and known[m][0].given for m in range(len(document.source))], dtype=np.bool_)
    return replace(document, target=(), target_words=(), given=given)


def _forget(kept: dict[tuple[Any, ...], Tensor]) -> None:
    """Of states that are kept, all but those of the translations that were read last."""
    room = KEPT
    for ids in reversed(list(kept)):
        if len(ids) == 1 or (room := room - len(ids[-1])) < 0:
            del kept[ids]


class _Draft:
    """A document and its translation so far; `window` are the sentences now worked at, those before it are final."""

    def __init__(self, document: DocumentExample, known: Known, again: bool) -> None:
        self.document, self.known = document, known
        self.window = document.translated
        self.source_memory: Memory | None = None
        """That of the whole document, where it comes in windows."""
        self.kept: Known = {} if again else known
        """What is not decoded."""
        self.found: list[list[Hypothesis]] = [self.kept.get(m, []) for m in range(len(document.source))]
        self.passes = 0

    def is_open(self, window: range) -> bool:
        """Whether there is something to decode in it."""
        return any(m not in self.kept for m in window)

    def shown(self, m: int) -> Hypothesis | None:
        """The translation of a sentence that others see; None while there is none."""
        return next(iter(self.known.get(m, self.found[m])), None)

    def example(self, tokenizer: Tokenizer, eos: int) -> DocumentExample:
        """The sentences that the window may see translations of, and its own; what has none yet has an empty one."""
        end = len(self.document.source) if self.document.ahead else self.window.stop
        shown = [self.shown(m) for m in range(end)]
        targets = [np.array([*(() if best is None else best.tokens), eos]) for best in shown]
        given = np.array([best is not None and best.given for best in shown])
        words = [words_by_space(tokenizer.target.pieces(target)) for target in targets]
        source, selection = self.document.source[:end], self.document.selection
        return DocumentExample(source, targets, None, (), words, self.window, selection, given)

    def without_graph(self, window: range) -> DocumentExample:
        return replace(self.document, graph=None, source_words=(), window=window)

    def memory_of(self, window: range) -> Memory | None:
        """The source memory as these sentences see it."""
        return None if self.source_memory is None else self.source_memory.of_sentences(window)

    def forced(self, sentences: list[int], eos: int) -> DocumentExample:
        """These sentences alone, with their translations as decoder input."""
        targets = [np.array([*self.found[m][0].tokens, eos]) for m in sentences]
        return DocumentExample([self.document.source[m] for m in sentences], targets)


def _groups(drafts: Sequence[_Draft], most: int) -> Iterator[list[_Draft]]:
    """Drafts to decode together: whole documents up to `most` sub-words; a longer one by itself, in windows.

    What has nothing to decode is left out.
    """
    group: list[_Draft] = []
    size = 0
    for draft in drafts:
        lengths = [len(sentence) for sentence in draft.document.source[: draft.window.stop]]
        tokens = sum(lengths)
        if group and size + tokens > most:
            yield group
            group, size = [], 0
        if tokens > most:
            begin = next((m for m in draft.window if m not in draft.kept), len(lengths))
            for window in filter(draft.is_open, windows(lengths, most, begin)):
                draft.window = window
                yield [draft]
        elif draft.is_open(draft.window):
            group.append(draft)
            size += tokens
    if group:
        yield group


class _GroupDecoder:
    """The windows of some documents: their source is encoded once, here; each pass refreshes the target memory."""

    def __init__(
        self,
        model: DocumentTransformer,
        tokenizer: Tokenizer,
        config: SearchConfig,
        drafts: list[_Draft],
        kept: dict[tuple[Any, ...], Tensor],
    ) -> None:
        self.model, self.tokenizer, self.config, self.drafts, self.kept = model, tokenizer, config, drafts, kept
        self.places = [(draft, m) for draft in drafts for m in draft.window]
        """[S]: the document and the place in it of every sentence."""
        self.open = [s for s, (draft, m) in enumerate(self.places) if m not in draft.kept]
        """Those to decode."""
        alone = drafts[0] if drafts[0].window != drafts[0].document.translated else None
        if alone is None:
            self.batch = self._collated(draft.document for draft in drafts)
            self.memories = Memories(model.source_memory(self.batch))
            self.encoded = model.encode(self.batch, self.memories)
        else:
            if alone.source_memory is None:
                alone.source_memory = model.source_memory(self._collated([alone.document]))
            self.batch = self._collated([alone.without_graph(alone.window)])
            self.memories = Memories(alone.memory_of(alone.window))
            self.encoded = torch.cat([self._encoded(alone, part) for part in self._parts(alone)])

    def _encoded(self, draft: _Draft, window: range) -> Tensor:
        batch = self._collated([draft.without_graph(window)])
        return self.model.encode(batch, Memories(draft.memory_of(window)))

    def _parts(self, draft: _Draft) -> Iterator[range]:
        """A window in parts that the attention over a long document has memory for."""
        first = draft.window.start
        lengths = [len(draft.document.source[m]) for m in draft.window]
        for part in windows(lengths, CONTEXT_CELLS // len(draft.found)):
            yield range(first + part.start, first + part.stop)

    def _collated(self, documents: Iterable[DocumentExample]) -> DocumentBatch:
        batch = collate(list(documents), self.model.config.transformer.bos).to(self.model.device)
        return replace(batch, state_cache=self.kept)

    def decode(self, mode: Literal["once"] | Mode) -> Iterator[int]:
        """Do it; says after every pass how many sentences are final."""
        if mode == "once":
            return self._decode_once()
        return self._decode_in_parallel() if mode == "parallel" else self._decode_in_order()

    def _decode_once(self) -> Iterator[int]:
        """For a system that reads no translations, or given ones alone."""
        if context_needs(self.model.config).reads_translations and any(any_given(draft.known) for draft in self.drafts):
            self._refresh()
        self._decode(self.open)
        for draft in self.drafts:
            draft.passes = 1
        yield len(self.open)

    def _decode_in_order(self) -> Iterator[int]:
        """Sentence after sentence, those of different documents together."""
        by_document = [[s for s in self.open if self.places[s][0] is draft] for draft in self.drafts]
        final = 0
        for step in range(max(map(len, by_document))):
            current = [sentences[step] for sentences in by_document if step < len(sentences)]
            self._refresh()
            self._decode(current)
            for s in current:
                self.places[s][0].passes = max(self.places[s][0].passes, step + 1)
            final += len(current)
            yield final

    def _decode_in_parallel(self) -> Iterator[int]:
        """The first sentences that have to be looked at, many at once, and again whoever reads what changed."""
        rows = AT_ONCE.get(self.encoded.device.type, AT_ONCE["cuda"])
        # With few looks allowed, what is read must not depend on the size of waves.
        all_at_once = self._verifies or self.config.passes is not None
        at_once = len(self.open) if all_at_once else max(1, rows // self.config.beams)
        looks, pending = dict.fromkeys(self.open, 0), set(self.open)
        while pending:
            current = sorted(sorted(pending, key=lambda s: (self.places[s][1], s))[:at_once])
            before = [self._shown(s) for s in current]
            self._refresh()
            again = self._no_longer_likeliest([s for s in current if looks[s]])
            self._decode(sorted([*again, *(s for s in current if not looks[s])]))
            for s in current:
                looks[s] += 1
                self.places[s][0].passes = max(self.places[s][0].passes, looks[s])
            changed = [s for s, old in zip(current, before, strict=True) if self._shown(s) != old]
            pending.difference_update(current)
            pending.update(s for c in changed for s in self._readers[c] if 0 < looks[s] != self.config.passes)
            first = {id(self.places[s][0]): s for s in sorted(pending, reverse=True)}
            yield sum(s < first.get(id(self.places[s][0]), math.inf) for s in self.open)

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """By sentence to decode, those of them that read its translation."""
        readers: dict[int, list[int]] = {s: [] for s in self.open}
        number = {(id(draft), m): s for s, (draft, m) in enumerate(self.places) if s in readers}
        config = self.model.config
        for (_, m), s in number.items():
            draft = self.places[s][0]
            for read in context_class(config).translations_read(config, draft.document, m):
                if (id(draft), read) in number:
                    readers[number[id(draft), read]].append(s)
        return readers

    def _shown(self, s: int) -> tuple[int, ...] | None:
        draft, m = self.places[s]
        best = draft.shown(m)
        return None if best is None else best.tokens

    def _refresh(self) -> None:
        """The target memory of the translations there are."""
        if any(draft.known or any(draft.found) for draft in self.drafts):
            eos = self.model.config.transformer.eos
            batch = self._collated(draft.example(self.tokenizer, eos) for draft in self.drafts)
            self.memories = replace(self.memories, target=self.model.target_memory(batch))

    def _decode(self, sentences: list[int]) -> None:
        """Translate these sentences with the memories there are."""
        found = search(self.model, self.batch, self.encoded, self.memories, self.config, sentences)
        config = self.model.config
        context = context_class(config)
        for s, hypotheses in zip(sentences, found, strict=True):
            draft, m = self.places[s]
            draft.found[m] = [replace(each, tokens=context.translation(config, each.tokens)) for each in hypotheses]

    @property
    def _verifies(self) -> bool:
        """Whether a teacher-forced pass tells what the search would find."""
        return self.config.beams == 1 and not self.config.sampling

    def _no_longer_likeliest(self, sentences: list[int]) -> list[int]:
        """Those that must be decoded again; greedy translations that one teacher-forced pass confirms need not be."""
        if not self._verifies or not sentences:
            return sentences
        lengths = [len(draft.found[m][0].tokens) + 1 for draft, m in (self.places[s] for s in sentences)]
        longest = max(len(draft.found) for draft in self.drafts)
        failed: list[int] = []
        for part in windows(lengths, CONTEXT_CELLS // longest):
            failed += self._failed(sentences[part.start : part.stop])
        return failed

    def _failed(self, sentences: list[int]) -> list[int]:
        """Those of these sentences whose translation is not what greedy search would find now."""
        eos, places = self.model.config.transformer.eos, torch.tensor(sentences, device=self.encoded.device)
        chosen: dict[int, list[int]] = {id(draft): [] for draft in self.drafts}
        for s in sentences:
            chosen[id(self.places[s][0])].append(self.places[s][1])
        batch = self._collated(draft.forced(chosen[id(draft)], eos) for draft in self.drafts)
        encoded, target = self.encoded[self.batch.source.sentences.tokens_of(places)], self.memories.target
        memories = Memories(target=None if target is None else target.of_sentences(places))
        confirmed = verify_greedy(self.model, batch, encoded, memories, self.config)
        for s, hypothesis in zip(sentences, confirmed, strict=True):
            draft, m = self.places[s]
            if hypothesis is not None:
                draft.found[m] = [hypothesis]
        return [s for s, hypothesis in zip(sentences, confirmed, strict=True) if hypothesis is None]
