"""What Word, PowerPoint and Excel files share: text elements, relationships between parts, language marks."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence

from docgraph.formats.base import names
from docgraph.formats.xml_text import Vocabulary
from docgraph.formats.zipped_xml import Archive

CORE_PROPERTIES = "docProps/core.xml"
VOCABULARY = Vocabulary(
    paragraphs=names("w:p a:p c:v x:si x:is dc:title"),
    text=names("w:t a:t c:v x:t dc:title"),
    breaks=names("w:br w:cr w:tab w:ptab a:br"),
    hidden=names("w:rt w:moveFrom a:fld c:numCache c:numLit x:rPh"),
    moved=names("w:txbxContent"),
    multiline=names("a:t x:t"),
    preserve=names("w:t x:t"),
    hyphens={"w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad"},
)
_LANGUAGE = re.compile(
    r"""(<(?:(?P<prefix>[A-Za-z_][\w.-]*):lang\s(?:[^<>]*\s)?(?P=prefix):val"""
    r"""|[A-Za-z_][\w.-]*:(?:rPr|defRPr|endParaRPr)\s(?:[^<>]*\s)?lang)\s*=\s*["'])(?P<language>[A-Za-z]+)[\w-]*"""
)
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


def declare(source: str, language: str) -> str:
    """Set the proofing language where it is the main language of the document; words in other languages keep theirs."""
    counts = Counter(match["language"].lower() for match in _LANGUAGE.finditer(source))
    main = max(counts, key=lambda name: counts[name], default="")
    return _LANGUAGE.sub(lambda match: match[1] + language if match["language"].lower() == main else match[0], source)


def numbered(archive: Archive, patterns: Sequence[str]) -> list[str]:
    """Return the parts that match the patterns, in the order of the patterns, then of their numbers."""
    found = []
    for pattern in patterns:
        matching = {part for part in archive.parts if re.fullmatch(pattern, part)}
        found += sorted(matching, key=lambda part: (len(part), part))  # chart2 before chart10
    return found


def relationships(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Return id -> (type, part) of the parts of the archive that a part refers to."""
    folder, file = posixpath.split(part)
    description = posixpath.join(folder, "_rels", f"{file}.rels")
    if description not in archive:
        return {}
    found = {}
    for element in archive.tree(description).iter(_RELATIONSHIP):
        target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))[1:]
        if element.get("TargetMode") != "External" and target in archive:
            found[element.get("Id", "")] = (element.get("Type", "").rpartition("/")[2], target)
    return found
