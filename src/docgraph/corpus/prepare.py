"""Preparing a corpus: check the files, learn sub-words, annotate and encode chunk by chunk, write the store.

Memory holds a few chunks, never the corpus. Nothing is done twice: a store whose fingerprint is that of its inputs,
config and versions is left alone; a shard is kept while its documents, sub-words and annotator stay the same; the
annotations themselves are cached by content. A run that was killed therefore goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from docgraph import __version__
from docgraph.annotate.pipeline import package_version
from docgraph.annotate.registry import load_pipeline
from docgraph.annotate.runner import default_cache_folder
from docgraph.config import to_dict
from docgraph.corpus import store, subwords
from docgraph.corpus.chunks import Chunk, Shard, Task, chunks
from docgraph.corpus.config import DataConfig, DataEntry, PrepareConfig
from docgraph.corpus.engines import ENGINES, Engine
from docgraph.corpus.readers import Limits, Problems, detect, read_all
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError
from docgraph.files import replacing

Progress = Callable[[str, int, int | None], None]
"""Hears (stage, sentences done, sentences in all or None where that is not known yet)."""


@dataclass(frozen=True)
class SplitReport:
    """What a split of the store holds, and what was left out of it."""

    documents: int
    sentences: int
    words: int
    source_tokens: int
    target_tokens: int
    shards: int
    dropped: dict[str, int]
    """Bad sentence pairs by reason."""
    dropped_first: dict[str, str]
    """The place of the first of each."""


@dataclass(frozen=True)
class Report:
    """What a preparation did."""

    folder: str
    unchanged: bool
    """Nothing had changed, so nothing was done."""
    splits: dict[str, SplitReport]
    vocabulary: tuple[int, int]
    bytes: int
    """Of the store's shards."""
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass
class _Survey:
    """A split before its preparation."""

    sentences: int = 0
    problems: Problems = field(default_factory=Problems)


