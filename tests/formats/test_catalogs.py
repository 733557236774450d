"""JSON, ARB, YAML, properties and tables: only texts change, and each translation lands in its own value."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render
from docgraph.formats.atoms import shown_texts
from docgraph.formats.string_values import is_text

WORDS = st.lists(
    st.sampled_from(["Alice", "saw", "the door", "it's", '"late"', "a: b", "# 5", "{name}", "é", "- x"]), min_size=1
)
TEXT = WORDS.map(" ".join)
NEW = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=20) | TEXT


def load(source: str | bytes, format: str) -> Document:
    (document,) = read(io.BytesIO(source.encode() if isinstance(source, str) else source), format)
    return document


def translate(source: str | bytes, format: str, language: str | None = "fr") -> str:
    document = load(source, format)
    content = render([document], [[text.upper() for text in document.texts]], language)
    assert isinstance(content, bytes)
    return content.decode()


def one_line(text: str) -> str:
    return " ".join(text.split())


JSON = """{
  // a comment
  "greeting": "Hello there.\\nBye <b>now</b>!",  "count": 3, "list": ["First thing", null],
  "menu": {"file": "File", "url": "https://x.org/a", "color": "#ff00aa", "id": "user_name", "empty": ""},
  "@meta": {"authors": ["Some Body"]}
}
"""


def test_json_values_that_are_text_are_translated() -> None:
    new = translate(JSON, "json")
    expected = JSON.replace("Hello there.\\nBye <b>now</b>!", "HELLO THERE.\\nBYE <b>NOW</b>!")
    assert new == expected.replace("First thing", "FIRST THING").replace('"File"', '"FILE"')


def test_arb_metadata_stay_and_the_locale_is_declared() -> None:
    source = '{"@@locale": "en", "title": "Hello", "@title": {"description": "A title"}}'
    assert translate(source, "arb") == '{"@@locale": "fr", "title": "HELLO", "@title": {"description": "A title"}}'


def test_cases_of_icu_plurals_are_translated_one_by_one() -> None:
    message = "{n, plural, =0{no items} one{# item {of, select, a{in A} other{in all}}} other{# items}}"
    texts = shown_texts(load(json.dumps({"n": message}), "arb"))
    assert texts == ["no items", "# item", "in A", "in all", "# items"]
    new = json.loads(translate(json.dumps({"n": message}), "arb"))["n"]
    assert new == "{n, plural, =0{NO ITEMS} one{# ITEM {of, select, a{IN A} other{IN ALL}}} other{# ITEMS}}"
    assert load('{"n": "{n, plural, one{# item} other{"}', "arb").texts == []


def test_cases_of_java_choices_are_translated_one_by_one() -> None:
    source = "files=Found {0,choice,0#no files|1#one file|1<{0} files in {1}} today.\n"
    assert load(source, "properties").texts == ["Found", "no files", "one file", "{0} files in {1}", "today."]
    assert translate(source, "properties") == "files=FOUND {0,choice,0#NO FILES|1#ONE FILE|1<{0} FILES IN {1}} TODAY.\n"
    broken = "files={0,choice,no files|1#one file}\n"
    assert load(broken, "properties").texts == []


@pytest.mark.parametrize("format", ["json", "properties"])
def test_tabs_separate_texts_and_stay(format: str) -> None:
    source = {"json": '{"save": "&Save file\\tCtrl+S"}', "properties": "save=&Save file\\tCtrl+S\n"}[format]
    assert load(source, format).texts == ["Save file", "Ctrl+S"]
    assert translate(source, format, None) == source.replace("Save file", "SAVE FILE").replace("Ctrl+S", "CTRL+S")


def test_the_number_of_a_plural_is_kept() -> None:
    message = "{n, plural, one {Add # file} other {Add # files}}"
    document = load(json.dumps({"n": message, "tag": "Use # first"}), "json")
    assert document.texts == ["Add file", "Add files", "Use # first"]
    new = json.loads(render([document], [["Ajouter # fichier", "Ajouter des fichiers", "D'abord #"]]))
    assert re.fullmatch("{n, plural, one {Ajouter # fichier} other {Ajouter.* # .*fichiers}}", new["n"])


@pytest.mark.parametrize("name", ["0", "bold", "b"])
def test_closed_tags_of_any_name_are_markup(name: str) -> None:
    document = load(json.dumps({"a": f"<{name}>Read</{name}> the <1/> terms."}), "json")
    assert shown_texts(document) == ["Read the <1/> terms."]
    new = json.loads(render([document], [["Lisez les <1/> conditions."]]))["a"]
    assert new == f"<{name}>Lisez</{name}> les <1/> conditions."


@pytest.mark.parametrize(("source", "format"), [('{"a": "Save &As..."}', "json"), ("a=Save &As...", "properties")])
def test_mnemonics_are_read_and_written(source: str, format: str) -> None:
    document = load(source, format)
    assert document.texts == ["Save As..."]
    assert render([document], [["Autre nom..."]]) == source.replace("Save &As", "&Autre nom").encode()


def test_an_apostrophe_before_a_placeholder_does_not_quote_it() -> None:
    document = load('{"a": "Hello {name}"}', "json")
    assert json.loads(render([document], [["Bonjour l'{name} d'ici"]])) == {"a": "Bonjour l’{name} d'ici"}


def test_comments_that_never_end_round_trip() -> None:
    source = json.dumps({"a": "A word " + "<!--" * 50_000})
    assert render([load(source, "json")]) == source.encode()


def test_only_the_messages_of_an_extension_are_translated() -> None:
    source = {"a": {"message": "Hello", "description": "A greeting"}, "b": {"message": "Bye", "description": "An end"}}
    assert load(json.dumps(source), "json").texts == ["Hello", "Bye"]


PLURALS = """{
  "item_one": "{{count}} item",
  "item_other": "{{count}} items",
  "file": {"key_one": "One file", "key_other":"{{count, number}} files" },
  "no_one": "Nobody", "no_other": "No other",
  "day_one": "A day", "day_many": "{{count}} days", "day_other": "{{count}} days",
  "rank_ordinal_one": "{{count}}st place", "rank_ordinal_other": "{{count}}th place"
}"""


def test_plurals_of_i18next_get_the_form_for_a_million() -> None:
    document = load(PLURALS, "json")
    assert render([document]) == PLURALS.encode()
    new = str(render([document], [[text.upper() for text in document.texts]], "fr"), "utf-8")
    assert '"item_other": "{{COUNT}} ITEMS",\n  "item_many": "{{COUNT}} ITEMS",\n  "file"' in new
    assert '"key_other":"{{COUNT, NUMBER}} FILES", "key_many":"{{COUNT, NUMBER}} FILES" },' in new
    assert [key for key in json.loads(new) if key.endswith("_many")] == ["item_many", "day_many"]
    assert "_many" in str(render([document], [document.texts], "fr"), "utf-8")
    german = render([document], [[text.upper() for text in document.texts]], "de")
    assert json.loads(german).keys() == json.loads(PLURALS).keys()


def test_escapes_of_a_json_file_are_kept_in_style() -> None:
    assert translate('{"a": "caf\\u00e9 a\\/b is"}', "json") == '{"a": "CAF\\u00c9 A\\/B IS"}'


def test_opaque_elements_and_placeholders_in_angle_brackets_are_hidden() -> None:
    document = load(json.dumps({"a": "Run <code>ls -l</code> on <file> &lt;now&gt; it&#39;s late"}), "json")
    assert "".join(document.texts).replace("  ", " ") == "Run on now it's late"
    new = json.loads(render([document], [[text.upper() for text in document.texts]]))["a"]
    assert new == "RUN <code>ls -l</code> ON <file> &lt;NOW&gt; IT'S LATE"


@pytest.mark.parametrize(
    "source", ['{"a": 1', '{"a" 1}', "[1,,2]", "{]", '{"a": "b}', "nul", '{"a": "b"} x', "[" * 300]
)
def test_broken_json_is_refused(source: str) -> None:
    with pytest.raises(DocgraphError, match=r"is not JSON|nests more than 200"):
        load(source, "json")


def test_settings_are_refused_unless_the_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "left-pad", "version": "1.0.0", "license": "MIT", "scripts": {"test": "jest"}}')
    with pytest.raises(DocgraphError, match=r"package\.json: looks like data or settings .* pass --format json"):
        read(path)
    assert read(path, "json")
    path.write_text('{"title": "Hello there", "ok": "OK", "days": "days left"}')
    assert read(path)[0].texts == ["Hello there", "OK", "days left"]


@pytest.mark.parametrize(
    "value",
    [
        "https://x.org",
        "a@x.org",
        "/usr/bin",
        "user_name",
        "camelCase",
        "kebab-case",
        "#fff",
        "rgb(1, 2, 3)",
        "en-US",
        "%s",
        "{name}",
        "{{ n }}",
        "text/html",
        "10px",
        "YYYY-MM-DD HH:mm",
        "%d/%m/%Y",
        "dd MMM yyyy",
        "app.title",
        "--option",
        "3.5",
        "",
    ],
)
def test_identifiers_are_not_text(value: str) -> None:
    assert not is_text(value)


@pytest.mark.parametrize(
    "value", ["OK", "Save", "days", "Hello {name}", "E-mail", "Yes/No", "%d items", "Öl", "你好", "Add"]
)
def test_words_are_text(value: str) -> None:
    assert is_text(value)


VALUES = st.recursive(
    TEXT | st.integers() | st.booleans() | st.none() | st.just("user_name"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5).map(lambda key: f"k{key}"), inner, max_size=3)
    ),
)


def texts_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [each for inner in value.values() for each in texts_of(inner)]
    if isinstance(value, list):
        return [each for inner in value for each in texts_of(inner)]
    return [value]


def check_new_values(old: Any, new: Any, document: Document, texts: list[str]) -> None:
    """Strings consist of the new texts, in order; all other values are the same."""
    expected = iter(zip(document.texts, texts, strict=True))
    for before, after in zip(texts_of(old), texts_of(new), strict=True):
        if before == after or not isinstance(before, str):
            assert before == after or one_line(before) == one_line(after)
            if isinstance(before, str) and is_text(before):
                rest = one_line(before)
                while rest:
                    text, _ = next(expected)
                    rest = rest.replace(text, "", 1).strip()
            continue
        rest, made = one_line(before), []
        while any(char.isalnum() for char in rest):
            text, replacement = next(expected)
            assert text in rest
            rest = rest.replace(text, "", 1).strip()
            made.append(one_line(replacement))
        assert one_line(after.replace("’", "'")) == one_line(" ".join(made).replace("’", "'"))


@given(
    data=st.data(), source=st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), indent=st.none() | st.just(2)
)
def test_new_texts_land_in_their_json_values(data: st.DataObject, source: Any, indent: int | None) -> None:
    written = json.dumps(source, indent=indent, ensure_ascii=data.draw(st.booleans()))
    document = load(written, "json")
    assert render([document]) == written.encode()
    texts = [f"{data.draw(TEXT)} end" for _ in document]
    check_new_values(source, json.loads(render([document], [texts])), document, texts)


@given(
    data=st.data(),
    source=st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1),
    style=st.sampled_from([None, "'", '"', "|", ">"]),
)
def test_new_texts_land_in_their_yaml_values(data: st.DataObject, source: Any, style: str | None) -> None:
    written = yaml.safe_dump(
        source, default_style=style, default_flow_style=data.draw(st.none() | st.booleans()), width=30
    )
    source = yaml.safe_load(written)
    document = load(written, "yaml")
    assert render([document]) == written.encode()
    texts = [f"{data.draw(TEXT)} end" for _ in document]
    check_new_values(source, yaml.safe_load(render([document], [texts])), document, texts)


YAML = """# comment
en:
  hello: Hello world  # greet
  "quoted": "Say \\"hi\\"\\nthere"
  single: 'It''s fine'
  anchor: &a Some text here
  alias: *a
  number: 3
  switch: Yes
  flow: {a: First thing, b: [x y, "z w"]}
  literal: |
    First line.

    Second line: here.
  folded: >-
    A long folded text
    that goes on.

    New paragraph.
  ? Complex key
  : !!str Tagged text
  url: http://x.org
