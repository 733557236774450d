"""The drawing and the page: well formed, safe, of bounded size; which edges they show."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from graph_examples import annotated, annotations, miguel, nick, pairs
from hypothesis import given

from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph import build_graph
from docgraph.graph.drawing import STRONGEST, drawn_edges, sentence_pairs, to_svg
from docgraph.graph.page import to_html

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "</script><script>alert(1)</script> <!-- \u2028 {{data}} & \" ' <img src=x onerror=alert(2)>"


def nasty() -> tuple[Document, Annotation]:
    return annotated([NASTY, NASTY])


def svg_of(pair: tuple[Document, Annotation], title: str = "t", relations: str = "all") -> ElementTree.Element:
    document, annotation = pair
    return ElementTree.fromstring(to_svg(build_graph(annotation, relations, document=document), title))


def page_of(pair: tuple[Document, Annotation], title: str = "t", relations: str = "all") -> str:
    document, annotation = pair
    return to_html(build_graph(annotation, relations, document=document), title)


class Page(HTMLParser):
    """The elements of a page, the text of its scripts, and all addresses in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.addresses: list[str] = []
        self.title = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "data", "action")]
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts[-1] += data
        if self.tags and self.tags[-1] == "title":
            self.title += data


def data_of(page: str) -> dict[str, object]:
    value: dict[str, object] = json.loads(Page(page).scripts[0])
    return value


def test_svg_draws_every_word_and_arc() -> None:
    root = svg_of(nick(), "Nick & <he>")
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert [text for text in texts if text in nick()[1].forms.table] == nick()[1].forms.to_list()
    assert "Nick & <he>" in texts
    assert {"adjacency 22", "dependency 11", "lexical 1", "coreference 1"} <= set(texts)
    strokes = {
        path.get("stroke"): path.get("d", "").count("M") for path in root.iter(f"{SVG}path") if path.get("stroke")
    }
    # The legend has a path per colour, too; it comes first, so the last path of a colour is the drawing.
    assert strokes["#2c8a5a"] == 11
    assert strokes["#a8690a"] == 1
    assert strokes["#3f74c8"] == 11  # one arc for both directions
    assert strokes["#c8423b"] == 1  # the commas: all repetitions are drawn if there are few


def test_svg_omits_repeated_punctuation_if_there_is_much() -> None:
    root = svg_of(annotated(["a , b , c ," for _ in range(4)] + ["word , word ,"]))
    drawn = [path.get("d", "").count("M") for path in root.iter(f"{SVG}path") if path.get("stroke") == "#c8423b"]
    assert drawn == [1, 3 * 3 + 1]  # the legend, then a, b, c from line to line and the two words


def test_svg_of_a_long_document_stays_small() -> None:
    pair = annotated([f"a b c w{index} w{index // 2} ." for index in range(300)])
    text = to_svg(build_graph(pair[1], document=pair[0]), "long")
    root = ElementTree.fromstring(text)
    lexical = [path for path in root.iter(f"{SVG}path") if path.get("stroke") == "#c8423b"]
    assert sum(path.get("d", "").count("M") for path in lexical) <= 1 + 150
    assert len(text) < 1_000_000


@pytest.mark.parametrize("texts", [[], [""], ["word"], ["", "a", ""], ["שלום עולם"], ["w" * 2000], ["🦊 👩‍👩‍👧"]])
def test_odd_documents_are_drawn(texts: list[str]) -> None:
    pair = annotated(texts)
    assert svg_of(pair).tag == f"{SVG}svg"
    assert len(data_of(page_of(pair))["sentences"]) == len(texts)  # type: ignore[arg-type]


def test_right_to_left_words_run_leftwards() -> None:
    root = svg_of(annotated(["שלום עולם"]))
    x = {text.text: float(text.get("x", "")) for text in root.iter(f"{SVG}text")}
    assert x["שלום"] > x["עולם"]


def test_svg_holds_no_document_markup() -> None:
    root = svg_of(annotated([NASTY.replace("\u2028", "\x00")]), NASTY)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "title", "rect", "text", "path"}


def test_page_is_self_contained_and_safe() -> None:
    page = page_of(nasty(), NASTY)
    parsed = Page(page)
    assert parsed.tags.count("script") == 2
    assert "img" not in parsed.tags
    assert parsed.addresses == []
    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert parsed.title.strip() == NASTY
    data = data_of(page)
    assert data["title"] == NASTY
    assert "".join(data["sentences"][0]["pieces"]) == " ".join(NASTY.split())  # type: ignore[index]


def test_page_script_inserts_text_as_text() -> None:
    script = Page(page_of(nick())).scripts[1]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(", script
    )


