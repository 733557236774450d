"""Spec strings, entry points, and the default pipeline of each language."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import spacy

from docgraph.annotate import registry
from docgraph.annotate.pipeline import Annotator
from docgraph.annotate.registry import ENGLISH, create, load_pipeline, names
from docgraph.annotation import Annotation, Layer, from_spans
from docgraph.document import Document
from docgraph.errors import DocgraphError

DOCS = Path(__file__).resolve().parents[2] / "docs" / "annotation.md"


def test_a_spec_names_components_and_their_arguments() -> None:
    pipeline = load_pipeline("words:fr+simplemma:fr")
    assert [component.name for component in pipeline.components] == ["words:fr", "simplemma:fr"]
    assert pipeline.spec == "words:fr+simplemma:fr"
    assert pipeline.notes == ()


def test_a_plus_in_a_path_does_not_separate_components(tmp_path: Path) -> None:
    path = tmp_path / "a+b" / "c+d.conllu"
    path.parent.mkdir()
    path.write_text("1\ta\ta\t_\t_\t_\t_\t_\t_\t_\n\n")
    pipeline = load_pipeline(f"conllu:{path}+simplemma:en")
    assert [component.name for component in pipeline.components] == [f"conllu:{path}", "simplemma:en"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nosuch:x", "there is no annotator 'nosuch'; choose one of: conllu, coref, "),
        ("English", "there is no annotator 'English'"),
        ("", "there is no annotator ''"),
        ("spacy", "'spacy' needs an argument, as in 'spacy:en_core_web_sm'"),
        ("words:en+words:fr", "would replace the words of an earlier component"),
        ("simplemma:en", "'simplemma:en' needs words"),
    ],
)
def test_bad_specs(spec: str, message: str) -> None:
    with pytest.raises(DocgraphError) as caught:
        load_pipeline(spec)
    assert message in str(caught.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(OSError, match=r"nowhere\.conllu"):
        load_pipeline("conllu:nowhere.conllu")


@pytest.mark.parametrize(
    ("language", "components", "layers", "command"),
    [
        ("fr", ["words:fr", "simplemma:fr"], {"words", "lemmas"}, "python -m spacy download fr_core_news_sm"),
        ("zh", ["jieba"], {"words"}, "python -m spacy download zh_core_web_sm"),
        ("qu", ["words:qu"], {"words"}, "pip install 'docgraph[stanza]' (then --annotator stanza:qu)"),
        ("pt-BR", ["words:pt", "simplemma:pt"], {"words", "lemmas"}, "python -m spacy download pt_core_news_sm"),
    ],
)
def test_a_language_without_a_parser_notes_the_missing_layers(
    monkeypatch: pytest.MonkeyPatch, language: str, components: list[str], layers: set[str], command: str
) -> None:
    monkeypatch.setattr(registry, "installed_spacy_pipeline", lambda language: None)
    pipeline = load_pipeline(language)
    assert [component.name for component in pipeline.components] == components
    annotation = pipeline(Document.from_sentences(["Une ligne."]))
    assert annotation.layers == layers
    (note,) = annotation.notes
    assert "no dependency and no coreference" in note
    assert note.endswith(command)


def test_the_largest_installed_spacy_pipeline_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = ["fr_core_news_sm", "fr_core_news_md", "fr_dep_news_trf", "de_core_news_lg"]
    entries = [importlib.metadata.EntryPoint(name, name, "spacy_models") for name in installed]
    monkeypatch.setattr(registry, "entry_points", lambda **query: entries)
    assert registry.installed_spacy_pipeline("fr") == "fr_core_news_md"
    assert registry.installed_spacy_pipeline("de") == "de_core_news_lg"
    assert registry.installed_spacy_pipeline("ru") is None


def test_an_installed_pipeline_without_coreference_notes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spacy.blank("sv").to_disk(tmp_path / "sv_toy")
    monkeypatch.setattr(registry, "installed_spacy_pipeline", lambda language: str(tmp_path / "sv_toy"))
    pipeline = load_pipeline("sv")
    assert [component.name for component in pipeline.components] == ["spacy:sv_toy"]
    assert "no coreference for 'sv'" in pipeline.notes[0]


@pytest.mark.skipif(not ENGLISH.is_dir(), reason="the embedded English pipeline is not in this checkout")
def test_english_is_complete() -> None:
    pipeline = load_pipeline("en")
    assert [component.name for component in pipeline.components] == ["spacy:en_docgraph", "coref:en"]
    assert pipeline.assigns == {"words", "lemmas", "tags", "heads", "coreference"}
    assert pipeline.notes == ()


@dataclass(frozen=True)
class Letters:
    """Assigns each character as a word."""

    name: str = "letters"
    version: str = "1"
    requires: frozenset[Layer] = frozenset()
    assigns: frozenset[Layer] = frozenset({"words"})

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        return from_spans([[(i, i + 1) for i in range(len(text))] for text in document.texts], document)


def letters(argument: str) -> Annotator:
    return Letters(name=f"letters:{argument}")


def install_distribution(folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    """Writes the metadata of an installed package that registers an annotator."""
    metadata = folder / "other-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[docgraph.annotators]\n{entry}\n")
    monkeypatch.syspath_prepend(folder)


def test_entry_points_add_components(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_distribution(tmp_path, monkeypatch, f"letters = {__name__}:letters")
    assert "letters" in names()
    assert create("letters:x").name == "letters:x"
    assert load_pipeline("letters")(Document.from_sentences(["ab"])).forms.to_list() == ["a", "b"]


def test_the_example_of_the_manual_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = DOCS.read_text(encoding="utf-8")
    code = text.split("```python\n# stems.py\n", 1)[1].split("```", 1)[0]
    entry = text.split('[project.entry-points."docgraph.annotators"]\n', 1)[1].splitlines()[0].replace('"', "")
    (tmp_path / "stems.py").write_text(code, encoding="utf-8")
    install_distribution(tmp_path, monkeypatch, entry)
    try:
        annotation = load_pipeline("words:en+stems:4")(Document.from_sentences(["Translators translated."]))
    finally:
        sys.modules.pop("stems", None)
    assert annotation.lemmas is not None
    assert annotation.lemmas.to_list() == ["tran", "tran", "."]
