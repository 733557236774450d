"""Tables as declarations: rows are training configs, columns are measures, the paper's figures stand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from docgraph.config import Entries, Flag, Names, Number, Size, config_class, locate, parse, read_values
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.training.config import TrainingConfig

FOLDER = Path("configs/experiments")
"""Folder of the tables that have a name."""
Measure = Literal[
    "bleu", "d-bleu", "chrf", "ltcr", "delta", "p", "accuracy", "nll", "wrong-nll", "parameters", "speed", "minutes"
]
SCORED: tuple[Measure, ...] = ("bleu", "d-bleu", "chrf", "ltcr")
"""What is counted on the translations of a set."""
PLAIN: tuple[Measure, ...] = ("nll", "wrong-nll", "parameters", "speed", "minutes")
"""What a run itself tells."""
ROLES = ("base", "control", "baseline")
"""Rows that others are compared with."""


@config_class
class TranslatedSet:
    """Documents to translate: a split of a store, and the files that hold its text."""

    name: str = ""
    label: str = ""
    store: str | None = None
    """None is the table's own."""
    split: str = "test"
    source: str = ""
    """In any format of docgraph prepare, like target."""
    target: str = ""
    known: Flag = False
    """Each sentence is translated with the references of the sentences before it as context."""


@config_class
class SuiteFile:
    """A contrastive suite."""

    name: str = ""
    label: str = ""
    path: str = ""


@config_class
class Paper:
    """What the paper prints: BLEU by set, accuracy by suite, added parameters in millions, speed relative to Base."""

    test: Number | None = None
    dev: Number | None = None
    coreference: Number | None = None
    coherence: Number | None = None
    parameters: Number | None = None
    speed: Number | None = None


@config_class
class Row:
    """A system: one training config, one or more seeds."""

    config: str = ""
    """The name of a training config in the table's `configs`."""
    name: str = ""
    """That of its folders; the config's where left out."""
    label: str = ""
    seeds: Size = 1
    """How many: 1, 2, ...; of a `same` row, at most as many as there are."""
    role: Literal["base", "control", "baseline", "ours"] = "ours"
    """base: the others start from it and are compared with it; so they are with the control and the best baseline."""
    same: str = ""
    """TABLE/ROW: the runs of another table's row, in place of a config."""
    base: str = ""
    """The row it starts from, where its config starts from one; the table's Base where left out."""
    paper: Paper = field(default_factory=Paper)


@config_class
class Column:
    """A measure, of a set or suite, against a role: bleu:test, p:test:base, accuracy:coreference, speed."""

    measure: Measure
    what: str = ""
    against: str = ""

    @property
    def digits(self) -> int:
        return {"p": 3, "nll": 4, "wrong-nll": 4, "accuracy": 1, "minutes": 1}.get(self.measure, 2)


@config_class
class TableConfig:
    """A table as its YAML file has it."""

    title: str = ""
    data: str = ""
    """The store that systems are trained on."""
    configs: str = "../train"
    """The folder of the rows' configs, relative to the table's file."""
    languages: str = "en-fr"
    sets: Entries[TranslatedSet] = ()
    suites: Entries[SuiteFile] = ()
    columns: Names = ()
    rows: Entries[Row] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """A table, read."""

    name: str
    path: Path
    config: TableConfig

    @cached_property
    def columns(self) -> list[Column]:
        return [self._column(text) for text in self.config.columns]

    def _column(self, text: str) -> Column:
        measure, what, against = [*text.split(":"), "", ""][:3]
        known = {*SCORED, *PLAIN, "delta", "p", "accuracy"}
        if measure not in known:
            raise DocgraphError(
                f"there is no measure '{measure}'; choose among {', '.join(sorted(known))}", path=self.path
            )
        column = Column(measure, what, against)
        names = (
            [suite.name for suite in self.config.suites]
            if measure == "accuracy"
            else [s.name for s in self.config.sets]
        )
        if measure not in PLAIN and what not in names:
            raise DocgraphError(f"the column '{text}' names none of {', '.join(names) or 'its sets'}", path=self.path)
        if measure == "p" and against not in ROLES:
            raise DocgraphError(f"the column '{text}' must end in one of {', '.join(ROLES)}", path=self.path)
        return column

    def sets(self, *measures: Measure) -> list[TranslatedSet]:
        """The sets that the columns of these measures (all, if none are named) are about."""
        wanted = {column.what for column in self.columns if not measures or column.measure in measures}
        return [one for one in self.config.sets if one.name in wanted]

    @property
    def suites(self) -> list[SuiteFile]:
        wanted = {column.what for column in self.columns if column.measure == "accuracy"}
        return [suite for suite in self.config.suites if suite.name in wanted]

    def row(self, name: str) -> Row:
        for row in self.config.rows:
            if row.name == name:
                return row
        known = ", ".join(row.name for row in self.config.rows)
        raise DocgraphError(f"there is no row '{name}'; choose among {known}", path=self.path)

    def of_role(self, role: str) -> list[Row]:
        return [row for row in self.config.rows if row.role == role]

    def cells(self, rows: Iterable[Row] | None = None) -> Iterator[Cell]:
        for row in self.config.rows if rows is None else rows:
            owner, origin = self, row
            while origin.same:
                owner = read_table(owner.path.with_name(origin.same.partition("/")[0] + owner.path.suffix))
                origin = owner.row(origin.same.partition("/")[2])
            yield from (Cell(owner, origin, row, seed) for seed in range(1, min(row.seeds, origin.seeds) + 1))