def prepare(
    config: PrepareConfig,
    *,
    skip_bad: bool = False,
    jobs: int = 1,
    engine: Engine = ENGINES["local"],
    cache: str | Path | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Report:
    """Prepare a corpus into config.out, or find that nothing has changed."""
    config = _in_its_languages(config)
    begun, folder, pipeline = time.monotonic(), Path(config.out), load_pipeline(config.pipeline)
    inputs = {path: _digest(path) for entries in config.data.splits().values() for e in entries for path in e.paths}
    fingerprint = _hash(_without(to_dict(config), "out"), skip_bad, pipeline.version, inputs, _versions(config))
    current = _current(folder, fingerprint)
    if current is not None:
        return _report(folder, current, time.monotonic() - begun, unchanged=True)
    reading = _Reading(Limits(config.max_ratio, config.max_characters), skip_bad)
    surveys = _learn(config, reading, folder, inputs, progress)
    task = _task(config, folder / "tokenizer", pipeline.version, cache)
    notes, splits = dict.fromkeys(pipeline.notes), dict[str, Any]()
    shards = {
        split: _Shards(folder, split, task.settings, survey.sentences, progress) for split, survey in surveys.items()
    }
    missing = chain.from_iterable(
        shards[split].missing(chunks(split, reading(entries, Problems(skip_bad))))
        for split, entries in config.data.splits().items()
    )
    for shard in engine(task, missing, jobs):
        shards[shard.split].write(shard)
        notes.update(dict.fromkeys(shard.notes))
    for split, survey in surveys.items():
        splits[split] = _describe(folder, split, shards[split].end(), survey.problems)
    manifest = {
        "version": store.VERSION,
        "docgraph": __version__,
        "fingerprint": fingerprint,
        "splits": splits,
        "notes": list(notes),
        "config": to_dict(config),
    }
    with replacing(folder / store.MANIFEST) as path:
        path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return _report(folder, manifest, time.monotonic() - begun, unchanged=False)


def _in_its_languages(config: PrepareConfig) -> PrepareConfig:
    """The config, where each translation memory that names no languages is read in those of the corpus."""
    pair = config.languages.source, config.languages.target
    if not all(pair):
        return config

    def named(entry: DataEntry) -> DataEntry:
        return replace(entry, languages=pair) if entry.languages is None and detect(entry) == "tmx" else entry

    splits = {split: tuple(map(named, entries)) for split, entries in config.data.splits().items()}
    return replace(config, data=DataConfig(**splits))


@dataclass(frozen=True)
class _Reading:
    """How entries are read; the same every time."""

    limits: Limits
    skip_bad: bool

    def __call__(self, entries: Iterable[DataEntry], problems: Problems) -> Iterator[ParallelDocument]:
        return read_all(entries, problems, self.limits)


def _learn(
    config: PrepareConfig, reading: _Reading, folder: Path, inputs: dict[str, str], progress: Progress
) -> dict[str, _Survey]:
    """Read all files once, so that a bad one is told before hours of annotation, and learn sub-words on the way."""
    settings, train = config.subwords, {path: inputs[path] for entry in config.data.train for path in entry.paths}
    origin, version = _folder_digest(settings.folder), package_version("sentencepiece")
    fingerprint = _hash(to_dict(settings), train, to_dict(config.data)["train"], to_dict(reading), origin, version)
    outdated = not subwords.is_current(folder / "tokenizer", fingerprint)
    sample = subwords.Sample(settings.sample if outdated and settings.folder is None else 0)
    surveys: dict[str, _Survey] = {}
    for split, entries in config.data.splits().items():
        survey = surveys[split] = _Survey(problems=Problems(reading.skip_bad))
        for document in reading(entries, survey.problems):
            survey.sentences += len(document)
            if split == "train":
                sample.add(document)
            progress(f"reading {split}", survey.sentences, None)
    (folder / store.MANIFEST).unlink(missing_ok=True)  # what follows changes the store
    if outdated and settings.folder is None:
        progress("learning sub-words", 0, None)
        subwords.learn(sample, settings, folder / "tokenizer", fingerprint)
    elif outdated and settings.folder is not None:
        subwords.copy(settings.folder, folder / "tokenizer", fingerprint)
    return surveys


def _task(config: PrepareConfig, tokenizer: Path, annotator: str, cache: str | Path | None) -> Task:
    files = subwords.files_of(tokenizer)
    return Task(
        config.pipeline,
        tuple(files.items()),
        subwords.token_config(tokenizer),
        config.subwords.tag,
        str(cache or default_cache_folder()),
        _hash(store.VERSION, annotator, subwords.digest(files), config.subwords.tag),
    )


class _Shards:
    """The shards of a split on disk: those that are missing are made, the others stay."""

    def __init__(self, folder: Path, split: str, settings: str, sentences: int, progress: Progress) -> None:
        self._folder, self._split, self._settings = folder, split, settings
        self._count = self._done = 0
        self._sentences, self._progress = sentences, progress

    def missing(self, found: Iterable[Chunk]) -> Iterator[Chunk]:
        """The chunks that have no shard yet, or an outdated one."""
        for chunk in found:
            self._count = chunk.index + 1
            if store.shard_key(self._path(chunk.index)) == chunk.key(self._settings):
                self._done += chunk.sentences
                self._advance()
            else:
                yield chunk

    def write(self, shard: Shard) -> None:
        with replacing(self._path(shard.index)) as path:
            path.write_bytes(shard.data)
        self._done += shard.sentences
        self._advance()

    def end(self) -> int:
        """How many shards there are; those of a former, longer corpus are removed."""
        for path in self._path(0).parent.glob("*.arrow"):
            if path.stem.isdecimal() and int(path.stem) >= self._count:
                path.unlink()
        return self._count

    def _advance(self) -> None:
        self._progress(f"preparing {self._split}", self._done, self._sentences)

    def _path(self, index: int) -> Path:
        return store.shard_path(self._folder, self._split, index)


def _describe(folder: Path, split: str, shards: int, problems: Problems) -> dict[str, Any]:
    paths = [store.shard_path(folder, split, index) for index in range(shards)]
    sizes = store.PreparedCorpus(folder, split, paths, folder / "tokenizer").sizes
    totals = {name: int(getattr(sizes, name).sum()) for name in store.SIZES}
    dropped = {"dropped": dict(problems.dropped), "dropped_first": problems.first}
    return {"shards": shards, "documents": len(sizes.sentences), **totals, **dropped}


def _current(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    """The manifest of a store that is whole and made from what the fingerprint names."""
    if not (folder / store.MANIFEST).is_file():
        return None
    try:
        manifest = store.read_manifest(folder)
    except DocgraphError:
        return None
    if manifest["fingerprint"] != fingerprint:
        return None
    shards = [
        store.shard_path(folder, split, index)
        for split, values in manifest["splits"].items()
        for index in range(values["shards"])
    ]
    whole = all(store.shard_key(path) is not None for path in shards) and (folder / "tokenizer").is_dir()
    return manifest if whole else None


def _report(folder: Path, manifest: dict[str, Any], seconds: float, unchanged: bool) -> Report:
    config = subwords.token_config(folder / "tokenizer")
    splits = {name: SplitReport(**values) for name, values in manifest["splits"].items()}
    size = sum(path.stat().st_size for split in splits for path in (folder / split).glob("*.arrow"))
    vocabulary = config.source_vocabulary, config.target_vocabulary
    return Report(str(folder), unchanged, splits, vocabulary, size, seconds, tuple(manifest["notes"]))


def _versions(config: PrepareConfig) -> dict[str, Any]:
    packages = [package_version(name) for name in ("docgraph", "sentencepiece")]
    return {"store": store.VERSION, "packages": packages, "subwords": _folder_digest(config.subwords.folder)}


def _folder_digest(folder: str | None) -> str:
    """The sub-words taken from another folder."""
    if folder is None:
        return ""
    place = Path(folder)
    return subwords.digest(subwords.files_of(place / "tokenizer" if (place / "tokenizer").is_dir() else place))


def _digest(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def _hash(*values: Any) -> str:
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}
