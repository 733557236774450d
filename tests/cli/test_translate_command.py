"""docgraph translate."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from cli.refusals import refusal
from cli.translate_examples import LINES, run
from docgraph.formats import read
from docgraph.model.model_folder import ModelFolder
from docgraph.translation.files.resume import FINISHED
from formats.format_examples import docx
from formats.format_examples import run as word
from translation.translator_examples import model_folder

SRT = (
    "1\n00:00:01,000 --> 00:00:02,000\nThe dog.\n\n2\n00:00:03,000 --> 00:00:05,500\n<i>Hello</i> world,\nthis is it.\n"
)
HTML = "<!doctype html>\n<html><body class='a'><p>The <b>quick</b> fox.</p><pre>code</pre><p>Hello.</p></body></html>\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("plain"), context=False, max_positions=300)


def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    return refusal(monkeypatch, capsys, "translate", "--device", "cpu", *arguments)


def shape(text: str) -> list[bool]:
    return [bool(line) for line in text.splitlines()]


def test_lines_and_documents_are_kept(model: Path, tmp_path: Path) -> None:
    output = run(model, text=LINES).stdout
    assert shape(output) == shape(LINES)
    assert output != LINES
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    run(model, tmp_path / "a.txt", "-o", tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]
    assert run(model, tmp_path / "a.txt", "--mode", "sequential").stdout == output
    assert run(model, tmp_path / "a.txt", "--batch", 8).stdout == output


@pytest.mark.parametrize(
    ("name", "source", "kept"),
    [
        ("a.srt", SRT, r"^\d+$|-->|^$"),
        (
            "a.vtt",
            "WEBVTT\n\nNOTE x\n\n" + SRT.replace(",000", ".000").replace(",500", ".500"),
            r"^\d+$|-->|^$|WEBVTT|NOTE",
        ),
        ("a.md", "# The dog\n\n- Hello `x`.\n\n```\ncode here\n```\n", r"^$|```|code here"),
    ],
)
def test_only_the_text_changes(model: Path, tmp_path: Path, name: str, source: str, kept: str) -> None:
    (tmp_path / name).write_text(source, encoding="utf-8")
    run(model, tmp_path / name, "-o", tmp_path / "out")
    before, after = source.split("\n"), (tmp_path / "out").read_text(encoding="utf-8").split("\n")
    assert len(before) == len(after)
    assert before != after
    assert [line for line in before if re.search(kept, line)] == [line for line in after if re.search(kept, line)]


def test_docx_keeps_all_but_its_text(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(docx([[word("The fox. "), word("It told him.", bold=True)], [word("Hello.")]]))
    run(model, tmp_path / "a.docx", "-o", tmp_path / "b.docx")
    [before], [after] = read(tmp_path / "a.docx"), read(tmp_path / "b.docx")
    assert re.findall(r"<w:[^t>][^>]*>", before.source) == re.findall(r"<w:[^t>][^>]*>", after.source)
    assert before.texts != after.texts


def test_html_keeps_its_tags(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(HTML, encoding="utf-8")
    output = run(model, tmp_path / "a.html").stdout
    assert re.findall(r"<[^>]*>", output) == re.findall(r"<[^>]*>", HTML)
    assert output != HTML
    assert "<pre>code</pre>" in output


def test_limits_of_subtitles(model: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "a.srt", tmp_path / "b.srt"
    source.write_text(SRT, encoding="utf-8")
    result = run(model, source, "-o", output, "--line-length", 8, "--reading-speed", 1)
    assert "a.srt: 2 of 2 subtitles exceed 1 characters per second" in result.output
    text = output.read_text(encoding="utf-8")
    assert re.findall(".*-->.*", text) == re.findall(".*-->.*", SRT)
    assert all(
        len(re.sub("<.*?>", "", line)) <= 8 or " " not in line for line in text.splitlines() if "-->" not in line
    )
    assert "exceed" not in run(model, source, "-o", output, "--reading-speed", 500).output


def test_paragraphs_in_another_language_are_counted(model: Path, tmp_path: Path) -> None:
    french = "Il faut bien que nous le fassions dans les temps."
    (tmp_path / "a.txt").write_text(f"{LINES.strip()}\n{french}\n", encoding="utf-8")
    result = run(model, tmp_path / "a.txt", "-o", tmp_path / "b.txt", "--format", "lines")
    assert "1 left in another language (--force translates them)" in result.output
    assert (tmp_path / "b.txt").read_text(encoding="utf-8").splitlines()[-1] == french
    result = run(model, tmp_path / "a.txt", "-o", tmp_path / "c.txt", "--format", "lines", "--force")
    assert "another language" not in result.output
    assert (tmp_path / "c.txt").read_text(encoding="utf-8").splitlines()[-1] != french


def test_a_folder_is_translated_despite_an_unreadable_file(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    (source / "deep").mkdir(parents=True)
    (source / "a.txt").write_text(LINES, encoding="utf-8")
    (source / "deep" / "b.srt").write_text(SRT, encoding="utf-8")
    (source / "bad.txt").write_bytes(b"\x80\x9c\x00binary" * 20)
    (source / "picture.png").write_bytes(b"\x89PNG")
    (source / "none.txt").write_text("\n \n", encoding="utf-8")
    output = run(model, source, "-o", tmp_path / "out", code=2).output
    found = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert found == [FINISHED, "a.txt", "deep/" + FINISHED, "deep/b.srt", "none.txt", "picture.png"]
    assert "bad.txt" in output
    assert "picture.png: no format reads .png files; copied unchanged" in output
    assert (tmp_path / "out" / "picture.png").read_bytes() == b"\x89PNG"
    assert re.search(r"translated 3 files \(\d+ sentences in .*, copied 1 file unchanged, skipped 1$", output.strip())
    assert "none.txt: contains no sentence" in output
    assert (tmp_path / "out" / "none.txt").read_text() == "\n \n"
    alone = run(model, source / "a.txt").stdout
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf-8") == alone


def test_a_file_that_no_format_reads_is_refused(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("code.py", "data.unknown", "photo.jpg"):
        (tmp_path / name).write_text("The dog met the fox.\n", encoding="utf-8")
        told = fails(monkeypatch, capsys, "--model", model, tmp_path / name, "-o", tmp_path / "out")
        assert f"{name}: no format reads {Path(name).suffix} files; if it is plain text, pass --format text" in told
        assert not (tmp_path / "out").exists()
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    told = fails(monkeypatch, capsys, "--model", model, tmp_path / "photo.jpg", "-o", tmp_path / "out")
    assert "photo.jpg: is not a text file but a JPEG picture; copy its text into a text file" in told
    run(model, tmp_path / "code.py", "--format", "text", "-o", tmp_path / "out")
    for name in ("README", "notes", "server.log", "talk.en", "To Mr. Smith"):
        (tmp_path / name).write_text("The dog met the fox.\n", encoding="utf-8")
        assert run(model, tmp_path / name).stdout == (tmp_path / "out").read_text(encoding="utf-8")


def test_a_folder_with_odd_names_and_links_is_translated(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    long = "x" * 247 + ".txt"
    for name in (b"caf\xe9.txt", b"new\nline.txt", long.encode()):
        Path(os.fsdecode(bytes(source) + b"/" + name)).write_text("The dog met the fox.\n", encoding="utf-8")
    (source / "circle").symlink_to(source)
    (source / "broken.txt").symlink_to(source / "nowhere")
    output = run(model, source, "-o", out).output
    names = {os.fsencode(path.name) for path in out.iterdir()}
    assert names == {b"caf\xe9.txt", b"new\nline.txt", long.encode(), FINISHED.encode()}
    assert "circle: is a link to a folder; not followed" in output
    assert "broken.txt: is a broken link" in output
    assert "translated 3 files" in output
    assert "3 finished already" in run(model, source, "-o", out, "--resume").output
    for options in (("--jsonl",), ("--explain", tmp_path / "page.html")):
        run(model, os.fsdecode(bytes(source) + b"/caf\xe9.txt"), *options)
    assert "caf\\\\xe9.txt" in (tmp_path / "page.html").read_text(encoding="utf-8")
    output = run(model, source, "-o", tmp_path / "json", "--jsonl", code=2).output
    assert "file name too long; skipped" in output
    assert "translated 2 files" in output


def test_a_written_file_is_reported(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    output = run(model, tmp_path / "a.txt", "-o", tmp_path / "b.txt").output
    told = re.search(r"^docgraph: wrote \S+b\.txt: 5 sentences in \d+\.\d s(?:, (\d) doubtful \(.*\))?$", output, re.M)
    assert told is not None
    entries = [json.loads(line) for line in run(model, tmp_path / "a.txt", "--jsonl").stdout.splitlines()]
    assert sum("doubtful" in entry for entry in entries) == int(told[1] or 0)


def test_doubtful_sentences_are_reported_everywhere(model: Path, tmp_path: Path) -> None:
    text = "The dog has 1234 friends.\nHello world.\n"
    page = tmp_path / "page.html"
    result = run(model, "--format", "lines", "--jsonl", "--explain", page, text=text)
    entries = [json.loads(line) for line in result.stdout.splitlines()]
    assert "1234 is missing" in entries[0]["doubtful"]
    count = sum("doubtful" in entry for entry in entries)
    assert f"docgraph: {count} of 2 sentences doubtful" in result.stderr
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.S)
    shown = json.loads(data)["documents"][0]["sentences"]
    assert [each["doubts"] for each in shown] == [entry.get("doubtful", []) for entry in entries]


def test_doubtful_sentences_are_repaired_by_default(plain: Path) -> None:
    text = "".join(f"The dog met {word} foxes.\n" for word in ("five", "nine", "many", "all"))
    counts = []
    for options in (("--no-repair",), ("--repair",)):
        output = run(plain, "--format", "lines", "--jsonl", *options, text=text).stdout
        counts.append(sum(len(json.loads(line).get("doubtful", [])) for line in output.splitlines()))
    assert counts[0] > counts[1]


def test_a_text_in_another_language_is_refused(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    german = tmp_path / "in" / "a.txt"
    german.parent.mkdir()
    german.write_text("Das ist der Hund, und er ist nicht mit uns auf dem Weg nach Hause.\n" * 4, encoding="utf-8")
    told = fails(monkeypatch, capsys, "--model", model, german, "-o", tmp_path / "out.txt")
    assert "a.txt: looks like German, but the model translates from English; pass --force" in told
    assert not (tmp_path / "out.txt").exists()
    run(model, german, "-o", tmp_path / "out.txt", "--force")
    assert (tmp_path / "out.txt").exists()
    (tmp_path / "in" / "b.txt").write_text("The dog met the fox.\n", encoding="utf-8")
    output = run(model, tmp_path / "in", "-o", tmp_path / "out", code=2).output
    assert "looks like German" in output
    assert [path.name for path in (tmp_path / "out").glob("*.txt")] == ["b.txt"]


def test_an_output_folder_is_created_and_excluded_from_the_input(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    run(model, tmp_path / "a.txt", "-o", f"{tmp_path}/fr/")
    assert (tmp_path / "fr" / "a.txt").is_file()
    run(model, tmp_path, "-o", tmp_path / "fr")
    assert not (tmp_path / "fr" / "fr").exists()


def test_a_device_file_is_written_to_and_not_replaced(model: Path, tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.symlink_to(os.devnull)
    run(model, "-o", device, text=LINES)
    run(model, "-o", device, "--scores", text=LINES)
    assert device.is_symlink()
    assert list(tmp_path.iterdir()) == [device]


KNOWN = "\nThat is known.\n\n\n  So is this. \n\n\n"


def test_known_translations_keep_their_lines(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    (tmp_path / "known.txt").write_text("\ufeff" + KNOWN.replace("\n", "\r\n"), encoding="utf-8")
    command = (tmp_path / "a.txt", "--known", tmp_path / "known.txt", "--format", "lines")
    plain, known = run(model, tmp_path / "a.txt").stdout.splitlines(), run(model, *command).stdout.splitlines()
    assert (known[1], known[4]) == ("That is known.", "So is this.")
    assert known[0] == plain[0]
    assert known[5:] != plain[5:]
    assert shape("\n".join(known)) == shape(LINES)
    entries = [json.loads(line) for line in run(model, *command, "--jsonl").stdout.splitlines()]
    assert [entry.get("given", False) for entry in entries] == [False, True, True, False, False]
    assert entries[1]["score"] is None
    output = tmp_path / "out.txt"
    for batch in (8, 16_384):
        run(model, *command, "-o", output, "--batch", batch)
        assert output.read_text(encoding="utf-8").splitlines() == known
    (tmp_path / "known.txt").write_text(KNOWN.replace("That", "This"), encoding="utf-8")
    os.utime(tmp_path / "known.txt", (output.stat().st_mtime + 9,) * 2)
    run(model, *command, "-o", output, "--resume")
    assert output.read_text(encoding="utf-8").splitlines()[1] == "This is known."


def test_scores_candidates_and_json(model: Path) -> None:
    rows = [line.split("\t") for line in run(model, "--scores", text=LINES).stdout.splitlines()]
    assert [len(row) for row in rows] == [2, 2, 1, 2, 2, 2]
    assert all(float(row[0]) < 0 for row in rows if len(row) == 2)
    rows = [line.split("\t") for line in run(model, "--n-best", 2, text=LINES).stdout.splitlines() if line]
    assert [row[:2] for row in rows[:4]] == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]
    assert all(float(better[2]) >= float(worse[2]) for better, worse in zip(rows[::2], rows[1::2], strict=True))
    entries = [json.loads(line) for line in run(model, "--n-best", 2, "--jsonl", text=LINES).stdout.splitlines()]
    assert [(entry["document"], entry["sentence"]) for entry in entries[:3]] == [
        ("stdin.1", 0),
        ("stdin.1", 1),
        ("stdin.2", 0),
    ]
    assert entries[1]["source"] == "It told him that."
    assert entries[1]["translation"] == entries[1]["n_best"][0]["translation"]
    assert [each["sentence"] for each in entries[1]["target_context"]] == [0]
    assert 0 < entries[1]["gate"] <= 1


def test_the_explain_page_is_self_contained(model: Path, tmp_path: Path) -> None:
    text = "The dog.\n</script><script>alert(1)</script> told him.\nIt told him.\n"
    run(model, "--format", "lines", "--explain", tmp_path / "page.html", text=text)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|https?://""", page)
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    sentences = json.loads(data)["documents"][0]["sentences"]
    assert [sentence["source"] for sentence in sentences] == text.splitlines()
    assert sentences[2]["targetContext"]
    assert page.count("<script") == 2


