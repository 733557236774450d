"""Model folders: finding one by path or name, and reading its checked `config.json`.

A model folder holds `config.json`, the weights (`model.safetensors`, gzipped in int8) and the tokenizer's files.
`config.json` stores the checksum of every other file and of itself, so a damaged or partly copied folder is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from docgraph import __version__
from docgraph.config import parse
from docgraph.errors import DocgraphError
from docgraph.languages import LANGUAGE_CODE
from docgraph.model.config import ModelConfig

EMBEDDED = Path(__file__).parent.parent / "data" / "models"
"""Folder of the model folders that ship with the package."""
FORMAT = 1
CONFIG, BEST = "config.json", "best"
WEIGHTS = ("model.safetensors", "model.safetensors.gz")
Precision = Literal["float32", "float16", "int8"]
TRAIN_OR_IMPORT = "train one with docgraph train, or import one with docgraph import marian"
COPY_AGAIN = "copy the model folder again from where it came from"


def embedded_models() -> list[str]:
    """Returns the names of the models that ship with this version."""
    return sorted(path.parent.name for path in EMBEDDED.glob(f"*/{CONFIG}"))


def find_model(name: str | Path | None = None) -> Path:
    """Returns the model folder that `name` stands for.

    `name` is the path of a model folder, the path of a run folder (its best model is used) or the name of an embedded
    model. None stands for the embedded model if there is exactly one.
    """
    names = embedded_models()
    if name is None:
        if not names:
            raise DocgraphError(f"no model ships with this version yet; {TRAIN_OR_IMPORT}, and name its folder")
        if len(names) > 1:
            raise DocgraphError(f"several models ship with this version; choose one of {', '.join(names)}")
        return EMBEDDED / names[0]
    folder = Path(name)
    if (folder / CONFIG).is_file():
        return folder
    if (folder / BEST).is_dir():
        return folder / BEST
    if str(name) in names:
        return EMBEDDED / str(name)
    if folder.is_dir():
        raise DocgraphError(
            f"this is neither a model folder nor a run folder with a model; {TRAIN_OR_IMPORT}", path=folder
        )
    shipped = f"the models that ship are {', '.join(names)}" if names else "no model ships with this version yet"
    raise DocgraphError(
        f"there is no such model folder, and {shipped}; check the name, or {TRAIN_OR_IMPORT}", path=folder
    )


class ModelFolder:
    """A model folder whose `config.json` was read and checked once, and whose files all exist."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._metadata = _read_metadata(self.path)
        self._checksums: Mapping[str, str] = self._metadata["files"]

    @cached_property
    def config(self) -> ModelConfig:
        """The config of the model."""
        return parse(ModelConfig, self._metadata["model"], self.path / CONFIG)

    @property
    def fingerprint(self) -> str:
        """A digest of the config, the weights and the tokenizer."""
        return metadata_checksum(self._metadata)

    @property
    def languages(self) -> tuple[str, str] | None:
        """The codes of the source and the target language, if the folder names them."""
        codes = self._metadata.get("languages")
        return None if codes is None else (codes[0], codes[1])

    @property
    def trained_length(self) -> int | None:
        """The maximum number of sub-words of a sentence in training; None if it is not known."""
        length: int | None = self._metadata.get("trained_length")
        return length

    @property
    def tag(self) -> str | None:
        """The target-language token, such as >>cmn_Hans<<, that source sentences start with; None if there is none."""
        tag: str | None = self._metadata.get("tag")
        return tag

    @property
    def precision(self) -> Precision:
        """The precision of the weights on disk."""
        precision: Precision = self._metadata.get("precision", "float32")
        return precision

    @property
    def weights(self) -> Path:
        """The file of the weights; its checksum is not verified yet (`verify`)."""
        return self.path / next(name for name in WEIGHTS if name in self._checksums)

    def tokenizer_files(self) -> list[Path]:
        """Returns the files of the tokenizer, with verified checksums."""
        return [self.verify(self.path / name) for name in self._checksums if name not in WEIGHTS]

    def verify(self, file: Path) -> Path:
        """Returns `file` after comparing its checksum with the stored one."""
        if file_checksum(file) != self._checksums[file.name]:
            raise DocgraphError(
                f"the file is damaged or only partly copied (its checksum differs); {COPY_AGAIN}", path=file
            )
        return file


