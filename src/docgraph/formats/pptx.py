"""PowerPoint presentations: slides in the order of the show, each followed by its charts, diagrams and notes."""

from __future__ import annotations

from docgraph.formats.office import CORE_PROPERTIES, VOCABULARY, declare, relationships
from docgraph.formats.zipped_xml import Archive, zipped_format

_PRESENTATION = "ppt/presentation.xml"
_RELATED = ("chart", "diagramData", "diagramDrawing", "notesSlide")
_RELATIONSHIP_ID = (
    "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id",
    "{http://purl.oclc.org/ooxml/officeDocument/relationships}id",
)


def parts(archive: Archive) -> list[str]:
    """Return the parts that hold text; slides that are not in the list of the presentation are left alone."""
    archive.require(_PRESENTATION)
    targets = relationships(archive, _PRESENTATION)
    found: dict[str, None] = {}
    for element in archive.tree(_PRESENTATION).iter():
        if element.tag.rpartition("}")[2] != "sldId":
            continue
        identifier = next(filter(None, map(element.get, _RELATIONSHIP_ID)), "")
        kind, slide = targets.get(identifier, ("", ""))
        if kind != "slide":
            continue
        found[slide] = None
        related = relationships(archive, slide).values()
        for wanted in _RELATED:
            found.update((part, None) for kind, part in related if kind == wanted)
    if CORE_PROPERTIES in archive:
        found[CORE_PROPERTIES] = None
    return list(found)


PPTX = zipped_format("pptx", (".pptx", ".pptm", ".ppsx", ".potx"), parts, VOCABULARY, declare=declare)
