"""Builds the parts of a training config: the model, its starting weights, and the translations used as context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from docgraph.corpus import subwords
from docgraph.corpus.hints import CorpusHints
from docgraph.corpus.store import PreparedCorpus, read_manifest
from docgraph.corpus.target_context import ContextTranslations, translations_path
from docgraph.errors import DocgraphError
from docgraph.graph.relations import RELATIONS, resolve_relations
from docgraph.model import checkpoint
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import FILES
from docgraph.training.config import TrainingConfig

VOCABULARY_FIELDS = ("source_vocabulary", "target_vocabulary", "pad", "bos", "eos")


def tokenizer_files(config: TrainingConfig) -> list[Path]:
    """Returns the tokenizer files of the store, which are copied into every checkpoint."""
    folder = Path(config.data) / "tokenizer"
    return [folder / name for name in FILES if (folder / name).is_file()]


def languages(config: TrainingConfig) -> tuple[str, str] | None:
    """Returns the source and target language codes of the store; None unless it names both."""
    codes = read_manifest(config.data)["config"]["languages"]
    return (codes["source"], codes["target"]) if codes["source"] and codes["target"] else None


def language_tag(config: TrainingConfig) -> str | None:
    """Returns the target-language token that the source sentences of the store start with."""
    tag: str | None = read_manifest(config.data)["config"]["subwords"]["tag"]
    return tag


def resolve_model_config(config: TrainingConfig) -> ModelConfig:
    """Returns the model config with the vocabulary of the store or, with `base`, the Transformer of that model."""
    read_manifest(config.data)
    transformer, tokenizer = config.model.transformer, Path(config.data) / "tokenizer"
    if config.base is not None:
        transformer = replace(ModelFolder(config.base).config.transformer, dropout=transformer.dropout)
        if subwords.digest(subwords.files_of(tokenizer)) != subwords.digest(subwords.files_of(config.base)):
            raise DocgraphError(
                f"the store {config.data} has other sub-words; prepare one with 'subwords.folder: {config.base}'",
                path=config.base,
            )
    else:
        tokens = subwords.token_config(tokenizer)
        transformer = replace(transformer, **{name: getattr(tokens, name) for name in VOCABULARY_FIELDS})
    if config.batches.max_length > transformer.max_positions:
        raise DocgraphError(
            f"'batches.max_length' is {config.batches.max_length}, more than the {transformer.max_positions} positions "
            "of the model; lower it, or raise 'model.transformer.max_positions'"
        )
    _check_layers(config)
    return replace(config.model, transformer=transformer)


def _check_layers(config: TrainingConfig) -> None:
    """Refuses a store without the annotation that a relation of the model's graphs needs.

    Systems that only follow links between sentences (linked, pointer) work without the missing ones.
    """
    needs, splits = context_needs(config.model), read_manifest(config.data)["splits"]
    if needs.relations is None or needs.links or "train" not in splits:
        return
    corpus, relations = PreparedCorpus.open(config.data, "train"), resolve_relations(needs.relations)
    layers = corpus.annotation(0).layers if len(corpus) else frozenset()
    lacking = [name for name in relations if RELATIONS[name].requires not in layers] if layers else []
    if lacking:
        left = ", ".join(name for name in relations if name not in ("membership", *lacking))
        missing = " and ".join(dict.fromkeys(RELATIONS[name].requires for name in lacking))
        raise DocgraphError(
            f"the store has no {missing}, which the relation '{lacking[0]}' of the model needs; prepare it with "
            f"another 'annotator', or set 'model.context.graph.relations' to [{left}]",
            path=config.data,
        )


def open_translations(config: TrainingConfig) -> tuple[ContextTranslations | None, ContextTranslations | None]:
    """Returns the translations that serve as target context in training and in validation; None means references."""
    settings, split = config.translations, config.validation.split
    if settings.folder is None:
        return None, None
    train = (
        ContextTranslations(settings.folder, config.data, "train", settings.share, config.seed)
        if settings.share
        else None
    )
    has_dev = train is None or translations_path(settings.folder, split).is_file()
    return train, ContextTranslations(settings.folder, config.data, split) if has_dev else None


def open_hints(config: TrainingConfig, model: ModelConfig) -> tuple[CorpusHints | None, CorpusHints | None]:
    """Returns the hints of the training and the validation split; None if the model reads none."""
    if model.hints is None:
        return None, None
    relations = model.hints.relations
    dev = CorpusHints(config.data, config.validation.split, relations)
    return CorpusHints(config.data, "train", relations, model.hints.dropout, config.seed), dev


def build_model(config: TrainingConfig, model: ModelConfig) -> DocumentTransformer:
    """Returns the model with its starting weights, fp32 on the CPU, with frozen parameters marked."""
    torch.manual_seed(config.seed)
    system = DocumentTransformer(model)
    if config.base is not None:
        checkpoint.load_base(system, config.base)
    freeze(system, config)
    return system


def freeze(model: DocumentTransformer, config: TrainingConfig) -> None:
    """Freezes the parameters that `model.freeze` names in stage context; stage base trains all parameters."""
    model.freeze(config.model.freeze if config.stage == "context" else "none")


@dataclass(frozen=True)
class DryRun:
    """What a config would train, and whether its inputs exist."""

    system: str
    model: ModelConfig
    parameters: int
    trainable: int
    documents: dict[str, int] | None
    """Documents of each split; None if the store does not exist yet."""
    base_found: bool | None
    """None if the config has no base."""


def dry_run(config: TrainingConfig) -> DryRun:
    """Checks everything that can be checked without training; a missing store or base is reported, not refused."""
    has_store = (Path(config.data) / "manifest.json").is_file()
    base_found = None if config.base is None else Path(config.base).is_dir()
    resolved = resolve_model_config(config) if has_store and base_found is not False else config.model
    model = checkpoint.blank(resolved, "meta")
    freeze(model, config)
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    if not any(trains for _, trains in sizes):
        raise DocgraphError("'model.freeze' leaves nothing to train; set it to base_but_embeddings or none")
    splits = read_manifest(config.data)["splits"] if has_store else None
    return DryRun(
        checkpoint.system_name(resolved),
        resolved,
        sum(size for size, _ in sizes),
        sum(size for size, trains in sizes if trains),
        None if splits is None else {name: split["documents"] for name, split in splits.items()},
        base_found,
    )
