"""Copy English-French training corpora, with French that a translation should imitate.

    python scripts/clean_french.py corpora/distinct/mdn_en-fr corpora/distinct/gcblogs_en-fr --out corpora/clean

Some sources write inclusive forms with a dot, each in its own way (utilisateur·ice, utilisateur·rice·s, il·elle), and
notes on the language of a linked page ("(angl.)", "(en anglais)"). A model that reads them among other texts writes
them at random. Inclusive forms become masculine ones, and notes that the English does not have are removed. A pair with
another dot between letters is left out, unless its English has a dot as well (mPa·s).
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from corpus_folders import Lines, read_documents, write_documents

_DOT = "[·⋅•]"
_BETWEEN_LETTERS = re.compile(rf"[^\W\d_]{_DOT}[^\W\d_]?")
_WITH_ARTICLE = re.compile(rf"\b(du|au){_DOT}(?:de|à) la\b", re.IGNORECASE)
_PAIRS = (
    ("il", "elle"), ("lui", "elle"), ("ils", "elles"), ("eux", "elles"), ("ceux", "c?elles"), ("celui", "celle"),
    ("le", "l?a"), ("son", "sa"), ("un", "une"),
)  # fmt: skip
"""Masculine words and the feminine ones that they are joined with."""
_PAIR = re.compile(
    "|".join(rf"\b(?:({m}){_DOT}{f}|{f}{_DOT}({m}))\b" for m, f in _PAIRS),
    re.IGNORECASE,
)
_SUFFIX = (
    "elle|euse|enne|esse|ère|fe|ice|ienne|ive|le|lle|ne|nne|rice|se|sse|te|trice|tte|ve|e"  # the longer ones first
)
_INCLUSIVE = re.compile(rf"\b([^\W\d_]{{2,}}?){_DOT}(?:(?:{_SUFFIX})(?:{_DOT}?s)?|s)\b")
_NOT_ELIDED = re.compile(r"\b(l|L)e (?=(?:utilisat|auteur|artiste|internaut|étudi|enseign|administr|éditeur|animat))")
_BEFORE_VOWEL = re.compile(r"\b([Cc]e) (?=(?:utilisat|auteur|étudi|enseign|administr|éditeur|animat))")
_NOTE = re.compile(r"[ \u00a0]?\((?:angl\.?|(?:en )?anglais(?: seulement| uniquement)?)\)")
_ENGLISH_NOTE = re.compile(r"\benglish\b", re.IGNORECASE)


def clean(source: str, target: str) -> str | None:
    """Returns the French of a pair without inclusive forms and notes; None if a form is not understood."""
    if not _ENGLISH_NOTE.search(source):
        target = _NOTE.sub("", target)
    if not _BETWEEN_LETTERS.search(target) or _BETWEEN_LETTERS.search(source):
        return target
    target = _WITH_ARTICLE.sub(r"\1", target)
    target = _PAIR.sub(lambda match: next(form for form in match.groups() if form is not None), target)
    target = _INCLUSIVE.sub(_masculine, target)
    target = _BEFORE_VOWEL.sub(r"\1t ", _NOT_ELIDED.sub(r"\1'", target))
    return None if _BETWEEN_LETTERS.search(target) else target


def _masculine(match: re.Match[str]) -> str:
    is_plural = match[0].endswith("s") and not match[1].endswith(("s", "x"))
    return match[1] + ("s" if is_plural else "")


def clean_documents(documents: list[list[Lines]]) -> tuple[list[list[Lines]], int, int]:
    """Returns documents with cleaned French, and how many pairs were changed and left out."""
    changed = dropped = 0
    cleaned: list[list[Lines]] = []
    for document in documents:
        kept: list[Lines] = []
        for source, target, *speaker in document:
            new = clean(source, target)
            changed += new is not None and new != target
            dropped += not new
            if new:
                kept.append((source, new, *speaker))
        cleaned.append(kept)
    return cleaned, changed, dropped


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+", help="corpus folders")
    parser.add_argument("--out", type=Path, required=True, help="folder for the copies")
    arguments = parser.parse_args()
    for folder in arguments.corpora:
        if (arguments.out / folder.name).exists():
            parser.error(f"{arguments.out / folder.name} exists; choose another --out")
    for folder in arguments.corpora:
        documents, changed, dropped = clean_documents(list(read_documents(folder)))
        write_documents(arguments.out / folder.name, documents)
        print(f"{folder.name}: {changed:,} pairs changed, {dropped:,} left out", flush=True)


if __name__ == "__main__":
    main()
