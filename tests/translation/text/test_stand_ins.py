"""Stand-ins for code, placeholders and addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.formats.literals import LITERAL
from docgraph.translation.text.stand_ins import hide, lost, mask, present, restore, without


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Cannot open %s in {folder}.", "Cannot open X1 in X2."),
        ("Hello {{name}}, set $HOME.", "Hello X1, set X2."),
        ("See https://a.org/b?c=1, or write to a.b@c.org.", "See X1, or write to X2."),
        ("Write to <a@b.org>.", "Write to X1."),
        ("Call foo_bar() with --no-cache first.", "Call X1 with X2 first."),
        ("Both `a' and ``b`` are `c`s.", "Both X1 and X2 are X3."),
        ("Open %(outdir)s/{name}{sep}output.txt", "Open X1/X2"),
        ("Look at %(outdir)s/output.txt.", "Look at X1."),
        ("The X1 Carbon runs %s.", "The X1 Carbon runs Y1."),
        ("Press <b>OK</b>.", "Press <b>OK</b>."),
        ("The film lasts 1:30:25, from 1:30 to 2:05.", "The film lasts X1, from 1:30 to 2:05."),
        ("He won by 2:1 at 10:15:30 PM.", "He won by X1 at X2."),
        ("He is 6'2\" or 6 ft 2 in tall.", "He is X1 or X2 tall."),
        ("It was 10⁻³ J on Thu Jan 01 1970.", "It was X1 J on X2."),
        ("The book is ISBN 978-3-16-148410-0.", "The book is X1."),
        ("Ulm (/ʊlm/ OOLM, German: [ʊlm]) and/or Bath /bɑːθ/", "Ulm (X1, German: X2) and/or Bath X3"),
        ("Dear XXXX, see #nothinglikehome and #home.", "Dear X1, see X2 and #home."),
        ("No literal at all, 5% down.", "No literal at all, 5% down."),
    ],
)
def test_literals_get_stand_ins(text: str, hidden: str) -> None:
    found, stand_ins = hide(text)
    assert found == hidden
    assert {*stand_ins.values()} <= {text[a:b] for a in range(len(text)) for b in range(a, len(text) + 1)}


@pytest.mark.parametrize(
    "text",
    [
        "Deleted %d.",
        "Copied %(count)s files.",
        "{minutes} minutes ago",
        "%s pages",
        "${fileCount} were found",
        "{0} items",
    ],
)
def test_a_placeholder_for_a_number_is_shown_as_a_number(text: str) -> None:
    hidden, stand_ins = hide(text)
    [number] = stand_ins
    assert number.isdigit()
    assert number in hidden


@pytest.mark.parametrize("text", ["%s wants to go.", "{country} is far.", "{user} likes {title}", "See {0}."])
def test_other_placeholders_are_no_numbers(text: str) -> None:
    _, stand_ins = hide(text)
    assert not any(map(str.isdigit, stand_ins))


def test_atoms_get_stand_ins_and_touching_ones_share_one() -> None:
    assert hide("The <code>x</code><code>y</code> flag", [(4, 18), (18, 32)]) == (
        "The X1 flag",
        {"X1": "<code>x</code><code>y</code>"},
    )


@pytest.mark.parametrize(
    ("text", "hidden"),
    [("# item", "1 item"), ("# items", "57 items"), ("Add # child", "Add 1 child"), ("# people", "57 people")],
)
def test_the_number_of_a_plural_is_shown_as_a_number(text: str, hidden: str) -> None:
    place = text.index("#")
    assert hide(text, [(place, place + 1)])[0] == hidden
    assert hide("1 of # item", [(5, 6)])[0] == "1 of 57 item"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("{{count}} item", "1 item"),
        ("You have %{count} messages", "You have 57 messages"),
        ("100%{x}", "100%X1"),
        ("{count} new message", "1 new message"),
        ("%d user is online", "1 user is online"),
        ("{{count}} items", "57 items"),
        ("%d user licenses", "57 user licenses"),
    ],
)
def test_a_number_before_a_singular_is_one(text: str, hidden: str) -> None:
    assert hide(text)[0] == hidden


def test_a_placeholder_of_xliff_may_be_a_number() -> None:
    number = '<x id="INTERPOLATION"/>'
    assert hide(f"{number} minutes ago", [(0, len(number))])[0] == "57 minutes ago"
    assert hide(f"{number} was here", [(0, len(number))])[0] == "X1 was here"


def test_atoms_inside_words_are_removed() -> None:
    assert hide("A<x/>B is <y/> here", [(1, 5), (10, 14)]) == ("AB is X1 here", {"X1": "<y/>"})


def test_a_stand_in_must_occur_exactly_once_as_a_word() -> None:
    _, stand_ins = hide("Copy %s to {folder}.")
    assert lost("Copiez X1 vers X2.", stand_ins) == []
    assert lost("Copiez X1 vers X1.", stand_ins) == ["%s", "{folder}"]
    assert lost("Copiez X12.", stand_ins) == ["%s", "{folder}"]
    assert restore("Vers X2, copiez X1.", stand_ins) == "Vers {folder}, copiez %s."
    assert mask("Vers {folder}, copiez %s.", stand_ins) == "Vers X2, copiez X1."
    assert present("Copiez X1.", stand_ins) == {"X1": "%s"}
    assert without("Copiez X1.", stand_ins).split() == ["Copiez", "."]


@pytest.mark.parametrize(
    ("text", "is_number"),
    [("{attempts} attempts left", True), ("{n} left", True), ("{name} left", False), ("Delete {file}s", False)],
)
def test_placeholders_for_numbers_are_numbers(text: str, is_number: bool) -> None:
    _, stand_ins = hide(text)
    assert any(stand_in.isdigit() for stand_in in stand_ins) == is_number


_PARTS = [
    "%s",
    "{0}",
    "{{ a }}",
    "$HOME",
    "a_b",
    "https://a.org",
    "`x y`",
    "X1",
    "Y2",
    "57",
    "word",
    " ",
    ".",
    "<b>",
    "s",
]


@given(st.lists(st.sampled_from(_PARTS), max_size=12).map("".join))
def test_restored_text_is_the_text_and_nothing_is_lost(text: str) -> None:
    hidden, stand_ins = hide(text)
    assert lost(hidden, stand_ins) == []
    restored = restore(hidden, stand_ins)
    # Only the plural of code is dropped: `Promise`s.
    assert restored.replace("s", "") == text.replace("s", "")
    assert all(match[0].startswith("<") or match[0] in restored for match in LITERAL.finditer(hidden))


def test_marks_of_notes_are_removed() -> None:
    text = "A note<sup>1</sup>, or two,[^2] in `code`."
    atoms = [(text.index(atom), text.index(atom) + len(atom)) for atom in ("<sup>1</sup>", "[^2]", "`code`")]
    assert hide(text, atoms)[0] == "A note, or two, in X1."
