"""scripts/merge_stores.py and scripts/sample_documents.py."""

from __future__ import annotations

from pathlib import Path

from corpus.script_examples import read_corpus, run_script, store_of, write_corpus
from docgraph.corpus.config import SubwordsConfig
from docgraph.corpus.hints import CorpusHints, make_hints
from docgraph.corpus.store import PreparedCorpus


def store(
    folder: Path, text: str, subwords: SubwordsConfig, dev: bool = False, translation: str | None = None
) -> PreparedCorpus:
    folder.mkdir()
    return store_of(folder, text, translation or text, subwords, dev)


def test_a_merged_store_has_the_documents_and_hints_of_its_parts(tmp_path: Path) -> None:
    definition = "grave means a place in a cemetery; (tombe)\nA grave must be marked.\n"
    translation = "tombe désigne un lieu dans un cimetière.\nUne tombe doit être marquée.\n"
    first = store(tmp_path / "first", definition, SubwordsConfig(size=300), dev=True, translation=translation)
    second = store(tmp_path / "second", "The dog ran.\n\nIt fell.\n", SubwordsConfig(folder=str(first.folder)))
    make_hints(first, ("definition",), None)
    assert run_script("merge_stores.py", second.folder, f"{first.folder}*2", "--out", tmp_path / "out").returncode == 0
    merged = PreparedCorpus.open(tmp_path / "out")
    decode = merged.tokenizer.source.decode
    documents = [[decode(ids) for ids in merged.sentences(index, "source")[0]] for index in range(len(merged))]
    assert documents == [["The dog ran."], ["It fell."], *[definition.splitlines()] * 2]
    hints = CorpusHints(tmp_path / "out", "train", ("definition",))
    expected = CorpusHints(first.folder, "train", ("definition",)).document(0)
    assert [hints.document(index) for index in range(4)] == [[], [], expected, expected]
    assert expected
    assert len(PreparedCorpus.open(tmp_path / "out", "dev")) == 1
    assert run_script("merge_stores.py", first.folder, "--out", tmp_path / "out").returncode == 2


def test_stores_of_different_sub_words_are_refused(tmp_path: Path) -> None:
    first = store(tmp_path / "first", "The dog ran.\n", SubwordsConfig(size=280))
    second = store(tmp_path / "second", "A cat sat on it.\n", SubwordsConfig(size=280))
    refused = run_script("merge_stores.py", first.folder, second.folder, "--out", tmp_path / "out")
    assert refused.returncode == 2
    assert "different sub-words" in refused.stderr


def test_a_sample_keeps_whole_documents_and_duties(tmp_path: Path) -> None:
    english = ["It must be repaired."] * 2 + [f"Line {n}." for n in range(6)]
    french = ["Il est réparé.", "Il doit être réparé."] + [f"Ligne {n}." for n in range(6)]
    speakers = [f"Speaker {n}" for n in range(8)]
    texts = ["\n\n".join(["\n".join(lines)] * 5) + "\n" for lines in (english, french, speakers)]
    corpus = write_corpus(tmp_path / "in", *texts)
    done = run_script("sample_documents.py", corpus, "--pairs", "14", "--obligation", "--out", tmp_path / "out")
    assert done.stdout.endswith("3 documents, 21 pairs\n")
    kept = ["\n\n".join(["\n".join(lines[1:])] * 3) + "\n" for lines in (french, speakers)]
    assert read_corpus(tmp_path / "out", columns=("tgt", "spk")) == kept
    done = run_script("sample_documents.py", corpus, "--pairs", "14", "--without", corpus, "--out", tmp_path / "none")
    assert done.stdout.endswith("0 documents, 0 pairs\n")
