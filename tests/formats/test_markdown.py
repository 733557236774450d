from __future__ import annotations

import html
import io
import re

import pytest
from format_examples import MARKDOWN, MDX
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from docgraph.document import Document
from docgraph.formats import read, render


def read_one(source: str, format: str = "markdown") -> Document:
    (document,) = read(io.BytesIO(source.encode()), format)
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
        "import Tabs from '@theme/Tabs';\nimport {\n  a,\n\n  b,\n} from \"x\"\n",
        "export const x = {\n  a: 'it',\n\n  b: `(`\n};\n",
        "export default function Page({a}) {\n\n  return a;\n}\n",
        "{% raw %}\n# no heading\n\ntext\n{% endraw %}\n",
        "$$\n# x\n\ny\n$$\n",
        "[TOC]\n\n[[_TOC_]]\n",
        '--8<-- "file.md"\n\n--8<--\na.md\nb.md\n--8<--\n',
        "::: my.module\n    options:\n      members: words in it\n",
        "/// details\n    type: warning\n///\n",
        "/// html | div.result\n///\n",
        "{* ../../docs/first_steps.py hl[3] *}\n\n{!file.md!}\n",
        '{% include "a.html" %}\n\n{{< figure src="x" >}}\n\n{{% /alert %}}\n',
        "!!! note\n\n        code in a note\n",
        "[^1]:\n        code in a footnote\n",
        "[](){#anchor}\n",
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
        (
            "import taxes are high\nexport default settings here\n",
            ["import taxes are high export default settings here"],
        ),
        ("!!! Great news for all\n", ["Great news for all"]),
        ("!!! note\n    Body of\n    the note.\nAfter.\n", ["Body of the note.", "After."]),
        ("[^a]: One.\n\n    Two.\n[^b]: Three.\n", ["One.", "Two.", "Three."]),
        ("> [!tip]- A title\n> The body.\n", ["A title", "The body."]),
        ("*[HTML]: Markup language\n*[CSS]: Style sheets\n", ["Markup language", "Style sheets"]),
        ("A ==marked *word*== if x == y or a==b\n", ["A marked word if x == y or a==b"]),
        ("Press ++ctrl+alt+del++ in C++ and C++11.\n", ["Press in C++ and C++11."]),
    ],
)
def test_constructs(source: str, texts: list[str]) -> None:
    assert read_one(source).texts == texts


STRUCTURE = [
    "!!! warning\n    ¦Do not touch¦ `it`!\n\n    ¦Second paragraph.¦\n\n        code\n\n    - ¦an item¦\n",
    '!!! tip "¦A good¦ `tip`"\n    ¦Body.¦\n',
    '!!! note inline end "¦Title¦"\n\n    ??? question "¦Why?¦"\n        ¦Because.¦\n',
    "???+ note\n    ¦Text.¦\n",
    "¦Before¦\n!!! note\n    ¦Inside.¦\n¦After¦\n",
    '=== "¦Windows only¦"\n    ¦Open the file.¦\n\n=== "`mac`"\n\n    ```sh\n    run\n    ```\n',
    '1. ¦One¦\n\n    !!! note "¦Title¦"\n        ¦Body.¦\n\n    ¦More of one.¦\n',
    '> !!! note "¦Title¦"\n>     ¦Body.¦\n',
    "/// note | ¦Technical details¦\n\n¦You can.¦\n\n///\n",
    "//// tab | ¦Linux¦\n\n/// details | ### ¦Summary¦\n    type: tip\n\n¦Text¦\n///\n////\n",
    ":::tip ¦Some title¦\n¦Tip body.¦\n:::\n",
    ":::note[¦Other¦ *¦title¦*]{#x}\n\n¦Body¦\n\n:::\n",
    "::: details ¦Click me¦ {open}\n¦Body¦\n:::\n",
    "¦A paragraph.¦\n{: .note }\n\n- ¦an item¦\n{:.class #id}\n",
    "¦Some¦ (1) ¦text.¦\n{ .annotate }\n",
    "## ¦Heading¦ { #heading .big }\n\n¦See¦ [¦it¦](#heading){ .button target=_blank } ¦now.¦\n",
    "## ¦Heading¦ { .big }\n",
    '![¦A picture¦](p.png){ width="300" }\n',
    ":octicons-heart-fill-24:{ .heart } ¦and¦ `x`{.py} ¦here¦\n",
    "¦Read¦ [¦the guide¦][another-file] ¦or¦ [`Name`][] ¦or¦ [Name][].\n",
    "{{< note >}}\n¦Text in it.¦\n{{< /note >}}\n",
    "¦Term¦\n:   ¦Its meaning.¦\n\n    ¦A second paragraph.¦\n\n        code\n",
    "[^1]:\n    ¦First paragraph.¦\n\n    ¦Second one.¦\n",
    "    code\n",
]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("marked", STRUCTURE)
def test_only_the_words_of_extended_markdown_change(marked: str, newline: str) -> None:
    marked = marked.replace("\n", newline)
    expected = "".join(part.upper() if index % 2 else part for index, part in enumerate(marked.split("¦")))
    assert shout(read_one(marked.replace("¦", ""))) == expected


