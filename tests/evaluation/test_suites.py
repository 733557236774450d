"""Contrastive suites: every format, broken records, the round trip of our own format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from docgraph.errors import DocgraphError
from docgraph.evaluation.suites import Contrast, Suite, read_suite, write_suite
from docgraph.evaluation.suites.readers import detokenise

VOITA = {
    "src": "Is it old ? _eos Don 't know . _eos It 's Fran . _eos She is .",
    "dst": ["Она ? _eos Нет . _eos Фрэн . _eos Да , она .", "Она ? _eos Нет . _eos Фрэн . _eos Да , он ."],
    "true_ind": 1,
    "ctx_dist": 2,
}
ANAPHORA = {
    "src": ["The buildings are new.", "They are full."],
    "trg": [
        {"correct": ["Les immeubles.", "Ils."], "incorrect": ["Les immeubles.", "Elles."], "type": "m.pl"},
        {"semi-correct": ["Les maisons.", "Elles."], "incorrect": ["Les maisons.", "Ils."], "type": "f.pl"},
    ],
}
LEXICAL = {
    "type": "repet",
    "examples": [{"src": ["A", "B"], "trg": {"correct": ["a", "b"], "incorrect": ["a", "c"]}}],
}
CONTRAPRO = {
    "src segment": "When it moves, run.",
    "ref segment": "Wenn er sich bewegt, lauf.",
    "errors": [{"contrastive": "Wenn sie sich bewegt, lauf."}, {"contrastive": "Wenn es sich bewegt, lauf."}],
    "src pronoun": "it",
    "ref pronoun": "Er",
    "ante distance": 5,
    "intrasegmental": False,
    "document id": "1921_12_34.de",
    "segment id": 3,
    "corpus": "opensubs1921-ende",
}


def written(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_voita(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, "deixis_test.json", [VOITA]))
    assert (suite.name, suite.languages, suite.ties) == ("deixis_test", ("en", "ru"), "first")
    assert suite.contrasts == (
        Contrast(
            "She is.",
            ("Да, она.", "Да, он."),
            ("Is it old?", "Don't know.", "It's Fran."),
            ("Она?", "Нет.", "Фрэн."),
            correct=1,
            distance=2,
        ),
    )
    assert read_suite(written(tmp_path, "ellipsis_vp.json", [VOITA])).contrasts[0].distance is None


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("Didn 't I ? You 're 24 / 7 ...", "Didn't I? You're 24/7..."),
        ('" Stop , " he said : " go ! "', '"Stop," he said: "go!"'),
        ("( Sighs ) $ 20,000 , 48 % .", "(Sighs) $20,000, 48%."),
        ("- Darius ' mother , S.H.I.E.L.D. ' s", "- Darius' mother, S.H.I.E.L.D.'s"),
        ("— Это чья-то политика ... ?", "— Это чья-то политика...?"),
    ],
)
def test_moses_tokens_are_detokenised(tokens: str, text: str) -> None:
    assert detokenise(tokens) == text


def test_bawden(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, "anaphora.json", {"10": ANAPHORA, "2": ANAPHORA}))
    assert [contrast.block for contrast in suite.contrasts] == ["2", "2", "10", "10"]
    assert suite.contrasts[1] == Contrast(
        "They are full.",
        ("Elles.", "Ils."),
        ("The buildings are new.",),
        ("Les maisons.",),
        labels={"pronoun": "f.pl", "antecedent": "semi-correct"},
        block="2",
    )
    suite = read_suite(written(tmp_path, "lexical-choice.json", {"1": LEXICAL}))
    assert suite.contrasts == (Contrast("B", ("b", "c"), ("A",), ("a",), labels={"type": "repet"}, block="1"),)
    assert suite.languages == ("en", "fr")


@pytest.mark.parametrize("segment", [2, 3])  # numbered from 0 in the French set, from 1 in the German one
def test_contrapro_with_its_documents(tmp_path: Path, segment: int) -> None:
    (tmp_path / "documents" / "1921").mkdir(parents=True)
    (tmp_path / "documents" / "1921" / "1921_12_34.en").write_text("A snake.\n\nWhen it moves , run.\nMore.\n")
    (tmp_path / "documents" / "1921" / "1921_12_34.de").write_text("Ein Wurm.\n\nWenn er sich bewegt, lauf.\nMehr.\n")
    path = written(tmp_path, "contrapro.json", [CONTRAPRO | {"segment id": segment}])
    suite = read_suite(path)
    [contrast] = suite.contrasts
    assert (suite.languages, suite.far, suite.ties) == (("en", "de"), 3, "wrong")
    assert contrast.labels == {"pronoun": "it:er", "intrasegmental": "false"}
    assert (contrast.source_context, contrast.target_context) == (("A snake.",), ("Ein Wurm.",))
    assert len(contrast.candidates) == 3
    assert contrast.distance == 5
    written(tmp_path, "contrapro.json", [CONTRAPRO | {"segment id": 4}])
    with pytest.raises(DocgraphError, match="record 1 is broken: segment 4 of document"):
        read_suite(path)


def french_texts(folder: Path, context: str) -> None:
    (folder / "OpenSubs.current.src").write_text("It is.\nIt is.\nThey are.\nThey are.\n")
    (folder / "OpenSubs.current.trg").write_text("Qu'elle.\nQu'il.\nIl dit qu'ils.\nIl dit qu'elles.\n")
    for side in ("src", "trg"):
        (folder / f"OpenSubs.c1.context.{side}").write_text(f"{side}1\n{side}1\n{side}3\n{side}3\n")
        (folder / f"OpenSubs.c2.context.{side}").write_text(context.replace("S", side))


def test_the_large_french_set_from_its_texts(tmp_path: Path) -> None:
    french_texts(tmp_path, "\n\n\n\nS2\nS3\nS2\nS3\n")
    suite = read_suite(tmp_path)
    assert suite.name == "OpenSubs"
    assert [c.source_context for c in suite.contrasts] == [("src1",), ("src2", "src3")]
    assert [c.target_context for c in suite.contrasts] == [("trg1",), ("trg2", "trg3")]
    assert [c.labels["pronoun"] for c in suite.contrasts] == ["it:elle", "they:ils"]
    french_texts(tmp_path, "S2\n")
    with pytest.raises(DocgraphError, match="1 source and 1 target lines are not contexts of 4"):
        read_suite(tmp_path)


def test_the_large_french_set_from_its_json_with_its_texts(tmp_path: Path) -> None:
    (tmp_path / "extracted").mkdir()
    french_texts(tmp_path / "extracted", "S0\nS1\nS0\nS1\nS2\nS3\nS2\nS3\n")
    record = CONTRAPRO | {
        "src segment": "They are.",
        "ref segment": "Il dit qu' ils.",
        "errors": [{"contrastive": "Il dit qu'elles."}],
        "corpus": "opensubs-enfr",
    }
    suite = read_suite(written(tmp_path, "testset.json", [record]))
    assert suite.languages == ("en", "fr")
    assert suite.contrasts[0].source_context == ("src2", "src3")
    assert suite.contrasts[0].distance == 5


def test_our_own_format_round_trip(tmp_path: Path) -> None:
    contrasts = (
        Contrast("S", ("a", "b", "c"), ("x", "y"), ("u", "v"), 2, {"kind": "name", "é": "ü"}, 3, "7"),
        Contrast("only what is needed", ("a", "b")),
    )
    for suite in (Suite("names", contrasts, ("en", "zh"), "first", 3, "detokenised"), Suite("plain", contrasts)):
        write_suite(suite, tmp_path / "suite.jsonl")
        assert read_suite(tmp_path / "suite.jsonl") == suite
        (tmp_path / "suite.jsonl.gz").write_bytes(gzip.compress((tmp_path / "suite.jsonl").read_bytes()))
        assert read_suite(tmp_path / "suite.jsonl.gz").digest == suite.digest


def test_a_lone_surrogate_is_written_as_an_escape(tmp_path: Path) -> None:
    suite = Suite("odd", (Contrast("S \ud800 é", ("a", "b")),), ("en", "fr"))
    write_suite(suite, tmp_path / "odd.jsonl")
    assert "S \\ud800 é" in (tmp_path / "odd.jsonl").read_text(encoding="utf-8")
    assert read_suite(tmp_path / "odd.jsonl") == suite


def test_our_own_format_needs_no_header(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"source": "S", "candidates": ["a", "b"]}\n\n{"source": "T", "candidates": ["a", "b"]}\n')
    assert read_suite(path) == Suite("mine", (Contrast("S", ("a", "b")), Contrast("T", ("a", "b"))))


GOOD = '{"suite": "s"}\n{"source": "S", "candidates": ["a", "b"]}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "it is not valid JSON"),
        ("[1]", "it is not an object"),
        ('{"source": "S"}', "'candidates' is missing or not a list"),
        ('{"source": "S", "candidates": ["a", 1]}', "'candidates' is not a list of strings"),
        ('{"source": "S", "candidates": ["a"]}', "a contrast needs at least two candidates"),
        (
            '{"source": "S", "candidates": ["a", "b"], "correct": 2}',
            "'correct' is 2; it must index one of 2 candidates",
        ),
        ('{"source": "S", "candidates": ["a", "b"], "correct": true}', "'correct' is missing or not a whole number"),
        (
            '{"source": "S", "candidates": ["a", "b"], "distanse": 2}',
            "'distanse' (did you mean 'distance'?)",
        ),
        ('{"source": "S", "candidates": ["a", "b"], "labels": {"x": 1}}', "'labels' must be strings"),
        (
            '{"source": "S", "candidates": ["a", "b"], "source_context": ["x"], "target_context": ["u", "v"]}',
            "the context has 1 source and 2 target sentences",
        ),
    ],
)
def test_a_broken_record_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "suite.jsonl"
    path.write_text(f"{GOOD}{line}\n")
    with pytest.raises(DocgraphError) as caught:
        read_suite(path)
    assert str(caught.value).startswith(f"{path}:3: this record is broken: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("deixis.json", [VOITA, {**VOITA, "dst": "x"}], "item 2 is broken: 'dst' is missing or not a list"),
        ("deixis.json", [{**VOITA, "dst": ["a", "b"]}], "item 1 is broken: the variants in 'dst'"),
        ("anaphora.json", {"1": ANAPHORA, "2": {**ANAPHORA, "trg": [{}]}}, "block 2 is broken: 'type' is missing"),
        ("anaphora.json", {"one": ANAPHORA}, "the numbering of blocks is broken"),
        ("contrapro.json", [{**CONTRAPRO, "errors": [{}]}], "record 1 is broken: 'contrastive' is missing"),
        (
            "contrapro.json",
            [{**CONTRAPRO, "errors": []}],
            "record 1 is broken: a contrast needs at least two",
        ),
        ("anaphora.json", {"1": 5}, "block 1 is broken: it is not an object"),
        ("anaphora.json", {"1": {**ANAPHORA, "trg": [5]}}, "block 1 is broken: 'type' is missing"),
        ("other.json", [1, 2], "the format of this suite is unknown"),
        ("other.json", {}, "there is no contrast in this suite"),
    ],
)
def test_broken_published_files(tmp_path: Path, name: str, value: Any, message: str) -> None:
    with pytest.raises(DocgraphError, match=message):
        read_suite(written(tmp_path, name, value))


def test_files_that_are_not_json(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text('{"1":\n {"src"')
    with pytest.raises(DocgraphError, match=r"cut\.json:2: this is not valid JSON"):
        read_suite(tmp_path / "cut.json")
    (tmp_path / "long.json").write_text(f"[{'9' * 5000}]")
    with pytest.raises(DocgraphError, match=r"long\.json: this is not valid JSON"):
        read_suite(tmp_path / "long.json")
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b"[1, 2, 3]" * 9)[:-9])
    with pytest.raises(DocgraphError, match="truncated"):
        read_suite(tmp_path / "cut.json.gz")
    with pytest.raises(DocgraphError, match=r"no 'current\.src'"):
        read_suite(tmp_path)
