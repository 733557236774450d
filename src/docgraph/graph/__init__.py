"""Document graphs: relations, the graph, its drawings and exports."""

from docgraph.graph.graph import DocumentGraph, batch_graphs, build_graph
from docgraph.graph.links import Cliques, Edges, LexicalLinks
from docgraph.graph.relations import GROUPS, RELATIONS, Relation, RelationOptions, relation, resolve_relations

__all__ = [
    "GROUPS",
    "RELATIONS",
    "Cliques",
    "DocumentGraph",
    "Edges",
    "LexicalLinks",
    "Relation",
    "RelationOptions",
    "batch_graphs",
    "build_graph",
    "relation",
    "resolve_relations",
]