"""


def test_yaml_keeps_keys_comments_anchors_and_styles() -> None:
    expected = YAML.replace("en:", "fr:")
    for text in ("Hello world", "It''s fine", "Some text here", "First thing", "x y", "z w", "First line."):
        expected = expected.replace(text, text.upper())
    for text in ("Second line: here.", "A long folded text", "that goes on.", "New paragraph.", "Tagged text"):
        expected = expected.replace(text, text.upper())
    assert translate(YAML, "yaml") == expected.replace('Say \\"hi\\"\\nthere', 'SAY \\"HI\\"\\nTHERE')


@pytest.mark.parametrize(
    "new", ["No: yes", "yes", "# a", "- b", "it's", "[a]", "{b}", "5", "a #b", "*x", "a:", "'a'", '"a', "?"]
)
@pytest.mark.parametrize("source", ["k: Hello world", "[Hello world, x_y]", "k: 'Hello world'"])
def test_a_plain_value_is_quoted_if_needed(source: str, new: str) -> None:
    document = load(source, "yaml")
    old, made = yaml.safe_load(source), yaml.safe_load(render([document], [[new]]))
    assert texts_of(made) == [new, *texts_of(old)[1:]]


def test_a_root_key_that_is_not_a_language_stays() -> None:
    assert translate("app:\n  title: Hello there\n", "yaml") == "app:\n  title: HELLO THERE\n"


@pytest.mark.parametrize("source", ["a: [1", "a: b: c", "\tx: y", "a: " + "[" * 200 + "]" * 200, "a: \x01"])
def test_broken_yaml_is_refused(source: str) -> None:
    with pytest.raises(DocgraphError, match=r"is not YAML|nests more than"):
        load(source, "yaml")


def test_aliases_are_not_expanded() -> None:
    bomb = "a: &a [Some text, Some text]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(20)
    )
    assert load(bomb, "yaml").texts == ["Some text"] * 2


PROPERTIES = """# Comment
! Another
greeting = Hello {0}, you can''t \\
    do this
