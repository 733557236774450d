"""DocumentTransformer: a system, made of a Transformer, a context encoder and an integration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from docgraph.model.batch import DocumentBatch
from docgraph.model.config import FreezePolicy, ModelConfig
from docgraph.model.context_attention import AttentionRecorder, ContextReader, Integration
from docgraph.model.kv_cache import DecoderCache, JoinedCache
from docgraph.model.memory import Memories, Memory, Queries
from docgraph.model.output import ChunkLoss, CopyDistribution, DecoderOutput, chunk_loss, linear_cross_entropy
from docgraph.model.packing import Packing
from docgraph.model.systems import context_class
from docgraph.model.transformer import Decoder, DecoderLayer, Embeddings, Encoder, Reader, no_context


@dataclass(eq=False)
class DecodingState:
    """Hypotheses being extended: K rows for each unfinished sentence."""

    cache: DecoderCache
    reader: Reader
    sentences: Tensor
    """[S'] int64, ascending: the unfinished sentences of the batch."""
    beams: int
    document_of: Tensor
    """[S] int64: the document of every sentence of the batch."""
    num_documents: int

    def reorder(self, rows: Tensor) -> None:
        """Replaces row r by row rows[r] [R], which must belong to the same sentence."""
        self.cache.reorder(rows)

    def select(self, keep: Tensor) -> None:
        """Keeps only some of the unfinished sentences, by their indices in `sentences` [S''], ascending."""
        self.cache.select(keep)
        self.sentences = self.sentences[keep]
        if isinstance(self.reader, ContextReader):
            self.reader = self.reader.for_queries(self.queries)

    @property
    def queries(self) -> Queries:
        """The rows as queries of memories."""
        return Queries.of_beams(self.sentences, self.beams, self.document_of, self.num_documents)


class DocumentTransformer(nn.Module):
    """A Transformer that, unless it is Base, reads memories of the documents it translates."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config.transformer)
        self.encoder = Encoder(config.transformer)
        self.decoder = Decoder(config.transformer)
        self.chunk_loss = chunk_loss
        context = self.context = context_class(config)(config)
        output = context.output(config.transformer)
        self.integration = Integration(config, context.attention, context.target_attention, output)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.embeddings.target_table.weight.device

    def memories(self, batch: DocumentBatch) -> Memories:
        """Returns the memories of the documents in a batch."""
        return self.context.memories(batch, self)

    def source_memory(self, batch: DocumentBatch) -> Memory | None:
        """Returns the memory of the source sentences in a batch; None for a system that does not read them."""
        return self.context.source_memory(batch, self)

    def target_memory(self, batch: DocumentBatch) -> Memory | None:
        """Returns the memory of the translations in a batch; None for a system that does not read them."""
        return self.context.target_memory(batch, self)

    def encode(self, batch: DocumentBatch, memories: Memories, reader: Reader | None = None) -> Tensor:
        """Returns the encoded source, [Ns, d]; `reader` replaces the reader of the memories."""
        reader = reader or self.integration.reader("encoder", memories, batch.source.queries)
        x, applied = self.context.begin(batch, self)
        return self.encoder(x, batch.source.sentences, reader, applied)

    def decode(self, batch: DocumentBatch, encoded: Tensor, memories: Memories) -> DecoderOutput:
        """Returns the decoder states that predict each reference token (teacher forcing), [Nt]."""
        side = batch.target
        assert side is not None, "the batch has no target side"
        reader = self.integration.reader("decoder", memories, side.queries)
        return self.decode_with(side.tokens, encoded, side.sentences, batch.source.sentences, reader)

    def decode_with(
        self, tokens: Tensor, encoded: Tensor, target: Packing, source: Packing, reader: Reader
    ) -> DecoderOutput:
        """Returns the decoder states after each of N tokens; encoded [Ns, d]."""
        embedded = self.embeddings(tokens, target.positions, "target")
        return _with_copies(self.decoder(embedded, encoded, target, source, reader), reader)

    def states(self, batch: DocumentBatch, memories: Memories) -> DecoderOutput:
        """Returns the decoder states that predict each reference token, [Nt]; training compiles this as a whole."""
        return self.decode(batch, self.encode(batch, memories), memories)

    def loss(
        self, decoded: DecoderOutput, gold: Tensor, smoothing: float = 0.0, chunk_loss: ChunkLoss = chunk_loss
    ) -> tuple[Tensor, Tensor]:
        """Returns summed label-smoothed loss and summed negative log-likelihood of gold [N]."""
        output, pad = (self.embeddings.output_weight, self.embeddings.output_bias), self.config.transformer.pad
        return linear_cross_entropy(decoded.hidden, *output, gold, smoothing, pad, chunk_loss, decoded.copy_terms(gold))

    def scores(self, decoded: DecoderOutput) -> Tensor:
        """Returns [N, V]: logits or, with copies, log-probabilities; a softmax gives probabilities in both cases."""
        return self.embeddings.logits(decoded.hidden) if decoded.copies is None else self.log_probabilities(decoded)

    def log_probabilities(self, decoded: DecoderOutput, out: Tensor | None = None) -> Tensor:
        """Returns log-probabilities [N, V] in fp32, written to `out` if it is given."""
        base = torch.log_softmax(self.embeddings.logits(decoded.hidden).float(), -1, out=out)
        return base if decoded.copies is None else decoded.copies.mix_(base)

    def forward(self, batch: DocumentBatch, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """Returns the summed label-smoothed loss and the summed negative log-likelihood of the references.

        Each sentence is translated given the graphs of its document: P(Y | X) = prod_m P(Y^m | X^m, G) (equation 3).
        """
        assert batch.gold is not None
        return self.loss(self.states(batch, self.memories(batch)), batch.gold, smoothing, self.chunk_loss)

    def logits(self, batch: DocumentBatch) -> Tensor:
        """Scores of every reference token, [Nt, V]; for tests and small batches."""
        return self.scores(self.states(batch, self.memories(batch)))

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
        """Returns a state with room for `beams` hypotheses of each sentence, of all or of `sentences` [S'] (ascending).

        `reader` is that of an earlier start with the same memories; their keys and values are reused.
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
        if isinstance(reader, ContextReader):
            state.reader = reader.for_queries(state.queries)
        else:
            state.reader = self.integration.reader("decoder", memories, state.queries)
        return state

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Scores after the newest token of each row: [R] -> [R, V]."""
        return self.scores(self.extend(tokens, state))

    def extend(self, tokens: Tensor, state: DecodingState) -> DecoderOutput:
        """Returns decoder states after the newest token of each row, [R]; appends to the cache."""
        embedded = self.embeddings(tokens, state.cache.positions(tokens), "target")
        return _with_copies(self.decoder.step(embedded, state.cache, state.reader), state.reader)

    def extend_all(self, tokens: Sequence[Tensor], states: Sequence[DecodingState]) -> DecoderOutput:
        """Extends several states that read no memories in one step; their rows follow each other."""
        positions = [state.cache.positions(own) for state, own in zip(states, tokens, strict=True)]
        embedded = self.embeddings(torch.cat([*tokens]), torch.cat(positions), "target")
        return DecoderOutput(self.decoder.step(embedded, JoinedCache([state.cache for state in states])))

    @torch.no_grad()
    def inspect(self, batch: DocumentBatch, memories: Memories | None = None) -> dict[str, AttentionRecorder]:
        """Returns attention over context, and gates, of every layer with context attention, with teacher forcing."""
        memories = self.memories(batch) if memories is None else memories
        side = batch.target
        assert side is not None
        # Fused kernels do not return attention weights.
        source, target = (replace(queries, fused=False) for queries in (batch.source.queries, side.queries))
        readers = {
            "encoder": self.integration.reader("encoder", memories, source),
            "decoder": self.integration.reader("decoder", memories, target),
        }
        recorders = {stack: AttentionRecorder(r) for stack, r in readers.items() if isinstance(r, ContextReader)}
        readers.update(recorders)
        encoded = self.encode(batch, memories, readers["encoder"])
        self.decode_with(side.tokens, encoded, side.sentences, batch.source.sentences, readers["decoder"])
        return recorders

    @torch.no_grad()
    def copies(self, batch: DocumentBatch) -> CopyDistribution | None:
        """Returns the tokens that the output copies from other translations at each reference token, [Nt].

        None if the output copies nothing, or if the states that read the memory depend on the context.
        """
        states = self.context.output_states(batch, self)
        if states is None or batch.target is None:
            return None
        memories = Memories(target=self.target_memory(batch))
        layer = self.integration.reader("decoder", memories, batch.target.queries)("output", 0)
        if layer is None:
            nothing = states.new_zeros(len(states), 0)
            return CopyDistribution(nothing.long(), nothing.float())
        return layer(states)

    def compile_parts(self, dynamic: bool = True) -> None:
        """Compiles the costly parts of a training step in place; `dynamic` for batches of different sizes."""
        torch._dynamo.config.recompile_limit = 64
        self.states = torch.compile(self.states, dynamic=dynamic)  # type: ignore[method-assign]
        self.chunk_loss = torch.compile(chunk_loss, dynamic=dynamic)
        if self.config.context is not None:
            self.context.compile_parts(dynamic)

    def added_parameters(self) -> int:
        """Returns the number of parameters beyond Base."""
        return sum(p.numel() for module in (self.context, self.integration) for p in module.parameters())

    def freeze(self, policy: FreezePolicy) -> None:
        """Freezes the parameters that the policy names; all others train."""
        self.requires_grad_(True)
        if policy == "none":
            return
        for module in (self.embeddings, self.encoder, self.decoder):
            module.requires_grad_(False)
        if policy == "base_but_embeddings":
            self.embeddings.requires_grad_(True)


def _with_copies(hidden: Tensor, reader: Reader) -> DecoderOutput:
    """Returns decoder states, with copies from a memory if there is a context layer at the output."""
    pointer = reader("output", 0)
    return DecoderOutput(hidden) if pointer is None else DecoderOutput(hidden, pointer(hidden))
