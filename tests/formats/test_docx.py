from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from format_examples import W, archive, docx, run
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.document import Document, Link
from docgraph.errors import DocgraphError
from docgraph.formats import read, render, write

NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
EXAMPLE = docx(
    [
        ["Alice saw a ", "white rabbit", " with pink eyes. It ran."],
        ["“Oh ", "dear", "!” it said & left."],
    ],
    footnote="A note.",
)


def read_one(data: bytes) -> Document:
    (document,) = read(io.BytesIO(data), "docx")
    return document


def rewrite(document: Document, texts: list[str]) -> bytes:
    written = render([document], [texts])
    assert isinstance(written, bytes)
    return written


def runs(data: bytes, part: str = "word/document.xml") -> list[tuple[str, bool]]:
    """Return (text, bold) of the runs, as an XML parser sees them."""
    with ZipFile(io.BytesIO(data)) as opened:
        root = ElementTree.fromstring(opened.read(part))
    found = root.iter(f"{NAMESPACE}r")
    return [(r.findtext(f"{NAMESPACE}t") or "", r.find(f".//{NAMESPACE}b") is not None) for r in found]


def body(xml: str) -> bytes:
    return archive({"word/document.xml": f"<w:document {W}><w:body>{xml}</w:body></w:document>".encode()})


def test_sentences_come_from_runs_and_notes() -> None:
    document = read_one(EXAMPLE)
    assert document.texts == [
        "Alice saw a white rabbit with pink eyes.",
        "It ran.",
        "“Oh dear!” it said & left.",
        "A note.",
    ]
    assert [len(sentence.markup) for sentence in document] == [2, 0, 2, 0]


def test_unchanged_document_gives_the_original_bytes(tmp_path: Path) -> None:
    path = tmp_path / "in.docx"
    path.write_bytes(EXAMPLE)
    write(read(path), tmp_path / "out.docx")
    assert (tmp_path / "out.docx").read_bytes() == EXAMPLE


def test_new_text_keeps_formatting_and_every_other_part() -> None:
    document = read_one(EXAMPLE)
    written = rewrite(document, [text.upper() for text in document.texts])
    assert runs(written) == [
        ("ALICE SAW A ", False),
        ("WHITE RABBIT", True),
        (" WITH PINK EYES. IT RAN.", False),
        ("“OH ", False),
        ("DEAR", True),
        ("!” IT SAID & LEFT.", False),
    ]
    assert runs(written, "word/footnotes.xml") == [("A NOTE.", False)]
    with ZipFile(io.BytesIO(written)) as new, ZipFile(io.BytesIO(EXAMPLE)) as old:
        assert new.namelist() == old.namelist()
        assert new.read("word/media/image.png") == old.read("word/media/image.png")
        assert [info.date_time for info in new.infolist()] == [info.date_time for info in old.infolist()]
    assert " ".join(read_one(written).texts) == " ".join(document.texts).upper()


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.text("aB. &<>é中'\"\u00a0", max_size=12), max_size=4), max_size=4),
    st.data(),
)
def test_any_runs_round_trip_and_any_text_stays_well_formed(paragraphs: list[list[str]], data: st.DataObject) -> None:
    original = docx(paragraphs)
    document = read_one(original)
    assert render([document]) == original
    texts = [data.draw(st.text(max_size=30)) for _ in document]
    written = rewrite(document, texts)
    assert len(runs(written)) == len(runs(original))
    assert [bold for _, bold in runs(written)] == [bold for _, bold in runs(original)]


@pytest.mark.parametrize(
    ("xml", "texts"),
    [
        (f"<w:p>{run('One')}<w:r><w:br/></w:r>{run('Two')}</w:p>", ["One", "Two"]),
        (f"<w:p>{run('One')}<w:r><w:tab/></w:r>{run('12')}</w:p>", ["One", "12"]),
        (f"<w:p><w:hyperlink>{run('A link')}</w:hyperlink>{run(' here')}</w:p>", ["A link here"]),
        ("<w:p><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>", []),
        ("<w:p><w:r><w:delText>gone</w:delText></w:r></w:p>", []),
        (f"<w:p>{run('Out')}<w:r><w:pict><w:p>{run('In a box')}</w:p></w:pict></w:r></w:p>", ["Out", "In a box"]),
        ("<w:p><w:r><w:t>a &lt; b &#65;</w:t></w:r></w:p>", ["a < b A"]),
        (
            f"<w:p>{run('A ')}<w:r><w:txbxContent><w:p>{run('Box')}</w:p></w:txbxContent></w:r>{run('b')}</w:p>",
            ["A b", "Box"],
        ),
        (f"<w:p><w:moveFrom>{run('Old place')}</w:moveFrom>{run('New')}</w:p>", ["New"]),
        ("<w:p><w:r><w:t>One <!-- x -->two<![CDATA[ & ]]></w:t></w:r></w:p>", ["One two"]),
        ("<w:p><w:r><w:t/></w:r><!-- <w:t>no</w:t> --></w:p>", []),
    ],
)
def test_constructs(xml: str, texts: list[str]) -> None:
    assert read_one(body(xml)).texts == texts


