"""Corpus preparation: check the files, learn sub-words, annotate and encode chunk by chunk, write the store.

Memory holds a few chunks, never the corpus. No work is repeated. A store is left alone if the fingerprint of its
inputs, config and versions is unchanged. A shard is kept while its documents, sub-words and annotator are the same.
Annotations are cached by content. A killed run therefore continues where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from docgraph import __version__
from docgraph.annotate.pipeline import package_version
from docgraph.annotate.registry import load_pipeline
from docgraph.annotate.runner import default_cache_folder
from docgraph.config import to_dict
from docgraph.corpus import store, subwords
from docgraph.corpus.chunks import ENGINES, Chunk, Engine, Shard, Task, split_into_chunks
from docgraph.corpus.config import DataConfig, DataEntry, PrepareConfig
from docgraph.corpus.readers import Limits, Problems, detect, read_all
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError
from docgraph.files import lock, replacing, report_errors_as
from docgraph.model.model_folder import WEIGHTS, ModelFolder
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.text.language_check import other_language

Progress = Callable[[str, int, int | None], None]
"""Called with (stage, sentences done, sentences in total or None if unknown)."""
CHECKED_SENTENCES, CHECKED_PER_DOCUMENT = 500, 10
"""Sentences of a split, and of each document, whose language is checked."""


@dataclass(frozen=True)
class SplitReport:
    """Sizes of a split of the store, and the sentence pairs that were dropped from it."""

    documents: int
    sentences: int
    words: int
    source_tokens: int
    target_tokens: int
    shards: int
    dropped: dict[str, int]
    """Number of bad sentence pairs, by reason."""
    dropped_first: dict[str, str]
    """Position (file and line) of the first bad pair, by reason."""


@dataclass(frozen=True)
class PreparationReport:
    """Result of a preparation."""

    folder: str
    unchanged: bool
    """True if the store was up to date, so that nothing was done."""
    splits: dict[str, SplitReport]
    vocabulary: tuple[int, int]
    bytes: int
    """Total size of the shards."""
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass
class _Survey:
    """What the first pass over a split found."""

    sentences: int = 0
    problems: Problems = field(default_factory=Problems)
    texts: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    """The first sentences of every document, up to a limit, for the check of their languages."""

    def add_texts(self, document: ParallelDocument) -> None:
        """Keeps the first sentences of a document if there is room."""
        if len(self.texts[0]) < CHECKED_SENTENCES:
            for texts, side in zip(self.texts, (document.source, document.target), strict=True):
                texts.extend(side[:CHECKED_PER_DOCUMENT])


def prepare(
    config: PrepareConfig,
    *,
    skip_bad: bool = False,
    jobs: int = 1,
    engine: Engine = ENGINES["local"],
    cache: str | Path | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> PreparationReport:
    """Prepares a corpus into the folder `config.out`, unless the store there is up to date."""
    config = _with_language_tag(_with_tmx_languages(config))
    start, folder, pipeline = time.monotonic(), Path(config.out), load_pipeline(config.pipeline)
    inputs = {path: _digest(path) for entries in config.data.splits().values() for e in entries for path in e.paths}
    settings = {name: value for name, value in to_dict(config).items() if name != "out"}
    fingerprint = _hash(settings, skip_bad, pipeline.version, inputs, _versions(config))
    current = _current_manifest(folder, fingerprint)
    if current is not None:
        return _report(folder, current, time.monotonic() - start, unchanged=True)
    with _locked(folder):
        surveys = _survey_and_learn(config, skip_bad, folder, inputs, progress)
        task = _task(config, folder / "tokenizer", pipeline.version, cache)
        notes = dict.fromkeys(pipeline.notes)
        shards = {
            split: _SplitShards(folder, split, task.settings, survey.sentences, progress)
            for split, survey in surveys.items()
        }
        outdated = chain.from_iterable(
            shards[split].outdated(split_into_chunks(split, read_all(entries, Problems(skip_bad), _limits(config))))
            for split, entries in config.data.splits().items()
        )
        for shard in engine(task, outdated, jobs):
            shards[shard.split].write(shard)
            notes.update(dict.fromkeys(shard.notes))
        splits = {
            split: _describe(folder, split, shards[split].finish(), survey.problems)
            for split, survey in surveys.items()
        }
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
    return _report(folder, manifest, time.monotonic() - start, unchanged=False)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the lock of a store; refuses a store that another process is preparing."""
    with report_errors_as(folder):
        folder.mkdir(parents=True, exist_ok=True)
        held = lock(folder)
    if held is None:
        raise DocgraphError(
            "another process is preparing this store; wait for it, or choose another 'out'", path=folder
        )
    with held:
        yield


def _with_tmx_languages(config: PrepareConfig) -> PrepareConfig:
    """Sets the languages of TMX entries that name none to the languages of the corpus."""
    pair = config.languages.source, config.languages.target
    if not all(pair):
        return config

    def with_languages(entry: DataEntry) -> DataEntry:
        return replace(entry, languages=pair) if entry.languages is None and detect(entry) == "tmx" else entry

    splits = {split: tuple(map(with_languages, entries)) for split, entries in config.data.splits().items()}
    return replace(config, data=DataConfig(**splits))


def _with_language_tag(config: PrepareConfig) -> PrepareConfig:
    """Sets the target-language token to that of the model whose sub-words are used; a multilingual model needs one."""
    folder, tag = config.subwords.folder, config.subwords.tag
    if folder is None or not any((Path(folder) / name).is_file() for name in WEIGHTS):
        return config
    model = ModelFolder(folder)
    tag = tag or model.tag
    tags = Tokenizer.load(folder, model.config.transformer).source.tags
    if tags and tag is None:
        listed = ", ".join(tags[:12]) + (", ..." if len(tags) > 12 else "")
        raise DocgraphError(f"this model translates into several languages; set 'subwords.tag' to one of {listed}")
    return replace(config, subwords=replace(config.subwords, tag=tag))