path=/usr/bin
plain : Good morning \\u00e9t\\u00e9 \\: x
name Welcome to {0}
empty=
"""


def test_properties() -> None:
    new = translate(PROPERTIES, "properties")
    expected = PROPERTIES.replace("Hello {0}, you can''t \\\n    do this", "HELLO {0}, YOU CAN''T DO THIS")
    expected = expected.replace("Good morning \\u00e9t\\u00e9 \\: x", "GOOD MORNING \\u00c9T\\u00c9 : X")
    assert new == expected.replace("Welcome to", "WELCOME TO")


def test_a_quote_in_a_java_message_does_not_hide_its_arguments() -> None:
    document = load("a=Hello {0}\nb=Hello", "properties")
    assert render([document], [["L'ami {0}", "L'ami"]]) == b"a=L\\u2019ami {0}\nb=L'ami"


def test_properties_in_latin_1_and_utf_8() -> None:
    document = load("a=Déjà vu\n".encode("latin-1"), "properties")
    assert render([document], [["Ça œuvre"]]) == b"a=\\u00c7a \\u0153uvre\n"
    document = load("a=Déjà vu\n", "properties")
    assert render([document], [["Ça 😀"]]) == "a=Ça 😀\n".encode()
    assert render([load("a=Hello", "properties")], [["😀"]]) == b"a=\\ud83d\\ude00"


@given(data=st.data(), values=st.lists(TEXT, min_size=1, max_size=5))
def test_new_texts_land_in_their_properties(data: st.DataObject, values: list[str]) -> None:
    written = "".join(f"key.{n}=\\ {value}\n" for n, value in enumerate(values))
    document = load(written, "properties")
    assert render([document]) == written.encode()
    texts = [one_line(data.draw(NEW)) + " end" for _ in document]
    again = load(render([document], [texts]), "properties")
    units = [one_line(unit) for unit in again.source.split("\0")[1:]]
    assert one_line(" ".join(units)).replace("’", "'") == one_line(" ".join(texts)).replace("’", "'")


TABLE = 'key;en;fr\r\n1;"Hello; ""you""";\r\n2;Bye;Salut\r\n\r\n3;Short\r\n4;;\r\n'


