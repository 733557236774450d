"""Training with translations as target context: made by docgraph pretranslate, checked, drawn, resumed, measured."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from docgraph.cli import app
from docgraph.config import parse
from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.target_context import ContextTranslations, translations_path, write_translations
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.model_folder import ModelFolder
from docgraph.training.build import open_translations
from docgraph.training.config import TrainingConfig
from docgraph.training.loop import Trainer, train
from docgraph.training.metrics import Record, read_metrics
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig

Config = Callable[..., TrainingConfig]
BASE: dict[str, Any] = {
    "steps": 30,
    "precision": "fp32",
    "workers": 0,
    "model": {
        "transformer": {"dimension": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 2}
    },
    "batches": {"tokens": 200},
    "schedule": {"peak": 0.01, "warmup": 4},
    "validation": {"every": 0, "bleu_every": 0},
}
CONTEXTS: dict[str, dict[str, Any]] = {
    "docgraph": {"integration": "hyb", "graph": {"relations": ["adjacency", "lexical"]}},
    "linked": {"integration": "post"},
    "pointer": {"integration": "post"},
}
MEASURED = ("kind", "step", "loss", "nll", "own_context_nll", "gradient_norm", "tokens")


@pytest.fixture(scope="module")
def base(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Base that has learnt something."""
    folder = tmp_path_factory.mktemp("base") / "run"
    train(parse(TrainingConfig, {"data": str(store), **BASE}), folder)
    return folder


@pytest.fixture
def second(config: Config, base: Path) -> Config:
    """Stage 2 on that Base."""

    def make(encoder: str = "docgraph", **changes: Any) -> TrainingConfig:
        context = {"encoder": encoder, "heads": 2, **CONTEXTS[encoder]}
        return config(**{"stage": "context", "base": str(base / "best"), "model": {"context": context}, **changes})

    return make


def put(
    folder: Path, store: Path, changed: Callable[[int, int, list[int]], Sequence[int]] = lambda d, m, s: s
) -> dict[str, Any]:
    """References as translations, changed by document and sentence; the config that names them."""
    for split in ("train", "dev"):
        corpus = PreparedCorpus.open(store, split)
        texts = [
            [changed(d, m, ids.tolist()) for m, ids in enumerate(corpus.sentences(d, "target")[0])]
            for d in range(len(corpus))
        ]
        write_translations(folder, corpus, [texts[:1], texts[1:]], {})
    return {"folder": str(folder)}


def worse(document: int, sentence: int, ids: list[int]) -> list[int]:
    return [*ids[-2:0:-1], 5, 6, ids[-1]]


def measured(folder: Path, names: Sequence[str] = MEASURED) -> list[tuple[Any, ...]]:
    return [tuple(record.get(name) for name in names) for record in read_metrics(folder / "metrics.jsonl")]


def test_a_store_is_translated_greedily_by_a_base(store: Path, base: Path, tmp_path: Path) -> None:
    arguments = [
        "pretranslate",
        str(store),
        "--model",
        str(base),
        "-o",
        str(tmp_path),
        "--batch",
        "100",
        "--device",
        "cpu",
    ]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    model, corpus = checkpoint.load(base / "best"), PreparedCorpus.open(store, "train")
    found = ContextTranslations(tmp_path, store, "train")
    inputs = [DecoderInput(corpus.example(d, None)) for d in range(len(corpus))]
    expected = decode_documents(model, corpus.tokenizer, inputs, DecodingOptions(SearchConfig(beams=1)))
    eos = model.config.transformer.eos
    for document, decoded in enumerate(expected):
        texts = [ids.tolist() for ids in found.sentences(document)]
        assert texts == [[*best.tokens, eos] for best, *_ in decoded.sentences]
    assert len(ContextTranslations(tmp_path, store, "dev").sentences(2)) == len(
        PreparedCorpus.open(store, "dev").example(2).source
    )
    said = json.loads(found_metadata(tmp_path)[b"docgraph.made"])
    assert said["model"] == ModelFolder(base / "best").fingerprint
    assert said["search"]["beams"] == 1


def found_metadata(folder: Path) -> dict[bytes, bytes]:
    import pyarrow as pa

    metadata: dict[bytes, bytes] = pa.ipc.open_file(str(translations_path(folder, "train"))).schema.metadata
    return metadata


def test_a_model_of_other_sub_words_is_refused(store: Path, base: Path, tmp_path: Path) -> None:
    from docgraph.translation.pretranslation import pretranslate

    other = tmp_path / "store"
    shutil.copytree(store, other)
    (other / "tokenizer" / "joint.spm").write_bytes(b"another")
    with pytest.raises(DocgraphError, match="has other sub-words than"):
        pretranslate(base / "best", PreparedCorpus.open(other), tmp_path / "own")


