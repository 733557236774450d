"""The script that makes the everyday corpus: cleaning, filtering and readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from docgraph.errors import DocgraphError
from everyday.catalogues import fluent_messages, gettext, gettext_parts
from everyday.cleaning import plain, sentence_pairs, with_figures
from everyday.documents import Document, find, regroup
from everyday.filtering import is_good
from everyday.pages import pages

PO = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#: src/shop/basket.py:3
msgid "Empty"
msgstr "Vide"

#: src/shop/basket.py:9
#, python-format
msgid "%(count)d item"
msgid_plural "%(count)d items"
msgstr[0] "%(count)d article"
msgstr[1] "%(count)d articles"

#: src/shop/order.py:1
#, fuzzy
msgid "Sold"
msgstr "Solde"

#: src/shop/order.py:2
msgid "Paid"
msgstr "Payé"

#~ msgid "Gone"
#~ msgstr "Parti"
"""


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("The door is open.", "La porte est ouverte."),
        ("Wash at 30 °C.", "Laver à 30 °C."),
        ("Cat", "Chat"),
    ],
)
def test_translations_are_kept(english: str, french: str) -> None:
    assert is_good(english, french)


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("The door is open.", "The door is open."),
        ("The door is open.", "The door is not open to you."),
        ("La porte de la maison est à vous.", "La porte de la maison est ouverte."),
        ("The door to the garden is open.", "La porte"),
        ("Call open_door() first.", "Appelez d'abord open_door()."),
        ("The door of %s is open.", "La porte de %d est ouverte."),
        ("It opens at 8 and closes at 18.", "Elle ouvre et ferme."),
        ("Wash at 86 °F.", "Laver à 30 °C."),
        ("42", "42"),
    ],
    ids=["untranslated", "English", "French", "lengths", "code", "placeholders", "figures", "degrees", "no words"],
)
def test_other_pairs_are_dropped(english: str, french: str) -> None:
    assert not is_good(english, french)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("&Open the <b>door</b>", "Open the door"),
        ("E_xit", "Exit"),
        ("Fold ~marks", "Fold marks"),
        ("Salt &amp; pepper", "Salt & pepper"),
        ("<p>One.</p><p>Two.</p>", "One.\nTwo."),
        (" soft\u00adware \t here ", "software here"),
    ],
    ids=["accelerator and tag", "underscore", "tilde", "entity", "blocks", "white space"],
)
def test_markup_is_removed(text: str, cleaned: str) -> None:
    assert plain(text) == cleaned


def test_a_count_becomes_the_same_figure_in_both() -> None:
    english, french = with_figures("%d days and {hours} hours", "{hours} heures et %d jours")
    days, hours = (word for word in english.split() if word.isdigit())
    assert french == f"{hours} heures et {days} jours"
    assert with_figures("%d days", "un jour") == ("%d days", "un jour")


def test_sentences_are_split_if_both_sides_have_the_same_number() -> None:
    english = "Open the door. Then go in.\n\n* Close it again."
    pairs = [
        ("Open the door.", "Ouvrez la porte."),
        ("Then go in.", "Entrez ensuite."),
        ("Close it again.", "Refermez-la."),
    ]
    assert list(sentence_pairs(english, "Ouvrez la porte. Entrez ensuite.\n\n* Refermez-la.")) == pairs
    joined = list(sentence_pairs(english, "Ouvrez la porte et entrez ensuite.\n\n* Refermez-la."))
    assert joined == [("Open the door. Then go in.", "Ouvrez la porte et entrez ensuite."), pairs[2]]


def test_short_parts_are_joined_and_long_ones_cut() -> None:
    parts = [[(f"{part}", f"{number}") for number in range(size)] for part, size in enumerate((2, 3, 40, 14))]
    documents = list(regroup("fr.po", parts, most=30))
    assert [document.name for document in documents] == ["fr.po#1", "fr.po#2", "fr.po#3", "fr.po#4"]
    assert [document.pairs for document in documents] == [parts[0] + parts[1], parts[2][:30], parts[2][30:], parts[3]]


def test_missing_packages_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match="--list"):
        find(tmp_path, "indico/*.po")


def test_a_catalogue_is_read_by_source_file_with_its_plurals(tmp_path: Path) -> None:
    pytest.importorskip("polib")
    path = tmp_path / "shop" / "fr.po"
    path.parent.mkdir()
    path.write_text(PO, encoding="utf-8")
    basket = [("Empty", "Vide"), ("1 item", "1 article"), ("%(count)d items", "%(count)d articles")]
    assert list(gettext_parts(path)) == [basket, [("Paid", "Payé")]]
    assert list(gettext("shop/*.po")(tmp_path)) == [Document("shop/fr.po#1", [*basket, ("Paid", "Payé")])]


def test_fluent_messages_have_attributes_and_no_variants(tmp_path: Path) -> None:
    path = tmp_path / "menu.ftl"
    path.write_text(
        "# Menu\nopen = Open\n    .label = Open a file\n        or two\n    .accesskey = O\n"
        "tabs = { $n ->\n    [one] One tab\n   *[other] Tabs\n }\n",
        encoding="utf-8",
    )
    assert fluent_messages(path) == {"open": "Open", "open.label": "Open a file or two"}


def test_pages_are_paired_block_by_block(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    for language, text in (("C", "Press <key>F1</key>."), ("fr", "Appuyez sur <key>F1</key>.")):
        (tmp_path / language).mkdir()
        page = f"<page><info><credit><p>Ann</p></credit></info><item><p>{text}</p></item></page>"
        (tmp_path / language / "help.page").write_text(page, encoding="utf-8")
    read = pages("C/*.page", "C/", "fr/", frozenset({"p", "item"}), frozenset({"credit"}))
    assert list(read(tmp_path)) == [Document("C/help.page", [("Press F1.", "Appuyez sur F1.")])]
