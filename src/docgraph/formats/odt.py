"""OpenDocument texts and presentations: paragraphs, headings, notes, text boxes, headers and footers."""

from __future__ import annotations

import re
from collections import Counter

from docgraph.formats.base import names
from docgraph.formats.xml_text import Vocabulary
from docgraph.formats.zipped_xml import Archive, zipped_format

_CONTENT, _MANIFEST = "content.xml", "META-INF/manifest.xml"
VOCABULARY = Vocabulary(
    paragraphs=names("text:p text:h text:index-title-template svg:title svg:desc dc:title"),
    text=names("text:span text:a text:meta text:placeholder text:ruby text:ruby-base"),
    mixed=True,
    breaks=names("text:line-break text:tab"),
    hidden=names("text:note office:annotation text:tracked-changes text:ruby-text"),
    moved=names("text:note-body draw:text-box svg:title svg:desc"),
)
_LANGUAGE = re.compile(r"""(?P<start>\sfo:(?P<name>language|country)\s*=\s*["'])(?P<value>[\w-]*)(?=["'])""")
_PROPERTIES = re.compile(r"<style:text-properties\s[^<>]*>")


def parts(archive: Archive) -> list[str]:
    """Return the parts that hold text: the content, the styles with headers and footers, the title."""
    archive.require(_CONTENT)
    if _MANIFEST in archive and b"encryption-data" in archive.content(_MANIFEST):
        raise archive.error("is protected by a password; save it without one")
    return [part for part in (_CONTENT, "styles.xml", "meta.xml") if part in archive]


def declare(source: str, language: str) -> str:
    """Set the language of styles in the main language of the document; words in other languages keep theirs."""
    marks = [match for match in _LANGUAGE.finditer(source) if match["name"] == "language"]
    counts = Counter(match["value"].lower() for match in marks if match["value"] not in ("none", "zxx"))
    main = max(counts, key=lambda name: counts[name], default="")
    code, _, country = language.replace("_", "-").partition("-")
    new = {"language": code, "country": country.upper() or "none"}

    def translate(properties: re.Match[str]) -> str:
        values = {match["name"]: match["value"].lower() for match in _LANGUAGE.finditer(properties[0])}
        if not main or values.get("language") != main:
            return properties[0]
        return _LANGUAGE.sub(lambda match: match["start"] + new[match["name"]], properties[0])

    return _PROPERTIES.sub(translate, source)


ODT = zipped_format("odt", (".odt", ".ott"), parts, VOCABULARY, declare=declare)
