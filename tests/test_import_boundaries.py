"""Research code imports the product, and the product never imports research code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import docgraph

PACKAGE = Path(docgraph.__file__).parent
RESEARCH_COMMANDS = {"cli/analyse.py", "cli/case_study.py", "cli/experiment.py", "cli/model.py"}


def imported_modules(path: Path, skips_type_checking: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(_RuntimeImports().visit(tree) if skips_type_checking else tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


class _RuntimeImports(ast.NodeTransformer):
    """Removes what is imported for types alone."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else node


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


TRANSLATION_LAYERS = ("text", "decoding", "checks", "terms", "", "files")
"""Folders of docgraph.translation, and its own modules; each imports only those before it."""


def layer(module: str) -> int | None:
    """Returns the layer of docgraph.translation that a module belongs to."""
    parts = module.split(".")
    if parts[:2] != ["docgraph", "translation"] or len(parts) < 3:
        return None
    return TRANSLATION_LAYERS.index(parts[2] if parts[2] in TRANSLATION_LAYERS else "")


def test_the_folders_of_translation_import_in_one_direction() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}: {module}"
        for path in (PACKAGE / "translation").rglob("*.py")
        for module in imported_modules(path, skips_type_checking=True)
        if (other := layer(module)) is not None
        and other > (layer(".".join(["docgraph", *path.relative_to(PACKAGE).with_suffix("").parts])) or 0)
    ]
    assert wrong == []
