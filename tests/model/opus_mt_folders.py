"""Folders with the files of OPUS-MT models and weights that know two small documents by heart.

The files are those that the Hugging Face repositories have: `config.json` with the fields of the converter (also the
ones that docgraph ignores), `generation_config.json`, `tokenizer_config.json`, two SentencePiece models with
SentencePiece's own special ids, a vocabulary with `</s>`, `<unk>`, the pieces of both models by frequency and `<pad>`,
and `pytorch_model.bin` with all tied tables and the sinusoids. Only sizes and weights differ from the real ones.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from sentencepiece import SentencePieceProcessor

from docgraph.model.transformer import sinusoids

from .parallel_texts import TEXTS
from .subword_examples import spm_bytes


@dataclass(frozen=True)
class OpusModel:
    """What distinguishes one OPUS-MT model from another."""

    source: str
    target: str
    tags: tuple[str, ...] = ()
    separate_vocabularies: bool = False

    @property
    def name(self) -> str:
        return f"opus-mt-{self.source}-{self.target}"


MODELS = {
    "en-de": OpusModel("en", "de"),
    "zh-en": OpusModel("zh", "en"),
    "en-ru": OpusModel("en", "ru"),
    "en-zh": OpusModel("en", "zh", (">>cmn_Hans<<", ">>cmn_Hant<<", ">>yue_Hant<<")),
    "separate": OpusModel("en", "ru", separate_vocabularies=True),
}


def sentences(language: str) -> list[str]:
    return [line for line in TEXTS[language].splitlines() if line]


def write_corpus(folder: Path, pair: OpusModel) -> None:
    """Writes train and dev files, such as `train.en` and `train.de`, with blank lines between documents."""
    folder.mkdir(parents=True, exist_ok=True)
    for language in (pair.source, pair.target):
        for split in ("train", "dev"):
            (folder / f"{split}.{language}").write_text(TEXTS[language] + "\n", encoding="utf-8")


def _subwords(language: str) -> SentencePieceProcessor:
    """A unigram model with the special ids of OPUS-MT: SentencePiece's defaults, no padding."""
    ids = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
    size = 400 if language == "zh" else 160
    return SentencePieceProcessor.from_proto(spm_bytes(sentences(language), size, character_coverage=1.0, **ids))


def _pieces(model: SentencePieceProcessor, language: str) -> list[str]:
    """The pieces that occur in the text, by frequency, without the rarest: real vocabularies lack some pieces, too."""
    counts = Counter(piece for text in sentences(language) for piece in model.encode(text, out_type=str))
    return [piece for piece, _ in counts.most_common()][:-2]


def write_opus_mt(folder: Path, model: OpusModel, layers: int = 2, dimension: int = 48, updates: int = 90) -> Any:
    """Writes the folder and returns its transformers model, in evaluation mode."""
    folder.mkdir(parents=True)
    pieces = []
    for side, language in (("source", model.source), ("target", model.target)):
        subwords = _subwords(language)
        (folder / f"{side}.spm").write_bytes(subwords.serialized_model_proto())
        pieces.append(_pieces(subwords, language))
    tables = _vocabularies(model, *pieces)
    for name, table in tables.items():
        (folder / name).write_text(json.dumps(table, ensure_ascii=False, indent=2), encoding="utf-8")
    size = len(tables["vocab.json"])
    config = _config(model, size, layers, dimension)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    tokenizer = {"source_lang": model.source, "target_lang": model.target}
    if model.separate_vocabularies:
        tokenizer["separate_vocabs"] = True
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (folder / "generation_config.json").write_text(json.dumps(_generation_config(size - 1)), encoding="utf-8")
    network = _network(config)
    _memorise(network, folder, model, updates)
    torch.save(_state(network, config), folder / "pytorch_model.bin")
    return network


def _vocabularies(model: OpusModel, source: list[str], target: list[str]) -> dict[str, dict[str, int]]:
    """`vocab.json` of both sides, or of each side; separate ones have the same size, as the converter assumes."""
    if not model.separate_vocabularies:
        joint = dict.fromkeys(["</s>", "<unk>", *model.tags, *source, *target, "<pad>"])
        return {"vocab.json": {piece: index for index, piece in enumerate(joint)}}
    tables = [["</s>", "<unk>", *side] for side in (source, target)]
    size = max(map(len, tables))
    for table in tables:
        table += [f"unused{index}" for index in range(len(table), size)]
    names = ("vocab.json", "target_vocab.json")
    return {
        name: {piece: index for index, piece in enumerate([*table, "<pad>"])}
        for name, table in zip(names, tables, strict=True)
    }