@pytest.mark.parametrize("encoder", CONTEXTS)
def test_references_as_translations_are_the_run_with_references(
    encoder: str, second: Config, store: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    train(second(encoder, steps=6), plain)
    train(second(encoder, steps=6, translations=put(tmp_path / "own", store)), tmp_path / "run")
    names = [name for name in MEASURED if name != "own_context_nll"]
    assert measured(tmp_path / "run", names) == measured(plain, names)
    records: list[Record] = [
        one for one in read_metrics(tmp_path / "run" / "metrics.jsonl") if one["kind"] == "validation"
    ]
    assert all(record["own_context_nll"] == record["nll"] for record in records)
    assert "with translations as context" in (tmp_path / "run" / "train.log").read_text()


@pytest.mark.parametrize("encoder", CONTEXTS)
def test_translations_are_read_and_resumed(
    encoder: str, second: Config, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {**put(tmp_path / "own", store, worse), "share": 0.5}
    whole, run = tmp_path / "whole", tmp_path / "run"
    train(second(encoder, translations=own, workers=1), whole)
    update = Trainer._update

    def interrupted(self: Trainer, parts: Any) -> None:
        update(self, parts)
        self.stop.requested = self.progress.step == 5

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_update", interrupted)
        assert train(second(encoder, translations=own), run).step == 5
    moved = shutil.move(tmp_path / "own", tmp_path / "moved")
    train(second(encoder, translations={**own, "folder": str(moved)}), run)
    assert measured(run) == measured(whole)
    one, other = (checkpoint.load(folder / "last").state_dict() for folder in (whole, run))
    assert all(torch.equal(one[name], other[name]) for name in one)
    last = read_metrics(run / "metrics.jsonl")[-1]
    assert abs(last["own_context_nll"] - last["nll"]) > 1e-6
    kept = json.loads((next(run.glob("state-*")) / "counters.json").read_text())["kept"]
    assert kept[0][0] == min(
        r["own_context_nll"] for r in read_metrics(run / "metrics.jsonl") if r["kind"] == "validation"
    )
    train(second(encoder, steps=6), tmp_path / "plain")
    assert measured(tmp_path / "plain")[0] != measured(run)[0]
    put(moved, store)
    with pytest.raises(DocgraphError, match="the folder of translations has changed since this run started"):
        train(second(encoder, translations={**own, "folder": str(moved)}), run)


def test_the_share_is_drawn_by_document_and_epoch(store: Path, tmp_path: Path) -> None:
    put(tmp_path, store)

    def drawn(share: float, seed: int = 3) -> np.ndarray[Any, Any]:
        found = ContextTranslations(tmp_path, store, "train", share, seed)
        return np.array([[found.sample(d, epoch) is not None for d in range(14)] for epoch in range(40)])

    assert drawn(1.0).all()
    assert not drawn(0.0).any()
    half = drawn(0.5)
    assert half.mean() == pytest.approx(0.5, abs=0.06)
    assert len(np.unique(half, axis=0)) > 30
    assert np.array_equal(half, drawn(0.5))
    assert not np.array_equal(half, drawn(0.5, seed=4))
    assert (drawn(0.7) >= half).all()


def test_mistakes_are_one_sentence_before_anything_is_written(
    second: Config, store: Path, base: Path, tmp_path: Path
) -> None:
    own, run = put(tmp_path / "own", store), tmp_path / "run"
    with pytest.raises(DocgraphError, match=r"gone/train.arrow: there are no translations here; make them with"):
        train(second(translations={"folder": str(tmp_path / "gone")}), run)
    other = tmp_path / "store"
    shutil.copytree(store, other)
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest | {"fingerprint": "another"}))
    error = r"train.arrow: these translations do not belong to the present .*store; make"
    with pytest.raises(DocgraphError, match=error):
        train(second(data=str(other), translations=own), run)
    assert not run.exists()
    source = {"context": {"sides": "source", "heads": 2, "graph": {"relations": ["adjacency", "lexical"]}}}
    with pytest.raises(DocgraphError, match=r"is for a model that reads translations; set 'model.context.sides: both'"):
        second(model=source, translations=own)
    with pytest.raises(DocgraphError, match=r"'translations.share' is 1.5; it must be at least 0 and at most 1"):
        second(translations={**own, "share": 1.5})


def test_dev_translations_are_measured_even_if_training_draws_none(second: Config, store: Path, tmp_path: Path) -> None:
    own = {**put(tmp_path / "own", store, worse), "share": 0.0}
    translations_path(own["folder"], "train").unlink()
    train(second(steps=4, translations=own), tmp_path / "run")
    train(second(steps=4), tmp_path / "plain")
    assert measured(tmp_path / "run", ("loss", "nll")) == measured(tmp_path / "plain", ("loss", "nll"))
    assert "own_context_nll" in read_metrics(tmp_path / "run" / "metrics.jsonl")[-1]
    translations_path(own["folder"], "dev").unlink()
    with pytest.raises(DocgraphError, match="there are no translations here"):
        open_translations(second(translations=own))
