"""docgraph: document-level machine translation with document graphs."""

__version__ = "0.1.0"
