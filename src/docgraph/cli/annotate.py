"""docgraph annotate."""

from __future__ import annotations


def annotate() -> None:
    """Annotate documents."""
