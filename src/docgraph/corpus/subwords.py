"""Sub-words of a corpus: learnt by SentencePiece from a sample of the training text, and used to encode documents.

A tokenizer folder holds the SentencePiece models under the names that `model/tokenizer.py` reads, and `config.json`
with the vocabulary sizes and the ids of the padding, begin and end tokens.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation, IntArray
from docgraph.corpus.config import SubwordsConfig
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.model.config import TransformerConfig
from docgraph.model.tokenizer import FILES, Ids, SubwordCoder, Tokenizer, words_of_pieces

CONFIG = "config.json"
SEED = 1
_IDS: dict[str, Any] = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
"""The defaults of TransformerConfig."""
MAX_LENGTH = 30_000
"""Maximum number of sub-words or words in a sentence: the store counts them in 16 bits."""


class Sample:
    """A uniform sample of sentence pairs from a stream of unknown length (reservoir sampling), with a fixed seed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = random.Random(SEED)
        self._seen = 0
        self.pairs: list[tuple[str, str]] = []

    def add(self, document: ParallelDocument) -> None:
        """Considers the sentence pairs of a document."""
        for pair in zip(document.source, document.target, strict=True):
            self._seen += 1
            if len(self.pairs) < self._size:
                self.pairs.append(pair)
            elif (index := self._random.randrange(self._seen)) < self._size:
                self.pairs[index] = pair


def learn(sample: Sample, config: SubwordsConfig, folder: str | Path, fingerprint: str) -> None:
    """Learns the sub-words of both languages and writes the tokenizer folder; `fingerprint` identifies the input."""
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
            "choose another 'subwords.size', or add training text"
        ) from None
    return writer.getvalue()


def _size(model: bytes) -> int:
    from sentencepiece import SentencePieceProcessor

    return len(SentencePieceProcessor.from_proto(model))


def copy(origin: str | Path, folder: str | Path, fingerprint: str) -> None:
    """Copies the sub-words of a model folder, a prepared corpus or a tokenizer folder."""
    from docgraph.model.model_folder import ModelFolder

    source = Path(origin)
    if (source / "tokenizer" / CONFIG).is_file():
        source = source / "tokenizer"
    values = ModelFolder(source).config.transformer if _read(source) is None else token_config(source)
    config = {name: getattr(values, name) for name in ("source_vocabulary", "target_vocabulary", "pad", "bos", "eos")}
    Tokenizer.load(source, values)  # raises an error if the files do not fit the config
    _write(Path(folder), files_of(source), config, fingerprint)


def _write(folder: Path, files: dict[str, bytes], config: dict[str, int], fingerprint: str) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
    for name, data in files.items():
        with replacing(folder / name) as path:
            path.write_bytes(data)
    values = {**config, "fingerprint": fingerprint, "digest": digest(files)}
    with replacing(folder / CONFIG) as path:  # written last: a folder without it is incomplete
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def files_of(folder: str | Path) -> dict[str, bytes]:
    """Returns the model files of a tokenizer folder, by name."""
    return {name: (Path(folder) / name).read_bytes() for name in FILES if (Path(folder) / name).is_file()}


def digest(files: dict[str, bytes]) -> str:
    """Returns a digest of the model files."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(files):
        total.update(f"{name} {len(files[name])}\n".encode() + files[name])
    return total.hexdigest()


def is_current(folder: str | Path, fingerprint: str) -> bool:
    """Returns whether a folder holds complete sub-words made from the input that `fingerprint` identifies."""
    values = _read(Path(folder))
    return values is not None and values["fingerprint"] == fingerprint and values["digest"] == digest(files_of(folder))


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        values = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) and {"fingerprint", "digest"} <= values.keys() else None


def token_config(folder: str | Path) -> TransformerConfig:
    """Returns the vocabulary sizes and special ids of a tokenizer folder, as a model config."""
    values = _read(Path(folder))
    if values is None:
        raise DocgraphError("this is not the tokenizer folder of a prepared corpus; run docgraph prepare", path=folder)
    numbers = {name: value for name, value in values.items() if name not in ("fingerprint", "digest")}
    return TransformerConfig(**numbers, share_embeddings="none")


def load(folder: str | Path) -> Tokenizer:
    """Loads the tokenizer of a folder."""
    return Tokenizer.load(folder, token_config(folder))


def unpack(files: Iterable[tuple[str, bytes]], config: TransformerConfig) -> Tokenizer:
    """Loads a tokenizer from the bytes of its files, on a machine that does not have the folder."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="docgraph-") as folder:
        for name, data in files:
            (Path(folder) / name).write_bytes(data)
        return Tokenizer.load(folder, config)


