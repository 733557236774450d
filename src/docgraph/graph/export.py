"""Export of document graphs: networkx, GraphML, PyTorch Geometric, and JSON both ways.

The JSON is one object, `"format": "docgraph-graph"`, `"version": 1`:

    words, sentences   number of nodes of each kind; nodes are numbered 0..words-1, then words..words+sentences-1
    nodes              one object per node: id, kind (word | sentence), sentence; a word also has text and position
    edges              relation -> [[source, target], ...]
    lexical            lexical links as groups: form and lemma, each a list of groups of word numbers, and max_distance
                       (sentences, or null). Every member of a group has an edge to each later member at most
                       max_distance sentences away; an edge in both lists counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from docgraph.annotation import IntArray, Strings, int_array
from docgraph.errors import DocgraphError
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.links import Edges, LexicalLinks, Links

if TYPE_CHECKING:
    import networkx
    import torch_geometric.data

FORMAT, VERSION = "docgraph-graph", 1
BLOCK = 100_000
"""Edges that are converted at once."""
MAX_EDGES = 5_000_000
"""Maximum number of edges that are listed one by one: about 500 MB of GraphML."""


def nodes(graph: DocumentGraph) -> Iterator[dict[str, Any]]:
    """Yields one record per node: id, kind, sentence, and for a word its text and its position in the sentence."""
    sentence, place = graph.sentence_of.tolist(), graph.place_in_sentence.tolist()
    for word in range(graph.num_words):
        text = graph.text(word)
        yield {"id": word, "kind": "word", "sentence": sentence[word], "position": place[word], "text": text}
    for index in range(graph.num_sentences):
        yield {"id": graph.num_words + index, "kind": "sentence", "sentence": index}


def to_json(graph: DocumentGraph, *, expand: bool = False) -> dict[str, Any]:
    """Returns the graph as a JSON object; with `expand`, lexical links are listed as edges instead of groups."""
    if expand:
        check_listable(graph)
    listed = {name: links for name, links in graph.relations.items() if expand or not isinstance(links, LexicalLinks)}
    value: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "words": graph.num_words,
        "sentences": graph.num_sentences,
        "nodes": list(nodes(graph)),
        "edges": {name: _pairs(links.expand()) for name, links in listed.items()},
    }
    if graph.lexical is not None and not expand:
        value["lexical"] = {
            "form": graph.lexical.form.groups(),
            "lemma": graph.lexical.lemma.groups(),
            "max_distance": graph.lexical.reach,
        }
    return value


def from_json(value: Any) -> DocumentGraph:
    """Returns the graph that `to_json` wrote; a DocgraphError for anything else."""
    if not isinstance(value, dict) or value.get("format") != FORMAT or value.get("version") != VERSION:
        raise DocgraphError(f"this JSON is not a {FORMAT} of version {VERSION}; write one with `docgraph graph --json`")
    try:
        return _from_json(value)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise DocgraphError(f"this {FORMAT} is damaged ({type(error).__name__}: {error}); write it again") from error


def _from_json(value: dict[str, Any]) -> DocumentGraph:
    words, sentences = int(value["words"]), int(value["sentences"])
    records = value["nodes"][:words]
    sentence_of = int_array(int(record["sentence"]) for record in records)
    if len(value["nodes"]) != words + sentences or (np.diff(sentence_of) < 0).any():
        raise ValueError("nodes are missing or out of order")
    if len(sentence_of) and not 0 <= sentence_of[0] <= sentence_of[-1] < sentences:
        raise ValueError("a word is outside the sentences")
    relations: dict[str, Links] = {}
    for name, pairs in value["edges"].items():
        table = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        edges = relations[name] = Edges(table[:, 0].copy(), table[:, 1].copy())
        if not edges.within(words + sentences):
            raise ValueError(f"an edge of '{name}' has a node outside the document")
    if (groups := value.get("lexical")) is not None:
        forms, lemmas = (_group_ids(groups[kind], words) for kind in ("form", "lemma"))
        relations["lexical"] = LexicalLinks.of_keys(forms, lemmas, sentence_of, groups["max_distance"])
    return DocumentGraph(words, sentences, sentence_of, relations, Strings.of(record["text"] for record in records))


def _group_ids(groups: list[list[int]], words: int) -> IntArray:
    """Returns [W]: the group of each word, -1 for none."""
    ids = np.full(words, -1, dtype=np.int32)
    for number, members in enumerate(groups):
        if members and not 0 <= min(members) <= max(members) < words:
            raise ValueError("a group has a member that is not a word")
        ids[members] = number
    return ids


def to_networkx(graph: DocumentGraph) -> networkx.MultiDiGraph:
    """Returns a MultiDiGraph with an edge per relation of a node pair, keyed by relation; its DiGraph is the union."""
    try:
        import networkx
    except ImportError as error:
        raise DocgraphError("networkx is not installed; run pip install 'docgraph[graphs]'") from error
    result = networkx.MultiDiGraph()
    for record in nodes(graph):
        result.add_node(record.pop("id"), **record)
    for name in graph.relations:
        result.add_edges_from(
            (source, target, name, {"relation": name}) for source, target in _pairs(graph.edges(name))
        )
    return result


def to_pyg(graph: DocumentGraph) -> torch_geometric.data.Data:
    """Returns the binary union as a torch_geometric `Data`.

    edge_index [2, E]; edge_relations [E, R], True at the relations (named in relation_names) of each edge;
    sentence [N] and is_word [N] of each node.
    """
    try:
        import torch
        from torch_geometric.data import Data
    except ImportError as error:
        raise DocgraphError("PyTorch Geometric is not installed; run pip install torch_geometric") from error
    union, size = graph.union(), max(graph.num_nodes, 1)
    keys = union.target.astype(np.int64) * size + union.source
    holds = np.zeros((len(union), len(graph.relations)), dtype=np.bool_)
    for column, name in enumerate(graph.relations):
        edges = graph.edges(name).unique()
        holds[np.searchsorted(keys, edges.target.astype(np.int64) * size + edges.source), column] = True
    return Data(
        edge_index=torch.from_numpy(np.stack([union.source, union.target]).astype(np.int64)),
        edge_relations=torch.from_numpy(holds),
        relation_names=list(graph.relations),
        sentence=torch.from_numpy(graph.sentence_of_node.astype(np.int64)),
        is_word=torch.arange(graph.num_nodes) < graph.num_words,
        num_nodes=graph.num_nodes,
    )


GRAPHML_KEYS = (
    ("node", "kind", "string"),
    ("node", "text", "string"),
    ("node", "sentence", "int"),
    ("node", "position", "int"),
    ("edge", "relation", "string"),
)


def to_graphml(graph: DocumentGraph) -> Iterator[str]:
    """Returns lines of GraphML with one edge per relation of a node pair, for networkx, Gephi, yEd and igraph."""
    check_listable(graph)
    return (f"{line}\n" for line in _graphml(graph))


def check_listable(graph: DocumentGraph) -> None:
    """Refuses a graph with more edges than a file can reasonably list: lexical links are quadratic in its words."""
    if (count := sum(map(len, graph.relations.values()))) > MAX_EDGES:
        raise DocgraphError(
            f"the graph has {count:,} edges and a list may have {MAX_EDGES:,}; pass --max-distance or --relations, or"
            " --json, which groups lexical links"
        )


def _graphml(graph: DocumentGraph) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for domain, name, kind in GRAPHML_KEYS:
        yield f'  <key id="{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>'
    yield '  <graph edgedefault="directed">'
    for record in nodes(graph):
        number = record.pop("id")
        data = "".join(f'<data key="{key}">{xml_text(str(value))}</data>' for key, value in record.items())
        yield f'    <node id="n{number}">{data}</node>'
    for name in graph.relations:
        data = f'<data key="relation">{xml_text(name)}</data>'
        for index, (source, target) in enumerate(_stream_pairs(graph.edges(name))):
            number = quoteattr(f"{xml_text(name)}{index}")
            yield f'    <edge id={number} source="n{source}" target="n{target}">{data}</edge>'
    yield "  </graph>"
    yield "</graphml>"


def xml_text(text: str) -> str:
    """Returns text escaped for XML; characters that XML cannot hold (control characters) are replaced."""
    return escape(re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text))


def _stream_pairs(edges: Edges) -> Iterator[list[int]]:
    for first in range(0, len(edges), BLOCK):
        part = slice(first, first + BLOCK)
        yield from _pairs(Edges(edges.source[part], edges.target[part]))


def _pairs(edges: Edges) -> list[list[int]]:
    pairs: list[list[int]] = np.stack([edges.source, edges.target], axis=1).tolist()
    return pairs