def test_csv_columns_are_found_by_language_codes() -> None:
    new = translate(TABLE, "csv")
    assert new == TABLE.replace('""";', '""";"HELLO; ""YOU"""').replace("3;Short", "3;Short;SHORT")


@pytest.mark.parametrize("format", ["csv:EN:fr", "csv:2:3"])
def test_csv_columns_are_chosen(format: str) -> None:
    assert "HELLO" in translate(TABLE, format)


def test_a_single_csv_column_is_translated_in_place() -> None:
    assert translate("id,text\n1,One thing\n", "csv:text") == "id,text\n1,ONE THING\n"


def test_numbered_columns_have_no_header() -> None:
    assert translate("One\t\nTwo\t\n", "tsv:1:2") == "One\tONE\nTwo\tTWO\n"


def test_unclear_columns_are_refused_with_the_way_out() -> None:
    with pytest.raises(DocgraphError, match=r"columns: name, quantity\); name them, for example --format csv:en:fr"):
        load("name,quantity\nNail,5\n", "csv")
    with pytest.raises(DocgraphError, match="there is no column 'de'; the columns are en, fr"):
        load("en,fr\nOne,\n", "csv:en:de")
    with pytest.raises(DocgraphError, match="name one or two columns"):
        load("en,fr\nOne,\n", "csv:a:b:c")


