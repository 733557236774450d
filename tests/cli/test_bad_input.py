"""docgraph translate on input that it cannot translate: one sentence, exit code 2, and nothing is written."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from cli.refusals import refusal
from translation.translator_examples import model_folder

LINE = "The dog met the fox and told him that. " * 60_000
"""2.3 million characters."""
DEPTH = 20_000
GERMAN = (
    "Guten Morgen, meine Damen und Herren. Wir haben heute sehr schönes Wetter, und ich freue mich, dass Sie alle"
    " gekommen sind, um mit uns über die Zukunft der Stadt zu sprechen.\n"
)

CHINESE = "looks like Chinese or Japanese script, but the model translates from English; pass --force"


def word(body: str) -> bytes:
    """Return a DOCX file with the given body."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "word/document.xml",
            '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
            f"{body}</w:body></w:document>",
        )
    return buffer.getvalue()


XLIFF = '<xliff version="1.2"><file source-language="en"><body>{}</body></file></xliff>'
BAD: dict[str, tuple[str | bytes, str]] = {
    "german.txt": (GERMAN * 3, "looks like German, but the model translates from English"),
    "chinese.txt": ("港务局长三月关闭了旧港口。他说港口的围墙太低了。新的围墙将耗资九百万欧元。它很旧。\n", CHINESE),
    "binary.md": (bytes(range(256)) * 40, "is not a text file"),
    "binary.properties": (bytes(range(256)) * 40, "is not a text file"),
    "binary.docx": (bytes(range(256)) * 40, "is not in DOCX format (not a zip archive, or cut short)"),
    "nul.txt": (bytes(10_000), "is a binary file"),
    **{
        f"cut.{name}": (word("<w:p/>")[:-40], f"is not in {name.upper()} format (not a zip archive, or cut short)")
        for name in ("docx", "odt", "pptx", "xlsx", "epub")
    },
    "line.txt": (LINE, "has a paragraph of more than 1,000,000 characters; split it"),
    "line.md": (LINE, "has a line of more than 2,000,000 characters; split it"),
    "line.rst": (LINE, "has a line of more than 2,000,000 characters; split it"),
    "line.properties": (f"key={LINE}", "has a line of more than 2,000,000 characters; split it"),
    "line.html": (f"<p>{LINE}</p>", "has a paragraph of more than 1,000,000 characters; split it"),
    "line.srt": (f"1\n00:00:01,000 --> 00:00:02,000\n{LINE}\n", "has a paragraph of more than 1,000,000 characters"),
    "line.csv": (f"id,en,fr\n1,{LINE},\n", "has a paragraph of more than 1,000,000 characters; split it"),
    "line.po": (f'msgid "{LINE}"\nmsgstr ""\n', "has a paragraph of more than 1,000,000 characters; split it"),
    "line.json": (f'{{"greeting": "{LINE}"}}', "has a paragraph of more than 1,000,000 characters; split it"),
    "line.xlf": (
        XLIFF.format(f'<trans-unit id="1"><source>{LINE}</source></trans-unit>'),
        "has a paragraph of more than 1,000,000 characters; split it",
    ),
    "line.yaml": (f"en:\n  greeting: {LINE * 2}\n", "is larger than 4 MiB; split it"),
    "deep.json": ("[" * DEPTH + '"Hello there."' + "]" * DEPTH, "nests more than 200 values; check the file"),
    "deep.yaml": (f"a: {'[' * DEPTH}Hello there{']' * DEPTH}\n", "nests more than 100 values; check the file"),
    "deep.xlf": (XLIFF.format("<group>" * DEPTH + "</group>" * DEPTH), "nests more than 200 elements; check"),
    "deep.docx": (word("<w:sdt>" * DEPTH + "</w:sdt>" * DEPTH), "nests XML elements more than 500 deep"),
    "new\nline.xyz": ("The dog.\n", "new\\nline.xyz: no format reads .xyz files"),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("plain"), context=False)


def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    return refusal(monkeypatch, capsys, "translate", "--device", "cpu", *arguments)


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_in_one_sentence(
    name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, told = BAD[name]
    file, out = tmp_path / name, tmp_path / "out"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    out.mkdir()
    output = out / f"translated{file.suffix}"
    assert told in fails(monkeypatch, capsys, "--model", model, file, "-o", output)
    assert list(out.iterdir()) == []


def test_a_folder_of_circular_links_is_refused(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "up").symlink_to(folder)
    (folder / "self.txt").symlink_to("self.txt")
    told = fails(monkeypatch, capsys, "--model", model, folder, "-o", tmp_path / "out")
    assert "no file in this folder has a known format" in told
    assert not (tmp_path / "out").exists()
