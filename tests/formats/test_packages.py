"""ODT, PPTX, XLSX and EPUB: what is read as text, in which order, and what is left alone."""

from __future__ import annotations

import pytest
from format_examples import archive
from package_examples import EXAMPLES, X, core, epub, odt, page, pptx, slide, xlsx
from test_zipped_xml import contents, read_one, rewrite

from docgraph.errors import DocgraphError


def texts_of(body: str) -> list[str]:
    return read_one(odt(body), "odt").texts


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("<text:h>One</text:h><text:p>Two. Three.</text:p>", ["One", "Two.", "Three."]),
        ("<text:p>One<text:line-break/>Two<text:tab/>12</text:p>", ["One", "Two", "12"]),
        ('<text:p>A <text:a href="x">link</text:a> here</text:p>', ["A link here"]),
        ("<text:p>Two <text:s text:c='3'/>spaces<text:s/>here</text:p>", ["Two spaces here"]),
        ("<text:p>Page <text:page-number>3</text:page-number> of it</text:p>", ["Page of it"]),
        ("<text:list><text:list-item><text:p>Item</text:p></text:list-item></text:list>", ["Item"]),
        ("<text:tracked-changes><text:p>Deleted</text:p></text:tracked-changes><text:p>Kept</text:p>", ["Kept"]),
        ("<text:p>Word<office:annotation><text:p>Remark</text:p></office:annotation>s here.</text:p>", ["Words here."]),
        ("<text:p>a &lt; b &#65;</text:p>not text", ["a < b A"]),
        ("<text:p/><text:p>One</text:p>", ["One"]),
    ],
)
def test_odt_constructs(body: str, texts: list[str]) -> None:
    assert texts_of(body) == texts


def test_odt_notes_and_text_boxes_do_not_cut_their_sentence() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>See <text:span>there</text:span>."
        "</text:p></text:note-body></text:note>"
    )
    box = (
        "<draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box><svg:title>A cat</svg:title></draw:frame>"
    )
    body = f"<text:p>The cat{note} sat on {box}the mat.</text:p><text:p>It slept.</text:p>"
    document = read_one(odt(body), "odt")
    assert document.texts == ["The cat sat on the mat.", "It slept.", "See there.", "In a box", "A cat"]
    written = contents(rewrite(document, ["LE CHAT ÉTAIT LÀ.", "IL DORT.", "VOIR LÀ.", "UNE BOÎTE", "UN CHAT"]))
    xml = written["content.xml"].decode()
    assert "docgraph" not in xml
    assert "<text:note-body><text:p>VOIR <text:span>LÀ</text:span>.</text:p></text:note-body></text:note>" in xml
    assert "<draw:text-box><text:p>UNE BOÎTE</text:p></draw:text-box><svg:title>UN CHAT</svg:title>" in xml


def test_odt_header_and_title_are_read() -> None:
    assert read_one(EXAMPLES["odt"], "odt").texts == ["A heading", "Alice saw a white rabbit.", "A header", "The title"]


def test_odt_language_becomes_the_target_language() -> None:
    english = '<style:text-properties fo:language="en" fo:country="US" fo:color="red"/>'
    german = '<style:text-properties fo:language="de" fo:country="DE"/>'
    none = '<style:text-properties fo:language="zxx" fo:country="none"/>'
    document = read_one(odt("<text:p>One.</text:p>", english * 2 + german + none * 5), "odt")
    french = english.replace('"en"', '"fr"').replace('"US"', '"none"')
    styles = contents(rewrite(document, ["Un."], "fr"))["styles.xml"].decode()
    assert french * 2 + german + none * 5 in styles
    brazilian = english.replace('"en"', '"pt"').replace('"US"', '"BR"')
    assert brazilian * 2 + german in contents(rewrite(document, ["Um."], "pt-BR"))["styles.xml"].decode()