def test_page_data() -> None:
    data = data_of(page_of(nick()))
    relations = {entry["name"]: entry for entry in data["relations"]}  # type: ignore[attr-defined]
    assert {name: entry["count"] for name, entry in relations.items()} == {
        "membership": 13,
        "adjacency": 22,
        "dependency": 11,
        "lexical": 1,
        "coreference": 1,
    }
    assert relations["coreference"]["edges"] == [0, 10]
    assert relations["coreference"]["sentencePairs"] == [[0, 1, 1.0]]
    assert data["lexical"] == {"form": [[5, 9]], "lemma": [[5, 9]], "maxDistance": None}
    assert data["functionWords"] == [2, 3, 5, 7, 9, 10, 11, 12]
    assert data["numEdges"] == 41


def test_page_splits_by_character_not_by_code_unit() -> None:
    pair = annotated(["🦊🦊 sees 👩‍👩‍👧 ."])
    assert data_of(page_of(pair))["sentences"] == [
        {"pieces": ["", "🦊🦊", " ", "sees", " ", "👩‍👩‍👧", " ", ".", ""], "parts": []}
    ]


def test_page_shows_words_that_share_characters() -> None:
    from dataclasses import replace

    from docgraph.annotation import Strings, int_array

    document, annotation = annotated(["du pain x"])
    shared = replace(
        annotation, starts=int_array([0, 0, 3]), ends=int_array([2, 2, 7]), forms=Strings.of(["de", "le", "pain"])
    )
    assert data_of(page_of((document, shared)))["sentences"] == [
        {"pieces": ["", "du", "", "le", " ", "pain", " x"], "parts": [1]}
    ]


def test_page_of_a_long_document_stays_small() -> None:
    pair = annotated(["the cat and the dog of the house , the end ." for _ in range(400)])
    graph = build_graph(pair[1], document=pair[0])
    assert graph.num_edges > 900_000
    assert len(to_html(graph, "long")) < 1_000_000


def test_a_graph_without_its_document_cannot_be_drawn() -> None:
    with pytest.raises(DocgraphError, match=r"no text to draw; call build_graph\(annotation, document=document"):
        to_svg(build_graph(nick()[1]))


def test_tfidf_is_drawn_between_sentences() -> None:
    root = svg_of(annotated(["red fox", "blue sea", "red fox"]), relations="tfidf")
    drawn = [path.get("d", "") for path in root.iter(f"{SVG}path") if path.get("stroke") == "#7a55b0"]
    assert len(drawn) == 2  # the legend and the one link


def test_cliques_are_drawn_as_chains() -> None:
    _, annotation = miguel()
    graph = build_graph(annotation)
    words = annotation.forms.to_list()
    drawn = [(a, b) for a, b in pairs(drawn_edges(graph, "lexical")) if words[a] == "米格尔"]
    members = [index for index, word in enumerate(words) if word == "米格尔"]
    assert drawn == list(pairwise(members))


def test_adjacency_is_drawn_once() -> None:
    graph = build_graph(nick()[1])
    assert pairs(drawn_edges(graph, "adjacency")) == [(a, b) for a, b in pairs(graph.edges("adjacency")) if a < b]


@given(annotations())
def test_chains_cover_the_same_words(annotation: Annotation) -> None:
    graph = build_graph(annotation, "lexical")
    drawn, full = pairs(drawn_edges(graph, "lexical")), pairs(graph.edges("lexical"))
    assert set(drawn) <= set(full)
    assert {word for edge in drawn for word in edge} == {word for edge in full for word in edge}
    assert len(drawn) <= 2 * annotation.num_words


@given(annotations())
def test_sentence_pairs_count_links(annotation: Annotation) -> None:
    graph = build_graph(annotation, "coreference, tfidf")
    for name in ("coreference", "tfidf"):
        where = graph.sentence_of_node
        plain = Counter((int(where[a]), int(where[b])) for a, b in pairs(graph.edges(name)) if where[a] != where[b])
        assert {(one, two): strength for one, two, strength in sentence_pairs(graph, name)} == plain


def test_a_rare_word_weighs_more() -> None:
    _, annotation = annotated(["a x", "a", "a x"])
    graph = build_graph(annotation)
    assert sentence_pairs(graph, "lexical") == [(0, 1, 0.5), (0, 2, 1.5), (1, 2, 0.5)]
    content = annotation.forms.ids != 0
    assert sentence_pairs(graph, "lexical", content) == [(0, 2, 1.0)]


def test_only_the_strongest_are_kept() -> None:
    _, annotation = annotated(["a b"] * 55 + ["rare"] * 2)
    found = sentence_pairs(build_graph(annotation), "lexical")
    assert len(found) == STRONGEST
    assert (55, 56, 1.0) in found


def test_a_common_word_contributes_a_chain() -> None:
    _, annotation = annotated(["a"] * 70)
    found = sentence_pairs(build_graph(annotation), "lexical")
    assert [(one, two) for one, two, _ in found] == [(index, index + 1) for index in range(69)]
    assert found[0][2] == pytest.approx(1 / 69, abs=1e-3)
