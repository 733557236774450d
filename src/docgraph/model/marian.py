"""Converts Hugging Face Marian checkpoints (OPUS-MT) to docgraph model folders, without `transformers`.

The architecture is the post-norm Transformer of Vaswani et al. (2017) with sinusoidal positions, an output bias and
usually one shared embedding matrix. Decoding starts with the padding token, which becomes our begin-of-sentence.

Marian itself has no padding token: Hugging Face's converter appends one with zero weights. Its logit of 0 takes part of
the probability mass, a different part in each state, so that beams are ranked wrongly unless it is left out of the
softmax (`renormalize_logits` in Hugging Face's generation settings). The import leaves it out by `NO_LOGIT`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.model.checkpoint import blank, check_tensors, save
from docgraph.model.config import ModelConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import Precision
from docgraph.model.tokenizer import Tokenizer
from docgraph.model.transformer import sinusoids

ACTIVATIONS: dict[str, Literal["swish", "gelu", "relu"]] = {
    "swish": "swish",
    "silu": "swish",
    "gelu": "gelu",
    "relu": "relu",
}
NEEDED = ("config.json", "source.spm", "target.spm", "vocab.json")
OPTIONAL = ("target_vocab.json",)
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
TABLES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
SHARED, SOURCE, TARGET, OUTPUT = TABLES
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
BIAS = "final_logits_bias"
NO_LOGIT = -100.0
"""Output bias of the padding token: its probability is below 1e-30 beside the logits of trained models."""

ENCODER_PARTS = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "around_attention.norm": "self_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "around_feed_forward.norm": "final_layer_norm",
}
DECODER_PARTS = {
    **ENCODER_PARTS,
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "around_cross.norm": "encoder_attn_layer_norm",
}
PAIR = re.compile(r"opus-mt-(?:tc-big-)?([a-z]{2})-([a-z]{2})$")
"""OPUS-MT model names that contain two language codes; models of language groups do not match."""


def import_marian(
    source: str, folder: str | Path, precision: Precision = "float32", tag: str | None = None
) -> DocumentTransformer:
    """Converts a local Marian folder, or a model of the Hub, into a model folder and returns the model.

    `tag` selects the target language of a multilingual model, such as >>cmn_Hans<<.
    """
    place = find_source(source)
    config = marian_config(_read_json(place / "config.json"), place / "config.json")
    tokenizer = Tokenizer.load(place, config)
    if tag is not None:
        tokenizer.source.tag_id(tag)
    weights = next((place / name for name in WEIGHTS if (place / name).is_file()), None)
    if weights is None:
        raise DocgraphError(f"the folder has neither {WEIGHTS[0]} nor {WEIGHTS[1]}; download it again", path=place)
    state = convert_weights(_read_weights(weights), config, weights)
    check_tensors(blank(ModelConfig(config), "meta").state_dict(), state, weights)
    model = blank(ModelConfig(config))
    model.load_state_dict(state)
    files = [place / name for name in (*NEEDED, *OPTIONAL) if name != "config.json" and (place / name).is_file()]
    languages = _languages(Path(source), place / "tokenizer_config.json")
    save(model, folder, files, precision, languages=languages, tag=tag)
    return model.eval()


def _languages(source: Path, settings: Path) -> tuple[str, str] | None:
    """Returns the languages in the name of a model or, failing that, in the settings of its tokenizer."""
    if pair := PAIR.search(source.resolve().name):
        return pair[1], pair[2]
    values = _read_json(settings) if settings.is_file() else {}
    codes = [str(values.get(f"{side}_lang")) for side in ("source", "target")]
    return (codes[0], codes[1]) if all(re.fullmatch("[a-z]{2}", code) for code in codes) else None


def marian_config(values: Mapping[str, Any], path: Path) -> TransformerConfig:
    """Converts a Marian config; settings that our Transformer does not have are an error."""

    def refuse(what: str) -> DocgraphError:
        return DocgraphError(f"{what}; docgraph cannot import this model, choose another", path=path)

    if values.get("model_type") != "marian":
        raise DocgraphError(
            f"the model is of type {values.get('model_type')!r}, not marian; choose a Marian model", path=path
        )
    for part in ("ffn_dim", "attention_heads"):
        if values.get(f"encoder_{part}") != values.get(f"decoder_{part}"):
            raise refuse(f"encoder_{part} and decoder_{part} differ")
    for field in ("normalize_embedding", "normalize_before", "add_final_layer_norm"):
        if values.get(field):
            raise refuse(f"{field} is set")
    activation = ACTIVATIONS.get(str(values.get("activation_function")))
    if activation is None:
        raise refuse(f"the activation {values.get('activation_function')!r} is unknown")
    vocabulary, shared = values.get("vocab_size"), values.get("share_encoder_decoder_embeddings", True)
    tied = values.get("tie_word_embeddings", True)
    try:
        return TransformerConfig(
            source_vocabulary=_integer(vocabulary),
            target_vocabulary=_integer(vocabulary if shared else values.get("decoder_vocab_size") or vocabulary),
            dimension=_integer(values.get("d_model")),
            feed_forward=_integer(values.get("encoder_ffn_dim")),
            heads=_integer(values.get("encoder_attention_heads")),
            encoder_layers=_integer(values.get("encoder_layers")),
            decoder_layers=_integer(values.get("decoder_layers")),
            dropout=float(values.get("dropout", 0.1)),
            activation=activation,
            # Sinusoids are defined beyond the positions that the checkpoint lists.
            max_positions=max(_integer(values.get("max_position_embeddings", 512)), 1024),
            share_embeddings="none" if not tied else "all" if shared else "target",
            scale_embeddings=bool(values.get("scale_embedding", False)),
            output_bias=True,
            pad=_integer(values.get("pad_token_id")),
            bos=_integer(values.get("decoder_start_token_id")),
            eos=_integer(values.get("eos_token_id")),
        )
    except (TypeError, ValueError, DocgraphError) as error:
        raise refuse(f"the config lacks a number or has a wrong one ({error})") from None


def convert_weights(tensors: Mapping[str, Tensor], config: TransformerConfig, path: Path) -> dict[str, Tensor]:
    """Converts Marian's tensors to the state dict of our model."""
    left = dict(tensors)
    tables = {name: left.pop(name) for name in TABLES if name in left}

    def table(*names: str) -> Tensor:
        """Returns the first of these tables that exists; tied tables may be stored under one name only."""
        found = next((tables[name] for name in names if name in tables), None)
        if found is None:
            raise DocgraphError(f"the weights lack '{names[0]}'; download the model again", path=path)
        return found

    state = {}
    if config.share_embeddings == "all":
        state["embeddings.target_table.weight"] = table(*TABLES)
    else:
        state["embeddings.source_table.weight"] = table(SOURCE, SHARED)
        own = (OUTPUT,) if config.share_embeddings == "target" else ()
        state["embeddings.target_table.weight"] = table(TARGET, *own, SHARED)
    if config.share_embeddings == "none":
        state["embeddings.output_table.weight"] = table(OUTPUT)
    bias = left.pop(BIAS, torch.zeros(config.target_vocabulary)).flatten().clone()
    bias[list(config.never_generated)] = NO_LOGIT
    state["embeddings.output_bias"] = bias
    for ours, theirs in _layer_names(config):
        if theirs not in left:
            raise DocgraphError(f"the weights lack '{theirs}'; download the model again", path=path)
        state[ours] = left.pop(theirs)
    for name in POSITIONS:
        stored = left.pop(name, None)
        if stored is not None and not torch.allclose(stored.float(), sinusoids(*stored.shape), atol=1e-3):
            raise DocgraphError(
                f"'{name}' is not sinusoidal; docgraph cannot import this model, choose another", path=path
            )
    if left:
        raise DocgraphError(f"'{min(left)}' is not a weight of a Marian Transformer; choose another model", path=path)
    return {name: tensor.float() for name, tensor in state.items()}


