"""Imported Marian checkpoints compute what transformers computes."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentExample, collate
from docgraph.model.checkpoint import load
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.marian import NO_LOGIT, import_marian
from docgraph.model.memory import Memories
from docgraph.model.model_folder import ModelFolder
from docgraph.model.tokenizer import Tokenizer

from .subword_examples import marian_files

transformers = pytest.importorskip("transformers")

SMALL = {"d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "layers": (2, 3), "heads": 4, "size": 200}
BASE = {"d_model": 512, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "layers": (6, 6), "heads": 8, "size": 8000}


@dataclass
class Checkpoint:
    folder: Path
    model: Any

    @property
    def config(self) -> Any:
        return self.model.config


def marian_checkpoint(folder: Path, shape: dict[str, Any] = SMALL, **changes: Any) -> Checkpoint:
    """A randomly initialised MarianMTModel with tokenizer files, as transformers saves it."""
    folder.mkdir(exist_ok=True)
    ids = marian_files(folder, shape["size"])
    fields = {name: value for name, value in shape.items() if name.startswith(("d_", "encoder_", "decoder_"))}
    encoder_layers, decoder_layers = shape["layers"]
    settings = {
        **fields,
        "encoder_layers": encoder_layers,
        "decoder_layers": decoder_layers,
        "encoder_attention_heads": shape["heads"],
        "decoder_attention_heads": shape["heads"],
        "vocab_size": ids.source_vocabulary,
        "pad_token_id": ids.pad,
        "decoder_start_token_id": ids.pad,
        "eos_token_id": 0,
        "forced_eos_token_id": None,
        "max_position_embeddings": 64,
        "activation_function": "swish",
        "scale_embedding": True,
        # Weights as large as trained ones, so that a wrong layer changes the logits.
        "init_std": shape["d_model"] ** -0.5,
        **changes,
    }
    torch.manual_seed(0)
    model = transformers.MarianMTModel(transformers.MarianConfig(**settings)).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if name.endswith("bias") or "layer_norm" in name:
                tensor.add_(0.1 * torch.randn_like(tensor))
        model.final_logits_bias.normal_(std=0.3)
        model.final_logits_bias[0, ids.pad] = 9.0  # a search that may propose padding does
    model.save_pretrained(folder)
    return Checkpoint(folder, model)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return marian_checkpoint(tmp_path_factory.mktemp("marian") / "small")


@pytest.fixture
def broken(small: Checkpoint, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(small.folder, tmp_path / "marian"))


def sentences(seed: int, high: int, lengths: list[int]) -> list[np.ndarray]:
    """Random sub-words with end-of-sentence (id 0)."""
    rng = np.random.default_rng(seed)
    return [np.append(rng.integers(2, high, length), 0) for length in lengths]


def padded(rows: list[np.ndarray], pad: int) -> tuple[Tensor, Tensor]:
    width = max(map(len, rows))
    ids = torch.tensor([[*row.tolist(), *[pad] * (width - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    return ids, mask


@torch.no_grad()
def their_logits(theirs: Any, source: list[np.ndarray], target: list[np.ndarray]) -> Tensor:
    """[Nt, V] at the real target tokens, sentence after sentence, with the output bias of padding in imports."""
    pad = theirs.config.pad_token_id
    ids, mask = padded(source, pad)
    inputs, real = padded([np.append([pad], row[:-1]) for row in target], pad)
    logits = theirs(input_ids=ids, attention_mask=mask, decoder_input_ids=inputs).logits[real.bool()]
    logits[:, pad] += NO_LOGIT - theirs.final_logits_bias[0, pad]
    return logits


@torch.no_grad()
def our_logits(ours: DocumentTransformer, source: list[np.ndarray], target: list[np.ndarray]) -> Tensor:
    return ours.logits(collate([DocumentExample(source, target)], ours.config.transformer.bos))


@torch.no_grad()
def greedy(model: DocumentTransformer, source: list[np.ndarray], steps: int, repeat: bool) -> list[list[int]]:
    """Greedy decoding until end-of-sentence, without tokens that the config forbids.

    Without `repeat` no token comes twice in a sentence: a random model else says one thing for ever.
    """
    config = model.config.transformer
    batch = collate([DocumentExample(source)], config.bos)
    state = model.start(batch, model.encode(batch, Memories()), Memories(), 1, steps)
    tokens = torch.full((len(source),), config.bos)
    allowed = torch.ones(len(source), config.target_vocabulary, dtype=torch.bool)
    allowed[:, list(config.never_generated)] = False
    rows = []
    for _ in range(steps):
        tokens = model.step(tokens, state).masked_fill(~allowed, -torch.inf).argmax(-1)
        if not repeat:
            allowed.scatter_(1, tokens[:, None], False)
        rows.append(tokens)
    found = torch.stack(rows, 1).tolist()
    return [row[: row.index(config.eos) + 1] if config.eos in row else row for row in found]


def their_greedy(theirs: Any, source: list[np.ndarray], steps: int, repeat: bool) -> list[list[int]]:
    pad = theirs.config.pad_token_id
    ids, mask = padded(source, pad)
    options = {} if repeat else {"no_repeat_ngram_size": 1}
    found = theirs.generate(
        input_ids=ids,
        attention_mask=mask,
        num_beams=1,
        do_sample=False,
        max_new_tokens=steps,
        bad_words_ids=[[pad]],
        **options,
    ).tolist()
    return [[token for token in row[1:] if token != pad] for row in found]


def assert_equal(checkpoint: Checkpoint, folder: Path, lengths: list[int], steps: int) -> None:
    """Asserts that the imported model has the logits and the greedy output of the original."""
    ours = load(folder)
    vocabularies = ours.config.transformer.source_vocabulary - 1, ours.config.transformer.target_vocabulary - 1
    source = sentences(1, vocabularies[0], lengths)
    target = sentences(2, vocabularies[1], lengths[::-1])
    searches = ((greedy, ours), (their_greedy, checkpoint.model))
    expected, found = their_logits(checkpoint.model, source, target), our_logits(ours, source, target)
    assert expected.std() > 0.5
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    for repeat in (True, False):
        mine, yours = (search(model, source, steps, repeat) for search, model in searches)
        assert mine == yours
    assert len({token for row in mine for token in row}) > steps


def test_every_weight_is_copied_to_its_place(small: Checkpoint, tmp_path: Path) -> None:
    """Compares tensors: logits do not depend on the biases of keys, which softmax cancels."""
    ours = import_marian(str(small.folder), tmp_path / "ours").state_dict()
    theirs = small.model.state_dict()
    biases = [
        (name, part) for name in ours for part in ("self", "cross") if name.endswith(f"{part}_attention.key.bias")
    ]
    assert len(biases) == 2 + 2 * 3
    for name, part in biases:
        attention = {"self": "self_attn", "cross": "encoder_attn"}[part]
        other = "model." + name.replace(f"{part}_attention.key", f"{attention}.k_proj")
        assert torch.equal(ours[name], theirs[other])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation_function": "relu", "scale_embedding": False},
        {"activation_function": "gelu"},
        {"share_encoder_decoder_embeddings": False},
        {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False, "decoder_vocab_size": 230},
        {"tie_word_embeddings": False},
    ],
    ids=["opus-mt", "relu, unscaled", "gelu", "two tables", "three tables", "own output table"],
)
def test_a_small_model_is_equal(tmp_path: Path, changes: dict[str, Any]) -> None:
    checkpoint = marian_checkpoint(tmp_path / "marian", **changes)
    if changes.get("decoder_vocab_size"):
        (checkpoint.folder / "target_vocab.json").write_text('{"</s>": 0, "<unk>": 1, "<pad>": 199, "▁le": 229}')
    import_marian(str(checkpoint.folder), tmp_path / "ours")
    assert_equal(checkpoint, tmp_path / "ours", [5, 1, 9, 0, 3, 7], 20)


def test_a_base_size_model_is_equal(tmp_path: Path) -> None:
    checkpoint = marian_checkpoint(tmp_path / "marian", BASE)
    import_marian(str(checkpoint.folder), tmp_path / "ours")
    config = load(tmp_path / "ours").config.transformer
    assert (config.dimension, config.encoder_layers, config.target_vocabulary) == (512, 6, 8000)
    assert_equal(checkpoint, tmp_path / "ours", [12, 5, 1, 20], 12)


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("opus-mt-en-fr", ("en", "fr")),
        ("opus-mt-tc-big-zh-en", ("zh", "en")),
        ("opus-mt-en-ROMANCE", None),
        ("mine", None),
    ],
)
def test_the_name_of_an_opus_model_gives_its_languages(
    small: Checkpoint, tmp_path: Path, name: str, pair: tuple[str, str] | None
) -> None:
    place = shutil.copytree(small.folder, tmp_path / name)
    import_marian(str(place), tmp_path / "ours")
    assert ModelFolder(tmp_path / "ours").languages == pair


@pytest.mark.parametrize(("target", "pair"), [("fr", ("en", "fr")), ("roa", None)])
def test_the_tokenizer_gives_the_languages_if_the_name_does_not(
    small: Checkpoint, tmp_path: Path, target: str, pair: tuple[str, str] | None
) -> None:
    place = shutil.copytree(small.folder, tmp_path / "mine")
    (place / "tokenizer_config.json").write_text(f'{{"source_lang": "en", "target_lang": "{target}"}}')
    import_marian(str(place), tmp_path / "ours")
    assert ModelFolder(tmp_path / "ours").languages == pair


def test_half_precision_import_is_close(small: Checkpoint, tmp_path: Path) -> None:
    import_marian(str(small.folder), tmp_path / "ours", precision="float16")
    source, target = sentences(1, 100, [4, 6]), sentences(2, 100, [5, 2])
    gap = our_logits(load(tmp_path / "ours"), source, target) - their_logits(small.model, source, target)
    assert 1e-6 < gap.abs().max() < 0.05


def test_pickled_weights_give_the_same_model(small: Checkpoint, broken: Path, tmp_path: Path) -> None:
    positions = small.model.model.encoder.embed_positions.weight
    tied = small.model.model.shared.weight
    state = load_file(broken / "model.safetensors")
    # As old releases saved it: tied tables under every name, with the sinusoids.
    state |= {"lm_head.weight": tied, "model.encoder.embed_tokens.weight": tied}
    state |= {f"model.{stack}.embed_positions.weight": positions for stack in ("encoder", "decoder")}
    torch.save(state, broken / "pytorch_model.bin")
    (broken / "model.safetensors").unlink()
    import_marian(str(broken), tmp_path / "pickled")
    import_marian(str(small.folder), tmp_path / "plain")
    one, other = load(tmp_path / "pickled").state_dict(), load(tmp_path / "plain").state_dict()
    assert all(torch.equal(one[name], other[name]) for name in other)


def test_the_tokenizer_is_copied(small: Checkpoint, tmp_path: Path) -> None:
    model = import_marian(str(small.folder), tmp_path / "ours")
    names = {path.name for path in ModelFolder(tmp_path / "ours").tokenizer_files()}
    assert names == {"source.spm", "target.spm", "vocab.json"}
    theirs = transformers.MarianTokenizer.from_pretrained(small.folder)
    ours = Tokenizer.load(tmp_path / "ours", model.config.transformer)
    assert ours.source.encode("the lazy dog")[0].tolist() == theirs("the lazy dog").input_ids


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_weights(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


class Unsafe:
    """What a malicious pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return sys.exit, (99,)


