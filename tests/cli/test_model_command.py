"""docgraph model and docgraph import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.refusals import refusal
from docgraph.cli import app
from docgraph.model.checkpoint import load

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "model"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"COLUMNS": "120"})
    assert result.exit_code == 0
    return result.output


def test_model_prints_modules_totals_and_systems() -> None:
    output = run("model", str(CONFIGS / "docgraph_hyb.yaml"))
    assert "docgraph-hyb-both (stage 2, freeze: base)" in output
    line = next(line for line in output.splitlines() if "integration.encoder.*.gate_context" in line)
    assert [cell.strip() for cell in line.split("│")[2:-1]] == ["512x512", "6", "1,572,864", "1,572,864"]
    total = next(line for line in output.splitlines() if line.startswith("│ total"))
    assert [cell.strip() for cell in total.split("│")[4:6]] == ["80,478,720", "19,956,224"]
    system = next(line for line in output.splitlines() if "docgraph pre source" in line)
    assert [cell.strip() for cell in system.split("│")[4:6]] == ["2.63", "5.27"]
    assert "its Hyb exceeds" in " ".join(output.split())


def test_model_prints_json() -> None:
    values = json.loads(run("model", str(CONFIGS / "base.yaml"), "--json"))
    assert values["system"] == "base"
    assert values["total"] == values["trainable"] == 60_522_496


def test_an_embedded_model_is_found_by_name() -> None:
    assert json.loads(run("model", "en-fr", "--json"))["total"] > 10_000_000


def test_a_wrong_path_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = refusal(monkeypatch, capsys, "model", str(tmp_path / "nothing"))
    assert text.startswith(f"docgraph: {tmp_path / 'nothing'}: there is no such model folder, and the models that ship")
    text = refusal(monkeypatch, capsys, "import", "marian", str(tmp_path), str(tmp_path / "out"))
    assert text == f"docgraph: {tmp_path}: the folder has no config.json; download the model again"


def test_import_then_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from transformers import MarianConfig, MarianMTModel

    source = tmp_path / "marian"
    source.mkdir()
    size = write_tokenizer(source)
    config = MarianConfig(
        vocab_size=size,
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        pad_token_id=size - 1,
        decoder_start_token_id=size - 1,
        eos_token_id=0,
        forced_eos_token_id=0,
    )
    MarianMTModel(config).save_pretrained(source)
    output = run("import", "marian", str(source), str(tmp_path / "ours"), "--precision", "float16")
    assert output.startswith(f"{tmp_path / 'ours'}: 0.0M parameters, 1+2 layers of 16, vocabulary {size}")
    parameters = sum(parameter.numel() for parameter in load(tmp_path / "ours").parameters())
    assert json.loads(run("model", str(tmp_path / "ours"), "--json"))["total"] == parameters


def write_tokenizer(folder: Path) -> int:
    """Writes a tiny Marian tokenizer; returns the size of its vocabulary."""
    import io

    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    writer = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d e f g"] * 9),
        model_writer=writer,
        vocab_size=12,
        model_type="bpe",
        minloglevel=2,
    )
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(writer.getvalue())
    model = SentencePieceProcessor.from_proto(writer.getvalue())
    pieces = ["</s>", "<unk>", *(model.id_to_piece(index) for index in range(3, len(model))), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: index for index, piece in enumerate(pieces)}))
    return len(pieces)


def test_help_needs_no_torch() -> None:
    code = "import sys, docgraph.cli; sys.exit('torch' in sys.modules or 'sentencepiece' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        (["model"], "docgraph model configs/model/docgraph_hyb.yaml"),
        (["import"], "docgraph import marian Helsinki-NLP/opus-mt-en-fr"),
        (["import", "marian"], "docgraph import marian Helsinki-NLP/opus-mt-en-fr"),
    ],
)
def test_help_has_an_example(arguments: list[str], example: str) -> None:
    assert example in run(*arguments, "--help")
