"""Sub-word tokenisation: text to ids with character offsets, ids to text, and the words that pieces belong to.

A model folder holds `joint.spm`, or `source.spm` and `target.spm`: SentencePiece models whose own ids are used. In
Marian folders, `vocab.json` (and `target_vocab.json` if the sides differ) maps pieces to ids instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import regex
from sentencepiece import SentencePieceProcessor

from docgraph.errors import DocgraphError
from docgraph.model.config import TransformerConfig

Ids = npt.NDArray[np.int64]
SPACE = "▁"
"""SentencePiece's mark of a space."""
UNKNOWN = "<unk>"
FILES = ("joint.spm", "source.spm", "target.spm", "vocab.json", "target_vocab.json")
_UNSPACED = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]"
)
_BYTE = regex.compile(r"<0x[0-9A-F]{2}>")
_TAG = regex.compile(r">>.+<<")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")


class SubwordCoder:
    """The sub-words of one language: a SentencePiece model and, unless its own ids are used, a table of ids."""

    def __init__(self, model: SentencePieceProcessor, table: dict[str, int] | None, config: TransformerConfig) -> None:
        self.model = model
        self.table = table
        self.eos = config.eos
        self._silent = {config.pad, config.bos, config.eos}
        pieces = [model.id_to_piece(index) for index in range(len(model))] if table is None else list(table)
        self._ids = {piece: index for index, piece in enumerate(pieces)} if table is None else table
        self._pieces = {index: piece for piece, index in self._ids.items()}
        self._unknown = model.unk_id() if table is None else table[UNKNOWN]
        # SentencePiece returns a run of unknown characters as one piece, which may spell a special token.
        self._text_ids = {p: i for p, i in self._ids.items() if i not in self._silent and not _TAG.fullmatch(p)}
        self.size = max(self._pieces) + 1

    def encode(self, text: str, tag: str | None = None) -> tuple[Ids, Ids]:
        """Returns ids [P], with end-of-sentence, and the character span of each piece in `text` [P, 2].

        `tag` is a target-language token such as `>>fra<<` that comes first; it and end-of-sentence have empty spans.
        Spans refer to the raw text, not to SentencePiece's normalised one. All pieces of a character have its span.
        """
        text = _SURROGATE.sub("\ufffd", text)
        encoded = self.model.encode(text, return_type="offset_mapping")
        pieces, spans = encoded["pieces"], encoded["offsets"]
        ids = encoded["ids"] if self.table is None else self._from_table(pieces)
        for index, (begin, end) in enumerate(spans):
            # SentencePiece gives a character that became several pieces to the last piece only.
            if (begin == end or text[begin:end].isspace()) and pieces[index] != SPACE:
                spans[index] = begin, min(end + 1, len(text))
        if tag is not None:
            ids, spans = [self.tag_id(tag), *ids], [(0, 0), *spans]
        ids.append(self.eos)
        spans.append((len(text), len(text)))
        return np.array(ids, dtype=np.int64), np.array(spans, dtype=np.int64)

    def ids(self, texts: Iterable[str]) -> list[Ids]:
        """Returns the ids of each text, as of `encode`, in half the time because there are no spans."""
        clean = [_SURROGATE.sub("\ufffd", text) for text in texts]
        if self.table is None:
            encoded = self.model.encode(clean, return_type="numpy", num_threads=1)
        else:
            encoded = [self._from_table(pieces) for pieces in self.model.encode(clean, return_type=str, num_threads=1)]
        return [np.append(ids, self.eos).astype(np.int64, copy=False) for ids in encoded]

    def _from_table(self, pieces: Iterable[str]) -> list[int]:
        return [self._text_ids.get(piece, self._unknown) for piece in pieces]

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text of `ids`, without padding, begin- and end-of-sentence."""
        text: str = self.model.decode_pieces([piece for piece in self.pieces(ids) if piece])
        return text.replace(SPACE, " ").strip()

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Returns the piece of each id; empty for padding, begin- and end-of-sentence."""
        return ["" if i in self._silent else self._pieces.get(i, UNKNOWN) for i in map(int, ids)]

    def words(self, sentences: Sequence[Ids]) -> list[Ids]:
        """Returns the word of each piece of each sentence: words_by_space(pieces(ids)), vectorised over sentences."""
        if not sentences:
            return []
        lengths = np.array([len(ids) for ids in sentences])
        everything, sentence = np.concatenate(sentences), np.repeat(np.arange(len(lengths)), lengths)
        silent, marked, is_mark, unspaced_first, unspaced_last = self._edges
        places = np.flatnonzero(~silent[everything])
        ids, sentence = everything[places], sentence[places]
        before = np.roll(ids, 1)
        initial = np.diff(sentence, prepend=-1) > 0
        begins = initial | marked[ids] | (~is_mark[before] & (unspaced_last[before] | unspaced_first[ids]))
        count = np.cumsum(begins)
        words = np.full(len(everything), -1, dtype=np.int64)
        words[places] = count - count[np.flatnonzero(initial)[np.cumsum(initial) - 1]]
        return np.split(words, np.cumsum(lengths)[:-1])

    @cached_property
    def _edges(self) -> npt.NDArray[np.bool_]:
        """[5, size], for each piece: is it special (no text), does it start with the space mark, is it only the space
        mark, is its first and is its last character from a script without spaces."""
        rows = [
            (
                not piece,
                piece.startswith(SPACE),
                piece == SPACE,
                bool(_UNSPACED.match(piece[:1])),
                bool(_UNSPACED.match(piece[-1:])),
            )
            for piece in self.pieces(range(self.size))
        ]
        return np.array(rows).T

    def special_pieces(self) -> tuple[int, npt.NDArray[np.bool_]]:
        """Returns the id of the unknown piece, and a mask [size] of the pieces for single bytes (byte fallback)."""
        is_byte = np.zeros(self.size, dtype=np.bool_)
        is_byte[[index for piece, index in self._ids.items() if _BYTE.fullmatch(piece)]] = True
        return self._unknown, is_byte

    @property
    def tags(self) -> list[str]:
        """The target-language tokens that a source sentence may start with."""
        return sorted(filter(_TAG.fullmatch, self._ids))

    def tag_id(self, tag: str) -> int:
        """Returns the id of a target-language token."""
        if tag not in self.tags:
            known = ", ".join(self.tags) or "none"
            raise DocgraphError(f"the model has no language tag '{tag}'; it has {known}")
        return self._ids[tag]


