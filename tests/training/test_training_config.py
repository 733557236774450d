"""Training configs: all shipped configs dry-run, and mistakes are reported in one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docgraph.config import parse, read_config, to_dict
from docgraph.errors import DocgraphError
from docgraph.model.config import ConcatenationConfig, ContextConfig
from docgraph.training.build import dry_run
from docgraph.training.config import TrainingConfig

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "train"
NAMES = sorted(str(path.relative_to(CONFIGS)) for path in CONFIGS.rglob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_config_dry_runs(name: str, store: Path) -> None:
    config = read_config(TrainingConfig, CONFIGS / name, [f"data={store}"])
    report = dry_run(config)
    assert report.documents == {"train": 14, "dev": 3}
    everything = config.stage == "base" or config.model.freeze == "none"
    assert report.trainable == report.parameters if everything else 0 < report.trainable < report.parameters
    assert report.base_found is (None if config.base is None else False)


def test_a_dry_run_reports_a_missing_store() -> None:
    assert dry_run(read_config(TrainingConfig, CONFIGS / "base.yaml")).documents is None


def test_configs_of_rows_differ_only_in_the_named_setting() -> None:
    configs = {name: read_config(TrainingConfig, CONFIGS / name) for name in NAMES}
    for side in ("source", "both"):
        for place in ("hyb", "post", "pre"):
            context = configs[f"docgraph_{place}_{side}.yaml"].model.context
            assert context is not None
            assert (context.integration, context.sides) == (place, side)
    for name, config in configs.items():
        if name.startswith("ablations/"):
            of = "pointer.yaml" if Path(name).stem.startswith("pointer_") else "ablations/relations_all.yaml"
            main = to_dict(configs[of])
            changed = {key for key, value in to_dict(config).items() if value != main[key]}
            assert changed <= {"model"}, name


def test_the_reference_names_every_field_with_its_default() -> None:
    text = (CONFIGS / "reference.yaml").read_text(encoding="utf-8")
    written = yaml.safe_load(text)
    assert set(_names(written)) == set(_names(to_dict(TrainingConfig(data="x"))))
    assert to_dict(parse(TrainingConfig, written)) == to_dict(TrainingConfig(data=written["data"]))
    for name, kind in (("context", ContextConfig), ("concatenation", ConcatenationConfig)):
        block = text[text.index(f"# model.{name}, if any") :].split("\n\n")[0].splitlines()[1:]
        fields = yaml.safe_load("\n".join(line.removeprefix("#") for line in block))
        assert set(_names(fields)) == set(_names(to_dict(kind())))
        assert parse(kind, fields) == kind()


def _names(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield prefix + name
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{name}.")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_smoothin": 0.1}, "did you mean 'label_smoothing'"),
        ({"validation": {"evry": 1}}, "unknown field 'validation.evry'; did you mean 'every'"),
        ({"stage": "context"}, "needs 'model.context'"),
        ({"stage": "context", "model": {"context": {}}}, "'base' must name"),
        ({"model": {"context": {}}}, "without context"),
        ({"steps": -1}, "'steps' is -1"),
        ({"word_dropout": {"source": 1.0}}, "below 1"),
        ({"validation": {"patience": 0}}, "'validation.patience' is 0"),
        ({"validation": {"best": "bleu", "bleu_every": 0}}, "needs 'validation.bleu_every'"),
        ({"checkpoints": {"average": 5, "best": 2}}, "'checkpoints.average' is above"),
        ({"data": ""}, "'data' is missing"),
        ({"batches": {"max_length": 9999}}, "positions of the model"),
        ({"batches": {"unit": "sentence"}, "model": {"concatenation": {}}}, "set 'batches.unit: document'"),
        ({"data": "gone"}, "no prepared corpus"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(
    changes: dict[str, Any], message: str, values: Callable[..., dict[str, Any]]
) -> None:
    from docgraph.training.build import resolve_model_config

    with pytest.raises(DocgraphError, match=re.escape(message)):
        resolve_model_config(parse(TrainingConfig, values(**changes)))
