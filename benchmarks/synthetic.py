"""Synthetic documents with the statistics of real ones, so that benchmarks need no data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from docgraph.annotation import Annotation, Strings, int_array
from docgraph.corpus.store import MANIFEST, VERSION, PreparedCorpus, schema, shard_path, to_bytes
from docgraph.corpus.subwords import EncodedDocument, EncodedSide
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample

EOS = 2


def synthetic_annotation(words: int, seed: int = 0) -> Annotation:
    """Returns an annotation of `words` words with the statistics of English text and every layer."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(rng.lognormal(3.0, 0.5, size=words // 8 + 1).astype(np.int64), 2)
    offsets = np.concatenate([[0], np.minimum(np.cumsum(lengths), words)])
    offsets = offsets[: np.searchsorted(offsets, words) + 1].astype(np.int32)
    # Zipf-Mandelbrot over 20,000 lemmas: the most frequent covers about 5% of a text, as "the" does.
    weights = 1 / (np.arange(20_000) + 2.7) ** 1.05
    lemmas = rng.choice(len(weights), size=words, p=weights / weights.sum()) + 2
    forms = lemmas * 4 + rng.choice(4, size=words, p=(0.7, 0.15, 0.1, 0.05))
    for mark, where in enumerate((rng.random(words) < 0.05, offsets[1:] - 1)):  # commas, full stops
        lemmas[where], forms[where] = mark, mark
    sentence_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first, size = offsets[sentence_of], np.diff(offsets)[sentence_of]
    place = np.arange(words) - first
    # The head of a word is an earlier one of its sentence, mostly a near one; the first is the root.
    heads = first + np.maximum(place - rng.geometric(0.4, size=words), 0)
    mentions = np.flatnonzero(rng.random(words) < 0.06)
    links = np.stack([mentions[:-1], mentions[1:]], axis=1) if len(mentions) > 1 else np.empty((0, 2), np.int64)
    starts = place * 6
    return Annotation(
        offsets,
        int_array(starts),
        int_array(starts + 5),
        Strings.of(f"w{form}" for form in forms.tolist()),
        lemmas=Strings.of(f"l{lemma}" for lemma in lemmas.tolist()),
        heads=int_array(np.where(size == 1, first, heads)),
        coreference=int_array(links),
    )


def random_document(rng: np.random.Generator, sentences: tuple[int, int], vocabulary: int) -> EncodedDocument:
    """Returns a document of `sentences` (from, to) sentences with a translation."""
    annotation = synthetic_annotation(22 * int(rng.integers(*sentences)), seed=int(rng.integers(1 << 31)))
    source, target = [], []
    for size in np.diff(annotation.offsets).tolist():
        owner = np.repeat(np.arange(size), 1 + (rng.random(size) < 0.12))
        source.append((np.append(rng.integers(3, vocabulary, len(owner)), EOS), np.append(owner, -1)))
        length = max(1, int(len(owner) * rng.normal(1.15, 0.1)))
        target.append((np.append(rng.integers(3, vocabulary, length), EOS), np.append(np.arange(length), -1)))
    sides = (
        EncodedSide(
            np.concatenate([ids for ids, _ in side]),
            int_array([len(ids) for ids, _ in side]),
            np.concatenate([words for _, words in side]),
        )
        for side in (source, target)
    )
    return EncodedDocument("", "", int_array(range(len(source))), *sides, annotation)


def random_store(folder: Path, documents: int, sentences: tuple[int, int] = (60, 160)) -> PreparedCorpus:
    """Writes a prepared corpus of random documents and opens it."""
    rng, vocabulary = np.random.default_rng(0), 32_000
    path = shard_path(folder, "train", 0)
    path.parent.mkdir(parents=True)
    made = (random_document(rng, sentences, vocabulary) for _ in range(documents))
    path.write_bytes(to_bytes(made, schema(vocabulary, vocabulary, "")))
    (folder / MANIFEST).write_text(json.dumps({"version": VERSION, "splits": {"train": {"shards": 1}}}))
    return PreparedCorpus.open(folder)


def random_examples(
    rng: np.random.Generator, target_tokens: int, vocabulary: int, sentences: tuple[int, int]
) -> list[DocumentExample]:
    """Returns documents of `sentences` (from, to) sentences each, about `target_tokens` target sub-words in all."""
    examples, total = [], 0
    while total < target_tokens:
        document = random_document(rng, sentences, vocabulary)
        firsts = np.repeat(document.annotation.offsets[:-1], document.source.lengths)
        owners = np.where(document.source.words < 0, -1, document.source.words + firsts)
        ends = [np.cumsum(side.lengths)[:-1] for side in (document.source, document.target)]
        source, source_words = np.split(document.source.ids, ends[0]), np.split(owners, ends[0])
        target, target_words = np.split(document.target.ids, ends[1]), np.split(document.target.words, ends[1])
        examples.append(DocumentExample(source, target, build_graph(document.annotation), source_words, target_words))
        total += len(document.target.ids)
    return examples