def test_odt_paragraphs_have_the_declared_language_of_their_style() -> None:
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties fo:language="{code}"/></style:style>'
        for name, code in (("P1", "fr"), ("T1", "de"))
    )
    span = '<text:span text:style-name="T1">Eins zwei drei</text:span>'
    paragraphs = f"<text:p>{span} four</text:p><text:p>{span} and many more words</text:p><text:p>Six.</text:p>"
    body = f'{styles}<text:p text:style-name="P1">Un.</text:p>{paragraphs}'
    assert [sentence.language for sentence in read_one(odt(body), "odt")] == ["fr", "de", "", ""]


def test_pptx_paragraphs_have_the_declared_language_of_their_runs() -> None:
    slides = [slide(["One"], ["Drei"]).replace('lang="en-US"', 'lang="de-DE"', 1)]
    assert [sentence.language for sentence in read_one(pptx(slides), "pptx")][:2] == ["de", "en"]


def test_protected_odt_is_refused() -> None:
    parts = contents(EXAMPLES["odt"])
    parts["META-INF/manifest.xml"] = b"<manifest><manifest:encryption-data/></manifest>"
    parts["content.xml"] = bytes(range(128, 256))
    with pytest.raises(DocgraphError, match="is protected by a password; save it without one"):
        read_one(archive(parts), "odt")


def test_pptx_slides_are_read_in_the_order_of_the_show() -> None:
    document = read_one(EXAMPLES["pptx"], "pptx")
    assert document.texts == ["First slide", "It has two lines.", "Second slide", "Say this.", "A talk"]


@pytest.mark.parametrize(
    ("paragraph", "texts"),
    [
        ("<a:p><a:r><a:t>One</a:t></a:r><a:br/><a:r><a:t>Two</a:t></a:r></a:p>", ["One", "Two"]),
        ("<a:p><a:r><a:t>One\tTwo</a:t></a:r></a:p>", ["One", "Two"]),
        ('<a:p><a:fld type="slidenum"><a:t>Page 3</a:t></a:fld></a:p>', []),
        ("<a:p><a:r><a:t>A</a:t></a:r><a:fld><a:t>9</a:t></a:fld><a:r><a:t> b</a:t></a:r></a:p>", ["A b"]),
    ],
)
def test_pptx_constructs(paragraph: str, texts: list[str]) -> None:
    xml = slide().replace("<p:txBody>", f"<p:txBody>{paragraph}")
    assert read_one(pptx([xml]), "pptx").texts == texts


def test_pptx_text_elements_get_no_attributes_and_slides_the_new_language() -> None:
    document = read_one(pptx([slide(["One", " two"], ["Drei"]).replace('lang="en-US" b="1"', 'lang="de-DE"')]), "pptx")
    xml = contents(rewrite(document, ["UN  DEUX", "TROIS"], "fr"))["ppt/slides/slide1.xml"].decode()
    assert "xml:space" not in xml
    assert [xml.count(f'lang="{name}"') for name in ("fr", "de-DE", "en-US")] == [2, 1, 0]


@pytest.mark.parametrize(
    ("string", "texts"),
    [
        ("<t>Unit price</t>", ["Unit price"]),
        ("<t>First line\nSecond line</t>", ["First line", "Second line"]),
        ("<t>Bold<x/></t><rPh><t>kana</t></rPh>", ["Bold"]),
        ("<t>12.50</t>", []),
        ("<t>2024-01-31</t>", []),
        ("<t>SKU-0042</t>", []),
        ("<t>unit_price</t>", []),
        ("<t>me@example.org</t>", []),
        ("<t>https://example.org/a</t>", []),
        ("<t>www.example.org</t>", []),
        ("<t>Chapter 12</t>", ["Chapter 12"]),
    ],
)
def test_xlsx_cells(string: str, texts: list[str]) -> None:
    assert read_one(xlsx([string]), "xlsx").texts == texts


def test_xlsx_formulas_numbers_and_sheet_names_are_left_alone() -> None:
    formula = '<c t="str"><f>A1&amp;" of"</f><v>Result of</v></c><c><v>5</v></c>'
    cells = f'<c t="inlineStr"><is><t>In the cell</t></is></c>{formula}'
    document = read_one(xlsx(["<t>Shared</t>"], cells), "xlsx")
    assert document.texts == ["Shared", "In the cell"]
    written = contents(rewrite(document, ["COMMUN", "DANS LA CASE"]))
    assert written["xl/worksheets/sheet1.xml"].decode().count(cells.replace("In the cell", "DANS LA CASE")) == 1


