"""Shared fixtures: where the optional corpora are, and what to say when they are not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("docgraph", deadline=None)  # a busy machine is not a failure
settings.load_profile("docgraph")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Corpora, treebanks and suites beside the checkout; tests that need them are skipped without."""

needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the corpora are not beside this checkout")
