"""The config of `docgraph prepare`: files, languages, sub-words, annotator and output folder."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field

from docgraph.config import Entries, Flag, NamePair, Names, Number, PositiveShare, Size, config_class
from docgraph.languages import LANGUAGE_CODE

FormatName = Literal["lines", "docids", "marks", "sgm", "train-tags", "wmt-xml", "tsv", "tmx"]
SPLITS = ("train", "dev", "test")


@config_class
class DataEntry:
    """A pair of files, or one file with both sides."""

    source: str = ""
    target: str | None = None
    format: FormatName | None = None
    """None: detected from the name and the beginning of the file."""
    docids: str | None = None
    """Format docids: file with the document id of each line; None: the ids are the first column of both files."""
    speakers: str | None = None
    """Formats lines, docids, marks: file with the speaker of each line, for coreference."""
    columns: Names = ("source", "target", "docid")
    """Format tsv: names of the columns, in order; columns with any other name are ignored."""
    languages: NamePair | None = None
    """Format tmx: source and target language to read. None: the languages of the corpus or, if it does not name both,
    the file's srclang and its only other language."""
    times: Annotated[Size, Field(le=100)] = 1
    """Number of times the entry is read, to give a small corpus more weight."""

    def __post_init__(self) -> None:
        if not self.source:
            raise ValueError("'source' is missing; give the path of a file")

    @property
    def paths(self) -> tuple[str, ...]:
        """All files of the entry."""
        return tuple(path for path in (self.source, self.target, self.docids, self.speakers) if path is not None)


@config_class
class DataConfig:
    """The entries of each split; a single entry needs no list."""

    train: Entries[DataEntry] = ()
    dev: Entries[DataEntry] = ()
    test: Entries[DataEntry] = ()

    def splits(self) -> dict[str, tuple[DataEntry, ...]]:
        """Returns the splits that have entries."""
        return {name: getattr(self, name) for name in SPLITS if getattr(self, name)}


@config_class
class LanguagesConfig:
    """Language codes such as en and fr."""

    source: str = ""
    target: str = ""

    def __post_init__(self) -> None:
        for code in filter(None, (self.source, self.target)):
            if not LANGUAGE_CODE.fullmatch(code):
                raise ValueError(f"'{code}' is not a language code such as en or pt-BR; correct it")


@config_class
class SubwordsConfig:
    """A SentencePiece model to train on the training text, or to take from a folder."""

    kind: Literal["bpe", "unigram"] = "bpe"
    joint: Flag = True
    """One model for both languages, or one per language."""
    size: Annotated[int, Field(strict=True, ge=8)] = 32000
    """Pieces of each model."""
    sample: Size = 250_000
    """Train on at most this many sentence pairs, a uniform random sample of the training text."""
    byte_fallback: Flag = True
    """Encode unseen characters as bytes instead of the unknown piece."""
    coverage: PositiveShare = 0.9995
    """Share of the characters that get a piece; closer to 1 if rare ones matter (quotes, brackets, symbols)."""
    folder: str | None = None
    """Train nothing; use the sub-words of this model or store folder (an imported OPUS-MT model, another corpus)."""
    tag: str | None = None
    """Target-language token such as >>fra<<, put before every source sentence; multilingual models need it. None: that
    of the model folder."""


@config_class
class PrepareConfig:
    """A corpus to prepare. Paths are relative to the current folder."""

    data: DataConfig = field(default_factory=DataConfig)
    languages: LanguagesConfig = field(default_factory=LanguagesConfig)
    subwords: SubwordsConfig = field(default_factory=SubwordsConfig)
    annotator: str | None = None
    """A spec such as spacy:fr_core_news_sm+coref:fr; None: the default annotator of the source language."""
    max_ratio: Annotated[Number, Field(gt=1)] | None = 8.0
    """A pair is bad if one side has more than this many times the characters of the other (20 are added to both)."""
    max_characters: Annotated[Size, Field(le=8_000)] = 8_000
    """A longer sentence is bad."""
    out: str = ""
    """Folder of the store."""

    def __post_init__(self) -> None:
        if not self.data.splits():
            raise ValueError("'data' names no files; add 'train', 'dev' or 'test' with source and target paths")
        if not self.out:
            raise ValueError("'out' is missing; give the folder of the prepared corpus")
        if not self.languages.source and self.annotator is None:
            raise ValueError("'languages.source' is missing; give a language code such as en")
        if not self.data.train and self.subwords.folder is None:
            raise ValueError("there is no 'data.train' to train sub-words on; add it, or set 'subwords.folder'")

    @property
    def pipeline(self) -> str:
        """Spec of the annotator."""
        return self.annotator or self.languages.source