def test_a_table_into_another_language_is_refused() -> None:
    with pytest.raises(DocgraphError, match="declares translations into 'de', but the model translates into 'fr'"):
        translate("en,de\nHello,\n", "csv")


@given(
    data=st.data(),
    dialect=st.sampled_from([",", ";", "|"]),
    rows=st.lists(st.lists(TEXT | st.just("") | st.just("a\nb"), min_size=3, max_size=3)),
)
def test_new_texts_land_in_their_cells(data: st.DataObject, dialect: str, rows: list[list[str]]) -> None:
    stream = io.StringIO()
    writer = csv.writer(
        stream, delimiter=dialect, quoting=data.draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
    )
    writer.writerows([["source", "note", "target"], *rows])
    document = load(stream.getvalue(), "csv")
    assert render([document]) == stream.getvalue().encode()
    texts = [one_line(data.draw(NEW)) + " end" for _ in document]
    written = render([document], [texts])
    assert isinstance(written, bytes)
    new = list(csv.reader(io.StringIO(written.decode(), newline=""), delimiter=dialect))
    assert [row[:2] for row in new[1:]] == [row[:2] for row in rows]
    made = [one_line(row[2]) for row, old in zip(new[1:], rows, strict=True) if row[2] != old[2]]
    assert [row[2] for row, old in zip(new[1:], rows, strict=True) if old[2]] == [old[2] for old in rows if old[2]]
    kept = re.sub(r"\s", "", "".join(made))
    assert all(re.sub(r"\s", "", text) in kept for text in texts)


@pytest.mark.parametrize("format", ["json", "arb", "yaml", "properties", "csv", "tsv"])
@pytest.mark.parametrize("source", ["", "\n", "\ufeff"])
def test_empty_files_have_no_sentences(format: str, source: str) -> None:
    document = load(source, format)
    assert document.texts == []
    assert render([document], language="fr") == source.encode()
