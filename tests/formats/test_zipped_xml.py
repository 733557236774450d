"""What DOCX, ODT, PPTX, XLSX and EPUB share: byte-for-byte copies, limits, errors of one sentence."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from format_examples import W, archive, docx
from hypothesis import given, settings
from hypothesis import strategies as st
from package_examples import EXAMPLES, ODF, epub, odt, odt_paragraphs, page, pptx, slide, xlsx

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import paragraph, read, render, xml_text, zipped_xml
from docgraph.formats.odt import VOCABULARY as ODT_VOCABULARY
from docgraph.formats.office import VOCABULARY as OFFICE_VOCABULARY
from docgraph.formats.xml_text import Vocabulary

FILES = {"docx": docx([["One ", "two", " three."], ["Four."]], footnote="A note."), **EXAMPLES}


def read_one(data: bytes, format: str) -> Document:
    (document,) = read(io.BytesIO(data), format)
    return document


def rewrite(document: Document, texts: Sequence[str], language: str | None = None) -> bytes:
    written = render([document], [texts], language)
    assert isinstance(written, bytes)
    return written


def entries(data: bytes) -> dict[str, bytes]:
    """Return the raw entries of an archive, compressed, with their headers."""
    with ZipFile(io.BytesIO(data)) as opened:
        infos = sorted(opened.infolist(), key=lambda info: info.header_offset)
        ends = [info.header_offset for info in infos[1:]] + [opened.start_dir]
        return {info.filename: data[info.header_offset : end] for info, end in zip(infos, ends, strict=True)}


def contents(data: bytes) -> dict[str, bytes]:
    with ZipFile(io.BytesIO(data)) as opened:
        return {info.filename: opened.read(info) for info in opened.infolist()}


@pytest.mark.parametrize("format", FILES)
def test_only_parts_with_new_text_are_written(format: str) -> None:
    original = FILES[format]
    document = read_one(original, format)
    assert render([document]) == original
    written = rewrite(document, [document.texts[0].upper(), *document.texts[1:]])
    old, new = entries(original), entries(written)
    assert list(old) == list(new)
    assert len([name for name in old if old[name] != new[name]]) == 1
    with ZipFile(io.BytesIO(original)) as before, ZipFile(io.BytesIO(written)) as after:
        assert after.testzip() is None
        for one, other in zip(before.infolist(), after.infolist(), strict=True):
            assert (one.filename, one.compress_type, one.date_time, one.external_attr) == (
                (other.filename, other.compress_type, other.date_time, other.external_attr)
            )


@pytest.mark.parametrize("format", FILES)
def test_new_text_lands_in_its_units(format: str) -> None:
    document = read_one(FILES[format], format)
    written = rewrite(document, [text.upper() for text in document.texts])
    assert read_one(written, format).texts == [text.upper() for text in document.texts]


def test_order_of_the_archive_and_its_comment_are_kept() -> None:
    buffer = io.BytesIO(FILES["docx"])
    with ZipFile(buffer, "a") as target:
        target.comment = b"a comment"
        target.filelist.reverse()  # the directory lists the entries in another order than the file
    written = rewrite(read_one(buffer.getvalue(), "docx"), ["A", "B", "C"])
    with ZipFile(buffer) as before, ZipFile(io.BytesIO(written)) as after:
        assert after.namelist() == before.namelist()
        assert after.comment == b"a comment"
    assert list(entries(written)) == list(entries(buffer.getvalue()))


@pytest.mark.parametrize("format", ["odt", "epub"])
def test_the_type_of_the_archive_stays_first_and_stored(format: str) -> None:
    document = read_one(FILES[format], format)
    written = rewrite(document, [text.upper() for text in document.texts])
    assert written[30:38] == b"mimetype"
    with ZipFile(io.BytesIO(written)) as opened:
        assert opened.infolist()[0].compress_type == ZIP_STORED
        assert opened.getinfo(opened.namelist()[-1]).compress_type == ZIP_DEFLATED


BOMB = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]>'
EXTERNAL = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[: len(data) // 2], r"is not in \w+ format \(not a zip archive, or cut short\); check"),
        (lambda data: b"Just text.", r"is not in \w+ format \(not a zip archive"),
        (lambda data: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old or password-protected Office file; save it as"),
        (lambda data: archive({"other.xml": b"<a/>"}), r"is a zip archive but not in \w+ format \(it has no "),
    ],
)
def test_bad_files_raise_one_sentence(format: str, change: object, message: str, tmp_path: Path) -> None:
    assert callable(change)
    path = tmp_path / f"bad.{format}"
    path.write_bytes(change(FILES[format]))
    with pytest.raises(DocgraphError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


PARTS_READ = {
    "docx": ["word/document.xml", "word/footnotes.xml"],
    "odt": ["content.xml", "styles.xml", "meta.xml"],
    "pptx": ["ppt/presentation.xml", "ppt/_rels/presentation.xml.rels", "ppt/slides/slide1.xml", "docProps/core.xml"],
    "xlsx": ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"],
    "epub": ["META-INF/container.xml", "OEBPS/book.opf", "OEBPS/toc.ncx", "OEBPS/chapter 1.xhtml"],
}


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("doctype", [BOMB, EXTERNAL])
def test_entities_are_refused_in_every_part_that_is_read(format: str, doctype: str) -> None:
    original = contents(FILES[format])
    for name in PARTS_READ[format]:
        xml = re.sub(r"^<\?xml[^>]*>\n|^<!DOCTYPE[^>]*>", "", original[name].decode())
        hostile = archive({**original, name: (doctype + xml).encode()})
        with pytest.raises(DocgraphError, match=r"declares (XML entities|a document type)"):
            read_one(hostile, format)


@pytest.mark.parametrize("format", FILES)
@settings(max_examples=60)
@given(st.data())
def test_damaged_files_are_read_or_refused(format: str, data: st.DataObject) -> None:
    damaged = bytearray(FILES[format])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    message = ""
    try:
        document = read_one(bytes(damaged), format)
        rewrite(document, [text.upper() for text in document.texts])
    except DocgraphError as error:
        message = str(error)
    assert "\n" not in message


def test_a_workbook_of_numbers_has_no_text_and_stays_as_it_is() -> None:
    without_texts = {name: data for name, data in contents(FILES["xlsx"]).items() if name != "xl/sharedStrings.xml"}
    numbers = b'<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData></worksheet>'
    data = archive({**without_texts, "xl/worksheets/sheet1.xml": numbers})
    document = read_one(data, "xlsx")
    assert document.texts == []
    assert rewrite(document, []) == data


def test_archives_that_unpack_to_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped_xml, "MAX_UNPACKED", 2**20)
    with pytest.raises(DocgraphError, match="unpacks to more than 1 MiB"):
        read_one(docx([["One."]], extra={"word/media/zeros": bytes(2**20)}), "docx")


def test_too_much_text_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped_xml, "MAX_TEXT", 2**20)
    assert read_one(docx([["One."]], extra={"word/media/zeros": bytes(2**20)}), "docx").texts == ["One."]
    monkeypatch.setattr(ZipFile, "read", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(DocgraphError, match="holds more than 1 MiB of XML text; split the document"):
        read_one(docx([["a" * 2**20]]), "docx")


def test_too_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped_xml, "MAX_PARTS", 10)
    with pytest.raises(DocgraphError, match="holds more than 10 parts"):
        read_one(docx([["One."]], extra={f"{number}.bin": b"" for number in range(10)}), "docx")


def test_deep_nesting_is_refused() -> None:
    depth = zipped_xml.MAX_DEPTH
    for count, is_refused in ((depth - 3, False), (depth, True)):
        data = odt("<text:section>" * count + "<text:p>Deep.</text:p>" + "</text:section>" * count)
        if is_refused:
            with pytest.raises(DocgraphError, match=r"content\.xml: nests XML elements more than 500 deep"):
                read_one(data, "odt")
        else:
            assert read_one(data, "odt").texts == ["Deep."]


def test_too_many_elements_or_paragraphs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_text, "MAX_PARAGRAPHS", 10)
    with pytest.raises(DocgraphError, match="holds more than 10 paragraphs; split the document"):
        read_one(docx([["One."]] * 11), "docx")
    monkeypatch.setattr(zipped_xml, "MAX_ELEMENTS", 30)
    with pytest.raises(DocgraphError, match=r"document\.xml: has more than 30 XML elements"):
        read_one(docx([["One."]] * 11), "docx")


@pytest.mark.parametrize(
    ("format", "make"),
    [
        ("docx", lambda text: docx([[text]])),
        ("odt", lambda text: odt_paragraphs([[text]])),
        ("pptx", lambda text: pptx([slide([text])])),
        ("xlsx", lambda text: xlsx([f"<t>{text}</t>"])),
        ("epub", lambda text: epub([page(f"<p>{text}</p>")])),
    ],
)
def test_huge_paragraphs_are_refused(format: str, make: object, tmp_path: Path) -> None:
    assert callable(make)
    path = tmp_path / f"huge.{format}"
    path.write_bytes(make("word " * (paragraph.MAX_PARAGRAPH // 5 + 1)))
    with pytest.raises(DocgraphError, match=r"huge\.\w+: has a paragraph of more than 1,000,000 characters; split it"):
        read(path)


def test_too_many_changes_of_formatting_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paragraph, "MAX_MARKUP", 10)
    with pytest.raises(DocgraphError, match="has a paragraph with more than 10 changes of formatting"):
        read_one(docx([["a"] * 12]), "docx")


_TOKENS = [
    "<w:txbxContent>",
    "</w:txbxContent>",
    "<w:txbxContent/>",
    "<text:note-body>",
    "</text:note-body>",
    "<draw:text-box a='>'>",
    "</draw:text-box>",
    "<!-- <w:txbxContent> -->",
    "<?docgraph-moved 0?>",
    "words",
    "<w:p>",
    "</w:p>",
]


@given(st.lists(st.sampled_from(_TOKENS), max_size=30), st.sampled_from([ODT_VOCABULARY, OFFICE_VOCABULARY]))
def test_moved_elements_are_put_back(tokens: list[str], vocabulary: Vocabulary) -> None:
    xml = f"<r {W} {ODF}>{''.join(tokens)}</r>"
    try:
        ElementTree.fromstring(xml)
    except ElementTree.ParseError:
        return
    assert vocabulary.lower(vocabulary.hoist(xml)) == xml


WORDS = st.lists(st.text("abcdéß中&<>'\"", min_size=1, max_size=6), min_size=1, max_size=4).map(" ".join)
RUNS = st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=4)


@settings(max_examples=40)
@given(RUNS, st.sampled_from(["docx", "odt", "pptx"]), st.data())
def test_any_runs_round_trip_and_keep_their_skeleton(
    paragraphs: list[list[str]], format: str, data: st.DataObject
) -> None:
    makers = {"docx": docx, "odt": odt_paragraphs, "pptx": lambda runs: pptx([slide(*runs)])}
    original = makers[format](paragraphs)
    document = read_one(original, format)
    assert render([document]) == original
    assert letters("".join(document.texts)) == letters("".join(map("".join, paragraphs)))
    texts = [data.draw(st.text(min_size=1, max_size=30)) for _ in document]
    written = contents(rewrite(document, texts))
    for name, content in contents(original).items():
        if content.startswith(b"<"):
            assert skeleton(written[name]) == skeleton(content)
        else:
            assert written[name] == content


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def skeleton(xml: bytes) -> list[tuple[str, dict[str, str]]]:
    space = "{http://www.w3.org/XML/1998/namespace}space"
    return [
        (element.tag, {name: value for name, value in element.attrib.items() if name != space})
        for element in ElementTree.fromstring(xml).iter()
    ]
