"""Scores and p-values equal sacreBLEU's, to the last digit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation_examples import europarl, make_set, spoil
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from docgraph.errors import DocgraphError
from docgraph.evaluation import significance as tests
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import METRICS, MetricOptions, bleu_scores, chrf_scores, measure, ratio_scores
from docgraph.evaluation.significance import Significance, Test, score_systems
from shared_data import needs_data

COUNT = st.integers(0, 30)


@given(st.lists(COUNT, min_size=10, max_size=10), st.sampled_from([np.float32, np.float64]))
def test_bleu_of_sums_equals_sacrebleu(counts: list[int], kind: type[np.floating[Any]]) -> None:
    sums = np.array(counts, dtype=kind)
    sums[2:6] = np.minimum(sums[2:6], sums[6:10])
    assert bleu_scores(sums) == pytest.approx(BLEU()._compute_score_from_stats(sums.copy()).score, rel=1e-14)


@given(st.lists(COUNT, min_size=18, max_size=18), st.sampled_from([np.float32, np.float64]))
def test_chrf_of_sums_equals_sacrebleu(counts: list[int], kind: type[np.floating[Any]]) -> None:
    sums = np.array(counts, dtype=kind)
    sums[2::3] = np.minimum(np.minimum(sums[::3], sums[1::3]), sums[2::3])
    assert float(chrf_scores(sums)) == float(CHRF()._compute_score_from_stats(sums).score)


@given(COUNT, COUNT)
def test_ter_of_sums_equals_sacrebleu(edits: int, length: int) -> None:
    assert (
        float(ratio_scores(np.array([edits, length], float))) == TER()._compute_score_from_stats([edits, length]).score
    )


@pytest.fixture(scope="module")
def real() -> EvaluationSet:
    reference = [line for line in europarl("tgt", 160) if line]
    sizes = [50, 40, 30, len(reference) - 120]
    outputs = {f"s{seed}": spoil(reference, 0.12 + 0.02 * seed, seed) for seed in range(3)}
    return make_set(reference, sizes, **outputs)


def sacrebleu(folder: Path, data: EvaluationSet, *options: str) -> Any:
    """The JSON output of sacreBLEU's command for the systems."""
    paths = []
    for name, lines in {"ref": data.reference, **data.systems}.items():
        paths.append(folder / name)
        paths[-1].write_text("\n".join(lines) + "\n")
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        *map(str, paths[:1]),
        "-i",
        *map(str, paths[1:]),
        *options,
        "-f",
        "json",
    ]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@needs_data
@pytest.mark.parametrize(
    ("lowercase", "flags"),
    [
        (None, ()),
        (True, ("--lowercase", "--chrf-lowercase")),
        (False, ("--ter-case-sensitive",)),
    ],
    ids=["default", "lowercase", "cased"],
)
def test_scores_equal_those_of_the_sacrebleu_command(
    real: EvaluationSet, tmp_path: Path, lowercase: bool | None, flags: tuple[str, ...]
) -> None:
    one = make_set(real.reference, [len(real.reference)], s0=real.systems["s0"])
    theirs = sacrebleu(tmp_path, one, "-m", "bleu", "chrf", "ter", "-w", "12", *flags)
    for name, answer in zip(("bleu", "chrf", "ter"), theirs, strict=True):
        (ours,) = score_systems(measure(name, one, MetricOptions(lowercase)), one)
        assert (ours.metric, round(ours.value, 12)) == (answer["name"], answer["score"])
        assert ours.signature.startswith(answer["signature"] + "|unit:sentence|documents:1|docgraph:")


@needs_data
def test_document_bleu_equals_sacrebleu_on_joined_documents(real: EvaluationSet, tmp_path: Path) -> None:
    joined = {name: [" ".join(texts) for texts in real.split(lines)] for name, lines in real.systems.items()}
    reference = [" ".join(texts) for texts in real.split(real.reference)]
    theirs = sacrebleu(tmp_path, make_set(reference, [4], s0=joined["s0"]), "-w", "12")
    measured = measure("d-bleu", real)
    assert round(measured.values["s0"], 12) == theirs["score"]
    assert measured.values["s0"] != measure("bleu", real).values["s0"]


@needs_data
@pytest.mark.parametrize(("flag", "test"), [("bs", "bootstrap"), ("ar", "randomisation")])
def test_p_values_equal_those_of_the_sacrebleu_command(
    real: EvaluationSet, tmp_path: Path, flag: str, test: Test, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "99")
    theirs = sacrebleu(tmp_path, real, f"--paired-{flag}", f"--paired-{flag}-n", "300")
    ours = score_systems(measure("bleu", real), real, Significance("s0", test, "sentence", 300, 99))
    assert [score.p_value for score in ours] == [row["BLEU"]["p_value"] for row in theirs]
    assert ours[0].p_value is None
    assert f"|{flag}:300|seed:99|over:sentences|" in ours[0].signature
    if test == "bootstrap":
        assert [(score.mean, score.interval) for score in ours] == [
            pytest.approx((row["BLEU"]["mean"], row["BLEU"]["ci"]), rel=1e-12) for row in theirs
        ]


