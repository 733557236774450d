"""What a config comes to before anything runs: its model, where that starts from, and what of it trains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from docgraph.corpus import subwords
from docgraph.corpus.store import read_manifest
from docgraph.corpus.target_context import Translations, file_of
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.tokenizer import FILES
from docgraph.training.config import TrainingConfig

TOKENS = ("source_vocabulary", "target_vocabulary", "pad", "bos", "eos")


def tokenizer_files(config: TrainingConfig) -> list[Path]:
    """The files of the store's sub-words, which go into every checkpoint."""
    folder = Path(config.data) / "tokenizer"
    return [folder / name for name in FILES if (folder / name).is_file()]


def languages(config: TrainingConfig) -> tuple[str, str] | None:
    """The codes of the store's languages, where it says both."""
    codes = read_manifest(config.data)["config"]["languages"]
    return (codes["source"], codes["target"]) if codes["source"] and codes["target"] else None


def resolve(config: TrainingConfig) -> ModelConfig:
    """The model with the vocabulary of the store and, where it starts from a base, that base's Transformer."""
    read_manifest(config.data)
    tokens = subwords.token_config(Path(config.data) / "tokenizer")
    transformer = config.model.transformer
    if config.base is not None:
        transformer = replace(checkpoint.read_config(config.base).transformer, dropout=transformer.dropout)
        ours = [subwords.digest(subwords.files_of(folder)) for folder in (Path(config.data) / "tokenizer", config.base)]
        if ours[0] != ours[1]:
            raise DocgraphError(
                f"the store {config.data} has other sub-words; prepare one with 'subwords.folder: {config.base}'",
                path=config.base,
            )
    else:
        transformer = replace(transformer, **{name: getattr(tokens, name) for name in TOKENS})
    if config.batches.max_length > transformer.max_positions:
        raise DocgraphError(
            f"'batches.max_length' is {config.batches.max_length}, beyond the {transformer.max_positions} positions "
            "of the model; lower it, or raise 'model.transformer.max_positions'"
        )
    return replace(config.model, transformer=transformer)


def translations(config: TrainingConfig) -> tuple[Translations | None, Translations | None]:
    """What sentences of the training set see of those before them in place of references, and what dev ones do."""
    own, split = config.translations, config.validation.split
    if own.folder is None:
        return None, None
    train = Translations(own.folder, config.data, "train", own.share, config.seed) if own.share else None
    wanted = train is None or file_of(own.folder, split).is_file()
    return train, Translations(own.folder, config.data, split) if wanted else None


def build(config: TrainingConfig, model: ModelConfig) -> DocumentTransformer:
    """The model at its start, fp32 on the CPU, with what is frozen marked so."""
    torch.manual_seed(config.seed)
    system = DocumentTransformer(model)
    if config.base is not None:
        checkpoint.load_base(system, config.base)
    system.freeze(model.freeze if config.stage == "context" else "none")
    return system


@dataclass(frozen=True)
class DryRun:
    """What a config would do."""

    system: str
    model: ModelConfig
    parameters: int
    trainable: int
    documents: dict[str, int] | None
    """Documents of each split; None where the store is not there yet."""
    base_found: bool | None
    """None where no base is asked for."""


def dry_run(config: TrainingConfig) -> DryRun:
    """Check all there is to check without training; a store or a base that is not there yet is told, not refused."""
    found = (Path(config.data) / "manifest.json").is_file()
    base_found = None if config.base is None else Path(config.base).is_dir()
    resolved = resolve(config) if found and base_found is not False else config.model
    model = checkpoint.blank(resolved, "meta")
    model.freeze(resolved.freeze if config.stage == "context" else "none")
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    if not any(trains for _, trains in sizes):
        raise DocgraphError("'model.freeze' leaves nothing to train")
    splits = read_manifest(config.data)["splits"] if found else None
    return DryRun(
        checkpoint.system_name(resolved),
        resolved,
        sum(size for size, _ in sizes),
        sum(size for size, trains in sizes if trains),
        None if splits is None else {name: split["documents"] for name, split in splits.items()},
        base_found,
    )
