"""All input formats, with good and bad files: documents, errors with positions, and pairs dropped by --skip-bad."""

from __future__ import annotations

import gzip
import lzma
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_examples import SOURCE, TARGET, blank_lines, read_documents, texts, tmx, write
from hypothesis import given
from hypothesis import strategies as st

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers import FORMATS, Limits, Problems, detect, read, read_all
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

FLAT = [line for document in SOURCE for line in document], [line for document in TARGET for line in document]
IDS = ["a", "a", "b", "b", "b"]


def segments(documents: list[list[str]], root: str, capitals: bool = False) -> str:
    lines = [f'<{root} setid="x" srclang="any">']
    for name, document in zip("ab", documents, strict=True):
        lines.append(f'<doc docid="{name}" genre="news">\n<url>http://x</url>\n<p>')
        lines += [f'<seg id="{i}"> {text.replace("&", "&amp;")}\n </seg>' for i, text in enumerate(document, start=1)]
        lines.append("</p></doc>")
    text = "\n".join([*lines, f"</{root}>"])
    for tag in ("doc", "seg") if capitals else ():
        text = text.replace(f"<{tag} ", f"<{tag.upper()} ").replace(f"</{tag}>", f"</{tag.upper()}>")
    return text.replace("docid=", "DOCID=") if capitals else text


def talks(documents: list[list[str]], reviewer: bool) -> str:
    parts = []
    for name, document in zip("ab", documents, strict=True):
        head = f"<url>http://{name}</url>\n<keywords>k</keywords>\n<talkid>{name}</talkid>\n<title>T & t</title>\n"
        extra = '<reviewer href="x">R</reviewer>\n<translator href="y">T</translator>\n' if reviewer else ""
        parts.append(head + extra + "".join(f" {line} \n" for line in document))
    return "".join(parts)


def wmt(documents: int = 2) -> str:
    lines = ['<?xml version="1.0"?>', '<dataset id="t"><collection id="general">']
    for name, source, target in list(zip("ab", SOURCE, TARGET, strict=True))[:documents]:
        lines.append(f'<doc origlang="en" id="{name}">')
        for tag, side in (("src", source), ('ref translator="A"', target), ('ref translator="B"', source)):
            lines.append(f'<{tag} lang="x"><p>')
            lines += [f'<seg id="{i}">{text.replace("&", "&amp;")}</seg>' for i, text in enumerate(side, start=1)]
            lines.append(f"</p></{tag.split()[0]}>")
        lines.append('<hyp system="s" lang="x"><seg id="1">no</seg></hyp></doc>')
    return "\n".join([*lines, "</collection></dataset>"])


def marks(documents: list[list[str]], alone: bool) -> str:
    return "".join(("<d>\n" if alone else "<d> ") + "".join(f"{line}\n" for line in document) for document in documents)


def make(name: str, folder: Path) -> dict[str, object]:
    """Write the files of an entry in a format; return its fields."""
    sides = {"source": SOURCE, "target": TARGET}
    flat = dict(zip(sides, FLAT, strict=True))
    if name == "lines":
        content = {side: blank_lines(documents) for side, documents in sides.items()}
    elif name == "docids file":
        content = {side: "\n".join(lines) for side, lines in flat.items()} | {"docids": "\n".join(IDS)}
    elif name == "docids column":
        pairs = {side: zip(IDS, lines, strict=True) for side, lines in flat.items()}
        content = {side: "".join(f"{docid}\t{line}\r\n" for docid, line in rows) for side, rows in pairs.items()}
    elif name.startswith("marks"):
        content = {side: marks(documents, "alone" in name) for side, documents in sides.items()}
    elif name.startswith("sgm"):
        content = {
            "source": segments(SOURCE, "srcset", "capitals" in name),
            "target": segments(TARGET, "refset", False),
        }
    elif name == "train-tags":
        content = {"source": talks(SOURCE, False), "target": talks(TARGET, True)}
    elif name == "wmt-xml":
        content = {"source": wmt()}
    elif name == "tmx":
        rows = zip(IDS, *FLAT, strict=True)
        content = {"source": tmx((docid, {"EN": source, "fr-FR": target}) for docid, source, target in rows)}
    else:
        rows = zip(*FLAT, IDS, strict=True)
        content = {"source": "source\ttarget\tdocid\n" + "".join("\t".join(row) + "\n" for row in rows)}
    return {**write(folder, **content), "format": name.split()[0]}


