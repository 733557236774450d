"""docgraph recall: a model without context that uses known translations, with nothing trained."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from docgraph.annotate import registry
from docgraph.cli import app, main
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.batch import collate
from docgraph.model.config import LinkedConfig
from docgraph.model.memory import Memories
from docgraph.model.model_folder import ModelFolder
from docgraph.model.systems import context_needs, pointer, prepare
from docgraph.model.systems.pointer import Pointer, add_recall
from docgraph.translation import model_input
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.explain import ContextWeights
from docgraph.translation.model_input import TranslationRequest, example_from_text
from docgraph.translation.translator import Translator
from model.checkpoint.checkpoint_examples import replace_model
from translation.translator_examples import model_folder

GREEDY = SearchConfig(beams=1, max_length_factor=0.5, max_length_constant=3)
BEAM = replace(GREEDY, beams=2, n_best=2)
SENTENCES = [
    "The quick fox jumps.",
    "It told the fox that the dog had met.",
    "This is a test, hello.",
    "The lazy dog met the quick fox.",
    "The committee told the dog, hello.",
]
KNOWN = ["le vif renard brun saute", None, "ceci est un essai", None, None]
DOCUMENT = Document.from_sentences(SENTENCES)
RECALL = LinkedConfig(sentences=8, own_weight=0.0)


def load(folder: Path, **options: Any) -> Translator:
    """Loads a random model without repair: nearly everything it says is doubtful, and repair ignores the context."""
    translator = Translator.load(folder, **options)
    translator.repair = False
    return translator


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = model_folder(tmp_path_factory.mktemp("base"), context=False)
    (folder / "README.md").write_text("A card.\n")
    return folder


@pytest.fixture(scope="module")
def recalling(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recall") / "model"
    add_recall(base, folder, RECALL)
    return folder


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open the pointer: states of a random model are not near each other."""
    monkeypatch.setattr(pointer, "NEAR", -1.0)


def test_the_folder_holds_the_model_and_a_pointer(base: Path, recalling: Path) -> None:
    ours, theirs = checkpoint.load(recalling), checkpoint.load(base)
    state = ours.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in theirs.state_dict().items())
    assert replace(ours.config, context=None) == theirs.config
    assert ModelFolder(recalling).languages == ("en", "fr")
    for name in ("joint.spm", "README.md"):
        assert (recalling / name).read_bytes() == (base / name).read_bytes()
    assert ours.integration is not None
    assert [type(site) for site in ours.integration.output] == [Pointer]
    assert not len(ours.integration.decoder)


def test_a_linked_card_is_not_copied(base: Path, tmp_path: Path) -> None:
    """A link in a model folder could name any file of the user."""
    folder = Path(shutil.copytree(base, tmp_path / "base"))
    (tmp_path / "secret").write_text("mine\n")
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(tmp_path / "secret")
    add_recall(folder, tmp_path / "recall", RECALL)
    assert not (tmp_path / "recall" / "README.md").exists()


def test_sizes_are_compared_before_a_model_is_built(base: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "base"))
    replace_model(folder, source_vocabulary=10**7, target_vocabulary=10**7)
    with pytest.raises(DocgraphError, match=r"where config\.json asks for"):
        add_recall(folder, tmp_path / "recall", RECALL)


def test_the_same_model_makes_the_same_folder(base: Path, recalling: Path, tmp_path: Path) -> None:
    drawn = torch.get_rng_state()
    add_recall(base, tmp_path / "again", RECALL)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert ModelFolder(tmp_path / "again").fingerprint == ModelFolder(recalling).fingerprint


@pytest.mark.parametrize("search", [GREEDY, BEAM], ids=["greedy", "beam"])
@pytest.mark.usefixtures("eager")
def test_without_known_translations_it_equals_base_in_one_pass(
    base: Path, recalling: Path, search: SearchConfig
) -> None:
    plain, ours = load(base, device="cpu"), load(recalling, device="cpu")
    expected = plain.translate(SENTENCES, search)
    for mode in ("parallel", "sequential"):
        found = ours.translate(SENTENCES, search, mode)
        assert found.passes == 1
        for one, other in zip(found, expected, strict=True):
            assert one.candidates == other.candidates


