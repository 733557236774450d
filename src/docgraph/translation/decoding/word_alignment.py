"""Word alignment of sentences with their translations, by the cross-attention of the model that translates.

One teacher-forced pass gives the attention of each target sub-word over the source. For words w of the source and v of
the translation, a(v, w) is the attention from v to w, as a share of what v attends to, and b(w, v) as a share of what w
receives. The translation of w is the word with the largest a(v, w) b(w, v), if it attends to no other word more.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from docgraph.document import Alignment, Document, Link
from docgraph.formats.atoms import as_characters
from docgraph.formats.base import ATOM_CHARACTERS
from docgraph.formats.markup_alignment import needs_alignment
from docgraph.formats.markup_positions import token_spans
from docgraph.model.attention import MultiHeadAttention, unmask_empty_rows
from docgraph.model.batch import DocumentExample, collate
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.packing import windows
from docgraph.model.tokenizer import Ids, Tokenizer, words_of_pieces
from docgraph.model.transformer import DecoderLayer

Span = tuple[int, int]
Matrix = npt.NDArray[np.float64]
WORD = re.compile(r"\w+(?:[-.]\w+)*")
"""A word of a translation; l'accord is two."""
_ATOM = re.compile(f"[{ATOM_CHARACTERS}]")
TOKENS = 1 << 12
"""Sub-words in a batch."""
MIN_WEIGHT = 0.02
"""Links with less weight are left out."""
MIN_SHARE = 0.15
"""Minimum a(v, w) of a translation: below, no single word translates w."""


@dataclass(frozen=True, eq=False)
class SubwordAttention:
    """Attention of the sub-words of a translation over those of its source."""

    weights: Matrix
    """[T, S]."""
    source_spans: Ids
    """[S, 2]: the characters of each source sub-word."""
    target_spans: Ids
    """[T, 2]."""

    def translations(self, words: Sequence[Span], text: str) -> list[Span | None]:
        """Returns the span of the translation of each source word, in `text`; None if there is none."""
        # The single letters of French elisions (l, d, s) translate nothing.
        targets = [match.span() for match in WORD.finditer(text) if len(match[0]) > 1 or not match[0].isalpha()]
        if not words or not targets:
            return [None] * len(words)
        joined = _by_word(_by_word(self.weights, self.target_spans, targets).T, self.source_spans, words).T
        forward = joined / np.maximum(joined.sum(1, keepdims=True), 1e-9)
        backward = joined / np.maximum(joined.sum(0, keepdims=True), 1e-9)
        product = forward * backward
        best = product.argmax(0)
        chosen = forward.argmax(1)
        found: list[Span | None] = []
        for word, place in enumerate(best.tolist()):
            is_aligned = chosen[place] == word and forward[place, word] >= MIN_SHARE
            found.append(targets[place] if is_aligned else None)
        return found

    def links(self, source: str, text: str) -> Alignment:
        """Returns the links between sub-words with letters or digits; those of a word of `text` sum to about 1."""
        columns, rows = _with_letters(source, self.source_spans), _with_letters(text, self.target_spans)
        if not columns or not rows:
            return ()
        weights = self.weights[np.ix_(rows, columns)]
        weights = weights / np.maximum(weights.sum(1, keepdims=True), 1e-9)
        # The last character of a sub-word stands for it: the first may be the space before its word.
        places, origins = self.target_spans[rows, 1] - 1, self.source_spans[columns, 1] - 1
        words = np.searchsorted([start for start, _ in token_spans(text)], places, side="right")
        weights /= np.bincount(words)[words][:, None]
        return tuple(
            Link(int(places[row]), int(origins[column]), float(weights[row, column]))
            for row, column in zip(*np.nonzero(weights >= MIN_WEIGHT), strict=True)
        )


@dataclass(frozen=True)
class _ExpandedText:
    """A text in which words that a model knows replace the private use characters of atoms (formats/atoms.py)."""

    text: str
    starts: list[int]
    """Where each character of the original text begins."""

    @classmethod
    def of(cls, text: str) -> _ExpandedText:
        """Returns a text with a stand-in (X1, X2, ...) for each private use character."""
        parts = [f"X{ord(char) % 1000 + 1}" if _ATOM.match(char) else char for char in text]
        return cls("".join(parts), [0, *itertools.accumulate(map(len, parts))][:-1])

    def original(self, position: int) -> int:
        """Returns the position in the original text."""
        return bisect_right(self.starts, position) - 1


