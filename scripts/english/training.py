"""Train spaCy pipelines from `config.cfg`: the whole one, and the taggers of the folds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import spacy
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.util import load_config
from thinc.api import Config, NumpyOps, set_current_ops

CONFIG = Path(__file__).with_name("config.cfg")


def fast_blas() -> None:
    """NumPy's BLAS for all models made from now on: thinc's BLIS has fast kernels for some processors only."""
    set_current_ops(NumpyOps(use_blis=False))


def train(config: Config, out: Path, overrides: dict[str, Any]) -> Language:
    """The best pipeline of a training run; a folder that is already there is taken as it is."""
    if not out.exists():
        partial = out.with_name(out.name + ".partial")
        partial.mkdir(parents=True, exist_ok=True)
        path = partial / "config.cfg"
        filled = spacy.util.load_model_from_config(config, auto_fill=True, validate=False).config
        filled.merge(overrides_of(overrides)).to_disk(path)
        spacy_train(path, partial)
        (partial / "model-best").rename(out)
        shutil.rmtree(partial)
    return spacy.load(out)


def overrides_of(dotted: dict[str, Any]) -> dict[str, Any]:
    """`{"a.b": 1}` as `{"a": {"b": 1}}`."""
    nested: dict[str, Any] = {}
    for key, value in dotted.items():
        *sections, name = key.split(".")
        place = nested
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return nested


def train_pipeline(train_file: Path, dev_file: Path, vectors: Path, out: Path, steps: int) -> Language:
    """Tagger, morphologizer, lemmatizer and parser on one tok2vec."""
    return train(load_config(CONFIG), out, _settings(train_file, dev_file, vectors, steps))


def train_tagger(train_file: Path, held_out: Path, vectors: Path, out: Path, steps: int) -> Language:
    """A tagger with a tok2vec of its own, for the tags of a fold it has not seen."""
    config = load_config(CONFIG)
    config["nlp"]["pipeline"] = ["tok2vec", "tagger"]
    config["components"] = {name: config["components"][name] for name in config["nlp"]["pipeline"]}
    config["training"]["score_weights"] = {"tag_acc": 1.0}
    return train(config, out, _settings(train_file, held_out, vectors, steps))


def _settings(train_file: Path, dev_file: Path, vectors: Path, steps: int) -> dict[str, Any]:
    return {
        "paths.train": str(train_file),
        "paths.dev": str(dev_file),
        "paths.vectors": str(vectors),
        "training.max_steps": steps,
        "training.eval_frequency": max(1, steps // 10),
        "training.optimizer.learn_rate.total_steps": steps * 11 // 10,
    }
