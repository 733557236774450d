"""The workbench in headless Chromium: chains, explanations, the overview, comparison and search."""

from __future__ import annotations

import re

from workbench.chromium import KNOWN, SENTENCES, Workbench, alone


def highlighted(workbench: Workbench, name: str) -> list[str]:
    script = "(name) => [...(CSS.highlights.get(name) ?? [])].map((range) => range.toString())"
    texts: list[str] = workbench.page.evaluate(script, name)
    return texts


def hover(workbench: Workbench, index: int, word: str) -> None:
    script = """([index, word]) => {
        const node = document.querySelector(`#s${index} .source .text`).firstChild;
        const range = new Range();
        range.setStart(node, node.data.indexOf(word));
        range.setEnd(node, node.data.indexOf(word) + word.length);
        const box = range.getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2];
    }"""
    x, y = workbench.page.evaluate(script, [index, word])
    workbench.page.mouse.move(x - 3, y)
    workbench.page.mouse.move(x, y)


def test_a_word_lights_its_chain_through_the_document(example: Workbench) -> None:
    example.page.wait_for_function("() => CSS.highlights.has('linked')")
    hover(example, 2, "seawall")
    example.page.wait_for_function("() => CSS.highlights.has('chain-source')")
    places = [index for index, text in enumerate(SENTENCES) if "seawall" in text]
    assert [text.lower() for text in highlighted(example, "chain-source")] == ["seawall"] * len(places)
    lit = example.page.evaluate(
        "() => [...document.querySelectorAll('.row.lit')].map((row) => Number(row.dataset.index))"
    )
    assert lit == places
    example.choose(2)
    example.page.keyboard.press("l")
    example.page.locator(".panel .variant").first.wait_for()
    listed = example.page.locator(".places .at").all_text_contents()
    assert sorted(map(int, listed)) == [index + 1 for index in places]


def test_an_inconsistent_chain_is_fixed_everywhere(example: Workbench) -> None:
    example.correct(0, alone()[0].replace("port", "havre", 1))
    example.page.get_by_role("tab", name="Chains").click()
    chain = example.page.locator(".chain.bad", has_text=re.compile("^harbour"))
    chain.first.click()
    example.page.locator(".fix", has_text="havre").click()
    example.said("Term added: harbour, havre.")
    example.page.locator(".row.proposed").first.wait_for()
    proposals = {row: text for row, text in example.proposals().items() if "harbour" in SENTENCES[row]}
    assert proposals
    assert all("havre" in text for text in proposals.values())


def test_the_panel_explains_a_sentence(example: Workbench) -> None:
    example.correct(1, KNOWN)
    example.choose(6)
    example.page.locator("#panel-sentence .explanation > *").first.wait_for()
    chips = example.page.locator("#panel-sentence .chip").all_inner_texts()
    assert any("harbour" in chip for chip in chips)
    example.page.locator("#panel-sentence .read").first.click()
    assert example.current() == 1


def test_a_proposal_is_never_said_to_have_read_nothing(example: Workbench) -> None:
    nothing = {"gate": 1, "source": [], "target": [], "hints": [], "memory": [], "n_best": []}
    example.page.route("**/explain", lambda route: route.fulfill(json=nothing))
    example.correct(1, KNOWN)
    example.page.locator("#s6.proposed").wait_for()
    example.choose(6)
    example.page.locator(".explanation .hint", has_text="follows your corrections").wait_for()
    example.page.keyboard.press("r")
    example.page.locator("#s6:not(.proposed)").wait_for()
    example.choose(6)
    example.page.locator(".explanation .hint", has_text="translated on its own").wait_for()


def test_the_overview_shows_every_chain(example: Workbench) -> None:
    example.page.wait_for_function("() => CSS.highlights.has('linked')")
    example.page.keyboard.press("m")
    rows = example.page.locator(".plot-row:not(.document)")
    rows.first.wait_for()
    count = rows.count()
    heights = "(rows) => rows.map((row) => [row, ...row.children].map((each) => Math.round(each.clientHeight)))"
    assert all(max(sizes) <= 22 for sizes in rows.evaluate_all(heights))
    example.page.get_by_role("searchbox", name="Search words or translations").fill("seawall")
    assert 0 < rows.count() < count
    track = example.page.locator(".plot-row:not(.document) .track").first
    before = track.evaluate("(each) => each.clientWidth")
    example.page.get_by_role("button", name="Zoom in").click()
    assert track.evaluate("(each) => each.clientWidth") > before * 1.4
    example.page.get_by_role("button", name="Zoom out").click()
    box = track.locator(".marks").bounding_box()
    place = [index for index, text in enumerate(SENTENCES) if "seawall" in text][-1]
    example.page.mouse.click(box["x"] + box["width"] * (place + 0.5) / len(SENTENCES), box["y"] + box["height"] / 2)
    example.page.locator(".row:visible").first.wait_for()
    assert example.current() == place


def test_a_translation_without_context_is_compared(example: Workbench) -> None:
    example.correct(1, KNOWN)
    example.page.locator(".row.proposed").first.wait_for()
    example.page.keyboard.press("Shift+A")
    example.page.wait_for_function("() => !document.querySelector('.row.proposed')")
    example.page.get_by_role("button", name="Without context").click()
    example.page.locator(".plain").first.wait_for()
    now, before = example.translations(), alone()
    shown = example.page.locator(".row .plain-text").all_text_contents()
    assert shown == ["same" if text == now[index] else text for index, text in enumerate(before)]
    assert example.page.locator(".plain mark").count() > 0
    example.page.keyboard.press("c")
    assert example.page.locator(".plain").count() == 0


def test_sentences_are_searched(example: Workbench) -> None:
    example.page.keyboard.press("/")
    example.page.keyboard.type("EUROPEENNE")  # case and accents do not matter
    found = [index for index, text in enumerate(alone()) if "européenne" in text.lower()]
    example.page.wait_for_function(
        "(n) => [...document.querySelectorAll('.row')].filter((r) => !r.hidden).length === n", arg=len(found)
    )
    example.page.keyboard.press("Enter")
    assert example.current() == found[0]