def test_xlsx_texts_that_others_refer_to_are_left_alone() -> None:
    sheet = (
        '<c><f>COUNTIF(A:A,&quot;Done&quot;)+IF(B1="So-called ""x""",1,0)</f></c>'
        '<dataValidation><formula1>"Yes,No"</formula1></dataValidation><filter val=\'a\' /><filter val="North"/>'
    )
    table = f'<table {X}><tableColumn id="1" name="Unit&amp;_x000a_price"/></table>'.encode()
    pivot = f'<pivotCacheDefinition {X}><cacheField name="Region"/></pivotCacheDefinition>'.encode()
    fixed = ["Done", 'So-called "x"', "Yes", "No", "North", "Unit&amp;\nprice", "Region"]
    free = ["Done already", "East"]
    strings = [f"<t>{text}</t>" for text in [*fixed, *free]]
    extra = {"xl/tables/table1.xml": table, "xl/pivotCache/pivotCacheDefinition1.xml": pivot}
    document = read_one(xlsx(strings, sheet, extra), "xlsx")
    assert document.texts == free
    written = contents(rewrite(document, ["DÉJÀ", "EST"]))
    assert {name for name, content in contents(xlsx(strings, sheet, extra)).items() if written[name] != content} == {
        "xl/sharedStrings.xml"
    }


def test_titles_of_office_files_are_read() -> None:
    parts = {**contents(EXAMPLES["xlsx"]), "docProps/core.xml": core("Prices &amp; more")}
    document = read_one(archive(parts), "xlsx")
    assert document.texts == ["Unit price", "Two words", "Prices & more"]
    written = contents(rewrite(document, ["A", "B", "Prix & cie"]))
    assert written["docProps/core.xml"] == core("Prix &amp; cie")


def test_epub_chapters_are_read_in_reading_order_through_html() -> None:
    document = read_one(EXAMPLES["epub"], "epub")
    assert document.texts == [
        "Page",
        "Down",
        "Alice saw a white rabbit.",
        "Page",
        "The end.",
        "Chapter one",
        "The Book",
    ]
    assert [sentence.paragraph for sentence in document] == list(range(7))
    written = contents(rewrite(document, ["A", "B", "ALICE SAW A WHITE RABBIT.", "C", "D", "E", "F & G"], "fr"))
    assert b'xml:lang="fr"' in written["OEBPS/chapter 1.xhtml"]
    assert b"<p>ALICE SAW A <b>WHITE RABBIT</b>.</p>" in written["OEBPS/chapter 1.xhtml"]
    assert b"<text>E</text>" in written["OEBPS/toc.ncx"]
    assert b"<dc:title>F &amp; G</dc:title><dc:language>fr</dc:language>" in written["OEBPS/book.opf"]
    assert b'xml:lang="fr"><metadata>' in written["OEBPS/book.opf"]


def test_epub_entities_of_xhtml_are_read() -> None:
    document = read_one(epub([page("<p>Caf&eacute;&nbsp;one.</p>")]), "epub")
    assert document.texts[1] == "Café\u00a0one."


def test_attributes_and_languages_of_each_chapter() -> None:
    image = '<p>See <img src="a.png" alt="A cat"/> here.</p>'
    french = page("<p xml:lang='fr'>Bonjour.</p><p xml:lang='de'>Hallo.</p>").replace('xml:lang="en"', 'xml:lang="de"')
    document = read_one(epub([page(f"{image}<p xml:lang='de'>Hallo.</p>"), french]), "epub")
    found = [(sentence.text, sentence.language) for sentence in document]
    assert found[:4] == [("Page", ""), ("See here.", ""), ("A cat", ""), ("Hallo.", "de")]
    assert found[4:] == [("Page", ""), ("Bonjour.", "fr"), ("Hallo.", ""), ("Chapter one", ""), ("The Book", "")]
    written = contents(rewrite(document, ["P", "VOIR ICI.", 'UN "CHAT" & <CIE>', "H", "P", "B", "H", "C", "L"]))
    assert b'alt="UN &quot;CHAT&quot; &amp; &lt;CIE&gt;"' in written["OEBPS/chapter 1.xhtml"]


