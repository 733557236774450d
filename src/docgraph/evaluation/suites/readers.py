"""Readers of published contrastive suites. The format of a file is detected from its content.

**Voita et al. (2019), English-Russian**: deixis, lexical cohesion, ellipsis. A file is a list of items {src, dst[],
true_ind, ctx_dist}: four sentences per side, joined by `_eos`, Moses-tokenised; the variants in `dst` differ in the
last sentence only. The original script takes one loss per variant, in file order. An item is right if the first
variant with the lowest loss is the true one. Accuracy is counted by `ctx_dist`, except for the two ellipsis sets.

**Bawden et al. (2018), English-French**: anaphora, lexical choice. A file is an object of numbered blocks. The
contrasts of a block pair the same sentences in contexts that ask for one or the other, so a scorer that ignores
context gets half of them. (One of the four pairs of block 17 of the anaphora file is worded differently; there, such a
scorer may gain or lose one.) The original script takes two scores per pair, right before wrong, blocks by number. A
pair is right if its right translation has the strictly better score, a block if all its pairs are. Accuracy is counted
by kind of pronoun and by whether the translation of the antecedent is only semi-correct, or by type of lexical choice.

**ContraPro (Müller et al. 2018, English-German) and Lopes et al. (2020, English-French)**. The JSON file lists
sentences with their pronouns and `errors`, the wrong translations. The context is in the subtitles, which are searched
beside the file: in a folder `documents` (`documents/1921/1921_12806_3712161.en` and `.de`), as the set-up scripts of
both sets lay them out, or in a folder `extracted` with the text files that come with the French set. Without these
there is no context. The text files can also be read alone: `[NAME.]current.src` and `.trg`, a right line before a
wrong one, and `[NAME.]cK.context.src` and `.trg` with the K sentences before each line. The original script takes the
score of the reference, then one per error, in file order. A sentence is right if the reference is strictly better than
every error. Accuracy is counted by pronoun (`it:er`), by whether the antecedent is in the same segment, and by the
distance of the antecedent, with all beyond 3 together. The text files alone give the pronouns only, and no distance.

In all scripts lower scores are better by default; an option reverses this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.evaluation.suites.suite import (
    Contrast,
    Suite,
    file_stem,
    get_field,
    get_texts,
    named_errors,
    read_jsonl,
    read_lines,
    read_text,
)


def read_suite(path: str | Path) -> Suite:
    """Reads a suite from a plain or compressed file or a folder, in its authors' format or in docgraph's."""
    suite = _read(Path(path))
    if not suite.contrasts:
        raise DocgraphError("there is no contrast in this suite; choose another file", path=path)
    return suite


def _read(path: Path) -> Suite:
    if path.is_dir():
        return read_contrapro_texts(path)
    if ".jsonl" in path.suffixes:
        return read_jsonl(path)
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise DocgraphError("this is not valid JSON; download the file again", path=path, line=line) from None
    if isinstance(value, dict):
        return _read_bawden(path, value)
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, dict) and "dst" in first:
        return _read_voita(path, value)
    if isinstance(first, dict) and "errors" in first:
        return _read_contrapro(path, value)
    raise DocgraphError("the format of this suite is unknown; write it as JSON lines (NAME.jsonl)", path=path)


# Voita et al. (2019)

VOITA_SEPARATOR = "_eos"
_DETOKENISE = (
    (re.compile(r" ?(\x90|\u202d|\ufeff) ?"), ""),
    (re.compile(r" ('(?:s|t|re|m|ll|ve|d)\b)", re.IGNORECASE), r"\1"),
    (re.compile(r" ' (s|em)\b"), r"'\1"),
    (re.compile(r"s ' (?=\w)"), "s' "),
    (re.compile(r' ([.,?!:;%)\]]|\.\.+)(?= |$|")'), r"\1"),
    (re.compile(r"([(\[$]) "), r"\1"),
    (re.compile(r"(\d) / (\d)"), r"\1/\2"),
    (re.compile(r'" ([^"]*?) ?"'), r'"\1"'),
)


def _read_voita(path: Path, items: list[Any]) -> Suite:
    name = file_stem(path)
    contrasts = []
    for number, item in enumerate(items, 1):
        with named_errors(f"item {number}", path):
            contrasts.append(_voita_contrast(item, by_distance=not name.startswith("ellipsis")))
    return Suite(name, tuple(contrasts), ("en", "ru"), ties="first", text="detokenised")


def _voita_contrast(item: Any, by_distance: bool) -> Contrast:
    *context, source = _voita_sentences(get_field(item, "src", str))
    variants = [_voita_sentences(text) for text in get_texts(item, "dst")]
    if any(len(variant) != len(context) + 1 or variant[:-1] != variants[0][:-1] for variant in variants):
        raise ValueError("the variants in 'dst' must have as many sentences as 'src' and differ in the last one only")
    distance = get_field(item, "ctx_dist", int)
    return Contrast(
        source,
        tuple(variant[-1] for variant in variants),
        tuple(context),
        tuple(variants[0][:-1]) if variants else (),
        get_field(item, "true_ind", int),
        distance=distance if by_distance else None,
    )


def _voita_sentences(text: str) -> list[str]:
    return [detokenise(sentence.strip()) for sentence in text.split(VOITA_SEPARATOR)]


def detokenise(text: str) -> str:
    """Returns Moses tokens as raw text, which the models read."""
    for pattern, replacement in _DETOKENISE:
        text = pattern.sub(replacement, text)
    return text.strip()


# Bawden et al. (2018)


def _read_bawden(path: Path, blocks: dict[str, Any]) -> Suite:
    contrasts = list[Contrast]()
    with named_errors("the numbering of blocks", path):
        numbers = sorted(blocks, key=int)
    for number in numbers:
        with named_errors(f"block {number}", path):
            contrasts.extend(_bawden_block(number, blocks[number]))
    return Suite(file_stem(path), tuple(contrasts), ("en", "fr"))


def _bawden_block(number: str, block: Any) -> Iterator[Contrast]:
    if not isinstance(block, dict):
        raise ValueError("it is not an object")
    if "trg" in block:  # anaphora: one source, several translations of it
        for pair in get_field(block, "trg", list):
            pronoun = get_field(pair, "type", str)
            right = "correct" if "correct" in pair else "semi-correct"
            labels = {"pronoun": pronoun, "antecedent": right}
            sides = get_texts(block, "src"), get_texts(pair, right), get_texts(pair, "incorrect")
            yield _bawden_contrast(*sides, labels, number)
    else:
        for example in get_field(block, "examples", list):
            target = get_field(example, "trg", dict)
            labels = {"type": get_field(block, "type", str)}
            sides = get_texts(example, "src"), get_texts(target, "correct"), get_texts(target, "incorrect")
            yield _bawden_contrast(*sides, labels, number)


def _bawden_contrast(
    source: tuple[str, ...], right: tuple[str, ...], wrong: tuple[str, ...], labels: dict[str, str], block: str
) -> Contrast:
    if not len(source) == len(right) == len(wrong) or right[:-1] != wrong[:-1]:
        raise ValueError("source, right and wrong translation do not have the same sentences before the last")
    return Contrast(source[-1], (right[-1], wrong[-1]), source[:-1], right[:-1], labels=labels, block=block)


# ContraPro (Müller et al. 2018) and Lopes et al. (2020)

CONTRAPRO_FAR = 3
CONTRAPRO_CONTEXT = 10
"""Sentences of context taken from the documents."""
_FRENCH_PRONOUN = re.compile(r"\b(?:il|elle)s?\b")
_SPELLING = re.compile(r"[\s\"'`´]")
"""Characters in which the same sentence differs between the files."""
AddContext = Callable[[Contrast, Any], Contrast]
"""Adds to a contrast the context of its record."""


def _read_contrapro(path: Path, records: list[Any]) -> Suite:
    corpus = str(records[0].get("corpus"))
    languages = (corpus[-4:-2], corpus[-2:]) if re.search(r"[a-z]{4}$", corpus) else None
    add_context = _context_source(path.parent, languages or ("en", "de"))
    contrasts = []
    for number, record in enumerate(records, 1):
        with named_errors(f"record {number}", path):
            contrasts.append(add_context(_contrapro_contrast(record), record))
    return Suite(file_stem(path), tuple(contrasts), languages, far=CONTRAPRO_FAR)


def _contrapro_contrast(record: Any) -> Contrast:
    pronouns = (get_field(record, f"{side} pronoun", str).lower() for side in ("src", "ref"))
    wrong = [get_field(error, "contrastive", str) for error in get_field(record, "errors", list)]
    return Contrast(
        get_field(record, "src segment", str).strip(),
        tuple(text.strip() for text in (get_field(record, "ref segment", str), *wrong)),
        labels={"pronoun": ":".join(pronouns), "intrasegmental": str(record.get("intrasegmental")).lower()},
        distance=get_field(record, "ante distance", int),
    )


def _context_source(folder: Path, languages: tuple[str, str]) -> AddContext:
    if (folder / "documents").is_dir():
        return lambda contrast, record: _add_from_documents(contrast, record, folder / "documents", languages)
    if (folder / "extracted").is_dir():
        known = {_spelling_key(contrast): contrast for contrast in read_contrapro_texts(folder / "extracted").contrasts}
        return lambda contrast, record: _add_from_texts(contrast, known)
    return lambda contrast, record: contrast


def _add_from_documents(contrast: Contrast, record: Any, folder: Path, languages: tuple[str, str]) -> Contrast:
    name, segment = get_field(record, "document id", str), get_field(record, "segment id", int)
    if name != Path(name).name:
        raise ValueError(f"'{name}' is not the name of a document")
    base = folder / name.partition("_")[0] / name.partition(".")[0]
    source, target = (_read_subtitles(base.with_name(f"{base.name}.{language}")) for language in languages)
    # Segments are numbered from 1 in the German set, from 0 in the French one.
    places = [place for place in (segment - 1, segment) if _is_same(source[place : place + 1], contrast.source)]
    if not places or len(source) != len(target):
        raise ValueError(f"segment {segment} of document '{name}' is not its source sentence")
    before = [pair for pair in zip(source[: places[0]], target[: places[0]], strict=True) if all(pair)]
    context = before[-CONTRAPRO_CONTEXT:]
    return replace(
        contrast, source_context=tuple(pair[0] for pair in context), target_context=tuple(pair[1] for pair in context)
    )


@lru_cache(maxsize=16)
def _read_subtitles(path: Path) -> list[str]:
    if not path.is_file():
        raise ValueError(f"its document {path} is missing")
    return read_lines(path)


def _is_same(lines: list[str], text: str) -> bool:
    return bool(lines) and _SPELLING.sub("", lines[0]) == _SPELLING.sub("", text)


def _spelling_key(contrast: Contrast) -> tuple[str, ...]:
    return tuple(_SPELLING.sub("", text) for text in (contrast.source, *contrast.candidates))


def _add_from_texts(contrast: Contrast, known: dict[tuple[str, ...], Contrast]) -> Contrast:
    same = known.get(_spelling_key(contrast))
    if same is None:
        raise ValueError("its sentences are not in the text files of the folder 'extracted'")
    return replace(contrast, source_context=same.source_context, target_context=same.target_context)


def read_contrapro_texts(folder: str | Path) -> Suite:
    """Reads the French set from a folder of its text files."""
    current = next(iter(sorted(Path(folder).glob("*current.src"))), None)
    if current is None:
        raise DocgraphError("this folder has no 'current.src'; give a suite file, or the folder of one", path=folder)
    prefix = current.name.removesuffix("current.src")
    source, target = (read_lines(current.with_suffix(side)) for side in (".src", ".trg"))
    if len(source) != len(target) or len(source) % 2:
        counts = f"{len(source):,} source and {len(target):,} target lines"
        raise DocgraphError(
            f"{counts} are not pairs of a right and a wrong translation; download them again", path=current
        )
    paths = sorted(Path(folder).glob(f"{prefix}*context.src"))
    contexts = sorted((_read_contexts(path, len(source)) for path in paths), key=lambda context: -len(context[0][0]))
    contrasts = []
    for first in range(0, len(source), 2):
        if source[first] != source[first + 1]:
            message = "this line differs from the line before, which must be the same sentence; download the file again"
            raise DocgraphError(message, path=current, line=first + 2)
        # The longest context: near the beginning of a film the files of longer contexts have blank lines.
        context = next((windows[first] for windows in contexts if all(windows[first][0])), ((), ()))
        pair = target[first], target[first + 1]
        contrasts.append(Contrast(source[first], pair, *context, labels={"pronoun": _french_pronoun(*pair)}))
    return Suite(prefix.rstrip(".") or Path(folder).name, tuple(contrasts), ("en", "fr"), far=CONTRAPRO_FAR)


def _read_contexts(path: Path, count: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Returns, for each of `count` lines, the sentences before it, on both sides."""
    sides = [read_lines(path), read_lines(path.with_suffix(".trg"))]
    size = len(sides[0]) // max(count, 1)
    if any(len(side) != size * count for side in sides) or not size:
        counts = f"{len(sides[0]):,} source and {len(sides[1]):,} target lines"
        raise DocgraphError(f"{counts} are not contexts of {count:,} sentences; download them again", path=path)
    source, target = ([tuple(side[i : i + size]) for i in range(0, len(side), size)] for side in sides)
    return list(zip(source, target, strict=True))


def _french_pronoun(right: str, wrong: str) -> str:
    """Returns the pronoun in which the two differ, as the JSON file names it: `it:il`, `they:elles`."""
    pairs = zip(*(_FRENCH_PRONOUN.findall(text.lower()) for text in (right, wrong)), strict=False)
    pronoun = next((ours for ours, theirs in pairs if ours != theirs), "?")
    return f"{'they' if pronoun.endswith('s') else 'it'}:{pronoun}"
