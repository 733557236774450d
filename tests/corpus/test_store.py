"""The store: documents round-trip, sizes are read alone, examples equal those made without the store."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corpus_examples import corpus_config, stored_corpus
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotate import load_pipeline
from docgraph.annotation import Annotation, Strings, int_array
from docgraph.corpus import store
from docgraph.corpus.prepare import prepare
from docgraph.corpus.readers import Problems, read
from docgraph.corpus.subwords import EncodedDocument, EncodedSide
from docgraph.errors import DocgraphError
from docgraph.graph import DocumentGraph, build_graph
from docgraph.model.batch import DocumentExample, collate
from docgraph.model.tokenizer import Tokenizer, words_by_space, words_of_pieces

LETTERS = st.sampled_from(["a", "b", "B", "the", ".", "é", ""])


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    """Draw an annotation of one or more sentences, with a random set of layers."""
    counts = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    offsets = int_array([0, *np.cumsum(counts).tolist()])
    size = int(offsets[-1])

    def column() -> Strings:
        return Strings.of(draw(st.lists(LETTERS, min_size=size, max_size=size)))

    zeros = np.zeros(size, np.int32)
    found = Annotation(offsets, zeros, zeros, column())
    if draw(st.booleans()):
        found = replace(found, lemmas=column())
    if draw(st.booleans()):
        found = replace(found, upos=column())
    if draw(st.booleans()):
        heads = [draw(st.integers(int(offsets[s]), int(offsets[s + 1]) - 1)) for s in found.sentence_of.tolist()]
        found = replace(found, heads=int_array(heads))
    if draw(st.booleans()):
        links = [(a, b) for a in range(size) for b in range(a + 1, size) if draw(st.booleans())][:6]
        found = replace(found, coreference=np.array(links, np.int32).reshape(-1, 2))
    return found


def encoded(annotation: Annotation, rng: np.random.Generator, name: str = "d") -> EncodedDocument:
    sides = []
    for _ in range(2):
        lengths = int_array(rng.integers(1, 9, annotation.num_sentences).tolist())
        total = int(lengths.sum())
        sides.append(EncodedSide(rng.integers(0, 60_000, total), lengths, rng.integers(-1, 20_000, total)))
    return EncodedDocument(name, "f", np.arange(annotation.num_sentences, dtype=np.int32) * 3, *sides, annotation)


def written(documents: list[EncodedDocument], folder: Path, vocabulary: int = 65_536) -> store.PreparedCorpus:
    path = folder / "00000.arrow"
    path.write_bytes(store.to_bytes(documents, store.schema(vocabulary, vocabulary, "key")))
    return store.PreparedCorpus(folder, "train", [path], folder)


def same_strings(one: Strings | None, other: Strings | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.ids.tolist() == other.ids.tolist() and one.table == other.table


@given(st.lists(annotations(), min_size=1, max_size=4), st.integers(0, 1000), st.sampled_from([65_536, 100_000]))
def test_documents_round_trip(
    tmp_path_factory: pytest.TempPathFactory, found: list[Annotation], seed: int, vocabulary: int
) -> None:
    rng = np.random.default_rng(seed)
    documents = [encoded(annotation, rng, f"d{number}") for number, annotation in enumerate(found)]
    corpus = written(documents, tmp_path_factory.mktemp("store"), vocabulary)
    assert len(corpus) == len(documents)
    for index, document in enumerate(documents):
        before, after = document.annotation, corpus.annotation(index)
        assert before.offsets.tolist() == after.offsets.tolist()
        for name in ("forms", "lemmas", "upos"):
            assert same_strings(getattr(before, name), getattr(after, name))
        for name in ("heads", "coreference"):
            one, other = getattr(before, name), getattr(after, name)
            assert (one is None) == (other is None)
            assert one is None or one.tolist() == other.tolist()
        for side in ("source", "target"):
            ids, words = corpus.sentences(index, side)
            expected: EncodedSide = getattr(document, side)
            assert [len(sentence) for sentence in ids] == expected.lengths.tolist()
            assert np.concatenate(ids).tolist() == expected.ids.tolist()
            assert np.concatenate(words).tolist() == expected.words.tolist()
        assert corpus.location(index)[:2] == (document.id, "f")
        assert corpus.location(index)[2].tolist() == document.lines.tolist()
        assert corpus.sizes.words[index] == before.num_words
        assert corpus.sizes.source_tokens[index] == len(document.source.ids)


def test_documents_are_found_in_any_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BATCH", 10)
    rng = np.random.default_rng(1)
    blank = Annotation(int_array([0, 0, 0]), int_array([]), int_array([]), Strings.of([]))
    corpus = written([encoded(blank, rng, f"d{n}") for n in range(20)], tmp_path)
    assert [corpus.location(index)[0] for index in (19, 0, 7, 8)] == ["d19", "d0", "d7", "d8"]
    with pytest.raises(IndexError):
        corpus.location(20)


@pytest.mark.parametrize(("cache_bytes", "cached"), [(0, 1), (1 << 30, 3)])
def test_decompressed_documents_are_cached_up_to_a_limit(
    cache_bytes: int, cached: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BATCH", 1)
    lengths = [[(3, 4)], [(5, 2), (2, 2)], [(4, 4)]]
    stored_corpus(tmp_path, lengths)
    corpus = store.PreparedCorpus.open(tmp_path, cache_bytes=cache_bytes)
    for index in (2, 0, 1, 0, 2):
        assert [len(ids) for ids in corpus.sentences(index, "source")[0]] == [pair[0] for pair in lengths[index]]
    assert len(corpus._cached) == cached
    assert pickle.loads(pickle.dumps(corpus)).cache_bytes == cache_bytes


def test_a_column_of_all_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BATCH", 8)
    corpus = stored_corpus(tmp_path, [[(3, 4)], [(5, 2), (2, 2)], [(4, 4)]])
    assert corpus.flat("source_lengths").tolist() == [3, 5, 2, 4]
    ids = [sentence for index in range(3) for sentence in corpus.sentences(index, "target")[0]]
    assert corpus.flat("target").tolist() == np.concatenate(ids).tolist()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    prepare(corpus_config(folder, annotator="words:qu+simplemma:en"), cache=folder / "cache")
    return folder


def direct(folder: Path, relations: str) -> list[DocumentExample]:
    """Make examples from the text, without the store."""
    config = corpus_config(folder, annotator="words:qu+simplemma:en")
    pipeline, tokenizer = load_pipeline(config.pipeline), store.PreparedCorpus.open(config.out).tokenizer
    return [
        _example(list(document.target), pipeline(document.document), list(document.source), tokenizer, relations)
        for document in read(config.data.train[0], Problems())
    ]


def _example(
    target: list[str], annotation: Annotation, source: list[str], tokenizer: Tokenizer, relations: str
) -> DocumentExample:
    pieces = [tokenizer.source.encode(text) for text in source]
    words = []
    for m, (_, spans) in enumerate(pieces):
        begin, end = annotation.offsets[m], annotation.offsets[m + 1]
        owner = words_of_pieces(spans, annotation.starts[begin:end], annotation.ends[begin:end])
        words.append(np.where(owner >= 0, owner + begin, -1))
    ids = [tokenizer.target.encode(text)[0] for text in target]
    spaced = [words_by_space(tokenizer.target.pieces(sentence)) for sentence in ids]
    return DocumentExample([ids for ids, _ in pieces], ids, build_graph(annotation, relations), words, spaced)


def edges(graph: DocumentGraph | None) -> list[tuple[int, int]]:
    assert graph is not None
    union = graph.union()
    return list(zip(union.source.tolist(), union.target.tolist(), strict=True))


@pytest.mark.parametrize("relations", ["all", "intra", "lexical", "tfidf"])
def test_examples_equal_those_made_without_the_store(prepared: Path, relations: str) -> None:
    corpus = store.PreparedCorpus.open(prepared / "store")
    expected = direct(prepared, relations)
    assert len(corpus) == len(expected) == 12
    for index, one in enumerate(expected):
        other = corpus.example(index, relations)
        for name in ("source", "target", "source_words", "target_words"):
            assert [s.tolist() for s in getattr(one, name)] == [s.tolist() for s in getattr(other, name)]
        assert edges(one.graph) == edges(other.graph)
        assert one.graph is not None
        assert other.graph is not None
        assert [one.graph.text(n) for n in range(one.graph.num_nodes)] == [
            other.graph.text(n) for n in range(other.graph.num_nodes)
        ]


def test_examples_make_batches(prepared: Path) -> None:
    corpus = store.PreparedCorpus.open(prepared / "store")
    batch = collate([corpus.example(index) for index in range(3)], bos=1)
    assert batch.num_sentences == int(corpus.sizes.sentences[:3].sum())
    assert batch.graph is not None
    assert batch.target_graph is not None
    assert collate([corpus.example(0, relations=None)], bos=1).graph is None


def test_a_corpus_can_be_pickled(prepared: Path) -> None:
    corpus = store.PreparedCorpus.open(prepared / "store", "dev")
    again = pickle.loads(pickle.dumps(corpus))
    assert again.split == "dev"
    assert again.location(1)[0] == corpus.location(1)[0]


def test_missing_parts_are_reported(prepared: Path, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match="no split 'test'; it has train, dev"):
        store.PreparedCorpus.open(prepared / "store", "test")
    with pytest.raises(DocgraphError, match="holds no prepared corpus"):
        store.PreparedCorpus.open(tmp_path)
    (tmp_path / "train").mkdir()
    (tmp_path / "manifest.json").write_text('{"version": 1, "splits": {"train": {"shards": 1}}}')
    with pytest.raises(DocgraphError, match=r"00000.arrow: this shard of the store is missing"):
        store.PreparedCorpus.open(tmp_path)
    (tmp_path / "manifest.json").write_text('{"version": 99}')
    with pytest.raises(DocgraphError, match="store has another version"):
        store.PreparedCorpus.open(tmp_path)
