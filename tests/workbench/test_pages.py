"""The pages that commands write, in headless Chromium: contrast, structure, keys and narrow screens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docgraph.formats import read
from docgraph.graph.page import to_html as graph_page
from docgraph.graph.reader import read_graph
from docgraph.research.case_study import FREQUENCIES, CaseStudy, Chain, Text, Use
from docgraph.research.case_study_page import to_html as case_study_page
from docgraph.translation.explain import ContextWeights
from docgraph.translation.files.bilingual import BilingualSegment, read_bilingual, write_bilingual
from docgraph.translation.result import Candidate, HintUse, SentenceTranslation, Translation
from docgraph.translation.result import to_html as translation_page
from docgraph.translation.terms.term import TermUse
from server.server_examples import EXAMPLES
from workbench.chromium import SENTENCES, WIDTHS, axe_violations, needs_axe

ROWS = 12
"""Sentences of the page of a translation: numbers of one digit are too short for a check of contrast."""


def explained() -> str:
    """A page with everything that --explain can show."""
    sentences = []
    for place in range(ROWS):
        text = f"La traduction {place}."
        weights = dict.fromkeys(range(place), 1 / (1 + place))
        best, other = Candidate(text, -0.5, -3.0), Candidate("Une autre.", -0.7, -4.0)
        context = ContextWeights(weights, weights, 0.4)
        sentences.append(SentenceTranslation(SENTENCES[place % 8], text, (best, other), context))
    sentences[1] = SentenceTranslation(SENTENCES[1], "Donnée.", given=True)
    sentences[2] = replace(sentences[2], doubts=("low score",), hints=(HintUse("It", "le port", 0),))
    sentences[3] = replace(sentences[3], memory=(("a", "b"),), terms=(TermUse("harbour", "havre", False),))
    [document] = read(EXAMPLES / "harbour.txt")
    return translation_page([Translation(document, tuple(sentences), 2)], ("en", "fr"))


def case_study() -> str:
    """A page of a term with two uses, one of which the first system translates otherwise."""
    chain = Chain(0, "storms", ("tempêtes",), (0, (0,)), ((1, (1,)), (2, (2,))))
    right, wrong = Use("Des tempêtes.", True, [(4, 12)], []), Use("Des orages épouvantables.", False, [], [(4, 10)])
    counts = {(one, other): 0 for one in FREQUENCIES for other in FREQUENCIES} | {("sometimes", "always"): 1}
    source = Text(SENTENCES[:3], None, np.array([[4, 11]] * 3))  # type: ignore[arg-type]
    uses = {"Base": [right, wrong, right], "hints": [right] * 3}
    return case_study_page(
        CaseStudy("definition", ("Base", "hints"), counts, 1, 1, chain, source, uses), "Licence: X.", ("en", "fr")
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "explain.html").write_text(explained(), "utf-8")
    (folder / "case-study.html").write_text(case_study(), "utf-8")
    graph = read_graph("\n".join([*SENTENCES, *SENTENCES]), format="lines")
    (folder / "graph.html").write_text(graph_page(graph, "harbour"), "utf-8")
    segments = [BilingualSegment(text, "Une traduction.", document="harbour") for text in SENTENCES]
    write_bilingual(folder / "bilingual.html", segments, ("en", "fr"))
    return folder


def open_page(browser: Any, path: Path, size: str = "desktop", **settings: Any) -> Any:
    width, height = WIDTHS[size]
    page = browser.new_context(viewport={"width": width, "height": height}, **settings).new_page()
    page.goto(path.as_uri())
    return page


def states(name: str, page: Any) -> Any:
    """Brings a page into each of its states; yields their names."""
    yield "opened"
    if name == "explain":
        for place in range(ROWS):
            page.locator(".row").nth(place).focus()
            yield f"row {place}"
        page.locator(".filter").click()
        yield "filter"
    elif name == "graph":
        for word in (1, 12):
            page.locator(".w").nth(word).focus()
            page.keyboard.press("Enter")
            yield f"word {word}"
    elif name == "bilingual":
        page.locator("[role=textbox]").first.fill("Corrigée.")
        yield "edited"


@needs_axe
@pytest.mark.parametrize("name", ["explain", "case-study", "graph", "bilingual"])
@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_pages(browser: Any, pages: Path, name: str, size: str, scheme: str) -> None:
    page = open_page(browser, pages / f"{name}.html", size, color_scheme=scheme)
    found = [f"{state}: {each}" for state in states(name, page) for each in axe_violations(page)]
    page.context.close()
    assert found == []


@pytest.mark.parametrize("name", ["explain", "case-study", "graph", "bilingual"])
def test_pages_fit_a_phone(browser: Any, pages: Path, name: str) -> None:
    page = open_page(browser, pages / f"{name}.html", "phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS["phone"][0]
    page.context.close()


def is_focused(page: Any, selector: str, place: int = 0) -> bool:
    """Whether an element has the focus."""
    focused: bool = page.locator(selector).nth(place).evaluate("(each) => each === document.activeElement")
    return focused


def test_punctuation_of_a_graph_stays_with_its_word(browser: Any, pages: Path) -> None:
    script = """() => [...document.querySelectorAll(".w")].filter((word) => {
        const before = word.previousElementSibling;
        return before && word.textContent === "." && word.offsetTop > before.offsetTop + 8;
    }).length"""
    page = open_page(browser, pages / "graph.html")
    for width in range(360, 1280, 20):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(script) == 0, width
    page.context.close()


def test_the_focus_follows_a_word_of_a_graph(browser: Any, pages: Path) -> None:
    page = open_page(browser, pages / "graph.html")
    page.locator(".w").nth(1).focus()
    page.keyboard.press("Enter")
    page.locator("aside button").last.focus()
    page.keyboard.press("Enter")
    assert is_focused(page, ".w.self")
    assert not is_focused(page, ".w", 1)
    page.locator("aside button").first.focus()
    page.keyboard.press("Escape")
    assert page.locator(".w.self").count() == 0
    assert page.evaluate("document.activeElement.className") == "w"
    page.context.close()


def test_a_filter_never_hides_the_focus(browser: Any, pages: Path) -> None:
    page = open_page(browser, pages / "explain.html")
    page.locator(".filter").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert is_focused(page, ".row:visible")
    page.locator("aside button").first.focus()
    page.keyboard.press("Enter")
    assert is_focused(page, ".row")
    page.context.close()


def test_edits_of_a_bilingual_page_are_not_lost(browser: Any, pages: Path, tmp_path: Path) -> None:
    page = open_page(browser, pages / "bilingual.html", accept_downloads=True)
    questions: list[str] = []
    page.on("dialog", lambda dialog: (questions.append(dialog.type), dialog.accept()))
    page.locator("[role=textbox]").first.fill("مرحبا 2026!")
    assert page.locator("[role=textbox]").first.evaluate("(each) => getComputedStyle(each).direction") == "rtl"
    assert page.get_by_role("cell").count() == 3 * len(SENTENCES)
    with page.expect_download() as download:
        page.locator("#save").click()
    download.value.save_as(tmp_path / "saved.html")
    [first, *_] = read_bilingual(tmp_path / "saved.html", ("en", "fr"))
    assert (first.translation, first.confirmed) == ("مرحبا 2026!", True)
    page.reload()
    assert questions == []
    page.locator("[role=checkbox], [type=checkbox]").nth(1).check()
    page.reload()
    assert questions == ["beforeunload"]
    page.context.close()


def test_marks_of_a_case_study_differ_by_more_than_colour(browser: Any, pages: Path) -> None:
    page = open_page(browser, pages / "case-study.html")
    decoration = "(each) => getComputedStyle(each).textDecorationLine"
    marks = [page.locator(f"mark.{kind}").first.evaluate(decoration) for kind in ("expected", "other")]
    assert marks == ["none", "underline"]
    assert page.get_by_text("harbour").first.evaluate("(each) => each.closest('[lang]').lang") == "en"
    assert page.get_by_text("tempêtes").first.evaluate("(each) => each.closest('[lang]').lang") == "fr"
    page.context.close()
