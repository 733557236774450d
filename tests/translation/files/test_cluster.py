"""Translation on Ray: the same files as from one process, also if a worker is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.translation.files.cluster import RayEngine, TranslationTask
from docgraph.translation.files.jobs import find_jobs
from docgraph.translation.files.translate import FileOptions, Report, translate_files
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.translation_memory import TranslationMemory
from docgraph.translation.translator import SETTINGS, Translator
from translation.translator_examples import Silent

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FILES = 6


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    module = pytest.importorskip("ray", reason="Ray is not installed")
    yield module
    module.shutdown()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of texts, Markdown and a file that is copied."""
    folder = tmp_path_factory.mktemp("sources")
    report, talk = (EXAMPLES / name for name in ("harbour_report.md", "harbour.txt"))
    for number in range(FILES):
        (folder / f"report{number}.md").write_text(f"# Part {number + 1}\n\n{report.read_text('utf-8')}")
    (folder / "talk.txt").write_bytes(talk.read_bytes())
    (folder / "data.bin").write_bytes(b"\0\1")
    return folder


def run(sources: Path, output: Path, on_ray: bool, resume: bool = False) -> Report:
    folder = ModelFolder(find_model("en-fr"))
    translator = Translator.load(folder, "cpu")
    translator.memory = TranslationMemory.of([("The harbour is old.", "Le havre est vieux.")])
    translator.glossary = Glossary.of([("committee", "comité")], translator.languages)
    options = FileOptions(resume=resume)
    engine = RayEngine(TranslationTask.of(folder, translator, options, device="cpu"), 2) if on_ray else None
    _, report = translate_files(translator, find_jobs([sources], output), options, Silent(), engine)
    return report


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def test_a_worker_is_set_as_the_translator() -> None:
    folder = ModelFolder(find_model("en-fr"))
    translator = Translator.load(folder, "cpu")
    translator.names = translator.repair = translator.keep_foreign = False
    translator.formality = "formal"
    translator.memory = TranslationMemory.of([("The harbour is old.", "Le havre est vieux.")])
    translator.glossary = Glossary.of([("committee", "comité")], translator.languages)
    untouched = Translator.load(folder, "cpu")
    worker = TranslationTask.of(folder, translator, FileOptions(), device="cpu").load()
    for name in SETTINGS:
        assert getattr(worker, name) == getattr(translator, name) != getattr(untouched, name), name


def test_two_workers_equal_one_process_and_a_run_resumes(ray: Any, sources: Path, tmp_path: Path) -> None:
    one, two = run(sources, tmp_path / "one", False), run(sources, tmp_path / "two", True)
    assert ray.cluster_resources()["CPU"] == 2
    assert (one.translated, one.sentences, one.doubtful) == (two.translated, two.sentences, two.doubtful)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert "comité" in (tmp_path / "two" / "report0.md").read_text("utf-8")
    (tmp_path / "two" / "report3.md").unlink()
    again = run(sources, tmp_path / "two", True, resume=True)
    assert (again.translated, again.finished) == (1, FILES)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def worker_processes() -> list[int]:
    """The Ray processes of this test that translate; their parent is a child of this process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        process = int(path.parent.name)
        try:
            if path.read_bytes().startswith(b"ray::_translate") and parent(parent(process)) == os.getpid():
                found.append(process)
        except OSError:  # has ended
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc")
def test_a_killed_worker_changes_nothing(ray: Any, sources: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one() -> None:
        while not killed:
            for process in worker_processes()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            time.sleep(0.01)

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    run(sources, tmp_path / "two", True)
    thread.join(60)
    assert killed
    run(sources, tmp_path / "one", False)
    assert files(tmp_path / "one") == files(tmp_path / "two")
