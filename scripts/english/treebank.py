"""CoNLL-U treebanks as spaCy documents, one sentence each, with gold tokens."""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

ATTRIBUTES = ["ORTH", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "SPACY"]
FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, MISC = 1, 2, 3, 4, 5, 6, 7, 9
Row = list[str]


def open_text(path: Path) -> Iterator[str]:
    """The lines of a text file, plain or xz."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        yield from file


def find(folder: Path, name: str) -> Path:
    """The CoNLL-U file of a folder whose name ends in `name`, plain or xz."""
    found = sorted([*folder.glob(f"*{name}.conllu"), *folder.glob(f"*{name}.conllu.xz")])
    if not found:
        raise SystemExit(f"{folder} has no *{name}.conllu; give the folder of the treebank")
    return found[0]


def read(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """The sentences of a CoNLL-U file; empty nodes are skipped."""
    rows: list[Row] = []
    for line in open_text(path):
        line = line.rstrip("\n")
        if line and line[0] != "#":
            rows.append(line.split("\t"))
        elif not line and rows:
            yield _sentence(rows, vocab)
            rows = []
    if rows:
        yield _sentence(rows, vocab)


def _sentence(rows: list[Row], vocab: Vocab) -> Doc:
    words = [row for row in rows if row[0].isdigit()]
    return Doc(
        vocab,
        words=[row[FORM] for row in words],
        spaces=_spaces(rows, len(words)),
        tags=[row[XPOS] for row in words],
        pos=[row[UPOS] for row in words],
        morphs=["" if row[FEATS] == "_" else row[FEATS] for row in words],
        lemmas=[row[LEMMA] for row in words],
        heads=[i if row[HEAD] == "0" else int(row[HEAD]) - 1 for i, row in enumerate(words)],
        deps=["ROOT" if row[DEPREL] == "root" else row[DEPREL] for row in words],
        sent_starts=[i == 0 for i in range(len(words))],
    )


def _spaces(rows: list[Row], count: int) -> list[bool]:
    """Whether a space follows each word; a multiword token has none inside and its own after its last word."""
    spaces = [True] * count
    for row in rows:
        after = "SpaceAfter=No" not in row[MISC]
        if row[0].isdigit():
            spaces[int(row[0]) - 1] = after
    for row in rows:
        first, dash, last = row[0].partition("-")
        if dash:
            spaces[int(first) - 1 : int(last) - 1] = [False] * (int(last) - int(first))
            spaces[int(last) - 1] = "SpaceAfter=No" not in row[MISC]
    return spaces


def save(sentences: Iterable[Doc], path: Path) -> Path:
    """Write sentences as a DocBin."""
    DocBin(attrs=ATTRIBUTES, docs=sentences).to_disk(path)
    return path


def bare(sentence: Doc, nlp: Language) -> Doc:
    """The words of a sentence without its annotation, its boundary given."""
    doc = Doc(nlp.vocab, words=[word.text for word in sentence], spaces=[bool(word.whitespace_) for word in sentence])
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc
