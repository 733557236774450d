"""DocumentTransformer: a system = Transformer x context encoder x integration."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from docgraph.model.batch import DocumentBatch
from docgraph.model.config import FreezePolicy, ModelConfig
from docgraph.model.integration import Integration, Recorder, SiteReader
from docgraph.model.kv_cache import DecoderCache
from docgraph.model.memory import Memories, Memory, Queries
from docgraph.model.output import ChunkLoss, DecoderOutput, chunk_loss, linear_cross_entropy
from docgraph.model.packing import Packing
from docgraph.model.systems import ContextEncoder, context_class
from docgraph.model.transformer import (
    Decoder,
    DecoderLayer,
    Embeddings,
    Encoder,
    Reader,
    no_context,
)


@dataclass(eq=False)
class DecodingState:
    """Hypotheses being extended: K rows for each of the sentences not yet finished."""

    cache: DecoderCache
    reader: Reader
    sentences: Tensor
    """[S'] int64, ascending: the sentences of the batch not yet finished."""
    beams: int
    document_of: Tensor
    """[S] int64: the document of every sentence of the batch."""
    num_documents: int

    def reorder(self, rows: Tensor) -> None:
        """Row r becomes what row rows[r] [R] was; rows only move among those of their sentence."""
        self.cache.reorder(rows)

    def select(self, keep: Tensor) -> None:
        """Keep only these of the unfinished sentences, by their places [S''], ascending."""
        self.cache.select(keep)
        self.sentences = self.sentences[keep]
        if isinstance(self.reader, SiteReader):
            self.reader = self.reader.for_queries(self.queries)

    @property
    def queries(self) -> Queries:
        return Queries.of_beams(self.sentences, self.beams, self.document_of, self.num_documents)


def _recalling(hidden: Tensor, reader: Reader) -> DecoderOutput:
    """Decoder states, and what is recalled in them."""
    recall = reader("output", 0)
    return DecoderOutput(hidden) if recall is None else DecoderOutput(hidden, recall(hidden))


class DocumentTransformer(nn.Module):
    """A Transformer that, unless it is Base, reads the memories of the documents it translates."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config.transformer)
        self.encoder = Encoder(config.transformer)
        self.decoder = Decoder(config.transformer)
        self.context: ContextEncoder = context_class(config)(config)
        self.integration: Integration | None = None
        self.chunk_loss = chunk_loss
        if config.context is not None:
            kinds = self.context.site, self.context.target_site
            self.integration = Integration(config, *kinds, self.context.output(config.transformer))

    @property
    def device(self) -> torch.device:
        return self.embeddings.target_table.weight.device

    def memories(self, batch: DocumentBatch) -> Memories:
        """The memories of the documents in a batch."""
        return self.context.memories(batch, self)

    def source_memory(self, batch: DocumentBatch) -> Memory | None:
        """What the source sentences in a batch offer; None for a system that does not read them."""
        return self.context.source_memory(batch, self)

    def target_memory(self, batch: DocumentBatch) -> Memory | None:
        """What the translations in a batch offer; None for a system that does not read them."""
        return self.context.target_memory(batch, self)

    def encode(self, batch: DocumentBatch, memories: Memories) -> Tensor:
        """Encoded source, [Ns, d]."""
        return self.encode_with(batch, self.encoder_reader(batch.source.queries, memories))

    def encode_with(self, batch: DocumentBatch, reader: Reader) -> Tensor:
        """Encoded source, [Ns, d], with what a reader gives at each place."""
        x, first = self.context.begin(batch, self)
        return self.encoder(x, batch.source.sentences, reader, first)

    def decode(self, batch: DocumentBatch, encoded: Tensor, memories: Memories) -> DecoderOutput:
        """What follows each token of the reference (teacher forcing), [Nt]."""
        side = batch.target
        assert side is not None, "the batch has no target side"
        reader = self.decoder_reader(side.queries, memories)
        return self.decode_with(side.tokens, encoded, side.sentences, batch.source.sentences, reader)

    def decode_with(
        self, tokens: Tensor, encoded: Tensor, target: Packing, source: Packing, reader: Reader
    ) -> DecoderOutput:
        """What follows each of N tokens, with what a reader gives at each place; encoded [Ns, d]."""
        embedded = self.embeddings(tokens, target.positions, "target")
        return _recalling(self.decoder(embedded, encoded, target, source, reader), reader)

    def states(self, batch: DocumentBatch, memories: Memories) -> DecoderOutput:
        """What follows each token of the reference, [Nt]: the part of a training step that is compiled whole."""
        return self.decode(batch, self.encode(batch, memories), memories)

    def loss(
        self, decoded: DecoderOutput, gold: Tensor, smoothing: float = 0.0, chunk_loss: ChunkLoss = chunk_loss
    ) -> tuple[Tensor, Tensor]:
        """Summed label-smoothed loss and summed negative log-likelihood of gold [N]."""
        output, pad = (self.embeddings.output_weight, self.embeddings.output_bias), self.config.transformer.pad
        return linear_cross_entropy(decoded.hidden, *output, gold, smoothing, pad, chunk_loss, decoded.copy_terms(gold))

    def scores(self, decoded: DecoderOutput) -> Tensor:
        """[N, V]: their softmax are the probabilities."""
        return self.embeddings.logits(decoded.hidden) if decoded.copies is None else self.log_probabilities(decoded)

    def log_probabilities(self, decoded: DecoderOutput, out: Tensor | None = None) -> Tensor:
        """[N, V] in fp32, in a tensor given or a new one."""
        found = torch.log_softmax(self.embeddings.logits(decoded.hidden).float(), -1, out=out)
        return found if decoded.copies is None else decoded.copies.mix_(found)

    def forward(self, batch: DocumentBatch, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """Summed label-smoothed loss and summed negative log-likelihood of the reference."""
        assert batch.gold is not None
        return self.loss(self.states(batch, self.memories(batch)), batch.gold, smoothing, self.chunk_loss)

    def logits(self, batch: DocumentBatch) -> Tensor:
        """Scores of every next token of the reference, [Nt, V]: for tests and small batches."""
        return self.scores(self.states(batch, self.memories(batch)))

    def encoder_reader(self, queries: Queries, memories: Memories) -> Reader:
        if self.integration is None:
            return no_context
        return self.integration.encoder_reader(memories.source, queries)

    def decoder_reader(self, queries: Queries, memories: Memories) -> Reader:
        if self.integration is None:
            return no_context
        return self.integration.decoder_reader(memories.source, memories.target, queries)

    def start(
        self,
        batch: DocumentBatch,
        encoded: Tensor,
        memories: Memories,
        beams: int,
        max_length: int,
        sentences: Tensor | None = None,
        reader: Reader | None = None,
    ) -> DecodingState:
        """Room for `beams` hypotheses a sentence, none of them begun; of `sentences` [S'] alone, ascending, if given.

        `reader` is that of an earlier start over the same memories, whose keys and values then serve again.
        """
        layers = [layer for layer in self.decoder.layers if isinstance(layer, DecoderLayer)]
        attentions = [layer.cross_attention for layer in layers]
        packing = batch.source.sentences
        if sentences is None:
            sentences = torch.arange(batch.num_sentences, device=encoded.device)
        else:
            encoded = encoded[packing.tokens_of(sentences)]
            packing = Packing.of_sentences(packing.boundaries.diff()[sentences], encoded.device)
        cache = DecoderCache(attentions, encoded, packing, beams, max_length)
        state = DecodingState(cache, no_context, sentences, beams, batch.document_of, batch.num_documents)
        if isinstance(reader, SiteReader):
            state.reader = reader.for_queries(state.queries)
        else:
            state.reader = self.decoder_reader(state.queries, memories)
        return state

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """The scores of what follows each row's newest token [R] -> [R, V]."""
        return self.scores(self.extend(tokens, state))

    def extend(self, tokens: Tensor, state: DecodingState) -> DecoderOutput:
        """What follows each row's newest token [R]."""
        embedded = self.embeddings(tokens, state.cache.positions(tokens), "target")
        return _recalling(self.decoder.step(embedded, state.cache, state.reader), state.reader)

    @torch.no_grad()
    def inspect(self, batch: DocumentBatch, memories: Memories | None = None) -> dict[str, Recorder]:
        """Attention over context and gates at every site of `encoder` and `decoder`, for a batch with references."""
        memories = self.memories(batch) if memories is None else memories
        side = batch.target
        assert side is not None
        # The weights are asked for, too.
        source, target = (replace(queries, fused=False) for queries in (batch.source.queries, side.queries))
        recorders: dict[str, Recorder] = {}
        reader = self.encoder_reader(source, memories)
        if isinstance(reader, SiteReader):
            reader = recorders["encoder"] = Recorder(reader)
        encoded = self.encode_with(batch, reader)
        reader = self.decoder_reader(target, memories)
        if isinstance(reader, SiteReader):
            reader = recorders["decoder"] = Recorder(reader)
        self.decode_with(side.tokens, encoded, side.sentences, batch.source.sentences, reader)
        return recorders

    def compile_parts(self, dynamic: bool = True) -> None:
        """Compile, in place, what a training step spends its time on: for batches of any sizes, or of one."""
        torch._dynamo.config.recompile_limit = 64
        self.states = torch.compile(self.states, dynamic=dynamic)  # type: ignore[method-assign]
        self.chunk_loss = torch.compile(chunk_loss, dynamic=dynamic)
        self.context.compile_parts(dynamic)

    def added_parameters(self) -> int:
        """Parameters beyond Base."""
        added = [module for module in (self.context, self.integration) if isinstance(module, nn.Module)]
        return sum(parameter.numel() for module in added for parameter in module.parameters())

    def freeze(self, policy: FreezePolicy) -> None:
        """Leave alone what the policy says; everything else trains."""
        self.requires_grad_(True)
        if policy == "none":
            return
        for module in (self.embeddings, self.encoder, self.decoder):
            module.requires_grad_(False)
        if policy == "base_but_embeddings":
            self.embeddings.requires_grad_(True)
