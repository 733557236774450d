"""Corrections: some sentences of a document are translated (again) as in a translation of the whole document.

A sentence reads its own source, given translations of sentences that the graph links with it, and the translations that
its hints say. So one correction changes the sentences that read the corrected one, and those that read these. A model
that reads whole documents translates the document again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from docgraph.document import Document
from docgraph.formats.atoms import shown_texts
from docgraph.model.batch import collate
from docgraph.model.systems import prepare
from docgraph.translation.document_decoding import BATCH_TOKENS, CACHED_TOKENS, Known, chunks, evict
from docgraph.translation.explain import ContextWeights, context_weights_of, hint_uses
from docgraph.translation.hints import with_filled_hints
from docgraph.translation.hypotheses import Hypothesis, SearchConfig
from docgraph.translation.model_input import Prepared, TranslationRequest
from docgraph.translation.result import Candidate, HintUse, SentenceTranslation
from docgraph.translation.stand_ins import restore
from docgraph.translation.translator import Decoded, Options, Translator

if TYPE_CHECKING:
    from docgraph.translation.glossary import Glossary

MIN_CHANGE, MAX_AFFECTED = 0.02, 12
"""A correction changes sentences in which copies of other words gain this probability, at most so many: the ones in
which they gain most. In a long document, nearly all sentences read a correction, and few translations change."""
Finished = Mapping[int, Sequence[Sequence[int]]]
"""The `tokens` of sentences that were translated before."""


class CopyCache:
    """What the translations of a document copied after its last correction, so that the next one need not find out."""

    def __init__(self) -> None:
        self._given: Mapping[int, str] = {}
        self._masses: dict[int, tuple[Any, Tensor]] = {}

    def find(self, prepared: Prepared, keys: Mapping[int, Any]) -> dict[int, Tensor]:
        """Returns the masses of the sentences whose key (their tokens) is the same as before."""
        if self._given != prepared.given:
            return {}
        return {m: self._masses[m][1] for m, key in keys.items() if self._masses.get(m, (None,))[0] == key}

    def keep(self, prepared: Prepared, keys: Mapping[int, Any], masses: Mapping[int, Tensor]) -> None:
        """Replaces the cache by the masses of some sentences."""
        self._given, self._masses = prepared.given, {m: (keys[m], mass) for m, mass in masses.items()}


def translate_sentences(
    translator: Translator,
    document: Document,
    sentences: Iterable[int],
    search: SearchConfig = SearchConfig(),
    *,
    known: Sequence[str | None] = (),
    glossary: Glossary | None = None,
    finished: Finished | None = None,
) -> dict[int, SentenceTranslation]:
    """Translates some sentences of a document as `Translator.translate` would, in less time.

    Sentences in `finished` are not decoded again. A model that reads whole documents translates the whole document.
    """
    chosen = sorted({*sentences})
    request = TranslationRequest(document, known, glossary=glossary)
    if translator.needs.reads_document:
        [(_, translation)] = translator.translate_requests([request], search)
        return {m: translation.sentences[m] for m in chosen}
    work = _Work(translator, translator.prepare(request), search, finished or {})
    work.decode(m for m in work.prepared.segments_of(chosen) if m not in work.translations)
    return work.sentences(chosen)


def follow_correction(
    translator: Translator,
    document: Document,
    translations: Sequence[str | None],
    before: Sequence[str | None],
    after: Sequence[str | None],
    search: SearchConfig = SearchConfig(),
    *,
    glossary: Glossary | None = None,
    finished: Finished | None = None,
    again: Iterable[int] = (),
    cache: CopyCache | None = None,
) -> dict[int, SentenceTranslation]:
    """Translates the sentences again that may change if known translations change from `before` to `after`.

    `translations` are the present ones of the model, and `finished` their tokens; sentences without one are left out.
    The sentences in `again` are translated in any case, because their terms have changed. `cache` is that of the last
    correction of the document.
    Of the sentences that read a given translation that changed, those are translated in which it proposes other words,
    the 12 at most in which it does most. All sentences are translated whose hints say other words than before.
    """
    old, new = (translator.prepare(TranslationRequest(document, known, glossary=glossary)) for known in (before, after))
    texts = {m: text for m, text in enumerate(translations) if text is not None}
    unknown = [m for m in texts if m not in new.given]
    affected = {*again, *(m for m in unknown if m in old.given)}
    if old.given == new.given and not affected:
        return {}
    if translator.needs.reads_document:
        chosen = unknown if translator.needs.reads_own_translations else affected
        return translate_sentences(translator, document, chosen, search, known=after, glossary=glossary)
    if translator.needs.only_given_translations:
        shown = {m: texts[m] for m in unknown if m not in old.given and m not in affected}
        affected |= _linked(translator, old, new, shown, finished or {}, cache or CopyCache())
    work = _Work(translator, new, search, {m: ids for m, ids in (finished or {}).items() if m not in affected})
    read = _HintInputs(translator, old, _Work(translator, old, search, finished or {}).translations)
    return work.sentences(affected | work.follow_hints(read, affected, unknown))


@dataclass
class _Work:
    """A document of which some segments are translated."""

    translator: Translator
    prepared: Prepared
    search: SearchConfig
    finished: Finished

    def __post_init__(self) -> None:
        prepared = self.prepared
        given = self.translator.inputs.given_segments(prepared.given, prepared.segments)
        self.translations = _decoded(prepared, self.finished) | dict(given)
        """Known, finished and decoded hypotheses, by segment."""

    def decode(self, segments: Iterable[int]) -> None:
        """Decodes some segments, and those without a translation that their hints read."""
        inputs = self.translator.inputs
        wanted = inputs.with_referents(self.prepared, segments, self.translations)
        for rows, excerpt in inputs.excerpts(self.prepared, wanted, self.translations):
            [part] = self.translator.decoder([excerpt.example], self.search, known=[excerpt.known])
            self.translations.update(zip(rows, part.sentences, strict=False))

    def follow_hints(self, before: _HintInputs, affected: Iterable[int], sentences: Iterable[int]) -> set[int]:
        """Decodes the segments of `affected`, and those of `sentences` whose hints say other words than `before`.

        Returns the sentences decoded. Referents come before the sentences that read them, so that the loop ends.
        """
        owners = self.prepared.segments.sentence_indices(range(len(self.prepared.segments)))
        segments, waiting = self.prepared.segments_of(sentences), {*self.prepared.segments_of(affected)}
        inputs, decoded = _HintInputs(self.translator, self.prepared, self.translations), set[int]()
        read = {m: before.of(*inputs.place(m)) for m in segments}
        while waiting := waiting | {m for m in segments if inputs.of(*inputs.place(m)) != read[m]}:
            for m in waiting:
                self.translations.pop(m, None)
            self.decode(waiting)
            decoded |= waiting
            read |= {m: inputs.of(*inputs.place(m)) for m in waiting}
            waiting = set()
        return {owners[m] for m in decoded}

    def sentences(self, chosen: Iterable[int]) -> dict[int, SentenceTranslation]:
        """Returns some sentences of the document, all of whose segments have a translation."""
        chosen, segments = sorted({*chosen}), self.prepared.segments
        if not chosen:
            return {}
        # Other sentences are not read, so that any translation will do.
        hypotheses = [self.translations.get(m) or [Hypothesis((), 0.0, 0.0)] for m in range(len(segments))]
        decoded = Decoded(hypotheses, [], 1)
        options = Options(self.search, "parallel", explain=False, tokens=BATCH_TOKENS)
        [result] = self.translator.with_terms([self.prepared], [decoded], options, chosen)
        translated = self.translator.sentences(self.prepared, result, self.search, chosen)
        return {
            m: replace(each, tokens=tuple(hypotheses[k][0].tokens for k in segments.of_sentence[m]))
            for m, each in self._with_quotes_of_document(decoded, translated).items()
        }

    def _with_quotes_of_document(
        self, decoded: Decoded, translated: Mapping[int, SentenceTranslation]
    ) -> dict[int, SentenceTranslation]:
        """Returns some translated sentences with the quotation marks of their whole document."""
        translator, segments, everything = self.translator, self.prepared.segments, dict[int, SentenceTranslation]()
        for m, source in enumerate(shown_texts(self.prepared.request.document)):
            if m in translated:
                everything[m] = translated[m]
            elif m not in self.prepared.given:
                texts = [translator.text(decoded.hypotheses[k][0], segments[k].source) for k in segments.of_sentence[m]]
                candidate = Candidate(restore(segments.join(texts, m), segments.stand_ins(m)), 0.0, 0.0)
                everything[m] = SentenceTranslation(source, candidate.text, (candidate,) if candidate.text else ())
        stand_ins = [segments.stand_ins(m) for m in everything]
        unified = dict(zip(everything, translator.with_same_quotes([*everything.values()], stand_ins), strict=True))
        return {m: unified[m] for m in translated}


class _HintInputs:
    """What the hints of each segment of a document say, or read; `translations` may change."""

    def __init__(self, translator: Translator, prepared: Prepared, translations: Known) -> None:
        self._segments, self._translations = prepared.segments, translations
        self._owners = prepared.segments.sentence_indices(range(len(prepared.segments)))
        self._hints: dict[int, list[Any]] = {}
        if translator.needs.hints:
            for shown, own in chunks(len(prepared.segments)):
                example, _ = translator.inputs.chunk(prepared, shown, translations)
                for hint in example.hints:
                    if (m := shown.start + hint.sentence) in own:
                        referent = None if hint.referent is None else (shown.start + hint.referent.sentence, hint)
                        self._hints.setdefault(m, []).append((hint.place, hint.ids, referent))

    def place(self, segment: int) -> tuple[int, int]:
        """Returns the sentence of a segment, and its place there: the same if other sentences are cut otherwise."""
        sentence = self._owners[segment]
        return sentence, segment - self._segments.of_sentence[sentence].start

    def of(self, sentence: int, part: int) -> list[Any]:
        """Returns what decides the hints of a segment: their places and words, or the translations that they read."""
        indices = self._segments.of_sentence[sentence]
        return [self._input(*hint) for hint in self._hints.get(indices.start + part, ())] if part < len(indices) else []

    def _input(self, place: int, ids: tuple[int, ...], referent: tuple[int, Any] | None) -> tuple[Any, ...]:
        if referent is None:
            return place, ids
        segment, hint = referent
        best = next(iter(self._translations.get(segment, ())), None)
        said = None if best is None else best.tokens
        return place, self.place(segment), hint.referent.head, hint.referent.determiner, said


def warm_up(translator: Translator, document: Document, finished: Finished) -> None:
    """Computes the states of translations that the first correction of a document needs, as many as are kept."""
    needs, room = translator.needs, CACHED_TOKENS
    texts = {m: "" for m, tokens in finished.items() if (room := room - sum(map(len, tokens))) >= 0}
    if needs.only_given_translations and not needs.reads_document and texts:
        _copied_mass(translator, translator.prepare(TranslationRequest(document)), texts, finished)
        with translator.model_lock:
            evict(translator.state_cache or {})


def _linked(
    translator: Translator,
    old: Prepared,
    new: Prepared,
    texts: Mapping[int, str],
    finished: Finished,
    cache: CopyCache,
) -> set[int]:
    """Returns the sentences in which given translations propose other words than before: where they do most."""
    keys = {m: finished.get(m) or text for m, text in texts.items()}
    before = cache.find(old, keys)
    missing = {m: text for m, text in texts.items() if m not in before}
    before |= _copied_mass(translator, old, missing, finished)
    after = _copied_mass(translator, new, texts, finished)
    cache.keep(new, keys, after)
    change = {m: _change(before[m], after[m]) for m in texts}
    return {*sorted((m for m in texts if change[m] >= MIN_CHANGE), key=lambda m: -change[m])[:MAX_AFFECTED]}


def _copied_mass(
    translator: Translator, prepared: Prepared, texts: Mapping[int, str], finished: Finished
) -> dict[int, Tensor]:
    """Returns the probability of copying [n, 2] at each token of some translations: that token, another token.

    These are the translations as they were decoded or, if that is not known, their finished texts.
    """
    parts: dict[int, list[Tensor]] = {m: [] for m in texts}
    inputs, config = translator.inputs, translator.model.config
    targets = _own(translator, prepared, texts) | _decoded(prepared, finished)
    owner = {m: sentence for sentence in texts for m in prepared.segments.of_sentence[sentence]}
    for rows, excerpt in inputs.excerpts(prepared, prepared.segments_of(texts), {}):
        known = [targets[m] for m in rows] + list(excerpt.known.values())
        target = [np.array([*best.tokens, config.transformer.eos]) for best, *_ in known]
        example = replace(excerpt.example, target=target, given=np.array([best.given for best, *_ in known]))
        with translator.model_lock, torch.inference_mode():
            batch = collate([prepare(example, config)], config.transformer.bos)
            batch = replace(batch.to(translator.model.device), state_cache=translator.state_cache)
            copies = translator.model.copies(batch)
        assert batch.target is not None
        assert batch.gold is not None
        sizes = batch.target.sentences.boundaries.diff().tolist()
        if copies is None:
            mass = torch.full((sum(sizes), 2), torch.nan)
        else:
            own = copies.probability_of(batch.gold)
            mass = torch.stack([own, copies.share - own], dim=1).cpu()
        for m, part in zip(rows, torch.split(mass, sizes), strict=True):
            parts[owner[m]].append(part)
    return {m: torch.cat([torch.zeros(0, 2), *each]) for m, each in parts.items()}


def _decoded(prepared: Prepared, finished: Finished) -> dict[int, list[Hypothesis]]:
    """Returns what was decoded before, by segment, without sentences that were cut otherwise or are given."""
    return {
        m: [Hypothesis(tuple(ids), 0.0, 0.0)]
        for sentence, tokens in finished.items()
        if sentence not in prepared.given and len(prepared.segments.of_sentence[sentence]) == len(tokens)
        for m, ids in zip(prepared.segments.of_sentence[sentence], tokens, strict=True)
    }


def _own(translator: Translator, prepared: Prepared, texts: Mapping[int, str]) -> dict[int, list[Hypothesis]]:
    """Returns translations of sentences as those of the model, by segment."""
    found = translator.inputs.given_segments(texts, prepared.segments)
    return {m: [replace(best, given=False)] for m, (best, *_) in found}


def _change(before: Tensor, after: Tensor) -> float:
    """Returns how much support a translation loses, or other tokens gain, at most; masses [n, 2] of copies."""
    gain = after - before
    return float(torch.cat([gain.new_zeros(1), -gain[:, 0], gain[:, 1]]).nan_to_num(torch.inf).max())


@dataclass(frozen=True)
class Explanation:
    """What the translation of a sentence read."""

    context: ContextWeights | None = None
    """Attention to other sentences; None if the model has no context attention, or does not see the sentence."""
    hints: tuple[HintUse, ...] = ()


def explain_sentence(
    translator: Translator,
    document: Document,
    sentence: int,
    translations: Sequence[str | None],
    *,
    known: Sequence[str | None] = (),
) -> Explanation:
    """Returns what the translation of a sentence read, given the `translations` of the document.

    `known` are those that the user supplied.
    """
    if translations[sentence] is None or translator.needs.reads_document:
        explained = translator.translate(document, known=translations, explain=True).sentences[sentence]
        return Explanation(explained.context, explained.hints)
    prepared, inputs = translator.prepare(TranslationRequest(document, known)), translator.inputs
    texts = {m: text for m, text in enumerate(translations) if text is not None}
    targets = _own(translator, prepared, texts)
    owners = prepared.segments.sentence_indices(range(len(prepared.segments)))
    weights: list[ContextWeights] = []
    hints: list[HintUse] = []
    for rows, excerpt in inputs.excerpts(prepared, prepared.segments_of([sentence]), targets):
        hypotheses = [targets[m] for m in rows] + list(excerpt.known.values())
        shown = [owners[m] for m in excerpt.origins if m < len(owners)]
        with translator.model_lock:
            example = with_filled_hints(translator.model, translator.tokenizer, excerpt.example, hypotheses)
            weights += context_weights_of(translator.model, translator.tokenizer, example, hypotheses, shown)[
                : len(rows)
            ]
        read = {place: prepared.segments[m].text for place, m in enumerate(rows)}
        found = hint_uses(example, translator.tokenizer, read, shown, owners)
        hints += [use for place in read for use in found.get(place, ())]
    return Explanation(ContextWeights.mean(weights), tuple(hints))
