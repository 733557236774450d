"""Sub-words: learnt models, special ids, reproducible samples, and sub-words copied from other folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_examples import synthetic

from docgraph.corpus import subwords
from docgraph.corpus.config import SubwordsConfig
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError


def sample(size: int = 1000, documents: int = 30) -> subwords.Sample:
    drawn = subwords.Sample(size)
    for source, target in zip(*synthetic(documents), strict=True):
        drawn.add(ParallelDocument("d", tuple(source), tuple(target), "f", tuple(range(len(source)))))
    return drawn


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("joint", [True, False])
def test_models_are_learnt_as_configured(kind: str, joint: bool, tmp_path: Path) -> None:
    config = SubwordsConfig(kind=kind, joint=joint, size=330)  # type: ignore[arg-type]
    subwords.learn(sample(), config, tmp_path / "t", "made from this")
    tokenizer, sizes = subwords.load(tmp_path / "t"), subwords.token_config(tmp_path / "t")
    assert (tokenizer.source is tokenizer.target) == joint
    assert (sizes.pad, sizes.bos, sizes.eos) == (0, 1, 2)
    assert 260 < sizes.source_vocabulary <= 330
    assert tokenizer.source.size == sizes.source_vocabulary
    text = "The Müller number 3 漢字 saw it."
    ids, _ = tokenizer.source.encode(text)
    assert ids[-1] == 2
    assert tokenizer.source.decode(ids) == text, "bytes stand in for characters that were not seen"
    assert 3 not in ids


def test_without_bytes_unseen_characters_are_unknown(tmp_path: Path) -> None:
    subwords.learn(sample(), SubwordsConfig(size=100, byte_fallback=False), tmp_path / "t", "x")
    assert 3 in subwords.load(tmp_path / "t").source.encode("漢字")[0]


def test_coverage_determines_which_characters_become_pieces(tmp_path: Path) -> None:
    pairs = sample(200, 200)
    pairs.pairs[0] = ("« rare »", "« rare »")
    sizes = []
    for coverage in (0.99, 1.0):
        subwords.learn(pairs, SubwordsConfig(size=400, coverage=coverage), tmp_path / str(coverage), "x")
        sizes.append(len(subwords.load(tmp_path / str(coverage)).source.encode("«")[0]))
    assert sizes[1] < sizes[0], "a piece in place of its bytes"


def test_the_sample_is_bounded_uniform_and_reproducible() -> None:
    drawn = sample(40, 100).pairs
    assert len(drawn) == 40
    assert drawn == sample(40, 100).pairs
    numbers = [int(source.split("number ")[1].split()[0]) for source, _ in drawn]
    assert min(numbers) < 25
    assert max(numbers) > 75
    assert all(source.split()[1] == target.split()[1] for source, target in drawn), "pairs stay pairs"


def test_too_large_a_vocabulary_raises_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=r"cannot learn 100 pieces .* choose another 'subwords.size'"):
        subwords.learn(sample(), SubwordsConfig(size=100), tmp_path / "t", "x")


def test_a_folder_is_current_until_its_content_or_input_changes(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    assert not subwords.is_current(folder, "x")
    subwords.learn(sample(), SubwordsConfig(size=330), folder, "x")
    assert subwords.is_current(folder, "x")
    assert not subwords.is_current(folder, "y")
    (folder / "joint.spm").write_bytes(b"cut short")
    assert not subwords.is_current(folder, "x")


def test_sub_words_of_another_store_are_copied(tmp_path: Path) -> None:
    subwords.learn(sample(), SubwordsConfig(size=330), tmp_path / "store" / "tokenizer", "x")
    subwords.copy(tmp_path / "store", tmp_path / "new", "y")
    one, other = subwords.load(tmp_path / "store" / "tokenizer"), subwords.load(tmp_path / "new")
    assert one.source.encode("The river.")[0].tolist() == other.source.encode("The river.")[0].tolist()
    assert subwords.is_current(tmp_path / "new", "y")


def test_sub_words_of_a_model_are_copied_with_its_ids(tmp_path: Path) -> None:
    from docgraph.model.checkpoint import blank, save
    from docgraph.model.config import ModelConfig, TransformerConfig

    subwords.learn(sample(), SubwordsConfig(size=330), tmp_path / "t", "x")
    sizes = {"source_vocabulary": 400, "target_vocabulary": 400}
    small = TransformerConfig(**sizes, dimension=8, feed_forward=8, heads=2, encoder_layers=1, decoder_layers=1, bos=0)
    save(blank(ModelConfig(small)), tmp_path / "model", [tmp_path / "t" / "joint.spm"])
    subwords.copy(tmp_path / "model", tmp_path / "new", "y")
    taken = subwords.token_config(tmp_path / "new")
    assert (taken.source_vocabulary, taken.target_vocabulary, taken.pad, taken.bos, taken.eos) == (400, 400, 0, 0, 2)
    assert subwords.load(tmp_path / "new").source.decode([5, 2]) == subwords.load(tmp_path / "t").source.decode([5, 2])
    with pytest.raises(DocgraphError, match="there is no such model folder"):
        subwords.copy(tmp_path / "nowhere", tmp_path / "other", "y")
