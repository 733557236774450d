"""What a model makes of the dev split: its loss with the right and with the wrong context, its gates, its BLEU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from docgraph.corpus.loader import Builder
from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.target_context import Translations
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Memories
from docgraph.model.systems import context_needs
from docgraph.training.config import ValidationConfig
from docgraph.training.metrics import Record
from docgraph.training.world import World
from docgraph.translation.document_decoding import decode_documents

Piece = tuple[int, int, int]
"""Document, first sentence, one past the last."""
Pair = tuple[Piece, Piece | None]
"""Sentences, and as many of another document."""


class Validator:
    """The dev documents, read once; each process looks at its share of them."""

    def __init__(
        self,
        corpus: PreparedCorpus,
        config: ValidationConfig,
        model: ModelConfig,
        tokens: int,
        world: World,
        own: Translations | None = None,
    ) -> None:
        """`own` are translations of the split, to measure the loss with them as context too."""
        self.corpus, self.config, self.world, self.own = corpus, config, world, own
        self.builder, self.has_context = Builder(corpus, model), context_needs(model).memories
        counts = corpus.sizes.sentences[: config.documents].tolist()
        pairs = with_donors(counts) if self.has_context else [((d, 0, n), None) for d, n in enumerate(counts) if n]
        groups = grouped(pairs, corpus.sizes.target_tokens.tolist(), tokens)
        self.batches = [self._batches(group) for group in groups[world.rank :: world.size]]

    def _batches(self, pairs: Sequence[Pair]) -> tuple[DocumentBatch, DocumentBatch | None, DocumentBatch | None]:
        """The sentences to measure, as many of other documents, and the first again that see translations."""
        pieces, donors = np.array([piece for piece, _ in pairs]), [donor for _, donor in pairs if donor is not None]
        batch = self.builder(pieces)
        assert batch is not None
        own = None if self.own is None else replace(self.builder, translations=self.own)(pieces)
        return batch, self.builder(np.array(donors)) if donors else None, own

    @torch.no_grad()
    def loss(self, model: DocumentTransformer, check: Callable[[], None]) -> Record:
        """Dev loss a token; for a system with memories also with another document's, and the mean gate of each site.

        Target context are the references, and where there are translations then also these.

        `check` is called between batches and may raise. A gate is the mean of lambda over the tokens that see a memory.
        """
        device = self.world.device
        sums = torch.zeros(4, dtype=torch.float64, device=device)
        gates: dict[str, list[float]] = {}
        for host, donor, translated in self.batches:
            check()
            batch = host.to(device)
            assert batch.gold is not None
            right = wrong = own = _nll(model, batch, model.memories(batch))
            if donor is not None:
                wrong = _nll(model, batch, model.memories(donor.to(device)))
            if translated is not None:
                own = _nll(model, batch, model.memories(translated.to(device)))
            sums += torch.stack([right, wrong, own, torch.full_like(right, len(batch.gold))])
            if self.has_context and not gates:
                gates = mean_gates(model, batch)
        self.world.sum(sums)
        right_sum, wrong_sum, own_sum, tokens = sums.tolist()
        record: Record = {"nll": right_sum / tokens, "tokens": int(tokens)}
        if self.has_context:
            record |= {"wrong_context_nll": wrong_sum / tokens, "gates": gates}
        if self.own is not None:
            record["own_context_nll"] = own_sum / tokens
        return record

    def translate(self, model: DocumentTransformer, check: Callable[[], None]) -> tuple[Record, list[list[str]]]:
        """BLEU of real decoding (sacreBLEU's default, references as the sub-words spell them), and the translations."""
        from sacrebleu.metrics.bleu import BLEU

        tokenizer, count = self.corpus.tokenizer, len(self.corpus)
        mine = list(range(min(self.config.bleu_documents or count, count)))[self.world.rank :: self.world.size]
        examples = [self.builder.stored(index) for index in mine]
        search = self.config.search
        decoded = decode_documents(model, tokenizer, examples, search, progress=lambda *_: check()) if examples else []
        texts = [[tokenizer.target.decode(best.tokens) for best, *_ in document.sentences] for document in decoded]
        references = [[tokenizer.target.decode(sentence) for sentence in example.target] for example in examples]
        found = sorted(self.world.gather(list(zip(mine, texts, references, strict=True))))
        metric = BLEU()
        lines, gold = [s for _, text, _ in found for s in text], [s for _, _, text in found for s in text]
        score = metric.corpus_score(lines, [gold]).score
        return {"bleu": score, "bleu_signature": str(metric.get_signature())}, [entry[1] for entry in found]


def with_donors(counts: Sequence[int]) -> list[Pair]:
    """All sentences, by documents, each with one of another document whose context it can be given.

    The donor is the next document that is long enough; where none is, the longest other one lends its sentences again.
    """
    pairs: list[Pair] = []
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


def grouped(pairs: Sequence[Pair], sizes: Sequence[int], tokens: int) -> list[list[Pair]]:
    """Pairs in order, about `tokens` sub-words of their documents a group."""
    groups: list[list[Pair]] = []
    total = 0
    for pair in pairs:
        size = sizes[pair[0][0]]
        if not groups or total + size > tokens:
            groups.append([])
            total = 0
        groups[-1].append(pair)
        total += size
    return groups


def _nll(model: DocumentTransformer, batch: DocumentBatch, memories: Memories) -> Tensor:
    """Summed negative log-likelihood; not by the compiled parts, which would be compiled anew for this."""
    assert batch.gold is not None
    return model.loss(DocumentTransformer.states(model, batch, memories), batch.gold)[1]


def mean_gates(model: DocumentTransformer, batch: DocumentBatch) -> dict[str, list[float]]:
    """The mean gate (lambda; 1 is closed) of every site of the encoder and of the decoder."""
    gates = {}
    for stack, recorder in model.inspect(batch).items():
        seen = [attention.sum(-1) > 0 for attention in recorder.attention]
        means = [(gate.float() * s).sum() / s.sum() for gate, s in zip(recorder.gates, seen, strict=True)]
        gates[stack] = torch.stack(means).tolist()
    return gates
