"""Texts and markup that translations have broken: each source is written with a new text and read by CommonMark."""

from __future__ import annotations

import io
import re

import pytest
from format_examples import soup
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from docgraph.document import Document
from docgraph.formats import read, render, with_texts


def read_one(source: str, format: str = "markdown", language: str = "en") -> Document:
    (document,) = read(io.BytesIO(source.encode()), format, language=language)
    return document


def written(source: str, *texts: str, format: str = "markdown") -> str:
    document = read_one(source, format)
    content = render([document], [list(texts)])
    return content if isinstance(content, str) else content.decode()


def html_of(source: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(source))


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (
            "**Note**: this is important.\n",
            "Remarque\u00a0: c'est important.",
            "**Remarque**\u00a0: c'est important.\n",
        ),
        ("~~value~~ **new**\n", "valeur", "~~valeur~~ **&#8203;**\n"),
        ("~~value~~ **new**\n", "une valeur", "~~une~~ **valeur**\n"),
        ("_a_ b\n", "xy", "_xy_\n"),
        ("a *b*c\n", "un mot", "un *mot*\n"),
        ("Press **Settings**, then go.\n", "。设置，然后走。", None),
        ("x _y_ z\n", "甲乙丙", "甲乙丙\n"),
        ("[**Bold** link](u) is here.\n", "Ici.", "[**Ici.**](u)\n"),
    ],
)
def test_emphasis_is_never_literal_asterisks(source: str, text: str, expected: str | None) -> None:
    new = written(source, text)
    assert expected is None or new == expected
    assert not set("*_~") & set(re.sub("<[^<>]*>", "", html_of(new)))
    assert html_of(new).count("<a ") == html_of(source).count("<a ")


def test_emphasis_that_began_before_the_sentence_is_closed() -> None:
    new = written("**One. Two** x three.\n", "Un.", "二，三。")
    assert "**" not in html_of(new)
    assert html_of(new).count("<strong>") == 1


@pytest.mark.parametrize(
    "source",
    [
        "    > quoted code\n    - dashed code\n    * starred\n    + plus\n    1. numbered\n",
        "- item\n\n      > code in an item\n".replace("item", ""),
        '{{< figure src="a b.png" >}}\n\n{% include note.html text="x y" %}\n',
        "{% highlight ruby %}\nputs one\n\nputs two\n{% endhighlight %}\n",
        "$$\nx\n\ny\n$$\n",
        "> [!NOTE]\n",
        '---\ntags: [one, two]\ndraft: false\nlayout: "post one"\n---\n',
        "[a]:\n  /some/words\n",
    ],
)
def test_blocks_that_are_not_prose(source: str) -> None:
    assert read_one(source).texts == []


@pytest.mark.parametrize(
    ("source", "texts", "upper"),
    [
        ("> [!NOTE]\n> Take care.\n", ["Take care."], "> [!NOTE]\n> TAKE CARE.\n"),
        ("Set {{ title }} and {0} now.\n", ["Set and now."], "SET {{ title }} AND {0} NOW.\n"),
        ("Well done :smile: here.\n", ["Well done here."], "WELL DONE :smile: HERE.\n"),
        ("The foo_bar option and --prof-process work.\n", None, "THE foo_bar OPTION AND --prof-process WORK.\n"),
        ("At 12:30:45, a: b: c.\n", ["At 12:30:45, a: b: c."], "AT 12:30:45, A: B: C.\n"),
        ("See `a`, `b` now.\n", ["See, now."], "SEE `a`, `b` NOW.\n"),
        ("![a cat](cat.png)\n", ["a cat"], "![A CAT](cat.png)\n"),
        ('See [this](u "its title") now.\n', ["See this now.", "its title"], 'SEE [THIS](u "ITS TITLE") NOW.\n'),
        ("[a]: u 'its title'\n", ["its title"], "[a]: u 'ITS TITLE'\n"),
        (
            "<details>\n<summary>More text</summary>\n\nInside.\n\n</details>\n",
            ["More text", "Inside."],
            "<details>\n<summary>MORE TEXT</summary>\n\nINSIDE.\n\n</details>\n",
        ),
        ('<img src="a.png" alt="A cat">\n', ["A cat"], '<img src="a.png" alt="A CAT">\n'),
        ("one<br>two\n", ["one", "two"], "ONE<br>TWO\n"),
        ("# Old name {#name}\n\n[x](#name)\n", ["Old name", "x"], "# OLD NAME {#name}\n\n[X](#name)\n"),
        (
            "# Old *name*\n\n[x](#old-name)\n\n# Other\n",
            ["Old name", "x", "Other"],
            '# <a id="old-name"></a>OLD *NAME*\n\n[X](#old-name)\n\n# OTHER\n',
        ),
    ],
)
def test_parts_that_are_text(source: str, texts: list[str] | None, upper: str) -> None:
    document = read_one(source)
    assert texts is None or document.texts == texts
    assert written(source, *(text.upper() for text in document.texts)) == upper