def test_comments_and_cdata_inside_text_are_kept() -> None:
    data = body("<w:p><w:r><w:t>One <!-- x -->two<![CDATA[ & ]]> three.</w:t></w:r></w:p>")
    with ZipFile(io.BytesIO(rewrite(read_one(data), ["Un deux trois."]))) as opened:
        written = opened.read("word/document.xml").decode()
    assert written.count("<!-- x -->") == written.count("<![CDATA[ & ]]>") == 1


def test_new_outer_spaces_are_declared_and_old_ones_are_left_alone() -> None:
    first, second = "<w:r><w:t>Alice</w:t></w:r>", "<w:r><w:t>!</w:t></w:r>"
    data = body(f"<w:p>{first}{second}</w:p><w:p><w:r><w:t> 12</w:t></w:r></w:p>")
    texts = ["Alice !" if text == "Alice!" else text for text in read_one(data).texts]
    with ZipFile(io.BytesIO(rewrite(read_one(data), texts))) as opened:
        written = opened.read("word/document.xml").decode()
    changed = (
        ["<w:t>Alice</w:t>", '<w:t xml:space="preserve"> !</w:t>'],
        ['<w:t xml:space="preserve">Alice </w:t>', "<w:t>!</w:t>"],
    )
    assert any(all(element in written for element in elements) for elements in changed)
    assert "<w:t> 12</w:t>" in written


def test_another_prefix_for_the_namespace() -> None:
    xml = f"<x:document {W.replace('xmlns:w', 'xmlns:x')}><x:p><x:r><x:t>Text.</x:t></x:r></x:p></x:document>"
    assert read_one(archive({"word/document.xml": xml.encode()})).texts == ["Text."]


