"""XLIFF 1.2 and 2.x: units without a translation are translated and marked; everything else stays."""

from __future__ import annotations

import io
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render
from docgraph.formats.atoms import shown_texts

V1 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file source-language="en" datatype="plaintext" original="a.ts">
    <body>
      <trans-unit id="1">
        <source>Hello <x id="NAME"/>. Click <g id="1">here &amp; now</g>!</source>
        <note>Some note</note>
      </trans-unit>
      <trans-unit id="2"><source>Done</source><target>Fait</target></trans-unit>
      <trans-unit id="3"><source>Empty</source><target state="new"/></trans-unit>
      <trans-unit id="4" translate="no"><source>Brand name</source></trans-unit>
      <group translate="no"><trans-unit id="4a"><source>Brand name</source></trans-unit></group>
      <trans-unit id="5"><source><![CDATA[Text <b>bold</b>]]></source><target></target></trans-unit>
      <trans-unit id="6"><source>Copy</source><target state='needs-translation'>Copy</target></trans-unit>
      <trans-unit id="7" approved="yes"><source>Approved</source></trans-unit>
      <trans-unit id="8"><source>Print <ph id="1">%s</ph> <mrk mtype="protected">Foo Bar</mrk></source>
        <alt-trans><source>Print all</source><target>Autre</target></alt-trans></trans-unit>
    </body>
  </file>
</xliff>
"""
V2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f1">
  <unit id="1">
   <originalData><data id="d1">%s</data></originalData>
   <segment><source>Hi <ph id="1" dataRef="d1"/>, <pc id="2">warning</pc>.</source></segment>
   <ignorable><source> </source></ignorable>
   <segment state="initial" id="s2">
     <source>Hello world</source>
     <target></target>
   </segment>
   <segment state="final"><source>A word</source><target>Un mot</target></segment>
  </unit>
  <unit id="2" translate="no"><segment><source>Brand</source></segment></unit>
 </file>
</xliff>
"""


def load(source: str | bytes) -> Document:
    (document,) = read(io.BytesIO(source.encode() if isinstance(source, str) else source), "xliff")
    return document


def translate(source: str | bytes, language: str | None = "fr") -> str:
    document = load(source)
    content = render([document], [[text.upper() for text in document.texts]], language)
    assert isinstance(content, bytes)
    return content.decode()


def test_version_1() -> None:
    mark = '<target state="needs-review-translation">'
    expected = V1.replace('original="a.ts"', 'original="a.ts" target-language="fr"')
    expected = expected.replace(
        "now</g>!</source>\n",
        f'now</g>!</source>\n        {mark}HELLO <x id="NAME"/>. CLICK <g id="1">HERE &amp; NOW</g>!</target>\n',
    )
    expected = expected.replace('<target state="new"/>', f"{mark}EMPTY</target>")
    expected = expected.replace("<target></target>", f"{mark}TEXT &lt;b&gt;BOLD&lt;/b&gt;</target>")
    expected = expected.replace("'needs-translation'>Copy", "'needs-review-translation'>COPY")
    expected = expected.replace(
        "Foo Bar</mrk></source>",
        f'Foo Bar</mrk></source>{mark}PRINT <ph id="1">%s</ph> <mrk mtype="protected">Foo Bar</mrk></target>',
    )
    assert translate(V1) == expected


def test_version_2() -> None:
    expected = V2.replace('srcLang="en"', 'srcLang="en" trgLang="fr"')
    mark = 'state="translated" subState="docgraph:mt"'
    expected = expected.replace("<segment><source>Hi", f"<segment {mark}><source>Hi")
    expected = expected.replace('state="initial" id="s2"', 'state="translated" id="s2" subState="docgraph:mt"')
    expected = expected.replace("<target></target>", "<target>HELLO WORLD</target>")
    target = '<target>HI <ph id="1" dataRef="d1"/>, <pc id="2">WARNING</pc>.</target>'
    assert translate(V2) == expected.replace("</pc>.</source>", f"</pc>.</source>{target}")


def test_the_target_language_of_an_empty_file_is_declared() -> None:
    source = (
        '<xliff version="1.2"><file original="a"/><file><trans-unit><source>One</source></trans-unit></file></xliff>'
    )
    languages = [file.get("target-language") for file in ET.fromstring(translate(source)).iter("file")]
    assert languages == ["fr", "fr"]


@pytest.mark.parametrize(
    "unit",
    [
        '<source xml:lang="en">One</source>',
        '<source>One</source><target xml:lang="en"/>',
        '<source xml:lang="en">One</source><target></target>',
        "<source xml:lang=\"en\">One</source><target xml:lang='de'> </target>",
    ],
)
@pytest.mark.parametrize("is_v1", [True, False])
def test_targets_declare_their_language_if_sources_do(unit: str, is_v1: bool) -> None:
    template = (
        '<xliff version="1.2"><file target-language="fr"><trans-unit>{}</trans-unit></file></xliff>'
        if is_v1
        else '<xliff version="2.0" trgLang="fr"><unit><segment>{}</segment></unit></xliff>'
    )
    [element] = ET.fromstring(translate(template.format(unit))).iter("target")
    assert element.text == "ONE"
    expected = {"{http://www.w3.org/XML/1998/namespace}lang": "fr"}
    assert element.attrib == (expected | {"state": "needs-review-translation"} if is_v1 else expected)


