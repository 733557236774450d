"""What `docgraph prepare` is told: which files, which languages, which sub-words, which annotator, where to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from docgraph.errors import DocgraphError
from docgraph.model.config import from_dict
from docgraph.settings import read_settings

FormatName = Literal["lines", "docids", "marks", "sgm", "train-tags", "wmt-xml", "tsv", "tmx"]
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class DataEntry:
    """One pair of files, or one file that holds both sides."""

    source: str = ""
    target: str | None = None
    format: FormatName | None = None
    """By the name and the beginning of the file where it is None."""
    docids: str | None = None
    """Format docids: a file with the document id of each line; None is a first column in both files."""
    speakers: str | None = None
    """Formats lines, docids, marks: a file with the speaker of each line, for coreference."""
    columns: tuple[str, ...] = ("source", "target", "docid")
    """Format tsv: what the columns are, in order; any other name is passed over."""
    languages: tuple[str, str] | None = None
    """Format tmx: the two languages to read, source first; None is those of the corpus or, where it does not name both,
    the file's srclang and the one other it has."""
    times: int = 1
    """Read the files so often, so that they count for more among larger ones."""

    def __post_init__(self) -> None:
        if not self.source:
            raise DocgraphError("an entry of 'data' needs 'source', the path of a file")
        if not 1 <= self.times <= 100:
            raise DocgraphError(f"'times' is {self.times} for {self.source}; it must be between 1 and 100")

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file of the entry."""
        return tuple(path for path in (self.source, self.target, self.docids, self.speakers) if path is not None)


@dataclass(frozen=True)
class DataConfig:
    """The entries of each split; a single entry needs no list."""

    train: tuple[DataEntry, ...] = ()
    dev: tuple[DataEntry, ...] = ()
    test: tuple[DataEntry, ...] = ()

    def splits(self) -> dict[str, tuple[DataEntry, ...]]:
        """The splits that have entries."""
        return {name: getattr(self, name) for name in SPLITS if getattr(self, name)}


@dataclass(frozen=True)
class LanguagesConfig:
    source: str = ""
    target: str = ""


@dataclass(frozen=True)
class SubwordsConfig:
    """A SentencePiece model to learn from the training text, or one to take from a folder."""

    kind: Literal["bpe", "unigram"] = "bpe"
    joint: bool = True
    """One model for both languages, or one each."""
    size: int = 32000
    """Pieces of each model."""
    sample: int = 250_000
    """Learn from at most so many sentence pairs, drawn evenly from the training text."""
    byte_fallback: bool = True
    """A character that was not seen becomes its bytes, not an unknown piece."""
    coverage: float = 0.9995
    """Share of the characters that become pieces; nearer to 1 where rare ones matter (quotes, brackets, symbols)."""
    folder: str | None = None
    """Learn nothing: take the sub-words of this model or store folder (an imported OPUS-MT model, another corpus)."""
    tag: str | None = None
    """A target-language token such as >>fra<<, put before every source sentence; multilingual models ask for it."""

    def __post_init__(self) -> None:
        if self.size < 8 or self.sample < 1:
            raise DocgraphError("'subwords.size' must be at least 8 and 'subwords.sample' at least 1")
        if not 0.0 < self.coverage <= 1.0:
            raise DocgraphError(f"'subwords.coverage' is {self.coverage}; it must be above 0 and at most 1")


@dataclass(frozen=True)
class PrepareConfig:
    """A corpus to prepare."""

    data: DataConfig = field(default_factory=DataConfig)
    languages: LanguagesConfig = field(default_factory=LanguagesConfig)
    subwords: SubwordsConfig = field(default_factory=SubwordsConfig)
    annotator: str | None = None
    """A spec such as spacy:fr_core_news_sm+coref:fr; None is the default of the source language."""
    max_ratio: float | None = 8.0
    """A pair is bad when one side has more than so many times the characters of the other (20 are added to both)."""
    max_characters: int = 8_000
    """A longer sentence is bad: it is no sentence."""
    out: str = ""
    """The folder of the store."""

    def __post_init__(self) -> None:
        if not self.data.splits():
            raise DocgraphError("'data' names no files; give it 'train', 'dev' or 'test' with source and target paths")
        if not self.out:
            raise DocgraphError("'out' is missing; give the folder that the prepared corpus goes to")
        if not self.languages.source and self.annotator is None:
            raise DocgraphError("'languages.source' is missing; give a language code such as en")
        if not self.data.train and self.subwords.folder is None:
            raise DocgraphError("there is no 'data.train' to learn sub-words from; name one, or 'subwords.folder'")
        if not 1 <= self.max_characters <= 8_000:
            raise DocgraphError("'max_characters' must be between 1 and 8000")
        if self.max_ratio is not None and self.max_ratio <= 1:
            raise DocgraphError("'max_ratio' must be above 1, or null for no limit")

    @property
    def pipeline(self) -> str:
        """The annotator's spec."""
        return self.annotator or self.languages.source


def read_config(path: str | Path, overrides: Iterable[str] = ()) -> PrepareConfig:
    """The config of a YAML file, with `a.b=c` overrides; paths in it are relative to the current folder."""
    values = read_settings(path, overrides)
    try:
        return from_dict(PrepareConfig, values)
    except DocgraphError as error:
        raise DocgraphError(str(error), path=path) from None
