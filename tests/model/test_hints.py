"""Hints in source sentences: what they say, and where they stand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotation import Annotation, Strings
from docgraph.errors import DocgraphError
from docgraph.model import hints
from docgraph.model.batch import DocumentExample
from docgraph.model.config import HintsConfig, ModelConfig
from docgraph.model.hints import Hint, Referent, find_hints, insert, may_have_hints, may_print, resolve
from docgraph.model.systems import context_needs, prepare
from model.examples import EOS

SEPARATOR = 3


class Words:
    """Every word is a sub-word; its id is its place in the vocabulary, from 10 on."""

    def __init__(self) -> None:
        self.vocabulary: list[str] = []

    def encode(self, text: str) -> tuple[Any, Any]:
        for word in text.split():
            if word not in self.vocabulary:
                self.vocabulary.append(word)
        return np.array([*(10 + self.vocabulary.index(word) for word in text.split()), EOS]), None

    def decode(self, ids: Any) -> str:
        return " ".join("|" if i == SEPARATOR else self.vocabulary[i - 10] for i in map(int, ids) if i != EOS)

    def words(self, sentences: list[Any]) -> list[Any]:
        return [np.arange(len(ids)) for ids in sentences]


def annotated(sentences: list[str], upos: list[str], coreference: list[tuple[int, int]]) -> Annotation:
    words = [sentence.split() for sentence in sentences]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in words])]).astype(np.int32)
    count = int(offsets[-1])
    heads = np.arange(count, dtype=np.int32)
    tags = [tag for each in upos for tag in each.split()]
    for word in range(count - 1):
        if tags[word] == "DET":
            heads[word] = word + 1
    zeros = np.zeros(count, dtype=np.int32)
    return Annotation(
        offsets,
        zeros,
        zeros,
        Strings.of(word for each in words for word in each),
        upos=Strings.of(tags),
        heads=heads,
        coreference=np.array(coreference, dtype=np.int32).reshape(-1, 2),
    )


def hints_of(
    annotation: Annotation, sentences: list[str], relations: tuple[str, ...]
) -> tuple[list[Hint], list[Any], Words]:
    coder = Words()
    source = [coder.encode(text)[0] for text in sentences]
    owners = [
        np.append(np.arange(begin, end), -1)
        for begin, end in zip(annotation.offsets[:-1], annotation.offsets[1:], strict=True)
    ]
    tokenizer: Any = SimpleNamespace(source=coder, target=coder)
    return find_hints(annotation, source, owners, tokenizer, relations), source, coder


def test_a_defined_term_gets_its_printed_equivalent_once_in_a_sentence() -> None:
    sentences = ["milestone year means 2030 . ( année jalon )", "A milestone year or milestone year ."]
    annotation = annotated(sentences, ["X " * 9, "X " * 7], [])
    found, source, coder = hints_of(annotation, sentences, ("definition",))
    with_hints, _ = insert(source[1], None, found, SEPARATOR)
    assert coder.decode(with_hints) == "A milestone year | année jalon | or milestone year ."
    assert with_hints[-1] == EOS


def test_a_pronoun_gets_the_noun_and_determiner_aligned_with_its_antecedent() -> None:
    sentences = ["The harbour is closed .", "It has long been too small ."]
    annotation = annotated(sentences, ["DET NOUN AUX ADJ PUNCT", "PRON AUX ADV AUX ADV ADJ PUNCT"], [(1, 5)])
    found, source, coder = hints_of(annotation, sentences, ("coreference",))
    assert found == [Hint(1, 1, relation="coreference", referent=Referent(0, (1,), (0,)), first=0)]
    translation, _ = coder.encode("le port est fermé .")
    weights = np.eye(6)
    filled = resolve(found[0], translation, weights, coder)  # type: ignore[arg-type]
    assert coder.decode(insert(source[1], None, [filled], SEPARATOR)[0]) == "It | le port | has long been too small ."


def test_a_short_sentence_without_other_hints_reads_the_end_of_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hints, "MAX_PREVIOUS", 3)
    monkeypatch.setattr(hints, "MAX_READER", 7)
    sentences = ["The lighter is old .", "Got a match ?", "It is too old .", "This sentence is much too long ."]
    tags = ["DET NOUN AUX ADJ PUNCT", "VERB DET NOUN PUNCT", "PRON AUX ADV ADJ PUNCT", "X X X X X X PUNCT"]
    annotation = annotated(sentences, tags, [(1, 9)])
    found, source, coder = hints_of(annotation, sentences, ("coreference", "previous"))
    assert [(hint.sentence, hint.relation) for hint in found] == [(1, "previous"), (2, "coreference")]
    assert coder.decode(insert(source[1], None, found[:1], SEPARATOR)[0]) == "| is old . | Got a match ?"
    bare = find_hints(None, source, (), SimpleNamespace(), ("coreference", "previous"))  # type: ignore[arg-type]
    assert [(hint.sentence, hint.printed_in) for hint in bare] == [(1, 0), (2, 1)]


def test_an_antecedent_without_translation_gives_no_hint() -> None:
    hint = Hint(1, 1, relation="coreference", referent=Referent(0, (1,), (0,)))
    coder: Any = Words()
    translation, _ = coder.encode("fermé .")
    weights = np.zeros((3, 6))
    weights[:, 3] = 1.0  # nothing attends to the antecedent
    assert resolve(hint, translation, weights, coder) == hint
    assert resolve(hint, np.array([EOS]), np.ones((1, 6)), coder) == hint


def test_no_hint_within_a_sentence_or_for_other_pronouns() -> None:
    sentences = ["The harbour is old and it is small .", "He likes it ."]
    tags = ["DET NOUN AUX ADJ CCONJ PRON AUX ADJ PUNCT", "PRON VERB PRON PUNCT"]
    annotation = annotated(sentences, tags, [(1, 5), (1, 9)])
    found, _, _ = hints_of(annotation, sentences, ("coreference",))
    assert found == []


def test_documents_that_surely_have_no_hints_are_told_from_the_others() -> None:
    relations = ("definition", "coreference")
    assert not may_have_hints(["It is old.", "The item is in Italy."], relations)
    assert may_have_hints(["The harbour is old.", "It's small."], relations)
    assert may_have_hints(["The harbour is old.", "Thats small."], relations)
    assert not may_have_hints(["The harbour is old.", "It is small."], ("definition",))
    assert may_have_hints(["harbour means a port. (port)"], relations)
    assert may_have_hints(["harbour means a port.", "(port)"], relations)
    assert not may_have_hints(["The harbour means a lot to him."], relations)
    assert may_print("harbour means a port. (port)")
    assert not may_print("A harbour (port) means a lot.")


def test_a_chain_of_pronouns_leads_to_the_noun() -> None:
    sentences = ["The harbour is old .", "It is small .", "They closed it ."]
    tags = ["DET NOUN AUX ADJ PUNCT", "PRON AUX ADJ PUNCT", "PRON VERB PRON PUNCT"]
    found, _, _ = hints_of(annotated(sentences, tags, [(1, 5), (5, 11)]), sentences, ("coreference",))
    assert [(hint.sentence, hint.referent and hint.referent.sentence) for hint in found] == [(1, 0), (2, 0)]


@given(st.lists(st.integers(10, 40), min_size=1, max_size=8), st.data())
def test_insert_keeps_the_sentence(ids: list[int], data: st.DataObject) -> None:
    source = np.array([*ids, EOS])
    places = data.draw(st.lists(st.integers(0, len(ids)), max_size=4).map(sorted))
    hints = [Hint(0, place, data.draw(st.lists(st.integers(50, 60), max_size=3).map(tuple))) for place in places]
    words = np.append(np.arange(len(ids)), -1)
    with_hints, owners = insert(source, words, hints, SEPARATOR)
    assert owners is not None
    assert len(owners) == len(with_hints)
    outside = (with_hints < 50) & (with_hints != SEPARATOR)
    assert with_hints[outside].tolist() == source.tolist()
    assert (owners[~outside] == -1).all()
    assert (with_hints == SEPARATOR).sum() == 2 * sum(bool(hint.ids) for hint in hints)


def test_a_sentence_without_hints_is_read_as_by_base() -> None:
    config = ModelConfig(hints=HintsConfig())
    example = DocumentExample([np.array([11, EOS])])
    assert prepare(example, config).source[0].tolist() == [11, EOS]
    assert context_needs(config).hints == ("definition", "coreference")
    assert context_needs(ModelConfig()).hints == ()


def test_prepare_inserts_hints_only_for_a_model_that_reads_them() -> None:
    example = DocumentExample([np.array([11, EOS])], hints=[Hint(0, 1, (50,))])
    assert prepare(example, ModelConfig(hints=HintsConfig())).source[0].tolist() == [11, 3, 50, 3, EOS]
    assert prepare(example, ModelConfig()).source[0].tolist() == [11, EOS]


def test_configs_that_make_no_sense() -> None:
    from docgraph.config import parse

    with pytest.raises(DocgraphError, match="no hints by 'lexical'"):
        parse(ModelConfig, {"hints": {"relations": ["lexical"]}})
    with pytest.raises(DocgraphError, match="'hints' excludes"):
        parse(ModelConfig, {"hints": {}, "concatenation": {}})
    with pytest.raises(DocgraphError, match="'hints' excludes"):
        parse(ModelConfig, {"hints": {}, "context": {"sides": "both"}})
