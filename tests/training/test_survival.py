"""Interrupted and killed runs resume without loss; a full disk is reported; two processes train like one."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.training import checkpoints
from docgraph.training.config import TrainingConfig
from docgraph.training.distributed import World
from docgraph.training.loop import Trainer, train
from docgraph.training.metrics import read_metrics

Values = Callable[..., dict[str, Any]]
Config = Callable[..., TrainingConfig]
MEASURED = ("kind", "step", "loss", "nll", "gradient_norm", "learning_rate", "tokens", "skipped")


def measured(folder: Path) -> list[tuple[Any, ...]]:
    """What must not depend on interruptions: everything but the clock."""
    return [tuple(record.get(name) for name in MEASURED) for record in read_metrics(folder / "metrics.jsonl")]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return checkpoint.load(folder / "last").state_dict()


def started(values: dict[str, Any], folder: Path, *launcher: str) -> subprocess.Popen[str]:
    """`docgraph train` in a process of its own."""
    path = folder.with_suffix(".yaml")
    path.write_text(yaml.safe_dump(values))
    command = [sys.executable, *launcher, "-m", "docgraph", "train", str(path), "--run-folder", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for_lines(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    path = folder / "metrics.jsonl"
    while not path.is_file() or path.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)


def test_a_run_killed_at_any_moment_resumes_with_the_same_result(
    values: Values, config: Config, tmp_path: Path
) -> None:
    changes = {"validation": {"every": 7, "bleu_every": 0}}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = started(values(**changes, steps=10**9, workers=1), killed)  # never ends before it is killed
    lines = random.randint(1, 40)
    wait_for_lines(killed, lines, process)
    time.sleep(random.random() * 0.05)
    process.kill()
    process.wait()
    found = checkpoints.load_state(killed, torch.device("cpu"))
    steps = 20 + (0 if found is None else found[0].step)
    train(config(**changes, steps=steps), killed)
    train(config(**changes, steps=steps), whole)
    assert measured(killed) == measured(whole), f"killed after {lines} lines"
    one, other = weights(whole), weights(killed)
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not list(killed.glob(".*.tmp"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_stops_after_the_current_update(
    number: signal.Signals, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(config(), tmp_path / "whole")
    update = Trainer._update

    def interrupted(self: Trainer, parts: Any) -> None:
        update(self, parts)
        if self.progress.step == 5:
            os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_update", interrupted)
        assert train(config(), tmp_path / "run").step == 5
    assert "run the same command again" in (tmp_path / "run" / "train.log").read_text()
    assert train(config(), tmp_path / "run").step == 12
    assert measured(tmp_path / "run") == measured(tmp_path / "whole")


def test_a_validation_interrupted_by_a_signal_is_repeated(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(config(), tmp_path / "whole")

    def asked(self: Trainer) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        validate(self)

    validate = Trainer._validate
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_validate", asked)
        assert train(config(), tmp_path / "run").step == 4
    train(config(), tmp_path / "run")
    assert measured(tmp_path / "run") == measured(tmp_path / "whole")


def test_a_full_disk_is_reported_in_one_sentence_and_the_last_state_stays(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(config(), tmp_path / "whole")
    write, calls = checkpoint.write_tensors, iter(range(100))

    def full(tensors: Any, path: Path, *metadata: Any) -> None:
        write(tensors, path, *metadata)
        if path.name == checkpoints.TENSORS and next(calls) >= 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_tensors", full)
        with pytest.raises(
            DocgraphError, match=r"cannot be written \(no space left on device\); its previous contents"
        ):
            train(config(), tmp_path / "run")
    found = checkpoints.load_state(tmp_path / "run", torch.device("cpu"))
    assert found is not None
    assert found[0].step == 6
    train(config(), tmp_path / "run")
    assert measured(tmp_path / "run") == measured(tmp_path / "whole")


def test_an_unwritable_folder_is_reported_in_one_sentence(config: Config, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DocgraphError, match=r"file/run: the run folder cannot be written \(not a directory\)"):
        train(config(), tmp_path / "file" / "run")


def test_a_run_that_never_began_may_change_its_config(config: Config, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match="has no split 'valid'"):
        train(config(validation={"split": "valid"}), tmp_path / "run")
    assert train(config(), tmp_path / "run").step == 12


def test_a_damaged_state_is_reported(config: Config, tmp_path: Path) -> None:
    train(config(), tmp_path / "run")
    tensors = next((tmp_path / "run").glob("state-*")) / "tensors.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:100])
    with pytest.raises(DocgraphError, match="this resume state is damaged"):
        train(config(steps=20), tmp_path / "run")


@pytest.mark.skipif(torch.cuda.device_count() == 1, reason="two processes need two GPUs, or none")
def test_two_processes_train_as_one(values: Values, config: Config, tmp_path: Path) -> None:
    tiny = {"dimension": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    model = {
        "transformer": tiny,
        "context": {"heads": 2, "dropout": 0.0, "graph": {"dropout": 0.0, "relations": ["lexical"]}},
        "freeze": "none",
    }
    changes = {
        "stage": "context",
        "model": model,
        "steps": 8,
        "accumulation": 2,
        "schedule": {"warmup": 4, "peak": 1e-3},
        "optimizer": {"epsilon": 1e-3},  # with a small one, Adam makes steps of the rounding of gradients that are zero
    }
    process = started(
        values(**changes), tmp_path / "two", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"
    )
    train(config(**changes), tmp_path / "one")
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert all(torch.allclose(one[name], two[name], atol=1e-6) for name in one)
    for ours, theirs in zip(measured(tmp_path / "one"), measured(tmp_path / "two"), strict=True):
        assert [value for value in ours[2:] if value is not None] == pytest.approx(
            [value for value in theirs[2:] if value is not None], rel=1e-4
        )


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(DocgraphError, match=r"2 processes and this machine has 1 GPU; .* --nproc-per-node=1"):
        World.join()
