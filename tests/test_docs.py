"""Documentation pages: links, file paths and module names exist; lines are at most 120 columns wide."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "examples/README.md", "results/README.md")),
    ROOT / "corpora/own_en-fr/README.md",
]
BLOCK = re.compile(r"^```.*?^```$|^    [^\n]*$", re.DOTALL | re.MULTILINE)
"""Code: a fenced block or an indented line."""
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w./-]+\.(?:py|yaml|md|cfg)")
MODULE = re.compile(r"(?<![\w./-])docgraph(?:\.[A-Za-z_]\w*)+")
NOT_MODULES = {"docgraph.annotators", "docgraph.relations", "docgraph.columns"}
"""Two groups of entry points and a comment of CoNLL-U files."""
FOLDERS = (ROOT, ROOT / "docs", ROOT / "src/docgraph", ROOT / "src/docgraph/model", ROOT / "configs/train")
"""Folders that a path in the text may be relative to."""

TOP_FOLDERS = {path.name for folder in FOLDERS[:4] for path in folder.iterdir() if path.is_dir()}
"""A path that starts otherwise belongs to the reader's files."""

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE)
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


def resolve(name: str) -> object:
    """The object with a dotted name; raises if there is none."""
    module, *attributes = name.split(".")
    found = importlib.import_module(module)
    for attribute in attributes:
        module += f".{attribute}"
        found = getattr(found, attribute, None) or importlib.import_module(module)
    return found


@every_page
def test_links_lead_to_files_and_anchors(page: Path) -> None:
    text = CODE.sub("", BLOCK.sub("", page.read_text("utf-8")))
    for link in LINK.findall(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@every_page
def test_paths_of_repository_files_exist(page: Path) -> None:
    for code in CODE.findall(BLOCK.sub("", page.read_text("utf-8"))):
        for path in PATH.findall(code):
            if "/" in path and path.split("/")[0] in TOP_FOLDERS and "NAME" not in path:
                assert any((folder / path).exists() for folder in FOLDERS), path


@every_page
def test_module_names_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for name in set(MODULE.findall(text)) - NOT_MODULES:
        if not name.endswith((".py", ".yaml")):
            resolve(name)


@every_page
def test_lines_are_at_most_120_columns_wide(page: Path) -> None:
    for line in BLOCK.sub("", page.read_text("utf-8")).splitlines():
        can_wrap = not line.startswith("- `") and not line.lstrip().startswith(("|", "!["))
        assert len(line) <= 120 or not can_wrap, line


MODEL_PAGE = (ROOT / "docs/model.md").read_text("utf-8")


def test_the_model_page_names_every_module() -> None:
    modules = {path.name for path in (ROOT / "src/docgraph/model").glob("*.py") if not path.stem.startswith("__")}
    assert modules <= {*CODE.findall(MODEL_PAGE)}


def test_the_functions_of_the_equations_are_in_their_files() -> None:
    """In the table of equations, functions follow the file that holds them."""
    module, found = "", 0
    for code in CODE.findall(MODEL_PAGE.partition("The other files:")[0]):
        if code.endswith(".py"):
            package = "docgraph" if code.startswith("graph/") else "docgraph.model"
            module = f"{package}.{code.removesuffix('.py').replace('/', '.')}"
        elif module and code != "model/":
            assert resolve(f"{module}.{code}") is not None
            found += 1
    assert found > 15


def test_every_equation_of_the_paper_is_named_in_its_file_and_on_the_model_page() -> None:
    """Equations 1 and 2 are steps towards 3, the translation of a document sentence by sentence."""
    files = {
        "document_transformer": [3],
        "graph_encoder": [4, 5, 6, 7, 8, 9],
        "context_attention": [10, 11, 12],
    }
    table = MODEL_PAGE.partition("The other files:")[0]
    for name, equations in files.items():
        code = (ROOT / f"src/docgraph/model/{name}.py").read_text("utf-8")
        named = {number for pair in re.findall(r"equations? (\d+)(?: and (\d+))?", code) for number in pair}
        rows = "".join(row.split(" | ")[0] for row in table.splitlines() if f"`{name}.py`" in row)
        listed = {number for group in re.findall(r"\((\d[^-)]*)\)", rows) for number in re.findall(r"\d+", group)}
        assert {str(number) for number in equations} <= named
        assert {str(number) for number in equations} <= listed


def test_the_methods_that_a_system_overrides_exist() -> None:
    table = (
        (ROOT / "docs/systems.md").read_text("utf-8").partition("| Method | Says | Example |")[2].partition("\n\n")[0]
    )
    names = [name for row in table.splitlines() for name in CODE.findall(row.partition(" | ")[0])]
    assert len(names) > 8
    for name in names:
        resolve(f"docgraph.model.systems.ContextEncoder.{name}")
