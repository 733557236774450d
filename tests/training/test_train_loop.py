"""The training loop: its updates, skipped updates, patience, and the contents of a run folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from docgraph.corpus.batches import Step
from docgraph.corpus.store import PreparedCorpus
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentBatch
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder
from docgraph.model.tokenizer import Tokenizer
from docgraph.training.checkpoints import CheckpointKeeper, Progress, average_checkpoints, load_state, pack_state
from docgraph.training.config import TrainingConfig
from docgraph.training.distributed import StopSignal, World
from docgraph.training.loop import Trainer, train
from docgraph.training.metrics import Record, read_metrics
from docgraph.training.optimizer import UpdateSums
from docgraph.training.run_folder import RunFolder

CPU = torch.device("cpu")
Config = Callable[..., TrainingConfig]
CONTEXT = {"heads": 2, "graph": {"layers": 1, "relations": ["adjacency", "lexical"]}}


def records(folder: Path, kind: str) -> list[Record]:
    return [record for record in read_metrics(folder / "metrics.jsonl") if record["kind"] == kind]


@pytest.fixture
def training(tmp_path: Path) -> Callable[[TrainingConfig], Trainer]:
    opened = ExitStack()

    def make(config: TrainingConfig) -> Trainer:
        world = World(0, 1, CPU)
        return Trainer(config, RunFolder(tmp_path / "run"), world, StopSignal(), opened)

    yield make  # type: ignore[misc]
    opened.close()


def test_two_stages_write_complete_run_folders(config: Config, tmp_path: Path, store: Path) -> None:
    base, second = tmp_path / "base", tmp_path / "context"
    train(config(steps=30, checkpoints={"every": 10, "best": 2}), base)
    losses = [record["loss"] for record in records(base, "train")]
    assert losses[-1] < 0.7 * losses[0]
    assert {record["step"] for record in records(base, "validation")} == {4, 8, 12, 16, 20, 24, 28, 30}
    signature = json.loads((base / "signature.json").read_text())
    assert {"docgraph", "torch", "seed", "config", "data", "base"} <= signature.keys()
    assert (base / "train.log").read_text().count("dev loss") == 8
    kept = sorted(folder.name for folder in (base / "checkpoints").iterdir())
    assert len(kept) <= 3
    assert "step-00000030" in kept
    model = checkpoint.load(base / "best")
    assert (
        Tokenizer.load(base / "best", model.config.transformer).source.size
        == model.config.transformer.source_vocabulary
    )

    fields = {"stage": "context", "base": str(base / "best"), "word_dropout": {"source": 0.2, "target": 0.2}}
    settings = config(**fields, precision="bf16", model={"context": CONTEXT}, checkpoints={"every": 4, "average": 2})
    train(settings, second)
    last = checkpoint.load(second / "last")
    for name, weight in model.state_dict().items():  # frozen, and not rounded to bf16
        assert torch.equal(last.state_dict()[name], weight), name
    trained = [weight for name, weight in last.named_parameters() if name.startswith("integration.")]
    assert any(not torch.equal(weight, weight.bfloat16().float()) for weight in trained)
    found = records(second, "validation")[-1]
    assert found["average"] == [entry.step for entry in _progress(second).kept[:2]]
    assert {"nll", "wrong_context_nll", "gates"} <= found.keys()
    assert [len(gates) for gates in found["gates"].values()] == [2, 2]
    assert records(second, "train")[0]["uncaptured_batches"] is None  # without a GPU nothing is captured
    norms = records(second, "train")[0]["gradient_norms"]
    assert norms.keys() == {"context", "encoder.0", "encoder.1", "decoder.0", "decoder.1"}


def _progress(folder: Path) -> Progress:
    found = load_state(folder, CPU)
    assert found is not None
    return found[0]


def test_accumulated_gradients_are_the_mean_over_all_tokens(
    config: Config, training: Callable[[TrainingConfig], Trainer]
) -> None:
    settings = config(accumulation=3, optimizer={"clip_norm": None}, model={"transformer": {**_tiny(), "dropout": 0.0}})
    run = training(settings)
    parts = list(islice(run.steps, 3))
    assert len({part.tokens for part in parts}) > 1
    losses = [run.model(part.batch, settings.label_smoothing)[0] for part in parts]
    (sum(losses) / sum(part.tokens for part in parts)).backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in run.model.parameters()])
    for parameter in run.model.parameters():
        parameter.grad = None
    run._update(parts)
    assert torch.allclose(run.masters.gradients, expected, atol=1e-7)
    assert run.sums.read_and_reset().tokens == sum(len(part.batch.gold) for part in parts)
    norm = expected.norm()
    clipped = config(optimizer={"clip_norm": 0.5 * float(norm)})
    run.config = clipped
    run.masters.gradients.copy_(expected * 10)
    run._step_optimizer(torch.tensor([0.0, 0.0, 10.0, 0.0], dtype=torch.float64))
    assert torch.allclose(run.masters.gradients, expected * 0.5, atol=1e-7)
    assert sum(value**2 for value in run.gradient_norms(run.clip_scale).values()) ** 0.5 == pytest.approx(
        float(norm), rel=1e-4
    )


def _tiny() -> dict[str, Any]:
    return {"dimension": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 2}


def _poison(monkeypatch: pytest.MonkeyPatch, calls: set[int]) -> None:
    """Make the loss of these forward passes, counted from 0, not a number."""
    forward, count = DocumentTransformer.forward, iter(range(10**6))

    def spoilt(self: DocumentTransformer, batch: DocumentBatch, smoothing: float = 0.0) -> Any:
        loss, nll = forward(self, batch, smoothing)
        return (loss * float("nan") if next(count) in calls else loss), nll

    monkeypatch.setattr(DocumentTransformer, "forward", spoilt)


def test_an_update_without_a_finite_loss_is_skipped_and_counted(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, training: Callable[[TrainingConfig], Trainer]
) -> None:
    run = training(config())
    _poison(monkeypatch, {1})
    parts: list[Step] = list(islice(run.steps, 3))
    run._update(parts[:1])
    before = [tensor.clone() for tensor in pack_state(run.masters, run.optimizer, UpdateSums(CPU)).values()]
    run._update(parts[1:2])
    after = [tensor.clone() for tensor in pack_state(run.masters, run.optimizer, UpdateSums(CPU)).values()]
    assert all(map(torch.equal, before, after))
    run._update(parts[2:])
    assert not torch.equal(run.masters.parameters[0], after[1])
    assert torch.isfinite(run.sums.values).all()
    sums = run.sums.read_and_reset()
    assert (sums.updates, sums.skipped, sums.longest_skip) == (2, 1, 1)


def test_many_non_finite_updates_in_a_row_end_the_run(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _poison(monkeypatch, {4, 5, 6, 7})
    with pytest.raises(DocgraphError, match="not finite in 4 updates in a row, up to update 8"):
        train(config(max_nonfinite=3), tmp_path / "run")
    assert records(tmp_path / "run", "train")[-1]["loss"] is None
    assert _progress(tmp_path / "run").step == 6


def test_patience_and_the_average_of_the_best(config: Config, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    validation = {"every": 2, "bleu_every": 0, "patience": 2}
    schedule = {"kind": "constant", "peak": 0.3, "warmup": 0}  # too high: the loss soon rises
    train(config(steps=200, schedule=schedule, validation=validation, checkpoints={"every": 50, "best": 2}), folder)
    progress = _progress(folder)
    assert progress.step < 200
    values = [record["nll"] for record in records(folder, "validation")]
    assert min(values) not in values[-2:]
    assert progress.kept[0].value == min(values)
    folders = [folder / "checkpoints" / f"step-{entry.step:08}" for entry in progress.kept]
    one, two, mean = (model.state_dict() for model in (*map(checkpoint.load, folders), average_checkpoints(folders)))
    assert all(torch.allclose(mean[name], (one[name] + two[name]) / 2, atol=1e-6) for name in mean)


def test_a_run_killed_after_the_average_measures_it_once(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, settings = tmp_path / "run", config(checkpoints={"every": 4, "best": 2, "average": 2})

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointKeeper, "add_average", killed)
        with pytest.raises(KeyboardInterrupt):
            train(settings, folder)
    assert "average" in records(folder, "validation")[-1]
    train(settings, folder)
    assert ["average" in record for record in records(folder, "validation")].count(True) == 1


def test_bleu_ranks_checkpoints_and_writes_translations(config: Config, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    validation = {"every": 0, "bleu_every": 6, "bleu_documents": 2, "best": "bleu", "search": {"beams": 2}}
    train(config(validation=validation), folder)
    found = records(folder, "validation")
    assert [record["step"] for record in found] == [6, 12]
    assert all("bleu_signature" in record for record in found)
    documents = (folder / "translations" / "dev.txt").read_text().split("\n\n")
    assert len(documents) == 2


def test_a_run_resumes_with_more_steps_but_no_other_change(config: Config, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(config(steps=4), folder)
    before = (folder / "metrics.jsonl").read_bytes()
    train(config(steps=4), folder)  # over already
    assert (folder / "metrics.jsonl").read_bytes() == before
    assert train(config(steps=8), folder).step == 8
    with pytest.raises(DocgraphError, match=r"another 'schedule\.peak'; choose another --run"):
        train(config(steps=8, schedule={"peak": 0.02}), folder)
    holder = RunFolder(folder)
    holder.open(config(steps=8), json.loads((folder / "signature.json").read_text()))
    with pytest.raises(DocgraphError, match="another process is training in this folder"):
        train(config(steps=8), folder)
    holder.close()


def test_the_log_counts_the_sentences_that_are_too_long(config: Config, store: Path, tmp_path: Path) -> None:
    corpus = PreparedCorpus.open(store, "train")
    lengths = np.maximum(corpus.flat("source_lengths"), corpus.flat("target_lengths"))
    limit = int(lengths.max()) - 1
    train(config(steps=1, batches={"tokens": 200, "max_length": limit}), tmp_path / "run")
    message = f"{(lengths > limit).sum():,} sentences of more than {limit} sub-words are not trained on"
    assert message in (tmp_path / "run" / "train.log").read_text()


def test_checkpoints_store_their_languages(config: Config, tmp_path: Path) -> None:
    settings = config(steps=2)
    train(settings, tmp_path / "run")
    assert ModelFolder(tmp_path / "run" / "best").languages == ("en", "fr")
    assert ModelFolder(tmp_path / "run" / "best").trained_length == settings.batches.max_length
