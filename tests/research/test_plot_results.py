"""scripts/plot_results.py: pictures show the numbers of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import plot_results
from plot_results import differences, number, read_table, rendered

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("43.20 ±0.28", 43.2), ("−0.10", -0.1), ("**+1.19** (p 0.002)", 1.19), ("4,106", 4106), ("-", None), ("", None)],
)
def test_numbers_of_cells(cell: str, expected: float | None) -> None:
    assert number(cell) == expected


def test_the_first_table_with_the_columns_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "| a | b |\n|---|---|\n| x | 1 |\n\n| | b | c |\n|---|---:|---:|\n| **y** | 2 | 3 |\n| z | 4 | |\n\ntext\n"
    (tmp_path / "page.md").write_text(page, "utf-8")
    monkeypatch.setattr(plot_results, "PAGES", tmp_path)
    assert read_table("page.md", "c", "b") == {"y": ["3", "2"], "z": ["", "4"]}
    with pytest.raises(SystemExit, match=r"page\.md has no table with the columns d"):
        read_table("page.md", "d")


def test_differences_are_those_of_the_table() -> None:
    table = rendered("sides")
    names = [name for name in table.results if table.results[name] is not table.base]
    points = differences(table, "base", "test", names)
    column = [column.measure for column in table.table.columns].index("delta")
    assert points.values == [table.values[name][column].value for name in names]
    for value, interval in zip(points.values, points.intervals, strict=True):
        assert value is not None
        assert interval is not None
        assert interval[0] < value < interval[1]


def test_every_picture_of_the_pages_has_a_function() -> None:
    shown = {
        name
        for page in (ROOT / "docs" / "results").glob("*.md")
        for name in re.findall(r"images/results-([\w-]+)\.svg", page.read_text("utf-8"))
    }
    assert shown == set(plot_results.PICTURES)


def test_a_picture_shows_every_row_of_its_table() -> None:
    figure = plot_results.cues()
    (axes,) = figure.axes
    assert axes.get_yticklabels()[0].get_text() == "cue by cue"
    drawn = {value for line in axes.lines for value in line.get_xdata()}
    cells = read_table("cues.md", "joined text", "cues").values()
    assert drawn == {value for row in cells for cell in row if (value := number(cell)) is not None}
