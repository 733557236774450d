"""What a model is made of: plain dataclasses, read strictly from JSON or YAML.

Every ablation of the paper is a field here. An unknown or misspelt field is an error that suggests the right name.
"""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from docgraph.errors import DocgraphError
from docgraph.settings import read_settings

T = TypeVar("T")


@dataclass(frozen=True)
class TransformerConfig:
    """The sentence-level model (Base); the defaults are Vaswani base."""

    source_vocabulary: int = 32000
    target_vocabulary: int = 32000
    dimension: int = 512
    feed_forward: int = 2048
    heads: int = 8
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float = 0.1
    activation: Literal["relu", "swish", "gelu"] = "relu"
    norm: Literal["post", "pre"] = "post"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_positions: int = 1024
    """Longest sentence in sub-words."""
    share_embeddings: Literal["all", "target", "none"] = "all"
    """all: source, target and output share one matrix; target: target and output do; none: three matrices."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(dimension)."""
    output_bias: bool = False
    embedding_norm: bool = False
    """LayerNorm on the embeddings."""
    pad: int = 0
    bos: int = 1
    eos: int = 2

    def __post_init__(self) -> None:
        _check_numbers(self)
        if self.dimension % self.heads:
            raise DocgraphError(f"dimension {self.dimension} is not a multiple of {self.heads} heads")
        if self.share_embeddings == "all" and self.source_vocabulary != self.target_vocabulary:
            raise DocgraphError("share_embeddings: all needs one joint vocabulary; set it to target or none")
        for name in ("pad", "bos", "eos"):
            if not 0 <= getattr(self, name) < self.target_vocabulary:
                raise DocgraphError(f"'{name}' is {getattr(self, name)}, outside the vocabulary; give it an id in it")

    @property
    def never_generated(self) -> tuple[int, ...]:
        """Tokens a search must not propose: padding and begin-of-sentence (one and the same in Marian's models)."""
        return tuple(sorted({self.pad, self.bos}))


@dataclass(frozen=True)
class GraphConfig:
    """The document-graph encoder."""

    relations: tuple[str, ...] = ("all",)
    layers: int = 2
    share_layers: bool = True
    activation: Literal["tanh", "sigmoid", "relu"] = "tanh"
    residual: bool = True
    """Residual connection and LayerNorm around each layer, as in the authors' code; the paper prints neither."""
    fusion: Literal["attention", "gating"] = "attention"
    dropout: float = 0.2
    nodes: Literal["sentence", "word", "both"] = "sentence"
    """Which nodes the translator attends to: sentences of the document, words of the current sentence, or both."""
    sentence_embedding: bool = True
    max_sentences: int = 512
    """Rows of the sentence-position embedding; later sentences share the last."""

    def __post_init__(self) -> None:
        _check_numbers(self)

    @classmethod
    def paper_literal(cls, **changes: Any) -> GraphConfig:
        """The encoder as printed: sigmoid, no residual, no LayerNorm."""
        return cls(**{"activation": "sigmoid", "residual": False, **changes})


@dataclass(frozen=True)
class LinkedConfig:
    """What the context encoders `linked` and `pointer` read, the most strongly linked first."""

    words: int = 48
    """Source words of other sentences."""
    sentences: int = 4
    """Earlier sentences whose translations are read."""
    length: int = 64
    """Sub-words read of each of them, from its beginning."""
    own_weight: float = 1.0
    """What `pointer` multiplies the weight of words by that stand in translations of its own, not in given ones;
    with 0 it does not read them."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        if not 0.0 <= self.own_weight <= 1.0:
            raise DocgraphError(f"'own_weight' is {self.own_weight}; it must be at least 0 and at most 1")


@dataclass(frozen=True)
class ContextConfig:
    """How a document's context reaches the Transformer: a context encoder and an integration."""

    encoder: str = "docgraph"
    integration: Literal["hyb", "post", "pre"] = "hyb"
    sides: Literal["source", "target", "both"] = "both"
    gate: Literal["paper", "identity"] = "identity"
    """paper: lambda X + (1 - lambda) H_c; identity: X + (1 - lambda) H_c with a zero-initialised output projection."""
    dropout: float = 0.1
    heads: int = 8
    previous: int = 2
    """Sentences before the current one that CTX, HAN and Unified read."""
    layers: int = 1
    """Layers of CTX's encoder, and of HM-GDC's at either level; in Unified, the layers of Base that see context."""
    graph: GraphConfig = field(default_factory=GraphConfig)
    linked: LinkedConfig = field(default_factory=LinkedConfig)

    def __post_init__(self) -> None:
        _check_numbers(self)


