"""Shards are the same, whether made in this process, in two processes or by two Ray workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_examples import blank_lines, corpus_config, write

from docgraph.corpus import chunks
from docgraph.corpus.config import PrepareConfig
from docgraph.corpus.prepare import PreparationReport, prepare
from docgraph.errors import DocgraphError


def shards(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.rglob("*.arrow")) if path.parent.name in ("train", "dev")]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PrepareConfig:
    monkeypatch.setattr(chunks, "CHUNK_CHARACTERS", 300)
    monkeypatch.setattr(chunks, "_worker", None)
    return corpus_config(tmp_path)


def run(config: PrepareConfig, folder: Path, name: str, engine: chunks.Engine, jobs: int) -> PreparationReport:
    from dataclasses import replace

    return prepare(replace(config, out=str(folder / name)), jobs=jobs, engine=engine, cache=folder / f"cache of {name}")


def test_two_processes_equal_one(config: PrepareConfig, tmp_path: Path) -> None:
    one = run(config, tmp_path, "one", chunks.run_local, 1)
    two = run(config, tmp_path, "two", chunks.run_local, 2)
    assert one.splits == two.splits
    assert shards(tmp_path / "one") == shards(tmp_path / "two")


def test_a_real_ray_of_two_workers_equals_one_process(config: PrepareConfig, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    try:
        one = run(config, tmp_path, "one", chunks.run_local, 1)
        two = run(config, tmp_path, "two", chunks.run_ray, 2)
        assert ray.cluster_resources()["CPU"] == 2
        assert one.splits == two.splits
        assert shards(tmp_path / "one") == shards(tmp_path / "two")
        paths = write(tmp_path, long__en=blank_lines([["é" * 7000]]), long__fr=blank_lines([["é" * 7000]]))
        data = {"train": {"source": paths["long__en"], "target": paths["long__fr"]}}
        bad = corpus_config(tmp_path, data=data, subwords={"folder": str(tmp_path / "one"), "tag": ">>fra<<"})
        with pytest.raises(DocgraphError, match="the model has no language tag '>>fra<<'"):
            run(bad, tmp_path, "bad", chunks.run_ray, 2)
    finally:
        ray.shutdown()


def test_without_ray_the_command_that_installs_it_is_named(
    config: PrepareConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DocgraphError, match=r"needs Ray; install it with: pip install 'docgraph\[ray\]'"):
        run(config, tmp_path, "x", chunks.run_ray, 2)
