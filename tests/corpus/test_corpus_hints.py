"""Hints of a prepared corpus, and batches with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corpus.corpus_examples import write
from docgraph.cli import app
from docgraph.corpus.batches import BatchBuilder, BatchConfig, BatchSampler
from docgraph.corpus.config import DataConfig, DataEntry, LanguagesConfig, PrepareConfig, SubwordsConfig
from docgraph.corpus.hints import CorpusHints, make_hints, read_hints
from docgraph.corpus.prepare import prepare
from docgraph.corpus.store import PreparedCorpus
from docgraph.errors import DocgraphError
from docgraph.model.config import HintsConfig, ModelConfig

SOURCE = """milestone year means any of the years 2030 and 2035. (année jalon)
The Minister sets a target for each milestone year.
Nothing else happens here.

grave means a place in a cemetery; (tombe)
A grave must be marked.
"""
TARGET = """année jalon L'année 2030 ou 2035.
Le ministre fixe une cible pour chaque année jalon.
Rien d'autre ne se passe ici.

tombe Un endroit dans un cimetière.
Une tombe doit être marquée.
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    folder = tmp_path_factory.mktemp("hints")
    paths = write(folder, **{"train.en": SOURCE, "train.fr": TARGET})
    config = PrepareConfig(
        data=DataConfig(train=(DataEntry(paths["train.en"], paths["train.fr"]),)),
        languages=LanguagesConfig("en", "fr"),
        subwords=SubwordsConfig(size=340),
        annotator="words:en",
        out=str(folder / "store"),
    )
    prepare(config, jobs=1)
    found = PreparedCorpus.open(folder / "store")
    make_hints(found, ("definition", "coreference"), None)
    return found


def texts(corpus: PreparedCorpus, batch_tokens: list[int]) -> str:
    return corpus.tokenizer.source.decode(3 if token == 3 else token for token in batch_tokens)


def test_hints_that_were_made_without_a_relation_are_refused(corpus: PreparedCorpus) -> None:
    with pytest.raises(DocgraphError) as caught:
        CorpusHints(corpus.folder, "train", ("coreference", "previous", "dictionary:en-fr"))
    assert (
        "hints.train.arrow: these hints were made without previous and dictionary:en-fr; make them with docgraph "
        f"hints {corpus.folder} --model MODEL --previous --dictionary en-fr, or change 'model.hints.relations'"
    ) in str(caught.value)


def test_hints_of_a_store(corpus: PreparedCorpus) -> None:
    hints = CorpusHints(corpus.folder, "train", ("definition",))
    decode = corpus.tokenizer.target.decode
    assert [(h.sentence, decode(h.ids)) for h in hints.document(0)] == [(1, "année jalon")]
    assert [(h.sentence, decode(h.ids)) for h in hints.document(1)] == [(1, "tombe")]
    assert CorpusHints(corpus.folder, "train", ("coreference",)).document(0) == []


def test_batches_of_sentences_equal_batches_of_documents(corpus: PreparedCorpus) -> None:
    hints = CorpusHints(corpus.folder, "train", ("definition",))
    model = ModelConfig(hints=HintsConfig(("definition",)))
    by_unit = {}
    for unit in ("sentence", "document"):
        sampler = BatchSampler(corpus, BatchConfig(tokens=1000, unit=unit, shuffle=False), 1)  # type: ignore[arg-type]
        batch = BatchBuilder(corpus, model, unit, hints=hints)(sampler.plan(0)[0])
        assert batch is not None
        by_unit[unit] = batch.source.ids
    assert by_unit["sentence"] == by_unit["document"]
    assert sum(3 in ids for ids in by_unit["sentence"]) == 2


def test_base_reads_the_store_without_hints(corpus: PreparedCorpus) -> None:
    sampler = BatchSampler(corpus, BatchConfig(tokens=1000, unit="sentence", shuffle=False), 1)
    batch = BatchBuilder(corpus, ModelConfig(), "sentence")(sampler.plan(0)[0])
    assert batch is not None
    assert not any(3 in ids for ids in batch.source.ids)


def test_dropout_depends_on_the_epoch_only(corpus: PreparedCorpus) -> None:
    hints = CorpusHints(corpus.folder, "train", ("definition",), dropout=0.5, seed=3)
    found = hints.document(0) * 1
    kept = [hints.kept(found, 0, epoch) for epoch in range(40)]
    assert kept == [hints.kept(found, 0, epoch) for epoch in range(40)]
    assert 5 < sum(map(len, kept)) < 35


def test_a_store_without_hints_or_with_those_of_another_store(corpus: PreparedCorpus, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match="there are no hints here; make them with docgraph hints"):
        CorpusHints(corpus.folder, "dev", ("definition",))
    manifest = (corpus.folder / "manifest.json").read_text(encoding="utf-8")
    (tmp_path / "manifest.json").write_text(manifest.replace('"fingerprint": "', '"fingerprint": "0'), encoding="utf-8")
    (tmp_path / "hints.train.arrow").write_bytes((corpus.folder / "hints.train.arrow").read_bytes())
    with pytest.raises(DocgraphError, match="do not belong"):
        CorpusHints(tmp_path, "train", ("definition",))


def test_short_sentences_without_other_hints_get_the_sentence_before(corpus: PreparedCorpus) -> None:
    path = corpus.folder / "hints.train.arrow"
    before = path.read_bytes()
    CliRunner().invoke(app, ["hints", str(corpus.folder), "--previous"], catch_exceptions=False)
    hints = CorpusHints(corpus.folder, "train", ("definition", "previous"))
    path.write_bytes(before)
    found = [(document, hint) for document in range(len(corpus)) for hint in hints.document(document)]
    definitions = {(document, hint.sentence) for document, hint in found if hint.relation == "definition"}
    previous = [(document, hint) for document, hint in found if hint.relation == "previous"]
    assert definitions
    assert previous
    for document, hint in previous:
        source = corpus.example(document, None).source
        assert (document, hint.sentence) not in definitions
        assert hint.place == 0
        assert hint.ids == tuple(source[hint.sentence - 1][:-1][-len(hint.ids) :].tolist())


def test_the_command_writes_the_hints_of_every_split(corpus: PreparedCorpus) -> None:
    path = corpus.folder / "hints.train.arrow"
    before = path.read_bytes()
    expected = read_hints(corpus.folder, "train")
    path.unlink()
    CliRunner().invoke(app, ["hints", str(corpus.folder)], catch_exceptions=False)
    assert read_hints(corpus.folder, "train").equals(expected)  # but for the metadata
    path.write_bytes(before)


def test_the_command_refuses_a_model_with_other_sub_words(corpus: PreparedCorpus) -> None:
    with pytest.raises(DocgraphError, match="has other sub-words"):
        CliRunner().invoke(app, ["hints", str(corpus.folder), "--model", "en-fr"], catch_exceptions=False)


def test_example_for_decoding_has_the_same_hints(corpus: PreparedCorpus) -> None:
    example = corpus.example(0, None, hints=("definition",))
    assert [replace(hint, referent=None, first=None, printed_in=None) for hint in example.hints] == CorpusHints(
        corpus.folder, "train", ("definition",)
    ).document(0)
    assert all(isinstance(ids, np.ndarray) for ids in example.source)
