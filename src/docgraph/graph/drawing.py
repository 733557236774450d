"""The static drawing of a document graph, as SVG; and which edges a drawing shows if there are too many to draw all.

Sentences are rows of words. Edges inside a sentence are arcs over its words. Edges between sentences run through the
text if there are few; if there are many, arcs in the right margin join the most strongly linked pairs of sentences.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation, BoolArray
from docgraph.document import Document
from docgraph.graph.export import xml_text
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.links import Cliques, Edges, LexicalLinks
from docgraph.graph.relations import RELATIONS, is_function_word

STRONGEST = 150
"""Pairs of sentences shown per relation."""
COMMON = 60
"""A word with more occurrences contributes a chain to the sentence pairs, not a clique."""
SPARSE = 20
"""If a document has at most this many repetitions, those of punctuation and function words are drawn, too."""
FEW = 260
"""If there are at most this many edges between sentences, they are drawn through the text."""

FONTS = ("DejaVu Sans", "Verdana", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Arial Unicode MS")
INK, SOFT, FAINT, PAPER = "#22252b", "#666c78", "#a7acb6", "#fbfaf8"
COLOURS = {
    "adjacency": "#3f74c8",
    "dependency": "#2c8a5a",
    "lexical": "#c8423b",
    "coreference": "#a8690a",
    "tfidf": "#7a55b0",
}
OTHER_COLOUR = "#5d6b7a"
WIDTH, MARGIN, NUMBER_WIDTH, ARC_WIDTH = 1200.0, 32.0, 36.0, 230.0
"""Pixels: the page, its margins, the column of sentence numbers, the margin for arcs between sentences."""
FONT_SIZE, ROW_HEIGHT, SENTENCE_GAP = 15.0, 43.0, 9.0

Point = tuple[float, float]
Curve = tuple[Point, Point, Point, Point]
"""A cubic Bézier curve: start, two control points, end."""


def drawn_edges(graph: DocumentGraph, name: str) -> Edges:
    """Returns the edges of a relation that a drawing shows: cliques as chains, adjacency in one direction."""
    links = graph.relations[name]
    if isinstance(links, LexicalLinks):
        return links.consecutive()
    return links.where(links.source < links.target) if name == "adjacency" else links


def sentence_pairs(graph: DocumentGraph, name: str, keep: BoolArray | None = None) -> list[tuple[int, int, float]]:
    """Returns (sentence, sentence, strength) of the pairs of different sentences that a relation links most strongly.

    An edge counts 1; a lexical edge counts 1/(n-1) for a word with n occurrences, so that rare words weigh more.
    Lexical edges are limited to the words at which `keep` [W] is True.
    """
    links = graph.relations[name]
    edges, weights = _weigh_lexical(links, keep) if isinstance(links, LexicalLinks) else (links, np.ones(len(links)))
    source, target = graph.sentence_of_node[edges.source], graph.sentence_of_node[edges.target]
    apart = source != target
    size = max(graph.num_sentences, 1)
    pairs, where = np.unique(source[apart].astype(np.int64) * size + target[apart], return_inverse=True)
    strength = np.bincount(where, weights=weights[apart], minlength=len(pairs))
    best = np.sort(np.argsort(-strength, kind="stable")[:STRONGEST])
    return [(int(pairs[i] // size), int(pairs[i] % size), round(float(strength[i]), 3)) for i in best]


def _weigh_lexical(lexical: LexicalLinks, keep: BoolArray | None) -> tuple[Edges, npt.NDArray[np.float64]]:
    """Returns lexical edges by lemma, common words as chains, and the weight of each edge."""
    keys = lexical.keys[1]
    kept = keys >= 0 if keep is None else (keys >= 0) & keep
    counts = np.bincount(keys[kept], minlength=int(keys.max(initial=0)) + 1)
    common = counts[keys] > COMMON
    parts = []
    for chosen, as_chain in ((kept & ~common, False), (kept & common, True)):
        words = np.flatnonzero(chosen)
        cliques = Cliques.of_keys(words, [keys[words]], lexical.position[words], lexical.reach)
        parts.append(cliques.consecutive() if as_chain else cliques.expand())
    edges = Edges.join(parts)
    return edges, 1.0 / np.maximum(counts[keys[edges.source]] - 1, 1)


@dataclass(frozen=True)
class _Text:
    """A text at x on the baseline y, anchored at its start, middle or end."""

    x: float
    y: float
    text: str
    size: float = FONT_SIZE
    colour: str = INK
    anchor: str = "start"
    bold: bool = False
    width: float | None = None
    """The width that the SVG prescribes; None leaves it to the font."""

    @property
    def right(self) -> float:
        """Returns the x at which the text ends."""
        width = self.width if self.width is not None else _text_width(self.text, self.size)
        return self.x + {"start": width, "middle": width / 2, "end": 0.0}[self.anchor]

    def svg(self) -> Iterator[str]:
        """Yields its SVG elements."""
        # The reader's font is not the one measured here: textLength keeps each word within its box.
        length = f' textLength="{self.width:.1f}" lengthAdjust="spacingAndGlyphs"' if self.width else ""
        weight = ' font-weight="700"' if self.bold else ""
        place = f'x="{self.x:.1f}" y="{self.y:.1f}" font-size="{self.size:g}" text-anchor="{self.anchor}"'
        yield f'<text {place} fill="{self.colour}"{weight}{length}>{xml_text(self.text)}</text>'


@dataclass(frozen=True)
class _Curves:
    """Curves of one style, and the arrow heads at their ends."""

    curves: list[Curve]
    colour: str
    width: float = 1.1
    opacity: float = 0.75
    dashed: bool = False
    heads: list[tuple[Point, Point, Point]] = field(default_factory=list)

    def svg(self) -> Iterator[str]:
        """Yields its SVG elements."""

        def points(*values: Point) -> str:
            return " ".join(f"{x:.1f} {y:.1f}" for x, y in values)

        paint = f'opacity="{self.opacity:g}"'
        dash = ' stroke-dasharray="5 3"' if self.dashed else ""
        lines = "".join(f"M{points(curve[0])}C{points(*curve[1:])}" for curve in self.curves)
        if lines:
            stroke = f'fill="none" stroke="{self.colour}" stroke-width="{self.width:g}"{dash}'
            yield f'<path d="{lines}" {stroke} {paint}/>'
        if self.heads:
            heads = "".join(f"M{points(head[0])}L{points(*head[1:])}Z" for head in self.heads)
            yield f'<path d="{heads}" fill="{self.colour}" {paint}/>'


@dataclass(frozen=True)
class _Box:
    """The place of a node: its centre, top, bottom and row."""

    x: float
    top: float
    bottom: float
    row: int


def to_svg(graph: DocumentGraph, title: str | None = None) -> str:
    """Returns the drawing of a graph as an SVG file; `title` is by default the document's id."""
    document, annotation = graph.annotated_document()
    title = title if title is not None else document.id
    width, height, shapes = _lay_out(graph, document, annotation, title)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    fonts = ", ".join(f"'{font}'" for font in FONTS)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{fonts}, sans-serif">',
        f"<title>{xml_text(title)}</title>",
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
    ]
    for shape in shapes:
        lines += shape.svg()
    return "\n".join([*lines, "</svg>\n"])


