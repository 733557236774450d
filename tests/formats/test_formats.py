"""Properties of all formats: unchanged files round-trip, and bad input raises an error of one sentence."""

from __future__ import annotations

import codecs
import io
import re
import sys
from pathlib import Path

import pytest
from format_examples import EXAMPLES, docx, soup
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import FORMATS, Format, extensions, get_format, read, registry, render, write
from docgraph.formats.markup_transfer import replace_sentences

ROOT = Path(__file__).resolve().parents[2]
TEXT_FORMATS = sorted(EXAMPLES)
EXTENSIONS = {
    "lines": ".txt",
    "text": ".txt",
    "markdown": ".md",
    "mdx": ".mdx",
    "srt": ".srt",
    "vtt": ".vtt",
    "html": ".html",
}


def read_text(source: str, format: str | None = None) -> list[Document]:
    return read(io.BytesIO(source.encode()), format)


def test_the_table_of_formats_agrees_with_their_modules() -> None:
    assert [form.name for form in FORMATS.values()] == list(FORMATS)
    assert extensions() == {extension: form.name for form in FORMATS.values() for extension in form.extensions}


@pytest.mark.parametrize("format", TEXT_FORMATS)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8", ""), ("utf-8", "\ufeff"), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff")]
)
def test_examples_round_trip_byte_for_byte(tmp_path: Path, format: str, newline: str, encoding: str, mark: str) -> None:
    path = tmp_path / f"in{EXTENSIONS[format]}"
    path.write_bytes((mark + EXAMPLES[format].replace("\n", newline)).encode(encoding))
    documents = read(path)
    write(documents, tmp_path / "out")
    assert {document.format for document in documents} == {format}
    assert (tmp_path / "out").read_bytes() == path.read_bytes()
    plain = [text for document in read_text(EXAMPLES[format], format) for text in document.texts]
    assert [text for document in documents for text in document.texts] == plain


@pytest.mark.parametrize("format", TEXT_FORMATS)
@given(data=st.data())
def test_any_source_round_trips(format: str, data: st.DataObject) -> None:
    source = data.draw(soup(format))
    documents = read_text(source, format)
    assert render(documents) == source
    for document in documents:
        for sentence in document:
            assert sentence.text == sentence.text.strip() != ""
            assert "\0" not in sentence.text
            assert all(0 <= markup.offset <= len(sentence.text) for markup in sentence.markup)


@pytest.mark.parametrize("format", TEXT_FORMATS)
@given(data=st.data())
def test_rewriting_keeps_inline_markup_and_all_text_outside_sentences(format: str, data: st.DataObject) -> None:
    documents = read_text(data.draw(soup(format)), format)
    texts = [[data.draw(st.text(max_size=20)) + "." for _ in document] for document in documents]
    written = render(documents, texts)
    assert isinstance(written, str)
    position = 0
    for document in documents:
        end = 0
        for sentence in document:
            if sentence.start < end:
                continue  # nested in markup
            has_nested = any(sentence.start < other.start < sentence.end for other in document)
            # Line breaks without text between them are dropped, and so is emphasis that cannot be placed.
            marks = [mark.raw for mark in sentence.markup if mark.raw.strip() and mark.raw.strip("*_~")]
            for piece in [document.source[end : sentence.start], *(marks if not has_nested else [])]:
                position = written.index(piece, position) + len(piece)
            end = sentence.end
    assert written.endswith(documents[-1].source[end:])


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_one_sentence(data: bytes) -> None:
    for format in FORMATS:
        message, content = "", None
        try:
            documents = read(io.BytesIO(data), format)
            content = render(documents)
        except DocgraphError as error:
            message = str(error)
        assert "\n" not in message
        if content is not None:
            assert (content.encode(documents[0].encoding) if isinstance(content, str) else content) == data


@pytest.mark.parametrize("format", TEXT_FORMATS)
@pytest.mark.parametrize("source", ["", "\n", "\r\n \t\n\n", "\ufeff", "\0"])
def test_blank_sources_have_no_sentences(format: str, source: str) -> None:
    (document,) = read_text(source, format)
    assert (document.texts, document.source) == ([], source)


@pytest.mark.parametrize("format", ["lines", "text", "markdown", "html"])
@pytest.mark.parametrize(
    "source",
    ["word", "word " * 20_000, "😀", "👩‍👩‍👧 family", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "a\0b"],
)
def test_odd_sources_are_one_sentence(format: str, source: str) -> None:
    (document,) = read_text(source, format)
    assert document.texts == [source.strip().replace("\0", "")]
    assert render([document], [["x"]]) in {"x" + " " * (len(source) - len(source.rstrip())), "x\0", "\0x"}


