from __future__ import annotations

import io
import re
import sys

import pytest
from format_examples import HTML, soup
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.formats import read, render

TAG = re.compile(r"<[^<>]*>")


def read_one(source: str) -> Document:
    (document,) = read(io.BytesIO(source.encode()), "html")
    return document


def rewrite(document: Document, texts: list[str]) -> str:
    written = render([document], [texts])
    assert isinstance(written, str)
    return written


def test_text_is_read_by_blocks() -> None:
    assert read_one(HTML).texts == [
        "Down the Rabbit-Hole",
        "Alice & the Rabbit",
        "Alice saw a white rabbit, run by now.",
        "It\u00a0had pink eyes.",
        "It was late.",
        "One watch",
        "Two gloves",
    ]


def test_markup_survives_new_text() -> None:
    document = read_one(HTML)
    written = rewrite(document, [text.upper() for text in document.texts])
    assert TAG.findall(written) == TAG.findall(HTML)
    assert "<h1>ALICE &amp; THE RABBIT</h1>" in written
    assert "ALICE SAW A <b>WHITE <i>RABBIT</i></b>, RUN BY <code>follow()</code> NOW." in written
    assert '<script>if (a < b) { document.write("<p>No. Yes.</p>") }</script>' in written
    assert "<pre>Keep   this. And this.</pre>" in written


@given(soup("html"), st.data())
def test_any_new_text_keeps_the_tags_of_the_page(source: str, data: st.DataObject) -> None:
    document = read_one(source)
    texts = [data.draw(st.text("a<>&;#x1 b/!-", max_size=12)) for _ in document]
    outside = re.compile(r"</?[a-z]+[^<>]*>")
    assert outside.findall(rewrite(document, texts)) == outside.findall(source)


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("1 < 2 & 3 > 2", ["1 < 2 & 3 > 2"]),
        ("&lt;b&gt; &#65;&#x42; &nope; &copy", ["<b> AB &nope; &copy"]),
        ("a<p>b<div>c</div>d", ["a", "b", "c", "d"]),
        ('<a href="x>y">link</a> text', ["link text"]),
        ("<code>unclosed text", ["unclosed text"]),
        ("<script>unclosed text", []),
        ("<!-- unclosed text", []),
        ("<svg><text>label</text></svg>shown", ["shown"]),
        ('say <span class="a notranslate">Brand</span> now', ["say now"]),
        ('<p translate="no">Brand</p><p>text</p>', ["text"]),
        ("<select><option value=1>One<option value='2' selected>Two</select> left", ["One", "Two", "left"]),
        ("<select><option value=1>One<option>Two</select> left", ["left"]),
        ("<nav><a>Home</a><a>About us</a>\n  <a>Help</a></nav>", ["Home", "About us", "Help"]),
        ("See <a>one</a> <a>two</a>,\n<a>three</a>.", ["See one two, three."]),
        ("<b\n>bold</b\n> <I>italic</I>", ["bold italic"]),
    ],
)
def test_constructs(source: str, texts: list[str]) -> None:
    assert read_one(source).texts == texts


def count_calls(source: str) -> int:
    """Return how many functions, built-in ones included, are called while the source is read."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read_one(source)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("<code>", ""),
        ("<a '", "<a '"),
        ('<a "', '<a "'),
        ("<!--", ""),
        ("<p translate=no>", ""),
        ("<", ""),
        ("&", ""),
        ("&#1", "&#1"),
        ("<script>", ""),
    ],
)
def test_many_unclosed_elements_take_linear_time(token: str, text: str) -> None:
    count_calls(token)  # imports
    assert count_calls(token * 2000) <= 2 * count_calls(token * 1000)
    document = read_one(token * 20_000)
    assert "".join(document.texts) == (text * 20_000).strip()
    assert render([document]) == token * 20_000


@pytest.mark.parametrize(
    ("page", "declared"),
    [
        ('<html lang="en"><p>Hello.</p>', '<html lang="fr"><p>Hello.</p>'),
        ('<HTML class=a LANG=en-GB xml:lang="en" id="lang">', '<HTML class=a LANG=fr xml:lang="fr" id="lang">'),
        (
            '<html lang="en"><p class="lang" lang=\'en-US\'>One</p><p lang="de">Zwei</p><a hreflang="en">Three</a>',
            '<html lang="fr"><p class="lang" lang=\'fr\'>One</p><p lang="de">Zwei</p><a hreflang="en">Three</a>',
        ),
        ('<html lang="en"><p lang="en" translate="no">One</p>', '<html lang="fr"><p lang="en" translate="no">One</p>'),
        ('<html><p lang="en">Hello.</p>', '<html><p lang="en">Hello.</p>'),
    ],
)
def test_page_declares_the_target_language(page: str, declared: str) -> None:
    document = read_one(page)
    assert render([document]) == page
    assert render([document], language="fr") == declared


@pytest.mark.parametrize(
    ("page", "languages"),
    [
        ('<p>One</p><p lang="fr">Deux</p><p lang="en-GB">Three</p>', ["", "fr", ""]),
        ('<html lang="de"><p lang="de">Eins</p><p lang="fr">Deux</p>', ["", "fr"]),
        ('<div lang="de">Eins<p>Zwei <b>drei</b></p><p lang="en">Four</p>Sechs</div>Seven', ["de", "de", "", "de", ""]),
        ('<div lang="de"><div>Eins</div>Zwei<br>Drei</div>Four', ["de", "de", "de", ""]),
        (
            '<p lang="de">Eins<p>Two<ul lang="de"><li>Drei<li lang="en">Four<li>Fünf</ul>Six',
            ["de", "", "de", "", "de", ""],
        ),
        ('<p lang="de"><img alt="Ein Hund"></p><img alt="A dog">', ["de", ""]),
        ('</div><div lang="de">Eins</p></div></div>Two', ["de", ""]),
    ],
)
def test_declared_languages(page: str, languages: list[str]) -> None:
    assert [sentence.language for sentence in read_one(page)] == languages


@pytest.mark.parametrize(
    ("tag", "texts"),
    [
        ('<input type="submit" value="Send it">', ["Send it"]),
        ('<input type="submit" name="do" value="Send it">', []),
        ('<input type="reset" value="Clear all" title="Remove the text">', ["Clear all", "Remove the text"]),
        ('<input type="text" value="John" placeholder="Your name">', ["Your name"]),
        ('<select><optgroup label="Old cars"><option value="v">Red</option></optgroup></select>', ["Old cars", "Red"]),
        ('<track label="English subtitles">', []),
    ],
)
def test_captions_of_buttons_and_options(tag: str, texts: list[str]) -> None:
    assert read_one(f"<form>{tag}</form>").texts == texts
