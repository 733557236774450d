"""docgraph translate --resume."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.translate_examples import LINES, run
from docgraph.formats import read
from docgraph.translation.decoding import document_decoding as documents
from docgraph.translation.files import translate as translation_files
from docgraph.translation.files.resume import FINISHED


def test_resume_skips_finished_files(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(LINES, encoding="utf-8")
    files = (tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "out", "--resume")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("done", encoding="utf-8")
    seen: list[Path] = []
    monkeypatch.setattr(
        translation_files, "read", lambda path, *rest, **more: seen.append(path) or read(path, *rest, **more)
    )
    stale = tmp_path / "out" / ".a.txt.partial"
    stale.write_text("of a killed run", encoding="utf-8")
    run(model, *files)
    assert seen == [tmp_path / "b.txt"]
    assert (tmp_path / "out" / "a.txt").read_text() == "done"
    assert not stale.exists()


def test_resume_translates_again_if_settings_changed(model: Path, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(LINES, encoding="utf-8")
    files, output = (tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "out"), tmp_path / "out" / "a.txt"
    run(model, *files)
    made = output.read_text(encoding="utf-8")
    for options, again in (
        ((), False),
        (("--length-penalty", 0.5), True),
        (("--length-penalty", 0.5), False),
        ((), True),
    ):
        output.write_text("as it was", encoding="utf-8")
        told = "".join(run(model, *files, "--resume", *options).output.splitlines())
        assert (f"{output}: the search changed; translating it again" in told) == again
        assert (output.read_text(encoding="utf-8") != "as it was") == again
    assert output.read_text(encoding="utf-8") == made
    (tmp_path / "out" / FINISHED).write_text("damaged", encoding="utf-8")
    run(model, *files, "--resume")
    run(model, tmp_path / "a.txt", "-o", tmp_path / "alone" / "a.txt")
    assert [path.name for path in (tmp_path / "alone").iterdir()] == ["a.txt"], "without --resume nothing is recorded"


def test_an_interrupted_document_resumes_at_its_window(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"The fox told him {word}.\n" for word in ("one", "two", "three", "four", "five", "six"))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    command = (tmp_path / "a.txt", "--format", "lines", "-o", tmp_path / "b.txt", "--batch", 30)
    run(model, *command)
    whole = (tmp_path / "b.txt").read_text(encoding="utf-8")
    (tmp_path / "b.txt").unlink()
    windows: list[range] = []
    begin = documents._GroupDecoder.__init__

    def counting(
        self: object, model: object, tokenizer: object, config: object, drafts: list[object], *rest: object
    ) -> None:
        if len(windows) == 2:
            windows.append(range(0))
            raise KeyboardInterrupt
        windows.append(drafts[0].window)
        begin(self, model, tokenizer, config, drafts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(documents._GroupDecoder, "__init__", counting)
    assert "continue with --resume" in run(model, *command, code=130).output
    assert not (tmp_path / "b.txt").exists()
    partial = tmp_path / ".b.txt.partial"
    kept = partial.read_text(encoding="utf-8")
    partial.write_text(kept + '{"document": 0, "fir', encoding="utf-8")  # as if killed in the middle of a line
    run(model, *command, "--resume")
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == whole
    assert windows[3].start == windows[1].stop, "final windows are not decoded again"
    assert not partial.exists()
    (tmp_path / "b.txt").unlink()
    partial.write_text(kept, encoding="utf-8")
    assert "made from another text, model or search" in run(model, *command, "--resume", "--length-penalty", 0.5).output
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == whole


def test_an_interrupted_document_keeps_known_translations(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    (tmp_path / "a.txt").write_text("".join(f"The fox told him {word}.\n" for word in words), encoding="utf-8")
    (tmp_path / "known.txt").write_text("Hello dog.\nHello fox.\n\n\nHello.\n\n\n", encoding="utf-8")
    known = ("--known", tmp_path / "known.txt")
    command = (tmp_path / "a.txt", *known, "--format", "lines", "-o", tmp_path / "b.txt", "--batch", 12)
    run(model, *command)
    whole = (tmp_path / "b.txt").read_text(encoding="utf-8")
    (tmp_path / "b.txt").unlink()
    begin, windows = documents._GroupDecoder.__init__, list[range]()

    def counting(
        self: object, model: object, tokenizer: object, config: object, drafts: list[object], *rest: object
    ) -> None:
        windows.append(drafts[0].window)
        if len(windows) == 2:
            raise KeyboardInterrupt
        begin(self, model, tokenizer, config, drafts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(documents._GroupDecoder, "__init__", counting)
    run(model, *command, code=130)
    run(model, *command, "--resume")
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == whole
    assert windows[0].start == 2, "the first ones are known"
    assert windows[2] == windows[1]