@pytest.mark.parametrize(
    ("line", "text", "new_line"),
    [
        ("title: Old one", "Le titre\u00a0: neuf", 'title: "Le titre\u00a0: neuf"'),
        ("title: Old one", "Titre: neuf", 'title: "Titre: neuf"'),
        ("title: Old one", "[neuf]", 'title: "[neuf]"'),
        ("title: Old one # why", "Neuf", "title: Neuf # why"),
        ('title: "Old \\"one\\""', 'Dit "neuf"', 'title: "Dit \\"neuf\\""'),
        ("description: 'It''s old'", "L'un", "description: 'L''un'"),
    ],
)
def test_front_matter_titles_are_valid_yaml(line: str, text: str, new_line: str) -> None:
    yaml = pytest.importorskip("yaml")
    new = written(f"---\nid: x\n{line}\ntags: [a]\n---\n", text)
    assert new == f"---\nid: x\n{new_line}\ntags: [a]\n---\n"
    (value,) = [v for k, v in yaml.safe_load(new.split("---")[1]).items() if k in ("title", "description")]
    assert value == text


def test_toml_front_matter() -> None:
    assert written('+++\ntitle = "Old one"\ndate = 1\n+++\n', 'Un "neuf"') == (
        '+++\ntitle = "Un \\"neuf\\""\ndate = 1\n+++\n'
    )


def test_code_spans_stay_apart() -> None:
    assert written("Use `a`, `b` now.\n", "Utiliser maintenant.").count("``") == 0


@pytest.mark.parametrize(
    ("source", "text", "new"),
    [
        ("-D<n> --max-depth=<n> Maximum depth", "Profondeur maximale", "-D<n> --max-depth=<n> Profondeur maximale"),
        ("Use ph_with_* functions.", "Les fonctions ph_with_*.", "Les fonctions ph_with\\_\\*."),
        ("{Array<String>} names found", "noms trouvés", "{Array<String>} noms trouvés"),
    ],
)
def test_options_and_identifiers_read_back(source: str, text: str, new: str) -> None:
    assert render([read_one(source)], [[text]]) == new
    assert read_one(new).texts == [text]


def test_identifiers_and_words_stay_apart() -> None:
    assert written("is:foo_bar, foo_bar x\n", "mot") == "foo_bar foo_bar mot\n"


def test_two_line_link_definitions_keep_their_links() -> None:
    new = written(
        "See [the page] and [it][p].\n\n[the page]:\n  http://a.b\n[p]:\n  http://c.d\n  'T'\n", "Voir et le.", "U"
    )
    assert html_of(new).count("<a href=") == 2


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<pre>never closed\n\nmore text", []),
        ('<p>One <i lang="la">ad hoc</i> thing</p><p translate="no">Two</p>', ["One thing"]),
        ('<meta name="description" content="About us"><meta name="x" content="y">', ["About us"]),
        ('<input placeholder="Your name" name="your name" value="x">', ["Your name"]),
        ('<p>See <a href="u" title="The page">this</a> now.</p>', ["See this now.", "The page"]),
        ("<p>Dear {{ user_name }}, hello.</p>", ["Dear, hello."]),
    ],
)
def test_html_texts(source: str, texts: list[str]) -> None:
    assert read_one(source, "html").texts == texts


def test_html_attributes_are_escaped() -> None:
    source = "<p>A <img alt='one' src=x> b.</p>"
    assert written(source, "C d.", 'l\'un & "x"', format="html") == (
        "<p>C <img alt='l&#x27;un &amp; &quot;x&quot;' src=x> d.</p>"
    )


def test_html_attributes_keep_their_placeholders() -> None:
    source = '<p>See <a href="u" title="Use --commit now">this</a>.</p>'
    assert written(source, "VOIR CECI.", "UTILISER MAINTENANT", format="html") == (
        '<p>VOIR <a href="u" title="UTILISER --commit MAINTENANT">CECI</a>.</p>'
    )