def test_unclosed_code_does_not_reach_into_the_next_chapter() -> None:
    """A self-closing element in a chapter ends there, whatever follows in the book."""
    chapters = [page("<p>One.</p><pre/>"), page("<p>Two.</p><pre>code</pre>")]
    assert read_one(epub(chapters), "epub").texts == ["Page", "One.", "Page", "Two.", "Chapter one", "The Book"]


def test_protected_chapters_are_refused_but_not_protected_fonts() -> None:
    def protect(path: str) -> bytes:
        xml = f"<encryption xmlns:e='http://www.w3.org/2001/04/xmlenc#'><e:CipherReference URI='{path}'/></encryption>"
        return epub([page("<p>One.</p>")], {"META-INF/encryption.xml": xml.encode()})

    assert len(read_one(protect("OEBPS/font.otf"), "epub")) == 4
    with pytest.raises(DocgraphError, match="is protected against copying; get a copy without protection"):
        read_one(protect("OEBPS/chapter%201.xhtml"), "epub")


def test_epub_without_its_package_description_is_refused() -> None:
    parts = contents(EXAMPLES["epub"])
    del parts["OEBPS/book.opf"]
    with pytest.raises(DocgraphError, match=r"its package description \(.opf\) is missing"):
        read_one(archive(parts), "epub")


def test_undefined_entities_in_a_package_description_are_refused() -> None:
    parts = contents(EXAMPLES["epub"])
    parts["OEBPS/book.opf"] = parts["OEBPS/book.opf"].replace(b"The Book", b"The&nbsp;Book")
    with pytest.raises(DocgraphError, match=r"book\.opf: is not well-formed XML \(undefined entity"):
        read_one(archive(parts), "epub")


CHART = (
    '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart">'
    "<c:ser><c:tx><c:strRef><c:f>Sheet1!$B$1</c:f><c:strCache><c:pt><c:v>Net revenue</c:v></c:pt></c:strCache>"
    "</c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt><c:v>First quarter</c:v></c:pt></c:strCache></c:strRef>"
    "</c:cat><c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode><c:pt><c:v>12</c:v></c:pt></c:numCache>"
    "</c:numRef></c:val></c:ser></c:chartSpace>"
)


def test_series_and_categories_of_charts_are_read() -> None:
    data = xlsx([], extra={"xl/charts/chart1.xml": CHART.encode()})
    document = read_one(data, "xlsx")
    assert document.texts == ["Net revenue", "First quarter"]
    written = contents(rewrite(document, ["Revenu net", "Premier trimestre"]))["xl/charts/chart1.xml"].decode()
    assert written == CHART.replace("Net revenue", "Revenu net").replace("First quarter", "Premier trimestre")


def test_headers_and_footers_of_sheets_keep_their_codes() -> None:
    header = (
        '<oddHeader>&amp;L&amp;G&amp;C&amp;"Arial,Bold"&amp;12Secret &amp;K00FF00report&amp;RR&amp;&amp;D</oddHeader>'
    )
    footer = "<oddFooter>&amp;LPage &amp;P of &amp;N&amp;R&amp;D</oddFooter>"
    data = xlsx([], f"<headerFooter>{header}{footer}</headerFooter>")
    document = read_one(data, "xlsx")
    assert document.texts == ["Secret report", "R&D", "Page of"]
    written = contents(rewrite(document, ["Rapport secret", "A & B", "Page &amp;P sur &amp;N"]))
    assert (
        '&amp;C&amp;"Arial,Bold"&amp;12Rapport &amp;K00FF00secret&amp;RA &amp;&amp; B</oddHeader>'
        "<oddFooter>&amp;LPage &amp;P sur &amp;N&amp;R&amp;D</oddFooter>"
    ) in written["xl/worksheets/sheet1.xml"].decode()
