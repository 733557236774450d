"""Word documents: paragraphs of the main text, notes, headers and footers; run boundaries are inline markup.

The styles are among the parts because they declare the language of the text.
"""

from __future__ import annotations

import re

from docgraph.formats.office import CORE_PROPERTIES, VOCABULARY, declare, numbered
from docgraph.formats.zipped_xml import Archive, zipped_format

_PARTS = (
    r"word/document\d*\.xml",
    r"word/footnotes\d*\.xml",
    r"word/endnotes\d*\.xml",
    r"word/header\d*\.xml",
    r"word/footer\d*\.xml",
    r"word/charts/chart\d*\.xml",
    r"word/diagrams/data\d*\.xml",
    r"word/diagrams/drawing\d*\.xml",
    r"word/styles\d*\.xml",
    re.escape(CORE_PROPERTIES),
)


def parts(archive: Archive) -> list[str]:
    """Return the parts that hold text, the main text first."""
    found = numbered(archive, _PARTS)
    if not found or not found[0].startswith("word/document"):
        archive.require("word/document.xml")
    return found


DOCX = zipped_format("docx", (".docx", ".docm", ".dotx"), parts, VOCABULARY, declare=declare)
