"""Checkpoints written by docgraph 0.1.0 before its modules were reorganised load with the logits stored beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from docgraph.annotation import Annotation, Strings
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.checkpoint import load, system_name
from docgraph.model.model_folder import ModelFolder
from docgraph.model.tokenizer import Tokenizer, words_by_space, words_of_pieces

DATA = Path(__file__).parent / "data"
SOURCE = ["the dog met the fox", "it jumps", "the fox told the dog"]
TARGET = ["le chien a vu le renard", "il saute", "le renard dit"]
STARTS = ([0, 4, 8, 12, 16], [0, 3], [0, 4, 8, 13, 17])
ENDS = ([3, 7, 11, 15, 19], [2, 8], [3, 7, 12, 16, 20])
HEADS = [1, 2, 2, 4, 2, 6, 6, 8, 9, 9, 11, 9]
COREFERENCE = [(1, 5), (4, 8)]


def document(tokenizer: Tokenizer) -> DocumentExample:
    """Three sentences with their words, trees and coreference."""
    annotation = Annotation(
        np.array([0, 5, 7, 12], dtype=np.int32),
        np.concatenate(STARTS).astype(np.int32),
        np.concatenate(ENDS).astype(np.int32),
        Strings.of(" ".join(SOURCE).split()),
        heads=np.array(HEADS, dtype=np.int32),
        coreference=np.array(COREFERENCE, dtype=np.int32),
    )
    source = [tokenizer.source.encode(sentence) for sentence in SOURCE]
    target = [tokenizer.target.encode(sentence)[0] for sentence in TARGET]
    first = (0, 5, 7)
    inside = [words_of_pieces(s[1], np.array(a), np.array(b)) for s, a, b in zip(source, STARTS, ENDS, strict=True)]
    owners = [np.where(owner >= 0, owner + base, -1) for owner, base in zip(inside, first, strict=True)]
    targets = [words_by_space(tokenizer.target.pieces(ids)) for ids in target]
    return DocumentExample([s[0] for s in source], target, build_graph(annotation, "all"), owners, targets)


def batch(folder: Path) -> DocumentBatch:
    model = ModelFolder(folder).config.transformer
    return collate([document(Tokenizer.load(folder, model))], model.bos)


@pytest.mark.parametrize("name", ["base", "docgraph-hyb-both"])
def test_a_stored_checkpoint_gives_its_stored_logits(name: str) -> None:
    model = load(DATA / name)
    assert system_name(model.config) == name
    with torch.no_grad():
        logits = model.logits(batch(DATA / name))
    expected = torch.from_numpy(np.load(DATA / f"{name}.logits.npy"))
    assert expected.std() > 0.1
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)


def test_the_context_of_the_stored_checkpoint_matters() -> None:
    context, base = (np.load(DATA / f"{name}.logits.npy") for name in ("docgraph-hyb-both", "base"))
    assert context.shape == base.shape
    assert np.abs(context - base).max() > 0.01
