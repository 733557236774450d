"""TMX: languages, inline codes, documents, encodings, and malformed files."""

from __future__ import annotations

import gzip
import lzma
import tracemalloc
from itertools import groupby
from pathlib import Path

import pytest
from corpus_examples import read_documents, texts, tmx, write
from hypothesis import given
from hypothesis import strategies as st

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers import Limits, Problems, read
from docgraph.corpus.readers.text_files import clean
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

GOLDEN = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
<header srclang="en-US" datatype="html"><prop type="x-document">none of a unit</prop><note>n</note></header>
<body>
<tu tuid="1"><note>passed over</note><prop type="x-document">a.docx</prop><prop type="x-project">p</prop>
  <tuv xml:lang="EN_us"><prop type="x-origin">mt</prop>
    <seg>Press <bpt i="1">&lt;b></bpt>Start &amp; <hi>wait</hi><ept i="1">&lt;/b></ept>.<ph>&lt;img alt="<sub>An
    image</sub>"/></ph></seg></tuv>
  <tuv xml:lang="fr-FR"><seg>Appuyez sur D&#233;marrer <it pos="begin">{</it>et <![CDATA[<attendez>]]>.</seg></tuv>
</tu>
<tu><prop type="x-document">a.docx</prop>
  <tuv lang="fr"><seg>  Sur deux
lignes.</seg></tuv>
  <tuv lang="en"><seg>On two<ut>{\\b}</ut> lines.</seg></tuv><tuv lang="en-GB"><seg>Not this one.</seg></tuv>
</tu>
<tu><prop type="x-document">a.docx</prop><tuv xml:lang="en"><seg>Nobody translated this.</seg></tuv></tu>
<tu><prop type="Filename">b.docx</prop>
  <tuv xml:lang="en"><seg>Another file.</seg></tuv><tuv xml:lang="fr"><seg>Un autre fichier.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Of no file.</seg></tuv><tuv xml:lang="fr"><seg>D’aucun fichier.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Nor this.</seg></tuv><tuv xml:lang="fr"><seg>Ni ceci.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Empty.</seg></tuv><tuv xml:lang="fr"><seg><ph>{1}</ph></seg></tuv></tu>
