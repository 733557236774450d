"""Language check: clear cases are refused, and only these."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document, Sentence
from docgraph.errors import DocgraphError
from docgraph.translation.text.language_check import ENOUGH, NAMES, check_language, foreign_sentences, other_language

TEXTS = {
    "en": "The commission made a new proposal, and we do not know what will become of it. They are not in a hurry.",
    "fr": "La commission a fait une nouvelle proposition, et nous ne savons pas ce qui va se passer dans les mois.",
    "de": "Die Kommission hat einen neuen Vorschlag gemacht, und wir wissen nicht, was aus ihm wird, wenn sie geht.",
    "es": "La comisión ha hecho una nueva propuesta, y no sabemos qué va a pasar con ella durante los meses próximos.",
    "it": "La commissione ha fatto una nuova proposta, e non sappiamo che cosa ne sarà nei mesi che sono davanti.",
    "pt": "A comissão fez uma nova proposta, e não sabemos o que vai ser dela nos meses que estão por vir para nós.",
    "nl": "De commissie heeft een nieuw voorstel gedaan, en wij weten niet wat er van wordt als zij niet meer is.",
    "pl": "Komisja przedstawiła nowy wniosek i nie wiemy, co się z nim stanie, bo to jest bardzo trudne dla nich.",
    "sv": "Kommissionen har lagt fram ett nytt förslag, och vi vet inte vad som ska hända med det när de är klara.",
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("model", TEXTS)
def test_another_language_is_named(text: str, model: str) -> None:
    expected = None if text == model else NAMES[text]
    assert other_language([TEXTS[text]] * 3, model) == expected


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Мы не знаем, что будет дальше.", "Cyrillic"),
        ("我们不知道以后会怎么样。", "Chinese"),
        ("لا نعرف ماذا سيحدث", "Arabic"),
    ],
)
def test_another_script_is_named(text: str, script: str) -> None:
    other = other_language([text] * 30, "en")
    assert other is not None
    assert other.startswith(script)


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        (TEXTS["en"], "zh", "English"),
        (TEXTS["fr"], "ru", "French"),
        ("我们不知道以后会怎么样。", "zh", None),
        ("Мы не знаем, что будет дальше.", "ru", None),
        ("Мы не знаем, что будет дальше.", "zh", "Cyrillic script"),
        (TEXTS["en"], "sw", None),
    ],
)
def test_languages_with_a_script_of_their_own(text: str, model: str, expected: str | None) -> None:
    assert other_language([text] * 8, model) == expected


def test_a_short_text_in_another_script_is_refused() -> None:
    assert other_language(["新的围墙将耗资九百万欧元。"] * 4, "en") == "Chinese or Japanese script"
    assert other_language(["新的围墙将耗资九百万欧元。"], "en") is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (TEXTS["de"], "German"),
        ("Le chat dort sur le canapé. Il fait beau.", "French"),
        ("Le dernier mois, il me demandait de l'argent.", "French"),
        ("Der Hund schläft nicht. Er hat Hunger und muss auf die Straße gehen.", "German"),
    ],
)
def test_a_short_text_in_another_language_is_refused(text: str, language: str) -> None:
    assert len(text) < ENOUGH
    assert other_language(text.split(". "), "en") == language


@pytest.mark.parametrize(
    "text",
    [
        "Bonjour!",
        "C'est la vie",
        "San Pedro de la Costa, Los Angeles, Maria de los Santos",
        "Charles de Gaulle lived in the rue de la Paix.",
        "Crème de la crème de Paris",
        "Draw point (node), keys Ctrl+S, Ctrl+Y, S, Y, M, T and C; this panel",
        "Rio de Janeiro do Sul",
    ],
)
def test_short_texts_with_foreign_words_are_not_refused(text: str) -> None:
    assert other_language([text], "en") is None
    assert other_language([text] * 2, "en") is None


def test_letters_are_no_words_of_a_language() -> None:
    keys = "Panel: draw point, shortcut keys Ctrl+S, draw line, shortcut keys Ctrl+Y, undo, shortcut keys Ctrl+M."
    assert other_language([keys] * 4, "en") is None


def test_mixed_texts_are_not_refused() -> None:
    assert other_language([TEXTS["de"]] * 6 + [TEXTS["en"]], "en") is None
    assert other_language(["foo.bar(x) -> None"] * 100, "en") is None


def test_the_message_says_what_to_do() -> None:
    documents = [Document.from_sentences([TEXTS["fr"]] * 3)]
    with pytest.raises(DocgraphError, match=r"a\.txt: looks like French, but the model translates from English; pass"):
        check_language(documents, "en", "a.txt")
    check_language(documents, "fr", "a.txt")
    check_language(documents, "sw", "a.txt")
    check_language(documents, None)


@given(st.lists(st.text(max_size=80), max_size=20), st.integers(0, 20))
def test_a_text_with_enough_of_its_own_language_is_never_refused(noise: list[str], place: int) -> None:
    own = [TEXTS["en"]] * (1 + sum(map(len, noise)) // (5 * len(TEXTS["en"])))
    assert other_language([*noise[:place], *own, *noise[place:]], "en") is None


def document_of(*sentences: tuple[str, int, str]) -> Document:
    """A document of (text, paragraph, declared language)."""
    found, start = [], 0
    for text, paragraph, language in sentences:
        found.append(Sentence(text, start, start + len(text), paragraph, language=language))
        start += len(text) + 1
    return Document(tuple(found), " ".join(text for text, _, _ in sentences), format="text")


def test_a_document_in_another_language_has_no_foreign_paragraphs() -> None:
    assert foreign_sentences(Document.from_sentences([TEXTS["fr"]] * 3), "en") == frozenset()
    assert foreign_sentences(Document.from_sentences([*[TEXTS["fr"]] * 3, TEXTS["en"]]), "en") == {0, 1, 2}


@pytest.mark.parametrize("other", [code for code in TEXTS if code != "en"])
def test_lines_in_another_language_are_foreign(other: str) -> None:
    lines = [TEXTS["en"], TEXTS[other], "A file name: max_positions", TEXTS["en"]]
    assert foreign_sentences(Document.from_sentences(lines), "en") == {1}
    assert foreign_sentences(Document.from_sentences(lines), other) == {0, 3}
    assert foreign_sentences(Document.from_sentences(lines), "ru") == foreign_sentences(
        Document.from_sentences(lines), None
    )


def test_a_paragraph_is_foreign_as_a_whole() -> None:
    first, second = "Il faut bien que nous le fassions dans les temps.", "D'accord !"
    document = document_of((TEXTS["en"], 0, ""), (first, 1, ""), (second, 1, ""), (second, 2, ""))
    assert foreign_sentences(document, "en") == {1, 2}


@pytest.mark.parametrize(
    ("declared", "text", "is_foreign"),
    [
        ("fr", "Liberté, égalité, fraternité", True),
        ("en", "Liberté, égalité, fraternité", False),
        ("", "Liberté, égalité, fraternité", False),
        ("fr", "The door of the house was open.", False),
        ("de", "Freude schöner Götterfunken", True),
    ],
)
def test_declared_languages_count_where_words_do_not_decide(declared: str, text: str, is_foreign: bool) -> None:
    document = document_of((TEXTS["en"], 0, "en"), (text, 1, declared))
    assert foreign_sentences(document, "en") == ({1} if is_foreign else set())


@pytest.mark.parametrize("language", ["en", "sw"])
def test_languages_of_web_pages_are_declared_on_purpose(language: str) -> None:
    sentences = [("Hello", 0, ""), ("The door of the house was open.", 1, "de"), ("Freude", 2, "de")]
    assert foreign_sentences(replace(document_of(*sentences), format="html"), language) == {1, 2}


def test_a_language_that_is_declared_everywhere_does_not_count() -> None:
    document = document_of((TEXTS["en"], 0, "fr"), ("Summary", 1, "fr"), ("Zusammenfassung", 2, "de"))
    assert foreign_sentences(document, "en") == {2}


@pytest.mark.parametrize(
    "text", ["A very good, a very kind gentleman.", "plan means x (plan de réduction des gaz)", "C'est la vie", ""]
)
def test_unclear_texts_are_not_foreign(text: str) -> None:
    assert foreign_sentences(Document.from_sentences([text]), "en") == frozenset()
