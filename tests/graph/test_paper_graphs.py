"""The paper's examples, edge by edge."""

from __future__ import annotations

from graph_examples import miguel, nick, pairs

from docgraph.graph import RelationOptions, build_graph


def test_nick_each_relation() -> None:
    _, annotation = nick()
    graph = build_graph(annotation, "all")
    assert list(graph.relations) == ["membership", "adjacency", "dependency", "lexical", "coreference"]
    assert graph.num_nodes == 15
    assert pairs(graph.edges("membership")) == [
        *((word, 13) for word in range(8)),
        *((word, 14) for word in range(8, 13)),
    ]
    forward = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (8, 9), (9, 10), (10, 11), (11, 12)]
    assert pairs(graph.edges("adjacency")) == sorted([*forward, *((b, a) for a, b in forward)])
    assert pairs(graph.edges("dependency")) == [
        (1, 0),  # told -> Nick
        (1, 2),  # told -> you
        (1, 4),  # told -> happened
        (1, 6),  # told -> right
        (1, 7),  # told -> ?
        (4, 3),  # happened -> what
        (6, 5),  # right -> ,
        (8, 9),  # Yeah -> ,
        (11, 8),  # did -> Yeah
        (11, 10),  # did -> he
        (11, 12),  # did -> .
    ]
    assert pairs(graph.edges("lexical")) == [(5, 9)]  # the commas
    assert pairs(graph.edges("coreference")) == [(0, 10)]  # Nick -> he


def test_nick_union_counts_an_edge_once() -> None:
    _, annotation = nick()
    graph = build_graph(annotation, "all")
    # 13 membership + 22 adjacency + 4 dependencies between words apart + 1 lexical + 1 coreference
    assert graph.num_edges == len(graph.union()) == 41
    union = set(pairs(graph.union()))
    assert {(1, 4), (1, 6), (1, 7), (11, 8), (5, 9), (0, 10)} <= union
    assert not {(4, 1), (6, 1), (10, 0), (9, 5)} & union  # directed


def test_told_and_did_meet_through_nick_and_he() -> None:
    _, annotation = nick()
    union = set(pairs(build_graph(annotation, "all").union()))
    assert (1, 11) not in union
    assert (11, 1) not in union
    assert {(1, 0), (0, 10), (10, 11)} <= union


def test_miguel_every_lexical_edge() -> None:
    _, annotation = miguel()
    graph = build_graph(annotation, "all")
    words = annotation.forms.to_list()
    sentence = annotation.sentence_of.tolist()
    found = [
        (words[a], sentence[a], int(graph.place_in_sentence[a]), sentence[b], int(graph.place_in_sentence[b]))
        for a, b in pairs(graph.edges("lexical"))
    ]
    assert sorted(found) == sorted(
        [
            ("米格尔", 0, 4, 0, 12),
            ("米格尔", 0, 4, 73, 16),
            ("米格尔", 0, 4, 74, 4),
            ("米格尔", 0, 12, 73, 16),
            ("米格尔", 0, 12, 74, 4),
            ("米格尔", 73, 16, 74, 4),
            ("他", 0, 3, 0, 7),
            ("的", 0, 8, 73, 11),
            ("我", 73, 0, 73, 14),
            ("我", 73, 0, 74, 0),
            ("我", 73, 14, 74, 0),
            (",", 74, 2, 74, 5),
            (",", 74, 2, 74, 12),
            (",", 74, 5, 74, 12),
            ('"', 74, 3, 74, 23),
            ("它们", 74, 6, 74, 14),
            ("150", 74, 8, 74, 18),
            ("英里", 74, 9, 74, 19),
        ]
    )


def test_miguel_within_reach() -> None:
    _, annotation = miguel()
    graph = build_graph(annotation, "lexical", RelationOptions(max_distance=73, skip_stop_words=True))
    words, sentence = annotation.forms.to_list(), annotation.sentence_of.tolist()
    spans = [(sentence[a], sentence[b]) for a, b in pairs(graph.edges("lexical")) if words[a] == "米格尔"]
    assert spans == [(0, 0), (0, 73), (0, 73), (73, 74)]
    assert not any(words[node] in ',"' for node in graph.edges("lexical").source.tolist())
