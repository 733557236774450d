"""The spaCy annotator, with blank pipelines and small rule-based ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from docgraph.annotate.registry import ENGLISH, load_pipeline
from docgraph.annotate.spacy import SpacyAnnotator
from docgraph.document import Document
from docgraph.errors import DocgraphError


@Language.component("toy_parser", assigns=["token.head", "token.dep"])
def toy_parser(doc: Doc) -> Doc:
    """Attaches every word to the previous one, except that each "root" is a root."""
    for token in doc:
        is_root = token.i == 0 or token.text == "root"
        token.head, token.dep_ = (token, "ROOT") if is_root else (doc[token.i - 1], "dep")
    return doc


@Language.component("toy_lemmas", assigns=["token.lemma", "token.pos"])
def toy_lemmas(doc: Doc) -> Doc:
    for token in doc:
        token.lemma_ = "" if token.text == "Blank" else token.text[:2]
        token.pos_ = "NOUN"
        token.set_morph("Number=Sing")
    return doc


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> SpacyAnnotator:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("toy_lemmas")
    nlp.add_pipe("toy_parser")
    folder = tmp_path_factory.mktemp("toy")
    nlp.to_disk(folder)
    return SpacyAnnotator.load(folder)


def test_a_blank_pipeline_assigns_only_words(tmp_path: Path) -> None:
    spacy.blank("fr").to_disk(tmp_path / "blank_fr")
    annotator = SpacyAnnotator.load(tmp_path / "blank_fr")
    assert annotator.assigns == {"words"}
    assert annotator.name == "spacy:blank_fr"
    annotation = annotator(Document.from_sentences(["L'eau d'ici.", ""]), None)
    assert annotation.forms.to_list() == ["L'", "eau", "d'", "ici", "."]
    assert annotation.layers == {"words"}
    assert annotation.offsets.tolist() == [0, 5, 5]


def test_every_sentence_is_one_tree(toy: SpacyAnnotator) -> None:
    assert toy.assigns == {"words", "lemmas", "tags", "heads"}
    document = Document.from_sentences(["", "One. Two root three", "  ", "root"])
    annotation = toy(document, None)
    annotation.check(document)
    assert annotation.offsets.tolist() == [0, 0, 5, 5, 6]
    assert annotation.heads is not None
    assert annotation.heads.tolist() == [0, 0, 1, 0, 3, 5], "the second root hangs from the first"
    assert annotation.deprels is not None
    assert annotation.deprels.to_list() == ["root", "dep", "dep", "parataxis", "dep", "root"]


def test_white_space_is_not_a_word(toy: SpacyAnnotator) -> None:
    document = Document.from_sentences([" one  two\tthree \u2003 four"])
    annotation = toy(document, None)
    slices = [document.texts[0][a:b] for a, b in zip(annotation.starts, annotation.ends, strict=True)]
    assert slices == annotation.forms.to_list() == ["one", "two", "three", "four"]
    assert annotation.heads is not None
    assert annotation.heads.tolist() == [0, 0, 1, 2], "heads are counted without it"


def test_a_missing_lemma_is_the_lower_cased_form(toy: SpacyAnnotator) -> None:
    annotation = toy(Document.from_sentences(["Blank word"]), None)
    assert annotation.lemmas is not None
    assert annotation.lemmas.to_list() == ["blank", "wo"]


@pytest.mark.parametrize("line", ["word " * 20_000, "a" * 50_000, "(" * 20_000, "\u200f\u05d0\U0001f600\x00 \u0301"])
def test_odd_lines(toy: SpacyAnnotator, line: str) -> None:
    document = Document.from_sentences([line, "end"])
    annotation = toy(document, None)
    annotation.check(document)
    assert annotation.heads is not None
    sentence = annotation.heads[: annotation.offsets[1]]
    assert sum(int(head) == word for word, head in enumerate(sentence)) == 1
    joined = "".join(line[a:b] for a, b in zip(annotation.starts[:-1], annotation.ends[:-1], strict=True))
    assert joined == "".join(line.split())


def test_a_document_without_sentences(toy: SpacyAnnotator) -> None:
    annotation = toy(Document.from_sentences([]), None)
    annotation.check(Document.from_sentences([]))
    assert annotation.num_words == 0


def test_version_follows_the_files(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.to_disk(tmp_path / "p")
    before = SpacyAnnotator.load(tmp_path / "p").version
    assert SpacyAnnotator.load(tmp_path / "p").version == before
    nlp.add_pipe("toy_parser")
    nlp.to_disk(tmp_path / "p")
    assert SpacyAnnotator.load(tmp_path / "p").version != before


def test_a_missing_pipeline_gives_the_command() -> None:
    with pytest.raises(DocgraphError, match="python -m spacy download xx_no_such_pipeline"):
        SpacyAnnotator.load("xx_no_such_pipeline")


@pytest.mark.skipif(not ENGLISH.is_dir(), reason="the embedded English pipeline is not in this checkout")
def test_the_embedded_english_pipeline() -> None:
    document = Document.from_sentences(["Miguel opened the door.", "He saw the dogs."])
    annotation = load_pipeline("en")(document)
    annotation.check(document)
    assert annotation.layers == {"words", "lemmas", "tags", "heads", "coreference"}
    assert annotation.notes == ()
    assert annotation.lemmas is not None
    assert annotation.lemmas.to_list() == ["Miguel", "open", "the", "door", ".", "he", "see", "the", "dog", "."]
    assert annotation.heads is not None
    assert annotation.heads.tolist() == [1, 1, 3, 1, 1, 6, 6, 8, 6, 6]