def _limits(config: PrepareConfig) -> Limits:
    return Limits(config.max_ratio, config.max_characters)


def _survey_and_learn(
    config: PrepareConfig, skip_bad: bool, folder: Path, inputs: dict[str, str], progress: Progress
) -> dict[str, _Survey]:
    """Reads all files, so that errors appear before hours of annotation, and learns the sub-words if outdated."""
    settings, train = config.subwords, {path: inputs[path] for entry in config.data.train for path in entry.paths}
    origin, version = _folder_digest(settings.folder), package_version("sentencepiece")
    reading = {"limits": asdict(_limits(config)), "skip_bad": skip_bad}
    fingerprint = _hash(to_dict(settings), train, to_dict(config.data)["train"], reading, origin, version)
    outdated = not subwords.is_current(folder / "tokenizer", fingerprint)
    sample = subwords.Sample(settings.sample if outdated and settings.folder is None else 0)
    surveys: dict[str, _Survey] = {}
    for split, entries in config.data.splits().items():
        survey = surveys[split] = _Survey(problems=Problems(skip_bad))
        for document in read_all(entries, survey.problems, _limits(config)):
            survey.sentences += len(document)
            survey.add_texts(document)
            if split == "train":
                sample.add(document)
            progress(f"reading {split}", survey.sentences, None)
        _check_languages(config, split, survey)
    (folder / store.MANIFEST).unlink(missing_ok=True)  # the store is incomplete from here on
    if outdated and settings.folder is None:
        progress("learning sub-words", 0, None)
        subwords.learn(sample, settings, folder / "tokenizer", fingerprint)
    elif outdated and settings.folder is not None:
        subwords.copy(settings.folder, folder / "tokenizer", fingerprint)
    return surveys


def _check_languages(config: PrepareConfig, split: str, survey: _Survey) -> None:
    """Refuses a side that is clearly in another language than the config says."""
    for side, texts in zip(("source", "target"), survey.texts, strict=True):
        code = getattr(config.languages, side)
        other = other_language(texts, code.partition("-")[0].lower())
        if other is not None:
            named = f"the {side} side of '{split}' looks like {other}, but 'languages.{side}' is '{code}'"
            path = getattr(getattr(config.data, split)[0], side)
            raise DocgraphError(f"{named}; swap the files, or correct the language", path=path)


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


class _SplitShards:
    """The shards of a split on disk; only missing and outdated ones are made."""

    def __init__(self, folder: Path, split: str, settings: str, sentences: int, progress: Progress) -> None:
        self._folder, self._split, self._settings = folder, split, settings
        self._count = self._done = 0
        self._sentences, self._progress = sentences, progress

    def outdated(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yields the chunks without an up-to-date shard."""
        for chunk in chunks:
            self._count = chunk.index + 1
            if store.shard_key(self._path(chunk.index)) == chunk.key(self._settings):
                self._advance(chunk.sentences)
            else:
                yield chunk

    def write(self, shard: Shard) -> None:
        """Writes a finished shard."""
        with replacing(self._path(shard.index)) as path:
            path.write_bytes(shard.data)
        self._advance(shard.sentences)

    def finish(self) -> int:
        """Returns the number of shards; deletes the shards of an earlier, longer corpus."""
        for path in self._path(0).parent.glob("*.arrow"):
            if path.stem.isdecimal() and int(path.stem) >= self._count:
                path.unlink()
        return self._count

    def _advance(self, sentences: int) -> None:
        self._done += sentences
        self._progress(f"preparing {self._split}", self._done, self._sentences)

    def _path(self, index: int) -> Path:
        return store.shard_path(self._folder, self._split, index)


def _describe(folder: Path, split: str, shards: int, problems: Problems) -> dict[str, Any]:
    """Returns the manifest entry of a split."""
    paths = [store.shard_path(folder, split, index) for index in range(shards)]
    sizes = store.PreparedCorpus(folder, split, paths, folder / "tokenizer").sizes
    totals = {name: int(getattr(sizes, name).sum()) for name in store.SIZES}
    dropped = {"dropped": dict(problems.dropped), "dropped_first": problems.first}
    return {"shards": shards, "documents": len(sizes.sentences), **totals, **dropped}


def _current_manifest(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    """Returns the manifest of the store if it is complete and has the fingerprint, else None."""
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
    complete = all(store.shard_key(path) is not None for path in shards) and (folder / "tokenizer").is_dir()
    return manifest if complete else None


def _report(folder: Path, manifest: dict[str, Any], seconds: float, unchanged: bool) -> PreparationReport:
    config = subwords.token_config(folder / "tokenizer")
    splits = {name: SplitReport(**values) for name, values in manifest["splits"].items()}
    size = sum(path.stat().st_size for split in splits for path in (folder / split).glob("*.arrow"))
    vocabulary = config.source_vocabulary, config.target_vocabulary
    return PreparationReport(str(folder), unchanged, splits, vocabulary, size, seconds, tuple(manifest["notes"]))


def _versions(config: PrepareConfig) -> dict[str, Any]:
    packages = [package_version(name) for name in ("docgraph", "sentencepiece")]
    return {"store": store.VERSION, "packages": packages, "subwords": _folder_digest(config.subwords.folder)}


def _folder_digest(folder: str | None) -> str:
    """Returns a digest of the sub-words in a model or store folder; empty for None."""
    if folder is None:
        return ""
    tokenizer = Path(folder) / "tokenizer"
    return subwords.digest(subwords.files_of(tokenizer if tokenizer.is_dir() else folder))


def _digest(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def _hash(*values: Any) -> str:
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()
