"""Translation with less context: every sentence as if the document were only the few sentences around it.

The rest is not masked but absent: the graph is that of the sentences left, for in the states of one cut out of the
whole document's graph the rest would still be felt. That is exact for every system, whatever it makes of its context.
Translations a sentence looks back at were made under the same restriction, those of the first sentences first. As in
`docgraph.translation.document_decoding`, all are decoded at once and again until nothing changes, with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from docgraph.model.batch import DocumentExample, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import context_class, context_needs, prepare
from docgraph.model.tokenizer import words_by_space
from docgraph.research.documents import Documents
from docgraph.translation.hypotheses import SearchConfig
from docgraph.translation.search import search

Place = tuple[int, int]
"""A document, and a sentence of it."""
Found = dict[Place, tuple[int, ...]]
"""Translations, in sub-words."""
CONTEXT_TOKENS = {"cpu": 1 << 15, "cuda": 1 << 18}
"""Source sub-words of what is left of documents, encoded together: few sentences of each are decoded."""


@dataclass(frozen=True, eq=False)
class _View:
    """A sentence and what is left of its document."""

    place: Place
    first: int
    """Where what is left begins."""
    example: DocumentExample

    @property
    def size(self) -> int:
        return sum(map(len, self.example.source))


@torch.inference_mode()
def decode_within(
    model: DocumentTransformer,
    documents: Documents,
    reach: int,
    config: SearchConfig = SearchConfig(),
    guess: Found | None = None,
    *,
    known: bool = False,
) -> Found:
    """All sentences, each with `reach` sentences of context before it and as many after it.

    A good guess, such as what was found with less context, saves passes and changes nothing else. With `known`, each
    sentence sees references of those before it in the place of their translations.
    """
    views = list(_views(model, documents, reach, known))
    if known:
        return dict(_decoded(model, documents, views, _references(documents), config))
    found = dict(guess or {})
    pending = views
    while pending:
        decoded = dict(_decoded(model, documents, pending, found, config))
        changed = {place for place, tokens in decoded.items() if found.get(place) != tokens}
        found |= decoded
        pending = []
        if context_needs(model.config).reads_own_translations:
            pending = [v for v in views if any((v.place[0], m) in changed for m in range(v.first, v.place[1]))]
    return found


def _references(documents: Documents) -> Found:
    numbered = enumerate(documents.documents)
    return {(number, m): tuple(ids[:-1].tolist()) for number, one in numbered for m, ids in enumerate(one.target)}


def _views(model: DocumentTransformer, documents: Documents, reach: int, known: bool) -> Iterator[_View]:
    for number, document in enumerate(documents.documents):
        for m in range(len(document)):
            left = range(max(0, m - reach), min(len(document), m + reach + 1))
            here = m - left.start
            given = np.arange(len(left)) < here if known else np.zeros(len(left), dtype=np.bool_)
            example = replace(document.part(left, model.config), target=(), target_words=(), given=given)
            example = prepare(example, model.config)
            yield _View((number, m), left.start, replace(example, window=range(here, here + 1)))


def _decoded(
    model: DocumentTransformer,
    documents: Documents,
    views: Sequence[_View],
    found: Found,
    config: SearchConfig,
) -> Iterator[tuple[Place, tuple[int, ...]]]:
    """The sentences of some views, with the translations found so far."""
    context, bos = context_class(model.config), model.config.transformer.bos
    for group in _groups(views, CONTEXT_TOKENS["cuda" if model.device.type == "cuda" else "cpu"]):
        examples = [_with_translations(view, documents, found) if found else view.example for view in group]
        batch = collate(examples, bos).to(model.device)
        memories = model.memories(batch)
        hypotheses = search(model, batch, model.encode(batch, memories), memories, config)
        for view, (best, *_) in zip(group, hypotheses, strict=True):
            yield view.place, context.translation(model.config, best.tokens)


def _with_translations(view: _View, documents: Documents, found: Found) -> DocumentExample:
    """The view with the translations before its sentence; those after it are empty, and nobody sees them."""
    (document, here), coder = view.place, documents.tokenizer.target
    places = range(view.first, view.first + len(view.example.source))
    targets = [np.array([*(found[document, m] if m < here else ()), coder.eos]) for m in places]
    words = [words_by_space(coder.pieces(target)) for target in targets]
    return replace(view.example, target=targets, target_words=words)


def _groups(views: Sequence[_View], most: int) -> Iterator[list[_View]]:
    """Consecutive views of at most so many source sub-words, or one."""
    group: list[_View] = []
    size = 0
    for view in views:
        if group and size + view.size > most:
            yield group
            group, size = [], 0
        group.append(view)
        size += view.size
    if group:
        yield group
