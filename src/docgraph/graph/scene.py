"""The static drawing of a document graph as shapes, which SVG and PNG render alike.

Sentences are lines of words. Arcs inside a sentence run over its words. Links between sentences run through the text
where they are few; where they are many they run beside it, from sentence to sentence, the strongest pairs of each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from docgraph.annotation import Annotation, BoolArray
from docgraph.document import Document
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.overview import SPARSE, STRONGEST, drawn_edges, sentence_pairs
from docgraph.graph.relations import RELATIONS
from docgraph.graph.stopwords import is_function_word

Point = tuple[float, float]
INK, SOFT, FAINT = "#22252b", "#666c78", "#a7acb6"
COLOURS = {
    "adjacency": "#3f74c8",
    "dependency": "#2c8a5a",
    "lexical": "#c8423b",
    "coreference": "#a8690a",
    "tfidf": "#7a55b0",
}
OTHER = "#5d6b7a"
WIDTH, MARGIN, GUTTER, BESIDE = 1200.0, 32.0, 36.0, 230.0
SIZE, ROW, GAP = 15.0, 43.0, 9.0
"""Font size, distance of two rows of words, and what is added between two sentences."""
FEW = 260
"""Up to this many links between sentences are drawn through the text."""


@dataclass(frozen=True)
class Text:
    """Words centred (or begun, or ended) at x on the baseline y; `room` is the width they may take."""

    x: float
    y: float
    text: str
    size: float = SIZE
    colour: str = INK
    anchor: str = "middle"
    bold: bool = False
    room: float | None = None


@dataclass(frozen=True)
class Curves:
    """Cubic curves of one style, four points each (start, two controls, end), and the arrow heads at their ends."""

    curves: list[tuple[Point, Point, Point, Point]]
    colour: str
    width: float = 1.1
    opacity: float = 0.75
    dashed: bool = False
    heads: list[tuple[Point, Point, Point]] = field(default_factory=list)


@dataclass(frozen=True)
class Scene:
    """Shapes on a page of `width` by `height` pixels, y downwards."""

    width: float
    height: float
    shapes: list[Text | Curves]


@dataclass(frozen=True)
class Box:
    """Where a node stands: its centre, top and bottom, and its row."""

    x: float
    top: float
    bottom: float
    row: int


def colour(name: str) -> str:
    return COLOURS.get(name, OTHER)


def lay_out(graph: DocumentGraph, document: Document, annotation: Annotation, title: str) -> Scene:
    """The drawing of a graph."""
    content = ~is_function_word(annotation)
    if graph.lexical is not None and len(graph.lexical.consecutive()) <= SPARSE:
        content[:] = True
    names = [name for name in graph.relations if name != "membership"]
    across = [name for name in names if not _is_intra(name)]
    through = sum(len(_pairs(graph, name, content)) for name in across) <= FEW
    edge = WIDTH - MARGIN - (0.0 if through else BESIDE)
    shapes: list[Text | Curves] = list(_heading(graph, names, title, through, bool(content.all())))
    boxes, texts, height = _place_words(graph, document, annotation, edge)
    for name in names:
        if _is_intra(name):
            shapes.append(_over_words(name, _pairs(graph, name, content), boxes))
        elif through:
            shapes.append(_through_text(name, _pairs(graph, name, content), boxes))
        else:
            shapes.extend(_beside_text(graph, name, content, boxes, edge + 14))
    shapes.extend(texts)
    right = max(_right_end(shape) for shape in shapes if isinstance(shape, Text)) + MARGIN
    return Scene(right if through else WIDTH, height, shapes)


def _right_end(text: Text) -> float:
    room = text.room if text.room is not None else text_width(text.text, text.size)
    return text.x + {"start": room, "middle": room / 2, "end": 0.0}[text.anchor]


def _is_intra(name: str) -> bool:
    return name in RELATIONS and RELATIONS[name].scope == "intra"


def _pairs(graph: DocumentGraph, name: str, content: BoolArray) -> list[tuple[int, int]]:
    """What is drawn of a relation: repeats of punctuation and function words are not."""
    edges = drawn_edges(graph, name)
    if name == "lexical":
        edges = edges.where(content[edges.source] & content[edges.target])
    return list(zip(edges.source.tolist(), edges.target.tolist(), strict=True))


def _heading(
    graph: DocumentGraph, names: Sequence[str], title: str, through: bool, complete: bool
) -> Iterator[Text | Curves]:
    yield Text(MARGIN, 40, title, 19, INK, "start", bold=True)
    counts = f"{graph.num_words:,} words · {graph.num_sentences:,} sentences · {graph.num_edges:,} edges"
    yield Text(MARGIN, 62, counts, 13, SOFT, "start")
    x = MARGIN
    for name in names:
        ends: tuple[Point, Point, Point, Point] = ((x, 90), (x + 2, 76), (x + 24, 76), (x + 26, 90))
        yield Curves([ends], colour(name), 1.8, 1.0, dashed=name == "lexical")
        label = f"{name} {len(graph.relations[name]):,}"
        yield Text(x + 33, 90, label, 13, INK, "start")
        x += 33 + text_width(label, 13) + 26
    remark = []
    if "lexical" in names:
        kept = "" if complete else "; punctuation and function words not drawn"
        remark.append(f"repeated words: each occurrence to the next{kept}")
    if not through:
        remark.append(f"beside the text: the {STRONGEST} strongest pairs of sentences a relation")
    yield Text(MARGIN, 112, "; ".join(remark), 11.5, SOFT, "start")


def _place_words(
    graph: DocumentGraph, document: Document, annotation: Annotation, edge: float
) -> tuple[list[Box], list[Text], float]:
    """Boxes of all nodes, the words and sentence numbers as text, and the height of the page."""
    starts, ends, bounds = annotation.starts.tolist(), annotation.ends.tolist(), annotation.offsets.tolist()
    boxes, labels, texts = [], [], []
    left, y, row = MARGIN + GUTTER, 114.0, -1
    for index, text in enumerate(document.texts):
        y, row, cursor, x = y + ROW + GAP, row + 1, 0, left
        labels.append(Box(left - 18, y - SIZE, y + 4, row))
        texts.append(Text(left - 12, y, str(index + 1), 10.5, FAINT, "end"))
        mirrored = _right_to_left(text)
        for word in range(bounds[index], bounds[index + 1]):
            form = annotation.forms[word] if starts[word] < cursor else text[starts[word] : ends[word]]
            x += text_width(text[cursor : starts[word]], SIZE) + (1.5 if starts[word] <= cursor else 0.0)
            cursor, room = max(cursor, ends[word]), text_width(form, SIZE)
            if x + room > edge and x > left:
                x, y, row = left, y + ROW, row + 1
            centre = x + room / 2 if not mirrored else left + edge - x - room / 2
            boxes.append(Box(centre, y - SIZE, y + 4, row))
            texts.append(Text(centre, y, form, room=room))
            x += room
    return boxes + labels, texts, y + ROW


def _right_to_left(text: str) -> bool:
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return kind != "L"
    return False


@lru_cache(maxsize=4096)
def _character_width(character: str) -> float:
    """The width of a character in ems, near enough for common sans-serif fonts."""
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Cc", "Mn"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    for width, characters in ((0.31, "iljI|!.,:;' "), (0.42, 'ftr()[]{}-/\\"`’“”'), (0.92, "mwMW@%—…")):
        if character in characters:
            return width
    return 0.68 if character.isupper() else 0.6


def text_width(text: str, size: float) -> float:
    """The width of a text in pixels, estimated."""
    return size * sum(map(_character_width, text))


def _head(end: Point, down: bool) -> tuple[Point, Point, Point]:
    x, y = end
    back = y - 4.5 if down else y + 4.5
    return (x - 2.6, back), (x + 2.6, back), end


def _over_words(name: str, pairs: Sequence[tuple[int, int]], boxes: Sequence[Box]) -> Curves:
    """Links inside a sentence: arcs over the words (neighbours: shallow ones under them), broken where a row ends."""
    curves: list[tuple[Point, Point, Point, Point]] = []
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
            heads.append(_head((b.x, b.top + 1), down=True))
    return Curves(curves, colour(name), opacity=0.45 if adjacent else 0.75, heads=heads)


def _through_text(name: str, pairs: Sequence[tuple[int, int]], boxes: Sequence[Box]) -> Curves:
    """Links between sentences, few of them: from word to word."""
    curves: list[tuple[Point, Point, Point, Point]] = []
    heads = []
    for source, target in pairs:
        a, b = boxes[source], boxes[target]
        down = b.row > a.row
        start, end = (a.x, a.bottom if down or a.row == b.row else a.top), (b.x, b.top if down else b.bottom)
        if a.row == b.row:
            bend, arrive = 6 + min(12.0, abs(a.x - b.x) * 0.06), 6 + min(12.0, abs(a.x - b.x) * 0.06)
        else:
            bend = min(abs(end[1] - start[1]) * 0.45, 130) * (1 if down else -1)
            arrive = -bend
        curves.append((start, (start[0], start[1] + bend), (end[0], end[1] + arrive), end))
        heads.append(_head(end, down))
    return Curves(curves, colour(name), 1.9 if name == "coreference" else 1.3, 0.8, name == "lexical", heads)


def _beside_text(
    graph: DocumentGraph, name: str, content: BoolArray, boxes: Sequence[Box], x: float
) -> Iterator[Curves]:
    """Links between sentences, many of them: arcs in the margin, heavier where two sentences share more."""
    numbers, span = boxes[graph.num_words :], max(graph.num_sentences - 1, 1)
    found = sentence_pairs(graph, name, content)
    for heavy in (False, True):
        curves: list[tuple[Point, Point, Point, Point]] = []
        for one, two, strength in found:
            if (strength >= 1.5) == heavy:
                start, end = numbers[one].bottom - 9, numbers[two].bottom - 9
                reach = x + 12 + (BESIDE - 40) * 1.3 * (abs(two - one) / span) ** 0.5
                curves.append(((x, start), (reach, start), (reach, end), (x, end)))
        if curves:
            yield Curves(curves, colour(name), 1.8 if heavy else 1.0, 0.65 if heavy else 0.45)