def _lay_out(
    graph: DocumentGraph, document: Document, annotation: Annotation, title: str
) -> tuple[float, float, list[_Text | _Curves]]:
    """Returns the width, the height and the shapes of the drawing."""
    content = ~is_function_word(annotation)
    if graph.lexical is not None and len(graph.lexical.consecutive()) <= SPARSE:
        content[:] = True
    pairs = {name: _word_pairs(graph, name, content) for name in graph.relations if name != "membership"}
    through_text = sum(len(pairs[name]) for name in pairs if not _is_intra(name)) <= FEW
    right = WIDTH - MARGIN - (0.0 if through_text else ARC_WIDTH)
    shapes = list(_heading(graph, list(pairs), title, through_text, bool(content.all())))
    boxes, texts, height = _place_words(graph, document, annotation, right)
    for name in pairs:
        if _is_intra(name):
            shapes.append(_arcs_over_words(name, pairs[name], boxes))
        elif through_text:
            shapes.append(_curves_through_text(name, pairs[name], boxes))
        else:
            shapes.extend(_arcs_in_margin(graph, name, content, boxes, right + 14))
    shapes.extend(texts)
    used = max(shape.right for shape in shapes if isinstance(shape, _Text)) + MARGIN
    return used if through_text else WIDTH, height, shapes