def test_bad_input_is_reported_in_one_line(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failure(*arguments: object) -> str:
        return fails(monkeypatch, capsys, *arguments)

    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "empty").mkdir()
    a = tmp_path / "a.txt"
    assert "there is no such model folder" in failure(a, "--model", tmp_path / "nowhere")
    assert "neither a model folder nor a run folder" in failure(a, "--model", tmp_path / "empty")
    assert "missing.txt: no such file" in failure("--model", model, tmp_path / "missing.txt")
    assert "is not a text file" in failure("--model", model, tmp_path / "binary.txt")
    assert "no file in this folder has a known format" in failure(
        "--model", model, tmp_path / "empty", "-o", tmp_path / "o"
    )
    assert "pass a folder with -o" in failure("--model", model, a, tmp_path / "binary.txt")
    assert "would replace its source" in failure("--model", model, a, "-o", a)
    assert "would have the same output" in failure("--model", model, a, a, "-o", tmp_path / "o")
    assert "--explain belongs to one file" in failure(
        "--model", model, a, a, "-o", tmp_path / "o", "--explain", tmp_path / "p"
    )
    assert "of its source, text, but this name means docx" in failure("--model", model, a, "-o", tmp_path / "a.docx")
    known = tmp_path / "known.txt"
    for text, told in (
        ("Un.\n", "known.txt: has 1 line but the text has 7; keep one line for each"),
        ("\n\nUn.\n\n\n\n\n", "known.txt:3: this translation belongs to a blank line of the text"),
    ):
        known.write_text(text, encoding="utf-8")
        assert told in failure("--model", model, a, "--known", known, "--format", "lines")
    assert "pass --format lines" in failure("--model", model, a, "--known", known, "--format", "markdown")
    assert "--known works with a single file" in failure("--model", model, a, a, "--known", known, "-o", tmp_path / "o")
    assert "there is no format 'pdf'" in failure("--model", model, a, "--format", "pdf")


