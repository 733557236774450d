"""Settings of all tests; this folder is importable because this file is here."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("docgraph", deadline=None)  # a busy machine is not a failure
settings.load_profile("docgraph")