def test_only_the_words_of_mdx_change() -> None:
    expected = MDX
    for text in ["The **White** Rabbit", "Alice saw a", "white", "rabbit of", "Getting started", "It said: "]:
        expected = expected.replace(f"{text}", text.upper(), 1)
    expected = expected.replace("\\{ and", "\\{ AND")
    assert shout(read_one(MDX, "mdx")) == expected


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("{f({a: 1})} and {' '} {/* no */} words\n", "{f({a: 1})} AND {' '} {/* no */} WORDS\n"),
        ("<B onClick={() => go('x')}>Click</B> me\n", "<B onClick={() => go('x')}>CLICK</B> ME\n"),
        ("    not code\n", "    NOT CODE\n"),
        ("<A>\n\ntext\n</A>\n", "<A>\n\nTEXT\n</A>\n"),
        ("<style>{`\n  p {color: red}\n`}</style>\n\ntext\n", "<style>{`\n  p {color: red}\n`}</style>\n\nTEXT\n"),
        ('<!-- a comment -->\n\n<A b=">" {...c} /> <C/>\n', '<!-- a comment -->\n\n<A b=">" {...c} /> <C/>\n'),
        ("{never closed\n", "\\{NEVER CLOSED\n"),
    ],
)
def test_code_in_mdx_stays(source: str, written: str) -> None:
    assert shout(read_one(source, "mdx")) == written


def test_labels_of_components_are_text() -> None:
    source = '<TabItem value="npm" label="Use npm">\n\nRun it.\n\n</TabItem>\n\n<Frame caption=\'A view\'>\n</Frame>\n'
    assert read_one(source, "mdx").texts == ["Use npm", "Run it.", "A view"]
    assert read_one('<p label="x" caption="y">One.</p>\n', "mdx").texts == ["One."]


def test_mdx_shows_the_text_that_was_written() -> None:
    written = render([read_one("old\n", "mdx")], [["a {b} < c &lt; {d"]])
    assert written == "a \\{b\\} &lt; c &amp;lt; \\{d\n"


def test_an_explicit_id_is_told_from_other_attributes_of_a_heading() -> None:
    for attributes, anchor in [("{ #start }", ""), ("{ .big }", '<a id="start"></a>')]:
        source = f"## Start {attributes}\n\n[x](#start)\n"
        assert shout(read_one(source)).startswith(f"## {anchor}START {attributes}\n")


@pytest.mark.parametrize(
    ("source", "text", "written"),
    [
        ('[x](y "The cat\'s name")', 'L\'un ("*a*") \\ b', '[x](y "L\'un (\\"*a*\\") \\ b")'),
        ("[x](y 'It')", 'L\'un ("a")', "[x](y 'L\\'un (\"a\")')"),
        ("[x](y (It))", 'L\'un ("a")', '[x](y (L\'un \\("a"\\)))'),
        ('[x]: y "It"', "L'un (a)", '[x]: y "L\'un (a)"'),
    ],
)
def test_titles_of_links_escape_only_their_delimiters(source: str, text: str, written: str) -> None:
    document = read_one(source)
    texts = [*document.texts[:-1], text]
    assert render([document], [texts]) == written
    assert read_one(written).texts == texts


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
    assert written == "Voir <a_b@c.org> https://c.org/d_e_*f, \\*sinon\\* &lt;b@c.org>.\n"
