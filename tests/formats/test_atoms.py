"""Inline code and placeholders in a translated text: they stay where the text has them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.formats import read, render
from docgraph.formats.atoms import as_characters, shown_texts, text_with_atoms


def rewritten(source: str, text: str, format: str = "markdown") -> str:
    [document] = read(io.StringIO(source), format)
    result = render([document], [[text]])
    assert isinstance(result, str)
    return result.strip()


def rewritten_bytes(source: str, text: str) -> bytes:
    [document] = read(io.StringIO(source), "rst")
    result = render([document], [[text]])
    assert isinstance(result, bytes)
    return result


@pytest.mark.parametrize(
    ("source", "text", "result"),
    [
        ("The `open()` method.", "La méthode `open()`.", "La méthode `open()`."),
        ("Use [`a`](u) of [`b`](v) here.", "Ici le `b` du `a`.", "Ici le [`b`](v) du [`a`](u)."),
        ("The {name} of **the man**.", "Le {name} de l'homme.", "Le {name} de **l'homme**."),
        ("Use `a` in `a` or `ab`.", "Dans `ab` ou `a` : `a`.", "Dans `ab` ou `a` : `a`."),
        ("Use `a` in `b`.", "Utilisez dans `b`.", "Utilisez `a` dans `b`."),
        ("Use `a` in `b`.", "Utilisez dans.", "Utilisez `a` dans `b`."),
        ("Set foo_bar and `foo_bar` now.", "Définissez `foo_bar` et foo_bar.", "Définissez `foo_bar` et foo_bar."),
        ("Press <kbd>Ctrl</kbd> now.", "Appuyez sur <kbd>Ctrl</kbd>.", "Appuyez sur <kbd>Ctrl</kbd>."),
        ("Use `a` and `b`.", "Utilisez `a``b`.", "Utilisez `a` `b`."),
    ],
)
def test_atoms_stay_where_the_text_has_them(source: str, text: str, result: str) -> None:
    assert rewritten(source, text) == result


def test_atoms_are_shown_with_the_spaces_around_them() -> None:
    [document] = read(io.StringIO("The `a b` of [`c`](u) is *the* `d`: it.\n"), "markdown")
    assert shown_texts(document) == ["The `a b` of `c` is the `d`: it."]


@pytest.mark.parametrize(
    ("source", "texts", "new", "result"),
    [
        (
            "`a()` is good. See `b`",
            ["`a()` is good.", "See `b`"],
            ["Bon est `a()`.", "Voir `b` !"],
            "Bon est `a()`. Voir `b` !",
        ),
        ("`a` is good. See `b`", ["`a` is good.", "See `b`"], ["est bon.", "Voir"], "`a` est bon. Voir `b`"),
        (
            "It is. [`a`](u) is **`b`**",
            ["It is.", "`a` is `b`"],
            ["Il est.", "`b` est `a`"],
            "Il est. **`b`** est [`a`](u)",
        ),
        ("Yes.[^1] Then ![i](p.png) go.", ["Yes.", "Then ![i](p.png) go.", "i"], None, None),
        ("![i](p.png) Go to `x`: {y}", ["i", "Go to `x`: {y}"], None, None),
    ],
)
def test_atoms_at_the_ends_belong_to_the_sentence(
    source: str, texts: list[str], new: list[str] | None, result: str | None
) -> None:
    [document] = read(io.StringIO(source), "markdown")
    assert shown_texts(document) == texts
    assert new is None or render([document], [new]) == result


def test_emphasis_inside_words_goes_around_the_words() -> None:
    source = "Say [`x`](u): comm**a**, **a**go and ha**v**e."
    assert rewritten(source, "Dire : virgule, avant et avoir.") == (
        "Dire [`x`](u): **virgule**, **avant** et **avoir**."
    )


def test_code_does_not_grow_together_with_a_link() -> None:
    source = "``a``: `Files <u>`_ and more."
    assert rewritten_bytes(source, "Files : et plus.") == b"``a`` `Files <u>`_ : et plus."


def test_html_atoms_are_written_as_they_were() -> None:
    source = '<p>The <code class="x">a &lt; b</code> test of <b>rules</b>.</p>'
    assert rewritten(source, 'Le test <code class="x">a &lt; b</code> des rules.', "html") == (
        '<p>Le test <code class="x">a &lt; b</code> des <b>rules</b>.</p>'
    )


_PARTS = ["`a`", "`b c`", "{x}", "foo_bar", "[`d`](u)", "**w**", "word", "and", "<kbd>K</kbd>"]


@given(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=8))
def test_the_text_with_atoms_reads_as_the_sentence(parts: list[str]) -> None:
    [document] = read(io.StringIO(f"Begin {' '.join(parts)} end.\n"), "markdown")
    [sentence] = document
    text, spans = text_with_atoms(sentence)
    assert [text[start:end] for start, end in spans] == [
        part.removeprefix("[").removesuffix("](u)") for part in parts if part not in ("**w**", "word", "and")
    ]
    shown = as_characters(sentence, text)
    assert shown.fill(shown.text) == text
    assert shown.sentence.text == shown.text


@given(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_no_atom_is_lost_or_doubled_in_any_order(parts: list[str], random: object) -> None:
    [document] = read(io.StringIO(f"Begin {' '.join(parts)} end.\n"), "markdown")
    words = text_with_atoms(document.sentences[0])[0].removesuffix(".").split(" ")
    random.shuffle(words)  # type: ignore[attr-defined]
    result = render([document], [[" ".join(words)]])
    assert isinstance(result, str)
    [again] = read(io.StringIO(result), "markdown")
    for atom in ("`a`", "`b c`", "{x}", "foo_bar", "`d`", "<kbd>K</kbd>"):
        assert result.count(atom) == " ".join(parts).count(atom)
    assert result.count("](u)") == " ".join(parts).count("](u)")
    assert again.format == "markdown"
