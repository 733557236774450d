"""Language check: clear cases are refused, and only these."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.translation.language_check import ENOUGH, NAMES, check_language, other_language

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


def test_short_and_mixed_texts_are_not_refused() -> None:
    assert len(TEXTS["de"]) < ENOUGH
    assert other_language([TEXTS["de"]], "en") is None
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