@dataclass(frozen=True)
class ConcatenationConfig:
    """Base over several sentences at once: 2-to-1, 2-to-2, k-to-1."""

    source: int = 2
    """Sentences of a source sequence: the current one, last, and those before it."""
    target: int = 1
    """Sentences of a translation, of which the last is kept."""
    separator: int = 3
    """The token between them: the unknown piece, which sub-words that fall back to bytes leave unused."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        if self.target > self.source:
            raise DocgraphError(f"{self.source} sentences cannot become {self.target}; raise 'concatenation.source'")


FreezePolicy = Literal["base", "base_but_embeddings", "none"]


@dataclass(frozen=True)
class ModelConfig:
    """A system: the Transformer and, unless it is Base, its context."""

    transformer: TransformerConfig = field(default_factory=TransformerConfig)
    context: ContextConfig | None = None
    freeze: FreezePolicy = "base"
    """What stage 2 leaves alone: the whole Base; all of it but the embeddings (the authors' code); or nothing."""
    concatenation: ConcatenationConfig | None = None
    """Base reads so many sentences at once, in place of a context."""

    def __post_init__(self) -> None:
        joined, base = self.concatenation, self.transformer
        if joined is not None and self.context is not None:
            raise DocgraphError("'concatenation' takes the place of 'context'; remove one of them")
        if joined is not None and (
            joined.separator in (base.pad, base.bos, base.eos)
            or joined.separator >= min(base.source_vocabulary, base.target_vocabulary)
        ):
            raise DocgraphError(
                f"'concatenation.separator' is {joined.separator}; name another token of the vocabulary"
            )
        if self.context is not None and self.transformer.dimension % self.context.heads:
            raise DocgraphError(
                f"dimension {self.transformer.dimension} is not a multiple of {self.context.heads} context heads"
            )


def _check_numbers(config: object) -> None:
    """Sizes are at least 1, dropout is a probability below 1; token ids are checked apart."""
    for entry in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(config, entry.name)
        if entry.name == "dropout" and not 0.0 <= value < 1.0:
            raise DocgraphError(f"'dropout' is {value}; it must be at least 0 and below 1")
        if type(value) is int and value < 1 and entry.name not in ("pad", "bos", "eos"):
            raise DocgraphError(f"'{entry.name}' is {value}; it must be at least 1")


def read_yaml(path: str | Path) -> ModelConfig:
    """The model a YAML file describes; fields left out have their defaults."""
    values = read_settings(path)
    try:
        return from_dict(ModelConfig, values)
    except DocgraphError as error:
        raise DocgraphError(str(error), path=path) from None


def from_dict(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """A config from nested mappings; unknown fields and wrong values are errors that name the field."""
    hints = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        place = f"{where}.{name}" if where else name
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the fields are {', '.join(names)}"
            raise DocgraphError(f"unknown field '{place}'; {hint}")
        arguments[name] = _convert(hints[name], value, place)
    return cls(**arguments)


def _convert(hint: Any, value: Any, place: str) -> Any:
    """`value` as the annotated type `hint`, or an error that names the field."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [option for option in arguments if option is not type(None)]
        return None if value is None else _convert(inner[0], value, place)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise DocgraphError(f"'{place}' must be a mapping of fields, not {value!r}")
        return from_dict(typing.cast(type, hint), value, place)
    if origin is Literal:
        if value not in arguments:
            raise DocgraphError(f"'{place}' is {value!r}; it must be one of {', '.join(map(str, arguments))}")
        return value
    if origin is tuple and dataclasses.is_dataclass(arguments[0]):
        entries = value if isinstance(value, list | tuple) else [value]
        return tuple(_convert(arguments[0], entry, f"{place}[{index}]") for index, entry in enumerate(entries))
    if origin is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise DocgraphError(f"'{place}' is {value!r}; it must be a list of names")
        return tuple(parts)
    if hint is float and isinstance(value, int | str) and not isinstance(value, bool):
        return _float(value, place)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise DocgraphError(f"'{place}' is {value!r}; it must be of type {hint.__name__}")
    return value


def _float(value: int | str, place: str) -> float:
    """A number; YAML takes 1e-4, without a point, for a string."""
    try:
        return float(value)
    except ValueError:
        raise DocgraphError(f"'{place}' is {value!r}; it must be of type float") from None


def to_dict(config: Any) -> dict[str, Any]:
    """Nested plain values, as JSON and YAML take them."""
    return dataclasses.asdict(config)
