"""E-books: chapters as XHTML in reading order, the table of contents, and the title."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from docgraph.formats.base import names
from docgraph.formats.html import HTML, html_blocks
from docgraph.formats.xml_text import Vocabulary, is_html
from docgraph.formats.zipped_xml import Archive, zipped_format

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_OPF = "{http://www.idpf.org/2007/opf}"
VOCABULARY = Vocabulary(paragraphs=names("ncx:text dc:title"), text=names("ncx:text dc:title"))
_DC_LANGUAGE = re.compile(r"(<(?:[A-Za-z_][\w.-]*:)?language(?:\s[^<>]*)?>)\s*[\w-]+\s*(?=</)")
_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?(?:package|ncx)\s[^<>]*>")
_XML_LANGUAGE = re.compile(r"""(\sxml:lang\s*=\s*["'])[\w-]+""")


def parts(archive: Archive) -> list[str]:
    """Return the chapters in reading order, then other pages, the table of contents and the package description."""
    archive.require(_CONTAINER)
    rootfiles = archive.tree(_CONTAINER).iter("{urn:oasis:names:tc:opendocument:xmlns:container}rootfile")
    package = next((path for element in rootfiles if (path := element.get("full-path", "")) in archive), None)
    if package is None:
        raise archive.error("is damaged: its package description (.opf) is missing; get the file again")
    tree = archive.tree(package)
    items: dict[str, str] = {}
    pages, contents = [], []
    for item in tree.iter(f"{_OPF}item"):
        href = unquote(item.get("href", ""))
        part = posixpath.normpath(posixpath.join(posixpath.dirname(package), href))
        if part not in archive:
            continue
        items[item.get("id", "")] = part
        if item.get("media-type") == "application/xhtml+xml":
            pages.append(part)
        elif item.get("media-type") == "application/x-dtbncx+xml":
            contents.append(part)
    spine = (items.get(element.get("idref", ""), "") for element in tree.iter(f"{_OPF}itemref"))
    found = list(dict.fromkeys([*(part for part in spine if part in pages), *pages, *contents, package]))
    _refuse_encrypted(archive, found)
    return found


def _refuse_encrypted(archive: Archive, found: list[str]) -> None:
    """Raise if a part that holds text is encrypted; fonts may be."""
    if _ENCRYPTION not in archive:
        return
    for element in archive.tree(_ENCRYPTION).iter("{http://www.w3.org/2001/04/xmlenc#}CipherReference"):
        if unquote(element.get("URI", "")) in found:
            raise archive.error("is protected against copying; get a copy without protection")


def declare(source: str, language: str) -> str:
    """Set the language of the book, of its pages and of its table of contents."""
    return "\0".join(_declare_part(part, language) for part in source.split("\0"))


def _declare_part(part: str, language: str) -> str:
    if is_html(part, 0, len(part)):
        return HTML.declare(part, language)
    part = _DC_LANGUAGE.sub(lambda match: match[1] + language, part, count=1)
    return _ROOT.sub(lambda root: _XML_LANGUAGE.sub(lambda mark: mark[1] + language, root[0]), part, count=1)


EPUB = zipped_format("epub", (".epub",), parts, VOCABULARY, declare=declare, html_blocks=html_blocks)
