"""Saving and loading models as folders of safetensors and JSON: no pickles, no code.

`save` writes a folder beside its target and then renames it, so a model folder is complete or absent.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_bytes
from safetensors.torch import load_file, save_file
from safetensors.torch import save as save_bytes
from torch import Tensor
from torch.overrides import TorchFunctionMode

from docgraph import __version__
from docgraph.config import to_dict
from docgraph.errors import DocgraphError
from docgraph.files import report_errors_as, report_write_errors_as
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import (
    CONFIG,
    COPY_AGAIN,
    FORMAT,
    WEIGHTS,
    ModelFolder,
    Precision,
    file_checksum,
    metadata_checksum,
    previous_folder,
)
from docgraph.model.quantize import quantize_rows
from docgraph.model.systems import context_class

BASE_MODULES = ("embeddings.", "encoder.", "decoder.")
SCALES = ".scales"
MAX_HEADER = 1 << 24
"""Bytes of the header of a safetensors file."""
MAX_COMPRESSION = 32
"""Maximum ratio of unpacked to gzipped weights; real models have less than two."""
UNPACKED_BLOCK = 1 << 24
"""Gzipped weights are unpacked in blocks of this size."""
CARD = "README.md"
"""The file of a model folder that describes the model."""


def save(
    model: DocumentTransformer,
    folder: str | Path,
    tokenizer_files: Iterable[str | Path] = (),
    precision: Precision = "float32",
    languages: tuple[str, str] | None = None,
    trained_length: int | None = None,
    tag: str | None = None,
) -> None:
    """Writes a model folder; replaces an existing model folder and refuses a folder that holds anything else.

    `precision` applies to the weights on disk: int8 stores matrices as bytes with one scale per row and the rest in
    fp16, and compresses the file. `languages` are the codes of the source and the target language, if known,
    `trained_length` is the maximum number of sub-words of a sentence in training, and `tag` is the target-language
    token that source sentences start with.
    """
    target = Path(folder).resolve()
    _check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with report_errors_as(target):
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp"))
    try:
        with report_write_errors_as(target, temporary):
            names = [_write_weights(_disk_tensors(model, precision), temporary, precision)]
            for file in map(Path, tokenizer_files):
                if file.name in (CONFIG, *names):
                    raise DocgraphError("two files of the model folder would have this name; rename it", path=file)
                shutil.copyfile(file, temporary / file.name)
                names.append(file.name)
            metadata = {
                "format": FORMAT,
                "docgraph": __version__,
                "system": system_name(model.config),
                "precision": precision,
                "languages": None if languages is None else list(languages),
                "trained_length": trained_length,
                "tag": tag,
                "model": to_dict(model.config),
                "files": {name: file_checksum(temporary / name) for name in names},
            }
            text = json.dumps({**metadata, "sha256": metadata_checksum(metadata)}, indent=2, ensure_ascii=False)
            (temporary / CONFIG).write_text(text + "\n", encoding="utf-8")
            _put_in_place(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def save_derived(
    model: DocumentTransformer,
    folder: str | Path,
    origin: ModelFolder,
    precision: Precision = "float32",
    card: Path | None = None,
) -> None:
    """Writes the folder of a model made from that of `origin`, whose sub-words, languages and limits it keeps.

    The card of `origin` describes another model; `card` is that of the new one.
    """
    files = [file for file in origin.tokenizer_files() if file.name != CARD]
    files += [] if card is None else [card]
    save(model, folder, files, precision, origin.languages, origin.trained_length, origin.tag)


def load(folder: str | Path | ModelFolder, device: torch.device | str = "cpu") -> DocumentTransformer:
    """Returns the model of a folder in fp32, in evaluation mode."""
    source = folder if isinstance(folder, ModelFolder) else ModelFolder(folder)
    tensors = _read_weights(source)
    model = blank(source.config)
    model.load_state_dict(tensors)
    return model.to(device).eval()


def load_base(model: DocumentTransformer, folder: str | Path | ModelFolder) -> None:
    """Copies the weights of a Base checkpoint into a system; the parameters of its context do not change."""
    source = folder if isinstance(folder, ModelFolder) else ModelFolder(folder)
    ours, theirs = model.config.transformer, source.config.transformer
    free = {"dropout"} | ({"max_positions"} if ours.positions == "sinusoidal" else set())
    for name in (field.name for field in fields(ours) if field.name not in free):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if mine != other:
            raise DocgraphError(
                f"'{name}' is {other} in this base model and {mine} in your config; make them equal", path=source.path
            )
    tensors = {name: t for name, t in _read_weights(source).items() if name.startswith(BASE_MODULES)}
    state = model.state_dict()
    expected = {name: tensor for name, tensor in state.items() if name.startswith(BASE_MODULES)}
    check_tensors(expected, tensors, source.weights)
    model.load_state_dict({**state, **tensors})


def system_name(config: ModelConfig) -> str:
    """Returns `base`, `docgraph-hyb-both` (context encoder, integration, sides) or `concatenation-2-1`."""
    return context_class(config).system_name(config)


class _NoRandomWeights(TorchFunctionMode):
    """Skips random initialisation, which a model whose weights are loaded next does not need."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in ("uniform_", "normal_"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def blank(config: ModelConfig, device: torch.device | str = "cpu") -> DocumentTransformer:
    """Returns a model with uninitialised weights; on the device `meta` it has only shapes and costs nothing."""
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
    """Writes the weights and returns the name of their file; int8 is gzipped, because only bytes compress well."""
    path = folder / WEIGHTS[precision == "int8"]
    if precision != "int8":
        write_tensors(tensors, path, {"format": "pt"})
    else:
        path.write_bytes(gzip.compress(save_bytes(tensors, metadata={"format": "pt"}), mtime=0))
    return path.name


