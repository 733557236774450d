"""Continuous decoding: sentences of many documents are decoded together, and new sentences join at any step.

Sentences that join together form groups with caches of their own. The rows of all groups share the matrix products of
every step, whatever their lengths, beams and other options. When sentences finish, waiting ones take their place, so
the batch stays full and never waits for its longest sentence. A sentence with a hint that contains the translation of
another sentence joins after that sentence. A sentence whose translation lacks dictionary words joins again with hints
for them. The result of every document equals that of `decode_documents`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from docgraph.model.batch import DocumentExample, collate
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import referents
from docgraph.model.memory import Memories
from docgraph.model.output import DecoderOutput
from docgraph.model.packing import split_by_size
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import SubwordCoder, Tokenizer
from docgraph.translation.decoding.decoder import DecoderInput
from docgraph.translation.decoding.hints import HintedDocument, hinted_sources
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis, SearchConfig, any_given, with_base
from docgraph.translation.decoding.relevance import judges_relevance
from docgraph.translation.decoding.search import CACHE_POSITIONS, CUDA_GRAPH_DEVICES, GroupSearch

ROWS = 768
"""Maximum of sentences x beams decoded together: more make a CPU little faster, and each step slower."""
GROUP = 128
"""Maximum of sentences x beams in a group, so that the scores of their next tokens fit the caches of a CPU."""
POSITIONS = 2 * CACHE_POSITIONS["cpu"]
"""Maximum of sentences x beams x maximum length decoded together: bounds memory."""
JOINING_SHARE, MAX_WAIT = 3, 8
"""Sentences wait until there are a third as many as are being decoded, or for 8 steps, because groups cost time."""
TURN = 16
"""Sentences of one document that join before the next document has its turn."""


def can_join(config: ModelConfig, device: torch.device, search: SearchConfig, document: DecoderInput) -> bool:
    """Returns whether the sentences of a document can join a running batch.

    False on a GPU, whose searches are captured as a whole, and for sentences that read memories of their document, have
    constraints, or are sampled.
    """
    needs = context_needs(config)
    reads_memory = needs.reads_document or (needs.reads_translations and any_given(document.known))
    return not (reads_memory or search.sampling or document.constraints or device.type in CUDA_GRAPH_DEVICES)


class OpenDocument(HintedDocument):
    """A document whose sentences are waiting or being decoded."""

    def __init__(self, document: DecoderInput, search: SearchConfig, config: ModelConfig, coder: SubwordCoder) -> None:
        super().__init__(document, config, coder)
        self.search = search
        pending = [m for m in document.example.translated if m not in document.known]
        read = referents(hint for hints in self.hints.values() for hint in hints)
        self._blocked = {m: own for m in pending if (own := read.get(m, set()).intersection(pending))}
        """Sentences that are not ready, with the untranslated sentences whose translations their hints need."""
        self.ready = deque(m for m in pending if m not in self._blocked)
        """Sentences that may join, in their order."""
        self._open = set(pending)
        self.passes = 1 if pending else 0
        self.num_reported = 0
        """The number of sentences that `new_sentences` has returned."""

    @property
    def is_final(self) -> bool:
        """True if all sentences are translated."""
        return not self._open

    def finish(self, m: int, found: Iterable[Hypothesis]) -> None:
        """Stores the hypotheses of a sentence; sentences that waited for them become ready.

        If the translation lacks dictionary words, the sentence itself becomes ready again, once.
        """
        hypotheses = self.without_prefixes(found)
        if self.lookups.has_begun(m):
            hypotheses = self.lookups.end(m, hypotheses)
            if judges_relevance(self.config):
                hypotheses = with_base(hypotheses, self.hypotheses[m][0].tokens)
        elif self.lookups.begin(m, hypotheses):
            self.hypotheses[m] = hypotheses
            self.ready.append(m)
            return
        self.hypotheses[m] = hypotheses
        self._open.discard(m)
        for waiting, read in [*self._blocked.items()]:
            read.discard(m)
            if not read:
                del self._blocked[waiting]
                self.ready.append(waiting)

    def new_sentences(self, at_least: int) -> tuple[int, Hypotheses] | None:
        """Returns the final sentences that were not returned before, after the index of the first one.

        None if there are fewer than `at_least`, unless they are the last sentences of the document.
        """
        first, end = self.num_reported, len(self.hypotheses) if self.is_final else min(self._open)
        if end - first < (1 if self.is_final else at_least):
            return None
        self.num_reported = end
        return first, self.hypotheses[first:end]


class _Group:
    """A search and the sentences it is for."""

    def __init__(self, search: GroupSearch, sentences: list[tuple[OpenDocument, int]]) -> None:
        self.search, self.rows = search, search.rows
        self._sentences = dict(enumerate(sentences))

    @property
    def num_rows(self) -> int:
        """Sentences x beams."""
        return self.rows.totals.numel()

    @property
    def positions(self) -> int:
        """Sentences x beams x maximum length."""
        return self.rows.tokens.numel()

    @property
    def documents(self) -> set[OpenDocument]:
        """The documents of the sentences that are not finished."""
        return {document for document, _ in self._sentences.values()}

    @property
    def num_sentences(self) -> int:
        """Sentences that are not finished."""
        return len(self._sentences)

    def finished(self) -> list[OpenDocument]:
        """Removes the sentences that are finished; returns their documents."""
        done = [place for place in self._sentences if self.rows.done[place]]
        found = []
        for place in done:
            document, m = self._sentences.pop(place)
            document.finish(m, self.rows.finished[place])
            found.append(document)
        return found


class ContinuousDecoder:
    """Decodes the sentences of documents that are added at any time, one token of each sentence at a step."""

    def __init__(self, model: DocumentTransformer, tokenizer: Tokenizer) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._documents: deque[OpenDocument] = deque()
        """Documents with sentences that wait, in their turn."""
        self._groups: list[_Group] = []
        self._waited = 0
        """Number of steps that the first waiting sentence has waited."""
        self._scores = torch.empty(0)
        """[R, V], overwritten at every step: allocating that much memory would cost more than computing the scores."""

    @property
    def has_work(self) -> bool:
        """True if any sentence is being decoded or waits."""
        return bool(self._groups or self._documents)

    @property
    def num_sentences(self) -> int:
        """Sentences being decoded."""
        return sum(group.num_sentences for group in self._groups)

    def documents(self) -> set[OpenDocument]:
        """Returns the documents of the sentences being decoded."""
        return set().union(*(group.documents for group in self._groups))

    def add(self, document: OpenDocument) -> None:
        """Adds a document that is not final; its sentences join at a later step."""
        self._documents.append(document)

    def remove(self, document: OpenDocument) -> None:
        """Removes the waiting sentences of a document; sentences that are being decoded continue."""
        document.ready.clear()
        if document in self._documents:
            self._documents.remove(document)

    @torch.inference_mode()
    def join(self) -> int:
        """Starts waiting sentences if there is room and enough of them wait; returns their number."""
        active = sum(group.num_rows for group in self._groups)
        waiting = sum(len(document.ready) * document.search.beams for document in self._documents)
        self._waited = self._waited + 1 if waiting else 0
        if not waiting or (waiting * JOINING_SHARE < active and self._waited < MAX_WAIT):
            return 0
        chosen = self._take(ROWS - active, POSITIONS - sum(group.positions for group in self._groups))
        if chosen:
            self._start(chosen)
            self._waited = 0
        return len(chosen)

    def _take(self, rows: int, positions: int) -> list[tuple[OpenDocument, int]]:
        """Takes ready sentences from the documents in turn, as many as fit; at least one if nothing is decoded."""
        chosen: list[tuple[OpenDocument, int]] = []
        most = self._model.config.transformer.max_positions
        turns = deque(document for document in self._documents if document.ready)
        while turns:
            document = turns.popleft()
            beams = document.search.beams
            for _ in range(min(TURN, len(document.ready))):
                # Hints add to the length later; the limit is only exact without them.
                limit = document.search.max_length(len(document.input.example.source[document.ready[0]]), most)
                rows, positions = rows - beams, positions - beams * (limit + 2)
                if min(rows, positions) < 0 and (chosen or self._groups):
                    return chosen
                chosen.append((document, document.ready.popleft()))
            self._documents.remove(document)
            self._documents.append(document)  # behind all others
            if document.ready:
                turns.append(document)
        return chosen

    def _start(self, chosen: list[tuple[OpenDocument, int]]) -> None:
        """Encodes sentences and groups them by options and similar lengths."""
        model, transformer = self._model, self._model.config.transformer
        sources = hinted_sources(model, self._tokenizer.target, chosen)
        batch = collate([DocumentExample([source]) for source in sources], transformer.bos).to(model.device)
        batch = replace(batch, state_cache={})
        encoded = model.encode(batch, Memories())
        by_search: dict[SearchConfig, dict[int, int]] = {}
        for place, (document, _) in enumerate(chosen):
            limit = document.search.max_length(len(sources[place]), transformer.max_positions)
            by_search.setdefault(document.search, {})[place] = limit
        for search, limits in by_search.items():
            for places in _groups(limits, search.beams):
                own = [limits[place] for place in places]
                sentences = torch.tensor(places, device=encoded.device)
                state = model.start(batch, encoded, Memories(), search.beams, max(own) + 1, sentences)
                running = GroupSearch(model, batch, state, own, search)
                self._groups.append(_Group(running, [chosen[place] for place in places]))

    @torch.inference_mode()
    def step(self) -> Mapping[OpenDocument, None]:
        """Extends every sentence by a token; returns the documents with new final sentences."""
        groups = self._groups
        if not groups:
            return {}
        rows = [group.rows for group in groups]
        decoded = self._model.extend_all([each.newest for each in rows], [each.state for each in rows])
        end = 0
        # So many rows that the output matrix is read only a few times, and so few that their scores fit the caches.
        for scored in split_by_size(groups, GROUP, lambda group: group.num_rows):
            sizes = [group.num_rows for group in scored]
            begin, end = end, end + sum(sizes)
            parts = self._log_probabilities(decoded.rows(slice(begin, end))).split_with_sizes(sizes)
            for group, own in zip(scored, parts, strict=True):
                group.search.extend(group.rows.allowed(own))
        changed = dict.fromkeys(document for group in groups for document in group.finished())
        self._groups = [group for group in groups if group.search.is_open]
        for document in changed:
            if document.is_final and document in self._documents:
                self._documents.remove(document)
        return changed

    def _log_probabilities(self, decoded: DecoderOutput) -> Tensor:
        """Returns the log-probabilities [R, V] of the next token of some rows."""
        rows, vocabulary = len(decoded.hidden), self._model.config.transformer.target_vocabulary
        if len(self._scores) < rows:
            self._scores = decoded.hidden.new_empty(rows, vocabulary, dtype=torch.float32)
        return self._model.log_probabilities(decoded, self._scores[:rows])

    def clear(self) -> list[OpenDocument]:
        """Removes all documents; returns the unfinished ones."""
        forgotten = [*dict.fromkeys([*self.documents(), *self._documents])]
        self._documents.clear()
        self._groups.clear()
        return forgotten


def _groups(limits: Mapping[int, int], beams: int) -> Iterable[list[int]]:
    """Yields sentences with similar limits, up to GROUP rows; each group is in ascending order."""
    order, size = sorted(limits, key=lambda s: (-limits[s], s)), max(1, GROUP // beams)
    for begin in range(0, len(order), size):
        yield sorted(order[begin : begin + size])