@pytest.mark.usefixtures("eager")
def test_known_translations_are_recalled_in_one_pass(base: Path, recalling: Path) -> None:
    plain, ours = load(base, device="cpu"), load(recalling, device="cpu")
    without, found = (each.translate(SENTENCES, BEAM, known=KNOWN, explain=True) for each in (plain, ours))
    assert found.passes == 1
    assert found.texts[1:4:2] + found.texts[4:] != without.texts[1:4:2] + without.texts[4:]
    for m, known in enumerate(KNOWN):
        context = found.sentences[m].context
        assert context is not None
        assert set(context.target) <= {0, 2}, "it read what was given, not what it made itself"
        if known is not None:
            assert (found.texts[m], found.sentences[m].given) == (known, True)
    read = found.sentences[3].context
    assert read is not None
    assert read.target[0] > 0
    assert read.gate < 1
    assert ours.translate(SENTENCES, BEAM, "sequential", known=KNOWN).texts == found.texts


@pytest.mark.usefixtures("eager")
def test_long_documents_in_windows_read_no_translations_of_their_own(base: Path, recalling: Path) -> None:
    plain, ours = load(base, device="cpu"), load(recalling, device="cpu")
    documents = [DOCUMENT, DOCUMENT]
    for known in ([], KNOWN):
        requests = [TranslationRequest(document, known) for document in documents]
        whole, windows = (
            [each.texts for _, each in ours.translate_requests(requests, GREEDY, tokens=tokens)]
            for tokens in (10_000, 12)
        )
        assert whole == windows
    assert [each.texts for each in plain.translate_all(documents, GREEDY, tokens=12)] == [
        each.texts for each in ours.translate_all(documents, GREEDY, tokens=12)
    ]