def write_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Writes a safetensors file; a failure of the operating system is an OSError, as for any other file."""
    try:
        save_file(tensors, path, metadata)
    except SafetensorError as error:
        if (number := re.search(r"\(os error (\d+)\)", str(error))) is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def _check_replaceable(target: Path) -> None:
    """Refuses a target that is neither absent, nor an empty folder, nor a model folder with nothing else in it."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not target.is_dir():
        raise DocgraphError("this is a file; name a folder for the model", path=target)
    try:
        settings = json.loads((target / CONFIG).read_bytes())
        known = {CONFIG, *settings["files"]} if "format" in settings else set()
    except (OSError, ValueError, TypeError, KeyError):
        known = set()
    foreign = sorted(entry.name for entry in target.iterdir() if entry.name not in known)
    if foreign:
        raise DocgraphError(
            f"the folder contains '{foreign[0]}', which is not part of a model; choose another folder", path=target
        )


def _put_in_place(temporary: Path, target: Path) -> None:
    """Renames `temporary` to `target`; meanwhile, an existing model is kept as `.NAME.previous`."""
    mask = os.umask(0)
    os.umask(mask)
    for file in temporary.iterdir():
        file.chmod(0o666 & ~mask)  # safetensors writes files that only their owner can read
        _sync(file)
    temporary.chmod(0o777 & ~mask)
    _sync(temporary)
    previous = previous_folder(target)
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


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_weights(folder: ModelFolder) -> dict[str, Tensor]:
    """Returns the weights of a folder in fp32, after verifying their checksum, names and shapes.

    Nothing larger than the file, or than a model of its config, is allocated before the shapes are compared.
    """
    path = folder.verify(folder.weights)
    expected = blank(folder.config, "meta").state_dict()
    try:
        stored = load_bytes(_decompressed(path, expected)) if path.suffix == ".gz" else load_file(path)
    except (SafetensorError, OSError, EOFError, zlib.error) as error:
        raise DocgraphError(f"this is not a whole safetensors file ({error}); {COPY_AGAIN}", path=path) from None
    tensors = {name: tensor for name, tensor in stored.items() if not name.endswith(SCALES)}
    check_tensors(expected, tensors, path)
    tensors = {name: tensor.float() for name, tensor in tensors.items()}
    for name in (name for name in stored if name.endswith(SCALES)):
        matrix = tensors.get(name.removesuffix(SCALES))
        if matrix is None or stored[name].shape != matrix.shape[:1]:
            raise DocgraphError(f"'{name}' fits no matrix of the weights; {COPY_AGAIN}", path=path)
        matrix.mul_(stored[name][:, None])
    return tensors


def _decompressed(path: Path, expected: Mapping[str, Tensor]) -> bytes:
    """Returns the unpacked weights; refuses more than a model of `expected` shapes has or weights can be compressed."""
    values = sum(tensor.numel() for tensor in expected.values())
    limit = min(4 * values, MAX_COMPRESSION * path.stat().st_size) + MAX_HEADER
    with gzip.open(path) as file:
        data = bytearray()
        while len(data) <= limit and (block := file.read(min(UNPACKED_BLOCK, limit + 1 - len(data)))):
            data += block
    if len(data) > limit:
        raise DocgraphError(f"the weights are larger than a model of this {CONFIG}; {COPY_AGAIN}", path=path)
    return bytes(data)


def check_tensors(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], path: Path) -> None:
    """Raises an error unless `found` has exactly the names and shapes of `expected`."""
    for name, tensor in expected.items():
        if name not in found:
            raise DocgraphError(f"the weights lack '{name}', which {CONFIG} requires; {COPY_AGAIN}", path=path)
        if found[name].shape != tensor.shape:
            shapes = f"{list(found[name].shape)}, where {CONFIG} asks for {list(tensor.shape)}"
            raise DocgraphError(f"'{name}' has shape {shapes}; {COPY_AGAIN}", path=path)
    strange = next((name for name in found if name not in expected), None)
    if strange is not None:
        older = "an older docgraph gave source-only Pre context attention in the decoder; train it again"
        remedy = older if strange.startswith("integration.decoder.") else COPY_AGAIN
        raise DocgraphError(f"the weights hold '{strange}', which {CONFIG} does not list; {remedy}", path=path)
