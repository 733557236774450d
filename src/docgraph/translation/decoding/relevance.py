"""Relevance: which of the given translations that are linked with a sentence are read.

In a long document, nearly every sentence is linked with a given translation, and a pointer copies a little from each.
Few of these copies matter. A sentence is first translated without given translations (its base translation). Each
linked translation is then judged on its own, by what the pointer would copy from it along the base translation:

- It *proposes* another word at a position if copies of other words have at least MIN_PROPOSAL of the probability
  there, and at least SHARE_OF_OWN times the probability of the base translation's word without copies.
- It is *recalled* at a position if copies of any words have at least MIN_RECALL of the probability there.

If no translation proposes a word, the base translation stays. Otherwise the sentence is translated again, and reads
the translations that propose a word, and those that are recalled where another one proposes a word. So a new given
translation changes only the sentences for which it is relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from docgraph.graph.selection import Selection
from docgraph.model.batch import DocumentExample, StateCache, collate
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.packing import split_by_size
from docgraph.model.systems import context_needs, prepare
from docgraph.translation.decoding.hypotheses import Hypothesis

MIN_PROPOSAL, SHARE_OF_OWN, MIN_RECALL = 0.02, 0.5, 0.2
"""With all other sentences given, BLEU is the same as with all linked translations: 66.7 and 66.8 in software help,
42.9 and 42.7 in web documentation."""
BATCH_TOKENS = 1 << 13
"""Sub-words of translations judged together."""
CACHED_TOKENS = 1 << 16
"""Sub-words of translations whose states stay in the cache for later documents."""
CACHED_SOURCE_TOKENS = 1 << 14
"""Sub-words of source sentences whose states stay in the cache: enough for a document under correction."""

Tokens = tuple[int, ...]
TranslatedSentence = tuple[Tokens, Tokens]
"""The sub-words of a sentence and of its translation, with end-of-sentence."""
Pair = tuple[TranslatedSentence, TranslatedSentence]
"""A sentence with its base translation, and a linked sentence with its given translation."""


@dataclass(frozen=True)
class Judgement:
    """The positions of a base translation where a given translation proposes another word, and where it is recalled."""

    proposed: frozenset[int]
    recalled: frozenset[int]


Judgements = dict[Pair, Judgement]


def judges_relevance(config: ModelConfig) -> bool:
    """Returns whether a model copies from given translations and computes nothing else from them."""
    needs = context_needs(config)
    return needs.only_given_translations and not needs.source


def linked_columns(config: ModelConfig) -> int:
    """Returns the number of columns of a selection before those of the translation memory."""
    assert config.context is not None
    return config.context.linked.sentences


def relevant_sentences(
    model: DocumentTransformer,
    document: DocumentExample,
    known: Mapping[int, Sequence[Hypothesis]],
    base: Mapping[int, Tokens],
    state_cache: StateCache | None = None,
    judged: Judgements | None = None,
) -> dict[int, list[int]]:
    """Returns, for each sentence in `base` that reads given translations, the sentences of these translations.

    `document` is prepared for the model; `known` are translations of its sentences, and `base` base translations.
    `judged` has judgements of earlier calls; new ones are added.
    """
    if document.selection is None or not judges_relevance(model.config):
        return {}
    columns, eos = document.selection.sentences[:, : linked_columns(model.config)], model.config.transformer.eos
    linked = {m: [other for other in columns[m].tolist() if other >= 0 and other in known] for m in base}
    source = {m: tuple(document.source[m].tolist()) for m in {*base}.union(*linked.values())}
    given = {m: (source[m], (*known[m][0].tokens, eos)) for m in set[int]().union(*linked.values())}
    pairs = {m: [((source[m], (*base[m], eos)), given[other]) for other in linked[m]] for m in base}
    judged = {} if judged is None else judged
    missing = [*dict.fromkeys(pair for own in pairs.values() for pair in own if pair not in judged)]
    for chosen in split_by_size(missing, BATCH_TOKENS, lambda pair: len(pair[0][1])):
        judged.update(zip(chosen, _judge(model, chosen, state_cache), strict=True))
    found = {}
    for m, own in pairs.items():
        judgements = [judged[pair] for pair in own]
        if proposed := frozenset[int]().union(*(each.proposed for each in judgements)):
            read = zip(linked[m], judgements, strict=True)
            found[m] = [other for other, each in read if each.proposed or each.recalled & proposed]
    return found


@torch.inference_mode()
def cache_states(model: DocumentTransformer, sentences: Sequence[TranslatedSentence], state_cache: StateCache) -> None:
    """Computes the states that judging translations of sentences needs."""
    for chosen in split_by_size(sentences, BATCH_TOKENS, lambda sentence: len(sentence[1])):
        source, target = ([np.array(each[side]) for each in chosen] for side in (0, 1))
        batch = collate([DocumentExample(source, target)], model.config.transformer.bos).to(model.device)
        model.context.output_states(replace(batch, state_cache=state_cache), model)


def evict(state_cache: StateCache) -> None:
    """Removes the least recently used states; those of sources and those of translations have separate room."""
    room = {1: CACHED_SOURCE_TOKENS, 2: CACHED_TOKENS}
    for ids in reversed(list(state_cache)):
        room[len(ids)] -= len(ids[-1])
        if room[len(ids)] < 0:
            del state_cache[ids]


@torch.inference_mode()
def _judge(model: DocumentTransformer, pairs: Sequence[Pair], state_cache: StateCache | None) -> list[Judgement]:
    """Returns the judgement of each pair, in one batch: an excerpt in which each sentence reads one translation."""
    config, given = model.config, list(dict.fromkeys(given for _, given in pairs))
    place_of = {each: len(pairs) + k for k, each in enumerate(given)}
    everything = [*(own for own, _ in pairs), *given]
    linked = np.full((len(everything), 1), -1, dtype=np.int32)
    linked[: len(pairs), 0] = [place_of[each] for _, each in pairs]
    example = DocumentExample(
        [np.array(source) for source, _ in everything],
        [np.array(translation) for _, translation in everything],
        window=range(len(pairs)),
        selection=Selection(np.full((len(everything), 0), -1, dtype=np.int32), linked),
        given=np.arange(len(everything)) >= len(pairs),
        ahead=True,
    )
    batch = collate([prepare(example, config)], config.transformer.bos).to(model.device)
    batch = replace(batch, state_cache=state_cache if state_cache is not None else {})
    states, copies = model.context.output_states(batch, model), model.copies(batch)
    assert states is not None
    assert copies is not None
    assert batch.gold is not None
    assert batch.target is not None
    share = copies.share
    other = share - copies.probability_of(batch.gold)
    rows = (other >= MIN_PROPOSAL).nonzero()[:, 0]
    logits = model.embeddings.logits(states[rows]).float()
    own = logits.gather(1, batch.gold[rows, None])[:, 0].sub(logits.logsumexp(-1)).exp()
    proposed, recalled = other.new_zeros(2, len(other), dtype=torch.bool)
    proposed[rows[other[rows] >= SHARE_OF_OWN * own]] = True
    recalled[share >= MIN_RECALL] = True
    places: list[list[set[int]]] = [[set() for _ in pairs] for _ in range(2)]
    for found, rows in zip(places, (proposed, recalled), strict=True):
        chosen = rows.nonzero()[:, 0]
        packing = batch.target.sentences
        for k, place in zip(packing.sequence_of[chosen].tolist(), packing.positions[chosen].tolist(), strict=True):
            found[k].add(place)
    return [Judgement(frozenset(a), frozenset(b)) for a, b in zip(*places, strict=True)]