@pytest.mark.parametrize(
    ("source", "text", "new"),
    [
        ("<p>You make: <code>x</code>. Go.</p>", "VOUS FAITES:.", "<p>VOUS FAITES: <code>x</code>. Go.</p>"),
        (
            "<p>Of a, <code>x</code>, <code>y</code>, b.</p>",
            "DE A,,, B.",
            "<p>DE A, <code>x</code>, <code>y</code>, B.</p>",
        ),
        ("<p>Use <code>x</code>’s copy.</p>", "USE ’S COPY.", "<p>USE <code>x</code>’S COPY.</p>"),
        ("<p>A dash: [<b>-</b>] here</p>", "UN TIRET : [-] ICI", "<p>UN TIRET : [<b>-</b>] ICI</p>"),
    ],
)
def test_inline_code_between_punctuation_stays_there(source: str, text: str, new: str) -> None:
    document = read_one(source, "html")
    assert render([document], [[text, *document.texts[1:]]]) == new


def test_nested_texts_can_be_replaced_twice() -> None:
    document = with_texts(read_one('A [b](c "d") e.\n'), ["F [b] g.", "h"])
    assert render([document], [["F [b] g.", "h"]]) == document.source
    assert [document.source[s.start : s.end] for s in document][1] == "h"


@pytest.mark.parametrize("format", ["srt", "vtt"])
@pytest.mark.parametrize("texts", [["Merci.", "Que mon ami."], ["", "x"], ["Merci beaucoup.", ""]])
def test_subtitle_cues_have_no_blank_lines(format: str, texts: list[str]) -> None:
    head = "WEBVTT\n\n" if format == "vtt" else ""
    comma = "," if format == "srt" else "."
    times = [f"00:00:0{n}{comma}000 --> 00:00:0{n + 1}{comma}000" for n in (1, 2, 3)]
    source = f"{head}1\n{times[0]}\nThank\nyou.\n- Goodbye, my friend.\n\n2\n{times[1]}\nYes.\n"
    new = written(source, *texts, "Oui.", format=format)
    cues = new.removeprefix(head).split("\n\n")
    assert [cue.split("\n")[1] for cue in cues] == times[:2]
    assert all(line.strip(" \n") for cue in cues for line in cue.rstrip("\n").split("\n"))


def test_a_cue_whose_words_went_elsewhere_keeps_its_other_lines() -> None:
    source = "WEBVTT\n\n00:01.000 --> 00:02.000\nI shall be\n\n00:02.100 --> 00:03.000\ntoo late.\n- Yes.\n"
    new = written(source, "Tard.", "Oui.", format="vtt")
    assert new == "WEBVTT\n\n00:01.000 --> 00:02.000\nTard.\n\n00:02.100 --> 00:03.000\n\u00a0\n- Oui.\n"


def test_sentences_of_chinese_get_a_space_between_them() -> None:
    assert written("他来了。她走了。\n", "He came.", "She left.", format="text") == "He came. She left.\n"


@pytest.mark.parametrize("format", ["markdown", "html"])
@given(data=st.data())
def test_new_words_read_back(format: str, data: st.DataObject) -> None:
    document = read_one(data.draw(soup(format)), format)
    texts = [f"Word{index}x line" for index, _ in enumerate(document)]
    content = render([document], [texts])
    assert isinstance(content, str)
    words = re.compile(r"Word\d+x|line")
    back = " ".join(read_one(content, format).texts)
    assert words.findall(back) == words.findall(" ".join(texts))


REORDERED = {
    "code before the sentence": ("- `a.b`: `c` is first.\n", "first is :", "- `a.b` `c` first is :\n"),
    "code and a word": ("- `a.b`: the name.\n", "name the :", "- `a.b` name the :\n"),
    "dollar signs": (
        "By the [$http service](x/$http) of `$http`-like things.\n",
        "Du [service $http] de choses.",
        None,
    ),
    "emphasis in another order": (
        "The **first** one and the **second** one.\n",
        "second one the and first one The.",
        None,
    ),
}


@pytest.mark.parametrize("name", REORDERED)
def test_markup_survives_another_order_of_words(name: str) -> None:
    source, text, expected = REORDERED[name]
    new = written(source, text)
    assert expected is None or new == expected
    for mark in ("`", "](", "**"):
        assert new.count(mark) == source.count(mark)
    assert "****" not in new


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("-   Remove the ``x``.\n", "CLI. the", r"-   \CLI. the ``x``"),
        ("Write a script\nits ``wsgi.server``, as well.\n", "well as its, script a Write.", None),
        ("Use *one* and *two* here.\n", "here two and one Use.", None),
        ("For ``A`` and ``B``, the\n``B`` handler is not for ``A``.\n", "A for not is the , and For.", None),
    ],
)
def test_rst_survives_another_order_of_words(source: str, text: str, expected: str | None) -> None:
    new = written(source, text, format="rst")
    assert expected is None or new.strip().startswith(expected)
    assert not re.search(r"^ +``|````|\*\*", new, re.M)
    assert new.count("``") == source.count("``")