@needs_data
@pytest.mark.parametrize("unit", ["sentence", "document"])
@pytest.mark.parametrize(("flag", "test"), [("bs", "bootstrap"), ("ar", "randomisation")])
def test_p_values_of_all_metrics_and_units_equal_sacrebleu(
    real: EvaluationSet, unit: Any, flag: str, test: Test, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draws in blocks; over documents, sacreBLEU gets statistics summed by document in place of sentences."""
    monkeypatch.setattr(tests, "BLOCK", 4096)
    for name, kind in {"bleu": BLEU, "chrf": CHRF, "ter": TER}.items():
        metric = kind(references=[real.reference])
        if unit == "document":
            extract = metric._extract_corpus_statistics
            metric._extract_corpus_statistics = lambda hypotheses, references, extract=extract: np.add.reduceat(
                np.array(extract(hypotheses[0], None)), real.documents[:-1], axis=0
            ).tolist()
            systems = [(system, _Documents(lines, 4)) for system, lines in real.systems.items()]
        else:
            systems = list(real.systems.items())
        _, answers = PairedTest(systems, {name: metric}, None, flag, n_samples=250)()
        theirs = next(column for key, column in answers.items() if key != "System")
        ours = score_systems(measure(name, real), real, Significance("s0", test, unit, 250))
        assert [score.p_value for score in ours] == [result.p_value for result in theirs]
        assert [score.value for score in ours] == [result.score for result in theirs]


class _Documents(list[Any]):
    """All lines of a system as one item, with the length that sacreBLEU takes for the number of segments."""

    def __init__(self, lines: list[str], length: int) -> None:
        super().__init__([lines])
        self._length = length

    def __len__(self) -> int:
        return self._length


def test_p_values_of_equal_and_unequal_systems() -> None:
    reference = [f"the cat number {number} sat on the mat today" for number in range(40)]
    worse = [text.replace("sat on", "slept at") for text in reference]
    data = make_set(reference, [20, 20], good=reference, same=list(reference), bad=worse)
    for test in ("bootstrap", "randomisation"):
        good, same, bad = score_systems(measure("bleu", data), data, Significance("good", test, "sentence", 200))
        assert (good.value, same.value) == (pytest.approx(100), pytest.approx(100))
        # sacreBLEU gives equal systems the smallest p-value.
        assert same.p_value == bad.p_value == pytest.approx(1 / 201)
        two_sided = (None, 1.0, pytest.approx(2 / 201)) if test == "bootstrap" else (None, None, None)
        assert (good.p_value_two_sided, same.p_value_two_sided, bad.p_value_two_sided) == two_sided


def test_the_two_sided_p_value_equals_a_plain_bootstrap() -> None:
    """The plain bootstrap draws and scores one resample at a time."""
    reference = [f"the cat number {number} sat on the mat today" for number in range(30)]
    outputs = {name: spoil(reference, rate, seed) for seed, (name, rate) in enumerate({"a": 0.2, "b": 0.22}.items())}
    data = make_set(reference, [15, 15], **outputs)
    measurement = measure("chrf", data)
    _, score = score_systems(measurement, data, Significance("a", samples=100))
    generator = np.random.default_rng(12345)
    differences = []
    for drawn in generator.choice(30, size=(100, 30), replace=True):
        first, second = (chrf_scores(measurement.statistics[name][drawn].sum(axis=0)) for name in ("a", "b"))
        differences.append(float(second - first))
    lower, higher = (sum(sign * difference >= 0 for difference in differences) for sign in (-1, 1))
    assert score.p_value_two_sided == pytest.approx(min(1.0, 2 * (min(lower, higher) + 1) / 101))
    assert score.p_value_two_sided < 1.0


def test_one_document_has_no_p_value() -> None:
    reference = [f"This is line {n} of the only document." for n in range(6)]
    data = make_set(reference, [6], a=reference, b=spoil(reference, 0.6, 1))
    for name in ("bleu", "d-bleu"):
        found = score_systems(measure(name, data), data, Significance("a", unit="document"))
        assert [score.p_value for score in found] == [None, None]


def test_signatures_name_the_unit() -> None:
    data = make_set(["One sentence here.", "And one more."], [1, 1], s=["One sentence.", "And more."])
    units = {name: score_systems(measure(name, data), data)[0].signature for name in METRICS}
    assert "|unit:document|documents:2|" in units["d-bleu"]
    assert all("|unit:sentence|documents:2|docgraph:" in units[name] for name in ("bleu", "chrf", "ter"))


def test_unknown_names() -> None:
    data = make_set(["a"], [1], s=["a"])
    with pytest.raises(DocgraphError, match="no metric 'blue'; choose from bleu"):
        measure("blue", data)
    with pytest.raises(DocgraphError, match="no tokenizer 'x'; choose from"):
        measure("bleu", data, MetricOptions(tokenize="x"))
