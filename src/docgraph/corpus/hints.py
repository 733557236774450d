"""Hints of a prepared corpus: what the words of each sentence refer to, with the words of the reference translation.

`docgraph hints` writes one Arrow file per split into the store, with one row per document. A hint is a kind (its
relation), a sentence, a place in it, and sub-words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.store_tables import read_table, write_table
from docgraph.errors import DocgraphError
from docgraph.model.hints import RELATIONS, Hint, dictionaries, find_hints, find_lookups

if TYPE_CHECKING:
    from docgraph.annotation import Annotation
    from docgraph.model.batch import DocumentExample
    from docgraph.model.document_transformer import DocumentTransformer
    from docgraph.model.tokenizer import Tokenizer

HINTS = pa.schema(
    [
        ("kinds", pa.list_(pa.int8())),
        *((name, pa.list_(pa.int32())) for name in ("sentences", "places", "lengths", "tokens")),
    ]
)
"""Columns of a file of hints: one row per document, one entry per hint (of `tokens`, one per sub-word)."""
MADE_BY = b"docgraph.relations"
"""The relations that the hints were made by, in the metadata of a table; absent if unknown."""
PART = 64
"""Documents whose referents are aligned together."""


def hints_path(store: str | Path, split: str) -> Path:
    """Returns the file with the hints of a split."""
    return Path(store) / f"hints.{split}.arrow"


def make_hints(
    corpus: PreparedCorpus,
    relations: Sequence[str],
    aligner: DocumentTransformer | None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Finds the hints of a split and writes them into its store; `aligner` is needed for coreference."""

    def documents() -> Iterator[list[Hint]]:
        for begin in range(0, len(corpus), PART):
            part = range(begin, min(begin + PART, len(corpus)))
            yield from _filled(corpus, part, relations, aligner)
            progress(part.stop, len(corpus))

    return write_hints(corpus, documents(), relations)


def write_hints(
    corpus: PreparedCorpus, documents: Iterable[Iterable[Hint]], relations: Sequence[str] | None = None
) -> Path:
    """Writes the hints of all documents of a split into its store, and replaces existing hints.

    With `relations`, the hints can only be read by these relations.
    """
    schema = HINTS if relations is None else HINTS.with_metadata({MADE_BY: ",".join(relations).encode()})
    parts = ([[row[name] for row in rows] for name in HINTS.names] for rows in _rows(documents))
    return write_table(hints_path(corpus.folder, corpus.split), schema, corpus, parts)


def _rows(documents: Iterable[Iterable[Hint]]) -> Iterator[list[dict[str, list[int]]]]:
    """Yields the table rows of the documents in batches."""
    remaining = iter(documents)
    while rows := [_row(hints) for hints in islice(remaining, PART)]:
        yield rows


def _filled(
    corpus: PreparedCorpus, documents: range, relations: Sequence[str], aligner: DocumentTransformer | None
) -> Iterator[list[Hint]]:
    """Yields the hints of each document, with their words taken from the reference translations."""
    examples = [corpus.example(index, None) for index in documents]
    found = [
        _find(corpus.annotation(index), example, corpus.tokenizer, relations)
        for index, example in zip(documents, examples, strict=True)
    ]
    open_hints = [
        (hint, example.source[m].astype(np.int64), example.target[m].astype(np.int64))
        for example, hints in zip(examples, found, strict=True)
        for hint in hints
        if hint.referent is not None and (m := hint.referent.sentence) >= 0
    ]
    filled: Iterator[Hint] = iter(())
    if open_hints and aligner is not None:
        from docgraph.translation.decoding.hints import fill_hints

        filled = iter(fill_hints(aligner, corpus.tokenizer.target, open_hints))
    for hints in found:
        known = [hint if hint.referent is None else next(filled, hint) for hint in hints]
        yield [hint for hint in known if hint.ids]


