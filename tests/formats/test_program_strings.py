"""Format strings keep their directives, and mnemonics their mark."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.formats.program_strings import ProgramString

PARTS = ["%d", "%s", "%(name)s", "%2$s", "%.1f", "%%", "%", "s", "d", " ", "5", "Word "]


@pytest.mark.parametrize(
    ("raw", "text", "new", "written"),
    [
        ("Progress: %3d%%", "Progress: %3d%", "Avancement : %3d\u00a0%", "Avancement : %3d\u00a0%%"),
        ("Disk is %d%% full", "Disk is %d% full", "Disque à %d % plein", "Disque à %d %% plein"),
        ("100%% of %s", "100% of %s", "100 % de %s", "100 %% de %s"),
        ("%d percent of %s", "%d percent of %s", "%d % de %s", "%d %% de %s"),
        ("%d%% of %s", "%d% of %s", "%d %% de %s", "%d %% de %s"),
    ],
)
def test_per_cent_signs_of_format_strings(raw: str, text: str, new: str, written: str) -> None:
    assert ProgramString(raw).text == text
    assert ProgramString(raw).write(new) == written


@pytest.mark.parametrize("raw", ["100% sure", "100%% sure", "5% of %s", "50%discount", "%d/%m/%Y", "%%d and %d%%"])
def test_other_per_cent_signs_stay(raw: str) -> None:
    assert ProgramString(raw).text == raw


def test_the_file_may_say_what_a_format_string_is() -> None:
    assert ProgramString("100%% sure", is_format=True).text == "100% sure"
    assert ProgramString("100%% sure", is_format=True).write("sûr à 100 %") == "sûr à 100 %%"
    assert ProgramString("%d%% of %s", is_format=False).text == "%d%% of %s"


@pytest.mark.parametrize("new", ["%d de %s", "%s", "", "%s et %s : %d", "%S : %d", "%s : % d"])
def test_a_text_with_other_directives_is_refused(new: str) -> None:
    assert ProgramString("%s: %d").write(new) is None


def test_directives_that_name_their_argument_may_change_places() -> None:
    assert ProgramString("%(a)s of %(b)s").write("%(b)s : %(a)s") == "%(b)s : %(a)s"
    assert ProgramString("%1$s of %2$d").write("%2$d : %1$s") == "%2$d : %1$s"


TEXTS = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


@given(TEXTS, st.none() | st.booleans())
def test_a_text_that_is_read_can_be_written(raw: str, is_format: bool | None) -> None:
    string = ProgramString(raw, is_format)
    assert string.write(string.text) == raw
    assert string.write(f"{string.text}.") == f"{raw}."


@given(st.lists(st.sampled_from([part for part in PARTS if part != "%"])).map("".join), TEXTS)
def test_no_text_breaks_a_format_string(raw: str, new: str) -> None:
    string = ProgramString(f"{raw} %d")
    for text in (new, f"{new} {string.text}"):
        written = string.write(text)
        assert written is None or directives(written) == directives(string.raw)


def directives(text: str) -> list[str]:
    """Return what takes an argument; fails for a per cent sign that is no directive."""
    found = re.findall(r"%(?:\d\$|\(name\)|\.1)?[dsf]|%%|%", text)
    assert "%" not in found
    return sorted(each for each in found if each != "%%")


@pytest.mark.parametrize(
    ("raw", "text", "new", "written"),
    [
        ("_File", "File", "Fichier", "_Fichier"),
        ("Pre_ferences", "Preferences", "Préférences", "Pré_férences"),
        ("E&xit", "Exit", "Quitter", "&Quitter"),
        ("&Open...", "Open...", "Ouvrir...", "&Ouvrir..."),
        ("Save &As...", "Save As...", "Enregistrer sous... (a)", "Enregistrer sous... (&a)"),
        ("Save _as…", "Save as…", "Sauver…", "S_auver…"),
        ("&1 %s", "1 %s", "%s 1", "%s &1"),
        ("&Find <b>%s</b>", "Find <b>%s</b>", "<b>%s</b> $f &lt;", "<b>%s</b> $f &lt;"),
        ("&Name: {name}", "Name: {name}", "{name} : nom", "{name} : &nom"),
        ("&Find", "Find", "Cherc&her", "Cherc&her"),
        ("_Yes", "Yes", "!", "!"),
        ("&Save\tCtrl+S", "Save\tCtrl+S", "Conserver\tCtrl+S", "Con&server\tCtrl+S"),
    ],
)
def test_mnemonics(raw: str, text: str, new: str, written: str) -> None:
    string = ProgramString(raw, marks=("&", "_"))
    assert string.text == text
    assert string.write(new) == written
    assert string.write(text) == raw


@pytest.mark.parametrize(
    "raw",
    [
        *("AT&T", "R&D", "Q&A", "salt & pepper", "a&b&c", "Fish && Chips", "&nbsp;word", "&nbsp word", "?a=1&b=2"),
        *("my_file_name", "foo_bar", "file_name", "File_Name", "The _id field is required.", "_id", "_", "a _ b"),
        *("x/_file", "_file.txt", "__init__", "user_id", "MAX_SIZE"),
    ],
)
def test_other_marks_stay(raw: str) -> None:
    assert ProgramString(raw, marks=("&", "_")).text == raw
