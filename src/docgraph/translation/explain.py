"""Explanations: how much a translation attended to the other sentences of its document, and which hints it read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.context_attention import AttentionRecorder
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import Hint, Ids
from docgraph.model.memory import Memories
from docgraph.model.packing import Packing, windows
from docgraph.model.systems import SideName, prepare
from docgraph.model.tokenizer import SubwordCoder, Tokenizer, words_by_space
from docgraph.translation.decoding.hints import with_filled_hints
from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.decoding.relevance import judges_relevance, linked_columns, relevant_sentences
from docgraph.translation.model_input import FinishedSentences, TranslationRequest
from docgraph.translation.result import HintUse
from docgraph.translation.text.normalization import Normalizer
from docgraph.translation.text.preprocessing import Segment

if TYPE_CHECKING:
    from docgraph.translation.translator import Translator

CELLS = 1 << 22
"""Maximum of (sub-words inspected at once) x (sentences of their document): each layer records a number for each."""
_AROUND_WORDS = ' .,;:!?…"()«»\u00a0\u202f'
MOST = 8
"""Context sentences reported for each sentence, those with the most attention."""
Weights = dict[int, float]


@dataclass(frozen=True)
class ContextWeights:
    """The attention of a sentence to other sentences of its document, as means over sub-words, heads and layers."""

    source: Weights
    """Attention to the source of each sentence, the largest first."""
    target: Weights
    """Attention to the translation of each sentence, the largest first."""
    gate: float
    """The mean gate: 1 if it lets no context in, 0 if it lets everything in."""

    def without(self, sentence: int) -> ContextWeights:
        """Returns the weights without those of one sentence."""
        source, target = ({m: w for m, w in each.items() if m != sentence} for each in (self.source, self.target))
        return replace(self, source=source, target=target)

    @classmethod
    def mean(cls, parts: Sequence[ContextWeights]) -> ContextWeights | None:
        """Returns the mean of the weights of the parts of a sentence; None for no parts."""
        if len(parts) < 2:
            return parts[0] if parts else None
        source, target = ([getattr(each, side) for each in parts] for side in ("source", "target"))
        return cls(_mean(source), _mean(target), sum(each.gate for each in parts) / len(parts))


def _mean(weights: Sequence[Weights]) -> Weights:
    sums = Counter[int]()
    for each in weights:
        sums.update(each)
    return {sentence: total / len(weights) for sentence, total in sums.most_common(MOST)}


@dataclass(frozen=True)
class Explanation:
    """The context and hints that the translation of a sentence read."""

    context: ContextWeights | None = None
    """Attention to other sentences; None if the model has no context attention or does not read the sentence."""
    hints: tuple[HintUse, ...] = ()


def explain_sentence(
    translator: Translator,
    request: TranslationRequest,
    sentence: int,
    translations: Sequence[str | None],
    *,
    finished: FinishedSentences | None = None,
) -> Explanation:
    """Returns the context and hints that the translation of a sentence read, given the `translations` of the document.

    `finished` has the hypotheses that the model decoded.
    """
    if translations[sentence] is None or translator.needs.reads_document:
        explained = translator.translate(request.document, known=translations, explain=True).sentences[sentence]
        return Explanation(explained.context, explained.hints)
    prepared, inputs = translator.prepare(request), translator.input_builder
    texts = {m: text for m, text in enumerate(translations) if text is not None}
    first = prepared.finished_segments(finished or {})
    targets = {}
    for m, [given] in inputs.given_segments(texts, prepared.segments):
        best = replace(given, given=False)  # as if the model had decoded it
        if m in first:
            best = replace(best, base=first[m][0].base_tokens, looked_up=first[m][0].looked_up)
        targets[m] = [best]
    owners = prepared.segments.sentence_indices()
    weights: list[ContextWeights] = []
    hints: list[HintUse] = []
    for rows, document, origins in inputs.excerpts(prepared, prepared.segments_of([sentence]), targets):
        hypotheses = [targets[m] for m in rows] + list(document.known.values())
        shown = [owners[m] for m in origins if m < len(owners)]
        texts_read = {place: prepared.segments[m].text for place, m in enumerate(rows)}
        own, uses = explain_texts(translator, document.example, hypotheses, texts_read, shown, owners)
        weights += own[: len(rows)]
        for place, m in enumerate(rows):
            hints += [*paraphrase_uses(inputs.normalizer, prepared.segments[m]), *uses.get(place, ())]
    return Explanation(ContextWeights.mean(weights), tuple(hints))


@torch.inference_mode()
def context_weights(
    model: DocumentTransformer, document: DocumentExample, owners: Sequence[int], most: int = MOST
) -> list[ContextWeights]:
    """Returns the context weights of each of the P texts of a translated document, by one teacher-forced pass.

    owners [P] is the sentence that each text belongs to, and the key in the weights. Empty for a system without gates.
    """
    bos = model.config.transformer.bos
    if model.config.context is None or not document.source:
        return []
    document = prepare(document, model.config)
    everything = collate([document], bos).to(model.device)
    memories = model.memories(everything)
    sizes = [max(map(len, pair)) for pair in zip(document.source, document.target, strict=True)]
    owner = torch.tensor(owners, device=model.device)
    weights: list[ContextWeights] = []
    for window in windows(sizes, max(1, CELLS // len(sizes))):
        batch, part = everything, memories
        if len(window) < len(sizes):
            bare = replace(document, graph=None, source_words=(), target_words=(), window=window)
            batch = replace(collate([bare], bos).to(model.device), graph=everything.graph)
            part = Memories(*(each and each.of_sentences(window) for each in (memories.source, memories.target)))
        recorders = model.inspect(batch, part)
        if recorders:
            weights += _weights_of_batch(recorders, model, batch, owner, most)
    return weights


def explain_texts(
    translator: Translator,
    example: DocumentExample,
    hypotheses: Sequence[Sequence[Hypothesis]],
    texts: Mapping[int, str],
    owners: Sequence[int],
    document_owners: Sequence[int],
) -> tuple[list[ContextWeights], dict[int, list[HintUse]]]:
    """Returns the context weights of the texts of a model input, and what the hints of some `texts` contain, by index.

    The translation of a text is the first of its hypotheses. `owners` has the sentence of each text, and
    `document_owners` that of each text of the document, of which the model input may be an excerpt. Texts beyond
    `owners` are entries of a translation memory; attention to them is left out.
    """
    model, tokenizer = translator.model, translator.tokenizer
    with translator.model_lock:
        filled = with_filled_hints(model, tokenizer, example, hypotheses)
        target = [np.array([*best.tokens, model.config.transformer.eos]) for best, *_ in hypotheses]
        words = [words_by_space(tokenizer.target.pieces(ids)) for ids in target]
        given = np.array([best.given for best, *_ in hypotheses])
        document = replace(filled, target=target, target_words=words, given=given, window=None)
        if judges_relevance(model.config):
            document = _with_relevant(model, document, hypotheses)
        memory = max(owners, default=-1) + 1
        weights = context_weights(model, document, [*owners, *[memory] * (len(document.source) - len(owners))])
    uses = _hint_uses(filled, tokenizer, texts, owners, document_owners)
    return [each.without(memory) for each in weights], uses


def _with_relevant(
    model: DocumentTransformer, example: DocumentExample, hypotheses: Sequence[Sequence[Hypothesis]]
) -> DocumentExample:
    """Returns a document in which each sentence is only linked with the given translations that it reads."""
    printed = [hint for hint in example.hints if hint.referent is None]
    document = prepare(replace(example, hints=printed), model.config)
    assert document.selection is not None
    known = {m: found for m, found in enumerate(hypotheses) if found[0].given}
    base = {m: found[0].base_tokens for m, found in enumerate(hypotheses) if not found[0].given}
    sentences = document.selection.sentences.copy()
    sentences[:, : linked_columns(model.config)] = -1
    for m, others in relevant_sentences(model, document, known, base).items():
        sentences[m, : len(others)] = others
    selection = replace(document.selection, sentences=sentences)
    return replace(example, graph=None, source_words=(), selection=selection)


def _hint_uses(
    example: DocumentExample,
    tokenizer: Tokenizer,
    texts: Mapping[int, str],
    owners: Sequence[int],
    document_owners: Sequence[int],
) -> dict[int, list[HintUse]]:
    """Returns what the hints of some `texts` contain, by the index of the text; all hints are filled."""
    uses: dict[int, list[HintUse]] = {}
    for hint in example.hints:
        if hint.sentence in texts and hint.ids:
            sentence = None if hint.printed_in is None else document_owners[hint.printed_in]
            if hint.referent is not None:
                sentence = owners[hint.referent.sentence]
            coder = tokenizer.source if hint.relation == "previous" else tokenizer.target
            said = coder.decode(hint.ids).strip(_AROUND_WORDS)
            words = _hinted_words(hint, texts[hint.sentence], example.source[hint.sentence], tokenizer.source)
            uses.setdefault(hint.sentence, []).append(HintUse(words, said, sentence, hint.relation))
    return uses


def paraphrase_uses(normalizer: Normalizer, segment: Segment) -> list[HintUse]:
    """Returns the idioms of a segment that the model reads in plain words."""
    found = normalizer.paraphrases(segment.source)
    return [HintUse(words, shown, None, "paraphrase") for words, shown in found if shown in segment.text]


def _hinted_words(hint: Hint, text: str, source: Ids, coder: SubwordCoder) -> str:
    """Returns the words of a text that a hint refers to; empty for a hint at the beginning, about the whole text."""
    if hint.place == 0:
        return ""
    spans = coder.encode(text)[1].tolist()
    tags = len(source) - len(spans)  # come before the text
    return text[spans[hint.span[0] - tags][0] : spans[hint.span[-1] - tags][1]].strip()


def _weights_of_batch(
    recorders: dict[str, AttentionRecorder], model: DocumentTransformer, batch: DocumentBatch, owner: Tensor, most: int
) -> list[ContextWeights]:
    assert batch.target is not None
    packings = {"encoder": batch.source.sentences, "decoder": batch.target.sentences}
    sides: dict[SideName, list[Tensor]] = {"source": [], "target": []}
    for stack, recorder in recorders.items():
        side: SideName = "source" if stack == "encoder" or not model.context.reads_target else "target"
        columns = recorder.attention[0].shape[1]
        sentences = model.context.sentences_read(recorder.reader.memory, batch, side, columns)
        sides[side].append(_by_sentence(recorder, packings[stack], sentences, owner))
    gates = torch.stack([_mean_gate(recorder, packings[stack]) for stack, recorder in recorders.items()]).mean(0)
    own = owner[batch.index_of]
    source, target = (_strongest(parts, own, most) for parts in sides.values())
    return [ContextWeights(*each) for each in zip(source, target, gates.tolist(), strict=True)]


def _strongest(parts: Sequence[Tensor], own: Tensor, most: int) -> list[Weights]:
    """Returns the largest weights of each row of [S, M], the mean of `parts`, without the row's own sentence [S]."""
    if not parts:
        return [{} for _ in own]
    rows = torch.stack(list(parts)).mean(0).scatter(1, own[:, None], 0.0)
    weights, places = rows.topk(min(most, rows.shape[1]))
    pairs = zip(places.tolist(), weights.tolist(), strict=True)
    return [{m: w for m, w in zip(*row, strict=True) if w > 0} for row in pairs]


def _means(values: Tensor, packing: Packing) -> Tensor:
    """Means over the sub-words of each sentence: [N, ...] -> [S, ...]."""
    sums = values.new_zeros(packing.num_sequences, *values.shape[1:]).index_add_(0, packing.sequence_of, values)
    counts = packing.boundaries.diff().clamp(min=1).to(values.dtype)
    return sums / counts.view(-1, *[1] * (values.dim() - 1))


def _mean_gate(recorder: AttentionRecorder, packing: Packing) -> Tensor:
    """[S]: the mean over sub-words and layers."""
    return _means(torch.stack(recorder.gates, dim=1).float(), packing).mean(1)


def _by_sentence(recorder: AttentionRecorder, packing: Packing, texts: Tensor, owner: Tensor) -> Tensor:
    """[S, M]: attention to the M sentences of the document; column k of row s belongs to text texts[s, k], or -1."""
    columns = torch.stack([_means(attention.float(), packing) for attention in recorder.attention]).mean(0)
    known = torch.where(texts >= 0, columns, 0.0)
    return columns.new_zeros(len(columns), int(owner.max()) + 1).scatter_add_(1, owner[texts.clamp(min=0)], known)
