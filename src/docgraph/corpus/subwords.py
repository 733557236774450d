"""Sub-words of a corpus: learnt by SentencePiece from a sample of the training text, kept in a tokenizer folder.

The folder holds the models under the names that `model/tokenizer.py` reads, and `config.json` with the sizes of the
vocabularies and the ids of padding, begin and end.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docgraph.corpus.config import SubwordsConfig
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.model.config import TransformerConfig
from docgraph.model.tokenizer import FILES, Tokenizer

CONFIG = "config.json"
SEED = 1
_IDS: dict[str, Any] = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
"""As TransformerConfig has them by default."""


class Sample:
    """Sentence pairs drawn evenly from a stream of unknown length (reservoir sampling), the same ones every time."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = random.Random(SEED)
        self._seen = 0
        self.pairs: list[tuple[str, str]] = []

    def add(self, document: ParallelDocument) -> None:
        for pair in zip(document.source, document.target, strict=True):
            self._seen += 1
            if len(self.pairs) < self._size:
                self.pairs.append(pair)
            elif (place := self._random.randrange(self._seen)) < self._size:
                self.pairs[place] = pair


def learn(sample: Sample, config: SubwordsConfig, folder: str | Path, fingerprint: str) -> None:
    """Learn the sub-words of both languages and write their folder; `fingerprint` says what they were made from."""
    source, target = ([pair[side] for pair in sample.pairs] for side in range(2))
    if config.joint:
        models = {"joint.spm": _train(source + target, config)}
        sizes = [_size(models["joint.spm"])] * 2
    else:
        models = {"source.spm": _train(source, config), "target.spm": _train(target, config)}
        sizes = [_size(model) for model in models.values()]
    ids = {"pad": _IDS["pad_id"], "bos": _IDS["bos_id"], "eos": _IDS["eos_id"]}
    _write(Path(folder), models, {"source_vocabulary": sizes[0], "target_vocabulary": sizes[1], **ids}, fingerprint)


def _train(lines: list[str], config: SubwordsConfig) -> bytes:
    from sentencepiece import SentencePieceTrainer

    writer = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=writer,
            vocab_size=config.size,
            model_type=config.kind,
            byte_fallback=config.byte_fallback,
            character_coverage=config.coverage,
            hard_vocab_limit=False,
            max_sentence_length=1 << 16,
            minloglevel=2,
            **_IDS,
        )
    except (RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise DocgraphError(
            f"SentencePiece cannot learn {config.size:,} pieces from {len(lines):,} sentences ({reason}); "
            "choose another 'subwords.size', or give it more text"
        ) from None
    return writer.getvalue()


def _size(model: bytes) -> int:
    from sentencepiece import SentencePieceProcessor

    return len(SentencePieceProcessor.from_proto(model))


def copy(origin: str | Path, folder: str | Path, fingerprint: str) -> None:
    """Take the sub-words of a model folder, of a prepared corpus or of a tokenizer folder."""
    place = Path(origin)
    if (place / "tokenizer" / CONFIG).is_file():
        place = place / "tokenizer"
    values = _model_values(place) if _read(place) is None else token_config(place)
    config = {name: getattr(values, name) for name in ("source_vocabulary", "target_vocabulary", "pad", "bos", "eos")}
    files = {name: (place / name).read_bytes() for name in FILES if (place / name).is_file()}
    Tokenizer.load(place, values)
    _write(Path(folder), files, config, fingerprint)


def _model_values(folder: Path) -> TransformerConfig:
    from docgraph.model.checkpoint import read_config

    return read_config(folder).transformer


def _write(folder: Path, files: dict[str, bytes], config: dict[str, int], fingerprint: str) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
    for name, data in files.items():
        with replacing(folder / name) as path:
            path.write_bytes(data)
    values = {**config, "fingerprint": fingerprint, "digest": digest(files)}
    with replacing(folder / CONFIG) as path:  # last: a folder without it is not complete
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def files_of(folder: str | Path) -> dict[str, bytes]:
    """The files of a tokenizer folder that its meaning depends on."""
    return {name: (Path(folder) / name).read_bytes() for name in FILES if (Path(folder) / name).is_file()}


def digest(files: dict[str, bytes]) -> str:
    """A digest of the sub-words."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(files):
        total.update(f"{name} {len(files[name])}\n".encode() + files[name])
    return total.hexdigest()


def is_current(folder: str | Path, fingerprint: str) -> bool:
    """Whether a folder holds, whole, the sub-words made from what `fingerprint` names."""
    values = _read(Path(folder))
    return values is not None and values["fingerprint"] == fingerprint and values["digest"] == digest(files_of(folder))


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        values = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) and {"fingerprint", "digest"} <= values.keys() else None


def token_config(folder: str | Path) -> TransformerConfig:
    """The vocabulary sizes and special ids of a tokenizer folder, as a model takes them."""
    values = _read(Path(folder))
    if values is None:
        raise DocgraphError("this is no tokenizer folder of a prepared corpus; run docgraph prepare", path=folder)
    numbers = {name: value for name, value in values.items() if name not in ("fingerprint", "digest")}
    return TransformerConfig(**numbers, share_embeddings="none")


def load(folder: str | Path) -> Tokenizer:
    """The tokenizer of a folder."""
    return Tokenizer.load(folder, token_config(folder))


def unpack(files: Iterable[tuple[str, bytes]], config: TransformerConfig) -> Tokenizer:
    """A tokenizer from the bytes of its files, on a machine that does not have the folder."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="docgraph-") as folder:
        for name, data in files:
            (Path(folder) / name).write_bytes(data)
        return Tokenizer.load(folder, config)
