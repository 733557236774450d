"""Model folders: `model.safetensors` (gzipped in int8), `config.json`, the tokenizer's files; no pickles, no code.

A folder is written beside its place and then renamed, so it is there whole or not at all. `config.json` carries the
checksum of every other file and of itself: what was damaged or half copied is refused in one sentence.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_bytes
from safetensors.torch import load_file, save_file
from safetensors.torch import save as save_bytes
from torch import Tensor
from torch.overrides import TorchFunctionMode

from docgraph import __version__
from docgraph.config import parse, to_dict
from docgraph.errors import DocgraphError
from docgraph.files import naming
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer

FORMAT = 1
CONFIG, WEIGHTS = "config.json", ("model.safetensors", "model.safetensors.gz")
BASE_MODULES = ("embeddings.", "encoder.", "decoder.")
SCALES = ".scales"
LARGEST = 1 << 31
"""Bytes of compressed weights, unpacked."""
Precision = Literal["float32", "float16", "int8"]
AGAIN = "copy the model folder again from where it came from"


def save(
    model: DocumentTransformer,
    folder: str | Path,
    tokenizer_files: Iterable[str | Path] = (),
    precision: Precision = "float32",
    languages: tuple[str, str] | None = None,
) -> None:
    """Write a model folder; one that is already there is replaced, a folder of anything else is left alone.

    `precision` is that of the weights on disk: int8 keeps matrices as bytes with a scale a row, all else in fp16, and
    compresses the file; `languages` are the codes of source and target, where they are known.
    """
    target = Path(folder).resolve()
    _check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with naming(target):
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"))
    try:
        names = [_write_weights(_disk_tensors(model, precision), temporary, precision)]
        for file in map(Path, tokenizer_files):
            if file.name in (CONFIG, *names):
                raise DocgraphError("two files of the model folder would have this name; rename it", path=file)
            shutil.copyfile(file, temporary / file.name)
            names.append(file.name)
        settings = {
            "format": FORMAT,
            "docgraph": __version__,
            "system": system_name(model.config),
            "precision": precision,
            "languages": None if languages is None else list(languages),
            "model": to_dict(model.config),
            "files": {name: _checksum(temporary / name) for name in names},
        }
        text = json.dumps({**settings, "sha256": _settings_checksum(settings)}, indent=2, ensure_ascii=False)
        (temporary / CONFIG).write_text(text + "\n", encoding="utf-8")
        _put_in_place(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def load(folder: str | Path, device: torch.device | str = "cpu") -> DocumentTransformer:
    """The model of a folder in fp32, ready to translate (dropout off)."""
    config = read_config(folder)
    path = weights_file(folder)
    tensors = _read_weights(path)
    model = blank(config)
    check_tensors(model.state_dict(), tensors, path)
    model.load_state_dict(tensors)
    return model.to(device).eval()


def load_base(model: DocumentTransformer, folder: str | Path) -> None:
    """Put the weights of a Base checkpoint into a system; its context parameters stay as they are."""
    ours, theirs = model.config.transformer, read_config(folder).transformer
    free = {"dropout"} | ({"max_positions"} if ours.positions == "sinusoidal" else set())
    for name in (field.name for field in fields(ours) if field.name not in free):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if mine != other:
            raise DocgraphError(
                f"'{name}' is {other} in this base model and {mine} in yours; make them equal", path=folder
            )
    path = weights_file(folder)
    tensors = {name: t for name, t in _read_weights(path).items() if name.startswith(BASE_MODULES)}
    state = model.state_dict()
    expected = {name: tensor for name, tensor in state.items() if name.startswith(BASE_MODULES)}
    check_tensors(expected, tensors, path)
    model.load_state_dict({**state, **tensors})


def read_config(folder: str | Path) -> ModelConfig:
    """What model a folder holds, after checking that its config.json is whole and its files are there."""
    return parse(ModelConfig, _settings(Path(folder))["model"])


def fingerprint(folder: str | Path) -> str:
    """A digest of a model folder: its config, its weights and its sub-words."""
    return _settings_checksum(_settings(Path(folder)))


def read_languages(folder: str | Path) -> tuple[str, str] | None:
    """The codes of the source and the target language of a model, where its folder says them."""
    codes = _settings(Path(folder)).get("languages")
    return (str(codes[0]), str(codes[1])) if isinstance(codes, list) and len(codes) == 2 else None


def read_precision(folder: str | Path) -> Precision:
    """The precision of the weights on disk."""
    precision: Precision = _settings(Path(folder)).get("precision", "float32")
    return precision


def tokenizer_files(folder: str | Path) -> list[Path]:
    """The tokenizer's files of a model folder, checked to be what was saved."""
    files: Mapping[str, str] = _settings(Path(folder))["files"]
    paths = [Path(folder) / name for name in files if name not in WEIGHTS]
    for path in paths:
        _check_file(path, files[path.name])
    return paths