</body>
</tmx>
"""
ENGLISH = [["Press Start & wait.", "On two lines."], ["Another file."], ["Of no file."], ["Nor this."]]
FRENCH = [["Appuyez sur Démarrer et <attendez>.", "Sur deux lignes."], ["Un autre fichier."]]
FRENCH += [["D’aucun fichier."], ["Ni ceci."]]


def read_bytes(folder: Path, content: str | bytes, skip: bool = True, **fields: object) -> list[ParallelDocument]:
    return read_documents(Problems(skip), source=write(folder, memory__tmx=content)["memory__tmx"], **fields)


def test_a_memory_with_all_features(tmp_path: Path) -> None:
    path, problems = write(tmp_path, m__tmx=GOLDEN)["m__tmx"], Problems(skip=True)
    documents = read_documents(problems, source=path)
    assert texts(documents) == (ENGLISH, FRENCH)
    assert [document.id for document in documents] == ["a.docx", "b.docx", "m.tmx:20", "m.tmx:21"]
    assert [document.lines for document in documents] == [(8, 15), (19,), (20,), (21,)]
    assert dict(problems.dropped) == {"empty side": 2}
    assert problems.first == {"empty side": f"{path}:17"}
    error = r"m.tmx:17: this unit has en but not fr \('languages' sets the pair\); correct it, or .* --skip-bad"
    with pytest.raises(DocgraphError, match=error):
        read_documents(source=path)


@pytest.mark.parametrize("languages", [("fr", "en"), ("FR_ca", "en-GB")])
def test_languages_set_the_direction(languages: tuple[str, str], tmp_path: Path) -> None:
    assert texts(read_bytes(tmp_path, GOLDEN, languages=languages)) == (FRENCH, ENGLISH)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "windows-1252"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    name = encoding.removesuffix("-sig").removesuffix("-le").removesuffix("-be")
    text = GOLDEN.replace("UTF-8", name)
    if encoding.endswith(("-le", "-be")):
        text = "\ufeff" + text
    documents = read_bytes(tmp_path, text.encode(encoding))
    assert texts(documents) == (ENGLISH, FRENCH)
    assert [document.lines for document in documents] == [(8, 15), (19,), (20,), (21,)]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed_memories(pack: object, tmp_path: Path) -> None:
    data: bytes = pack(GOLDEN.replace("UTF-8", "UTF-16").encode("utf-16"))  # type: ignore[operator]
    assert texts(read_bytes(tmp_path, data)) == (ENGLISH, FRENCH)
    with pytest.raises(DocgraphError, match=r"memory\.tmx: the compressed file is cut short or damaged"):
        read_bytes(tmp_path, data[:-12])


def memory(*units: dict[str, str], srclang: str = "en") -> str:
    return tmx((("", unit) for unit in units), srclang)


THREE = memory({"en": "a", "fr": "b"}, {"en": "a", "de-AT": "c", "fr": "b"})


@pytest.mark.parametrize(
    ("content", "languages", "error"),
    [
        (
            THREE,
            None,
            r"memory.tmx:9: the file has srclang 'en' and, up to here, segments in de, en and fr; set 'languages'",
        ),
        (memory({"en": "a", "fr": "b"}, srclang="*all*"), None, r"tmx:5: the file has srclang '\*all\*' and"),
        (memory({"en": "a", "fr": "b"}, srclang=""), None, r"tmx:5: the file has no srclang and"),
        (THREE, ["en", "es"], r"tmx: no unit has a segment in es, only in de, en and fr; give another file"),
        (THREE, ["en", "en-GB"], r"tmx: 'languages' is \[en, en-GB\]; it must name two languages, source first"),
        (THREE, ["en"], r"'languages' is \['en'\]; it must be a list of two names"),
        (THREE, ["en", ""], r"tmx: 'languages' is \[en, \]; it must name two"),
        (memory({"en": "a"}, {}), None, r"there is no sentence pair in this file \(2 dropped as empty side\)"),
        (memory(), None, "there is no sentence pair in this file;"),
    ],
)
def test_ambiguous_languages_are_refused(content: str, languages: list[str] | None, error: str, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=error):
        read_bytes(tmp_path, content, languages=languages)


def test_a_wrong_language_is_reported_at_the_first_unit(tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=r"tmx:5: this unit has en and fr but not es \('languages' sets"):
        read_bytes(tmp_path, THREE, skip=False, languages=["en", "es"])
    assert texts(read_bytes(tmp_path, THREE, languages=["fr", "de"])) == ([["b"]], [["c"]])


def with_doctype(subset: str, text: str = "a") -> str:
    return memory({"en": "TEXT", "fr": "b"}).replace('SYSTEM "tmx14.dtd"', subset).replace("TEXT", text)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (with_doctype('[<!ENTITY x "y">]', "&x;"), "tmx:2: the entity 'x' is not predefined in XML"),
        (with_doctype('[<!ENTITY x SYSTEM "file:///etc/passwd">]', "&x;"), "tmx:2: the entity 'x' is not"),
        (with_doctype('[<!ENTITY % x SYSTEM "x.dtd"> %x;]'), "tmx:2: the entity 'x' is not"),
        (with_doctype('SYSTEM "tmx14.dtd"', "a&nbsp;b"), "tmx:6: the entity 'nbsp' is not predefined in XML"),
        (with_doctype("", "a&nbsp;b"), r"tmx:6: this is not well-formed XML \(undefined entity\)"),
        (THREE[:-20], r"tmx:13: this is not well-formed XML \(no element found\); correct the markup"),
        (THREE.replace("</seg>", "", 1), r"tmx:6: this is not well-formed XML \(mismatched tag\)"),
        (THREE.replace("?>", ' encoding="x-none"?>'), r"tmx:1: .*encoding"),
        (THREE.replace("?>", ' encoding="utf-7"?>'), r"tmx:1: .*encoding"),
        ("", r"tmx:1: this is not well-formed XML \(no element found\)"),
        ("plain text", "tmx:1: this is not well-formed XML"),
        ("<!-- x -->\n<html/>", "tmx:2: this is not TMX, its outermost element is <html>; choose another 'format'"),
        ("<tmx>" + "<a>" * 200, "tmx:1: elements are nested over 100 deep"),
        (f"<tmx>\n<!--{'-x' * 2_000_000}--></tmx>", "tmx:2: a tag or comment is over a megabyte long"),
    ],
    ids=range(14),
)
def test_malformed_files_are_refused(content: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=error):
        read_bytes(tmp_path, content)


@pytest.mark.parametrize("size", [9_000, 3_000_000])
def test_long_segments_are_bad_pairs(size: int, tmp_path: Path) -> None:
    path = write(tmp_path, m__tmx=memory({"en": "a", "fr": "b"}, {"en": "x\n" * (size // 2), "fr": "b"}))["m__tmx"]
    problems = Problems(skip=True)
    assert texts(read_documents(problems, source=path)) == ([["a"]], [["b"]])
    assert dict(problems.dropped) == {"too long": 1}


XML = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")
SENTENCE = st.text(XML | st.sampled_from("<>&\n\t\"']"), max_size=12)
PAIRS = st.lists(st.tuples(st.sampled_from(["", "d", "e"]), SENTENCE, SENTENCE), min_size=1, max_size=6)


@given(PAIRS, st.sampled_from(["utf-8", "utf-16"]))
def test_pairs_round_trip(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str, str]], encoding: str
) -> None:
    folder = tmp_path_factory.mktemp("round")
    content = tmx((docid, {"en": source, "fr": target}) for docid, source, target in pairs).encode(encoding)
    expected = []
    for _, group in groupby(enumerate(pairs), lambda row: row[1][0] or row[0]):
        cleaned = [(clean(source), clean(target)) for _, (_, source, target) in group]
        if kept := [pair for pair in cleaned if all(pair)]:
            expected.append(kept)
    if not expected:
        return
    documents = read_bytes(folder, content, limits=Limits(None))
    assert [list(zip(document.source, document.target, strict=True)) for document in documents] == expected


ELEMENTS = [
    'header srclang="fr"',
    "tu",
    'tuv lang="en"',
    'tuv xml:lang="fr"',
    "tuv",
    "seg",
    "ph",
    "hi",
    'prop type="x-file"',
]


def element(parts: tuple[str, list[str]]) -> str:
    return f"<{parts[0]}>{''.join(parts[1])}</{parts[0].split()[0]}>"


MARKUP = st.recursive(
    st.sampled_from(["a", "&amp;", "\n", "<seg>b</seg>", '<tuv lang="en"><seg>c</seg></tuv>']),
    lambda inner: st.tuples(st.sampled_from(ELEMENTS), st.lists(inner, max_size=4)).map(element),
    max_leaves=12,
)


@given(st.lists(MARKUP, max_size=4))
def test_elements_in_any_order_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, body: list[str]) -> None:
    folder, unit = (
        tmp_path_factory.mktemp("hostile"),
        '<tuv lang="en"><seg>x</seg></tuv><tuv lang="fr"><seg>y</seg></tuv>',
    )
    content = f"<tmx>{''.join(body)}<tu>{unit}</tu></tmx>"
    documents = read_bytes(folder, content, languages=["en", "fr"])
    assert texts(documents[-1:]) == ([["x"]], [["y"]])
    assert all(text and text == clean(text) for document in documents for text in document.source + document.target)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(units: int) -> int:
        path = write(tmp_path, m__tmx=memory(*[{"en": "A sentence of some length.", "fr": "Une phrase."}] * units))
        tracemalloc.start()
        assert sum(len(document) for document in read(DataEntry(path["m__tmx"]), Problems())) == units
        reached = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return reached

    peak(10)  # what is imported on the way
    assert peak(20_000) < 2 * peak(2_000)
