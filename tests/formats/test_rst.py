"""reStructuredText: prose is translated, underlines follow titles, and everything else stays."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render
from docgraph.formats.atoms import shown_texts
from docgraph.formats.rst_inline import separate

RST = """.. _top:

===========
 Big Title
===========

:Author: Some Body
:Summary: A short text.

Section One
-----------

Some prose with ``code`` and *emphasis here* and a `link text <http://x.org>`_ to see.
Also :ref:`the guide <guide>` or :func:`foo` here, as the following shows::

    literal block. Keep it.

- first item
- second **item**

  - nested one

1. One thing
2. Other thing

A term
    Its definition.

name : int
    A parameter.

.. note:: This is a note
   that goes on.

   More note text.

.. code-block:: python
   :linenos:

   print("Keep this.")

.. versionadded:: 1.2
   The new thing.

.. figure:: a.png
   :alt: A picture
   :width: 10

   The caption text.

.. A comment here.
   More comment.

.. [1] A footnote text.

.. function:: spam(eggs)

   Does a thing.

Section Two
-----------

See `Section Two`_ and [1]_ there.

=====  =====
A col  B col
=====  =====
x      y

y      z
=====  =====

+---+---+
| a | b |
+---+---+

| line one
| line two

>>> doctest()
'no'

--option=X  Does it.
"""


def load(source: str | bytes) -> Document:
    (document,) = read(io.BytesIO(source.encode() if isinstance(source, str) else source), "rst")
    return document


def write(document: Document, texts: list[str]) -> str:
    content = render([document], [texts])
    assert isinstance(content, bytes)
    return content.decode()


def translate(source: str) -> str:
    document = load(source)
    return write(document, [text.upper() for text in document.texts])


def test_only_prose_changes() -> None:
    prose = [
        "Big Title",
        "A short text.",
        "Section One",
        "Some prose with",
        "and",
        "emphasis here",
        "and a",
        "link text",
        "to see.",
        "Also",
        "the guide",
        "here, as the following shows",
        "first item",
        "second",
        "nested one",
        "One thing",
        "Other thing",
        "A term",
        "Its definition.",
        "A parameter.",
        "This is a note",
        "that goes on.",
        "More note text.",
        "The new thing.",
        "A picture",
        "The caption text.",
        "A footnote text.",
        "Does a thing.",
        "line one",
        "line two",
        "Does it.",
    ]
    expected, position = RST, 0
    for text in prose:
        position = expected.index(text, position)
        expected = expected[:position] + text.upper() + expected[position + len(text) :]
    expected = expected.replace("**item**", "**ITEM**").replace(" or :func", " OR :func")
    assert translate(RST) == expected.replace(
        "See `Section Two`_ and [1]_ there.", "SEE `Section Two`_ AND [1]_ THERE."
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("title", "new", "expected"),
    [
        ("Title\n=====\n\nText.\n", "A longer title", "A longer title\n==============\n\nText.\n"),
        ("Title\n=====\n", "A", "A\n====\n"),
        ("Title\n" + "=" * 40 + "\n", "Titre long", "Titre long\n" + "=" * 40 + "\n"),
        ("=======\n Title\n=======\n", "Long title", "============\n Long title\n============\n"),
        ("Title\n=====\n", "标题", "标题\n====\n"),
        ("Title\n=====\n", "Title", "Title\n=====\n"),
    ],
)
def test_underlines_follow_titles(title: str, new: str, expected: str, mark: str, newline: str) -> None:
    document = load((mark + title).replace("\n", newline))
    texts = [new, *document.texts[1:]]
    assert write(document, texts) == (mark + expected).replace("\n", newline)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("2 * 3 and `x` and y_ |z|", r"2 \* 3 and \`x\` and y\_ \|z|"),
        ("- no list", r"\- no list"),
        ("1. no list", r"\1. no list"),
        (":no: field", r"\:no: field"),
        ("see https://x.org/a_ and snake_case there", "see https://x.org/a_ and snake_case there"),
    ],
)
def test_new_text_is_escaped(new: str, expected: str) -> None:
    assert write(load("Some text."), [new]) == expected
    assert " ".join(load(expected).texts) == new


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Le mot``code``.", r"Le mot\ ``code``."),
        ("Deux ``code``s (``code``).", r"Deux ``code``\ s (``code``)."),
        ("a:py:func:`f`b :py:func:`f`", r"a\ :py:func:`f`\ b :py:func:`f`"),
        ("mot[1]_suivant [1]_.", r"mot\ [1]_\ suivant [1]_."),
        ("```code``` and a[1] x", "```code``` and a[1] x"),
    ],
)
def test_markup_that_touches_a_word_is_separated(text: str, expected: str) -> None:
    assert separate(text, "The original.", {"``code``", ":func:`f`", ":py:func:`f`", "[1]_", "*"}) == expected
    assert separate(text, text, {"``code``", ":py:func:`f`", "[1]_"}) == text


def test_types_of_fields_stay() -> None:
    types = ":type x: str\n:vartype z: float\n:rtype: int or None\n:kwtype k: bool\n:meta private: no\n"
    assert load(types).texts == []
    assert translate(f"{types}:param x: The value.\n:returns: It.\n") == f"{types}:param x: THE VALUE.\n:returns: IT.\n"


@pytest.mark.parametrize(
    "marked",
    [
        ".. |logo| image:: a.png\n   :alt: ¦Our \\* logo¦\n      ¦goes on¦\n   :width: 10\n",
        ".. toctree::\n   :caption: ¦Contents here¦\n   :maxdepth: 2\n\n   intro\n",
        ".. code-block:: python\n   :caption: ¦An example¦\n\n   x = 'keep it'\n",
        ".. list-table:: ¦A title¦\n   :header-rows: 1\n\n   * - ¦One¦\n     - ¦Two¦\n",
        '.. csv-table:: ¦A title¦\n   :header: "a", "b"\n\n   keep, this\n',
        ".. table:: ¦A title¦\n\n   ==== ====\n   a    b\n   ==== ====\n",
        ".. tab-set::\n\n   .. tab-item:: ¦On Windows¦\n      :sync: win\n\n      ¦Text.¦\n",
        ".. dropdown:: ¦Show it¦\n\n   ¦Text.¦\n",
        ".. |name| replace:: keep this\n",
        "| ¦One line¦\n| ¦Another line of verse¦\n  ¦that goes on here¦\n| ¦End¦\n",
        "Use ````code```` ¦and¦ ```x``` ¦here.¦\n".replace("Use", "¦Use¦"),
    ],
)
def test_directives_with_arguments_and_options(marked: str) -> None:
    expected = "".join(part.upper() if index % 2 else part for index, part in enumerate(marked.split("¦")))
    assert " ".join(translate(marked.replace("¦", "")).split()) == " ".join(expected.split())


def test_an_atom_at_the_end_of_a_line_keeps_its_space() -> None:
    document = load("Please use the :func:`open`\nfunction of the sphinx-contrib_\nrepository.\n")
    assert shown_texts(document) == ["Please use the :func:`open` function of the sphinx-contrib_ repository."]
    new = "Utilisez la fonction :func:`open` du dépôt sphinx-contrib_ entier."
    written = write(document, [new])
    assert " ".join(written.split()) == new


def test_a_link_keeps_the_escaped_space_after_it() -> None:
    source = "See `the guide <guide_>`_\\ [``x``] now.\n"
    assert translate(source) == "SEE `THE GUIDE <guide_>`_\\ [``x``] NOW.\n"


def test_a_wrapped_paragraph_keeps_its_lines() -> None:
    source = "- One line of some words\n  and another line of words.\n"
    assert write(load(source), ["Une ligne et quelques mots et une autre ligne."]).count("\n  ") == 1


def test_nul_is_refused() -> None:
    with pytest.raises(DocgraphError, match="contains NUL"):
        load("a\0b")


TOKENS = [
    "*",
    "**",
    "`",
    "``",
    "`_",
    ":ref:`x`",
    "|a|",
    "[1]_",
    "a_",
    ".. ",
    ".. note::",
    ".. code::",
    ".. [1] ",
    "::",
    "===",
    "----",
    "\n===\n",
    "\n----\n",
    "- ",
    "1. ",
    ":a: ",
    "\n",
    "\n\n",
    "\n  ",
    "\n    ",
    " ",
    "\t",
    "\\",
    "\\ ",
    ">>> ",
    "| ",
    "+--+\n",
    "== ==\n",
    "Title\n=====\n",
    "Alice saw it.",
    "word",
    "é",
    "-a  x",
    "\r\n",
    "\ufeff",
]
SOUP = st.lists(
    st.sampled_from(TOKENS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=40
).map("".join)


@example("0\x1f:ref:`x`")
@example("0\u2003:ref:`x`")
@given(SOUP.filter(lambda source: "\0" not in source))
def test_any_source_round_trips(source: str) -> None:
    document = load(source)
    assert render([document]) == source.encode()
    for sentence in document:
        assert sentence.text == sentence.text.strip() != ""


@given(data=st.data(), source=SOUP.filter(lambda source: "\0" not in source))
def test_rewriting_keeps_hidden_markup(data: st.DataObject, source: str) -> None:
    document = load(source)
    texts = [data.draw(st.text(max_size=10)) + f" n{index}." for index, _ in enumerate(document)]
    written = write(document, texts)
    position = 0
    for index, sentence in enumerate(document):
        for markup in sentence.markup:
            assert markup.raw.strip() in written
        position = written.index(f"n{index}", position)
