"""Train spaCy pipelines from `config.cfg`, and pack the trained pipeline for distribution."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import spacy
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.util import load_config
from srsly import read_msgpack  # type: ignore[import-untyped]
from thinc.api import Config, NumpyOps, set_current_ops

from docgraph.annotate.english.lemmas import NAME, LemmaRefiner, Lexicon
from docgraph.annotate.english.tag_reranker import TagReranker

CONFIG = Path(__file__).with_name("config.cfg")
META = {
    "name": "docgraph",
    "version": "1.0.0",
    "description": "English tagger, lemmatizer and dependency parser of docgraph",
    "license": "CC BY-SA 4.0",
    "spacy_version": ">=3.8.7,<4.0.0",
    "performance": {},
}
TRAINING_SECTIONS = ("paths", "corpora", "training", "initialize", "pretraining")
"""Sections of the configuration that only training needs."""


def fast_blas() -> None:
    """Makes models created from now on use NumPy's BLAS; thinc's BLIS has fast kernels for only some processors."""
    set_current_ops(NumpyOps(use_blis=False))


def train(config: Config, out: Path, overrides: dict[str, Any]) -> Language:
    """Returns the best pipeline of a training run; if the folder exists, loads it instead of training."""
    if not out.exists():
        partial = out.with_name(out.name + ".partial")
        partial.mkdir(parents=True, exist_ok=True)
        path = partial / "config.cfg"
        filled = spacy.util.load_model_from_config(config, auto_fill=True, validate=False).config
        filled.merge(nested(overrides)).to_disk(path)
        spacy_train(path, partial)
        (partial / "model-best").rename(out)
        shutil.rmtree(partial)
    return spacy.load(out)


def nested(dotted: dict[str, Any]) -> dict[str, Any]:
    """Returns nested settings: `{"a": {"b": 1}}` for `{"a.b": 1}`."""
    settings: dict[str, Any] = {}
    for key, value in dotted.items():
        *sections, name = key.split(".")
        section_settings = settings
        for section in sections:
            section_settings = section_settings.setdefault(section, {})
        section_settings[name] = value
    return settings


def train_pipeline(train_file: Path, dev_file: Path, vectors: Path, out: Path, steps: int) -> Language:
    """Trains tagger, morphologizer, lemmatizer and parser on a shared tok2vec."""
    return train(load_config(CONFIG), out, _settings(train_file, dev_file, vectors, steps))


def train_tagger(train_file: Path, held_out: Path, vectors: Path, out: Path, steps: int) -> Language:
    """Trains a tagger with its own tok2vec, to tag a fold that it has not seen."""
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


def pack(nlp: Language, lexicon: Lexicon, reranker: TagReranker, out: Path) -> Language:
    """Writes the pipeline with its lemma component to a folder and loads it from there."""
    component: Any = nlp.add_pipe(NAME, after="trainable_lemmatizer")
    assert isinstance(component, LemmaRefiner)
    component.set_model(lexicon, reranker)
    nlp.meta.update(META)
    nlp.to_disk(out)
    config = spacy.util.load_config(out / "config.cfg")
    for section in TRAINING_SECTIONS:
        config.pop(section, None)
    config.to_disk(out / "config.cfg")
    (out / "vocab" / "strings.json").write_text(json.dumps(sorted(_needed_strings(nlp)), ensure_ascii=False) + "\n")
    return spacy.load(out)


def _needed_strings(nlp: Language) -> set[str]:
    """Returns the strings that loading needs: labels and the suffixes of the edit trees; words are hashed later."""
    labels: set[str] = {str(label) for name in nlp.pipe_names for label in getattr(nlp.get_pipe(name), "labels", ())}
    with tempfile.TemporaryDirectory() as folder:
        lemmatizer: Any = nlp.get_pipe("trainable_lemmatizer")
        lemmatizer.trees.to_disk(Path(folder) / "trees")
        trees = read_msgpack(Path(folder) / "trees")["trees"]
    suffixes = {nlp.vocab.strings[tree[key]] for tree in trees for key in ("orig", "subst") if tree.get(key)}
    return labels | suffixes