@dataclass(frozen=True, eq=False)
class Cell:
    """One run of a row."""

    table: Table
    """Whose run it is: that of the row, or the one its row refers to."""
    origin: Row
    """The row there."""
    row: Row
    """The row here."""
    seed: int

    @property
    def place(self) -> Path:
        """The folder of the cell, below those of runs and of results."""
        return Path(self.table.name) / self.origin.name / f"seed{self.seed}"

    @property
    def config_path(self) -> Path:
        return Path(normpath(self.table.path.parent / self.table.config.configs / f"{self.origin.config}.yaml"))

    def base(self) -> Cell:
        """The run it starts from: that of the same seed of its base or, where that has fewer, its first."""
        base = self.table.row(self.origin.base) if self.origin.base else self.table.of_role("base")[0]
        cells = list(self.table.cells([base]))
        return next((cell for cell in cells if cell.seed == self.seed), cells[0])

    def read_config(self, runs: Path, overrides: Iterable[str] = ()) -> TrainingConfig:
        """Its training config with its seed, its data and its base put in."""
        from docgraph.config import read_config
        from docgraph.training.config import TrainingConfig

        changes = [f"seed={self.seed}", *([f"data={self.table.config.data}"] if self.table.config.data else [])]
        config = read_config(TrainingConfig, self.config_path, [*changes, *overrides])
        return config if config.base is None else replace(config, base=str(runs / self.base().place / "best"))


def find_table(name: str) -> Table:
    """A table by the path of its file, or by its name in configs/experiments."""
    path = locate(name if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml")
    if not path.is_file():
        tables = ", ".join(names()) or "no such folder here: run in a clone of docgraph's repository"
        raise DocgraphError(f"there is no table '{name}'; name a YAML file or a table in {FOLDER} ({tables})")
    return read_table(path)


def names() -> list[str]:
    """The tables in configs/experiments; a file that others extend and that has no rows is none."""
    return sorted(path.stem for path in locate(FOLDER).glob("*.yaml") if read_values(path).get("rows"))


def read_table(path: Path) -> Table:
    """A table of a YAML file; a row may be the name of a config alone."""
    values = read_values(path)
    rows = values.get("rows")
    if isinstance(rows, list):
        values["rows"] = [{"config": row} if isinstance(row, str) else row for row in rows]
    elif rows is None:
        values.pop("rows", None)
    config = parse(TableConfig, values, path)
    rows = tuple(_named(row, path) for row in config.rows)
    twice = {row.name for row in rows if sum(other.name == row.name for other in rows) > 1}
    if twice:
        raise DocgraphError(f"two rows are named '{min(twice)}'; rename one", path=path)
    if rows and sum(row.role == "base" for row in rows) != 1:
        raise DocgraphError("a table has one row of the role 'base'; give it to one", path=path)
    for index, row in enumerate(rows):
        if row.base and row.base not in {above.name for above in rows[:index]}:
            raise DocgraphError(f"'{row.name}' starts from '{row.base}', which is no row above it", path=path)
    table = Table(path.stem, path, replace(config, rows=rows))
    assert table.columns is not None  # read now, so that a misspelt one is told now
    return table


def _named(row: Row, path: Path) -> Row:
    if bool(row.config) == bool(row.same):
        raise DocgraphError(f"a row has either 'config' or 'same'; correct '{row.name or row.label}'", path=path)
    name = row.name or (row.config or row.same).rpartition("/")[2]
    return replace(row, name=name, label=row.label or name)
