"""Random documents that can be cut, and a toy experiment: corpus, configs, suite and table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml

from docgraph.config import parse
from docgraph.corpus.config import PrepareConfig
from docgraph.corpus.prepare import prepare
from docgraph.model.tokenizer import SPACE
from docgraph.research.analysis_inputs import Documents, SourceDocument
from model.examples import EOS, VOCABULARY, random_annotation

Words = SimpleNamespace(
    target=SimpleNamespace(
        pieces=lambda ids: ["" if i <= EOS else f"{SPACE}{i}" for i in ids],
        decode=lambda ids: " ".join(str(i) for i in ids if i > EOS),
        ids=lambda texts: [np.array([*map(int, text.split()), EOS]) for text in texts],
        eos=EOS,
    )
)
"""A tokenizer whose every sub-word is a word."""


def random_documents(seed: int, *sizes: Sequence[int]) -> Documents:
    """Documents of sentences of these many words, a sub-word each."""
    rng = np.random.default_rng(seed)
    found = []
    for counts in sizes:
        source, target = ([np.append(rng.integers(3, VOCABULARY, size), EOS) for size in counts] for _ in range(2))
        words = [np.append(np.arange(size), -1) for size in counts]
        annotation = random_annotation(rng, list(counts))
        reference = [Words.target.decode(ids) for ids in target]
        found.append(SourceDocument(source, words, annotation, target, words, reference))
    return Documents(found, Words, "random")  # type: ignore[arg-type]


TINY = {"dimension": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
RUN: dict[str, Any] = {
    "steps": 6,
    "precision": "fp32",
    "workers": 0,
    "log_every": 2,
    "model": {"transformer": TINY},
    "batches": {"tokens": 200},
    "schedule": {"peak": 0.01, "warmup": 4},
    "validation": {"every": 3, "bleu_every": 0, "search": {"beams": 1, "max_length_factor": 1.0}},
    "checkpoints": {"every": 3},
}
COLUMNS = "bleu:test delta:test chrf:test p:test:base ltcr:test accuracy:coreference parameters speed nll wrong-nll"
NOUNS = {"house": "maison", "river": "rivière", "stone": "pierre", "bird": "mouette", "market": "foire"}


def text(side: int, documents: range) -> str:
    """Documents of two to five sentences, a blank line between them."""
    nouns = [pair[side] for pair in NOUNS.items()]
    form = ("The {} number {} saw it {} times.", "La {} numéro {} l'a vu {} fois.")[side]
    return "\n".join("".join(form.format(nouns[(d + s) % 5], d, s) + "\n" for s in range(2 + d % 4)) for d in documents)


def toy_experiment(folder: Path) -> Path:
    """A prepared corpus, two configs (Base, the document graph), a suite and a table of them; the table's file."""
    data: dict[str, Any] = {}
    for split, documents in (("train", range(14)), ("dev", range(14, 17)), ("test", range(17, 21))):
        paths = [folder / f"{split}.{side}" for side in range(2)]
        for side, path in enumerate(paths):
            path.write_text(text(side, documents), encoding="utf-8")
        data[split] = {"source": str(paths[0]), "target": str(paths[1])}
    out = str(folder / "store")
    settings = {"data": data, "languages": {"source": "en", "target": "fr"}, "subwords": {"size": 340}, "out": out}
    prepare(parse(PrepareConfig, {**settings, "annotator": "words:qu"}), jobs=1, cache=folder / "cache")
    context = {**RUN, "stage": "context", "base": "given by the table"}
    context["model"] = {"context": {"heads": 2, "graph": {"relations": ["adjacency", "lexical"]}}}
    (folder / "train").mkdir()
    for name, values in (("base", RUN), ("graph", context)):
        (folder / "train" / f"{name}.yaml").write_text(yaml.safe_dump({**values, "data": "elsewhere"}))
    contrast = '{"source": "It is old.", "source_context": ["A house."], "target_context": ["Une maison."], '
    (folder / "suite.jsonl").write_text(contrast + '"candidates": ["Elle est.", "Il est."]}\n')
    table = {
        "title": "Toy",
        "data": out,
        "sets": [{"name": "test", **data["test"]}, {"name": "dev", "split": "dev", **data["dev"]}],
        "suites": [{"name": "coreference", "path": str(folder / "suite.jsonl")}],
        "columns": COLUMNS.split(),
        "rows": [
            {"config": "base", "label": "Base", "role": "base", "seeds": 2, "paper": {"test": 36.93}},
            {"config": "graph", "paper": {"test": 38.79, "coreference": 69.5, "speed": 0.68}},
        ],
    }
    (folder / "tables").mkdir()
    path = folder / "tables" / "toy.yaml"
    path.write_text(yaml.safe_dump(table))
    return path
