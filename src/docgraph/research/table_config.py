"""Result tables as YAML declarations: rows are training configs, columns are measures beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from docgraph.config import Entries, Flag, Names, Number, Size, config_class, locate, parse, read_values
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.training.config import TrainingConfig

FOLDER = Path("configs/experiments")
"""Where tables are looked up by name."""
TextMeasure = Literal["bleu", "d-bleu", "chrf", "ltcr"]
RunMeasure = Literal["update", "nll", "wrong-nll", "parameters", "speed", "minutes"]
Measure = Literal[TextMeasure, "delta", "p", "accuracy", RunMeasure]
TEXT_MEASURES: tuple[TextMeasure, ...] = get_args(TextMeasure)
"""Measures of the translations of a set."""
RUN_MEASURES: tuple[RunMeasure, ...] = get_args(RunMeasure)
"""Measures of the training run itself."""
COMPARED_ROLES = ("base", "control", "baseline")
"""Roles of the rows that p-values compare with."""


@config_class
class TranslatedSet:
    """Documents to translate: a split of a store, and the text files of that split."""

    name: str = ""
    label: str = ""
    store: str | None = None
    """None is the store of the table."""
    split: str = "test"
    source: Names = ()
    """Source text: one file, or the files of the split in order, in any format of docgraph prepare."""
    target: Names = ()
    """Reference text: as many files, or none if the source files hold both sides."""
    known: Flag = False
    """Translate each sentence with the references of the earlier sentences as context."""


@config_class
class SuiteConfig:
    """A contrastive suite."""

    name: str = ""
    label: str = ""
    path: str = ""


@config_class
class PaperFigures:
    """Figures of the paper: BLEU by set, accuracy by suite, added parameters in millions, speed relative to Base."""

    test: Number | None = None
    dev: Number | None = None
    coreference: Number | None = None
    coherence: Number | None = None
    deixis: Number | None = None
    cohesion: Number | None = None
    inflection: Number | None = None
    verb_phrase: Number | None = None
    parameters: Number | None = None
    speed: Number | None = None


@config_class
class Row:
    """A system: one training config, with one or more seeds."""

    config: str = ""
    """Name of a training config in the folder `configs` of the table."""
    name: str = ""
    """Name of its folders; by default that of the config."""
    label: str = ""
    seeds: Size = 1
    """Number of seeds: 1, 2, ...; for a `same` row at most as many as the other row has."""
    role: Literal["base", "control", "baseline", "ours"] = "ours"
    """Rows of stage 2 start from the `base` row; p-values compare with base, control or the best baseline."""
    same: str = ""
    """TABLE/ROW: use the runs of a row of another table, in place of a config."""
    set: Names = ()
    """Changes of its training config, as with --set: steps=1600, data=prepared/other."""
    base: str = ""
    """The row whose model this one starts from, if its config has a base; by default the `base` row."""
    paper: PaperFigures = field(default_factory=PaperFigures)
    note: str = ""
    """Shown below the table; the row is marked."""


@config_class
class Column:
    """A measure, of a set or suite, against a role: bleu:test, p:test:base, accuracy:coreference, speed.

    For an accuracy, `against` is a distance: accuracy:deixis:2.
    """

    measure: Measure
    of: str = ""
    against: str = ""

    @property
    def digits(self) -> int:
        """Decimals shown."""
        decimals = {"update": 0, "p": 3, "nll": 4, "wrong-nll": 4, "accuracy": 1, "minutes": 1}
        return decimals.get(self.measure, 2)


@config_class
class TableConfig:
    """The fields of the YAML file of a table."""

    title: str = ""
    data: str = ""
    """The store that systems are trained on."""
    configs: str = "../train"
    """The folder of the training configs, relative to the YAML file."""
    languages: str = "en-fr"
    sets: Entries[TranslatedSet] = ()
    suites: Entries[SuiteConfig] = ()
    columns: Names = ()
    rows: Entries[Row] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its name and the path of its YAML file."""

    name: str
    path: Path
    config: TableConfig

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, parsed."""
        return [self._parse_column(text) for text in self.config.columns]

    def _parse_column(self, text: str) -> Column:
        measure, of, against = [*text.split(":"), "", ""][:3]
        known = get_args(Measure)
        if measure not in known:
            raise DocgraphError(
                f"there is no measure '{measure}'; choose among {', '.join(sorted(known))}", path=self.path
            )
        choices = self.config.suites if measure == "accuracy" else self.config.sets
        names = [choice.name for choice in choices]
        if measure not in RUN_MEASURES and of not in names:
            raise DocgraphError(f"the column '{text}' names none of {', '.join(names) or 'its sets'}", path=self.path)
        if measure == "p" and against not in COMPARED_ROLES:
            raise DocgraphError(f"the column '{text}' must end in one of {', '.join(COMPARED_ROLES)}", path=self.path)
        return parse(Column, {"measure": measure, "of": of, "against": against})

    @property
    def sets(self) -> list[TranslatedSet]:
        """The sets that any column measures."""
        measured = {column.of for column in self.columns}
        return [translated for translated in self.config.sets if translated.name in measured]

    @property
    def suites(self) -> list[SuiteConfig]:
        """The suites that any column measures."""
        measured = {column.of for column in self.columns if column.measure == "accuracy"}
        return [suite for suite in self.config.suites if suite.name in measured]

    def row(self, name: str) -> Row:
        """Returns the row of a name."""
        for row in self.config.rows:
            if row.name == name:
                return row
        known = ", ".join(row.name for row in self.config.rows)
        raise DocgraphError(f"there is no row '{name}'; choose among {known}", path=self.path)

    def rows_of_role(self, role: str) -> list[Row]:
        """Returns the rows of a role."""
        return [row for row in self.config.rows if row.role == role]

    def runs(self, rows: Iterable[Row] | None = None) -> Iterator[SeedRun]:
        """Yields every seed of some rows, or of all rows."""
        for row in self.config.rows if rows is None else rows:
            table, origin = self, row
            while origin.same:
                table = read_table(table.path.with_name(origin.same.partition("/")[0] + table.path.suffix))
                origin = table.row(origin.same.partition("/")[2])
            yield from (SeedRun(table, origin, row, seed) for seed in range(1, min(row.seeds, origin.seeds) + 1))


@dataclass(frozen=True, eq=False)
class SeedRun:
    """The training run of one seed of a row."""

    table: Table
    """The table that declares the run: that of the row, or the one its `same` refers to."""
    origin: Row
    """The row of that table."""
    row: Row
    """The row that shows the run."""
    seed: int

    @property
    def path(self) -> Path:
        """Its folder, relative to the folders of runs and of results."""
        return Path(self.table.name) / self.origin.name / f"seed{self.seed}"

    @property
    def config_path(self) -> Path:
        """The YAML file of its training config."""
        return Path(normpath(self.table.path.parent / self.table.config.configs / f"{self.origin.config}.yaml"))

    def base(self) -> SeedRun:
        """Returns the run whose model this one starts from: of the same seed, or else of the first."""
        base = self.table.row(self.origin.base) if self.origin.base else self.table.rows_of_role("base")[0]
        runs = list(self.table.runs([base]))
        return next((run for run in runs if run.seed == self.seed), runs[0])

    def read_config(self, run_root: Path, overrides: Iterable[str] = ()) -> TrainingConfig:
        """Returns its training config with its seed, the store of the table, and the path of its base."""
        from docgraph.config import read_config
        from docgraph.training.config import TrainingConfig

        data = self.table.config.data
        changes = [f"seed={self.seed}", *([f"data={data}"] if data else []), *self.origin.set]
        config = read_config(TrainingConfig, self.config_path, [*changes, *overrides])
        return config if config.base is None else replace(config, base=str(run_root / self.base().path / "best"))


def find_table(name: str) -> Table:
    """Returns a table by the path of its YAML file, or by its name in configs/experiments."""
    path = locate(name if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml")
    if not path.is_file():
        known = sorted(path.stem for path in locate(FOLDER).glob("*.yaml") if read_values(path).get("rows"))
        tables = ", ".join(known) or "no such folder here: run in a clone of docgraph's repository"
        raise DocgraphError(f"there is no table '{name}'; name a YAML file or a table in {FOLDER} ({tables})")
    return read_table(path)


def read_table(path: Path) -> Table:
    """Reads and checks the YAML file of a table; a row may be just the name of a config."""
    values = read_values(path)
    rows = values.get("rows")
    if isinstance(rows, list):
        values["rows"] = [{"config": row} if isinstance(row, str) else row for row in rows]
    elif rows is None:
        values.pop("rows", None)
    config = parse(TableConfig, values, path)
    named = tuple(_with_name(row, path) for row in config.rows)
    names = [row.name for row in named]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise DocgraphError(f"two rows are named '{min(repeated)}'; rename one", path=path)
    if named and sum(row.role == "base" for row in named) != 1:
        raise DocgraphError("a table needs exactly one row of the role 'base'", path=path)
    for index, row in enumerate(named):
        if row.base and row.base not in names[:index]:
            raise DocgraphError(f"'{row.name}' starts from '{row.base}', which is not a row above it", path=path)
    table = Table(path.stem, path, replace(config, rows=named))
    assert table.columns is not None  # parse the columns now, so that a typo is reported now
    return table


def _with_name(row: Row, path: Path) -> Row:
    if bool(row.config) == bool(row.same):
        raise DocgraphError(f"a row has either 'config' or 'same'; correct '{row.name or row.label}'", path=path)
    name = row.name or (row.config or row.same).rpartition("/")[2]
    return replace(row, name=name, label=row.label or name)
