"""Preparation end to end: bounded memory, repeatable, resumable, no repeated work."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import pytest
from corpus_examples import blank_lines, corpus_config, synthetic, tmx, write

from docgraph.annotate.pipeline import Pipeline
from docgraph.annotate.registry import load_pipeline
from docgraph.annotate.runner import AnnotationCache
from docgraph.annotation import Annotation, Layer
from docgraph.corpus import chunks as chunk_module
from docgraph.corpus import prepare as preparation
from docgraph.corpus import store, subwords
from docgraph.corpus.chunks import Chunk, Shard, Task, run_local
from docgraph.corpus.config import PrepareConfig
from docgraph.corpus.prepare import PreparationReport, prepare
from docgraph.corpus.store import PreparedCorpus
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import lock


@dataclass
class Counts:
    """Counts the work done."""

    annotated: list[str] = field(default_factory=list)
    chunks: list[int] = field(default_factory=list)
    learnt: int = 0

    def engine(self, task: Task, chunks: Iterable[Chunk], jobs: int) -> Iterator[Shard]:
        for shard in run_local(task, chunks, jobs):
            self.chunks.append(shard.index)
            yield shard


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    counts = Counts()

    @dataclass(frozen=True)
    class Counting:
        inner: Pipeline
        requires: frozenset[Layer] = frozenset()

        def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
            counts.annotated.append(document.id)
            return self.inner(document)

        @property
        def name(self) -> str:
            return "counting"

        @property
        def version(self) -> str:
            return self.inner.version

        @property
        def assigns(self) -> frozenset[Layer]:
            return self.inner.assigns

    def learn(*arguments: object) -> None:
        counts.learnt += 1
        original(*arguments)  # type: ignore[arg-type]

    original = subwords.learn
    monkeypatch.setattr(subwords, "learn", learn)
    monkeypatch.setattr(chunk_module, "load_pipeline", lambda spec: Pipeline((Counting(load_pipeline(spec)),)))
    monkeypatch.setattr(chunk_module, "CHUNK_CHARACTERS", 300)
    return counts


def run(config: PrepareConfig, folder: Path, counts: Counts, skip_bad: bool = False) -> PreparationReport:
    counts.annotated, counts.chunks, counts.learnt = [], [], 0
    return prepare(config, cache=folder / "cache", engine=counts.engine, skip_bad=skip_bad)


def contents(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_a_store_holds_the_corpus(tmp_path: Path, counts: Counts) -> None:
    report = run(corpus_config(tmp_path), tmp_path, counts)
    train = report.splits["train"]
    assert (train.documents, train.sentences, report.splits["dev"].documents) == (12, 48, 2)
    assert len(counts.chunks) > 4
    assert train.shards == len(list((tmp_path / "store" / "train").iterdir()))
    corpus = PreparedCorpus.open(tmp_path / "store")
    decoded = [
        corpus.tokenizer.target.decode(ids) for index in range(12) for ids in corpus.sentences(index, "target")[0]
    ]
    assert decoded == [text for document in synthetic(12)[1] for text in document]
    assert corpus.location(3)[2].tolist() == [16, 17, 18, 19]


def test_a_worker_is_loaded_once_for_all_splits(
    tmp_path: Path, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[str] = []

    class Cache(AnnotationCache):
        def __init__(self, folder: str, version: str) -> None:
            folders.append(folder)
            super().__init__(folder, version)

    monkeypatch.setattr(chunk_module, "AnnotationCache", Cache)
    report = run(corpus_config(tmp_path), tmp_path, counts)
    assert sum(split.shards for split in report.splits.values()) == len(counts.chunks) > 4
    assert folders == [str(tmp_path / "cache")], "reading the index of the cache for each chunk is quadratic"


def test_nothing_is_done_if_nothing_changed(tmp_path: Path, counts: Counts) -> None:
    config = corpus_config(tmp_path)
    first = run(config, tmp_path, counts)
    assert (counts.learnt, len(counts.annotated)) == (1, 12), "the dev documents are train documents, so in the cache"
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")}
    again = run(config, tmp_path, counts)
    assert (counts.learnt, counts.annotated, counts.chunks) == (0, [], [])
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")} == before
    assert (first.unchanged, again.unchanged) == (False, True)
    assert again.splits == first.splits


def test_one_changed_document_remakes_one_chunk(tmp_path: Path, counts: Counts) -> None:
    run(corpus_config(tmp_path, out=str(tmp_path / "first")), tmp_path, counts)
    config = corpus_config(tmp_path, subwords={"folder": str(tmp_path / "first")})
    run(config, tmp_path, counts)
    path = Path(config.data.train[0].source)
    path.write_text(path.read_text("utf-8").replace("Müller number 8", "baker number 8"), encoding="utf-8")
    run(config, tmp_path, counts)
    assert counts.annotated == ["train.en:41"]
    assert len(counts.chunks) == 1


def test_new_sub_words_need_no_new_annotation(tmp_path: Path, counts: Counts) -> None:
    run(corpus_config(tmp_path), tmp_path, counts)
    run(corpus_config(tmp_path, subwords={"size": 330, "kind": "unigram"}), tmp_path, counts)
    assert (counts.learnt, counts.annotated) == (1, [])
    assert len(counts.chunks) > 4


def test_the_second_of_two_preparations_is_refused(tmp_path: Path, counts: Counts) -> None:
    config = corpus_config(tmp_path)
    folder = Path(config.out)
    folder.mkdir(parents=True)
    held = lock(folder)
    assert held is not None
    with pytest.raises(DocgraphError, match="another process is preparing this store; wait for it, or choose another"):
        run(config, tmp_path, counts)
    assert sorted(path.name for path in folder.iterdir()) == [".lock"]
    held.close()
    assert not run(config, tmp_path, counts).unchanged


def test_changed_languages_of_a_file_remake_the_corpus(tmp_path: Path, counts: Counts) -> None:
    source, target = synthetic(12)
    rows = zip(chain(*source), chain(*target), strict=True)
    content = tmx((f"{index // 4}", {"en": one, "fr": two, "qu": one[::-1]}) for index, (one, two) in enumerate(rows))
    path = write(tmp_path, m__tmx=content)["m__tmx"]
    found = []
    for languages in (["en", "fr"], ["qu", "fr"]):
        report = run(
            corpus_config(tmp_path, data={"train": {"source": path, "languages": languages}}), tmp_path, counts
        )
        assert (report.splits["train"].documents, counts.learnt) == (12, 1)
        corpus = PreparedCorpus.open(tmp_path / "store")
        found.append(corpus.tokenizer.source.decode(corpus.sentences(0, "source")[0][0]))
    assert found == [source[0][0], source[0][0][::-1]]


def test_tmx_files_are_read_in_the_languages_of_the_corpus(tmp_path: Path, counts: Counts) -> None:
    source, target = synthetic(12)
    rows = zip(chain(*source), chain(*target), strict=True)
    content = tmx((f"{index // 4}", {"en": one, "fr": two}) for index, (one, two) in enumerate(rows))
    path = write(tmp_path, m__tmx=content.replace('srclang="en"', 'srclang="fr"'))["m__tmx"]
    data = {"train": {"source": path}}
    run(corpus_config(tmp_path, data=data, languages={"source": "en", "target": "fr"}), tmp_path, counts)
    corpus = PreparedCorpus.open(tmp_path / "store")
    assert corpus.tokenizer.source.decode(corpus.sentences(0, "source")[0][0]) == source[0][0]
    with pytest.raises(DocgraphError, match=r"m\.tmx:\d+: this unit has en and fr but not de \('languages' sets"):
        run(corpus_config(tmp_path, data=data, languages={"source": "en", "target": "de"}), tmp_path, counts)


def test_other_relations_need_no_new_preparation(tmp_path: Path, counts: Counts) -> None:
    run(corpus_config(tmp_path), tmp_path, counts)
    before, counts.annotated = contents(tmp_path / "store"), []
    corpus = PreparedCorpus.open(tmp_path / "store")
    names = [set(graph.relations) for kind in ("intra", "inter") if (graph := corpus.example(0, kind).graph)]
    assert names == [{"membership", "adjacency", "dependency"}, {"membership", "lexical", "coreference"}]
    assert counts.annotated == []
    assert contents(tmp_path / "store") == before


def test_a_shorter_corpus_leaves_no_old_shards(tmp_path: Path, counts: Counts) -> None:
    run(corpus_config(tmp_path), tmp_path, counts)
    report = run(corpus_config(tmp_path, documents=3), tmp_path, counts)
    assert len(list((tmp_path / "store" / "train").iterdir())) == report.splits["train"].shards
    assert len(PreparedCorpus.open(tmp_path / "store")) == 3


def test_damaged_shards_are_remade(tmp_path: Path, counts: Counts) -> None:
    config = corpus_config(tmp_path)
    run(config, tmp_path, counts)
    before = contents(tmp_path / "store")
    (tmp_path / "store" / "train" / "00001.arrow").write_bytes(b"cut")
    run(config, tmp_path, counts)
    assert counts.chunks == [1]
    assert contents(tmp_path / "store") == before


def test_a_bad_corpus_stops_before_any_work_and_skip_bad_counts_it(tmp_path: Path, counts: Counts) -> None:
    source, target = synthetic(8)
    target[7][1] = "x" * 900
    paths = write(tmp_path, bad__en=blank_lines(source), bad__fr=blank_lines(target))
    config = corpus_config(tmp_path, data={"train": {"source": paths["bad__en"], "target": paths["bad__fr"]}})
    with pytest.raises(DocgraphError, match=r"bad.en:37: source and target have"):
        run(config, tmp_path, counts)
    assert (counts.learnt, counts.annotated) == (0, [])
    report = run(config, tmp_path, counts, skip_bad=True)
    assert report.splits["train"].dropped == {"lengths differ": 1}
    assert report.splits["train"].dropped_first == {"lengths differ": f"{paths['bad__en']}:37"}
    assert report.splits["train"].sentences == 31


def test_a_bad_file_leaves_the_old_store_intact(tmp_path: Path, counts: Counts) -> None:
    config = corpus_config(tmp_path)
    run(config, tmp_path, counts)
    Path(config.data.dev[0].source).write_bytes(b"\xff\n")
    with pytest.raises(DocgraphError, match=r"dev.en:1: byte 1 of the line is not UTF-8"):
        run(config, tmp_path, counts)
    assert len(PreparedCorpus.open(config.out)) == 12


def test_an_interrupted_store_does_not_open(tmp_path: Path, counts: Counts) -> None:
    def failing(task: Task, chunks: Iterable[Chunk], jobs: int) -> Iterator[Shard]:
        yield from list(run_local(task, chunks, jobs))[:2]
        raise KeyboardInterrupt

    config = corpus_config(tmp_path)
    run(config, tmp_path, counts)
    changed = replace(config, max_ratio=7.0, subwords=replace(config.subwords, size=330))
    with pytest.raises(KeyboardInterrupt):
        prepare(changed, cache=tmp_path / "cache", engine=failing)
    with pytest.raises(DocgraphError, match="preparation did not finish"):
        PreparedCorpus.open(config.out)
    run(changed, tmp_path, counts)
    assert 0 < len(counts.chunks) < 10
    assert len(PreparedCorpus.open(config.out)) == 12


PREPARE = """
import os, signal, sys
from pathlib import Path
from docgraph.corpus import chunks
from docgraph.config import read_config
from docgraph.corpus.config import PrepareConfig
from docgraph.corpus.prepare import prepare
chunks.CHUNK_CHARACTERS = 300
folder, killed = Path("x"), sys.argv[1:] == ["killed"]

