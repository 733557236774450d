"""The workbench in headless Chromium, with the embedded model: translating, correcting and keeping the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docgraph.formats import read
from docgraph.server.session import Session
from server.server_examples import EXAMPLES, embedded_translator
from workbench.chromium import KNOWN, SENTENCES, Workbench, alone, opened, running

REPORT = EXAMPLES / "harbour_report.md"
SUBTITLES = b"""1
00:00:01,000 --> 00:00:03,500
The harbour is closed.

2
00:00:04,000 --> 00:00:06,000
The seawall is old.
"""


def corrected() -> dict[int, str]:
    """What a session proposes after the correction of the second sentence."""
    session = Session(read(EXAMPLES / "harbour.txt"), embedded_translator())
    for _ in session.translate():
        pass
    return {change["index"]: change["after"] for change in session.correct(1, KNOWN)}


def test_the_example_is_translated(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.get_by_role("button", name="Try an example").click()
    workbench.wait_until_done()
    assert workbench.translations() == alone()
    assert workbench.page.locator("header .status").text_content() == "0 of 8 confirmed"


def test_a_dropped_document_is_translated(workbench: Workbench) -> None:
    workbench.open_start()
    drop = """(text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "letter.txt", {type: "text/plain"}));
        for (const type of ["dragover", "drop"]) {
            window.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
        }
    }"""
    workbench.page.evaluate(drop, "\n".join(SENTENCES[:3]))
    workbench.wait_until_done()
    assert workbench.page.locator("h1").text_content() == "letter.txt"
    assert workbench.translations() == embedded_translator().translate(SENTENCES[:3]).texts


def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(workbench: Workbench) -> None:
    workbench.open_start()
    upload = {"name": "report.docx", "mimeType": "application/octet-stream", "buffer": b"not a document"}
    workbench.page.locator("#file").set_input_files(upload)
    workbench.page.locator(".notice").wait_for()
    assert "report.docx" in workbench.page.locator(".notice span").inner_text()
    workbench.expect_problems("status of 4")


def test_the_structure_of_a_document_is_shown(workbench: Workbench) -> None:
    workbench.open_file("report.md", REPORT.read_bytes())
    kinds = workbench.page.evaluate("() => [...document.querySelectorAll('.row')].map((row) => row.dataset.kind)")
    assert kinds[0] == "heading"
    assert kinds[-3:] == ["list item"] * 3
    workbench.open_file("talk.srt", SUBTITLES)
    labels = workbench.page.locator(".row .label").all_text_contents()
    assert labels == ["00:00:01,000 → 00:00:03,500", "00:00:04,000 → 00:00:06,000"]


def test_a_document_is_corrected_while_it_is_translated(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.locator("#text").fill("\n".join(f"Room {n} of the harbour is closed." for n in range(80)))
    workbench.page.locator(".paste button").click()
    workbench.page.locator("#s0[data-state=translated] .target").click()
    workbench.row(0).locator("textarea").fill("La chambre est fermée.")
    workbench.page.keyboard.press("Enter")
    workbench.page.locator("#s0[data-state=confirmed]").wait_for()
    workbench.wait_until_done()
    assert set(workbench.states()) == {"confirmed", "translated"}
    assert workbench.translations()[0] == "La chambre est fermée."


def test_a_sentence_is_translated_by_hand_before_its_turn(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.locator("#text").fill("\n".join(f"Room {n} of the harbour is closed." for n in range(160)))
    workbench.page.locator(".paste button").click()
    workbench.page.locator("#s159[data-state=waiting] .target").click()
    editor = workbench.row(159).locator("textarea")
    assert editor.get_attribute("placeholder") == "not translated yet"
    editor.press("Enter")
    assert workbench.row(159).get_attribute("class").split().count("editing") == 1, "nothing to confirm yet"
    editor.fill("La chambre est fermée.")
    editor.press("Enter")
    workbench.page.locator("#s159[data-state=confirmed]").wait_for()
    workbench.wait_until_done()
    assert workbench.translations()[159] == "La chambre est fermée."
    assert workbench.states() == [*["translated"] * 159, "confirmed"]


def test_text_typed_before_the_model_translates_is_kept(workbench: Workbench) -> None:
    workbench.open_start()
    workbench.page.locator("#text").fill("\n".join(f"Room {n} of the harbour is closed." for n in range(80)))
    workbench.page.locator(".paste button").click()
    workbench.page.locator("#s79[data-state=waiting] .target").click()
    editor = workbench.row(79).locator("textarea")
    editor.fill("La chambre est fermée.")
    workbench.wait_until_done()
    assert editor.input_value() == "La chambre est fermée."
    editor.press("Enter")
    workbench.page.locator("#s79[data-state=confirmed]").wait_for()
    assert workbench.translations()[79] == "La chambre est fermée."


def test_a_correction_is_followed_by_linked_sentences(example: Workbench) -> None:
    example.correct(1, KNOWN)
    before, expected = alone(), corrected()
    assert expected
    example.page.wait_for_function("(n) => document.querySelectorAll('.row.proposed').length === n", arg=len(expected))
    assert example.proposals() == expected
    assert example.translations() == [KNOWN if index == 1 else text for index, text in enumerate(before)]
    index = next(iter(expected))
    assert example.row(index).locator("del").count() > 0
    assert example.row(index).locator("ins").count() > 0


def test_buttons_show_no_letters_while_a_translation_is_edited(example: Workbench) -> None:
    example.correct(1, KNOWN)
    example.page.locator(".row.proposed").first.wait_for()
    keys = example.page.locator(".decide kbd, .proposal-bar kbd")
    assert keys.first.is_visible()
    example.page.keyboard.press("e")
    assert not any(key.is_visible() for key in keys.all())


def test_proposals_are_accepted_refused_and_undone(example: Workbench) -> None:
    example.correct(1, KNOWN)
    example.page.locator(".row.proposed").first.wait_for()
    proposals, before = example.proposals(), example.translations()
    first, *rest = proposals
    example.choose(0)
    example.page.keyboard.press("p")
    assert example.current() == first
    example.page.keyboard.press("a")
    example.said("1 proposal accepted")
    example.page.wait_for_function(f"() => !document.querySelector('#s{first}.proposed')")
    assert example.translations()[first] == proposals[first]
    if rest:
        example.choose(rest[0])
        example.page.keyboard.press("r")
        example.said("1 proposal refused")
        example.page.wait_for_function(f"() => !document.querySelector('#s{rest[0]}.proposed')")
        assert example.translations()[rest[0]] == before[rest[0]]
        example.page.keyboard.press("u")
        example.page.locator(f"#s{rest[0]}.proposed").wait_for()
    example.page.keyboard.press("u")
    example.page.locator(f"#s{first}.proposed").wait_for()
    assert example.translations()[first] == before[first]
    example.page.keyboard.press("u")
    example.page.locator("#s1[data-state=translated]").wait_for()
    assert example.translations() == alone()
    example.page.keyboard.press("Shift+U")
    example.page.locator("#s1[data-state=confirmed]").wait_for()
    example.page.keyboard.press("Shift+A")
    example.page.wait_for_function("() => !document.querySelector('.row.proposed')")
    assert example.translations() == [proposals.get(index, text) for index, text in enumerate(before)]


REDRAW = """async (index) => {
    const { Work } = await import(new URL("work.js", document.querySelector("script[type=module]").src));
    const emit = Work.prototype.emit;
    Work.prototype.emit = function (...event) {
        window.redraw = () => emit.call(this, "sentences", [index]);
        emit.apply(this, event);
    };
}"""
"""Adds a function that draws the row of a sentence again, as a change by somebody else does."""


def test_a_click_is_not_lost_while_the_row_is_drawn_again(example: Workbench) -> None:
    page = example.page
    example.correct(1, KNOWN)
    page.locator("#s6.proposed").wait_for()
    page.evaluate(REDRAW, 6)
    example.choose(6)

    def click(selector: str) -> None:
        box = page.locator(f"#s6 {selector}").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.evaluate("() => window.redraw()")
        page.mouse.up()

    click(".accept")
    page.locator("#s6:not(.proposed)").wait_for()
    click(".confirm")
    page.locator("#s6[data-state=confirmed]").wait_for()
    click(".target .text")
    page.locator("#s6 textarea").wait_for()


def test_confirming_keeps_the_hands_on_the_keyboard(example: Workbench) -> None:
    example.choose(0)
    for _ in range(2):
        example.page.keyboard.press("Enter")
    assert example.current() == 2
    example.page.locator("#s1[data-state=confirmed]").wait_for()
    example.page.keyboard.press("e")
    example.page.keyboard.type(" Vraiment.")
    example.page.keyboard.press("Enter")
    example.page.locator("#s2[data-state=confirmed]").wait_for()
    assert example.row(3).locator("textarea").evaluate("(each) => each === document.activeElement")
    example.page.keyboard.type("x")
    example.page.keyboard.press("Escape")
    assert example.translations()[2:4] == [f"{alone()[2]} Vraiment.", alone()[3]]
    assert example.states()[:4] == ["confirmed", "confirmed", "confirmed", "translated"]
    example.choose(0)
    example.page.keyboard.press("o")
    example.page.locator("#s0[data-state=translated]").wait_for()


def test_a_term_pair_joins_the_glossary(example: Workbench) -> None:
    select = """([side, text]) => {
        const node = document.querySelector(`#s3 .${side} .text`).firstChild;
        const start = node.data.indexOf(text);
        document.getSelection().setBaseAndExtent(node, start, node, start + text.length);
    }"""
    example.choose(3)
    example.page.evaluate(select, ["source", "businesses"])
    example.page.locator(".term-bar").wait_for()
    example.page.evaluate(select, ["target", "entreprises"])
    example.page.wait_for_function("() => document.querySelector('.term-bar .primary')")
    example.page.keyboard.press("t")
    example.said("Term added: businesses, entreprises.")
    example.page.get_by_role("tab", name="Glossary").click()
    assert example.page.locator(".terms li span:not(.arrow)").all_text_contents() == ["businesses", "entreprises"]
    example.page.locator("#term-source").fill("harbour")
    example.page.locator("#term-target").fill("havre")
    example.page.locator(".term-form button").click()
    example.page.locator(".row.proposed").first.wait_for()
    assert all("havre" in text for text in example.proposals().values())
    example.page.get_by_role("button", name="Undo", exact=True).click()
    example.page.wait_for_function("() => !document.querySelector('.row.proposed')")
    example.page.wait_for_function("() => document.querySelectorAll('.terms li').length === 1")


def test_doubtful_sentences_are_walked_through(workbench: Workbench) -> None:
    workbench.open_text()
    for index in (2, 5):
        workbench.row(index).locator(".target").click()
        workbench.row(index).locator("textarea").fill("port port port port port port")
        workbench.page.keyboard.press("Alt+ArrowDown")
        workbench.page.locator(f"#s{index}.doubtful").wait_for()
    workbench.page.keyboard.press("Escape")
    workbench.choose(0)
    doubtful = workbench.page.evaluate(
        "() => [...document.querySelectorAll('.row.doubtful')].map((r) => Number(r.dataset.index))"
    )
    assert {2, 5} <= set(doubtful)
    seen = []
    for _ in doubtful:
        workbench.page.keyboard.press("d")
        seen.append(workbench.current())
    assert seen == doubtful
    workbench.page.keyboard.press("Shift+D")
    assert workbench.current() == doubtful[-2]
    assert "repetition" in workbench.row(2).locator(".reasons").inner_text()
    workbench.page.locator("[data-filter=doubtful]").click()
    assert workbench.page.locator(".row:visible").count() == len(doubtful)


def test_the_work_is_found_again_after_a_reload(example: Workbench) -> None:
    example.correct(1, KNOWN)
    example.row(4).locator(".target").click()
    example.row(4).locator("textarea").fill("Un brouillon.")
    example.page.reload()
    example.wait_until_done()
    assert example.translations()[1] == KNOWN
    assert example.states()[1] == "confirmed"
    assert example.current() == 4
    example.page.keyboard.press("e")
    assert example.row(4).locator("textarea").input_value() == "Un brouillon."
    example.page.keyboard.press("Escape")
    example.page.locator(".home").click()
    example.page.locator(".job a").first.click()
    example.wait_until_done()
    assert example.translations()[1] == KNOWN


def test_another_browser_sees_each_change(example: Workbench, browser: Any, address: str) -> None:
    with opened(browser, address) as other:
        other.page.goto(example.page.url)
        other.wait_until_done()
        example.correct(1, KNOWN)
        other.page.locator("#s1[data-state=confirmed]").wait_for()
        assert other.translations()[1] == KNOWN


def test_two_people_do_not_overwrite_each_other(example: Workbench, browser: Any, address: str) -> None:
    with opened(browser, address) as other:
        other.page.goto(example.page.url)
        other.wait_until_done()
        other.row(3).locator(".target").click()
        other.row(3).locator("textarea").fill("Le texte de la deuxième personne.")
        example.correct(3, "Le texte de la première personne.")
        other.page.locator("#s3[data-state=confirmed]").wait_for()
        other.page.locator(".notice").wait_for()
        assert "Le texte de la première personne." in other.page.locator(".notice").inner_text()
        assert other.row(3).locator("textarea").input_value() == "Le texte de la deuxième personne."
        other.page.keyboard.press("Enter")
        example.page.locator("#s3 .target", has_text="deuxième").wait_for()


def test_a_lost_connection_keeps_the_text(example: Workbench) -> None:
    example.page.context.set_offline(True)
    example.row(0).locator(".target").click()
    example.row(0).locator("textarea").fill("Le port est fermé.")
    example.page.keyboard.press("Enter")
    example.page.locator("#s0 .reasons", has_text="not saved").wait_for()
    example.row(3).locator(".target").click()
    example.row(3).locator("textarea").fill("Le port compte.")
    example.page.keyboard.press("Alt+ArrowDown")
    example.page.locator(".notice", has_text="2 sentences are not saved").wait_for()
    example.page.context.set_offline(False)
    example.page.locator(".notice button", has_text="Try again").click()
    example.page.locator("#s0[data-state=confirmed]").wait_for()
    example.page.locator(".notice").wait_for(state="detached")
    example.page.locator("#s3 .reasons").wait_for(state="detached")
    assert [example.translations()[each] for each in (0, 3)] == ["Le port est fermé.", "Le port compte."]
    assert example.states()[3] == "translated"
    example.expect_problems("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK")


def test_sentences_are_saved_when_the_server_is_back(browser: Any, tmp_path: Path) -> None:
    with opened(browser, "http://localhost") as workbench:
        with running(tmp_path) as workbench.address:
            workbench.open_text()
        workbench.row(0).locator(".target").click()
        workbench.row(0).locator("textarea").fill("Le port est fermé.")
        workbench.page.keyboard.press("Enter")
        workbench.page.locator(".notice", has_text="1 sentence is not saved").wait_for()
        port = int(workbench.address.rstrip("/").rsplit(":", 1)[1])
        with running(tmp_path, port=port):
            workbench.page.locator("#s0[data-state=confirmed]").wait_for()
            workbench.page.locator(".notice").wait_for(state="detached")
            workbench.page.goto("about:blank")  # it would log that the server is gone
        workbench.expect_problems("ERR_")


def test_a_sentence_is_edited_again_while_it_is_saved(example: Workbench) -> None:
    held: list[Any] = []
    example.page.route("**/sentences/0", lambda route: route.continue_() if held else held.append(route))
    example.row(0).locator(".target").click()
    example.row(0).locator("textarea").fill("Le port est fermé.")
    example.page.keyboard.press("Enter")
    example.page.keyboard.press("Alt+ArrowUp")
    example.page.keyboard.type(" Oui.")
    held[0].continue_()
    example.said("Sentence 1 confirmed")
    example.page.keyboard.type(" Non.")
    example.page.keyboard.press("Enter")
    example.page.locator("#s0 .target", has_text="Le port est fermé. Oui. Non.").wait_for()
    assert example.page.locator(".notice").count() == 0


def test_what_was_typed_is_shown_after_a_reload(example: Workbench) -> None:
    example.row(4).locator(".target").click()
    example.row(4).locator("textarea").fill("Un brouillon.")
    example.page.reload()
    example.wait_until_done()
    assert "Un brouillon." in example.row(4).locator(".target").inner_text()
    assert "not saved" in example.row(4).locator(".reasons").inner_text()
    example.choose(4)
    example.page.keyboard.press("Enter")
    example.page.locator("#s4[data-state=confirmed]").wait_for()
    assert example.translations()[4] == "Un brouillon."
    assert example.row(4).locator(".reasons").count() == 0
