"""Static pictures of a document graph: SVG by our own hand, PNG through matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph.export import xml_text
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.scene import Curves, Scene, Text, lay_out

FONTS = ("DejaVu Sans", "Verdana", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Arial Unicode MS")
TALLEST, LARGEST = 60_000, 16_000_000
"""Pixels: a PNG may not be taller, and is drawn finer than the SVG only while it has fewer in all."""


def to_svg(graph: DocumentGraph, document: Document, annotation: Annotation, title: str) -> str:
    """The drawing as an SVG file."""
    return "\n".join(_svg(lay_out(graph, document, annotation, title), title))


def _svg(scene: Scene, title: str) -> Iterator[str]:
    size = f'width="{scene.width:.0f}" height="{scene.height:.0f}" viewBox="0 0 {scene.width:.0f} {scene.height:.0f}"'
    fonts = ", ".join(f"'{font}'" for font in FONTS)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{fonts}, sans-serif">'
    yield f"<title>{xml_text(title)}</title>"
    yield '<rect width="100%" height="100%" fill="#fbfaf8"/>'
    for shape in scene.shapes:
        yield from _svg_text(shape) if isinstance(shape, Text) else _svg_curves(shape)
    yield "</svg>\n"


def _svg_text(shape: Text) -> Iterator[str]:
    # A reader's font is not the one measured here: textLength makes each word keep to its room.
    room = f' textLength="{shape.room:.1f}" lengthAdjust="spacingAndGlyphs"' if shape.room else ""
    weight = ' font-weight="700"' if shape.bold else ""
    place = f'x="{shape.x:.1f}" y="{shape.y:.1f}" font-size="{shape.size:g}" text-anchor="{shape.anchor}"'
    yield f'<text {place} fill="{shape.colour}"{weight}{room}>{xml_text(shape.text)}</text>'


def _svg_curves(shape: Curves) -> Iterator[str]:
    def points(*values: tuple[float, float]) -> str:
        return " ".join(f"{x:.1f} {y:.1f}" for x, y in values)

    paint = f'opacity="{shape.opacity:g}"'
    dash = ' stroke-dasharray="5 3"' if shape.dashed else ""
    lines = "".join(f"M{points(curve[0])}C{points(*curve[1:])}" for curve in shape.curves)
    if lines:
        stroke = f'fill="none" stroke="{shape.colour}" stroke-width="{shape.width:g}"{dash}'
        yield f'<path d="{lines}" {stroke} {paint}/>'
    if shape.heads:
        heads = "".join(f"M{points(head[0])}L{points(*head[1:])}Z" for head in shape.heads)
        yield f'<path d="{heads}" fill="{shape.colour}" {paint}/>'


def write_png(
    path: Path, graph: DocumentGraph, document: Document, annotation: Annotation, title: str, scale: float = 2.0
) -> None:
    """The drawing as a PNG file, `scale` pixels for each of the SVG's, fewer where it would grow too large."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DocgraphError(
            "matplotlib is not installed, and PNG needs it; choose --svg, or: pip install 'docgraph[plots]'"
        ) from error
    scene = lay_out(graph, document, annotation, title)
    if scene.height > TALLEST:
        raise DocgraphError(
            f"a picture of {graph.num_sentences:,} sentences is too tall for PNG; write --svg or --html"
        )
    scale = max(1.0, min(scale, (LARGEST / (scene.width * scene.height)) ** 0.5, TALLEST / scene.height))
    with matplotlib.rc_context({"font.family": _installed_fonts(), "text.parse_math": False}):
        # 72 units an inch, so that sizes in points are the pixels of the scene.
        figure = Figure(figsize=(scene.width / 72, scene.height / 72), facecolor="#fbfaf8")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, scene.width), ylim=(scene.height, 0))
        axes.axis("off")
        for shape in scene.shapes:
            _paint(axes, shape)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box stands for it
            figure.savefig(path, format="png", dpi=72 * scale, pil_kwargs={"compress_level": 3})


def _installed_fonts() -> list[str]:
    from matplotlib import font_manager

    present = {font.name for font in font_manager.fontManager.ttflist}
    return [font for font in FONTS if font in present] or ["sans-serif"]


def _paint(axes: object, shape: Text | Curves) -> None:
    """One shape onto matplotlib axes whose y grows downwards."""
    from matplotlib.axes import Axes
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    assert isinstance(axes, Axes)
    if isinstance(shape, Text):
        place = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        weight = "bold" if shape.bold else "normal"
        axes.text(
            shape.x, shape.y, shape.text, size=shape.size, color=shape.colour, ha=place, va="baseline", weight=weight
        )
        return
    style = {"color": shape.colour, "alpha": shape.opacity}
    if shape.curves:
        codes = [Outline.MOVETO, Outline.CURVE4, Outline.CURVE4, Outline.CURVE4] * len(shape.curves)
        outline = Outline([point for curve in shape.curves for point in curve], codes)
        dash = (0, (4, 2.4)) if shape.dashed else "solid"
        axes.add_patch(PathPatch(outline, fill=False, linewidth=shape.width, linestyle=dash, **style))
    if shape.heads:
        codes = [Outline.MOVETO, Outline.LINETO, Outline.LINETO, Outline.CLOSEPOLY] * len(shape.heads)
        outline = Outline([point for head in shape.heads for point in (*head, head[0])], codes)
        axes.add_patch(PathPatch(outline, linewidth=0, **style))
