"""scripts/make_pronoun_pairs.py: pairs that only the hint tells apart, and hints that the reference contradicts."""

from __future__ import annotations

import lzma
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from corpus.corpus_examples import write  # noqa: E402
from docgraph.corpus.config import DataConfig, DataEntry, LanguagesConfig, PrepareConfig, SubwordsConfig  # noqa: E402
from docgraph.corpus.hints import CorpusHints, write_hints  # noqa: E402
from docgraph.corpus.prepare import prepare  # noqa: E402
from docgraph.corpus.store import PreparedCorpus  # noqa: E402
from docgraph.model.hints import Hint  # noqa: E402
from pronouns.french import Lexicon, with_gender  # noqa: E402
from pronouns.pairs import HintWriter, find_pairs, twin  # noqa: E402

TEXT = ["Le port dort.", "La ville dort.", "Il est vendu, elle est vendue, ils sont vendus, elles sont vendues."] * 20


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon(TEXT)


def test_gender_of_phrases(lexicon: Lexicon) -> None:
    assert lexicon.gender("la chose inconnue") == "f"
    assert lexicon.gender("port.") == "m"
    assert lexicon.gender("villes") == "f"
    assert lexicon.gender("inconnu") is None
    assert lexicon.gender("?!") is None


@pytest.mark.parametrize(
    ("sentence", "gender", "expected"),
    [
        ("Elle a reçu le prix.", "m", "Il a reçu le prix."),
        ("Il n'est pas vendu.", "f", "Elle n'est pas vendue."),
        ("Elles ont été vendues.", "m", "Ils ont été vendus."),
        ("S'ils viennent, tant mieux.", "f", "Si elles viennent, tant mieux."),
        ("Elle est facile.", "m", "Il est facile."),
        ("Il reste à voir.", "f", None),
        ("Elle est la première.", "m", None),
        ("Elle est grande et forte.", "m", None),
        ("Il dit qu'il vient.", "f", None),
    ],
)
def test_a_sentence_in_the_other_gender(lexicon: Lexicon, sentence: str, gender: str, expected: str | None) -> None:
    assert with_gender(sentence, gender, lexicon) == expected  # type: ignore[arg-type]


def test_pairs_and_twins(lexicon: Lexicon) -> None:
    pairs = [
        ("It has won.", "Elle a gagné."),
        ("It is important to win.", "Il est important de gagner."),
        ("She says it has won.", "Elle dit qu'il a gagné."),
        ("The boat says it won.", "Le bateau dit qu'il a gagné."),
        ("They have won.", "Ils ont gagné."),
    ]
    found = list(find_pairs(pairs))
    assert [(pair.source, pair.gender, pair.plural) for pair in found] == [
        ("It has won.", "f", False),
        ("The boat says it won.", "m", False),
        ("They have won.", "m", True),
    ]
    twins = [twin(pair, lexicon) for pair in found]
    assert [pair and pair.target for pair in twins] == ["Il a gagné.", None, "Elles ont gagné."]
    assert twins[0] is not None
    assert (twins[0].source, twins[0].gender) == ("It has won.", "m")


def test_drawn_hints_have_the_gender_and_are_not_excluded(lexicon: Lexicon) -> None:
    writer = HintWriter(lexicon, frozenset(), random.Random(1))
    assert {lexicon.gender(writer.draw("f", plural=False)) for _ in range(50)} == {"f"}
    assert all(lexicon.gender(writer.draw("m", plural=True)) == "m" for _ in range(50))
    excluding = HintWriter(Lexicon([*TEXT, *["La gare dort."] * 20]), frozenset({"ville"}), random.Random(1))
    assert not any("ville" in excluding.draw("f", plural=False).lower() for _ in range(50))


def run(*arguments: str | Path) -> str:
    command = [sys.executable, str(ROOT / "scripts" / "make_pronoun_pairs.py"), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def prepared(folder: Path, source: str, target: str) -> PreparedCorpus:
    paths = write(folder, **{"train.en": source, "train.fr": target})
    config = PrepareConfig(
        data=DataConfig(train=(DataEntry(paths["train.en"], paths["train.fr"]),)),
        languages=LanguagesConfig("en", "fr"),
        subwords=SubwordsConfig(size=300),
        annotator="words:en",
        out=str(folder / "store"),
    )
    prepare(config, jobs=1)
    return PreparedCorpus.open(folder / "store")


def test_pairs_and_hints_from_the_command_line(tmp_path: Path) -> None:
    corpus = tmp_path / "in"
    corpus.mkdir()
    for side, lines in (("src", ["It has won.", *["x"] * 60]), ("tgt", ["Elle a gagné.", *TEXT])):
        (corpus / f"train.{side}.txt.xz").write_bytes(lzma.compress(("\n".join(lines) + "\n").encode()))
    printed = run("pairs", corpus, "--out", tmp_path / "out", "--times", "1")
    assert printed.startswith("1 pairs, 1 twins; 2 lines")
    texts = [lzma.decompress((tmp_path / "out" / f"train.{s}.txt.xz").read_bytes()).decode() for s in ("src", "tgt")]
    assert texts[0] == "It has won.\n\nIt has won.\n"
    assert sorted(texts[1].strip().split("\n\n")) == ["Elle a gagné.", "Il a gagné."]
    store = prepared(tmp_path, *texts)
    run("hints", store.folder, tmp_path / "out" / "train.hints.txt")
    hints = CorpusHints(store.folder, "train", ("coreference",))
    expected = (tmp_path / "out" / "train.hints.txt").read_text("utf-8").splitlines()
    for index, text in enumerate(expected):
        (hint,) = hints.document(index)
        assert store.tokenizer.target.decode(hint.ids) == text
        assert store.tokenizer.source.decode(store.sentences(index, "source")[0][0][: hint.place]) == "It"


def test_contradicted_hints_are_removed(tmp_path: Path) -> None:
    store = prepared(tmp_path, "It won.\nIt lost.\nIt ran.\n", "Elle a gagné.\nIl a perdu.\nOn a couru.\n")
    phrase = tuple(store.tokenizer.target.encode("la ville")[0][:-1].tolist())
    write_hints(store, [[Hint(sentence, 1, phrase, "coreference") for sentence in range(3)]])
    printed = run("mend", store.folder, "--agreeing", tmp_path / "agreeing")
    assert "contradicted: 1" in printed
    kept = CorpusHints(store.folder, "train", ("coreference",)).document(0)
    assert [hint.sentence for hint in kept] == [0, 2]
    assert (tmp_path / "agreeing" / "train.hints.txt").read_text("utf-8") == "la ville\n" * 4
