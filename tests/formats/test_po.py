"""PO files: untranslated messages are translated and marked fuzzy; everything else stays."""

from __future__ import annotations

import ast
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render

HEADER = """# Title
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: x\\n"
"Language: \\n"
"Content-Type: text/plain; charset=CHARSET\\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"
"""
MESSAGES = """
#. extracted
#: a.py:1
#, python-format
msgid "Hello %(name)s. How are \\"you\\"?"
msgstr ""

#| msgid "old"
msgctxt "menu"
msgid "File"
msgid_plural "Files"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
msgid "done"
msgstr "fait"

msgid ""
"A long text that goes\\n"
"over lines."
msgstr ""

#~ msgid "obsolete"
#~ msgstr ""
"""


def load(source: str | bytes) -> Document:
    (document,) = read(io.BytesIO(source.encode() if isinstance(source, str) else source), "po")
    return document


def _shortened(text: str) -> str:
    return re.sub(r"%\(\w+\)s|[a-z]+", lambda match: match[0] if match[0][0] == "%" else "x", text)


def translate(source: str | bytes, language: str | None = "fr") -> str:
    document = load(source)
    content = render([document], [[_shortened(text) for text in document.texts]], language)
    assert isinstance(content, bytes)
    return content.decode()


def test_messages_without_translation_are_translated_and_fuzzy() -> None:
    assert (
        translate(HEADER + MESSAGES)
        == """# Title
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: x\\n"
"Language: fr\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"

#. extracted
#: a.py:1
#, fuzzy, python-format
msgid "Hello %(name)s. How are \\"you\\"?"
msgstr "Hx %(name)s. Hx x \\"x\\"?"

#, fuzzy
#| msgid "old"
msgctxt "menu"
msgid "File"
msgid_plural "Files"
msgstr[0] "Fx"
msgstr[1] "Fx"

#, fuzzy
msgid "done"
msgstr "fait"

#, fuzzy
msgid ""
"A long text that goes\\n"
"over lines."
msgstr ""
"A x x x x\\n"
"x x."

#~ msgid "obsolete"
#~ msgstr ""
"""
    )


@pytest.mark.parametrize(
    ("rule", "forms"),
    [
        ("nplurals=1; plural=0;", ["Fx"]),
        ("nplurals=2; plural=(n > 1);", ["Fx", "Fx x"]),
        ("nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);", ["Fx", "Fx x", "Fx x"]),
    ],
)
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_plural_has_as_many_forms_as_the_header_asks_for(rule: str, forms: list[str], slots: int) -> None:
    empty = "".join(f'msgstr[{n}] ""\n' for n in range(slots))
    source = (
        f'msgid ""\nmsgstr "Plural-Forms: {rule}\\n"\n\nmsgid "File"\nmsgid_plural "Files there"\n{empty}\nmsgid "a1"\n'
    )
    new = translate(source)
    found = re.findall(r'^msgstr\[(\d)\] "(.*)"$', new, re.M)
    expected = [re.sub("Fx$", "Fx x", form) for form in forms] if len(forms) == 1 else forms
    assert found == [(str(n), form) for n, form in enumerate(expected)]
    assert new.endswith('"\n\nmsgid "a1"\n')


def test_format_strings_stay_valid() -> None:
    source = '#, c-format\nmsgid "Disk is %d%% full"\nmsgstr ""\n\n#, c-format\nmsgid "%s of %d"\nmsgstr ""\n'
    document = load(source)
    assert document.texts == ["Disk is %d% full", "%s of %d"]
    new = render([document], [["Le disque est plein à %d %", "%d de %s"]])
    expected = source.replace('full"\nmsgstr ""', 'full"\nmsgstr "Le disque est plein à %d %%"')
    assert new == expected.replace("#, c-format", "#, fuzzy, c-format", 1).encode()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ("#, c-format", "100% sure"),
        ("#, fuzzy, python-format", "100% sure"),
        ("#, no-c-format", "100%% sure"),
        ("#, wrap", "100%% sure"),
    ],
)
def test_flags_say_what_a_format_string_is(flags: str, text: str) -> None:
    assert load(f'{flags}\nmsgid "100%% sure"\nmsgstr ""\n').texts == [text]


