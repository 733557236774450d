"""From files and text to graphs in one call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from graph_examples import annotated, nick

from docgraph import Document, DocumentGraph, build_graph, read_document, read_graph, read_graphs
from docgraph.annotation import Annotation
from docgraph.errors import DocgraphError
from docgraph.graph import RelationOptions, batch_graphs
from docgraph.graph.graph import NOTEBOOK_SENTENCES

WORDS = "words:en"


def words(graph: DocumentGraph) -> list[str]:
    return [graph.text(node) for node in range(graph.num_words)]


def test_a_file_a_text_and_a_document_make_the_same_graph(tmp_path: Path) -> None:
    (path := tmp_path / "talk.txt").write_text("Nick told you. He did.")
    graphs = [
        read_graph(source, annotator=WORDS)
        for source in (
            path,
            str(path),
            "Nick told you. He did.",
            Document.from_sentences(["Nick told you.", "He did."]),
        )
    ]
    for graph in graphs:
        assert words(graph) == ["Nick", "told", "you", ".", "He", "did", "."]
        assert (graph.num_sentences, graph.num_edges) == (2, graphs[0].num_edges)
    assert graphs[0].document == read_document(path)


def test_the_default_annotator_parses_and_resolves_english() -> None:
    graph = read_graph("Nick told you what happened, right? Yeah, he did.")
    assert repr(graph) == "DocumentGraph(2 sentences, 13 words, 41 edges)"
    coreference = graph.edges("coreference")
    assert [(graph.text(int(coreference.source[0])), graph.text(int(coreference.target[0])))] == [("Nick", "he")]


def test_options_reach_the_relations() -> None:
    options = RelationOptions(skip_stop_words=True, max_distance=1)
    graph = read_graph("a , a\nb\na", "lexical", options, annotator=WORDS, format="lines")
    assert graph.edges("lexical").source.tolist() == [0]
    assert graph.annotation is not None
    assert "only punctuation is left out" in graph.annotation.notes[-1]


def test_several_documents(tmp_path: Path) -> None:
    (path := tmp_path / "talks.txt").write_text("one here\ntwo here\n\nthree\n")
    seen: list[str] = []

    def progress(documents: list[Document]) -> list[Document]:
        seen.extend(document.id for document in documents)
        return documents

    graphs = read_graphs(path, annotator=WORDS, format="lines", progress=progress)
    assert [graph.num_words for graph in graphs] == [4, 1]
    assert seen == ["talks.1", "talks.2"]
    assert words(read_graph(path, annotator=WORDS, format="lines", document=2)) == ["three"]
    with pytest.raises(DocgraphError, match=r"talks\.txt: has 2 documents; pass document=N"):
        read_graph(path, annotator=WORDS, format="lines")
    with pytest.raises(DocgraphError, match=r"talks\.txt: has 2 documents, so there is no document 3"):
        read_graph(path, annotator=WORDS, format="lines", document=3)
    with pytest.raises(DocgraphError, match=r"talks\.txt: has 2 documents"):
        read_document(path, "lines")


@pytest.mark.parametrize("name", ["gone.txt", "gone", "my letter.docx", "my parse.conllu"])
def test_a_missing_file_is_not_taken_for_text(name: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_graph(name)


def test_a_long_text_is_text() -> None:
    assert read_graph("word " * 5000, "adjacency", annotator=WORDS).num_words == 5000
    assert read_graph("", annotator=WORDS).num_words == 0


def test_a_graph_shows_itself_in_a_notebook() -> None:
    document, annotation = nick()
    graph = build_graph(annotation, document=document)
    assert repr(graph) == "DocumentGraph(2 sentences, 13 words, 41 edges)"
    assert repr(batch_graphs([graph, graph])) == "DocumentGraph(2 documents, 4 sentences, 26 words, 82 edges)"
    drawing = graph._repr_svg_()
    assert drawing is not None
    assert drawing.startswith("<svg")
    assert build_graph(annotation)._repr_svg_() is None
    long = annotated(["a"] * (NOTEBOOK_SENTENCES + 1))
    assert build_graph(long[1], document=long[0])._repr_svg_() is None


def test_a_document_has_a_short_repr() -> None:
    document = nick()[0]
    assert repr(document) == "Document('example', 2 sentences)"
    assert repr(Document.from_sentences(["a"])) == "Document(1 sentence)"


def test_a_graph_keeps_the_annotation_of_its_document_only() -> None:
    document, annotation = nick()
    noted: Annotation = replace(annotation, notes=("a note",))
    assert build_graph(noted).annotation is None
    assert build_graph(noted, document=document).annotated_document() == (document, noted)
