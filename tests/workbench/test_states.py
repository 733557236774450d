"""The workbench in headless Chromium: what it says while and after the server works, and on empty lists."""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.chromium import SENTENCES, Workbench, alone


def test_a_cancelled_translation_goes_on(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.locator("#text").fill("\n".join(SENTENCES * 12))
    workbench.page.locator(".paste button").click()
    workbench.page.get_by_role("button", name="Cancel").click()
    workbench.page.get_by_role("button", name="Continue").wait_for()
    assert "waiting" in workbench.states()
    assert workbench.page.locator(".missing").count() == workbench.states().count("waiting")
    workbench.page.get_by_role("button", name="Continue").click()
    workbench.page.locator(".missing").first.wait_for(state="detached")
    workbench.wait_until_done()
    assert workbench.page.get_by_role("button", name="Continue").count() == 0


def test_a_file_dropped_on_a_document_is_translated(example: Workbench) -> None:
    script = """(text) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], "dropped.txt"));
        const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector(".row").dispatchEvent(event);
    }"""
    example.page.evaluate(script, SENTENCES[0])
    example.page.wait_for_function("() => document.querySelector('header h1')?.textContent === 'dropped.txt'")
    example.wait_until_done()
    assert example.translations() == [alone()[0]]


def test_messages_are_seen(example: Workbench) -> None:
    example.choose(0)
    example.page.keyboard.press("d")
    message = example.page.locator("#live.shown", has_text="No doubtful sentence is left.")
    message.wait_for()
    box = message.bounding_box()
    assert box["width"] > 100
    message.wait_for(state="detached")


def test_empty_lists_say_why(example: Workbench) -> None:
    for name, text in (("Doubtful", "No sentence is doubtful."), ("Proposals", "No proposals.")):
        example.page.get_by_role("group", name="Show").get_by_role("button", name=name).click()
        assert example.page.locator(".nothing").inner_text().startswith(text)


def test_a_search_marks_every_place_whatever_its_accents(workbench: Workbench) -> None:
    workbench.open_start()
    script = """async (pairs) => {
        const { occurrences } = await import("/text.js");
        return pairs.map(([text, query]) => occurrences(text, query).map((place) => text.slice(...place)));
    }"""
    pairs = [["Été, été, l'ÉTÉ", "ete"], ["😀 Où où", "ou"], ["e\u0301te", "ete"], ["abc", ""], ["aaa", "aa"]]
    found = workbench.page.evaluate(script, pairs)
    assert found == [["Été", "été", "ÉTÉ"], ["Où", "où"], ["e\u0301te"], [], ["aa"]]


def test_doubts_are_told_in_french(workbench: Workbench) -> None:
    workbench.open_start()
    script = """async (reasons) => {
        const { doubt, setLanguage } = await import("/i18n.js");
        setLanguage("fr");
        return reasons.map(doubt);
    }"""
    reasons = ["18 is missing", "negation is missing", "low score", "seawall is not 'digue'"]
    told = workbench.page.evaluate(script, reasons)
    assert told == ["18 manque", "la négation manque", "score faible", "« seawall » n’est pas « digue »"]


def test_words_with_a_usual_translation_and_exceptions_are_inconsistent(example: Workbench) -> None:
    def chain(text: str, translations: list[str], relation: str = "lexical") -> dict[str, Any]:
        words = [
            {"sentence": n, "start": 0, "end": 3, "text": text, "translation": {"start": 0, "end": 2, "text": each}}
            for n, each in enumerate(translations)
        ]
        return {"words": words, "relation": relation, "consistent": len({*translations}) == 1}

    chains = [
        chain("take", ["prendre", "mener", "tenir", "porter", "avoir", "prendre"]),
        chain("seawall", ["digue"] * 5 + ["mur"]),
        chain("boat", ["bateau", "navire"]),
        chain("harbour", ["port"] * 8),
        chain("master", ["maître"] * 3, "coreference"),
    ]
    graph = json.dumps({"chains": chains, "links": []})
    example.page.route("**/graph", lambda route: route.fulfill(body=graph, content_type="application/json"))
    example.page.reload()
    example.wait_until_done()
    example.page.get_by_role("tab", name="Chains").click()
    example.page.locator(".chain").first.wait_for()
    assert example.page.locator(".chain .name").all_inner_texts() == ["seawall", "boat", "harbour", "take"]
    assert example.page.locator(".chain.bad .name").all_inner_texts() == ["seawall", "boat"]


def test_the_form_of_address_is_chosen_for_a_document_and_remembered(workbench: Workbench) -> None:
    text = "You forgot your coat.\nCan you help me?"
    for formality, pronoun in (("informal", "tu"), ("formal", "vous")):
        workbench.open_start()
        workbench.page.locator("#formality").select_option(formality)
        workbench.open_text(text)  # the choice is remembered on the new start page
        assert all(re.search(rf"\b{pronoun}\b", each, re.IGNORECASE) for each in workbench.translations())
    workbench.open_start()
    assert workbench.page.locator("#formality").input_value() == "formal"


def test_a_search_is_left_with_the_keyboard(example: Workbench) -> None:
    example.choose(0)
    example.page.keyboard.press("/")
    example.page.keyboard.type("seawall")
    example.page.locator("#s0").wait_for(state="hidden")
    example.page.keyboard.press("Enter")
    example.page.keyboard.press("Home")
    assert example.current() == 2
    example.page.keyboard.press("End")
    assert example.current() == 7
    example.page.keyboard.press("Escape")
    assert example.page.locator(".row:visible").count() == len(example.states())
    assert example.page.locator(".search input").input_value() == ""


def test_escape_leaves_the_fields_of_the_panel(example: Workbench) -> None:
    example.choose(3)
    example.page.keyboard.press("t")
    assert example.page.evaluate("document.activeElement.id") == "term-source"
    example.page.keyboard.press("Escape")
    assert example.page.evaluate("document.activeElement.id") == "s3"
    example.page.locator("#tab-chains").click()
    search = example.page.locator("#panel-chains input")
    search.fill("port")
    search.press("Escape")
    assert search.input_value() == ""
    search.press("Escape")
    assert example.page.evaluate("document.activeElement.id") == "s3"


def test_a_pasted_text_is_named_after_its_beginning(workbench: Workbench) -> None:
    workbench.open_text("The harbour is closed.")
    assert workbench.page.locator("header h1").inner_text() == "The harbour is closed."
    workbench.open_text("The harbour is closed. The seawall must be repaired.")
    assert workbench.page.locator("header h1").inner_text() == "The harbour is closed. The seawall …"


def test_an_emptied_translation_is_not_confirmed(example: Workbench) -> None:
    before = example.translations()[0]
    example.row(0).locator(".target").click()
    example.row(0).locator("textarea").fill("")
    example.page.keyboard.press("Enter")
    example.said("cannot be empty")
    assert example.states()[0] == "translated"
    example.choose(1)
    example.choose(0)
    example.page.keyboard.press("e")
    assert example.row(0).locator("textarea").input_value() == before


def test_a_document_without_text_says_so(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.locator("#file").set_input_files({"name": "empty.txt", "mimeType": "text/plain", "buffer": b""})
    workbench.page.locator(".nothing", has_text="no text to translate").wait_for()


def test_a_pasted_text_is_sent_with_control_and_enter(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.locator("#text").fill("The harbour is closed.")
    workbench.page.keyboard.press("Control+Enter")
    workbench.wait_until_done()
    assert len(workbench.translations()) == 1