def _find(
    annotation: Annotation, example: DocumentExample, tokenizer: Tokenizer, relations: Sequence[str]
) -> list[Hint]:
    """Returns the hints of a document from its graph and from dictionaries; training treats both alike."""
    hints = find_hints(annotation, example.source, example.source_words, tokenizer, relations)
    lookups = find_lookups(annotation, example.source_words, tokenizer, dictionaries(relations), hints)
    return sorted([*hints, *lookups], key=lambda hint: (hint.sentence, hint.place))


def _row(hints: Iterable[Hint]) -> dict[str, list[int]]:
    hints = list(hints)
    return {
        "kinds": [RELATIONS.index(hint.relation) for hint in hints],
        "sentences": [hint.sentence for hint in hints],
        "places": [hint.place for hint in hints],
        "lengths": [len(hint.ids) for hint in hints],
        "tokens": [token for hint in hints for token in hint.ids],
    }


def read_hints(store: str | Path, split: str) -> pa.Table:
    """Returns the hints of a split as they are stored; raises DocgraphError unless they belong to this store."""
    return read_table(hints_path(store, split), store, "hints", f"make them with docgraph hints {store}")


def _options(relations: Sequence[str]) -> str:
    """Returns the options of `docgraph hints` that make hints by these relations."""
    options = {"coreference": " --model MODEL", "previous": " --previous"}
    return "".join(options.get(name, "") for name in relations) + "".join(
        f" --dictionary {name.partition(':')[2]}" for name in relations if ":" in name
    )


class CorpusHints:
    """The hints of a split by the given relations."""

    def __init__(
        self, store: str | Path, split: str, relations: Sequence[str], dropout: float = 0.0, seed: int = 0
    ) -> None:
        """Reads the hints; raises DocgraphError unless they belong to this store and were made by the relations."""
        self._arguments = store, split, relations, dropout, seed
        self.dropout, self.seed = dropout, seed
        self._table = read_hints(store, split)
        made_by = (self._table.schema.metadata or {}).get(MADE_BY)
        if made_by is not None and (lacking := [name for name in relations if name not in made_by.decode().split(",")]):
            raise DocgraphError(
                f"these hints were made without {' and '.join(lacking)}; make them with docgraph hints "
                f"{store}{_options(relations)}, or change 'model.hints.relations'",
                path=hints_path(store, split),
            )
        self._kinds = {RELATIONS.index(name.partition(":")[0]) for name in relations}

    def __reduce__(self) -> tuple[Any, ...]:
        return CorpusHints, self._arguments  # a worker process reads the file itself

    @cached_property
    def _columns(self) -> list[tuple[Any, Any]]:
        """(offsets [D+1], values) of each column."""
        columns = (self._table.column(name).combine_chunks() for name in self._table.column_names)
        return [(column.offsets.to_numpy(), column.values.to_numpy()) for column in columns]

    def document(self, index: int) -> list[Hint]:
        """Returns the hints of a document."""
        kinds, sentences, places, lengths, tokens = (
            values[offsets[index] : offsets[index + 1]] for offsets, values in self._columns
        )
        ends = np.cumsum(lengths)
        return [
            Hint(int(sentence), int(place), tuple(tokens[end - length : end].tolist()), RELATIONS[kind])
            for kind, sentence, place, length, end in zip(kinds, sentences, places, lengths, ends, strict=True)
            if kind in self._kinds
        ]

    @cached_property
    def by_sentence(self) -> dict[tuple[int, int], list[Hint]]:
        """The hints of all sentences that have any, by document and sentence."""
        found: dict[tuple[int, int], list[Hint]] = {}
        for index in range(self._table.num_rows):
            for hint in self.document(index):
                found.setdefault((index, hint.sentence), []).append(hint)
        return found

    def kept(self, hints: Sequence[Hint], document: int, epoch: int) -> list[Hint]:
        """Returns the hints that training reads in this epoch; the choice depends on the seed and the epoch only."""
        if not self.dropout or not hints:
            return list(hints)
        seed = np.random.SeedSequence([self.seed, epoch, document, hints[0].sentence])
        draws = np.random.PCG64(seed).random_raw(len(hints))
        return [hint for hint, draw in zip(hints, draws, strict=True) if draw >= self.dropout * 2.0**64]