NAMES = [
    *("lines", "docids file", "docids column", "marks", "marks alone", "sgm", "sgm capitals"),
    *("train-tags", "wmt-xml", "tsv", "tmx"),
]


@pytest.mark.parametrize("name", NAMES)
def test_all_formats_give_the_same_documents(name: str, tmp_path: Path) -> None:
    documents = read_documents(**make(name, tmp_path))
    assert texts(documents) == (SOURCE, TARGET)
    if name not in ("lines", "marks", "marks alone"):
        assert [document.id for document in documents] == ["a", "b"]


def test_entries_are_repeated_times_times(tmp_path: Path) -> None:
    once = DataEntry(**make("lines", tmp_path))  # type: ignore[arg-type]
    twice = replace(once, times=2)
    documents = list(read_all([once, twice], Problems(False)))
    assert texts(documents) == (SOURCE * 3, TARGET * 3)


def test_examples_cover_all_formats() -> None:
    assert {name.split()[0] for name in NAMES} == set(FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_line_numbers_refer_to_the_source_file(name: str, tmp_path: Path) -> None:
    fields = make(name, tmp_path)
    written = Path(str(fields["source"])).read_text("utf-8").split("\n")
    for document in read_documents(**fields):
        for text, line in zip(document.source, document.lines, strict=True):
            assert text.split()[1] in written[line - 1]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compression_is_detected_by_content(pack: object, tmp_path: Path) -> None:
    fields = make("lines", tmp_path)
    path = Path(str(fields["source"]))
    path.write_bytes(pack(path.read_bytes()))  # type: ignore[operator]
    assert texts(read_documents(**fields)) == (SOURCE, TARGET)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DocgraphError, match=r"source:\d+: the compressed file is cut short or damaged"):
        read_documents(**fields)


def test_formats_are_detected_by_name_and_content(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        x__tsv="a\tb",
        y__sgm__gz="",
        m__TMX__xz="",
        z__xml="<dataset>",
        w__xml="<mteval>",
        m="<d> a",
        t="a",
        u="\ufeff<d>\na",
    )
    tags = tmp_path / "train.tags.en-fr.en"
    tags.write_text("")
    expected = {"x__tsv": "tsv", "y__sgm__gz": "sgm", "z__xml": "wmt-xml", "m__TMX__xz": "tmx"}
    expected |= {"m": "marks", "t": "lines", "u": "marks"}
    assert {name: detect(DataEntry(paths[name])) for name in expected} == expected
    assert detect(DataEntry(paths["w__xml"], paths["t"])) == "sgm"
    assert detect(DataEntry(str(tags))) == "train-tags"
    assert detect(DataEntry(paths["t"], docids=paths["m"])) == "docids"
    assert detect(DataEntry(paths["t"], format="marks")) == "marks"


def test_speakers_go_with_their_lines(tmp_path: Path) -> None:
    fields = make("lines", tmp_path)
    paths = write(tmp_path, spk="Ann\n\n\nBob\nBob\nAnn\n")
    documents = read_documents(**fields, speakers=paths["spk"])
    assert [document.speakers for document in documents] == [("Ann", None), ("Bob", "Bob", "Ann")]
    assert documents[1].document.sentences[2].speaker == "Ann"