def markup_alignments(
    document: Document,
    texts: Sequence[str],
    attention_of: Callable[[Sequence[str], Sequence[str]], list[SubwordAttention]],
) -> list[Alignment | None]:
    """Returns the alignments that are needed to place markup or subtitle breaks; None for other sentences.

    Their positions are those of `as_characters`. `attention_of` returns the attention of translations over sources.
    """
    shown = {m: as_characters(each, texts[m]) for m, each in enumerate(document) if each.markup}
    shown = {m: each for m, each in shown.items() if needs_alignment(each.sentence, each.text)}
    pairs = [(_ExpandedText.of(each.sentence.text), _ExpandedText.of(each.text)) for each in shown.values()]
    attention = attention_of([source.text for source, _ in pairs], [target.text for _, target in pairs])
    links = (_align(*pair, found) for pair, found in zip(pairs, attention, strict=True))
    aligned = dict(zip(shown, links, strict=True))
    return [aligned.get(m) for m in range(len(document))]


def _align(source: _ExpandedText, target: _ExpandedText, attention: SubwordAttention) -> Alignment:
    """Returns the links between two texts, by the attention between their expanded forms."""
    links = attention.links(source.text, target.text)
    return tuple(Link(target.original(each.target), source.original(each.source), each.weight) for each in links)


def _with_letters(text: str, spans: Ids) -> list[int]:
    return [n for n, (start, end) in enumerate(spans.tolist()) if any(map(str.isalnum, text[start:end]))]


def _by_word(rows: Matrix, spans: Ids, words: Sequence[Span]) -> Matrix:
    """Sums the rows [P, n] of the sub-words of each word -> [W, n]; sub-words of no word are left out."""
    starts, ends = (np.array(each) for each in zip(*words, strict=True))
    owner = words_of_pieces(spans, starts, ends)
    sums = np.zeros((len(words), rows.shape[1]))
    np.add.at(sums, owner[owner >= 0], rows[owner >= 0])
    return sums


@torch.inference_mode()
def subword_attention(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    tag: str | None = None,
) -> list[SubwordAttention]:
    """Returns the attention of each translation over its source, without context."""
    limit = model.config.transformer.max_positions
    encoded = [_truncate(*tokenizer.source.encode(text, tag), limit) for text in sources]
    decoded = [_truncate(*tokenizer.target.encode(text), limit) for text in targets]
    found: list[SubwordAttention] = []
    sizes = [max(len(source), len(target)) for (source, _), (target, _) in zip(encoded, decoded, strict=True)]
    for part in windows(sizes, TOKENS) if sizes else ():
        chosen = slice(part.start, part.stop)
        example = DocumentExample([ids for ids, _ in encoded[chosen]], [ids for ids, _ in decoded[chosen]])
        weights = cross_attention(model, example)
        for row, (source, source_spans), (target, target_spans) in zip(
            weights, encoded[chosen], decoded[chosen], strict=True
        ):
            matrix = row[: len(target), : len(source)].double().cpu().numpy()
            matrix[:, -1] = 0.0  # attention to the end of the sentence is attention to nothing
            found.append(SubwordAttention(matrix, source_spans, target_spans))
    return found


def _truncate(ids: Ids, spans: Ids, limit: int) -> tuple[Ids, Ids]:
    return (ids, spans) if len(ids) <= limit else (np.append(ids[: limit - 1], ids[-1]), spans[[*range(limit - 1), -1]])


@torch.inference_mode()
def cross_attention(model: DocumentTransformer, example: DocumentExample) -> Tensor:
    """Returns the attention of the target sub-words over the source in the aligning layers, without context.

    [B, Tt, Ts], the mean over heads; padded.
    """
    batch = collate([example], model.config.transformer.bos).to(model.device)
    source, target = batch.source, batch.target
    assert target is not None
    layers = [model.decoder.layers[index] for index in model.decoder.aligning_layers]
    seen: list[Tensor] = []

    def record(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        assert isinstance(module, MultiHeadAttention)
        queries, memory = target.sentences, source.sentences
        query = queries.pad(module.split(module.query(arguments[0]))).transpose(1, 2)
        key = memory.pad(module.project(arguments[1])[0]).transpose(1, 2)
        scores = ((query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)).float()
        visible = unmask_empty_rows(memory.mask[:, None, None, :])
        seen.append(scores.masked_fill(~visible, -torch.inf).softmax(-1).mean(1))

    attentions = [layer.cross_attention for layer in layers if isinstance(layer, DecoderLayer)]
    hooks = [attention.register_forward_pre_hook(record) for attention in attentions]
    try:
        embedded = model.embeddings(source.tokens, source.sentences.positions, "source")
        states = model.encoder(embedded, source.sentences)
        inputs = model.embeddings(target.tokens, target.sentences.positions, "target")
        model.decoder(inputs, states, target.sentences, source.sentences)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(seen).mean(0)