def metadata_checksum(metadata: Mapping[str, Any]) -> str:
    """Returns the checksum of the values of a `config.json`; indentation and order of the file do not matter."""
    return hashlib.sha256(json.dumps(metadata, sort_keys=True).encode()).hexdigest()


def file_checksum(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def previous_folder(target: Path) -> Path:
    """Returns the folder that holds the old model while a new one replaces it."""
    return target.with_name(f".{target.name}.previous")


def _read_metadata(folder: Path) -> dict[str, Any]:
    """Returns the values of the folder's `config.json`; checks its format, its checksum and that all files exist."""
    path = folder / CONFIG
    if not folder.is_dir():
        previous = previous_folder(folder.absolute())
        remedy = f"rename {previous}, the last complete model, to it" if previous.is_dir() else "check the name"
        raise DocgraphError(f"there is no such model folder; {remedy}", path=folder)
    if not path.is_file():
        best = folder / BEST
        remedy = f"name the model of this run, {best}" if best.is_dir() else COPY_AGAIN
        raise DocgraphError(f"the model folder has no {CONFIG}; {remedy}", path=folder)
    try:
        metadata = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise DocgraphError(f"this is not valid JSON; {COPY_AGAIN}", path=path) from None
    _check_format(metadata, path)
    if metadata.pop("sha256", None) != metadata_checksum(metadata):
        raise DocgraphError(f"the file was damaged or edited (its checksum differs); {COPY_AGAIN}", path=path)
    files = metadata.get("files")
    if not isinstance(metadata.get("model"), dict) or not isinstance(files, dict) or not set(WEIGHTS) & set(files):
        raise DocgraphError(f"the config of this model lacks its fields or files; {COPY_AGAIN}", path=path)
    if not _are_languages(metadata.get("languages")):
        raise DocgraphError(f"'languages' is not a pair of language codes such as en and fr; {COPY_AGAIN}", path=path)
    length = metadata.get("trained_length")
    if length is not None and not (isinstance(length, int) and length > 0):
        raise DocgraphError(f"'trained_length' is not a positive number; {COPY_AGAIN}", path=path)
    if not isinstance(metadata.get("tag"), str | None):
        raise DocgraphError(f"'tag' is not a language token such as >>fra<<; {COPY_AGAIN}", path=path)
    for name in files:
        if name != Path(name).name:
            raise DocgraphError(f"the config names '{name}', outside the model folder; do not trust it", path=path)
        if not (folder / name).is_file():
            raise DocgraphError(f"the file is missing from the model folder; {COPY_AGAIN}", path=folder / name)
    return metadata


def _are_languages(codes: Any) -> bool:
    """Returns True for None and for two language codes, which are written into documents and select an annotator."""
    pair = isinstance(codes, list) and len(codes) == 2
    return codes is None or (pair and all(isinstance(code, str) and LANGUAGE_CODE.fullmatch(code) for code in codes))


def _check_format(metadata: Any, path: Path) -> None:
    """Refuses a config.json that docgraph did not write, or that another version of the format wrote."""
    version = metadata.get("format") if isinstance(metadata, dict) else None
    if not isinstance(version, int):
        marian = isinstance(metadata, dict) and metadata.get("model_type") == "marian"
        remedy = (
            f"run docgraph import marian {path.parent} OUT first" if marian else "name a folder written by docgraph"
        )
        raise DocgraphError(f"this is not the config of a docgraph model; {remedy}", path=path)
    if version != FORMAT:
        remedy = "install a newer docgraph" if version > FORMAT else COPY_AGAIN
        raise DocgraphError(f"model format {version} is unknown to docgraph {__version__}; {remedy}", path=path)