def test_formality_is_refused_for_languages_without_its_forms(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ModelFolder, "languages", ("en", "de"))
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    told = fails(monkeypatch, capsys, tmp_path / "a.txt", "--model", plain, "--formality", "formal")
    assert "known for French only, not for 'de'" in told
    run(plain, tmp_path / "a.txt", "--formality", "any")
    run(plain, tmp_path / "a.txt")


ODD = {
    "empty": "",
    "blank": "\n\n \n",
    "no words": "12\n...\n",
    "controls": "\x00\x07\n",
    "scripts": "字 \U0001f600 слово word\n",
    "long": "word " * 5000 + "\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_input_keeps_its_lines(plain: Path, text: str) -> None:
    output = run(plain, "--format", "lines", text=text).stdout
    assert shape(output) == shape(text)
    if not any(char.isalpha() for char in text):
        assert output == text


def test_settings_and_other_languages_are_copied_in_a_folder(model: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    files = {
        "en.json": '{"a": "The quick fox", "b": "Hello"}',
        "package.json": '{"name": "left-pad", "version": "1.0.0"}',
        "data.csv": "name,quantity\nNail,5\n",
        "messages.pot": 'msgid "Hello world"\nmsgstr ""\n',
    }
    for name, content in files.items():
        (source / name).write_text(content)
    result = run(model, source, "-o", output)
    assert "translated 2 files" in result.stderr
    assert "copied 2 files unchanged" in result.stderr
    assert "looks like data or settings" in result.stderr
    same = {name for name, content in files.items() if (output / name).read_text() == content}
    assert same == {"package.json", "data.csv"}
    assert json.loads((output / "en.json").read_text()).keys() == {"a", "b"}
    assert "fuzzy" in (output / "messages.pot").read_text()


def test_a_german_catalogue_is_refused_before_it_is_translated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "de.po"
    path.write_text('msgid ""\nmsgstr "Language: xx\\n"\n\nmsgid "Hello"\nmsgstr ""\n')
    line = fails(monkeypatch, capsys, "--model", model, path, "-o", tmp_path / "out.po")
    assert "de.po: declares translations into 'xx', but the model translates into" in line
    assert not (tmp_path / "out.po").exists()