def system_name(config: ModelConfig) -> str:
    """`base`, or the context encoder, integration and sides: `docgraph-hyb-both`; or `concatenation-2-1`."""
    context, joined = config.context, config.concatenation
    if joined is not None:
        return f"concatenation-{joined.source}-{joined.target}"
    return "base" if context is None else f"{context.encoder}-{context.integration}-{context.sides}"


class _NoRandomWeights(TorchFunctionMode):
    """Draws of random numbers do nothing: a model about to be overwritten needs no initial weights."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in ("uniform_", "normal_"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def blank(config: ModelConfig, device: torch.device | str = "cpu") -> DocumentTransformer:
    """A model whose weights are arbitrary; on `meta` it has shapes alone and costs nothing."""
    with _NoRandomWeights(), torch.device(device):
        return DocumentTransformer(config)


def _disk_tensors(model: DocumentTransformer, precision: Precision) -> dict[str, Tensor]:
    tensors = {}
    for name, tensor in model.state_dict().items():
        weight = tensor.detach().to("cpu", torch.float32).contiguous()
        if precision == "int8" and weight.dim() == 2:
            tensors[name], tensors[name + SCALES] = quantize_rows(weight)
            continue
        stored = weight if precision == "float32" else weight.half()
        if bool((stored.isinf() & weight.isfinite()).any()):
            raise DocgraphError(f"'{name}' has weights beyond the range of half precision; save it in full precision")
        tensors[name] = stored
    return tensors


def _write_weights(tensors: dict[str, Tensor], folder: Path, precision: Precision) -> str:
    """Write the weights; the name of their file. Bytes compress a little, single precision does not."""
    path = folder / WEIGHTS[precision == "int8"]
    if precision != "int8":
        save_file(tensors, path, metadata={"format": "pt"})
    else:
        path.write_bytes(gzip.compress(save_bytes(tensors, metadata={"format": "pt"}), mtime=0))
    return path.name


def quantize_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Bytes [o, i] and fp32 scales [o] of a matrix [o, i]: weight = bytes * scale, to half a step of its row."""
    scale = weight.abs().amax(1) / 127
    return (weight / scale.clamp(min=1e-30)[:, None]).round().to(torch.int8), scale


def _check_replaceable(target: Path) -> None:
    """Refuse to replace anything but an empty folder or a model folder with nothing else in it."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not target.is_dir():
        raise DocgraphError("this is a file; name a folder for the model", path=target)
    try:
        settings = json.loads((target / CONFIG).read_bytes())
        known = {CONFIG, *settings["files"]} if "format" in settings else set()
    except (OSError, ValueError, TypeError, KeyError):
        known = set()
    strange = sorted(entry.name for entry in target.iterdir() if entry.name not in known)
    if strange:
        raise DocgraphError(f"the folder holds '{strange[0]}', no part of a model; choose another", path=target)


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename `temporary` to `target`, by way of `.NAME.previous` where a model is replaced."""
    for file in temporary.iterdir():
        _sync(file)
    _sync(temporary)
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o777 & ~mask)
    previous = _previous(target)
    if target.exists():
        shutil.rmtree(previous, ignore_errors=True)
        target.rename(previous)
    try:
        temporary.rename(target)
    except BaseException:
        if previous.exists():
            previous.rename(target)
        raise
    _sync(target.parent)
    shutil.rmtree(previous, ignore_errors=True)