BAD: dict[str, tuple[dict[str, str | bytes], str, dict[str, int], list[int]]] = {
    # files of two line-aligned sides, the error, what is dropped, and the sizes of the documents that stay
    "counts": (
        {"source": "a\nb\n\nc\n", "target": "a\nb\n\nc\nd\ne\n"},
        "source:4: has 4 lines and .*target has 6, so they are not line-aligned",
        {"line counts differ": 3},
        [2],
    ),
    "boundaries": (
        {"source": "a\n\nb\nc\n\nd\n", "target": "a\nx\nb\nc\n\nd\n"},
        "source:2: this line is blank and line 2 of .*target is not",
        {"boundaries differ": 4},
        [1],
    ),
    "encoding": (
        {"source": b"a\nb\xff\nc\n", "target": "a\nb\nc\n"},
        "source:2: byte 2 of the line is not UTF-8",
        {"not UTF-8": 1},
        [2],
    ),
    "lengths": (
        {"source": "a\nb\nc\n", "target": "a\n" + "b" * 300 + "\nc\n"},
        "source:2: source and target have 1 and 300 characters, too different",
        {"lengths differ": 1},
        [2],
    ),
    "too long": (
        {"source": "a\n" + "b" * 9000 + "\n", "target": "a\n" + "b" * 9000 + "\n"},
        "source:2: a sentence of 9,000 characters",
        {"too long": 1},
        [1],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_reported_or_dropped_and_counted(name: str, tmp_path: Path) -> None:
    files, error, dropped, kept = BAD[name]
    paths = write(tmp_path, **files)
    with pytest.raises(DocgraphError, match=error) as caught:
        read_documents(**paths)
    assert "--skip-bad" in str(caught.value)
    problems = Problems(skip=True)
    assert [len(document) for document in read_documents(problems, **paths)] == kept
    assert dict(problems.dropped) == dropped
    assert set(problems.first) == set(dropped)


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"source": "", "target": "a\n"}, "source: this file is empty"),
        ({"source": "\n\n", "target": "\n\n"}, "source: there is no sentence pair in this file"),
        ({"source": "a\n".encode("utf-16"), "target": "a\n"}, "source: this is UTF-16; convert it"),
        ({"source": "a\n"}, "source: this format has two files"),
        ({"source": b"a" * (1 << 20) + b"a", "target": "a\n"}, "source:1: this line is over a megabyte long"),
    ],
)
def test_unreadable_files_are_refused_even_with_skip_bad(
    files: dict[str, str | bytes], error: str, tmp_path: Path
) -> None:
    paths = write(tmp_path, **files)
    with pytest.raises(DocgraphError, match=error):
        read_documents(Problems(skip=True), **paths, format="lines")


@pytest.mark.parametrize(
    ("format", "files", "error", "kept"),
    [
        (
            "docids",
            {"source": "x\ta\nx\tb\n", "target": "x\ta\ny\tb\n"},
            "target:2: this line belongs to document 'y'",
            [1],
        ),
        ("docids", {"source": "x\ta\nb\n", "target": "x\ta\nx\tb\n"}, "source:2: this line has no tab", [1]),
        (
            "docids",
            {"source": "a\nb\n", "target": "a\nb\n", "docids": "x\n\n"},
            "docids:2: this line has no document id",
            [1],
        ),
        (
            "marks",
            {"source": "<d> a\n<d> b\n", "target": "<d> a\nb\n"},
            "source:2: this line has <d> and line 2 of",
            [],
        ),
        ("tsv", {"source": "a\tb\tx\na\tb\n"}, "source:2: this line has 2 columns", [1]),
        ("tsv", {"source": "a\tb\tx\n\tb\tx\n"}, "source:2: the source side of this pair is empty", [1]),
        (
            "train-tags",
            {"source": "<url>x</url>\na\nb\n", "target": "<url>x</url>\na\n"},
            "source:1: document '1' has 2",
            [],
        ),
    ],
)
def test_bad_documents_of_other_formats(
    format: str, files: dict[str, str], error: str, kept: list[int], tmp_path: Path
) -> None:
    paths = write(tmp_path, **files)
    with pytest.raises(DocgraphError, match=error):
        read_documents(**paths, format=format)
    problems = Problems(skip=True)
    if kept:
        assert [len(document) for document in read_documents(problems, **paths, format=format)] == kept
    else:
        with pytest.raises(DocgraphError, match="no sentence pair"):
            read_documents(problems, **paths, format=format)
    assert sum(problems.dropped.values()) >= 1


