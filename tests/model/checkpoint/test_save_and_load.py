"""Model folders are saved whole or not at all, and load as they were saved."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.checkpoint import load, save
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder

from ..examples import batch_of, documents, small_config, small_model
from .checkpoint_examples import CONFIG, WEIGHTS, equal


def test_round_trip_is_bit_equal(original: DocumentTransformer, saved: Path) -> None:
    again = load(saved)
    assert equal(original, again)
    assert not again.training
    batch = batch_of(documents(3, [3, 4], [2]))
    with torch.no_grad():
        assert torch.equal(original.eval().logits(batch), again.logits(batch))


def test_config_json_describes_the_model(saved: Path) -> None:
    settings = json.loads((saved / CONFIG).read_text())
    assert settings["format"] == 1
    assert settings["system"] == "docgraph-hyb-both"
    assert settings["precision"] == "float32"
    assert sorted(settings["files"]) == ["joint.spm", WEIGHTS]
    assert sorted(path.name for path in saved.iterdir()) == [CONFIG, "joint.spm", WEIGHTS]
    assert [path.read_bytes() for path in ModelFolder(saved).tokenizer_files()] == [b"pieces"]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_learned_positions_and_separate_tables_come_back(norm: str, tmp_path: Path) -> None:
    config = small_config(norm, context=False)
    fields = {"positions": "learned", "share_embeddings": "none", "output_bias": True, "embedding_norm": True}
    model = small_model(replace(config, transformer=replace(config.transformer, **fields)))
    save(model, tmp_path / "base")
    assert equal(load(tmp_path / "base"), model)


def test_known_languages_are_stored(original: DocumentTransformer, saved: Path, tmp_path: Path) -> None:
    save(original, tmp_path / "model", languages=("en", "ru"))
    assert ModelFolder(tmp_path / "model").languages == ("en", "ru")
    assert ModelFolder(saved).languages is None


def test_the_length_of_training_is_stored(original: DocumentTransformer, saved: Path, tmp_path: Path) -> None:
    save(original, tmp_path / "model", trained_length=256)
    assert ModelFolder(tmp_path / "model").trained_length == 256
    assert ModelFolder(saved).trained_length is None


def test_half_precision_halves_the_file_and_loads_as_single(original: DocumentTransformer, tmp_path: Path) -> None:
    save(original, tmp_path / "half", precision="float16")
    save(original, tmp_path / "full")
    sizes = [(tmp_path / name / WEIGHTS).stat().st_size for name in ("half", "full")]
    assert sizes[0] < 0.6 * sizes[1]
    state = load(tmp_path / "half").state_dict()
    for name, tensor in original.state_dict().items():
        assert state[name].dtype == torch.float32
        assert torch.equal(state[name], tensor.half().float())


def test_bytes_quarter_the_file_and_load_as_single(original: DocumentTransformer, tmp_path: Path) -> None:
    save(original, tmp_path / "bytes", precision="int8")
    save(original, tmp_path / "full")
    sizes = [path.stat().st_size for path in (tmp_path / "bytes" / f"{WEIGHTS}.gz", tmp_path / "full" / WEIGHTS)]
    assert sizes[0] < 0.5 * sizes[1], "small matrices have scales that weigh; large ones come to a quarter"
    loaded = load(tmp_path / "bytes")
    for name, tensor in original.state_dict().items():
        found = loaded.state_dict()[name]
        assert found.dtype == torch.float32
        step = tensor.abs().amax(1, keepdim=True) / 127 if tensor.dim() == 2 else torch.tensor(0.0)
        assert bool(((found - tensor).abs() <= step * 0.501 + tensor.abs() * 1e-3).all())
    save(loaded, tmp_path / "again", precision="int8")
    assert equal(load(tmp_path / "again"), loaded)


def test_half_precision_refuses_weights_out_of_range(tmp_path: Path) -> None:
    model = small_model(small_config(context=False))
    with torch.no_grad():
        model.embeddings.target_table.weight[0, 0] = 1e6
    with pytest.raises(DocgraphError, match="beyond the range of half precision"):
        save(model, tmp_path / "half", precision="float16")
    assert list(tmp_path.iterdir()) == []


def test_a_model_folder_is_replaced(folder: Path) -> None:
    other = small_model(small_config(context=False), seed=5)
    save(other, folder)
    assert equal(load(folder), other)
    assert sorted(path.name for path in folder.iterdir()) == [CONFIG, WEIGHTS]
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_files_have_the_permissions_of_the_umask(original: DocumentTransformer, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(original, tmp_path / "model")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()} == {0o640}
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("name", ["thesis.tex", CONFIG])
def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, original: DocumentTransformer, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(DocgraphError, match=f"contains '{name}', which is not part of a model"):
        save(original, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_model_folder_with_another_file_is_left_alone(folder: Path, original: DocumentTransformer) -> None:
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(DocgraphError, match="contains 'notes"):
        save(original, folder)
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_failed_save_leaves_the_old_model(
    folder: Path, original: DocumentTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "file_checksum", fail)
    with pytest.raises(OSError, match="disk full"):
        save(small_model(small_config(context=False)), folder)
    monkeypatch.undo()
    assert equal(load(folder), original)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_full_disk_names_the_model_folder(
    original: DocumentTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        save(original, tmp_path / "model")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "model")


def test_a_save_that_fails_at_the_last_rename_puts_the_old_model_back(
    folder: Path, original: DocumentTransformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.suffix == ".tmp":
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="no"):
        save(small_model(small_config(context=False)), folder)
    assert equal(load(folder), original)


def test_a_save_killed_between_its_renames_is_explained(folder: Path) -> None:
    folder.rename(folder.with_name(".model.previous"))
    with pytest.raises(DocgraphError, match=r"no such model folder; rename .*\.model\.previous, the last complete"):
        load(folder)