def _previous(target: Path) -> Path:
    return target.with_name(f".{target.name}.previous")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _settings(folder: Path) -> dict[str, Any]:
    """The parsed config.json of a folder whose files are all there, or one sentence on what is wrong."""
    path = folder / CONFIG
    if not folder.is_dir():
        kept = _previous(folder.absolute())
        hint = f"rename {kept} to it, the last whole model" if kept.is_dir() else "check the name"
        raise DocgraphError(f"there is no such model folder; {hint}", path=folder)
    if not path.is_file():
        best = folder / "best"
        remedy = f"name the model of this run, {best}" if best.is_dir() else AGAIN
        raise DocgraphError(f"the model folder has no {CONFIG}; {remedy}", path=folder)
    try:
        settings = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise DocgraphError(f"this is not valid JSON; {AGAIN}", path=path) from None
    version = settings.get("format") if isinstance(settings, dict) else None
    if not isinstance(version, int):
        marian = isinstance(settings, dict) and settings.get("model_type") == "marian"
        remedy = f"run docgraph import marian {folder} OUT first" if marian else "name a folder written by docgraph"
        raise DocgraphError(f"this is not the config of a docgraph model; {remedy}", path=path)
    if version != FORMAT:
        remedy = "install a newer docgraph" if version > FORMAT else AGAIN
        raise DocgraphError(f"model format {version} is unknown to docgraph {__version__}; {remedy}", path=path)
    if settings.pop("sha256", None) != _settings_checksum(settings):
        raise DocgraphError(f"the file was damaged or edited (its checksum differs); {AGAIN}", path=path)
    files = settings.get("files")
    if not isinstance(settings.get("model"), dict) or not isinstance(files, dict) or not set(WEIGHTS) & set(files):
        raise DocgraphError(f"the config of this model lacks its fields or files; {AGAIN}", path=path)
    for name in files:
        if name != Path(name).name:
            raise DocgraphError(f"the config names '{name}', outside the model folder; do not trust it", path=path)
        if not (folder / name).is_file():
            raise DocgraphError(f"the file is missing from the model folder; {AGAIN}", path=folder / name)
    return settings


def _settings_checksum(settings: Mapping[str, Any]) -> str:
    """Of the values, not of the bytes: indentation and order do not matter."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_file(path: Path, checksum: str) -> None:
    if _checksum(path) != checksum:
        raise DocgraphError(f"the file is damaged or only partly copied (its checksum differs); {AGAIN}", path=path)


def weights_file(folder: str | Path) -> Path:
    """The file that holds the weights of a model folder."""
    files = _settings(Path(folder))["files"]
    return Path(folder) / next(name for name in WEIGHTS if name in files)


def _read_weights(path: Path) -> dict[str, Tensor]:
    _check_file(path, _settings(path.parent)["files"][path.name])
    try:
        stored = load_bytes(_decompressed(path)) if path.suffix == ".gz" else load_file(path)
    except (SafetensorError, OSError, EOFError, zlib.error) as error:
        raise DocgraphError(f"this is not a whole safetensors file ({error}); {AGAIN}", path=path) from None
    tensors = {name: tensor.float() for name, tensor in stored.items() if not name.endswith(SCALES)}
    for name in (name for name in stored if name.endswith(SCALES)):
        matrix = tensors.get(name.removesuffix(SCALES))
        if matrix is None or stored[name].shape != matrix.shape[:1]:
            raise DocgraphError(f"'{name}' fits no matrix of the weights; {AGAIN}", path=path)
        matrix.mul_(stored[name][:, None])
    return tensors


def _decompressed(path: Path) -> bytes:
    with gzip.open(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DocgraphError(f"the weights are larger than {LARGEST >> 30} GiB; do not trust this model", path=path)
    return data


def check_tensors(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], path: Path) -> None:
    """Names and shapes must be those the config asks for."""
    for name, tensor in expected.items():
        if name not in found:
            raise DocgraphError(f"the weights lack '{name}', which {CONFIG} asks for; {AGAIN}", path=path)
        if found[name].shape != tensor.shape:
            shapes = f"{list(found[name].shape)}, where {CONFIG} asks for {list(tensor.shape)}"
            raise DocgraphError(f"'{name}' has shape {shapes}; {AGAIN}", path=path)
    strange = next((name for name in found if name not in expected), None)
    if strange is not None:
        raise DocgraphError(f"the weights hold '{strange}', which {CONFIG} does not know; {AGAIN}", path=path)
