"""The parts of a model and their settings. Every ablation of the paper is a field here."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field

from docgraph.config import Count, Flag, Names, Rate, Share, Size, config_class

# A model folder can come from anywhere. These limits bound what is built before its weights are compared.
Vocabulary = Annotated[int, Field(strict=True, ge=1, le=2**24)]
Width = Annotated[int, Field(strict=True, ge=1, le=65_536)]
Layers = Annotated[int, Field(strict=True, ge=1, le=256)]
Positions = Annotated[int, Field(strict=True, ge=1, le=65_536)]
Extent = Annotated[int, Field(strict=True, ge=1, le=10_000)]
"""A number of sentences or words that a system reads."""


@config_class
class TransformerConfig:
    """The sentence-level Transformer (Base). The defaults are the base model of Vaswani et al. (2017)."""

    source_vocabulary: Vocabulary = 32000
    target_vocabulary: Vocabulary = 32000
    dimension: Width = 512
    feed_forward: Width = 2048
    heads: Size = 8
    encoder_layers: Layers = 6
    decoder_layers: Layers = 6
    dropout: Rate = 0.1
    activation: Literal["relu", "swish", "gelu"] = "relu"
    norm: Literal["post", "pre"] = "post"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_positions: Positions = 1024
    """Sub-words of the longest sentence."""
    share_embeddings: Literal["all", "target", "none"] = "all"
    """all: source, target and output use one matrix; target: target and output use one; none: three matrices."""
    scale_embeddings: Flag = True
    """Multiply embeddings by sqrt(dimension)."""
    output_bias: Flag = False
    embedding_norm: Flag = False
    """Apply LayerNorm to the embeddings."""
    pad: Count = 0
    bos: Count = 1
    eos: Count = 2

    def __post_init__(self) -> None:
        if self.dimension % self.heads:
            raise ValueError(f"dimension {self.dimension} is not a multiple of {self.heads} heads")
        if self.share_embeddings == "all" and self.source_vocabulary != self.target_vocabulary:
            raise ValueError("share_embeddings: all needs one joint vocabulary; set it to target or none")
        for name in ("pad", "bos", "eos"):
            if getattr(self, name) >= self.target_vocabulary:
                raise ValueError(f"'{name}' is {getattr(self, name)}; it must be below the vocabulary size")

    @property
    def never_generated(self) -> tuple[int, ...]:
        """Ids that a search must not generate: padding and begin-of-sentence (the same id in Marian models)."""
        return tuple(sorted({self.pad, self.bos}))


@config_class
class GraphConfig:
    """The document-graph encoder."""

    relations: Names = ("all",)
    layers: Layers = 2
    share_layers: Flag = True
    activation: Literal["tanh", "sigmoid", "relu"] = "tanh"
    residual: Flag = True
    """Add a residual connection and LayerNorm to each layer, as the authors' code does; the paper prints neither."""
    fusion: Literal["attention", "gating"] = "attention"
    dropout: Rate = 0.2
    nodes: Literal["sentence", "word", "both"] = "sentence"
    """Nodes the Transformer attends to: sentences of the document, words of the current sentence, or both."""
    sentence_embedding: Flag = True
    max_sentences: Extent = 512
    """Rows of the sentence-position embedding; later sentences use the last row."""


@config_class
class LinkedConfig:
    """Limits of the encoders `linked` and `pointer`, which read the most strongly linked words and sentences."""

    words: Extent = 48
    """Source words of other sentences."""
    sentences: Extent = 4
    """Earlier sentences whose translations are read."""
    length: Extent = 64
    """Sub-words read from the beginning of each of these translations."""
    own_weight: Share = 1.0
    """Factor of the weight that `pointer` gives to words of its own translations (user-supplied ones: 1); 0: ignore."""


@config_class
class ContextConfig:
    """A context encoder and its integration into the Transformer."""

    encoder: str = "docgraph"
    integration: Literal["hyb", "post", "pre"] = "hyb"
    sides: Literal["source", "target", "both"] = "both"
    gate: Literal["paper", "identity"] = "identity"
    """paper: lambda X + (1 - lambda) H_c; identity: X + (1 - lambda) H_c with a zero-initialised output projection."""
    dropout: Rate = 0.1
    heads: Size = 8
    previous: Extent = 2
    """Sentences before the current one that CTX, HAN and Unified read."""
    layers: Layers = 1
    """Layers of CTX's encoder and of each level of HM-GDC; in Unified, the layers of Base that read context."""
    graph: GraphConfig = field(default_factory=GraphConfig)
    linked: LinkedConfig = field(default_factory=LinkedConfig)


@config_class
class ConcatenationConfig:
    """Base over several sentences at once: 2-to-1, 2-to-2, k-to-1."""

    source: Extent = 2
    """Sentences of a source sequence: the current one comes last, after the sentences before it."""
    target: Extent = 1
    """Sentences of a target sequence; the last one is the translation."""
    separator: Size = 3
    """Token between sentences: the unknown piece, which sub-word models with byte fallback never produce."""

    def __post_init__(self) -> None:
        if self.target > self.source:
            raise ValueError(f"'target' is {self.target}, more than 'source', {self.source}; lower 'target'")


@config_class
class HintsConfig:
    """Hints that Base reads: translations of referents, inserted after words of the source sentence."""

    relations: Names = ("definition", "coreference")
    """definition: uses of a defined term, whose definition prints its translation; coreference: pronouns, whose
    antecedent has been translated; dictionary:en-fr: words of the embedded dictionary of that name; previous: the
    sentence before, in the source language, at the beginning of a short sentence."""
    separator: Size = 3
    """Token before and after a hint: the unknown piece, which sub-word models with byte fallback never produce."""
    dropout: Rate = 0.1
    """Share of the hints that training leaves out."""

    def __post_init__(self) -> None:
        for name in self.relations:
            if name not in ("definition", "coreference", "previous") and not name.startswith("dictionary:"):
                known = "definition, coreference, previous or dictionary:NAME"
                raise ValueError(f"there are no hints by '{name}'; choose {known}")


FreezePolicy = Literal["base", "base_but_embeddings", "none"]


@config_class
class ModelConfig:
    """A system: the Transformer and, unless the system is Base, its context."""

    transformer: TransformerConfig = field(default_factory=TransformerConfig)
    context: ContextConfig | None = None
    freeze: FreezePolicy = "base"
    """What stage 2 does not train: all of Base; Base without its embeddings (as the authors' code); or nothing."""
    concatenation: ConcatenationConfig | None = None
    """Base reads several sentences at once; excludes `context`."""
    hints: HintsConfig | None = None
    """Base reads hints; excludes `concatenation`, and context on the source side."""

    def __post_init__(self) -> None:
        joined, base = self.concatenation, self.transformer
        if self.hints is not None and (joined is not None or (self.context and self.context.sides != "target")):
            raise ValueError("'hints' excludes 'concatenation' and context on the source side; remove one of them")
        if joined is not None and self.context is not None:
            raise ValueError("'concatenation' excludes 'context'; remove one of them")
        if joined is not None and (
            joined.separator in (base.pad, base.bos, base.eos)
            or joined.separator >= min(base.source_vocabulary, base.target_vocabulary)
        ):
            raise ValueError(f"'concatenation.separator' is {joined.separator}; name another token of the vocabulary")
        if self.context is not None and base.dimension % self.context.heads:
            raise ValueError(f"dimension {base.dimension} is not a multiple of {self.context.heads} context heads")
