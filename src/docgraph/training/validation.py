"""Validation on the dev split: the loss with the right and with the wrong context, the gates, and BLEU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from docgraph.corpus.batches import BatchBuilder
from docgraph.corpus.hints import CorpusHints
from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.target_context import ContextTranslations
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Memories
from docgraph.model.packing import windows
from docgraph.model.systems import context_needs
from docgraph.training.config import ValidationConfig
from docgraph.training.distributed import World
from docgraph.training.metrics import Record
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents

Span = tuple[int, int, int]
"""Consecutive sentences of a document: document, first sentence, one past the last."""
DonorPair = tuple[Span, Span | None]
"""A span, and as many sentences of another document, whose context is the wrong context of the first."""


class Validator:
    """Measures a model on the dev split; each process holds and measures its share of the documents."""

    def __init__(
        self,
        corpus: PreparedCorpus,
        config: ValidationConfig,
        model: ModelConfig,
        tokens: int,
        world: World,
        translations: ContextTranslations | None = None,
        hints: CorpusHints | None = None,
    ) -> None:
        """`tokens` is the batch size in target sub-words; with `translations`, the loss is also measured with them."""
        self.corpus, self.config, self.world, self.translations = corpus, config, world, translations
        self.builder = BatchBuilder(corpus, model, hints=hints)
        self.has_context = context_needs(model).memories
        counts = corpus.sizes.sentences[: config.documents].tolist()
        pairs = pair_with_donors(counts) if self.has_context else [((d, 0, n), None) for d, n in enumerate(counts) if n]
        groups = group_by_tokens(pairs, corpus.sizes.target_tokens.tolist(), tokens)
        self.batches = [self._build(group) for group in groups[world.rank :: world.size]]

    def _build(self, pairs: Sequence[DonorPair]) -> tuple[DocumentBatch, DocumentBatch | None, DocumentBatch | None]:
        """Returns batches of the sentences, of their donors, and of the sentences with translations as context."""
        spans, donors = np.array([span for span, _ in pairs]), [donor for _, donor in pairs if donor is not None]
        batch = self.builder(spans)
        assert batch is not None
        translated = replace(self.builder, translations=self.translations)(spans) if self.translations else None
        return batch, self.builder(np.array(donors)) if donors else None, translated

    @torch.no_grad()
    def loss(self, model: DocumentTransformer, check: Callable[[], None]) -> Record:
        """Returns the dev loss per target token; references are the target context.

        For a system with context also the loss with the context of another document, and the mean gate of each layer
        with context attention. With translations also the loss with them as target context. `check` is called between
        batches and may raise.
        """
        device = self.world.device
        sums = torch.zeros(4, dtype=torch.float64, device=device)
        gates: dict[str, list[float]] = {}
        for batch_on_host, donor, translated in self.batches:
            check()
            batch = batch_on_host.to(device)
            assert batch.gold is not None
            right = wrong = own = _nll(model, batch, model.memories(batch))
            if donor is not None:
                wrong = _nll(model, batch, model.memories(donor.to(device)))
            if translated is not None:
                own = _nll(model, batch, model.memories(translated.to(device)))
            sums += torch.stack([right, wrong, own, torch.full_like(right, len(batch.gold))])
            if self.has_context and not gates:
                gates = mean_gates(model, batch)
        self.world.all_reduce(sums)
        right_sum, wrong_sum, own_sum, tokens = sums.tolist()
        record: Record = {"nll": right_sum / tokens, "tokens": int(tokens)}
        if self.has_context:
            record |= {"wrong_context_nll": wrong_sum / tokens, "gates": gates}
        if self.translations is not None:
            record["own_context_nll"] = own_sum / tokens
        return record

    def bleu(self, model: DocumentTransformer, check: Callable[[], None]) -> tuple[Record, list[list[str]]]:
        """Returns BLEU (sacreBLEU's default) and the translations by document.

        References are detokenized sub-words, so the value is comparable within a run only.
        """
        from sacrebleu.metrics.bleu import BLEU

        tokenizer, count = self.corpus.tokenizer, len(self.corpus)
        mine = list(range(min(self.config.bleu_documents or count, count)))[self.world.rank :: self.world.size]
        examples = [self.builder.example(index) for index in mine]
        inputs = [DecoderInput(example) for example in examples]
        options = DecodingOptions(self.config.search, progress=lambda *_: check())
        decoded = decode_documents(model, tokenizer, inputs, options) if inputs else []
        texts = [[tokenizer.target.decode(best.tokens) for best, *_ in document.sentences] for document in decoded]
        references = [[tokenizer.target.decode(sentence) for sentence in example.target] for example in examples]
        documents = sorted(self.world.all_gather(list(zip(mine, texts, references, strict=True))))
        metric = BLEU()
        hypotheses = [sentence for _, text, _ in documents for sentence in text]
        gold = [sentence for _, _, reference in documents for sentence in reference]
        score = metric.corpus_score(hypotheses, [gold]).score
        return {"bleu": score, "bleu_signature": str(metric.get_signature())}, [text for _, text, _ in documents]


def pair_with_donors(counts: Sequence[int]) -> list[DonorPair]:
    """Pairs all sentences of documents of `counts` sentences with sentences of another document.

    The donor is the next document with enough sentences. If no document has enough, the longest other document lends
    its sentences repeatedly.
    """
    pairs: list[DonorPair] = []
    for document, count in enumerate(counts):
        others = [*range(document + 1, len(counts)), *range(document)]
        longest = max(others, key=lambda other: counts[other], default=document)
        donor = next((other for other in others if counts[other] >= count), longest)
        size = max(counts[donor], 1)
        for begin in range(0, count, size):
            length = min(size, count - begin)
            first = 0 if begin == 0 else size - length
            pairs.append(((document, begin, begin + length), (donor, first, first + length)))
    return pairs


def group_by_tokens(pairs: Sequence[DonorPair], sizes: Sequence[int], tokens: int) -> list[list[DonorPair]]:
    """Groups consecutive pairs so that the documents of a group have about `tokens` target sub-words (`sizes`)."""
    parts = windows([sizes[span[0]] for span, _ in pairs], tokens) if pairs else ()
    return [list(pairs[part.start : part.stop]) for part in parts]


def _nll(model: DocumentTransformer, batch: DocumentBatch, memories: Memories) -> Tensor:
    """Returns the summed negative log-likelihood of a batch.

    Calls the uncompiled `states`: the compiled one would be recompiled for the shapes of the dev split.
    """
    assert batch.gold is not None
    return model.loss(DocumentTransformer.states(model, batch, memories), batch.gold)[1]


def mean_gates(model: DocumentTransformer, batch: DocumentBatch) -> dict[str, list[float]]:
    """Returns the mean gate (lambda; 1 is closed) of each layer with context attention, by stack.

    The mean is over the tokens that see any context.
    """
    gates = {}
    for stack, recorder in model.inspect(batch).items():
        has_context = [attention.sum(-1) > 0 for attention in recorder.attention]
        means = [
            (gate.float() * mask).sum() / mask.sum() for gate, mask in zip(recorder.gates, has_context, strict=True)
        ]
        gates[stack] = torch.stack(means).tolist()
    return gates