def test_invalid_utf8_names_file_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("First line.\nCafé\n".encode("latin-1"))
    with pytest.raises(DocgraphError, match=r"latin\.txt:2: byte 16 \(0xe9\) is not UTF-8; convert .* iconv"):
        read(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is not a text file but a PDF document; extract its text first"),
        (b"%PDF-1.4\nBT (Hello) Tj ET", "is not a text file but a PDF document; extract its text first"),
        (b"PK\3\4\x14\0\0\0", "is not a text file but a ZIP archive; unpack it"),
        (b"GIF89a\1\0\1\0", "is not a text file but a GIF picture; copy its text into a text file"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "is not a text file but a JPEG picture"),
        (b"\x7fELF\2\1\1", "is not a text file but a program"),
        (b"\3\4\x14\0\x08\xff", "is not a text file; extract its text first"),
        (codecs.BOM_UTF16_LE + b"a\0\0\xd8", "is not UTF-16-LE"),
        ("Plain words of a text in UTF-16.".encode("utf-16-le"), "without a byte order mark"),
    ],
)
def test_other_encodings_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DocgraphError, match=message):
        read(io.BytesIO(data))


def test_a_text_about_a_kind_of_file_is_read() -> None:
    assert read(io.BytesIO(b"GIF89a is a format of pictures."))[0].texts == ["GIF89a is a format of pictures."]


def test_files_over_the_size_limit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"Words.\n\n" * 2**18)
    assert read(path)
    with pytest.raises(DocgraphError, match=r"large\.txt: is larger than 1 MiB; split it"):
        read(path, max_bytes=2**20)


def test_unknown_format_error_lists_the_known_ones() -> None:
    with pytest.raises(DocgraphError, match=f"no format 'wps'; choose one of {', '.join(FORMATS)}$"):
        read(io.BytesIO(b""), "wps")


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EXAMPLES["text"].encode())))
    documents = read("-")
    assert (documents[0].format, documents[0].path, documents[0].id) == ("text", None, "stdin")
    write(documents, "-")
    assert capsysbinary.readouterr().out == EXAMPLES["text"].encode()


def test_a_stream_of_text_is_read() -> None:
    assert read(io.StringIO("One. Two."))[0].texts == ["One.", "Two."]


def test_documents_of_one_file_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "talks.txt"
    path.write_text(EXAMPLES["lines"], encoding="utf-8")
    assert [document.id for document in read(path)] == ["talks.1", "talks.2"]
    assert [document.path for document in read(path)] == [str(path)] * 2


def test_writing_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Old.", encoding="utf-8")
    documents = read(path)
    write(documents, path, [["New."]])
    assert path.read_text(encoding="utf-8") == "New."

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(documents, path, [["Newer."]])
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text(encoding="utf-8") == "New."


def test_number_of_texts_must_match_number_of_sentences() -> None:
    with pytest.raises(ValueError, match="has 2 sentences and 1 were given"):
        render(read_text("One. Two."), [["Un."]])


def test_documents_without_a_file_can_be_written() -> None:
    assert render([Document.from_sentences(["One.", "Two."])], [["Un.", "Deux."]]) == "Un.\nDeux.\n"


def test_other_packages_add_formats_by_entry_point(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Entry:
        def load(self) -> Format:
            return Format("loud", (".loud",), get_format("lines").parse, str.upper)

    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: [Entry()] if group == "docgraph.formats" else []
    )
    registry._plugins.cache_clear()
    try:
        path = tmp_path / "a.loud"
        path.write_text("One.\n", encoding="utf-8")
        assert render(read(path), [["two"]]) == "TWO\n"
    finally:
        registry._plugins.cache_clear()


def test_example_format_of_the_manual_works() -> None:
    manual = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", manual, re.S) if "PROPERTIES" in block]
    names: dict[str, Format] = {}
    exec(code, names)
    source = "# A comment.\ngreeting = Hello there. Bye.\n"
    (document,) = names["PROPERTIES"].parse(source, "en")
    assert document.texts == ["Hello there.", "Bye."]
    made = replace_sentences(document, ["Salut.", "Ciao."], names["PROPERTIES"])
    assert made.source == "# A comment.\ngreeting = Salut. Ciao.\n"
    assert [made.source[s.start : s.end] for s in made] == made.texts == ["Salut.", "Ciao."]


def test_the_example_document_is_prose() -> None:
    (document,) = read(ROOT / "examples" / "three_men_in_a_boat.txt")
    assert (document.format, len(document), document.sentences[-1].paragraph) == ("text", 12, 3)


def test_texts_with_line_breaks_nuls_and_surrogates_stay_on_one_line(tmp_path: Path) -> None:
    documents = read_text("One.\nTwo.\n", "lines")
    write(documents, tmp_path / "out", [["a\n b\0\u2028c", "half \ud800"]])
    assert (tmp_path / "out").read_text(encoding="utf-8") == "a b c\nhalf ?\n"


def test_docx_is_not_text() -> None:
    with pytest.raises(DocgraphError):
        read(io.BytesIO(docx([["One."]])), "text")