@dataclass(frozen=True, eq=False)
class EncodedSide:
    """The P sub-words of the M sentences of one side of a document."""

    ids: Ids
    """[P], with the end-of-sentence of each sentence."""
    lengths: IntArray
    """[M]: the number of sub-words of each sentence."""
    words: npt.NDArray[np.integer]
    """[P]: the index, in its sentence, of the word that each sub-word belongs to; -1 for none."""


@dataclass(frozen=True, eq=False)
class EncodedDocument:
    """A document in the form in which the store keeps it."""

    id: str
    path: str
    lines: IntArray
    """[M]"""
    source: EncodedSide
    target: EncodedSide
    annotation: Annotation


def encode(
    document: ParallelDocument, annotation: Annotation, tokenizer: Tokenizer, tag: str | None = None
) -> EncodedDocument:
    """Encodes both sides; source words are those of the annotation, target words are separated by spaces."""
    source, source_words = encode_source(document.source, annotation, tokenizer.source, tag)
    target, target_words = encode_target(document.target, tokenizer.target)
    sides = _side(source, source_words), _side(target, target_words)
    counts = np.diff(annotation.offsets)
    for index in range(len(document)):
        size = max(int(sides[0].lengths[index]), int(sides[1].lengths[index]), int(counts[index]))
        if size > MAX_LENGTH:
            message = f"a sentence of {size:,} sub-words; cut it, or lower 'max_characters' and use --skip-bad"
            raise DocgraphError(message, path=document.path, line=document.lines[index])
    return EncodedDocument(document.id, document.path, np.array(document.lines, np.int32), *sides, annotation)


def encode_source(
    texts: Sequence[str], annotation: Annotation, coder: SubwordCoder, tag: str | None = None
) -> tuple[list[Ids], list[Ids]]:
    """Returns the sub-words of each sentence, and for each sub-word the index of its word in the sentence (or -1)."""
    if not texts:
        return [], []
    encoded, spans = zip(*(coder.encode(text, tag) for text in texts), strict=True)
    lengths = np.array([len(ids) for ids in encoded])
    # All sentences are matched at once, as if they were the lines of one text.
    ends = np.cumsum([len(text) + 1 for text in texts])
    begins = np.concatenate([[0], ends[:-1]])
    firsts, counts = annotation.offsets[:-1], np.diff(annotation.offsets)
    owner = words_of_pieces(
        np.concatenate(spans) + np.repeat(begins, lengths)[:, None],
        annotation.starts + np.repeat(begins, counts),
        annotation.ends + np.repeat(begins, counts),
    )
    owner = np.where(owner < 0, -1, owner - np.repeat(firsts, lengths))
    return list(encoded), np.split(owner, np.cumsum(lengths)[:-1])


def encode_target(texts: Sequence[str], coder: SubwordCoder) -> tuple[list[Ids], list[Ids]]:
    """Returns the same for translations, whose words are separated by spaces."""
    encoded = coder.ids(texts)
    return encoded, coder.words(encoded)


def _side(ids: list[Ids], words: list[Ids]) -> EncodedSide:
    lengths = np.array([len(sentence) for sentence in ids], dtype=np.int32)
    return EncodedSide(np.concatenate(ids), lengths, np.concatenate(words))
