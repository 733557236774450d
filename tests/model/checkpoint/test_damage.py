"""Every kind of damage to a model folder is reported in one sentence."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.checkpoint import load, save
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder

from .checkpoint_examples import CONFIG, WEIGHTS, edit, equal, replace_model


def reshape(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / WEIGHTS)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    change(tensors)
    save_file(tensors, folder / WEIGHTS)
    edit(folder)


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


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_digit_of_the_config_is_detected(folder: Path, saved: Path, data: st.DataObject) -> None:
    text = (saved / CONFIG).read_text()
    place = data.draw(st.sampled_from([place for place, letter in enumerate(text) if letter.isdigit()]))
    digit = data.draw(st.sampled_from([digit for digit in "123456789" if digit != text[place]]))
    (folder / CONFIG).write_text(text[:place] + digit + text[place + 1 :])
    with pytest.raises(DocgraphError, match=r"config.json: "):
        load(folder)