@pytest.mark.parametrize("source", [V1, V2])
def test_prefixes_and_line_ends(source: str) -> None:
    prefixed = source.replace("xmlns=", "xmlns:x=").replace("<", "<x:").replace("<x:/", "</x:").replace("<x:?", "<?")
    prefixed = prefixed.replace("<x:![CDATA[Text <x:b>bold</x:b>", "<![CDATA[Text <b>bold</b>").replace("\n", "\r\n")
    new = translate(prefixed)
    ET.fromstring(new)
    assert new.count("<x:target") == translate(source).count("<target")
    assert new.count("\r\n") == new.count("\n")


def test_segmented_sources_give_segmented_targets() -> None:
    source = (
        '<xliff version="1.2"><file><body><trans-unit id="1"><source>One. Two.</source><seg-source><mrk mtype="seg"'
        ' mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></seg-source></trans-unit></body></file></xliff>'
    )
    target = '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2">TWO.</mrk></target></trans-unit>'
    assert f'</seg-source><target state="needs-review-translation">{target}' in translate(source)


def unit(text: str, attributes: str = "") -> str:
    return f'<xliff version="1.2"><file><trans-unit{attributes}><source>{text}</source></trans-unit></file></xliff>'


def target(source: str) -> str:
    return translate(source, None).partition('review-translation">')[2].partition("</target>")[0]


def test_cases_of_icu_plurals_are_translated_one_by_one() -> None:
    number = '<x id="INTERPOLATION" equiv-text="{{n}}"/>'
    message = f"{{VAR_PLURAL, plural, =0 {{no items}} =1 {{<g id='1'># item</g>}} other {{{number} items}}}}"
    source = unit(message)
    assert shown_texts(load(source)) == ["no items", "# item", f"{number} items"]
    expected = message.replace("no items", "NO ITEMS").replace("# item<", "# ITEM<").replace(" items}", " ITEMS}")
    assert target(source) == expected


def test_an_icu_message_in_an_inline_element_is_no_text() -> None:
    element = '<x id="ICU" equiv-text="{n, plural, one {a file} other {files}}"/>'
    assert target(unit(f"Updated {element} and")) == f"UPDATED {element} AND"
    protected = '<ph id="1">{n, plural, one {a file}\nother {files}}</ph>'
    assert target(unit(f"Updated {protected} and", ' xml:space="preserve"')) == f"UPDATED {protected} AND"


def test_lines_are_kept_if_the_file_asks_for_it() -> None:
    text = 'Line <g\nid="1">one</g>\nLine two\n\n  The <g id="2">third\nand</g> fourth'
    source = unit(text, ' xml:space="preserve"')
    assert load(source).texts == ["Line one", "Line two", "The third", "and fourth"]
    assert target(source) == text.upper().replace("<G", "<g").replace("</G", "</g").replace("ID=", "id=")
    assert load(unit("Line one\n  and two")).texts == ["Line one and two"]
    assert load(unit("One\ntwo", ' xml:space="preserve"').replace("<source", '<source xml:space="default"')).texts == [
        "One two"
    ]


def test_mnemonics_and_tags_of_digits() -> None:
    assert target(unit("E&amp;xit")) == "E&amp;XIT"
    assert load(unit("&lt;0&gt;Read&lt;/0&gt; it")).texts == ["Read it"]


def test_other_encodings() -> None:
    source = V1.replace("UTF-8", "ISO-8859-1").replace("Some note", "Une née")
    document = load(source.encode("latin-1"))
    new = render([document], [["œuf"] * len(document)])
    assert isinstance(new, bytes)
    assert b"Une n\xe9e" in new
    assert b"&#339;uf" in new


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("<html></html>", "is not an XLIFF file"),
        ("<xliff><a></xliff>", "is not well-formed XML"),
        ("Hello.", "is not well-formed XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><xliff/>', "declares XML entities"),
        ("<xliff>" + "<g>" * 300 + "</g>" * 300 + "</xliff>", "nests more than 200 elements"),
    ],
)
def test_other_files_are_refused(source: str, message: str) -> None:
    with pytest.raises(DocgraphError, match=message):
        load(source)


def test_a_file_into_another_language_is_refused() -> None:
    with pytest.raises(DocgraphError, match="declares translations into 'de'"):
        translate(V2.replace('srcLang="en"', 'srcLang="en" trgLang="de"'))


INLINE = st.sampled_from(["Word", "a & b", "<g id='1'>bold</g>", "<x id='2'/>", "<ph>code</ph>", ". Next", "é", "  "])
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=10)


@given(data=st.data(), units=st.lists(st.lists(INLINE, min_size=1, max_size=6), min_size=1, max_size=4))
def test_new_texts_land_in_their_units(data: st.DataObject, units: list[list[str]]) -> None:
    raw = [" ".join(part if part[0] == "<" else escape(part) for part in unit) for unit in units]
    body = "".join(f"<trans-unit><source>{text}</source></trans-unit>\n" for text in raw)
    source = f'<xliff version="1.2"><file><body>\n{body}</body></file></xliff>'
    document = load(source)
    assert render([document]) == source.encode()
    texts = [f"{data.draw(TEXT)} n{index}" for index, _ in enumerate(document)]
    new = render([document], [texts])
    made = ""
    for unit in ET.fromstring(new).iter("trans-unit"):
        old, target = unit.find("source"), unit.find("target")
        assert old is not None
        if target is not None:
            assert [(e.tag, e.attrib) for e in target.iter()][1:] == [(e.tag, e.attrib) for e in old.iter()][1:]
            made += "".join(target.itertext())
    assert all(f"n{index}" in made for index in range(len(texts)))
