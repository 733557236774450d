"""docgraph evaluate, from the command line: formats, names, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.refusals import refusal
from docgraph.cli import app

REFERENCE = ["Le chat dort ici.", "Il est noir et blanc.", "", "Le chien mange beaucoup.", "Il est content."]
SOURCE = ["The cat sleeps here.", "It is black and white.", "", "The dog eats a lot.", "It is happy."]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    outputs = {"ref.fr": REFERENCE, "src.en": SOURCE, "base.fr": [text.replace("est", "reste") for text in REFERENCE]}
    outputs["my_best.fr"] = [line for line in REFERENCE if line]
    outputs["short.fr"] = REFERENCE[:2]
    for name, lines in outputs.items():
        Path(name).write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["evaluate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_text_has_one_row_per_system_and_one_signature_per_column(folder: Path) -> None:
    output = run(
        "base.fr", "best=my_best.fr", "-r", "ref.fr", "--metrics", "bleu,ter", "--samples", "50", "--seed", "7"
    )
    rows = [line for line in output.splitlines() if line.startswith("│")]
    assert [row.split()[1] for row in rows] == ["base", "best"]
    assert "TER ↓" in output
    assert "100.00" in rows[1]
    assert "4 sentences in 2 documents" in output
    assert "against base: * p < 0.05, ** p < 0.01 (paired bootstrap, p-values as defined by sacreBLEU)" in output
    signature = "|bs:50|seed:7|over:sentences|unit:sentence|documents:2|docgraph:"
    assert sum(signature in line for line in output.splitlines()) == 2


def test_a_single_document_is_not_in_the_plural(folder: Path) -> None:
    Path("one.fr").write_text("Le chat dort ici.\nIl est noir et blanc.\n")
    assert "2 sentences in 1 document\n" in run("one.fr", "-r", "one.fr", "--metrics", "ter")


def test_json_is_complete_and_unrounded(folder: Path) -> None:
    arguments = (
        "base.fr",
        "my_best.fr",
        "-r",
        "ref.fr",
        "-s",
        "src.en",
        "--metrics",
        "bleu,d-bleu",
        "--baseline",
        "my_best",
    )
    more = ("--test", "randomisation", "--unit", "document", "--consistency", "--pronouns", "--annotator", "words:en")
    values = json.loads(run(*arguments, *more, "--by", "length,distance", "--format", "json", "--jobs", "1"))
    found = {(score["system"], score["metric"]): score for score in values["scores"]}
    assert found["my_best", "BLEU"]["value"] == pytest.approx(100)
    assert found["my_best", "BLEU"]["p_value"] is None
    assert 0 < found["base", "BLEU"]["p_value"] <= 1
    assert found["base", "BLEU"]["p_value_two_sided"] is None  # randomisation is two-sided already
    assert "|ar:10000|seed:12345|over:documents|" in found["base", "d-BLEU"]["signature"]
    assert found["my_best", "LTCR"]["value"] == found["reference", "LTCR"]["value"]
    assert ("reference", "APT") not in found
    assert [part["name"] for part in values["breakdowns"]] == [
        *("length", "length-difference", "distance", "consistency", "pronouns")
    ]
    assert values["significance"]["baseline"] == "my_best"
    assert set(values["details"]["pronoun cases"]) == {"base", "my_best"}


def test_markdown_and_latex(folder: Path) -> None:
    arguments = ("base.fr", "my_best.fr", "-r", "ref.fr", "--metrics", "bleu", "--samples", "200", "--by", "length")
    markdown = run(*arguments, "--format", "markdown")
    assert markdown.startswith("| system | BLEU |\n|---|---:|\n| base | ")
    assert "- `BLEU|nrefs:1|case:mixed|" in markdown
    assert "**BLEU by sentences in the document**" in markdown
    latex = run(*arguments, "--format", "latex")
    assert r"my\_best & 100.00$^{" in latex
    assert r"\textbar\allowbreak{}unit:sentence\textbar\allowbreak{}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3


def test_plots_are_written_beside_their_data(folder: Path) -> None:
    run("base.fr", "-r", "ref.fr", "--metrics", "bleu", "--by", "length", "--plot", "plots/all.svg")
    assert sorted(path.name for path in (folder / "plots").iterdir()) == [
        "all-length.csv",
        "all-length.json",
        "all-length.svg",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("short.fr",), "short.fr: has 2 lines and ref.fr has 5 (4 sentences)"),
        (("gone.fr",), "gone.fr: no such file"),
        (("base.fr", "--metrics", "blue"), "there is no metric 'blue'; choose from bleu, d-bleu, chrf, ter, comet"),
        (("base.fr", "--by", "size"), "there is no breakdown 'size'; choose from length, distance"),
        (("base.fr", "--baseline", "x"), "the baseline 'x' is not one of the systems; choose from base"),
        (("a=base.fr", "a=my_best.fr"), "my_best.fr: the name 'a' is taken; name this system by NAME=FILE"),
        (("reference=base.fr",), "the name 'reference' is taken; name this system by NAME=FILE"),
        (("base.fr", "--consistency"), "need the source text; pass --source"),
        (("base.fr", "--pronouns", "-s", "src.en", "--langs", "en-de"), "no pronoun table for en-de"),
        (("base.fr", "--by", "length", "--plot", "x.gif"), "x.gif: a plot is written as .png, .svg, .pdf"),
        (("base.fr", "--plot", "x.png"), "'--plot' draws breakdowns; add --by, --consistency or --pronouns"),
    ],
    ids=[
        "counts",
        "file",
        "metric",
        "by",
        "baseline",
        "twice",
        "reserved",
        "source",
        "pronouns",
        "picture",
        "no breakdown",
    ],
)
def test_errors_are_one_sentence(
    arguments: tuple[str, ...],
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert message in refusal(monkeypatch, capsys, "evaluate", *arguments, "-r", "ref.fr")
