"""CoWord dropout (Fernandes et al. 2021): hides words of the current sentence, so that its context is needed."""

from __future__ import annotations

from dataclasses import replace

import torch

from docgraph.model.batch import DocumentBatch, Side
from docgraph.model.config import TransformerConfig
from docgraph.model.tokenizer import SubwordCoder, Tokenizer
from docgraph.training.config import WordDropoutConfig


class WordDropout:
    """Replaces sub-words of the current sentences by the unknown piece; as context, the sentences stay unchanged."""

    def __init__(
        self, config: WordDropoutConfig, tokenizer: Tokenizer, transformer: TransformerConfig, device: torch.device
    ) -> None:
        self.config = config
        special = {transformer.pad, transformer.bos, transformer.eos}
        self.source = _SubwordReplacer(tokenizer.source, transformer.source_vocabulary, special, device)
        self.target = _SubwordReplacer(tokenizer.target, transformer.target_vocabulary, special, device)

    def __call__(self, batch: DocumentBatch) -> DocumentBatch:
        """Returns the batch with words replaced at random, drawn from the default generator of the device."""
        if self.config.source or self.config.target:
            batch = replace(batch, all_source=batch.context_source, all_target=batch.context_target)
        if self.config.source:
            batch = replace(batch, source=self.source(batch.source, self.config.source))
        if self.config.target and batch.target is not None:
            batch = replace(batch, target=self.target(batch.target, self.config.target))
        return batch


class _SubwordReplacer:
    """Replaces a share of the sub-words of one language; special tokens and tags are never replaced."""

    def __init__(self, coder: SubwordCoder, vocabulary: int, special: set[int], device: torch.device) -> None:
        self.unknown, _ = coder.special_pieces()
        self.replaceable = torch.ones(vocabulary, dtype=torch.bool, device=device)
        self.replaceable[[*special, *(coder.tag_id(tag) for tag in coder.tags)]] = False

    def __call__(self, side: Side, share: float) -> Side:
        tokens = side.tokens
        dropped = (torch.rand(len(tokens), device=tokens.device) < share) & self.replaceable[tokens]
        return replace(side, tokens=torch.where(dropped, self.unknown, tokens))
