"""docs/graphs.md: its code runs, its drawing is current, its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from graph_examples import nick, pairs

from docgraph.graph import GROUPS, RELATIONS, build_graph, relations
from docgraph.graph.drawing import to_svg
from docgraph.graph.export import to_json

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "graphs.md").read_text("utf-8")


def test_the_code_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    registry = RELATIONS.copy()
    monkeypatch.setattr(relations, "RELATIONS", registry)
    monkeypatch.setattr("docgraph.graph.graph.RELATIONS", registry)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)
    assert capsys.readouterr().out == "DocumentGraph(2 sentences, 13 words, 41 edges)\n"
    assert names["batch"].num_words == 2 * names["graph"].num_words
    assert pairs(names["graph"].edges("openings")) == [(0, 6), (6, 11)]
    assert registry["openings"].doc == "First word of a sentence -> first word of the next."


def test_the_drawing_is_current() -> None:
    document, annotation = nick()
    drawn = to_svg(build_graph(annotation, document=document), "A document graph")
    assert (DOCS / "images" / "relations.svg").read_text("utf-8") == drawn


def test_the_tables_name_every_relation_and_key() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .*\| (.+?) \|$", TEXT, re.MULTILINE))
    for name in RELATIONS:
        groups = [group for group, members in GROUPS.items() if name in members]
        assert all(f"`{group}`" in rows[name] for group in groups)
    for key in to_json(build_graph(nick()[1])):
        assert f"`{key}`" in TEXT