class Tokenizer:
    """The sub-words of both languages of a model."""

    def __init__(self, source: SubwordCoder, target: SubwordCoder) -> None:
        self.source, self.target = source, target

    @classmethod
    def load(cls, folder: str | Path, config: TransformerConfig) -> Tokenizer:
        """Returns the tokenizer of a folder, after checking that it fits the model's vocabulary."""
        place = Path(folder)
        joint = (place / "joint.spm").is_file()
        models = [_model(place / name) for name in (["joint.spm"] if joint else ["source.spm", "target.spm"])]
        tables: list[dict[str, int] | None]
        tables = [_table(place / "vocab.json")] if (place / "vocab.json").is_file() else [None]
        if (place / "target_vocab.json").is_file():
            tables.append(_table(place / "target_vocab.json"))
        source = SubwordCoder(models[0], tables[0], config)
        target = source if joint and len(tables) == 1 else SubwordCoder(models[-1], tables[-1], config)
        for coder, size in ((source, config.source_vocabulary), (target, config.target_vocabulary)):
            end = coder.model.eos_id() if coder.table is None else coder.table.get("</s>")
            if coder.size > size or end != config.eos:
                ours, theirs = f"{coder.size} pieces, the end is {end}", f"{size}, the end is {config.eos}"
                raise DocgraphError(f"the tokenizer ({ours}) does not fit the model ({theirs}); replace it", path=place)
        return cls(source, target)


def _model(path: Path) -> SentencePieceProcessor:
    if not path.is_file():
        raise DocgraphError("the tokenizer's file is missing; copy the model folder again", path=path)
    try:
        return SentencePieceProcessor.from_proto(path.read_bytes())
    except RuntimeError:
        raise DocgraphError("this is not a SentencePiece model; copy the model folder again", path=path) from None


def _table(path: Path) -> dict[str, int]:
    try:
        table = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict) or not all(type(index) is int and index >= 0 for index in table.values()):
        raise DocgraphError("a vocabulary is a JSON object of pieces and ids; copy the folder again", path=path)
    if UNKNOWN not in table:
        raise DocgraphError(f"the vocabulary has no {UNKNOWN} piece; copy the folder again", path=path)
    return table


def words_of_pieces(spans: Ids, word_starts: npt.NDArray[np.integer], word_ends: npt.NDArray[np.integer]) -> Ids:
    """Returns the word that each piece overlaps most, -1 for none: spans [P, 2] -> [P]. Ties go to the first word.

    Starts and ends of words must not decrease.
    """
    begins, ends = spans[:, 0], spans[:, 1]
    first = np.searchsorted(word_ends, begins, side="right")
    counts = np.maximum(np.searchsorted(word_starts, ends, side="left") - first, 0)
    offsets = np.cumsum(counts) - counts
    piece = np.repeat(np.arange(len(spans)), counts)
    word = np.arange(len(piece)) + (first - offsets)[piece]
    overlap = np.minimum(ends[piece], word_ends[word]) - np.maximum(begins[piece], word_starts[word])
    order = np.lexsort((-overlap, piece))
    some = np.flatnonzero(counts)
    best = order[offsets[some]]
    owner = np.full(len(spans), -1, dtype=np.int64)
    owner[some] = np.where(overlap[best] > 0, word[best], -1)
    return owner


def words_by_space(pieces: Sequence[str]) -> Ids:
    """Returns [P]: the index of each piece's word in its sentence, -1 for an empty piece (padding, end-of-sentence).

    A word starts at SentencePiece's space mark and, in scripts without spaces, at every piece.
    """
    owner = np.full(len(pieces), -1, dtype=np.int64)
    word, before = -1, ""
    for index, piece in enumerate(pieces):
        if not piece:
            continue
        joined = before != "" and not piece.startswith(SPACE)
        if joined and before != SPACE:
            joined = not (_UNSPACED.match(before[-1]) or _UNSPACED.match(piece[0]))
        word += not joined
        owner[index] = word
        before = piece
    return owner