def test_mnemonics_are_read_and_written() -> None:
    source = 'msgid "_File"\nmsgstr ""\n\nmsgid "E&xit"\nmsgstr ""\n'
    document = load(source)
    assert document.texts == ["File", "Exit"]
    new = render([document], [["Fichier", "Quitter"]])
    assert re.findall(b'msgstr "(.*)"', bytes(new, "utf-8") if isinstance(new, str) else new) == [
        b"_Fichier",
        b"&Quitter",
    ]


def test_unchanged_texts_count_as_translations_only_if_the_language_is_known() -> None:
    source = 'msgid "Docker"\nmsgstr ""\n'
    document = load(source)
    assert render([document], [["Docker"]]) == source.encode()
    assert render([document], [["Docker"]], "fr") == b'#, fuzzy\nmsgid "Docker"\nmsgstr "Docker"\n'


def test_a_file_into_another_language_is_refused() -> None:
    source = 'msgid ""\nmsgstr "Language: de_AT\\n"\n\nmsgid "One"\nmsgstr ""\n'
    with pytest.raises(DocgraphError, match="declares translations into 'de_AT', but the model translates into 'fr'"):
        translate(source)
    assert 'msgstr "Ox"' in translate(source, "de")


def test_other_character_sets_are_kept_if_they_suffice() -> None:
    source = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n# é\nmsgid "One"\nmsgstr ""\n'
    document = load(source.encode("latin-1"))
    assert render([document], [["été"]]) == (
        source.replace('"One"\nmsgstr ""', '"One"\nmsgstr "été"').replace('msgid "One', '#, fuzzy\nmsgid "One')
    ).encode("latin-1")
    new = render([document], [["œuf"]])
    assert isinstance(new, bytes)
    assert "charset=UTF-8" in new.decode()
    assert 'msgstr "œuf"' in new.decode()


def test_line_ends_are_kept() -> None:
    source = MESSAGES.replace("\n", "\r\n")
    assert translate(source) == translate(MESSAGES).replace("\n", "\r\n")


@pytest.mark.parametrize("source", ["Hello.", 'msgid "a\n', 'msgid "a" b', '"a" "b"'])
def test_other_files_are_refused(source: str) -> None:
    with pytest.raises(DocgraphError, match=r"<stream>:1: this is not a PO file"):
        load(source)


TEXT = st.text(st.sampled_from('ab .\\"\n\té%<>&'), max_size=30).map(lambda text: f"Word {text}")


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


@given(data=st.data(), messages=st.lists(TEXT, min_size=1, max_size=4), split=st.booleans())
def test_new_texts_land_in_their_messages(data: st.DataObject, messages: list[str], split: bool) -> None:
    opening = '""\n' if split else ""
    source = "".join(f'#: {n}\nmsgid {opening}{quoted(text)}\nmsgstr ""\n\n' for n, text in enumerate(messages))
    document = load(source)
    assert render([document]) == source.encode()
    texts = [f"{data.draw(TEXT).split(chr(10))[0]} n{index}" for index, _ in enumerate(document)]
    new = render([document], [texts])
    assert isinstance(new, bytes)
    entries = re.findall(r'#: (\d+)\n(?:#, fuzzy\n)?msgid ((?:"[^\n]*"\n)+)msgstr ((?:"[^\n]*"\n)+)', new.decode())
    assert len(entries) == len(messages)
    made = ""
    for (_, msgid, msgstr), text in zip(entries, messages, strict=True):
        assert "".join(ast.literal_eval(line) for line in msgid.splitlines()) == text
        translation = "".join(ast.literal_eval(line) for line in msgstr.splitlines())
        assert (text.endswith("\n"), text.count("\n")) == (translation.endswith("\n"), translation.count("\n"))
        made += translation
    assert all(f"n{index}" in made for index in range(len(texts)))


def test_spaces_after_the_last_line_break_stay() -> None:
    document = load('msgid ""\n"Word \\n  "\nmsgstr ""\n')
    new = render([document], [["Mot"]])
    assert isinstance(new, bytes)
    assert new.decode().endswith('msgstr ""\n"Mot \\n"\n"  "\n')
