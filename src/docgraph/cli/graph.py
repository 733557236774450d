"""docgraph graph."""

from __future__ import annotations


def graph() -> None:
    """Build, summarise and draw the document graph of a file."""
