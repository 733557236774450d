from __future__ import annotations

import html
import io
import re

import pytest
from format_examples import MARKDOWN
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from docgraph.document import Document
from docgraph.formats import read, render


def read_one(source: str) -> Document:
    (document,) = read(io.BytesIO(source.encode()), "markdown")
    return document


def shout(document: Document) -> str:
    written = render([document], [[text.upper() for text in document.texts]])
    assert isinstance(written, str)
    return written


def test_prose_is_read_without_its_markup() -> None:
    assert read_one(MARKDOWN).texts == [
        "Rabbit hole",
        "The White Rabbit",
        "Alice saw a white rabbit with pink eyes.",
        "its eyes",
        "Run to go after it.",
        "It said: 2 * 2 & more.",
        "Oh dear!",
        "I shall be too late!",
        "a watch",
        "a waistcoat-pocket",
        *["thing", "price", "watch", "5"],
    ]


def test_markup_survives_new_text() -> None:
    expected = MARKDOWN
    for old, new in [
        ("title: Rabbit hole", "title: RABBIT HOLE"),
        ("The *White* Rabbit", "THE *WHITE* RABBIT"),
        ("Alice saw a **white rabbit** with [pink eyes]", "ALICE SAW A **WHITE RABBIT** WITH [PINK EYES]"),
        ('"its eyes"', '"ITS EYES"'),
        ("Run `follow --now` to go\nafter it.", "RUN `follow --now` TO GO AFTER IT."),
        ("It said: 2 \\* 2 &amp; more.", "IT SAID: 2 \\* 2 & MORE."),
        ("Oh dear! I shall be\n> too late!", "OH DEAR! I SHALL BE TOO LATE!"),
        ("a *watch*", "A *WATCH*"),
        ("a waistcoat-pocket", "A WAISTCOAT-POCKET"),
        ("| thing | price |", "| THING | PRICE |"),
        ("| watch |", "| WATCH |"),
    ]:
        assert old in expected
        expected = expected.replace(old, new)
    assert shout(read_one(MARKDOWN)) == expected


@pytest.mark.parametrize(
    "source",
    [
        "```\ncode here\n```\n",
        "~~~~ py\ncode\n~~~\nmore\n~~~~\n",
        "    indented code\n\n    goes on\n",
        "- item\n\n      code in an item\n".replace("item\n\n", "\n\n"),
        "---\nfront: matter\n---\n",
        "+++\nfront = 'matter'\n+++\n",
        "<!-- a comment\n\nthat goes on -->\n",
        "<div>\n<code>block of HTML</code>\n</div>\n",
        "<script>\n\nvar x\n</script>\n",
        "<div>\n</div>\n\n    indented code\n",
        "```\nfenced\n```\n    indented code\n",
        "[label]: https://example.org\n",
        "[label]:\n  https://example.org/words\n",
        "Not prose\n:::\n".replace("Not prose\n", ""),
        "$$\nx = y\n$$\n",
        "* * *\n\n---\n\n___\n",
        "`code alone`\n",
        "![](picture.png)\n",
    ],
)
def test_blocks_that_are_not_prose_have_no_sentences(source: str) -> None:
    assert read_one(source).texts == []


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("Title\n=====\nText.\n", ["Title", "Text."]),
        ("## Closed heading ##\n", ["Closed heading"]),
        ("line one  \nline two\\\nline three\n", ["line one", "line two", "line three"]),
        ("1. first\n2) second\n   goes on\n", ["first", "second goes on"]),
        ("> > deep\n> > quote\n", ["deep quote"]),
        ("- item\n\n  its second paragraph\n\n      its code\n\nafter\n", ["item", "its second paragraph", "after"]),
        ("[^1]: The note.\n", ["The note."]),
        ("Text with a note.[^1]\n", ["Text with a note."]),
        ("snake_case_name and 2*3*4 stay\n", ["and 234 stay"]),
        ("an _emphatic_ ~~old~~ new\n", ["an emphatic old new"]),
        ("a lone * star and _ line\n", ["a lone * star and _ line"]),
        ("[not a link] and [x](y)\n", ["[not a link] and x"]),
        ("See [label] for\n[more][label].\n\n[label]: http://x.y\n", ["See for more."]),
        ("<b>Bold</b> text &copy; 2\n", ["Bold text © 2"]),
        ("---\nno front matter\n", ["no front matter"]),
        ("Term\n: What it\n  means.\n: Or this.\n", ["Term", "What it means.", "Or this."]),
        ("See [[a page]] now.\n", ["See now."]),
        ("Text:\n| **A** b | `x` |\n|:--|--:|\n| c \\| d | 5 |\n\nEnd.\n", ["Text:", "A b", "c | d", "5", "End."]),
        ("> a | b\n> --|--\n> c | [d](e)\nf\n", ["a", "b", "c", "d", "f"]),
    ],
)
def test_constructs(source: str, texts: list[str]) -> None:
    assert read_one(source).texts == texts


def test_cells_of_a_table_stay_cells() -> None:
    source = "| One *two* | `a\\|b` |\n|---|:-:|\n| x \\| y | three |\n"
    assert shout(read_one(source)) == "| ONE *TWO* | `a\\|b` |\n|---|:-:|\n| X \\| Y | THREE |\n"


def test_shortcut_links_keep_their_text() -> None:
    source = "See [label] for [more][label].\n\n[label]: http://x.y\n"
    assert shout(read_one(source)) == "SEE [label] FOR [MORE][label].\n\n[label]: http://x.y\n"


@given(st.text("ab1 *_[]()<>#-+=&;\\~|`'\"", max_size=30))
def test_escaped_text_reads_the_same(text: str) -> None:
    expected = " ".join(f"{text} end".split())
    written = render([read_one("old\n")], [[expected]])
    assert isinstance(written, str)
    shown = re.sub("<[^<>]*>", "", MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(written))
    assert html.unescape(shown).strip() == expected


def test_addresses_are_written_unchanged() -> None:
    document = read_one("Write to <a_b@c.org>, or see https://c.org/d_e_*.\n")
    assert document.texts == ["Write to, or see https://c.org/d_e_*."]
    written = render([document], [["Voir https://c.org/d_e_*f, *sinon* <b@c.org>."]])
    assert written == "Voir <a_b@c.org> https://c.org/d_e_*f, \\*sinon\\* \\<b@c.org>.\n"
