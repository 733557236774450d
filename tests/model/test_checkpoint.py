"""Model folders: round trips, every kind of damage, and loading the Base of a context system."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.checkpoint import load, load_base, save
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder

from .examples import batch_of, documents, small_config, small_model

CONFIG, WEIGHTS = "config.json", "model.safetensors"


@pytest.fixture(scope="module")
def original() -> DocumentTransformer:
    return small_model(small_config(integration="hyb"), open_gates=True)


@pytest.fixture(scope="module")
def saved(original: DocumentTransformer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "saved"
    tokenizer = folder.parent / "joint.spm"
    tokenizer.write_bytes(b"pieces")
    save(original, folder, [tokenizer])
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def equal(one: DocumentTransformer, other: DocumentTransformer) -> bool:
    mine, yours = one.state_dict(), other.state_dict()
    same = mine.keys() == yours.keys() and all(torch.equal(mine[name], yours[name]) for name in mine)
    return same and one.config == other.config


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


def edit(folder: Path, **changes: Any) -> None:
    """Changes config.json and updates its checksum, as another program might."""
    settings = {**json.loads((folder / CONFIG).read_text()), **changes}
    settings.pop("sha256")
    settings["files"] = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() if (folder / name).is_file() else ""
        for name in settings["files"]
    }
    settings["sha256"] = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    (folder / CONFIG).write_text(json.dumps(settings))


def reshape(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / WEIGHTS)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    change(tensors)
    save_file(tensors, folder / WEIGHTS)
    edit(folder)


def replace_model(folder: Path, **fields: Any) -> None:
    model = json.loads((folder / CONFIG).read_text())["model"]
    model["transformer"].update(fields)
    edit(folder, model=model)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "model: there is no such model folder; check the name"),
    "no config": (lambda f: (f / CONFIG).unlink(), "model: the model folder has no config.json; copy"),
    "a run": (
        lambda f: ((f / CONFIG).unlink(), (f / "best").mkdir()),
        "has no config.json; name the model of this run, .*model/best",
    ),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), "model.safetensors: the file is missing from the model folder"),
    "no tokenizer": (lambda f: (f / "joint.spm").unlink(), "joint.spm: the file is missing from the model folder"),
    "invalid JSON": (lambda f: (f / CONFIG).write_text('{"format": 1,'), "config.json: this is not valid JSON; copy"),
    "not UTF-8": (lambda f: (f / CONFIG).write_bytes(b'{"\xff": 1}'), "config.json: this is not valid JSON"),
    "nested JSON": (lambda f: (f / CONFIG).write_text("[" * 100000), "config.json: this is not valid JSON"),
    "a list": (lambda f: (f / CONFIG).write_text("[]"), "not the config of a docgraph model; name a folder"),
    "other config": (
        lambda f: (f / CONFIG).write_text('{"model_type": "marian"}'),
        "not the config of a docgraph model; run docgraph import marian",
    ),
    "newer": (lambda f: edit(f, format=2), "model format 2 is unknown to docgraph .*; install a newer docgraph"),
    "older": (lambda f: edit(f, format=0), "model format 0 is unknown"),
    "edited": (
        lambda f: (f / CONFIG).write_text((f / CONFIG).read_text().replace('"heads": 4', '"heads": 8')),
        "config.json: the file was damaged or edited",
    ),
    "no fields": (lambda f: edit(f, model=None), "lacks its fields or files"),
    "outside": (lambda f: edit(f, files={WEIGHTS: "", "../x": ""}), "outside the model folder"),
    "unknown field": (lambda f: replace_model(f, head=4), "unknown field 'transformer.head'; did you mean 'heads'"),
    "zero heads": (lambda f: replace_model(f, heads=0), "'transformer.heads' is 0; it must be at least 1"),
    "cut weights": (
        lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:-100]),
        "model.safetensors: the file is damaged or only partly copied",
    ),
    "cut and signed": (
        lambda f: ((f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:-100]), edit(f)),
        "model.safetensors: this is not a whole safetensors file",
    ),
    "empty weights": (
        lambda f: ((f / WEIGHTS).write_bytes(b""), edit(f)),
        "model.safetensors: this is not a whole safetensors file",
    ),
    "missing tensor": (
        lambda f: reshape(f, lambda t: t.pop("encoder.layers.0.self_attention.query.bias")),
        "the weights lack 'encoder.layers.0.self_attention.query.bias'",
    ),
    "strange tensor": (lambda f: reshape(f, lambda t: t.update(x=torch.ones(2))), "the weights hold 'x'"),
    "shape": (
        lambda f: reshape(f, lambda t: t.update({"context.places.weight": torch.ones(3, 2)})),
        r"'context.places.weight' has shape \[3, 2\], where config.json asks for",
    ),
    "many layers": (
        lambda f: replace_model(f, encoder_layers=1_000_000),
        "'transformer.encoder_layers' is 1000000; it must be at least 1 and at most 256",
    ),
    "huge vocabulary": (
        lambda f: replace_model(f, source_vocabulary=10**7, target_vocabulary=10**7),
        r"'embeddings.target_table.weight' has shape .*, where config.json asks for \[10000000, ",
    ),
    "huge dimension": (lambda f: replace_model(f, dimension=2**16), "has shape .*, where config.json asks for"),
    "overflow": (lambda f: replace_model(f, dimension=2**40), "'transformer.dimension' is .*; it must be .* at most"),
    "many positions": (
        lambda f: replace_model(f, max_positions=10**9),
        "'transformer.max_positions' is 1000000000; it must be at least 1 and at most 65536",
    ),
    "trained length": (lambda f: edit(f, trained_length="long"), "'trained_length' is not a positive number"),
    **{
        f"languages {number}": (
            lambda f, codes=codes: edit(f, languages=codes),
            "'languages' is not a pair of language",
        )
        for number, codes in enumerate(
            [
                ["en", 'fr"><script>alert(1)</script>'],
                ["en", "\\g<9>"],
                ["conllu:/etc/passwd", "fr"],
                ["spacy:pip", "fr"],
                ["stanza", "fr"],
                ["en", "fr\n"],
                ["en", ["fr"]],
                ["en"],
                "en",
            ]
        )
    },
}


@pytest.mark.parametrize("kind", list(DAMAGE))
def test_damage_is_reported_in_one_sentence(folder: Path, kind: str) -> None:
    damage, message = DAMAGE[kind]
    damage(folder)
    with pytest.raises(DocgraphError, match=message) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("vocabulary", [None, 10**7], ids=["its own config", "a huge vocabulary"])
def test_a_gzip_bomb_is_refused_before_it_is_unpacked(
    original: DocumentTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vocabulary: int | None
) -> None:
    folder = tmp_path / "model"
    save(original, folder, precision="int8")
    monkeypatch.setattr(checkpoint, "MAX_HEADER", 1 << 16)
    monkeypatch.setattr(checkpoint, "UNPACKED_BLOCK", 1 << 16)
    weights, bomb = folder / f"{WEIGHTS}.gz", gzip.compress(bytes(1 << 26))
    weights.write_bytes(bomb)
    edit(folder)
    if vocabulary is not None:
        replace_model(folder, source_vocabulary=vocabulary, target_vocabulary=vocabulary)
    unpacked = []
    read = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, size: unpacked.append(size) or read(self, size))
    with pytest.raises(DocgraphError, match=r"larger than a model of this config\.json; copy the model"):
        load(folder)
    assert sum(unpacked) < 33 * len(bomb) + (1 << 16) + 2


def test_a_damaged_tokenizer_is_reported(folder: Path) -> None:
    (folder / "joint.spm").write_bytes(b"peaces")
    with pytest.raises(DocgraphError, match=r"joint.spm: the file is damaged"):
        ModelFolder(folder).tokenizer_files()


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_or_cut_bytes_never_load_another_model(
    original: DocumentTransformer, saved: Path, tmp_path: Path, data: st.DataObject
) -> None:
    folder = tmp_path / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved, folder)
    path = folder / data.draw(st.sampled_from([CONFIG, WEIGHTS]))
    content = bytearray(path.read_bytes())
    # Half of the draws fall on the beginning, which holds the header of the weights.
    place = data.draw(st.integers(0, len(content) - 1) | st.integers(0, 200))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        again = load(folder)
    except DocgraphError:
        return
    assert equal(again, original)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_digit_of_the_config_is_detected(folder: Path, saved: Path, data: st.DataObject) -> None:
    text = (saved / CONFIG).read_text()
    place = data.draw(st.sampled_from([place for place, letter in enumerate(text) if letter.isdigit()]))
    digit = data.draw(st.sampled_from([digit for digit in "123456789" if digit != text[place]]))
    (folder / CONFIG).write_text(text[:place] + digit + text[place + 1 :])
    with pytest.raises(DocgraphError, match=r"config.json: "):
        load(folder)


def test_load_base_fills_the_base_and_leaves_the_context(tmp_path: Path) -> None:
    base = small_model(small_config(context=False), seed=1)
    save(base, tmp_path / "base")
    model = small_model(small_config(integration="post"), seed=2)
    fresh = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    load_base(model, tmp_path / "base")
    theirs = base.state_dict()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, theirs.get(name, fresh[name]))
    assert any(name not in theirs for name in fresh)


def test_load_base_accepts_other_dropout_but_no_other_config(tmp_path: Path) -> None:
    config = small_config(context=False)
    save(small_model(replace(config, transformer=replace(config.transformer, dropout=0.3))), tmp_path / "base")
    load_base(small_model(small_config()), tmp_path / "base")
    context = small_config()
    for field, value in (("heads", 8), ("feed_forward", 32), ("activation", "gelu"), ("encoder_layers", 1)):
        model = small_model(replace(context, transformer=replace(context.transformer, **{field: value})))
        with pytest.raises(DocgraphError, match=f"base: '{field}' is .* in this base model and {value} in yours"):
            load_base(model, tmp_path / "base")
