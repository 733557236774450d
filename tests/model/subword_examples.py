"""Small SentencePiece models, trained by the tests."""

from __future__ import annotations

import io
import json
from pathlib import Path

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from docgraph.model.config import TransformerConfig

SOURCE_LINES = [
    "the quick brown fox jumps over the lazy dog",
    "hello world, this is a test of the numbers 1 2 3 ½ ﬁne",
    "she told him that the committee had met in 北京 大学 and 東京",
    "é à ü ç ñ œuvre cœur naïve café",
]
TARGET_LINES = [
    "le vif renard brun saute par-dessus le chien paresseux",
    "bonjour le monde, ceci est un essai des nombres 1 2 3",
    "elle lui a dit que le comité s'était réuni à 北京 大学",
]


def spm_bytes(lines: list[str], size: int, **options: object) -> bytes:
    """A trained model; end-of-sentence is 2 by default."""
    writer = io.BytesIO()
    fixed = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "hard_vocab_limit": False, **options}
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 20), model_writer=writer, vocab_size=size, minloglevel=2, **fixed
    )
    return writer.getvalue()


def processor(lines: list[str], size: int, **options: object) -> SentencePieceProcessor:
    return SentencePieceProcessor.from_proto(spm_bytes(lines, size, **options))


def joint_files(folder: Path) -> TransformerConfig:
    """Writes `joint.spm` to a folder and returns the config that fits it."""
    (folder / "joint.spm").write_bytes(spm_bytes(SOURCE_LINES + TARGET_LINES, 120, model_type="bpe"))
    return TransformerConfig(source_vocabulary=120, target_vocabulary=120)


def marian_files(folder: Path, size: int | None = None) -> TransformerConfig:
    """Writes source.spm, target.spm and a Marian vocab.json: </s> first, <pad> last, padded to `size` entries."""
    models = {"source.spm": processor(SOURCE_LINES, 90), "target.spm": processor(TARGET_LINES, 70)}
    table = {"</s>": 0, "<unk>": 1, ">>fra<<": 2, ">>deu<<": 3}
    for name, model in models.items():
        (folder / name).write_bytes(model.serialized_model_proto())
        for index in range(len(model)):
            if not (model.is_control(index) or model.is_unknown(index)):
                table.setdefault(model.id_to_piece(index), len(table))
    while size is not None and len(table) < size - 1:
        table[f"unused{len(table)}"] = len(table)
    pad = table.setdefault("<pad>", len(table))
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    return TransformerConfig(source_vocabulary=len(table), target_vocabulary=len(table), pad=pad, bos=pad, eos=0)