def test_a_document_missing_on_one_side_is_dropped_alone(tmp_path: Path) -> None:
    three = [["a"], ["b"], ["c"]]
    names = [f'<doc docid="{name}"><seg id="1">{name}</seg></doc>' for name in "abc"]
    paths = write(tmp_path, source="<srcset>" + "\n".join(names), target="<refset>" + "\n".join([names[0], names[2]]))
    with pytest.raises(DocgraphError, match="source:2: document 'b' has no partner: the other side has 'c' here"):
        read_documents(**paths, format="sgm")
    problems = Problems(skip=True)
    assert texts(read_documents(problems, **paths, format="sgm")) == ([three[0], three[2]], [three[0], three[2]])
    assert dict(problems.dropped) == {"documents differ": 1}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("<doc id='a'>\n<seg id='1'>a", "source:2: this <seg> is never closed"),
        ("<seg>a</seg>", "source:1: <seg> outside of a <doc>"),
        ("<doc><seg>a<seg>b</seg></doc>", "source:1: <seg> inside the <seg> of line 1"),
        ("<doc></seg></doc>", "source:1: </seg> without <seg>"),
        ("plain text", "source: there is no <doc> in this file"),
    ],
)
def test_broken_markup(text: str, error: str, tmp_path: Path) -> None:
    paths = write(tmp_path, source=text, target=text)
    with pytest.raises(DocgraphError, match=error):
        read_documents(Problems(skip=True), **paths, format="sgm")


SENTENCES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n\r\0"), min_size=1, max_size=8)
LINE = st.one_of(
    st.just(b""),
    st.binary(max_size=12),
    st.sampled_from([b"<d>", b"a\tb\tc", b"<doc>", b"<seg id=1>", b"</seg>", b"</doc>", b"<talkid>1</talkid>", b"x"]),
)


def read_or_refused(problems: Problems, **fields: str) -> list[ParallelDocument] | str:
    try:
        return read_documents(problems, **fields)
    except DocgraphError as error:
        return str(error)


@given(st.lists(LINE, max_size=12), st.lists(LINE, max_size=12), st.sampled_from(sorted(FORMATS)))
def test_any_bytes_are_read_or_refused_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, source: list[bytes], target: list[bytes], format: str
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    paths = write(folder, source=b"\n".join(source), target=b"\n".join(target))
    for skip in (False, True):
        found = read_or_refused(Problems(skip), **paths, format=format)
        if isinstance(found, str):
            assert found.startswith(str(folder))
            continue
        assert found
        for document in found:
            assert all(text and text == text.strip() and "\n" not in text for text in document.source + document.target)
            assert document.document.texts == list(document.source)


@given(st.lists(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4), min_size=1, max_size=4))
def test_blank_line_corpora_round_trip(
    tmp_path_factory: pytest.TempPathFactory, documents: list[list[tuple[str, str]]]
) -> None:
    kept = [[pair for pair in document if pair[0].strip() and pair[1].strip()] for document in documents]
    kept = [document for document in kept if document]
    if not kept:
        return
    sides = [[[pair[side].strip() for pair in document] for document in kept] for side in range(2)]
    if sides[0][0][0].startswith(("\ufeff", "<d>")) or sides[1][0][0].startswith("\ufeff"):
        return
    folder = tmp_path_factory.mktemp("round")
    paths = write(folder, source=blank_lines(sides[0]), target=blank_lines(sides[1]))
    assert texts(read_documents(**paths, limits=Limits(None))) == (sides[0], sides[1])


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    def peak(documents: int) -> int:
        text = blank_lines([["A sentence of some length, said again and again."] * 50] * documents)
        paths = write(tmp_path, source=text, target=text)
        tracemalloc.start()
        assert sum(len(document) for document in read(DataEntry(**paths), Problems())) == 50 * documents
        reached = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return reached

    peak(2)  # what is imported on the way
    assert peak(200) < 2 * peak(20)
