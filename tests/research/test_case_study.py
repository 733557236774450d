"""Case studies: chains of terms, the rule that chooses one, and the page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from docgraph.cli import main
from docgraph.evaluation.alignment import BitextAnnotator
from docgraph.evaluation.evaluation_set import EvaluationSet, read_evaluation_set
from docgraph.research.case_study import CaseStudy, study
from docgraph.research.case_study_page import to_html

SOURCE = """milestone year means any of the years 2030 and 2035. (année jalon)
The Minister sets a target for each milestone year.
The report names the milestone year.
A plan for a milestone year is public.
The plan <ends> with the milestone year.

permit means a licence of this Act. (permis)
The Minister gives a permit.
The permit is old.
A permit has a number.
"""
REFERENCE = """année jalon L'une des années 2030 et 2035. (milestone year)
Le ministre fixe une cible pour chaque année jalon.
Le rapport nomme l'année jalon.
Le plan d'une année jalon est public.
Le plan <finit> avec l'année jalon.

permis Licence de la présente loi. (permit)
Le ministre donne un permis.
Le permis est vieux.
Un permis a un numéro.
"""
BASE = REFERENCE.replace("chaque année jalon", "chaque année repère").replace("avec l'année jalon", "avec l'étape")
WAVERING = REFERENCE.replace("Le permis est", "La licence est")
SILENT = REFERENCE.replace("année jalon", "année repère")
FILES = {"source": SOURCE, "reference": REFERENCE, "base": BASE, "ours": WAVERING, "silent": SILENT}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCGRAPH_CACHE", str(tmp_path / "cache"))
    for name, text in FILES.items():
        Path(f"{name}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def data(first: str, second: str) -> EvaluationSet:
    return read_evaluation_set({"base": f"{first}.txt", "ours": f"{second}.txt"}, "reference.txt", "source.txt")


def compare(place: Path, first: str, second: str, relation: str = "definition") -> CaseStudy:
    annotator = BitextAnnotator("words:en+simplemma:en", "fr", place / "cache")
    return study(data(first, second), annotator, relation)  # type: ignore[arg-type]


def test_the_term_is_chosen_that_only_the_second_system_translates_consistently(place: Path) -> None:
    found = compare(place, "base", "ours")
    assert (found.chains, found.documents) == (2, 2)
    assert (found.cases, found.opposite) == (1, 1)
    assert found.counts["sometimes", "always"] == found.counts["always", "sometimes"] == 1
    assert sum(found.counts.values()) == 2
    chain = found.chosen
    assert chain is not None
    assert (chain.document, chain.term, chain.expected) == (0, "milestone year", ("année", "jalon"))
    assert chain.origin[0] == 0
    assert [sentence for sentence, _ in chain.uses] == [1, 2, 3, 4]
    assert [use.right for use in found.uses["base"]] == [True, False, True, True, False]
    assert all(use.right for use in found.uses["ours"])
    for use in found.uses["ours"]:
        assert [use.text[begin:end] for begin, end in use.expected] == ["année jalon"]
        assert use.other == []
    assert found.uses["base"][1].expected == []


def test_the_other_way_round_is_counted(place: Path) -> None:
    assert (compare(place, "ours", "base").cases, compare(place, "ours", "base").opposite) == (1, 1)
    same = compare(place, "base", "base")
    assert (same.cases, same.opposite, same.chosen) == (0, 0, None)
    silent = compare(place, "silent", "reference")
    assert silent.counts["never", "always"] == 1
    assert silent.chosen is None


def test_repeated_nouns_are_chains_too(place: Path) -> None:
    found = compare(place, "ours", "reference", "lexical")
    assert found.chosen is not None
    assert (found.chosen.term, found.chosen.expected) == ("permit", ("permis",))
    assert found.cases >= 1
    assert found.opposite == 0


def test_the_page_shows_source_systems_links_and_numbers(place: Path) -> None:
    page = to_html(compare(place, "base", "ours"), "Licence: <CC0>")
    assert "<script" not in page
    assert "src=" not in page
    assert "Case study: “milestone year”" in page
    assert page.count("<span></span>") == 5
    rows = re.findall(r"<tr class=\"\w*\">.*?</tr>", page)
    assert "definition" in rows[0]
    assert "1 sentence later" in rows[1]
    assert '<mark class="">milestone year</mark>' in rows[4]
    assert "&lt;ends&gt;" in rows[4]
    assert '<mark class="expected">année jalon</mark>' in rows[4]
    assert '<td class="case">1</td>' in page
    assert '<td class="opposite">1</td>' in page
    assert "Licence: &lt;CC0&gt;" in page


def test_the_command_writes_the_page(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-s", "source.txt", "-r", "reference.txt", "--relation", "definition", "-o", "case.html", "--jobs", "1"]
    options += ["--annotator", "words:en"]
    monkeypatch.setattr(sys, "argv", ["docgraph", "case-study", "Base=base.txt", "ours=ours.txt", *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert "as expected by Base sometimes, by ours always: 1; the other way round: 1" in capsys.readouterr().out
    assert "milestone year" in Path("case.html").read_text("utf-8")
    monkeypatch.setattr(sys, "argv", ["docgraph", "case-study", "base.txt", *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "a case study compares two systems, and 1 are given" in capsys.readouterr().err
