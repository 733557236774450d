"""Messages in standard spelling, and texts that only look like messages."""

from __future__ import annotations

import pytest

from docgraph.translation.text.informal_english import standard_english
from docgraph.translation.text.preprocessing import Preprocessor
from translation.translator_examples import english_to_french


@pytest.fixture(scope="module")
def preprocessor() -> Preprocessor:
    return english_to_french()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Can't wait! Couldn't believe it.", "I can't wait! I couldn't believe it."),
        ("Hope to see you. We hope to win.", "I hope to see you. We hope to win."),
        ("Would definitely come back. Will not buy it", "I would definitely come back. I will not buy it"),
        ("Will return the value.", "Will return the value."),
        ("Would you recommend it? Would love do?", "Would you recommend it? Would love do?"),
        ("TL;DR: book it!", "In short: book it!"),
        ("Can't open the file.", "Can't open the file."),
        ("i cant open it and it doesnt beep", "I can't open it and it doesn't beep"),
        ("my oven wont start", "My oven won't start"),
        ("Im late, ill call you. Dont wait", "I'm late, I'll call you. Don't wait"),
        ("lets go, its too dark", "Let's go, it's too dark"),
        ("its not mine, id rather walk", "It's not mine, I'd rather walk"),
        ("I DONT know, the shop wasnt open.", "I don't know, the shop wasn't open."),
        ("You should of asked.", "You should have asked."),
        ("I`m sure it´s here.", "I'm sure it's here."),
        ("Can u tell me if ur ready?", "Can you tell me if you're ready?"),
        ("ur the first, where is ur ticket", "You're the first, where is your ticket"),
        ("thx, c u tmrw", "Thanks, see you tomorrow"),
        ("r u sure? the light is red bc i pressed it", "Are you sure? the light is red because I pressed it"),
        ("btw the lift works", "By the way, the lift works"),
        ("sure, np. a bit crowded tho", "Sure, no problem. a bit crowded though"),
        ("AFAIK it is free, btw.", "As far as I know, it is free, by the way."),
        ("pls be there b4 noon", "Please be there before noon"),
        ("tea w/ milk or w/o milk", "Tea with milk or without milk"),
        ("We recieved alot of letters untill friday.", "We received a lot of letters until Friday."),
        ("This is sooo goood, loooove it!", "This is so good, love it!"),
        ("my 5yo son, he is 6 y/o", "My 5-year-old son, he is 6 years old"),
        (
            "The soup was hot,the bread was not.Will come back.",
            "The soup was hot, the bread was not. I will come back.",
        ),
        ("Is it new?If not,tell me", "Is it new? If not, tell me"),
        ("does it fit a small van", "Does it fit a small van"),
        ("hi emma, are you in", "Hi Emma, are you in"),
        ("Size：10（wide）", "Size: 10 (wide)"),
    ],
)
def test_messages_are_read_in_standard_spelling(text: str, shown: str) -> None:
    assert standard_english(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "He was wont to walk, as is its wont, and he spoke thieves' cant.",
        "She fell ill and has an id, this lets you see its name.",
        "Let u and v be vectors; if u is zero, u = v.",
        "Vowels are a, e, i, o and u. For each i in the list, i is odd.",
        "Rainbach im Innkreis",
        "We saw Dont and met Ty Cole, an RN at the IMO.",
        "Call np.zeros, Temporal.Now, foo_dont, dont() and user@dont.",
        "Use a,b or my?name or th?n; Node.Js and Forms!Box.",
        "a pear and its core, its cold water and its good sides",
        "Chapter viii, a dddot, www and an aardvark.",
        "and he will come, as they did",
        "green apples, small pears",
        "The hows and whys of it",
    ],
)
def test_other_texts_are_unchanged(text: str) -> None:
    assert standard_english(text) == text


def test_names_have_capitals_in_a_message_without_capitals(preprocessor: Preprocessor) -> None:
    assert preprocessor.normalize("we fly to london with peter") == "we fly to London with Peter"
    assert preprocessor.normalize("You fly to london") == "You fly to london"
    assert preprocessor.normalize("london peter") == "london peter"


@pytest.mark.parametrize(
    "text", ["I think he's a great writer.", "the success hung in the balance", "I met the king and the president."]
)
def test_common_words_have_no_capitals_in_a_message_without_capitals(preprocessor: Preprocessor, text: str) -> None:
    assert preprocessor.normalize(text) == text


def test_units_of_time_are_written_out(preprocessor: Preprocessor) -> None:
    assert preprocessor.normalize("It took 2 hrs and 5mins.") == "It took 2 hours and 5 minutes."
