"""Annotating many documents: parallel equals sequential, the cache is used, and `kill -9` is survived."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from annotation_strategies import assert_same

from docgraph.annotate import arrow, runner
from docgraph.annotate.pipeline import Pipeline
from docgraph.annotate.runner import annotate_all, content_key, default_cache_folder, store
from docgraph.annotation import Annotation, Layer, from_spans
from docgraph.document import Document
from docgraph.errors import DocgraphError

DOCUMENTS = [Document.from_sentences([f"Document {n} is here.", "It ends."] * (1 + n % 3), f"d{n}") for n in range(12)]


@dataclass(frozen=True)
class Counting:
    """Assigns words and records the documents that it annotated."""

    seen: list[str] = field(default_factory=list)
    name: str = "counting"
    version: str = "1"
    requires: frozenset[Layer] = frozenset()
    assigns: frozenset[Layer] = frozenset({"words"})
    fails_at: str = ""

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        if document.id == self.fails_at:
            raise KeyboardInterrupt
        self.seen.append(document.id)
        return from_spans([[(0, len(text))] for text in document.texts], document).with_notes("a note")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_CHARACTERS", 50)


@pytest.mark.usefixtures("small_chunks")
def test_parallel_equals_sequential(tmp_path: Path) -> None:
    spec = "words:qu+simplemma:en"
    started: list[int] = []
    done: list[runner.StoredChunk] = []
    parallel = annotate_all(DOCUMENTS, spec, jobs=2, cache=tmp_path, on_start=started.append, on_done=done.append)
    sequential = annotate_all(DOCUMENTS, spec)
    for one, other in zip(parallel, sequential, strict=True):
        assert_same(one, other)
    assert started == [12]
    assert sum(part.documents for part in done) == 12
    assert len(done) > 2


@pytest.mark.usefixtures("small_chunks")
def test_cached_documents_are_not_annotated_again(tmp_path: Path) -> None:
    first = Counting()
    before = list(annotate_all(DOCUMENTS, Pipeline((first,)), cache=tmp_path))
    assert len(first.seen) == 12
    second = Counting()
    extra = Document.from_sentences(["A new one."], "new")
    after = list(annotate_all([extra, *DOCUMENTS[::-1]], Pipeline((second,)), cache=tmp_path))
    assert second.seen == ["new"]
    for one, other in zip(after[1:], before[::-1], strict=True):
        assert_same(one, other)
        assert one.notes == ("a note",)
    third = Counting(version="2")
    list(annotate_all(DOCUMENTS, Pipeline((third,)), cache=tmp_path))
    assert len(third.seen) == 12, "another version is another annotation"


def test_a_document_given_twice_is_annotated_once() -> None:
    counting = Counting()
    annotations = list(annotate_all([DOCUMENTS[0], DOCUMENTS[0]], Pipeline((counting,))))
    assert counting.seen == ["d0"]
    assert len(annotations) == 2


def test_no_documents() -> None:
    assert list(annotate_all([], "words:en", jobs=2)) == []


def test_the_key_is_the_content() -> None:
    assert content_key(Document.from_sentences(["a", "b"], "x")) == content_key(
        Document.from_sentences(["a", "b"], "y")
    )
    others = [
        Document.from_sentences(["a b"]),
        Document.from_sentences(["ab"]),
        Document.from_sentences(["a", "b"], speakers=["S", None]),
        Document.from_sentences(["a", "b"]),
    ]
    assert len({content_key(document) for document in others}) == 4


@pytest.mark.usefixtures("small_chunks")
def test_an_interrupted_run_keeps_finished_chunks(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        annotate_all(DOCUMENTS, Pipeline((Counting(fails_at="d7"),)), cache=tmp_path)
    again = Counting()
    assert len(list(annotate_all(DOCUMENTS, Pipeline((again,)), cache=tmp_path))) == 12
    assert again.seen[-1] == "d11"
    assert 0 < len(again.seen) < 12


@pytest.mark.usefixtures("small_chunks")
def test_a_damaged_cache_file_is_replaced(tmp_path: Path) -> None:
    list(annotate_all(DOCUMENTS, Pipeline((Counting(),)), cache=tmp_path))
    victim = next(tmp_path.rglob("*.arrow"))
    victim.write_bytes(victim.read_bytes()[:100])
    again = Counting()
    assert len(list(annotate_all(DOCUMENTS, Pipeline((again,)), cache=tmp_path))) == 12
    assert 0 < len(again.seen) < 12


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DOCGRAPH_CACHE", raising=False)
    assert default_cache_folder() == tmp_path / "docgraph"
    monkeypatch.setenv("DOCGRAPH_CACHE", str(tmp_path / "mine"))
    assert default_cache_folder() == tmp_path / "mine"


SLOW = """
import os, signal, sys, time
from pathlib import Path
from docgraph.annotate import arrow, runner
from docgraph.annotate.pipeline import Pipeline
from docgraph.annotation import from_spans
from docgraph.document import Document

runner.CHUNK_CHARACTERS = 1  # one document per chunk
LOG = Path(sys.argv[1])

class Slow:
    name, version, requires, assigns = "slow", "1", frozenset(), frozenset({"words"})
    def __call__(self, document, annotation):
        time.sleep(0.1)
        with LOG.open("a") as log:
            log.write(f"{os.getpid()} {document.id}\\n")
        return from_spans([[(0, len(text))] for text in document.texts], document)

def on_done(chunk):
    if len(list(Path(sys.argv[2]).rglob("*.arrow"))) >= int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    documents = [Document.from_sentences([f"text {n}"], f"d{n}") for n in range(40)]
    annotations = runner.annotate_all(documents, Pipeline((Slow(),)), jobs=2, cache=sys.argv[2], on_done=on_done)
    arrow.write(sys.argv[3], zip(documents, annotations, strict=True))
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or ") Z " not in stat.read_text()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
def test_resumes_after_kill_9(tmp_path: Path) -> None:
    script, log, cache, out = (tmp_path / name for name in ("slow.py", "log", "cache", "out.arrow"))
    script.write_text(SLOW)
    log.touch()
    command = [sys.executable, str(script), str(log), str(cache), str(out)]
    assert subprocess.run([*command, "5"], check=False).returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    workers = {int(line.split()[0]) for line in log.read_text().splitlines()}
    while any(alive(worker) for worker in workers):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)
    assert not out.exists(), "the output is written whole or not at all"
    finished = len(list(cache.rglob("*.arrow")))
    assert 5 <= finished < 40
    log.write_text("")

    subprocess.run([*command, "99"], check=True)
    assert len(log.read_text().splitlines()) == 40 - finished, "only what was lost is annotated again"
    documents = [document for document, _ in arrow.read(out)]
    assert [document.id for document in documents] == [f"d{n}" for n in range(40)]
    assert [document.texts for document in documents] == [[f"text {n}"] for n in range(40)]


DYING = SLOW.replace("time.sleep(0.1)", "os._exit(3)")


def test_a_dead_worker_gives_a_one_sentence_error(tmp_path: Path) -> None:
    script = tmp_path / "dying.py"
    script.write_text(DYING)
    arguments = [*(str(tmp_path / name) for name in ("log", "cache", "out")), "99"]
    result = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith(f"{DocgraphError.__module__}.DocgraphError: a worker process died")
    assert "fewer --jobs" in result.stderr


def test_an_unwritable_cache_gives_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr(arrow, "write_rows", refused)
    with pytest.raises(DocgraphError, match=r"the cache is not writable; choose another folder with --cache"):
        store(tmp_path, [], [])
