"""The workbench for everybody, in headless Chromium: languages, themes, phones, keys and screen readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.chromium import KNOWN, SENTENCES, WIDTHS, Workbench, axe_violations, needs_axe, opened


def test_the_interface_is_french_for_french_browsers(browser: Any, address: str) -> None:
    with opened(browser, address, locale="fr-FR") as workbench:
        workbench.open_text()
        assert workbench.page.locator("html").get_attribute("lang") == "fr"
        assert workbench.page.locator("header .status").text_content() == "Confirmées : 0 sur 8"
        workbench.page.keyboard.press("?")
        assert "Entrée" in workbench.page.get_by_role("dialog", name="Touches").inner_text()
        workbench.page.keyboard.press("Escape")
        workbench.page.get_by_role("button", name="Réglages").click()
        workbench.page.get_by_role("menuitemradio", name="English").click()
        workbench.wait_until_done()
        assert workbench.page.locator("header .status").text_content() == "0 of 8 confirmed"


def test_both_languages_have_the_same_texts(workbench: Workbench) -> None:
    workbench.open_start()
    script = """async () => {
        const texts = {};
        for (const language of ["en", "fr"]) texts[language] = (await import(`/strings.${language}.js`)).default;
        return texts;
    }"""
    texts = workbench.page.evaluate(script)

    def places(text: Any) -> set[str]:
        return set(re.findall(r"\{\w+\}", text["other"] if isinstance(text, dict) else text))

    assert texts["en"].keys() == texts["fr"].keys()
    assert {key: places(text) for key, text in texts["en"].items()} == {
        key: places(text) for key, text in texts["fr"].items()
    }


def test_dark_and_light_follow_the_system_and_the_user(browser: Any, address: str) -> None:
    background = "() => getComputedStyle(document.body).backgroundColor"
    with opened(browser, address, color_scheme="dark") as workbench:
        workbench.open_start()
        dark = workbench.page.evaluate(background)
        workbench.page.get_by_role("button", name="Settings").click()
        workbench.page.get_by_role("menuitemradio", name="Light").click()
        light = workbench.page.evaluate(background)
        assert sum(map(int, re.findall(r"\d+", dark))) < 150 < 600 < sum(map(int, re.findall(r"\d+", light)))
        workbench.page.reload()
        assert workbench.page.evaluate(background) == light


def test_a_phone_shows_everything_in_its_width(browser: Any, address: str) -> None:
    width, height = WIDTHS["phone"]
    settings = {"viewport": {"width": width, "height": height}, "has_touch": True, "is_mobile": True}
    with opened(browser, address, **settings) as workbench:
        workbench.open_text()
        overflow = """() => {
            const shown = [...document.querySelectorAll("body *")].filter((each) => each.checkVisibility());
            const fixed = shown.filter((each) => !each.closest(".filters, .visually-hidden"));
            return Math.max(...fixed.map((each) => each.getBoundingClientRect().right));
        }"""
        assert workbench.page.evaluate(overflow) <= width + 0.5
        workbench.row(1).locator(".target").tap()
        workbench.row(1).locator("textarea").fill(KNOWN)
        workbench.row(1).locator(".confirm").tap()
        workbench.page.locator("#s1[data-state=confirmed]").wait_for()
        workbench.page.get_by_role("button", name="Details").tap()
        workbench.page.get_by_role("tab", name="Chains").tap()
        workbench.page.locator(".chain").first.wait_for()
        assert workbench.page.evaluate(overflow) <= width + 0.5


def test_a_phone_hides_neither_the_current_sentence_nor_the_columns(browser: Any, address: str) -> None:
    width, height = WIDTHS["phone"]
    with opened(browser, address, viewport={"width": width, "height": height}) as workbench:
        workbench.open_text()
        workbench.correct(1, KNOWN)
        bar = workbench.page.locator(".proposal-bar")
        bar.wait_for()
        for index in (3, 4, 5):
            workbench.choose(0)
            for _ in range(index):
                workbench.page.keyboard.press("ArrowDown")
            # The row is scrolled to in the next frame, too.
            workbench.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
            row = workbench.row(index).bounding_box()
            assert row["y"] + row["height"] <= bar.bounding_box()["y"]
        assert workbench.page.get_by_role("columnheader", name="Source").count() == 1
        assert workbench.page.get_by_role("columnheader", name="Translation").count() == 1


def test_the_keys_are_listed(example: Workbench) -> None:
    example.page.keyboard.press("?")
    dialog = example.page.get_by_role("dialog", name="Keys")
    dialog.wait_for()
    assert "Next, previous doubtful sentence" in dialog.inner_text()
    example.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


def test_tab_reaches_every_part_of_the_page(example: Workbench) -> None:
    example.choose(0)
    part = """() => {
        const part = document.activeElement.closest("header, .toolbar, .rows, .panel, .skip");
        return part ? part.className || part.id : "";
    }"""
    reached = set()
    for _ in range(40):
        example.page.keyboard.press("Tab")
        reached.add(example.page.evaluate(part))
    assert {"rows", "panel", "skip", "header", "toolbar"} <= reached


def test_each_text_has_its_own_direction(workbench: Workbench) -> None:
    workbench.open_file("two.md", "# مرحبا 2026!\n\nThe harbour is closed.\n".encode())
    direction = "(each) => getComputedStyle(each).direction"
    for index, expected in enumerate(("rtl", "ltr")):
        for cell in (".source", ".target"):
            assert workbench.row(index).locator(cell).evaluate(direction) == expected
    assert workbench.page.locator("#panel-sentence .quoted").evaluate(direction) == "rtl"
    workbench.row(1).locator(".target").click()
    editor = workbench.row(1).locator("textarea")
    assert editor.evaluate(direction) == "ltr"
    editor.fill("مرحبا 2026!")
    assert [each.evaluate(direction) for each in (editor, workbench.row(1).locator(".target"))] == ["rtl", "rtl"]


FOCUS = "() => { const e = document.activeElement; return e.id || e.className || e.tagName; }"


def test_the_skip_link_stays_on_the_page(example: Workbench) -> None:
    address = example.page.url
    example.choose(2)
    example.page.locator(".skip").focus()
    example.page.keyboard.press("Enter")
    assert example.page.evaluate(FOCUS) == "s2"
    example.page.locator(".home").click()
    example.page.locator("#text").fill("A text.")
    example.page.locator(".skip").focus()
    example.page.keyboard.press("Enter")
    assert example.page.evaluate(FOCUS) == "main"
    assert example.page.locator("#text").input_value() == "A text."
    assert address.split("#")[0] + "#" == example.page.url


def test_a_proposal_is_spoken_as_a_change(example: Workbench) -> None:
    example.correct(1, KNOWN)
    example.page.locator(".row.proposed").first.wait_for()
    cell = example.page.locator(".row.proposed .target").first
    removed, added = cell.locator("del").first.inner_text(), cell.locator("ins").first.inner_text()
    change = re.compile(rf"removed: {re.escape(removed)} *added: {re.escape(added)}")
    assert example.page.get_by_role("gridcell", name=change).count() > 0


def test_the_focus_stays_in_the_panel(example: Workbench) -> None:
    example.page.locator("#tab-chains").click()
    example.page.locator(".chain").nth(1).focus()
    example.page.keyboard.press("Enter")
    assert example.page.evaluate(FOCUS) == "back"
    example.page.keyboard.press("Enter")
    assert example.page.locator(".chain").nth(1).evaluate("(each) => each === document.activeElement")
    example.page.locator("#tab-glossary").click()
    for number, (source, target) in enumerate([("boats", "barques"), ("year", "an")], 1):
        example.page.locator("#term-source").fill(source)
        example.page.locator("#term-target").fill(target)
        example.page.keyboard.press("Enter")
        example.page.locator(".terms li").nth(number - 1).wait_for()
    example.page.locator(".terms button").first.focus()
    for left, focus in ((1, "quiet"), (0, "panel-glossary")):
        example.page.keyboard.press("Enter")
        example.page.wait_for_function("(n) => document.querySelectorAll('.terms li').length === n", arg=left)
        assert example.page.evaluate(FOCUS) == focus


def test_the_focus_stays_in_the_list_of_documents(example: Workbench) -> None:
    jobs = [
        {"id": str(n), "name": f"{n}.txt", "state": "running", "format": "text", "sentences": 2, "updated": n}
        for n in range(3)
    ]
    told = 0

    def tell(route: Any) -> None:
        nonlocal told
        told += 1
        route.fulfill(json=[{**job, "translated": told % 3} for job in jobs])

    example.page.route("**/v1/jobs?*", tell)
    example.page.route("**/v1/jobs/*", lambda route: (jobs.pop(1), route.fulfill(status=204)))
    example.page.locator(".home").focus()
    example.page.keyboard.press("Enter")
    example.page.locator(".job").first.wait_for()
    assert example.page.evaluate(FOCUS) == "main"
    example.page.locator(".job a").nth(1).focus()
    shown = example.page.locator(".job").nth(1).inner_text()
    example.page.wait_for_function("(t) => document.querySelectorAll('.job')[1].innerText !== t", arg=shown)
    assert example.page.locator(".job a").nth(1).evaluate("(each) => each === document.activeElement")
    example.page.locator(".job button").nth(1).focus()
    example.page.keyboard.press("Enter")
    example.page.locator("dialog .danger").click()
    example.page.wait_for_function("() => document.querySelectorAll('.job').length === 2")
    assert example.page.locator(".job button").nth(1).evaluate("(each) => each === document.activeElement")


def test_the_focus_survives_buttons_that_vanish(example: Workbench) -> None:
    example.correct(1, KNOWN)
    example.choose(1)
    undo = example.page.get_by_role("button", name="Undo", exact=True)
    undo.focus()
    example.page.keyboard.press("Enter")
    example.page.locator("#s1[data-state=translated]").wait_for()
    example.page.wait_for_function("() => document.querySelector('[aria-keyshortcuts=U]').disabled")
    assert example.page.evaluate(FOCUS) == "s1"
    example.page.evaluate("async () => (await import('/messages.js')).notice('A message.')")
    example.page.locator("#notice button").focus()
    example.page.keyboard.press("Enter")
    assert example.page.evaluate(FOCUS) == "s1"


def test_the_focus_survives_cancelling(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.locator("#text").fill("\n".join(SENTENCES * 40))
    workbench.page.locator(".paste button").click()
    workbench.page.get_by_role("button", name="Cancel").press("Enter")
    workbench.page.get_by_role("button", name="Continue").wait_for()
    assert workbench.page.evaluate(FOCUS) == "s0"


@needs_axe
@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, address: str, size: str, scheme: str) -> None:
    width, height = WIDTHS[size]
    found: list[str] = []

    def check(place: str) -> None:
        found.extend(f"{place}: {each}" for each in axe_violations(workbench.page))

    with opened(browser, address, color_scheme=scheme, viewport={"width": width, "height": height}) as workbench:
        workbench.open_start()
        check("start")
        workbench.page.get_by_role("button", name="Settings").click()
        check("menu")
        workbench.page.keyboard.press("Escape")
        workbench.open_text()
        check("document")
        workbench.correct(1, KNOWN)
        workbench.page.locator(".row.proposed").first.wait_for()
        workbench.page.keyboard.press("c")
        workbench.page.locator(".plain").first.wait_for(state="attached")
        workbench.choose(2)
        workbench.page.keyboard.press("e")
        check("editor, proposals and comparison")
        workbench.page.keyboard.press("Escape")
        if size == "phone":
            workbench.page.get_by_role("button", name="Details").click()
        for tab in ("Sentence", "Glossary", "Chains"):
            workbench.page.get_by_role("tab", name=tab).click()
            check(tab)
        workbench.page.locator(".chain").first.click()
        check("one chain")
        if size == "phone":
            workbench.page.locator(".panel-close").click()
        workbench.page.get_by_role("button", name="Overview").click()
        check("overview")
        workbench.page.keyboard.press("?")
        check("help")
    assert found == []


TEXTS = st.text(st.sampled_from("ab é,.'’\u00a0😀"), max_size=30)


@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=50))
def test_a_difference_rebuilds_both_texts(word_page: Any, pairs: list[tuple[str, str]]) -> None:
    script = """async (pairs) => {
        const { difference } = await import("/text.js");
        return pairs.map(([before, after]) => difference(before, after));
    }"""
    for (before, after), parts in zip(pairs, word_page.evaluate(script, pairs), strict=True):
        assert "".join(text for kind, text in parts if kind != "added") == before
        assert "".join(text for kind, text in parts if kind != "removed") == after
        assert (before == after) == all(kind == "same" for kind, _ in parts)


@pytest.fixture(scope="module")
def word_page(browser: Any, address: str) -> Iterator[Any]:
    page = browser.new_page()
    page.goto(f"{address}icon.svg")
    yield page
    page.close()
