"""Bilingual files: what is written is read back, edits are known, and without edits a translation is as before."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from docgraph.cli import app
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import FORMATS, get_format, read
from docgraph.formats.atoms import shown_texts
from docgraph.translation.files.bilingual import (
    BILINGUAL,
    BilingualSegment,
    format_of,
    match_segments,
    plain,
    read_bilingual,
    read_known,
    write_bilingual,
)
from formats import format_examples, package_examples
from translation.translator_examples import model_folder

LANGUAGES = ("en", "fr")
FORMS = sorted(BILINGUAL)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    [
        "a <b> & c",
        "&lt;b&gt;",
        "]]>",
        "</script>",
        "a\tb\nc",
        "\u2028x\x85",
        "“é” 北",
        "<!-- x -->",
        "\\u003c",
        "\x00\x1f",
    ]
)
SEGMENTS = st.lists(st.builds(BilingualSegment, TEXTS, TEXTS | st.none(), st.booleans()), max_size=6)
STRINGS = {
    "po": 'msgid "The fox jumps."\nmsgstr ""\n\nmsgid "A dog."\nmsgstr ""\n',
    "xliff": '<xliff version="1.2"><file source-language="en" original="a" datatype="plaintext"><body>'
    '<trans-unit id="1"><source>The <g id="1">fox</g> jumps. A &lt;b&gt; dog.</source></trans-unit>'
    "</body></file></xliff>",
    "json": '{"a": "The fox jumps.", "b": {"c": "A dog {name}."}}',
    "arb": '{"@@locale": "en", "a": "The fox jumps.", "@a": {"description": "x"}}',
    "yaml": "en:\n  a: The fox jumps.\n  b: A dog.\n",
    "properties": "a=The fox jumps.\nb=A dog.\n",
    "csv": "source,target\nThe fox jumps.,\nA dog.,\n",
    "tsv": "source\ttarget\nThe fox jumps.\t\nA dog.\t\n",
}


def file_of(format: str) -> bytes:
    """A file of each format."""
    if format in STRINGS:
        return STRINGS[format].encode()
    if format in format_examples.EXAMPLES:
        return format_examples.EXAMPLES[format].encode()
    if format == "docx":
        return format_examples.docx([[format_examples.run("The fox "), format_examples.run("jumps. A dog.", True)]])
    if format == "rst":
        return b"The fox\n=======\n\nThe *fox* jumps. A ``dog``.\n\n- A test.\n"
    return package_examples.EXAMPLES[format]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("base"), context=False, max_positions=256)


def run(model: Path, *arguments: object, code: int = 0) -> Result:
    command = ["translate", "--model", str(model), "--beam", "1", "--no-repair", "--force", *map(str, arguments)]
    result = CliRunner().invoke(app, command)
    assert (2 if isinstance(result.exception, DocgraphError) else result.exit_code) == code, result.output
    return result


@pytest.mark.parametrize("form", FORMS)
@given(segments=SEGMENTS)
def test_segments_are_read_as_written(form: str, segments: list[BilingualSegment], tmp_path_factory: object) -> None:
    assert isinstance(tmp_path_factory, pytest.TempPathFactory)
    path = tmp_path_factory.getbasetemp() / f"segments{BILINGUAL[form].suffixes[0]}"
    write_bilingual(path, segments, LANGUAGES)
    wanted = [
        (
            plain(each.source),
            plain(each.translation or "") or None,
            bool(plain(each.translation or "")) and each.confirmed,
        )
        for each in segments
    ]
    if form == "tmx":  # which has no units without a translation
        wanted = [each for each in wanted if each[1]]
    found = [(each.source, each.translation, each.confirmed) for each in read_bilingual(path, LANGUAGES)]
    assert [each for each in found if any(each)] == [each for each in wanted if any(each)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_file_without_edits_is_translated_as_before(model: Path, tmp_path: Path, format: str, form: str) -> None:
    extension = (*get_format(format).extensions, ".txt")[0]
    source = tmp_path / f"a{extension}"
    source.write_bytes(file_of(format))
    bilingual = tmp_path / f"both{BILINGUAL[form].suffixes[0]}"
    chosen = (source, "--format", format)
    run(model, *chosen, "-o", tmp_path / f"plain{extension}", "--bilingual", bilingual)
    run(model, *chosen, "-o", tmp_path / f"again{extension}", "--known", bilingual)
    made = (tmp_path / f"plain{extension}").read_bytes()
    assert (tmp_path / f"again{extension}").read_bytes() == made
    documents = read(source, format)
    segments = read_bilingual(bilingual, LANGUAGES)
    texts = [plain(text) for document in documents for text in shown_texts(document)]
    assert [each.source for each in segments] == texts
    assert not any(each.confirmed for each in segments)
    edited = bilingual.read_text("utf-8")
    first = segments[0].translation
    assert first is not None
    shown = _escaped(segments[0].source, form)
    index = edited.index(_escaped(first, form), edited.index(shown) + len(shown))
    edited = edited[:index] + "Bonjour" + edited[index + len(_escaped(first, form)) :]
    bilingual.write_text(edited, "utf-8")
    known = read_known(bilingual, documents, LANGUAGES)
    assert [text for each in known.known for text in each] == ["Bonjour", *[""] * (len(segments) - 1)]
    run(model, *chosen, "-o", tmp_path / f"known{extension}", "--known", bilingual)
    translated = read(tmp_path / f"known{extension}", "lines" if format == "lines" else None)
    texts = [text for document in translated for text in document.texts]
    assert (tmp_path / f"known{extension}").read_bytes() != made
    if format not in ("po", "xliff", "csv", "tsv"):  # translated units are not read again
        assert any("Bonjour" in text for text in texts)


def _escaped(text: str, form: str) -> str:
    if form == "html":
        return json.dumps(text, ensure_ascii=False)[1:-1].replace("<", "\\u003c")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") if form in ("xliff", "tmx") else text


def test_changed_sources_are_reported(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A fox\n\nThe dog. The dog. A test.\n", "utf-8")
    rows = ["A fox\tUn renard\tconfirmed", "The dog.\tLe chien.", "The dog.\tUn chien.", "A dog, gone.\tParti.\t"]
    (tmp_path / "a.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    result = run(model, tmp_path / "a.md", "--known", tmp_path / "a.tsv", "-o", tmp_path / "b.md")
    output = (tmp_path / "b.md").read_text("utf-8")
    assert output.startswith("# Un renard\n\nLe chien. Un chien. ")
    told = " ".join(result.output.split())
    assert "a translation is not used, because the document has no such sentence: A dog, gone." in told


def test_known_translations_are_exported_as_a_memory(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A fox\n\nThe dog. A test.\n", "utf-8")
    (tmp_path / "a.tsv").write_text("A fox\tUn renard\nA test.\tUn test.\n", "utf-8")
    command = (tmp_path / "a.md", "--known", tmp_path / "a.tsv", "-o", tmp_path / "b.md")
    run(model, *command, "--export-memory", tmp_path / "m.tmx")
    found = [(each.source, each.translation) for each in read_bilingual(tmp_path / "m.tmx", LANGUAGES)]
    assert found == [("A fox", "Un renard"), ("A test.", "Un test.")]


def test_equal_sentences_are_matched_in_order() -> None:
    documents = [Document.from_sentences(["a", "b", "a"]), Document.from_sentences(["a", "c"])]
    segments = [BilingualSegment("a", text, text != "machine") for text in ("1", "machine", "3", "4")]
    found = match_segments(documents, segments)
    assert found.known == [["1", "", ""], ["3", ""]]
    assert found.unused == ["a"]


def test_files_of_other_programs_are_known_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "a.xlf").write_text(
        '<xliff version="2.0" srcLang="en" trgLang="fr" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">'
        '<unit id="1"><segment state="final"><source>The <pc id="1">fox</pc> &amp; dog</source>'
        '<target>Le <pc id="1">renard</pc> &lt;b&gt;</target></segment></unit></file></xliff>',
        "utf-8",
    )
    assert read_bilingual(tmp_path / "a.xlf", LANGUAGES) == [
        BilingualSegment("The fox & dog", "Le renard <b>", confirmed=True)
    ]


def test_mistakes_are_reported(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A fox.\n", "utf-8")
    (tmp_path / "a.html").write_text("<p>A page.</p>", "utf-8")
    (tmp_path / "a.tsv").write_text("a\tb\tc\td\n", "utf-8")
    (tmp_path / "known.txt").write_text("Un renard.\n", "utf-8")
    for arguments, told in (
        (("--known", tmp_path / "a.html"), "it must be a page that docgraph translate --bilingual wrote"),
        (("--known", tmp_path / "a.tsv"), "has 4 columns"),
        (("--known", tmp_path / "known.txt"), "pass --format lines, or a bilingual file"),
        (("--bilingual", tmp_path / "b.docx"), "must end in .xlf"),
        (("--bilingual", tmp_path / "a.md"), "would replace the file that is translated"),
        (("--export-memory", tmp_path / "b.xlf"), "ends in .tmx"),
        ((tmp_path / "a.html", "--bilingual", tmp_path / "b.xlf", "-o", tmp_path / "o"), "belongs to one file"),
    ):
        result = run(model, tmp_path / "a.md", *arguments, code=2)
        assert told in str(result.exception)
    assert format_of("a.docx") is None
    with pytest.raises(DocgraphError, match="must end in"):
        write_bilingual(tmp_path / "x.doc", [], LANGUAGES)


def test_text_from_a_stream_has_a_bilingual_file(model: Path, tmp_path: Path) -> None:
    [document] = read(io.StringIO("A fox. The dog."), "text")
    command = ["translate", "--model", str(model), "--beam", "1", "--bilingual", str(tmp_path / "b.tsv")]
    result = CliRunner().invoke(app, command, input=document.source)
    assert result.exit_code == 0
    assert [each.source for each in read_bilingual(tmp_path / "b.tsv", LANGUAGES)] == document.texts