def _is_intra(name: str) -> bool:
    return name in RELATIONS and RELATIONS[name].scope == "intra"


def _word_pairs(graph: DocumentGraph, name: str, content: BoolArray) -> list[tuple[int, int]]:
    """Returns the node pairs drawn for a relation; lexical ones join content words only."""
    edges = drawn_edges(graph, name)
    if name == "lexical":
        edges = edges.where(content[edges.source] & content[edges.target])
    return list(zip(edges.source.tolist(), edges.target.tolist(), strict=True))


def _heading(
    graph: DocumentGraph, names: Sequence[str], title: str, through_text: bool, complete: bool
) -> Iterator[_Text | _Curves]:
    """Yields the title, counts, legend and remarks."""
    yield _Text(MARGIN, 40, title, 19, INK, bold=True)
    counts = f"{graph.num_words:,} words · {graph.num_sentences:,} sentences · {graph.num_edges:,} edges"
    yield _Text(MARGIN, 62, counts, 13, SOFT)
    x = MARGIN
    for name in names:
        arc: Curve = ((x, 90), (x + 2, 76), (x + 24, 76), (x + 26, 90))
        yield _Curves([arc], _colour(name), 1.8, 1.0, dashed=name == "lexical")
        label = f"{name} {len(graph.relations[name]):,}"
        yield _Text(x + 33, 90, label, 13)
        x += 33 + _text_width(label, 13) + 26
    remarks = []
    if "lexical" in names:
        omitted = "" if complete else "; punctuation and function words not drawn"
        remarks.append(f"repeated words: each occurrence to the next{omitted}")
    if not through_text:
        remarks.append(f"beside the text: the {STRONGEST} strongest pairs of sentences a relation")
    yield _Text(MARGIN, 112, "; ".join(remarks), 11.5, SOFT)


def _place_words(
    graph: DocumentGraph, document: Document, annotation: Annotation, right: float
) -> tuple[list[_Box], list[_Text], float]:
    """Returns the boxes of all nodes, the words and sentence numbers, and the height of the page."""
    starts, ends, bounds = annotation.starts.tolist(), annotation.ends.tolist(), annotation.offsets.tolist()
    boxes, numbers, texts = [], [], []
    left, y, row = MARGIN + NUMBER_WIDTH, 114.0, -1
    for index, text in enumerate(document.texts):
        y, row, cursor, x = y + ROW_HEIGHT + SENTENCE_GAP, row + 1, 0, left
        numbers.append(_Box(left - 18, y - FONT_SIZE, y + 4, row))
        texts.append(_Text(left - 12, y, str(index + 1), 10.5, FAINT, "end"))
        mirrored = _is_right_to_left(text)
        for word in range(bounds[index], bounds[index + 1]):
            form = annotation.forms[word] if starts[word] < cursor else text[starts[word] : ends[word]]
            x += _text_width(text[cursor : starts[word]], FONT_SIZE) + (1.5 if starts[word] <= cursor else 0.0)
            cursor, width = max(cursor, ends[word]), _text_width(form, FONT_SIZE)
            if x + width > right and x > left:
                x, y, row = left, y + ROW_HEIGHT, row + 1
            centre = x + width / 2 if not mirrored else left + right - x - width / 2
            boxes.append(_Box(centre, y - FONT_SIZE, y + 4, row))
            texts.append(_Text(centre, y, form, anchor="middle", width=width))
            x += width
    return boxes + numbers, texts, y + ROW_HEIGHT


def _is_right_to_left(text: str) -> bool:
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


def _text_width(text: str, size: float) -> float:
    """Returns the estimated width of a text in pixels."""
    return size * sum(map(_character_width, text))