def pickle_in_its_place(folder: Path, content: object) -> None:
    (folder / "model.safetensors").unlink()
    torch.save(content, folder / "pytorch_model.bin")


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no vocabulary": (lambda f: (f / "vocab.json").unlink(), "the folder has no vocab.json; download"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "neither model.safetensors nor pytorch_model.bin"),
    "cut weights": (
        lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:500]),
        "model.safetensors: this is not a whole file of plain weights",
    ),
    "code in a pickle": (
        lambda f: pickle_in_its_place(f, Unsafe()),
        "pytorch_model.bin: this is not a whole file of plain weights",
    ),
    "not tensors": (lambda f: pickle_in_its_place(f, {"a": 1}), "not a whole file of plain weights"),
    "bad JSON": (lambda f: (f / "config.json").write_text("{"), "config.json: this is not a JSON object"),
    "other type": (lambda f: change_config(f, model_type="bart"), "the model is of type 'bart', not marian"),
    "feed-forward": (lambda f: change_config(f, decoder_ffn_dim=64), "encoder_ffn_dim and decoder_ffn_dim differ"),
    "heads": (lambda f: change_config(f, decoder_attention_heads=2), "encoder_attention_heads and decoder"),
    "activation": (lambda f: change_config(f, activation_function="mish"), "the activation 'mish' is unknown"),
    "pre-norm": (lambda f: change_config(f, normalize_before=True), "normalize_before is set"),
    "embedding norm": (lambda f: change_config(f, normalize_embedding=True), "normalize_embedding is set"),
    "no size": (lambda f: change_config(f, d_model=None), "lacks a number or has a wrong one"),
    "dimension": (lambda f: change_config(f, d_model=30), "30 is not a multiple of 4 heads"),
    "missing tensor": (
        lambda f: change_weights(f, lambda t: t.pop("model.decoder.layers.1.fc2.bias")),
        "the weights lack 'model.decoder.layers.1.fc2.bias'",
    ),
    "extra tensor": (
        lambda f: change_weights(f, lambda t: t.update({"model.encoder.layernorm_embedding.weight": torch.ones(32)})),
        "'model.encoder.layernorm_embedding.weight' is not a weight of a Marian Transformer",
    ),
    "learned positions": (
        lambda f: change_weights(f, lambda t: t.update({"model.encoder.embed_positions.weight": torch.ones(64, 32)})),
        "is not sinusoidal",
    ),
    "shape": (
        lambda f: change_config(f, encoder_ffn_dim=64, decoder_ffn_dim=64),
        "has shape .*, where config.json asks",
    ),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_unsupported_models_are_refused_in_one_sentence(broken: Path, tmp_path: Path, kind: str) -> None:
    damage, message = REFUSED[kind]
    damage(broken)
    with pytest.raises(DocgraphError, match=message) as caught:
        import_marian(str(broken), tmp_path / "ours")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ours").exists()


def test_a_failed_download_is_reported_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def offline(name: str, **options: Any) -> str:
        raise ConnectionError("Name or service not known.\nMore on this")

    monkeypatch.setattr(hub, "snapshot_download", offline)
    with pytest.raises(DocgraphError, match=r"^Some/model is not a local folder .* \(Name or service not known\)"):
        import_marian("Some/model", tmp_path / "ours")
    with pytest.raises(DocgraphError, match="there is no such folder"):
        import_marian("./missing/model", tmp_path / "ours")


def test_a_name_needs_the_hub_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DocgraphError, match=r"pip install docgraph\[hf\]"):
        import_marian("Some/model", tmp_path / "ours")


def test_a_fetched_model_is_imported(small: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", lambda name, **options: str(small.folder))
    import_marian("Some/model", tmp_path / "ours")
    assert (tmp_path / "ours" / "config.json").is_file()
