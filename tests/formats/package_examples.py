"""Hand-made ODT, PPTX, XLSX and EPUB files for tests."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from formats.format_examples import archive

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
X = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in [
        ("office", "office"),
        ("text", "text"),
        ("draw", "drawing"),
        ("svg", "svg-compatible"),
        ("style", "style"),
        ("fo", "xsl-fo-compatible"),
    ]
)


def core(title: str) -> bytes:
    return f"<cp:coreProperties xmlns:cp='cp' {DC}><dc:title>{title}</dc:title></cp:coreProperties>".encode()


def relations(targets: dict[str, tuple[str, str]]) -> bytes:
    """Return a .rels part, given id -> (kind, target)."""
    rows = "".join(f'<Relationship Id="{i}" Type="{RELATIONS}/{k}" Target="{t}"/>' for i, (k, t) in targets.items())
    namespace = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{namespace}">{rows}</Relationships>'.encode()


def odt(body: str, styles: str = "", title: str = "") -> bytes:
    """Return an ODT file with the XML of its text; the first entry is its type, stored."""
    parts = {
        "content.xml": f"{HEAD}<office:document-content {ODF}>{body}</office:document-content>",
        "styles.xml": f"<office:document-styles {ODF}>{styles}</office:document-styles>",
        "meta.xml": f"<office:document-meta {ODF} {DC}><dc:title>{title}</dc:title></office:document-meta>",
        "META-INF/manifest.xml": "<manifest/>",
    }
    return typed_archive("application/vnd.oasis.opendocument.text", {k: v.encode() for k, v in parts.items()})


def odt_paragraphs(paragraphs: Sequence[Sequence[str]]) -> bytes:
    """Return an ODT file whose paragraphs consist of spans, every second one with a style."""
    spans = [
        [f'<text:span text:style-name="T1">{escape(t)}</text:span>' if i % 2 else escape(t) for i, t in enumerate(runs)]
        for runs in paragraphs
    ]
    return odt("".join(f"<text:p>{''.join(runs)}</text:p>" for runs in spans))


def slide(*paragraphs: Sequence[str]) -> str:
    """Return a slide whose paragraphs consist of runs, every second one bold."""
    made = "".join(
        "<a:p>"
        + "".join(f'<a:r><a:rPr lang="en-US" b="{i % 2}"/><a:t>{escape(t)}</a:t></a:r>' for i, t in enumerate(runs))
        + "</a:p>"
        for runs in paragraphs
    )
    return f'{HEAD}<p:sld xmlns:p="p" {A}><p:txBody>{made}</p:txBody></p:sld>'


def pptx(slides: Sequence[str], notes: str = "", title: str = "") -> bytes:
    """Return a presentation that shows the slides in reverse order of their numbers; the last slide has notes."""
    numbers = range(len(slides), 0, -1)
    ids = "".join(f'<p:sldId r:id="r{number}"/>' for number in numbers)
    parts = {
        "[Content_Types].xml": b"<Types/>",
        "ppt/presentation.xml": f'<p:presentation xmlns:p="p" xmlns:r="{RELATIONS}">{ids}</p:presentation>'.encode(),
        "ppt/_rels/presentation.xml.rels": relations({f"r{n}": ("slide", f"slides/slide{n}.xml") for n in numbers}),
        **{f"ppt/slides/slide{n}.xml": xml.encode() for n, xml in zip(numbers, slides, strict=True)},
        "ppt/slides/_rels/slide1.xml.rels": relations({"n": ("notesSlide", "/ppt/notesSlides/notesSlide1.xml")}),
        "ppt/notesSlides/notesSlide1.xml": (notes or slide()).encode(),
        "ppt/media/image.png": bytes(range(256)),
        "docProps/core.xml": core(title),
    }
    return archive(parts)


def xlsx(strings: Sequence[str], sheet: str = "", extra: dict[str, bytes] | None = None) -> bytes:
    """Return a workbook with the XML of its shared strings and of a sheet."""
    items = "".join(f"<si>{string}</si>" for string in strings)
    parts = {
        "xl/workbook.xml": f'<workbook {X}><sheets><sheet name="Sheet one"/></sheets></workbook>'.encode(),
        "xl/worksheets/sheet1.xml": f"{HEAD}<worksheet {X}>{sheet}</worksheet>".encode(),
        "xl/sharedStrings.xml": f"{HEAD}<sst {X}>{items}</sst>".encode(),
        **(extra or {}),
    }
    return archive(parts)


def page(body: str, title: str = "Page") -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">\n'
        f'<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>{title}</title></head>'
        f"<body>{body}</body></html>"
    )


def epub(chapters: Sequence[str], extra: dict[str, bytes] | None = None) -> bytes:
    """Return an e-book whose manifest lists the chapters (XHTML) in reverse reading order."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(
        f'<item id="c{n}" href="chapter%20{n}.xhtml" media-type="application/xhtml+xml"/>' for n in reversed(numbers)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    opf = (
        f'<package xmlns="http://www.idpf.org/2007/opf" {DC} xml:lang="en"><metadata><dc:title>The Book</dc:title>'
        f"<dc:language>en-GB</dc:language></metadata><manifest>{items}"
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    ncx = '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navLabel><text>Chapter one</text></navLabel></ncx>'
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    parts = {
        "META-INF/container.xml": container.encode(),
        "OEBPS/toc.ncx": ncx.encode(),
        "OEBPS/book.opf": opf.encode(),
        **{f"OEBPS/chapter {n}.xhtml": text.encode() for n, text in zip(numbers, chapters, strict=True)},
        **(extra or {}),
    }
    return typed_archive("application/epub+zip", parts)


def typed_archive(mimetype: str, parts: dict[str, bytes]) -> bytes:
    """Return an archive whose first entry is its type, not compressed."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as target:
        target.writestr(ZipInfo("mimetype", (2020, 1, 1, 0, 0, 0)), mimetype, ZIP_STORED)
        for name, content in parts.items():
            target.writestr(name, content)
    return buffer.getvalue()


EXAMPLES = {
    "odt": odt(
        "<text:h>A heading</text:h><text:p>Alice saw a <text:span>white rabbit</text:span>.</text:p>",
        "<style:header><text:p>A header</text:p></style:header>",
        "The title",
    ),
    "pptx": pptx(
        [slide(["First ", "slide"], ["It has two lines."]), slide(["Second slide"])], slide(["Say this."]), "A talk"
    ),
    "xlsx": xlsx(["<t>Unit price</t>", "<r><t>Two </t></r><r><rPr><b/></rPr><t>words</t></r>"]),
    "epub": epub([page("<h1>Down</h1><p>Alice saw a <b>white rabbit</b>.</p>"), page("<p>The end.</p>")]),
}
"""A small file of each format."""
