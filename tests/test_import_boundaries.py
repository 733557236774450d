"""Research code imports the product, and the product never imports research code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import docgraph

PACKAGE = Path(docgraph.__file__).parent
RESEARCH_COMMANDS = {"cli/analyse.py", "cli/case_study.py", "cli/experiment.py", "cli/model.py"}


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_only_its_commands_import_research() -> None:
    importers = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "research" not in path.relative_to(PACKAGE).parts
        and any(f"{name}.".startswith("docgraph.research.") for name in imported_modules(path))
    }
    assert importers <= RESEARCH_COMMANDS


def test_the_product_does_not_import_commands() -> None:
    importers = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "__main__.py")
        and any(f"{name}.".startswith("docgraph.cli.") for name in imported_modules(path))
    ]
    assert importers == []
