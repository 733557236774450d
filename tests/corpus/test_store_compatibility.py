"""A store prepared by an earlier release opens and reads as it did then.

`data/store_of_version_1` was written by docgraph 0.1.0 from five sentence pairs, with the default English annotator.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from docgraph.annotation import Strings
from docgraph.corpus.batches import BatchConfig, BatchSampler
from docgraph.corpus.store import PreparedCorpus, read_manifest

STORE = Path(__file__).parent / "data" / "store_of_version_1"
DOCUMENTS = [
    {
        "location": ("alice.en:1", "alice.en", [1, 2, 3]),
        "source": ["Alice saw a white rabbit.", "It took a watch out of its pocket.", "She ran after the rabbit."],
        "target": ["Alice vit un lapin blanc.", "Il tira une montre de sa poche.", "Elle courut après le lapin."],
        "source_ids": [
            [44, 36, 107, 9, 33, 75, 91, 48, 99, 2],
            [87, 11, 81, 9, 33, 51, 52, 90, 82, 18, 111, 90, 78, 42, 79, 99, 2],
            [70, 4, 22, 98, 9, 57, 54, 43, 48, 99, 2],
        ],
        "source_words": [
            [0, 1, 1, 2, 3, 3, 3, 4, 5, -1],
            [0, 1, 1, 2, 3, 3, 3, -1, 4, 5, 5, -1, 6, 7, 7, 8, -1],
            [0, 0, 1, 1, 2, 2, 2, 3, 4, 5, -1],
        ],
        "target_words": [
            [0, 1, 1, 2, 3, 4, 4, 4, 4, -1],
            [0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 6, 6, -1],
            [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, -1],
        ],
        "forms": "Alice saw a white rabbit . It took a watch out of its pocket . She ran after the rabbit .",
        "lemmas": "Alice see a white rabbit . it take a watch out of its pocket . she run after the rabbit .",
        "upos": "PROPN VERB DET ADJ NOUN PUNCT PRON VERB DET NOUN ADP ADP PRON NOUN PUNCT PRON VERB ADP DET NOUN PUNCT",
        "heads": [1, 1, 4, 4, 1, 1, 7, 7, 9, 7, 13, 13, 13, 7, 7, 16, 16, 19, 19, 16, 16],
        "coreference": [[4, 6], [6, 12], [0, 15], [4, 19]],
        "offsets": [0, 6, 15, 21],
        "edges": {"membership": 21, "adjacency": 36, "dependency": 18, "lexical": 5, "coreference": 4},
    },
    {
        "location": ("alice.en:5", "alice.en", [5, 6]),
        "source": ["The house is old.", "A man owns the house."],
        "target": ["La maison est vieille.", "Un homme possède la maison."],
        "source_ids": [[71, 4, 45, 90, 12, 18, 58, 99, 2], [16, 20, 98, 18, 85, 43, 45, 99, 2]],
        "source_words": [[0, 0, 1, -1, 2, 3, 3, 4, -1], [0, 1, 1, 2, 2, 3, 4, 5, -1]],
        "target_words": [[0, 1, 2, 2, 3, 3, 3, 3, -1], [0, 1, 1, 1, 2, 2, 2, 3, 4, 4, -1]],
        "forms": "The house is old . A man owns the house .",
        "lemmas": "the house be old . a man own the house .",
        "upos": "DET NOUN AUX ADJ PUNCT DET NOUN VERB DET NOUN PUNCT",
        "heads": [1, 3, 3, 3, 3, 6, 7, 7, 9, 7, 7],
        "coreference": [[1, 9]],
        "offsets": [0, 5, 11],
        "edges": {"membership": 11, "adjacency": 18, "dependency": 9, "lexical": 3, "coreference": 1},
    },
]


@pytest.fixture(scope="module")
def corpus() -> PreparedCorpus:
    return PreparedCorpus.open(STORE)


def strings(column: Strings | None) -> str:
    assert column is not None
    return " ".join(column.table[index] for index in column.ids)


def test_sizes(corpus: PreparedCorpus) -> None:
    split = read_manifest(STORE)["splits"]["train"]
    assert (split["documents"], split["sentences"], split["words"]) == (len(corpus), 5, 32) == (2, 5, 32)
    assert corpus.sizes.source_tokens.tolist() == [38, 18]
    assert corpus.sizes.target_tokens.tolist() == [38, 20]
    assert [spans.tolist() for spans in BatchSampler(corpus, BatchConfig(shuffle=False)).plan(0)] == [
        [[0, 0, 3], [1, 0, 2]]
    ]


@pytest.mark.parametrize("index", range(2))
def test_documents(corpus: PreparedCorpus, index: int) -> None:
    expected = DOCUMENTS[index]
    name, path, lines = corpus.location(index)
    assert (name, path, lines.tolist()) == expected["location"]
    source, source_words = corpus.sentences(index, "source")
    target, target_words = corpus.sentences(index, "target")
    assert [ids.tolist() for ids in source] == expected["source_ids"]
    assert [corpus.tokenizer.source.decode(ids) for ids in source] == expected["source"]
    assert [corpus.tokenizer.target.decode(ids) for ids in target] == expected["target"]
    assert [words.tolist() for words in source_words] == expected["source_words"]
    assert [words.tolist() for words in target_words] == expected["target_words"]


@pytest.mark.parametrize("index", range(2))
def test_annotations_and_graphs(corpus: PreparedCorpus, index: int) -> None:
    expected, annotation = DOCUMENTS[index], corpus.annotation(index)
    for layer in ("forms", "lemmas", "upos"):
        assert strings(getattr(annotation, layer)) == expected[layer]
    for layer in ("heads", "coreference", "offsets"):
        assert getattr(annotation, layer).tolist() == expected[layer]
    graph = corpus.example(index).graph
    assert graph is not None
    assert {name: len(graph.edges(name)) for name in graph.relations} == expected["edges"]
