"""The summary counts without expanding; its counts must equal those of the expanded edges."""

from __future__ import annotations

from graph_examples import annotated, annotations, miguel, nick, pairs
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from docgraph.annotation import Annotation
from docgraph.graph import DocumentGraph, RelationOptions, build_graph
from docgraph.graph.relations import is_function_word
from docgraph.graph.summary import render, render_many, summarise


def printed(*parts: object) -> str:
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    for part in parts:
        console.print(part)
    return console.export_text()


def plain_between(graph: DocumentGraph, edges: list[tuple[int, int]]) -> int:
    where = graph.sentence_of_node
    return sum(where[a] != where[b] for a, b in edges)


@given(annotations(), st.none() | st.integers(0, 3))
def test_counts_are_those_of_the_expanded_graph(annotation: Annotation, distance: int | None) -> None:
    graph = build_graph(annotation, ("all", "tfidf"), RelationOptions(max_distance=distance))
    summary = summarise(graph, annotation)
    where, content = graph.sentence_of_node, ~is_function_word(annotation)
    rows = [(row, pairs(graph.edges(row.name))) for row in summary.relations]
    for row, edges in [*rows, (summary.union, pairs(graph.union()))]:
        assert row.edges == len(edges)
        assert row.between_sentences == plain_between(graph, edges)
        if row.name != "union":
            plain = [(a, b) for a, b in edges if row.name != "lexical" or (content[a] and content[b])]
            longest = max((abs(int(where[a]) - int(where[b])) for a, b in plain), default=0)
            assert (row.longest.distance if row.longest else 0) == longest
    total = (graph.degrees[0] + graph.degrees[1])[: graph.num_words]
    assert len(summary.isolated) == int((total == 1).sum())
    texts = annotation.lemmas or annotation.forms
    for word in summary.connected:
        found = [i for i in range(graph.num_words) if texts[i] == word.text and content[i]]
        assert word.links == sum(int(total[i]) for i in found)
        assert (word.occurrences, word.sentences) == (len(found), len({int(where[i]) for i in found}))


def test_nick() -> None:
    _, annotation = nick()
    summary = summarise(build_graph(annotation), annotation)
    assert [(row.name, row.edges, row.between_sentences) for row in summary.relations] == [
        ("membership", 13, 0),
        ("adjacency", 22, 0),
        ("dependency", 11, 0),
        ("lexical", 1, 1),
        ("coreference", 1, 1),
    ]
    assert (summary.union.edges, summary.union.between_sentences) == (41, 2)
    assert summary.chains == ((("Nick", 0), ("he", 1)),)
    assert summary.isolated == ()
    assert summary.connected[0].text == "tell"
    text = printed(*render(summary, "Nick"))
    for part in ("Nick: 13 words and 2 sentences", "41", "2 (5%)", "1 (Nick → he, 1 → 2)", "Nick (1) → he (2)"):
        assert part in text


def test_miguel_is_the_longest_link() -> None:
    _, annotation = miguel()
    longest = summarise(build_graph(annotation), annotation).union.longest
    assert longest is not None
    assert (longest.source, longest.target, longest.distance) == ("米格尔", "米格尔", 74)


def test_missing_layers_are_noted_once() -> None:
    _, annotation = annotated(["one", "two words"])
    summary = summarise(build_graph(annotation), annotation)
    assert summary.notes == (
        "no dependency links: the annotation has no heads",
        "no coreference links: the annotation has no coreference",
    )
    assert summary.isolated == (("one", 0),)
    noted = annotation.with_notes(
        "no parser for 'xx': the graph has no dependency and no coreference links; install one"
    )
    assert summarise(build_graph(noted), noted).notes == noted.notes
    assert "1 isolated word: one (1)" in printed(*render(summary, "t"))


def test_document_text_is_printed_without_markup_and_control_characters() -> None:
    _, annotation = annotated(["[red]x\x1b[31m [/]", "[red]x\x1b[31m [/]"])
    text = printed(*render(summarise(build_graph(annotation), annotation), "[bold]t[/bold]"))
    assert "[bold]t[/bold]: 4 words" in text
    assert "[red]x\ufffd[31m" in text
    assert "\x1b" not in text


def test_many_documents_have_a_total() -> None:
    parts = [(name, annotation) for name, (_, annotation) in (("a", nick()), ("b", miguel()))]
    summaries = [(name, summarise(build_graph(annotation), annotation)) for name, annotation in parts]
    text = printed(render_many(summaries))
    rows = [line.replace("│", " ").split() for line in text.splitlines() if "│" in line]
    assert [row[:4] for row in rows] == [
        ["1", "a", "13", "2"],
        ["2", "b", "126", "75"],
        ["all", "139", "77", rows[-1][3]],
    ]
    assert rows[-1][3] == str(sum(summary.union.edges for _, summary in summaries))


def test_an_empty_document() -> None:
    _, annotation = annotated([])
    summary = summarise(build_graph(annotation), annotation)
    assert (summary.words, summary.union.edges, summary.union.longest, summary.connected) == (0, 0, None, ())
    assert "0 words and 0 sentences" in printed(*render(summary, "empty"))
