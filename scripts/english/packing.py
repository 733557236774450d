"""Make a trained pipeline ready to ship: its lemma component, its description, nothing of the machine it comes from."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from srsly import read_msgpack  # type: ignore[import-untyped]

from docgraph.annotate.english.lemmas import NAME, LemmaRefiner, Lexicon
from docgraph.annotate.english.tag_reranker import TagReranker

META = {
    "name": "docgraph",
    "version": "1.0.0",
    "description": "English tagger, lemmatizer and dependency parser of docgraph",
    "license": "CC BY-SA 4.0",
    "spacy_version": ">=3.8.7,<4.0.0",
    "performance": {},
}
SECTIONS = ("paths", "corpora", "training", "initialize", "pretraining")
"""Sections of the configuration that only training reads."""


def pack(nlp: Language, lexicon: Lexicon, reranker: TagReranker, out: Path) -> Language:
    """Write the pipeline with its lemma component to a folder, and load it from there."""
    component: Any = nlp.add_pipe(NAME, after="trainable_lemmatizer")
    assert isinstance(component, LemmaRefiner)
    component.install(lexicon, reranker)
    nlp.meta.update(META)
    nlp.to_disk(out)
    config = spacy.util.load_config(out / "config.cfg")
    for section in SECTIONS:
        config.pop(section, None)
    config.to_disk(out / "config.cfg")
    (out / "vocab" / "strings.json").write_text(json.dumps(sorted(_needed_strings(nlp)), ensure_ascii=False) + "\n")
    return spacy.load(out)


def _needed_strings(nlp: Language) -> set[str]:
    """The strings loading needs: labels, and the suffixes of the edit trees; those of words are hashed when met."""
    labels: set[str] = {str(label) for name in nlp.pipe_names for label in getattr(nlp.get_pipe(name), "labels", ())}
    with tempfile.TemporaryDirectory() as folder:
        lemmatizer: Any = nlp.get_pipe("trainable_lemmatizer")
        lemmatizer.trees.to_disk(Path(folder) / "trees")
        trees = read_msgpack(Path(folder) / "trees")["trees"]
    suffixes = {nlp.vocab.strings[tree[key]] for tree in trees for key in ("orig", "subst") if tree.get(key)}
    return labels | suffixes
