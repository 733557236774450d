"""Models with the files of real OPUS-MT releases compute what transformers computes, from text to text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers")

from docgraph.errors import DocgraphError  # noqa: E402
from docgraph.model.batch import DocumentExample, collate  # noqa: E402
from docgraph.model.checkpoint import load  # noqa: E402
from docgraph.model.marian import import_marian  # noqa: E402
from docgraph.model.memory import Memories  # noqa: E402
from docgraph.model.model_folder import ModelFolder  # noqa: E402
from docgraph.model.tokenizer import Tokenizer  # noqa: E402
from docgraph.translation.decoding.hypotheses import SearchConfig  # noqa: E402
from docgraph.translation.decoding.search import search  # noqa: E402

from .opus_mt_folders import MODELS, OpusModel, sentences, write_opus_mt  # noqa: E402

BEAMS = 4
LENGTH = 40
ODD = ["", "  x　Ｙ ﬁ½ ", "a\tb", "“quoted” — …", "你好，世界！", "ещё 14"]

Open = Callable[[str], "Pair"]


class Pair:
    """A model folder as written for transformers, and as imported."""

    def __init__(self, root: Path, model: OpusModel) -> None:
        self.model, self.folder = model, root / model.name
        write_opus_mt(self.folder, model)
        self.theirs = transformers.MarianMTModel.from_pretrained(self.folder).eval()
        self.their_tokenizer = transformers.MarianTokenizer.from_pretrained(self.folder)
        self.tag = model.tags[0] if model.tags else None
        self.imported = ModelFolder(self._import(root / "imported"))
        self.ours = load(self.imported)
        self.our_tokenizer = Tokenizer.load(self.imported.path, self.ours.config.transformer)

    def _import(self, folder: Path) -> Path:
        import_marian(str(self.folder), folder, tag=self.tag)
        return folder

    def tagged(self, text: str) -> str:
        return text if self.tag is None else f"{self.tag} {text}"

    @property
    def inputs(self) -> list[str]:
        """The sentences that the model knows, and others that it does not."""
        known = sentences(self.model.source)
        return known + [first[: len(first) // 2] + second for first, second in zip(known, known[::-1], strict=True)]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Open:
    @cache
    def open_pair(name: str) -> Pair:
        return Pair(tmp_path_factory.mktemp(name), MODELS[name])

    return open_pair


every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_texts_have_the_ids_of_transformers(opened: Open, name: str) -> None:
    pair = opened(name)
    assert pair.imported.languages == (pair.model.source, pair.model.target)
    assert pair.imported.tag == pair.tag
    for text in sentences(pair.model.source) + ODD:
        ids, _ = pair.our_tokenizer.source.encode(text, pair.tag)
        assert ids.tolist() == pair.their_tokenizer(pair.tagged(text)).input_ids
    for text in sentences(pair.model.target) + ODD:
        [ids] = pair.our_tokenizer.target.ids([text])
        assert ids.tolist() == pair.their_tokenizer(text_target=text).input_ids


@every_model
def test_probabilities_are_those_of_transformers_without_padding(opened: Open, name: str) -> None:
    pair = opened(name)
    source = [pair.our_tokenizer.source.encode(text, pair.tag)[0] for text in sentences(pair.model.source)]
    target = [pair.our_tokenizer.target.encode(text)[0] for text in sentences(pair.model.target)]
    pad = pair.theirs.config.pad_token_id
    with torch.inference_mode():
        found = pair.ours.logits(collate([DocumentExample(source, target)], pad)).log_softmax(-1)
        rows = []
        for ids, gold in zip(source, target, strict=True):
            inputs = torch.tensor([[pad, *gold[:-1]]])
            logits = pair.theirs(input_ids=torch.tensor(ids[None]), decoder_input_ids=inputs).logits[0]
            assert (logits[:, pad] == 0).all(), "as in real models, whose weights of padding are zero"
            logits[:, pad] = -torch.inf
            rows.append(logits.log_softmax(-1))
    expected = torch.cat(rows)
    some = torch.arange(expected.shape[1]) != pad
    torch.testing.assert_close(found[:, some], expected[:, some], atol=1e-4, rtol=0)
    assert (found[:, pad].exp() < 1e-30).all()


@every_model
def test_beam_search_finds_the_translations_of_transformers(opened: Open, name: str) -> None:
    """Compares sums of log-probabilities: the length penalties of the two are different formulas."""
    pair = opened(name)
    source = [pair.our_tokenizer.source.encode(text, pair.tag)[0] for text in pair.inputs]
    batch = collate([DocumentExample(source)], pair.ours.config.transformer.bos)
    config = SearchConfig(beams=BEAMS, length_penalty=0.0, max_length_factor=0.0, max_length_constant=LENGTH)
    with torch.inference_mode():
        ours = [found[0] for found in search(pair.ours, batch, pair.ours.encode(batch, Memories()), Memories(), config)]
    theirs = _generate(pair)
    # At the maximum length, transformers adds end-of-sentence at no cost.
    ended = [index for index, hypothesis in enumerate(ours) if len(hypothesis.tokens) < LENGTH - 1]
    assert len(ended) > len(source) // 2
    for index in ended:
        tokens, score = theirs[index]
        assert list(ours[index].tokens) == tokens
        assert ours[index].log_probability == pytest.approx(score, abs=1e-3)
        text = pair.their_tokenizer.decode(tokens, skip_special_tokens=True)
        assert pair.our_tokenizer.target.decode([i for i in tokens if i != 1]) == text
    known = [pair.our_tokenizer.target.decode(one.tokens) for one in ours[: len(sentences(pair.model.source))]]
    right = [text == reference for text, reference in zip(known, sentences(pair.model.target), strict=True)]
    assert sum(right) > len(right) // 2, "not those whose pieces the vocabulary lacks or SentencePiece normalises"


def _generate(pair: Pair) -> list[tuple[list[int], float]]:
    inputs = pair.their_tokenizer([pair.tagged(text) for text in pair.inputs], return_tensors="pt", padding=True)
    found: Any = pair.theirs.generate(  # with the folder's generation_config.json
        **inputs,
        num_beams=BEAMS,
        length_penalty=0.0,
        max_new_tokens=LENGTH,
        output_scores=True,
        return_dict_in_generate=True,
    )
    special = {pair.theirs.config.pad_token_id, pair.theirs.config.eos_token_id}
    tokens = [[token for token in row if token not in special] for row in found.sequences.tolist()]
    return list(zip(tokens, found.sequences_scores.tolist(), strict=True))


def test_text_never_becomes_a_special_token(opened: Open) -> None:
    pair = opened("en-zh")
    coder = pair.our_tokenizer.target  # has no Latin letters: SentencePiece keeps each word as one unknown piece
    text = "</s> <pad> >>cmn_Hant<< 港口"
    assert "</s>" in coder.model.encode(text, out_type=str)
    ids = coder.ids([text])[0].tolist()
    special = {pair.theirs.config.pad_token_id, pair.theirs.config.eos_token_id, coder.tag_id(">>cmn_Hant<<")}
    assert not special & {*ids[:-1]}


def test_an_unknown_tag_is_refused(opened: Open, tmp_path: Path) -> None:
    pair = opened("en-zh")
    with pytest.raises(DocgraphError, match=r"no language tag '>>fra<<'; it has >>cmn_Hans<<, >>cmn_Hant<<, >>yue"):
        import_marian(str(pair.folder), tmp_path / "other", tag=">>fra<<")
    assert not (tmp_path / "other").exists()