def on_progress(stage, done, total):
    if killed and len(list((folder / "store" / "train").glob("*.arrow"))) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

prepare(read_config(PrepareConfig, folder / "config.yaml"), cache=folder / "cache", progress=on_progress)
"""


def test_kill_and_resume_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    stores = {}
    for name in ("killed", "whole"):
        folder = tmp_path / name / "x"
        folder.mkdir(parents=True)
        values = preparation.to_dict(corpus_config(folder, subwords={"size": 340}))
        (folder / "config.yaml").write_text(json.dumps(values))
        stores[name] = folder
    # Paths go into the store: both runs see the same relative ones.
    for folder in stores.values():
        text = (folder / "config.yaml").read_text().replace(str(folder), "x")
        (folder / "config.yaml").write_text(text)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PREPARE]
    killed = subprocess.run([*command, "killed"], cwd=stores["killed"].parent, env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    shards = stores["killed"] / "store" / "train"
    assert len(list(shards.glob("*.arrow"))) == 3
    assert not (stores["killed"] / "store" / store.MANIFEST).exists()
    for folder in stores.values():
        subprocess.run(command, cwd=folder.parent, env=environment, check=True)
    assert len(list(shards.glob("*.arrow"))) > 3
    assert contents(stores["killed"] / "store") == contents(stores["whole"] / "store")
