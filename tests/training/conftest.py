"""A small prepared corpus, and configs of runs on it that take a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from docgraph.config import parse
from docgraph.corpus.config import PrepareConfig
from docgraph.corpus.prepare import prepare
from docgraph.training.config import TrainingConfig

TINY = {"dimension": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 2}
RUN: dict[str, Any] = {
    "steps": 12,
    "seed": 3,
    "precision": "fp32",
    "workers": 0,
    "log_every": 2,
    "model": {"transformer": TINY},
    "batches": {"tokens": 200},
    "schedule": {"peak": 0.01, "warmup": 4},
    "validation": {"every": 4, "bleu_every": 0},
    "checkpoints": {"every": 3},
}


NOUNS = {"house": "maison", "river": "rivière", "stone": "pierre", "bird": "mouette", "market": "foire"}


def text(side: int, documents: range) -> str:
    """Documents of two to five sentences, a blank line between them."""
    nouns = [pair[side] for pair in NOUNS.items()]
    form = ("The {} number {} saw it {} times.", "La {} numéro {} l'a vu {} fois.")[side]
    return "\n".join("".join(form.format(nouns[(d + s) % 5], d, s) + "\n" for s in range(2 + d % 4)) for d in documents)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Sums depend on the number of threads in their last digit, and some tests compare with a process of their own."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 14 documents to train on, and three as dev."""
    folder = tmp_path_factory.mktemp("corpus")
    data: dict[str, Any] = {}
    for split, documents in (("train", range(14)), ("dev", range(14, 17))):
        paths = [folder / f"{split}.{side}" for side in range(2)]
        for side, path in enumerate(paths):
            path.write_text(text(side, documents), encoding="utf-8")
        data[split] = {"source": str(paths[0]), "target": str(paths[1])}
    settings = {"data": data, "languages": {"source": "en", "target": "fr"}, "subwords": {"size": 340}}
    out = folder / "store"
    prepare(parse(PrepareConfig, {**settings, "annotator": "words:qu", "out": str(out)}), jobs=1, cache=folder)
    return out


@pytest.fixture
def values(store: Path) -> Callable[..., dict[str, Any]]:
    """The fields of a config: those of RUN, with changes."""
    return lambda **changes: {"data": str(store), **RUN, **changes}


@pytest.fixture
def config(values: Callable[..., dict[str, Any]]) -> Callable[..., TrainingConfig]:
    return lambda **changes: parse(TrainingConfig, values(**changes))