def _config(model: OpusModel, size: int, layers: int, dimension: int) -> dict[str, Any]:
    pad = size - 1
    return {
        "_name_or_path": f"/tmp/Helsinki-NLP/{model.name}",
        "_num_labels": 3,
        "activation_dropout": 0.0,
        "activation_function": "swish",
        "add_bias_logits": False,
        "add_final_layer_norm": False,
        "architectures": ["MarianMTModel"],
        "attention_dropout": 0.0,
        "bad_words_ids": [[pad]],
        "bos_token_id": 0,
        "classif_dropout": 0.0,
        "classifier_dropout": 0.0,
        "d_model": dimension,
        "decoder_attention_heads": 8,
        "decoder_ffn_dim": 4 * dimension,
        "decoder_layerdrop": 0.0,
        "decoder_layers": layers,
        "decoder_start_token_id": pad,
        "decoder_vocab_size": size,
        "dropout": 0.1,
        "encoder_attention_heads": 8,
        "encoder_ffn_dim": 4 * dimension,
        "encoder_layerdrop": 0.0,
        "encoder_layers": layers,
        "eos_token_id": 0,
        "extra_pos_embeddings": 0,
        "forced_eos_token_id": 0,
        "gradient_checkpointing": False,
        "id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        "init_std": 0.02,
        "is_encoder_decoder": True,
        "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2},
        "max_length": 512,
        "max_position_embeddings": 512,
        "model_type": "marian",
        "normalize_before": False,
        "normalize_embedding": False,
        "num_beams": 4,
        "num_hidden_layers": layers,
        "pad_token_id": pad,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": not model.separate_vocabularies,
        "static_position_embeddings": True,
        "transformers_version": "4.22.0.dev0",
        "use_cache": True,
        "vocab_size": size,
    }


def _generation_config(pad: int) -> dict[str, Any]:
    return {
        "_from_model_config": True,
        "bad_words_ids": [[pad]],
        "bos_token_id": 0,
        "decoder_start_token_id": pad,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
        "max_length": 512,
        "num_beams": 4,
        "pad_token_id": pad,
        "renormalize_logits": True,
        "transformers_version": "4.32.0.dev0",
    }


def _network(config: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    settings = {**config, "init_std": config["d_model"] ** -0.5}
    network = transformers.MarianMTModel(transformers.MarianConfig(**settings)).eval()
    with torch.no_grad():
        network.final_logits_bias.normal_(std=0.3)
        network.final_logits_bias[0, config["pad_token_id"]] = 0.0
    return network


def _memorise(network: Any, folder: Path, model: OpusModel, updates: int) -> None:
    """Trains on the two documents; padding has zero weights and bias, as in real models."""
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    tag = f"{model.tags[0]} " if model.tags else ""
    source = tokenizer([tag + text for text in sentences(model.source)], return_tensors="pt", padding=True)
    labels = tokenizer(text_target=sentences(model.target), return_tensors="pt", padding=True).input_ids
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    pad = tokenizer.pad_token_id
    for _ in range(updates):
        optimizer.zero_grad()
        # Not -100 for padding: the model makes its decoder input from the labels.
        inputs = torch.cat([torch.full((len(labels), 1), pad), labels[:, :-1]], 1)
        logits = network(**source, decoder_input_ids=inputs).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad).backward()
        optimizer.step()
        with torch.no_grad():
            for table in _tables(network):
                table[pad] = 0.0


def _tables(network: Any) -> list[Any]:
    parts = (network.model.encoder.embed_tokens, network.model.decoder.embed_tokens, network.lm_head)
    return [part.weight for part in parts]


def _state(network: Any, config: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors of `pytorch_model.bin`: tied tables under each of their names, sinusoids for both stacks."""
    positions = sinusoids(config["max_position_embeddings"], config["d_model"])
    names = [f"model.{stack}.embed_tokens.weight" for stack in ("encoder", "decoder")] + ["lm_head.weight"]
    state = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    state |= {name: table.detach() for name, table in zip(names, _tables(network), strict=True)}
    if config["share_encoder_decoder_embeddings"]:
        state["model.shared.weight"] = network.model.encoder.embed_tokens.weight.detach()
    return state | {f"model.{stack}.embed_positions.weight": positions for stack in ("encoder", "decoder")}
