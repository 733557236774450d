"""Idioms in plain words."""

from importlib.resources import files

import pytest

from docgraph.annotate.english.verb_forms import verb_forms
from docgraph.translation.text.paraphrases import Paraphraser, load_paraphraser, parse_idiom
from docgraph.translation.translator import Translator

TABLE = """\
v	call it a day	stop there
v	make up one's mind	decide
v	hold one's breath	stop one's breathing
v	take … for granted	consider … as normal
v	come under fire	be criticised
v	put off	postpone
v	look down	despise
v	look down on	despise
v	drive up the wall	give a headache
v	be in the same boat	share a fate
v	be at large	be free
x	out of the blue	without warning"""


@pytest.fixture(scope="module")
def paraphrase() -> Paraphraser:
    return Paraphraser(map(parse_idiom, TABLE.splitlines()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("They called it a day at six.", "They stopped there at six."),
        ("Let's call it a day.", "Let's stop there."),
        ("Call it a day!", "Stop there!"),
        ("He has finally called it a day.", "He has finally stopped there."),
        ("Calling it a day was wise.", "Stopping there was wise."),
        ("Have you made up your mind? Out of the blue, she left.", "Have you decided? Without warning, she left."),
        ("He held his breath.", "He stopped his breathing."),
        ("She takes all of it for granted.", "She considers all of it as normal."),
        ("The meeting was put off.", "The meeting was postponed."),
        ("He put off the meeting.", "He postponed the meeting."),
        ("She looks down on him.", "She despises him."),
    ],
)
def test_the_paraphrase_has_the_form_of_the_idiom(paraphrase: Paraphraser, text: str, expected: str) -> None:
    assert paraphrase(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The minister came under fire.", "The minister was criticised."),
        ("The ministers came under fire.", "The ministers were criticised."),
        ("It has come under fire.", "It has been criticised."),
        ("I come under fire.", "I am criticised."),
        ("He may come under fire.", "He may be criticised."),
        ("We are in the same boat.", "We share a fate."),
        ("She was in the same boat.", "She shared a fate."),
        ("Two of them were at large.", "Two of them were free."),
    ],
)
def test_be_agrees_with_its_subject(paraphrase: Paraphraser, text: str, expected: str) -> None:
    assert paraphrase(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The noise drove him. It drove up the wall.", "The noise drove him. It gave a headache."),
        ("It has driven up the wall.", "It has given a headache."),
    ],
)
def test_past_and_participle_are_told_apart(paraphrase: Paraphraser, text: str, expected: str) -> None:
    assert paraphrase(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "They put off the meeting.",  # now or then?
        "I'd put off the meeting.",
        "We didn't come under fire.",
        "Put off by the price, he left.",
        "Out Of The Blue is a film.",
        "They called it a day-trip.",
        "He takes, as he said, all for granted.",
    ],
)
def test_what_is_ambiguous_or_no_idiom_stays(paraphrase: Paraphraser, text: str) -> None:
    assert paraphrase(text) == text


def test_the_embedded_table_is_sound() -> None:
    table = (files("docgraph") / "data" / "paraphrases" / "en.tsv").read_text("utf-8")
    idioms = [parse_idiom(line) for line in table.splitlines()]
    assert len({idiom.text for idiom in idioms}) == len(idioms)
    assert [idiom.text for idiom in idioms] == sorted(idiom.text for idiom in idioms)
    for idiom in idioms:
        kept = [word for word in ("…", "one's") if word in idiom.paraphrase.split()]
        assert all(word in idiom.text.split() for word in kept), idiom
        text = f"They will {idiom.text} now.".replace("one's", "their").replace("…", "it")
        assert load_paraphraser()(text) != text, idiom
        assert not idiom.has_verb or verb_forms(idiom.text.split()[0]).base == idiom.text.split()[0]


def test_a_model_with_a_dictionary_reads_idioms_in_plain_words() -> None:
    translator = Translator.load("en-fr")
    assert translator.normalize("He jumped the queue.") == "He passed in front of other people."
