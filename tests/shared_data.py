"""The optional corpora, treebanks and suites beside the checkout; tests that need them are skipped without."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the corpora are not beside this checkout")
