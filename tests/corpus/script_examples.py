"""How to run a script, and the corpus folders and stores that scripts read and write."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from corpus.corpus_examples import write
from docgraph.corpus.config import DataConfig, DataEntry, LanguagesConfig, PrepareConfig, SubwordsConfig
from docgraph.corpus.prepare import prepare
from docgraph.corpus.store import PreparedCorpus

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def run_script(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / name), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS.parent / "src")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def write_corpus(folder: Path, source: str, target: str, speakers: str | None = None) -> Path:
    """Write the training files of a corpus folder."""
    folder.mkdir(parents=True)
    for column, text in (("src", source), ("tgt", target), ("spk", speakers)):
        if text is not None:
            (folder / f"train.{column}.txt.xz").write_bytes(lzma.compress(text.encode()))
    return folder


def read_corpus(folder: Path, split: str = "train", columns: Sequence[str] = ("src", "tgt")) -> list[str]:
    """Return the texts of the files of a corpus folder."""
    return [lzma.decompress((folder / f"{split}.{column}.txt.xz").read_bytes()).decode() for column in columns]


def store_of(
    folder: Path, source: str, target: str, subwords: SubwordsConfig = SubwordsConfig(size=300), dev: bool = False
) -> PreparedCorpus:
    """Prepare a training set, which is also the dev set if `dev`."""
    paths = write(folder, **{"train.en": source, "train.fr": target})
    entry = (DataEntry(paths["train.en"], paths["train.fr"]),)
    config = PrepareConfig(
        data=DataConfig(train=entry, dev=entry if dev else ()),
        languages=LanguagesConfig("en", "fr"),
        subwords=subwords,
        annotator="words:en",
        out=str(folder / "store"),
    )
    prepare(config, jobs=1)
    return PreparedCorpus.open(folder / "store")