BOMB = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;">]>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not in DOCX format (not a zip archive, or cut short)"),
        (b"Just text.", "is not in DOCX format (not a zip archive, or cut short)"),
        pytest.param(EXAMPLE[:100], "is not in DOCX format (not a zip archive, or cut short)", id="cut short"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old or password-protected Office file; save it as DOCX"),
        (archive({"mimetype": b"x"}), "no word/document.xml"),
        (archive({"word/document.xml": b"<w:document"}), "is not well-formed XML"),
        (archive({"word/document.xml": b"<a>\xff</a>"}), "is not well-formed XML"),
        (archive({"word/document.xml": b"<a>\x00</a>"}), "is not well-formed XML"),
        (archive({"word/document.xml": f"{BOMB}<a>&y;</a>".encode()}), "declares a document type"),
        (archive({"word/document.xml": b"<?xml version='1.0' encoding='latin-1'?><a>\xe9</a>"}), "is not UTF-8"),
    ],
)
def test_files_that_are_not_word_documents_raise_one_sentence(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.docx"
    path.write_bytes(data)
    with pytest.raises(DocgraphError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_duplicate_parts_are_refused() -> None:
    buffer = io.BytesIO(EXAMPLE)
    with ZipFile(buffer, "a") as target, pytest.warns(UserWarning, match="Duplicate"):
        target.writestr("word/document.xml", b"<a/>")
    with pytest.raises(DocgraphError, match="holds the same part twice"):
        read_one(buffer.getvalue())


def with_headers(place: int, value: int) -> bytes:
    """Return the example with one byte of its zip headers changed; `place` is counted from the flags."""
    data = bytearray(EXAMPLE)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        header = data.find(signature)
        while header >= 0:
            data[header + flags + place] = value
            header = data.find(signature, header + 1)
    return bytes(data)


def test_password_protection_is_reported() -> None:
    with pytest.raises(DocgraphError, match="protected by a password"):
        read_one(with_headers(0, 1))


@pytest.mark.parametrize("method", [9, 12, 14, 99])
def test_unknown_compression_is_reported(method: int) -> None:
    with pytest.raises(DocgraphError, match=r"is damaged: .* cannot be unpacked"):
        read_one(with_headers(2, method))


@settings(max_examples=200)
@given(st.data())
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    damaged = bytearray(EXAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    message = ""
    try:
        document = read_one(bytes(damaged))
        rewrite(document, [text.upper() for text in document.texts])
    except DocgraphError as error:
        message = str(error)
    assert "\n" not in message


def test_utf16_parts_stay_utf16() -> None:
    xml = f'<?xml version="1.0" encoding="UTF-16"?><w:document {W}><w:p>{run("Old.")}</w:p></w:document>'
    written = rewrite(read_one(archive({"word/document.xml": xml.encode("utf-16")})), ["New é."])
    with ZipFile(io.BytesIO(written)) as opened:
        assert opened.read("word/document.xml").decode("utf-16") == xml.replace("Old.", "New é.")
        assert opened.infolist()[0].compress_type == ZIP_DEFLATED


def test_paragraphs_have_the_proofing_language_of_most_of_their_text() -> None:
    def marked(text: str, code: str) -> str:
        return f'<w:r><w:rPr><w:lang w:val="{code}"/></w:rPr><w:t>{text}</w:t></w:r>'

    french = marked("Bonjour à tous", "fr-FR")
    xml = f"<w:p>{french}</w:p><w:p>{french}{run(' and good morning to you all')}</w:p><w:p>{run('Hello')}</w:p>"
    assert [sentence.language for sentence in read_one(body(xml))] == ["fr", "", ""]


def test_proofing_language_becomes_the_target_language() -> None:
    marks = [f'<w:lang w:val="{name}"/>' for name in ("en-US", "en-GB", "de-DE")]
    text = "".join(f"<w:r><w:rPr>{mark}</w:rPr><w:t>{i}</w:t></w:r>" for i, mark in enumerate(marks))
    styles = f'<w:styles {W}><w:lang w:eastAsia="ja-JP" w:val="en-US" w:bidi="ar-SA"/></w:styles>'
    body = f"<w:document {W}><w:body><w:p>{text}</w:p></w:body></w:document>"
    document = read_one(archive({"word/document.xml": body.encode(), "word/styles.xml": styles.encode()}))
    written = render([document], language="fr")
    assert isinstance(written, bytes)
    with ZipFile(io.BytesIO(written)) as made:
        assert made.read("word/styles.xml").decode() == styles.replace("en-US", "fr")
        assert made.read("word/document.xml").decode() == body.replace("en-US", "fr").replace("en-GB", "fr")


RAISED = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'


def test_superscripts_stay_inside_their_words() -> None:
    xml = f"<w:p>{run('It is 20 m')}<w:r>{RAISED}<w:t>2</w:t></w:r>{run(' in all.')}</w:p>"
    written = rewrite(read_one(body(xml)), ["Cela fait 20 m2."])
    assert [text for text, _ in runs(written)] == ["Cela fait 20 m", "2", "."]


@pytest.mark.parametrize("mark", [f"<w:r>{RAISED}<w:t>1</w:t></w:r>", '<w:r><w:footnoteReference w:id="2"/></w:r>'])
def test_the_mark_of_a_note_follows_the_translation_of_its_word(mark: str) -> None:
    document = read_one(body(f"<w:p>{run('The red house')}{mark}{run(' is old.')}</w:p>"))
    assert document.texts == ["The red house is old."]
    links = tuple(Link(target, source, 1.0) for target, source in ((1, 2), (8, 12), (14, 6), (18, 15)))
    written = render([document], [["La maison rouge est vieille."]], None, [[links]])
    assert isinstance(written, bytes)
    assert [text for text, _ in runs(written)] == ["La maison", "1" if "t>1" in mark else "", " rouge est vieille."]


def test_hyphens_of_word_are_text() -> None:
    one_run = "<w:r><w:t>Non</w:t><w:noBreakHyphen/><w:t>smo</w:t><w:softHyphen/><w:t>king rooms.</w:t></w:r>"
    document = read_one(body(f"<w:p>{one_run}</w:p>"))
    assert document.texts == ["Non\u2011smo\u00adking rooms."]
    assert [text for text, _ in runs(rewrite(document, ["Chambres non\u2011fumeurs."]))] == [
        "Chambres non\u2011fumeurs."
    ]
    several = f"<w:p>{run('Non')}<w:r><w:noBreakHyphen/></w:r>{run('smoking', bold=True)}{run(' rooms.')}</w:p>"
    written = rewrite(read_one(body(several)), ["Chambres pour tous."])
    assert "noBreakHyphen" not in ZipFile(io.BytesIO(written)).read("word/document.xml").decode()
    assert "".join(text for text, _ in runs(written)) == "Chambres pour tous."
