"""Noise (Li et al. 2020): the system of the document graph over random words, to tell context from regularisation.

Every sentence is replaced by random words of the vocabulary, linked as a complete graph. Parameters and integration are
those of the document graph; of the document, only the number of its sentences is used. Training draws new words for
every batch. Evaluation uses fixed words for each position in a document.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, GraphInput
from docgraph.model.config import ModelConfig
from docgraph.model.graph_encoder import GraphStructure
from docgraph.model.memory import SlotMemory
from docgraph.model.sparse import CsrMatrix
from docgraph.model.systems import ContextNeeds, context_encoder
from docgraph.model.systems.docgraph import DocumentGraphContext
from docgraph.model.transformer import Base

WORDS = 16
"""Random words per sentence."""
SEED = 1


@context_encoder("noise")
class NoiseContext(DocumentGraphContext):
    """The document graph's encoder, fed with random words."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        transformer = config.transformer
        self.vocabulary = min(transformer.source_vocabulary, transformer.target_vocabulary)
        drawn = np.random.default_rng(SEED).integers(self.vocabulary, size=(self.config.graph.max_sentences, WORDS))
        self.fixed: Tensor
        self.register_buffer("fixed", torch.from_numpy(drawn), persistent=False)

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        """Declares no graph: random words replace it."""
        return replace(super().needs(config), relations=None, target_words=False)

    def source_memory(self, batch: DocumentBatch, base: Base) -> SlotMemory | None:
        """Returns the memory of a source graph of random words."""
        return super().source_memory(self.noisy(batch), base)

    def target_memory(self, batch: DocumentBatch, base: Base) -> SlotMemory | None:
        """Returns the memory of a target graph of random words."""
        return super().target_memory(self.noisy(batch), base)

    def noisy(self, batch: DocumentBatch) -> DocumentBatch:
        """Returns the batch with graphs of random words."""
        sentences, order = len(batch.places), batch.places % batch.slots.shape[1]
        if self.training:
            tokens = torch.randint(self.vocabulary, (sentences, WORDS), device=order.device)
        else:
            tokens = self.fixed[order.clamp(max=len(self.fixed) - 1)]
        offsets = torch.arange(sentences * WORDS + 1, device=order.device)
        structure = complete_structure(sentences, order.device)
        noise = GraphInput(tokens.flatten(), offsets, structure, offsets[:-1])
        return replace(batch, graph=noise, target_graph=None if batch.context_target is None else noise)


def complete_structure(sentences: int, device: torch.device) -> GraphStructure:
    """Returns complete graphs of WORDS words each, built on the device, unlike `target_structure`."""
    count = sentences * WORDS
    words = torch.arange(count, device=device)
    of_words, of_sentences = (torch.ones(size, 1, device=device) for size in (count, sentences))
    members = CsrMatrix(words, torch.arange(sentences + 1, device=device) * WORDS)
    scale_in = torch.cat([of_words * (WORDS - 1) ** -0.5, of_sentences * WORDS**-0.5])
    scale_out = torch.cat([of_words * WORDS**-0.5, of_sentences])
    mass_in = torch.cat([of_words, of_sentences * (WORDS / (WORDS - 1)) ** 0.5])
    mass_out = torch.cat([of_words * ((WORDS - 1) / WORDS + WORDS**-0.5), torch.zeros_like(of_sentences)])
    edges = (members, members)  # not read: complete sentences are summed without their edges
    sizes, columns = (count, sentences, WORDS), (scale_in, scale_out, mass_in, mass_out)
    return GraphStructure(*sizes, words // WORDS, members, *edges, *columns, complete=True)
