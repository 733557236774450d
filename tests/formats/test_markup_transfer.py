from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import InlineMarkup, Sentence
from docgraph.formats.markup_transfer import transfer_markup

TAG = re.compile(r"</?[a-z]>")


def sentence(raw: str) -> Sentence:
    """Make a sentence from a raw form with tags such as `<b>` and line breaks."""
    markup, text, end = [], "", 0
    for mark in re.finditer(r"</?[a-z]>|\n", raw):
        text += raw[end : mark.start()]
        markup.append(InlineMarkup(len(text), mark[0]))
        text += " " if mark[0] == "\n" else ""
        end = mark.end()
    return Sentence(text + raw[end:], 0, len(raw), markup=tuple(markup))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the <b>cat</b> sat", "le <b>chat</b> dort"),
        ("a <b>cat</b>, sat", "un <b>chat</b>, assis"),
        ("a <b>c</b> d", "<b>x</b>"),
        ("a <b>c</b> d", "<b></b>"),
        ("one two <b>three <i>four</i></b> five", "<b><i>un</i></b>"),
        ("un<b>believ</b>able", "<b>pas croyable</b>"),
        ("one two\nthree four", "un deux\ntrois quatre"),
        ("one\ntwo\nthree", "un"),
        ("我<b>爱</b>你", "我们<b>喜</b>欢你"),
        ("see the <b>documentation</b> for a list", "voir la <b>documentation</b> pour une liste"),
        ("long ago at <b>A, B</b> he wrote this all", "<b>A, B</b> écrit par lui il y a longtemps"),
        ("a big <b>cat</b>, Acme, Rome (1999): it was there", "un <b>chat</b>, Acme, Rome (1999) : il y est resté"),
        ("I have added the log (<b>).", "J'ai joint le fichier de journal (<b>)."),
        ("we talk of them,\nand why they explode", "ici, nous parlons de\npourquoi ils explosent"),
        ("it is so\nreally?", "c'est\u00a0ainsi\nvraiment\u00a0?"),
        ('he said "<i>No</i>" again', 'il redit "<i>Non</i>" encore'),
    ],
)
def test_markup_goes_to_the_matching_word(old: str, new: str) -> None:
    assert transfer_markup(sentence(old), TAG.sub("", new), str) == new


@given(
    st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "\n", "word ", "a, ", "中", "x"]), max_size=15),
    st.text("ab ,中.", max_size=30),
)
def test_all_markup_is_kept_in_order_and_no_word_is_cut_or_lost(tokens: list[str], new: str) -> None:
    old = sentence("go" + "".join(tokens) + "on")
    written = transfer_markup(old, new, str)
    marks = re.compile(r"</?[a-z]>|\n")
    kept = [markup.raw for markup in old.markup if markup.raw != "\n"]
    assert TAG.findall(written) == kept
    assert "\n\n" not in written
    assert written.count("\n") <= sum(markup.raw == "\n" for markup in old.markup)
    assert marks.sub("", written).replace(" ", "") == new.replace(" ", "")
    words = re.findall(r"[ab]+", new)
    assert re.findall(r"[ab]+", TAG.sub("", written).replace("\n", " ")) == words


def test_only_text_is_escaped() -> None:
    assert (
        transfer_markup(sentence("one <b>two</b> three"), "x < y", lambda text: text.replace("<", "&lt;"))
        == "x <b>&lt;</b> y"
    )