def _layer_names(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """Yields (our name, Marian's name) of every weight and bias of the layers."""
    stacks = (("encoder", config.encoder_layers, ENCODER_PARTS), ("decoder", config.decoder_layers, DECODER_PARTS))
    for stack, layers, parts in stacks:
        for layer in range(layers):
            for ours, theirs in parts.items():
                for kind in ("weight", "bias"):
                    yield f"{stack}.layers.{layer}.{ours}.{kind}", f"model.{stack}.layers.{layer}.{theirs}.{kind}"


def _integer(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is not an integer")
    return value


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise DocgraphError("this is not a JSON object; download the model again", path=path)
    return values


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        tensors = torch.load(path, map_location="cpu", weights_only=True)  # runs no code from the file
        if not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
            raise TypeError("not only tensors")
    except OSError:
        raise
    except Exception as error:  # damaged files raise many exception types
        what = f"this is not a whole file of plain weights ({type(error).__name__})"
        raise DocgraphError(f"{what}; download the model again", path=path) from None
    return dict(tensors)


def find_source(source: str) -> Path:
    """Returns the local folder `source`, or the download of a Hub model such as `Helsinki-NLP/opus-mt-en-fr`."""
    place = Path(source).expanduser()
    if not place.exists():
        return _download(source)
    missing = next((name for name in NEEDED if not (place / name).is_file()), None)
    if missing is not None:
        raise DocgraphError(f"the folder has no {missing}; download the model again", path=place)
    return place


def _download(name: str) -> Path:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name) or name.startswith("."):
        raise DocgraphError("there is no such folder; name one, or a model as OWNER/NAME", path=name)
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise DocgraphError(
            f"{name} is not a local folder, and downloading it needs huggingface_hub; pip install docgraph[hf]"
        ) from None
    patterns = [*NEEDED, *OPTIONAL, WEIGHTS[0]]
    try:
        place = Path(snapshot_download(name, allow_patterns=patterns))
        if not (place / WEIGHTS[0]).is_file():
            place = Path(snapshot_download(name, allow_patterns=[*patterns, WEIGHTS[1]]))
    except Exception as error:  # the Hub client raises many exception types
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise DocgraphError(
            f"{name} is not a local folder and could not be downloaded from the Hub ({reason}); "
            "check the name and the network, or download the model and give its folder"
        ) from None
    return find_source(str(place))