@lru_cache(maxsize=4096)
def _character_width(character: str) -> float:
    """Returns the width of a character in ems, estimated for common sans-serif fonts."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Cc", "Mn"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    for width, characters in ((0.31, "iljI|!.,:;' "), (0.42, 'ftr()[]{}-/\\"`’“”'), (0.92, "mwMW@%—…")):
        if character in characters:
            return width
    return 0.68 if character.isupper() else 0.6


def _colour(name: str) -> str:
    return COLOURS.get(name, OTHER_COLOUR)


def _arrow_head(end: Point, down: bool) -> tuple[Point, Point, Point]:
    x, y = end
    back = y - 4.5 if down else y + 4.5
    return (x - 2.6, back), (x + 2.6, back), end


def _arcs_over_words(name: str, pairs: Sequence[tuple[int, int]], boxes: Sequence[_Box]) -> _Curves:
    """Returns arcs for edges inside a sentence, cut at row ends; adjacency is drawn shallow, under the words."""
    curves: list[Curve] = []
    heads = []
    adjacent = name == "adjacency"
    for source, target in pairs:
        a, b = boxes[source], boxes[target]
        if a.row == b.row:
            lift = 5.0 if adjacent else -1.33 * min(22.0, 5 + abs(a.x - b.x) * 0.085)
            y = a.bottom - 1 if adjacent else a.top + 1
            curves.append(((a.x, y), (a.x, y + lift), (b.x, y + lift), (b.x, y)))
        elif not adjacent:
            side = 20.0 if b.row > a.row else -20.0
            curves.append(((a.x, a.top + 1), (a.x, a.top - 6), (a.x + side / 3, a.top - 11), (a.x + side, a.top - 11)))
            curves.append(((b.x - side, b.top - 11), (b.x - side / 3, b.top - 11), (b.x, b.top - 6), (b.x, b.top + 1)))
        if not adjacent:
            heads.append(_arrow_head((b.x, b.top + 1), down=True))
    return _Curves(curves, _colour(name), opacity=0.45 if adjacent else 0.75, heads=heads)


def _curves_through_text(name: str, pairs: Sequence[tuple[int, int]], boxes: Sequence[_Box]) -> _Curves:
    """Returns curves from word to word for edges between sentences."""
    curves: list[Curve] = []
    heads = []
    for source, target in pairs:
        a, b = boxes[source], boxes[target]
        down = b.row > a.row
        start, end = (a.x, a.bottom if down or a.row == b.row else a.top), (b.x, b.top if down else b.bottom)
        if a.row == b.row:
            leave = arrive = 6 + min(12.0, abs(a.x - b.x) * 0.06)
        else:
            leave = min(abs(end[1] - start[1]) * 0.45, 130) * (1 if down else -1)
            arrive = -leave
        curves.append((start, (start[0], start[1] + leave), (end[0], end[1] + arrive), end))
        heads.append(_arrow_head(end, down))
    return _Curves(curves, _colour(name), 1.9 if name == "coreference" else 1.3, 0.8, name == "lexical", heads)


def _arcs_in_margin(
    graph: DocumentGraph, name: str, content: BoolArray, boxes: Sequence[_Box], x: float
) -> Iterator[_Curves]:
    """Yields the strongest sentence pairs of a relation: arcs in the margin, heavier for stronger pairs."""
    numbers, span = boxes[graph.num_words :], max(graph.num_sentences - 1, 1)
    pairs = sentence_pairs(graph, name, content)
    for heavy in (False, True):
        curves: list[Curve] = []
        for source, target, strength in pairs:
            if (strength >= 1.5) == heavy:
                start, end = numbers[source].bottom - 9, numbers[target].bottom - 9
                reach = x + 12 + (ARC_WIDTH - 40) * 1.3 * (abs(target - source) / span) ** 0.5
                curves.append(((x, start), (reach, start), (reach, end), (x, end)))
        if curves:
            yield _Curves(curves, _colour(name), 1.8 if heavy else 1.0, 0.65 if heavy else 0.45)