@pytest.fixture
def annotated(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Records the documents that are annotated, after the annotators that are loaded."""
    asked, load = list[list[str]](), registry.load_pipeline

    def loaded(language: str) -> Callable[[Document], object]:
        asked.append([language])
        return lambda document: asked.append(document.texts) or load("words:en")(document)

    monkeypatch.setattr(registry, "default_pipeline", loaded)
    return asked


@pytest.mark.usefixtures("eager")
def test_documents_without_known_translations_are_not_annotated(
    base: Path, recalling: Path, annotated: list[list[str]]
) -> None:
    plain, ours = load(base, device="cpu"), load(recalling, device="cpu")
    expected = plain.translate(SENTENCES, BEAM)
    found = ours.translate(SENTENCES, BEAM, explain=True, known=[None, "", *[None] * 3])
    assert annotated == []
    assert [one.candidates for one in found] == [one.candidates for one in expected]
    assert [one.context for one in found] == [ContextWeights({}, {}, 1.0)] * 5
    others = [Document.from_sentences(SENTENCES[:k]) for k in (2, 4)]
    requests = [TranslationRequest(others[0]), TranslationRequest(DOCUMENT, KNOWN), TranslationRequest(others[1])]
    together = [each for _, each in ours.translate_requests(requests, BEAM, explain=True)]
    assert annotated == [["en"], SENTENCES]
    alone = [
        ours.translate(others[0], BEAM),
        ours.translate(DOCUMENT, BEAM, known=KNOWN),
        plain.translate(others[1], BEAM),
    ]
    assert [each.texts for each in together] == [each.texts for each in alone]
    reads = [[bool(one.context.target) for one in each if one.context] for each in together]
    assert [len(each) for each in reads] == [2, 5, 4]
    assert [any(each) for each in reads] == [False, True, False]


@pytest.mark.usefixtures("eager")
def test_only_parts_of_a_long_document_with_known_translations_are_annotated(
    recalling: Path, annotated: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("CHUNK_BEFORE", 1), ("CHUNK", 2), ("CHUNK_AFTER", 1)):
        monkeypatch.setattr(model_input, name, size)
    ours = load(recalling, device="cpu")
    found = ours.translate(SENTENCES, GREEDY, explain=True, known=["le renard", *[None] * 4])
    assert annotated == [["en"], SENTENCES[:3]]
    assert [one.context and one.context.target for one in found] == [{}, {0: pytest.approx(1.0)}, {}, {}, {}]


@pytest.mark.usefixtures("eager")
def test_few_known_translations_are_found_in_a_long_document(base: Path, tmp_path: Path) -> None:
    add_recall(base, tmp_path / "one", LinkedConfig(sentences=1, own_weight=0.0))
    ours = load(tmp_path / "one", device="cpu")
    found = ours.translate(SENTENCES, GREEDY, explain=True, known=[KNOWN[0], *[None] * 4])
    read = [one.context.target for one in found if one.context is not None]
    assert [list(each) for each in read] == [[], [0], [0], [0], [0]]
    assert ours.translate(SENTENCES, GREEDY, "sequential", known=[KNOWN[0], *[None] * 4]).texts == found.texts


@pytest.mark.usefixtures("eager")
def test_sentences_before_a_known_one_follow_it_in_documents_windows_and_stretches(
    base: Path, recalling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, ours = load(base, device="cpu"), load(recalling, device="cpu")
    known = [None, None, None, "le chien paresseux", None]
    whole = ours.translate(SENTENCES, GREEDY, explain=True, known=known)
    assert [one.context and list(one.context.target) for one in whole] == [[3], [3], [3], [], [3]]
    assert whole.passes == 1
    without = plain.translate(SENTENCES, GREEDY, known=known)
    scores = [[one.candidates[0].score for one in each if not one.given] for each in (whole, without)]
    assert all(one != pytest.approx(other, abs=1e-3) for one, other in zip(*scores, strict=True))
    request = TranslationRequest(DOCUMENT, known)
    [(_, windows)] = ours.translate_requests([request], GREEDY, tokens=12, explain=True)
    assert windows.texts == whole.texts
    assert [one.context and list(one.context.target) for one in windows] == [[3], [3], [3], [], [3]]
    for name, size in (("CHUNK_BEFORE", 1), ("CHUNK", 2), ("CHUNK_AFTER", 1)):
        monkeypatch.setattr(model_input, name, size)
    found = ours.translate(SENTENCES, GREEDY, explain=True, known=known)
    assert [one.context and list(one.context.target) for one in found] == [[], [], [3], [], [3]]


@pytest.mark.usefixtures("eager")
def test_only_the_mixture_changes(recalling: Path) -> None:
    translator = load(recalling, device="cpu", precision="float32")
    model = checkpoint.load(recalling)
    annotation = translator.input_builder.pipeline(DOCUMENT)
    plain = example_from_text(SENTENCES, translator.tokenizer, annotation, context_needs(model.config).relations)
    target = list(translator.tokenizer.target.ids(text or "le chien" for text in KNOWN))
    example = replace(plain, target=target, given=np.array([text is not None for text in KNOWN]))
    batch = collate([prepare(example, model.config)], model.config.transformer.bos)
    assert batch.gold is not None
    with torch.inference_mode():
        alone, found = model.states(batch, Memories()), model.states(batch, model.memories(batch))
        assert torch.equal(found.hidden, alone.hidden)
        assert alone.copies is None
        assert found.copies is not None
        seen = set(found.copies.tokens[found.copies.weights > 0].tolist())
        assert seen <= {int(token) for m in (0, 2) for token in target[m]}
        softmax, share = model.scores(alone).softmax(-1), found.copies.share[:, None]
        slots = torch.zeros_like(softmax).scatter_add(1, found.copies.tokens, found.copies.weights)
        torch.testing.assert_close(model.scores(found).softmax(-1), (1 - share) * softmax + slots)
        assert share.amax() > 0.5
        changed = replace(example, target=[*target[:1], target[2], *target[2:]])
        again = model.logits(collate([prepare(changed, model.config)], model.config.transformer.bos))
        last = len(target[4])
        torch.testing.assert_close(again[-last:], model.scores(found)[-last:])
        unread = replace(example, given=np.zeros(len(target), bool))
        batch = collate([prepare(unread, model.config)], model.config.transformer.bos)
        expected = model.log_probabilities(alone)
        assert torch.equal(model.logits(batch), expected), "translations of its own have no say at all"


def test_which_translations_are_read(base: Path, recalling: Path, tmp_path: Path) -> None:
    add_recall(base, tmp_path / "both", LinkedConfig(own_weight=0.5))
    configs = [ModelFolder(folder).config for folder in (base, recalling, tmp_path / "both")]
    assert [context_needs(config).reads_translations for config in configs] == [False, True, True]
    assert [context_needs(config).reads_own_translations for config in configs] == [False, False, True]


@pytest.mark.usefixtures("eager")
def test_own_translations_are_read_with_a_weight(base: Path, tmp_path: Path) -> None:
    add_recall(base, tmp_path / "own", LinkedConfig(sentences=8, own_weight=1.0))
    ours = load(tmp_path / "own", device="cpu")
    parallel, sequential = (ours.translate(SENTENCES, GREEDY, mode) for mode in ("parallel", "sequential"))
    assert parallel.texts == sequential.texts != load(base, device="cpu").translate(SENTENCES, GREEDY).texts
    assert parallel.passes > 1


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_the_precision_on_disk_can_be_chosen(base: Path, tmp_path: Path, precision: str) -> None:
    from docgraph.model.tokenizer import Tokenizer

    low = tmp_path / "low"
    model = checkpoint.load(base)
    checkpoint.save(model, low, ModelFolder(base).tokenizer_files(), precision, ("en", "fr"))
    add_recall(low, tmp_path / "a", RECALL)
    add_recall(base, tmp_path / "b", RECALL, precision)
    for folder in (tmp_path / "a", tmp_path / "b"):
        assert ModelFolder(folder).precision == precision
        state = checkpoint.load(folder).state_dict()
        for name, tensor in checkpoint.load(low).state_dict().items():
            torch.testing.assert_close(state[name], tensor, rtol=0, atol=1e-6)
        assert Tokenizer.load(folder, model.config.transformer).source.encode("fox")[0].any()
    one, other = (load(folder, device="cpu") for folder in (low, tmp_path / "a"))
    assert other.translate(SENTENCES, GREEDY).texts == one.translate(SENTENCES, GREEDY).texts
    assert len(other.translate(SENTENCES, GREEDY, known=KNOWN).texts) == 5


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.output


def test_from_a_marian_model_to_a_translation_with_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    from model.test_marian import marian_checkpoint

    marian_checkpoint(tmp_path / "opus-mt-fi-fr")
    run("import", "marian", tmp_path / "opus-mt-fi-fr", tmp_path / "base")
    assert "pass them with translate --known" in run("recall", tmp_path / "base", tmp_path / "model", "--sentences", 3)
    config = ModelFolder(tmp_path / "model").config
    assert config.context is not None
    assert config.context.linked == LinkedConfig(sentences=3, own_weight=0.0)
    assert ModelFolder(tmp_path / "model").languages == ("fi", "fr"), "no parser of it is here: words are linked"
    (tmp_path / "in.txt").write_text("\n".join(SENTENCES) + "\n")
    (tmp_path / "known.txt").write_text("".join(f"{text or ''}\n" for text in KNOWN))
    options = ["--beam", 1, "--device", "cpu", "--tag", ">>fra<<", "--format", "lines", "--no-repair"]
    translate = ["translate", tmp_path / "in.txt", *options]
    run(*translate, "--model", tmp_path / "base", "-o", tmp_path / "base.txt")
    run(*translate, "--model", tmp_path / "model", "-o", tmp_path / "plain.txt")
    assert (tmp_path / "plain.txt").read_bytes() == (tmp_path / "base.txt").read_bytes()
    page = tmp_path / "page.html"
    known = ["--known", tmp_path / "known.txt", "--explain", page, "-o", tmp_path / "known.fr.txt"]
    monkeypatch.setattr(pointer, "NEAR", -1.0)
    run(*translate, "--model", tmp_path / "model", *known)
    lines, plain = ((tmp_path / name).read_text().splitlines() for name in ("known.fr.txt", "plain.txt"))
    assert [lines[0], lines[2]] == [KNOWN[0], KNOWN[2]]
    assert lines[3] != plain[3]
    assert page.stat().st_size > 1000


def test_a_model_of_unknown_languages_asks_for_an_annotator(base: Path, tmp_path: Path) -> None:
    nameless = tmp_path / "nameless"
    checkpoint.save(checkpoint.load(base), nameless, [base / "joint.spm"])
    assert "translate with --annotator" in run("recall", nameless, tmp_path / "model")
    nobody = load(tmp_path / "model", device="cpu")
    assert nobody.translate(SENTENCES, GREEDY).texts
    with pytest.raises(DocgraphError, match="does not state its languages; pass an annotator, such as words:fr"):
        nobody.translate(SENTENCES, GREEDY, known=KNOWN)
    words = load(tmp_path / "model", device="cpu", annotator="words:qu")
    assert words.translate(SENTENCES, GREEDY, known=KNOWN).texts[0] == KNOWN[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder, base: (folder, base), "output folder exists; choose another one"),
        (lambda folder, base: (base.parent / "none", base), "there is no such model folder"),
        (
            lambda folder, base: ("en-fr", base.parent / "x"),
            r"\(hints-pointer-post-target\) already reads context; choose a sentence-level model",
        ),
    ],
    ids=["there", "none", "context"],
)
def test_refusals_are_one_sentence(
    make: Callable[[Path, Path], tuple[Path, Path]],
    message: str,
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = Path(shutil.copytree(base, tmp_path / "copy"))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(sys, "argv", ["docgraph", "recall", *map(str, make(base, copy))])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.search(message, line)
    assert sorted(tmp_path.rglob("*")) == before
