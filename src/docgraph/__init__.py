"""docgraph: document-level machine translation with document graphs.

    from docgraph import Translator, read_graph

    Translator.load().translate("Nick told you. He did.")
    read_graph("letter.docx")

The names below are imported on first use, so that `import docgraph` loads neither PyTorch nor NumPy nor spaCy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docgraph.document import Document
    from docgraph.errors import DocgraphError
    from docgraph.formats import read_document
    from docgraph.graph.graph import DocumentGraph, build_graph
    from docgraph.graph.reader import read_graph, read_graphs
    from docgraph.translation.translator import Translator

__version__ = "0.1.0"
__all__ = [
    "DocgraphError",
    "Document",
    "DocumentGraph",
    "Translator",
    "build_graph",
    "read_document",
    "read_graph",
    "read_graphs",
]
_MODULES = {
    "DocgraphError": "docgraph.errors",
    "Document": "docgraph.document",
    "DocumentGraph": "docgraph.graph.graph",
    "Translator": "docgraph.translation.translator",
    "build_graph": "docgraph.graph.graph",
    "read_document": "docgraph.formats",
    "read_graph": "docgraph.graph.reader",
    "read_graphs": "docgraph.graph.reader",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'docgraph' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
