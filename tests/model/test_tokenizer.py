"""Sub-words: spans in the raw text, round trips, Marian vocabularies, and words of pieces."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.errors import DocgraphError
from docgraph.model.config import TransformerConfig
from docgraph.model.tokenizer import SubwordCoder, Tokenizer, words_by_space, words_of_pieces

from .subword_examples import SOURCE_LINES, joint_files, marian_files, processor, spm_bytes

CODERS = {
    name: SubwordCoder(processor(SOURCE_LINES, size, **options), None, TransformerConfig())
    for name, size, options in (
        ("unigram", 90, {}),
        ("bytes", 360, {"model_type": "bpe", "byte_fallback": True}),
        ("lower-case", 90, {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc_cf"}),
    )
}


@pytest.fixture(params=list(CODERS))
def coder(request: pytest.FixtureRequest) -> SubwordCoder:
    return CODERS[request.param]


def surfaces(coder: SubwordCoder, text: str) -> list[str]:
    return [text[begin:end] for begin, end in coder.encode(text)[1]]


def test_spans_are_characters_of_the_raw_text(coder: SubwordCoder) -> None:
    ids, spans = coder.encode("hello world")
    assert ids[-1] == 2
    assert spans[-1].tolist() == [11, 11]
    assert "".join(surfaces(coder, "hello world")) == "hello world"
    assert "".join(surfaces(coder, "cœur naïve")) == "cœur naïve"


def test_normalisation_does_not_shift_spans(coder: SubwordCoder) -> None:
    text = "  ﬁne   e\u0301 \u200bhello"
    ids, spans = coder.encode(text)
    hello = [text[begin:end].strip(" \u200b") for begin, end in spans if begin >= text.index("h")]
    assert "".join(hello) == "hello"
    owner = words_of_pieces(spans, np.array([2, 8, 12]), np.array([5, 10, 17]))
    pieces = coder.pieces(ids)
    for word, letters in enumerate(("fine", "é", "hello")):
        own = "".join(piece.strip("▁") for piece, o in zip(pieces, owner, strict=True) if o == word)
        assert own == letters or own.startswith("<0x")


def test_every_piece_of_a_split_character_has_its_span() -> None:
    coder = CODERS["bytes"]
    ids, spans = coder.encode("a 😀 b")
    bytes_of = [i for i, piece in enumerate(coder.pieces(ids)) if piece.startswith("<0x")]
    assert len(bytes_of) == 4
    assert spans[bytes_of].tolist() == [[2, 3]] * 4
    assert words_of_pieces(spans, np.array([0, 2, 4]), np.array([1, 3, 5]))[bytes_of].tolist() == [1] * 4
    ids, spans = coder.encode("3 ½")
    pieces = coder.pieces(ids)
    assert all(end == 3 for piece, (_, end) in zip(pieces, spans, strict=True) if set(piece) & set("12⁄"))


@settings(max_examples=150)
@given(text=st.text(max_size=40), name=st.sampled_from(sorted(CODERS)))
def test_any_text_encodes_with_ordered_spans_inside_it(text: str, name: str) -> None:
    ids, spans = CODERS[name].encode(text)
    assert spans.shape == (len(ids), 2)
    assert (np.diff(spans, axis=0) >= 0).all()
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert ((spans >= 0) & (spans <= len(text))).all()


@settings(max_examples=150)
@given(
    texts=st.lists(st.text(st.sampled_from("hel wor.é漢字ひ▁ \ud800") | st.characters(), max_size=20), max_size=5),
    name=st.sampled_from(sorted(CODERS)),
)
def test_many_sentences_at_once_equal_each_alone(texts: list[str], name: str) -> None:
    coder = CODERS[name]
    ids = coder.ids(texts)
    assert [one.tolist() for one in ids] == [coder.encode(text)[0].tolist() for text in texts]
    sentences = [*ids, np.array([], dtype=np.int64), np.array([0, 2]), *ids]
    words = [words_by_space(coder.pieces(sentence)).tolist() for sentence in sentences]
    assert [one.tolist() for one in coder.words(sentences)] == words


def test_lone_surrogates_keep_their_place(coder: SubwordCoder) -> None:
    text = "hello \ud800 world"
    _, spans = coder.encode(text)
    owner = words_of_pieces(spans, np.array([0, 8]), np.array([5, 13]))
    for word, form in enumerate(("hello", "world")):
        own = "".join(text[begin:end] for begin, end in spans[owner == word])
        assert own.replace("\ud800", "").strip() == form


def test_decode_undoes_encode(coder: SubwordCoder) -> None:
    for line in ("hello world, this is a test", "the lazy dog"):
        assert coder.decode(coder.encode(line)[0]) == line
    assert coder.decode([]) == ""
    assert coder.decode([0, 1, 2]) == ""


def test_byte_pieces_decode_to_their_character() -> None:
    coder = CODERS["bytes"]
    assert coder.decode(coder.encode("hello 😀")[0]) == "hello 😀"


def test_joint_tokenizer_serves_both_sides(tmp_path: Path) -> None:
    tokenizer = Tokenizer.load(tmp_path, joint_files(tmp_path))
    assert tokenizer.source is tokenizer.target
    assert tokenizer.target.decode(tokenizer.source.encode("bonjour le monde")[0]) == "bonjour le monde"


def test_marian_ids_come_from_the_vocabulary(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = marian_files(tmp_path)
    ours = Tokenizer.load(tmp_path, config)
    files = [str(tmp_path / name) for name in ("source.spm", "target.spm", "vocab.json")]
    theirs = transformers.MarianTokenizer(*files)
    for text in ("the quick brown fox", "hello  北京 unseen-Zß ½", ""):
        assert ours.source.encode(text)[0].tolist() == ours.source.ids([text])[0].tolist() == theirs(text).input_ids
    tagged, spans = ours.source.encode("the fox", tag=">>fra<<")
    assert tagged.tolist() == theirs(">>fra<< the fox").input_ids
    assert spans[0].tolist() == [0, 0]
    sentence = "le vif renard saute"
    ids = ours.target.encode(sentence)[0]
    assert ids.tolist() == theirs(text_target=sentence).input_ids
    assert ours.target.decode(ids) == sentence == theirs.decode(ids, skip_special_tokens=True)


def test_separate_vocabularies(tmp_path: Path) -> None:
    config = marian_files(tmp_path)
    (tmp_path / "target_vocab.json").write_text('{"</s>": 0, "<unk>": 1, "▁le": 2, "▁": 3, "<pad>": 4}')
    target = Tokenizer.load(tmp_path, config).target
    assert target.decode([2, 3, 2]) == "le  le"
    assert set(target.encode("renard")[0].tolist()) <= {0, 1, 3}


def test_an_unknown_tag_is_named_with_the_known_ones(tmp_path: Path) -> None:
    coder = Tokenizer.load(tmp_path, marian_files(tmp_path)).source
    with pytest.raises(DocgraphError, match=r"no language tag '>>xyz<<'; it has >>deu<<, >>fra<<"):
        coder.encode("the fox", tag=">>xyz<<")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "target.spm").unlink(), "target.spm: the tokenizer's file is missing"),
        (lambda f: (f / "source.spm").write_bytes(b"junk" * 9), "source.spm: this is not a SentencePiece model"),
        (lambda f: (f / "source.spm").write_bytes(b""), "source.spm: this is not a SentencePiece model"),
        (lambda f: (f / "vocab.json").write_text("{"), "vocab.json: a vocabulary is a JSON object"),
        (lambda f: (f / "vocab.json").write_text('{"a": "b"}'), "vocab.json: a vocabulary is a JSON object"),
        (lambda f: (f / "vocab.json").write_text('{"</s>": 0}'), "vocab.json: the vocabulary has no <unk>"),
        (lambda f: (f / "vocab.json").write_text('{"</s>": 7, "<unk>": 1}'), "does not fit the model"),
        (lambda f: (f / "vocab.json").write_text('{"</s>": 0, "<unk>": 1, "a": 9999}'), "does not fit the model"),
    ],
)
def test_damaged_tokenizer_files_are_named(tmp_path: Path, damage, message: str) -> None:
    config = marian_files(tmp_path)
    damage(tmp_path)
    with pytest.raises(DocgraphError, match=message):
        Tokenizer.load(tmp_path, config)


def test_a_tokenizer_with_another_end_is_refused(tmp_path: Path) -> None:
    config = joint_files(tmp_path)
    (tmp_path / "joint.spm").write_bytes(spm_bytes(SOURCE_LINES, 90, eos_id=1, bos_id=2))
    with pytest.raises(DocgraphError, match="does not fit the model"):
        Tokenizer.load(tmp_path, config)


def overlap(span: tuple[int, int], word: tuple[int, int]) -> int:
    return max(min(span[1], word[1]) - max(span[0], word[0]), 0)


@settings(max_examples=300)
@given(
    cuts=st.lists(st.integers(0, 30), max_size=12).map(sorted),
    bounds=st.lists(st.integers(0, 30), max_size=16, unique=True).map(sorted),
)
def test_words_of_pieces_takes_the_greatest_overlap(cuts: list[int], bounds: list[int]) -> None:
    spans = list(pairwise(cuts))
    words = list(zip(bounds[::2], bounds[1::2], strict=False))
    owner = words_of_pieces(
        np.array(spans, dtype=np.int64).reshape(-1, 2),
        np.array([start for start, _ in words], dtype=np.int32),
        np.array([end for _, end in words], dtype=np.int32),
    )
    for span, word in zip(spans, owner.tolist(), strict=True):
        overlaps = [overlap(span, other) for other in words]
        expected = overlaps.index(max(overlaps)) if max(overlaps, default=0) else -1
        assert word == expected
    owned = owner[owner >= 0]
    assert (np.diff(owned) >= 0).all()


def test_words_that_share_a_span_give_it_to_the_first() -> None:
    spans = np.array([[0, 2], [2, 5], [5, 5]])
    assert words_of_pieces(spans, np.array([0, 0, 3]), np.array([2, 2, 5])).tolist() == [0, 2, -1]


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁the", "▁com", "mit", "tee", "▁met", ".", ""], [0, 1, 1, 1, 2, 2, -1]),
        (["he", "llo", "▁", "w", "orld", ""], [0, 0, 1, 1, 1, -1]),
        (["▁", "我", "在", "北京", "。", ""], [0, 0, 1, 2, 3, -1]),
        (["▁in", "▁北京", "大学", ""], [0, 1, 2, -1]),
        ([""], [-1]),
        ([], []),
    ],
)
def test_words_by_space(pieces: list[str], words: list[int]) -> None:
    assert words_by_space(pieces).tolist() == words
