"""Document decoding: sentence after sentence, or many sentences at once with the same result.

Each sentence reads translations of earlier sentences: the known translation if there is one, else the decoded one.
`sequential` decoding follows that order and is the definition. `parallel` decoding decodes many sentences at once, with
the translations available so far as context, and decodes again those that read a translation that changed. The first
pending sentence always has its final context, so a sentence is decoded at most as often as there are sentences up to
it, and the result equals that of sequential decoding.

A model that copies from given translations reads the relevant ones (relevance.py): a sentence is first translated
without given translations, and again if one of them proposes another word. Dictionary words are handled in the same way
(hints.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample, StateCache, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import referents
from docgraph.model.memory import Memories
from docgraph.model.packing import windows
from docgraph.model.systems import context_class, context_needs
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.decoding.constraints import Constraints
from docgraph.translation.decoding.decoder import DecodedDocument, DecoderInput, DecodingOptions, Mode, batch_tokens
from docgraph.translation.decoding.document_draft import DocumentDraft, groups, untranslated
from docgraph.translation.decoding.forbidden_words import ForbiddenWords
from docgraph.translation.decoding.hints import hinted_sources, with_constraints
from docgraph.translation.decoding.hypotheses import SearchConfig, any_given, with_base
from docgraph.translation.decoding.relevance import evict, judges_relevance, relevant_sentences
from docgraph.translation.decoding.search import search, verify_greedy

AT_ONCE = {"cpu": 64, "cuda": 1 << 12}
"""Sentences x beams decoded together, if changed context means a new search: just enough to keep a device busy, because
sentences that are decoded later read more final translations. Greedy translations are verified instead of decoded
again, so all sentences are decoded together."""
CONTEXT_CELLS = 1 << 24
"""Maximum of sub-words decoded together x sentences of their document: bounds the masks of context attention."""


@torch.inference_mode()
def decode_documents(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    documents: Sequence[DecoderInput],
    options: DecodingOptions = DecodingOptions(),
    *,
    redecode_known: bool = False,
    state_cache: StateCache | None = None,
) -> list[DecodedDocument]:
    """Translates documents, many together.

    Known translations are kept or, with `redecode_known`, serve only as context for the other sentences. `state_cache`
    holds states of the model that several calls share.
    """
    drafts = []
    for document in documents:
        example = with_constraints(document.constraints, untranslated(document.example, document.known))
        document = replace(document, example=example)
        drafts.append(DocumentDraft(document, model.config, tokenizer.target, redecode_known))
    index_of = {id(draft): index for index, draft in enumerate(drafts)}
    total = sum(len(draft.window) for draft in drafts)
    final = total - sum(m not in draft.fixed for draft in drafts for m in draft.window)
    state_cache = {} if state_cache is None else state_cache

    def report(done: int) -> None:
        if options.progress is not None:
            options.progress(final + done, total)

    for group in groups(drafts, options.tokens or batch_tokens(model.device)):
        decoder = _GroupDecoder(model, tokenizer, options.search, group, state_cache, report)
        for done in decoder.decode(options.mode):
            report(done)
        final += len(decoder.pending)
        evict(state_cache)
        if options.on_final is not None:
            for draft in group:
                window = draft.window
                options.on_final(index_of[id(draft)], window.start, draft.hypotheses[window.start : window.stop])
    return [DecodedDocument(draft.hypotheses, draft.passes) for draft in drafts]


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Some sentences of a group, encoded on their own."""

    sentences: list[int]
    batch: DocumentBatch
    encoded: Tensor


class _GroupDecoder:
    """Decodes the windows of some documents: encodes their source once, then refreshes the target memory per pass."""

    def __init__(
        self,
        model: DocumentTransformer,
        tokenizer: Tokenizer,
        config: SearchConfig,
        drafts: list[DocumentDraft],
        state_cache: StateCache,
        report: Callable[[int], None],
    ) -> None:
        """`report` receives the number of final sentences while they are decoded."""
        self.model, self.tokenizer, self.config, self.drafts = model, tokenizer, config, drafts
        self.report = report
        self.state_cache = state_cache
        self.places = [(draft, m) for draft in drafts for m in draft.window]
        """[S]: the document of every sentence and its index there."""
        self.pending = [s for s, (draft, m) in enumerate(self.places) if m not in draft.fixed]
        """The sentences to decode."""
        windowed = drafts[0] if drafts[0].window != drafts[0].document.translated else None
        if windowed is None:
            self.batch = self._collate(draft.document for draft in drafts)
            self.memories = Memories(model.source_memory(self.batch))
            self.encoded = model.encode(self.batch, self.memories)
        else:
            if windowed.source_memory is None:
                windowed.source_memory = model.source_memory(self._collate([windowed.document]))
            self.batch = self._collate([windowed.without_graph(windowed.window)])
            self.memories = Memories(windowed.memory_of(windowed.window))
            encoded = [
                model.encode(self._collate([windowed.without_graph(part)]), Memories(windowed.memory_of(part)))
                for part in self._parts(windowed)
            ]
            self.encoded = torch.cat(encoded)

    def _parts(self, draft: DocumentDraft) -> Iterator[range]:
        """Yields parts of a window for which context attention over the long document fits into memory."""
        first = draft.window.start
        lengths = [len(draft.document.source[m]) for m in draft.window]
        for part in windows(lengths, CONTEXT_CELLS // len(draft.hypotheses)):
            yield range(first + part.start, first + part.stop)

    def _collate(self, documents: Iterable[DocumentExample]) -> DocumentBatch:
        batch = collate(list(documents), self.model.config.transformer.bos).to(self.model.device)
        return replace(batch, state_cache=self.state_cache)

    def decode(self, mode: Mode) -> Iterator[int]:
        """Decodes the pending sentences; yields, after every pass, how many of them are final."""
        if not context_needs(self.model.config).reads_own_translations:
            return self._decode_once(mode)
        return self._decode_in_parallel() if mode == "parallel" else self._decode_in_order()

    def _decode_once(self, mode: Mode) -> Iterator[int]:
        """Decodes each sentence for a model that reads no translations of its own, or only those of referents.

        A sentence with a hint that contains a translation is decoded after the sentence of the referent. If a given
        translation is relevant for a sentence, the sentence is decoded again, or only once if its base translation is
        known. A sentence whose translation lacks dictionary words is decoded again with hints for them.
        """
        judges = judges_relevance(self.model.config)
        if any(any_given(draft.known) for draft in self.drafts) and context_needs(self.model.config).reads_translations:
            self._refresh_target_memory()
        for draft in self.drafts:
            draft.passes = 1
        done = 0
        for level in self._levels(mode):
            has_open_hints = any(draft.open_hints(m) for draft, m in (self.places[s] for s in level))
            inputs = self._with_hints(level) if has_open_hints else None
            fresh = [s for s in level if self.places[s][1] not in self.places[s][0].base]
            if len(fresh) < len(level):
                self._select_translations([s for s in level if s not in {*fresh}])
            self._search(level, inputs, done)
            if judges:
                for draft, m in (self.places[s] for s in fresh):
                    draft.base[m] = draft.hypotheses[m][0].tokens if draft.hypotheses[m] else ()
                if again := self._select_translations(fresh):
                    self._search(again, inputs)
            self._look_up(level)
            if judges:
                for draft, m in (self.places[s] for s in level):
                    draft.hypotheses[m] = with_base(draft.hypotheses[m], draft.base[m])
            done += len(level)
            yield done

    def _select_translations(self, sentences: list[int]) -> list[int]:
        """Selects the given translations that sentences with base translations read.

        Returns the sentences that read any.
        """
        found: dict[int, list[int]] = {}
        for draft in self.drafts:
            own = {self.places[s][1]: s for s in sentences if self.places[s][0] is draft}
            base = {m: draft.base[m] for m in own}
            chosen = relevant_sentences(self.model, draft.document, draft.known, base, self.state_cache)
            for m, others in chosen.items():
                assert draft.selection is not None
                draft.selection.sentences[m, : len(others)] = others
            found |= {own[m]: others for m, others in chosen.items()}
        if found:
            self._refresh_target_memory()
        return sorted(found)

    def _look_up(self, sentences: list[int]) -> None:
        """Decodes the sentences whose translations lack dictionary words again, with hints for these words."""
        places = {s: self.places[s] for s in sentences}
        again = {s: (draft, m) for s, (draft, m) in places.items() if draft.lookups.begin(m, draft.hypotheses[m])}
        if again:
            self._search([*again], self._with_hints([*again]))
        for draft, m in again.values():
            draft.hypotheses[m] = draft.lookups.end(m, draft.hypotheses[m])

    def _levels(self, mode: Mode) -> list[list[int]]:
        """Returns the pending sentences in groups; the referents of a sentence are in earlier groups.

        In sequential mode, a group is a single sentence if any sentence has a referent.
        """
        number = {(id(draft), m): s for s, (draft, m) in enumerate(self.places)}
        pending, depth = set(self.pending), dict[int, int]()
        for s in self.pending:
            draft, m = self.places[s]
            read = (number.get((id(draft), other)) for other in referents(draft.hints.get(m, ())).get(m, ()))
            depth[s] = max((1 + depth[r] for r in read if r in pending), default=0)
        if mode == "sequential" and any(depth.values()):
            return [[s] for s in self.pending]
        return [[s for s in self.pending if depth[s] == level] for level in range(max(depth.values(), default=-1) + 1)]

    def _with_hints(self, sentences: list[int]) -> _Inputs:
        """Returns some sentences with their hints as model input."""
        sources = hinted_sources(self.model, self.tokenizer.target, [self.places[s] for s in sentences])
        batch = self._collate(DocumentExample([source]) for source in sources)
        return _Inputs(sentences, batch, self.model.encode(batch, Memories()))

    def _decode_in_order(self) -> Iterator[int]:
        """Decodes sentence after sentence; the n-th sentences of all documents together."""
        by_document = [[s for s in self.pending if self.places[s][0] is draft] for draft in self.drafts]
        final = 0
        for step in range(max(map(len, by_document))):
            current = [sentences[step] for sentences in by_document if step < len(sentences)]
            self._refresh_target_memory()
            self._search(current)
            for s in current:
                self.places[s][0].passes = max(self.places[s][0].passes, step + 1)
            final += len(current)
            yield final

    def _decode_in_parallel(self) -> Iterator[int]:
        """Decodes the first pending sentences, many at once; readers of a changed translation become pending again."""
        rows = AT_ONCE.get(self.encoded.device.type, AT_ONCE["cuda"])
        # With a limit on passes, the result must not depend on how many sentences are decoded at once.
        all_at_once = self._can_verify or self.config.passes is not None
        at_once = len(self.pending) if all_at_once else max(1, rows // self.config.beams)
        passes, pending = dict.fromkeys(self.pending, 0), set(self.pending)
        while pending:
            current = sorted(sorted(pending, key=lambda s: (self.places[s][1], s))[:at_once])
            before = [self._visible_tokens(s) for s in current]
            self._refresh_target_memory()
            again = self._changed_by_context([s for s in current if passes[s]])
            self._search(sorted([*again, *(s for s in current if not passes[s])]))
            for s in current:
                passes[s] += 1
                self.places[s][0].passes = max(self.places[s][0].passes, passes[s])
            changed = [s for s, old in zip(current, before, strict=True) if self._visible_tokens(s) != old]
            pending.difference_update(current)
            pending.update(s for c in changed for s in self._readers[c] if 0 < passes[s] != self.config.passes)
            first = {id(self.places[s][0]): s for s in sorted(pending, reverse=True)}
            yield sum(s < first.get(id(self.places[s][0]), math.inf) for s in self.pending)

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """The pending sentences that read the translation of each pending sentence."""
        readers: dict[int, list[int]] = {s: [] for s in self.pending}
        number = {(id(draft), m): s for s, (draft, m) in enumerate(self.places) if s in readers}
        config = self.model.config
        for (_, m), s in number.items():
            draft = self.places[s][0]
            for read in context_class(config).translations_read(config, draft.document, m):
                if (id(draft), read) in number:
                    readers[number[id(draft), read]].append(s)
        return readers

    def _visible_tokens(self, s: int) -> tuple[int, ...] | None:
        draft, m = self.places[s]
        best = draft.visible(m)
        return None if best is None else best.tokens

    def _refresh_target_memory(self) -> None:
        """Computes the target memory from the current translations."""
        if any(draft.known or any(draft.hypotheses) for draft in self.drafts):
            eos = self.model.config.transformer.eos
            batch = self._collate(draft.example(self.tokenizer, eos) for draft in self.drafts)
            self.memories = replace(self.memories, target=self.model.target_memory(batch))

    def _search(self, sentences: list[int], inputs: _Inputs | None = None, before: int | None = None) -> None:
        """Translates some sentences with the current memories.

        `inputs` contains these sentences (default: the window). With `before`, the number of sentences translated
        earlier, progress is reported.
        """
        batch, encoded, memories = self.batch, self.encoded, self.memories
        row_of = {s: s for s in sentences}
        if inputs is not None:
            batch, encoded, row_of = inputs.batch, inputs.encoded, {s: row for row, s in enumerate(inputs.sentences)}
            target = memories.target
            places = torch.tensor(inputs.sentences, device=encoded.device)
            memories = Memories(target=None if target is None else target.of_sentences(places))
        constraints, done = {row_of[s]: each for s, each in self._constraints(sentences).items()}, before

        def report(count: int) -> None:
            nonlocal done
            if done is not None:
                done += count
                self.report(done)

        rows = [row_of[s] for s in sentences]
        found = search(self.model, batch, encoded, memories, self.config, rows, constraints, report)
        for s, hypotheses in zip(sentences, found, strict=True):
            draft, m = self.places[s]
            draft.hypotheses[m] = draft.without_prefixes(hypotheses)

    def _constraints(self, sentences: Iterable[int]) -> Constraints:
        """Returns the constraints of sentences; sentences without constraints are left out."""
        places = ((s, *self.places[s]) for s in sentences)
        return {
            s: [
                each if isinstance(each, ForbiddenWords) else each.moved_by(draft.read_hints(m))
                for each in draft.constraints[m]
            ]
            for s, draft, m in places
            if draft.constraints.get(m)
        }

    @property
    def _can_verify(self) -> bool:
        """True if one teacher-forced pass shows whether the search would find the same translation again."""
        return self.config.beams == 1 and not self.config.sampling and not self.config.no_repeat_ngram

    def _changed_by_context(self, sentences: list[int]) -> list[int]:
        """Returns the sentences to decode again: all, or those whose greedy translation would change.

        A sentence with constraints is always decoded again: its translation is not the greedy one.
        """
        if not self._can_verify or not sentences:
            return sentences
        constrained = self._constraints(sentences)
        sentences = [s for s in sentences if s not in constrained]
        lengths = [len(draft.hypotheses[m][0].tokens) + 1 for draft, m in (self.places[s] for s in sentences)]
        longest = max(len(draft.hypotheses) for draft in self.drafts)
        changed = list(constrained)
        for part in windows(lengths, CONTEXT_CELLS // longest):
            changed += self._unconfirmed(sentences[part.start : part.stop])
        return changed

    def _unconfirmed(self, sentences: list[int]) -> list[int]:
        """Returns the sentences whose translation greedy search would not find now; rescores the others."""
        eos, places = self.model.config.transformer.eos, torch.tensor(sentences, device=self.encoded.device)
        chosen: dict[int, list[int]] = {id(draft): [] for draft in self.drafts}
        for s in sentences:
            chosen[id(self.places[s][0])].append(self.places[s][1])
        batch = self._collate(draft.forced(chosen[id(draft)], eos) for draft in self.drafts)
        encoded, target = self.encoded[self.batch.source.sentences.tokens_of(places)], self.memories.target
        memories = Memories(target=None if target is None else target.of_sentences(places))
        verified = verify_greedy(self.model, batch, encoded, memories, self.config)
        for s, hypothesis in zip(sentences, verified, strict=True):
            draft, m = self.places[s]
            if hypothesis is not None:
                draft.hypotheses[m] = [hypothesis]
        return [s for s, hypothesis in zip(sentences, verified, strict=True) if hypothesis is None]
