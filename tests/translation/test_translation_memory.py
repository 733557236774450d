"""Translation memories: which entries are found, and how they change translations."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from typer.testing import CliRunner

from docgraph.cli import app
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.model.config import LinkedConfig
from docgraph.model.packing import Packing
from docgraph.model.systems import base_states, pointer
from docgraph.model.systems.pointer import add_recall
from docgraph.model.transformer import Decoder
from docgraph.translation import model_input, translation_memory
from docgraph.translation.decoding import relevance
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.result import to_html
from docgraph.translation.translation_memory import MIN_SHARED, MIN_WORDS, TranslationMemory
from docgraph.translation.translator import Precision, Translator
from translation.translator_examples import RecordingRequest, model_folder

GREEDY = SearchConfig(beams=1, max_length_factor=0.5, max_length_constant=3)
BEAM = SearchConfig(beams=2, n_best=2, max_length_factor=0.5, max_length_constant=3)
SENTENCES = ["The quick fox jumps.", "It told the fox that the dog had met.", "This is a test, hello."]
PAIRS = [
    ("A fox  jumps high.", "un renard saute haut"),
    ("The dog.", "le chien"),
    ("Nobody knows.", "personne ne sait"),
]
MEMORY = TranslationMemory.of(PAIRS)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "G", "-"]), max_size=7).map(" ".join)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model without context, and the same with recall."""
    base = model_folder(tmp_path_factory.mktemp("base"), context=False)
    recalling = tmp_path_factory.mktemp("recall") / "model"
    add_recall(base, recalling, LinkedConfig(sentences=8, own_weight=0.0))
    return base, recalling


@pytest.fixture
def translator(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Translator:
    monkeypatch.setattr(pointer, "NEAR", -1.0)  # states of a random model are not near each other
    return Translator.load(folders[1], device="cpu")


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=9), WORDS, st.integers(1, 9), st.booleans())
def test_nearest_entries_follow_the_definition(pairs: list[tuple[str, str]], text: str, count: int, many: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if many:
            patch.setattr(translation_memory, "SMALL", 0)
            patch.setattr(translation_memory, "COMMON", 0.5)
        check_nearest(TranslationMemory.of(pairs), text, count, 0.5 if many else 1.0, MIN_SHARED if many else 0.0)


def check_nearest(memory: TranslationMemory, text: str, count: int, common: float, least: float) -> None:
    bags = [{word.casefold() for word in source.split()} - {"-"} for source in memory.sources]
    asked = {word.casefold() for word in text.split()} - {"-"}
    holding = {word: sum(word in bag for bag in bags) for word in asked}
    rarity = {w: math.log(len(bags) / max(n, 1)) for w, n in holding.items() if n <= common * len(bags)}

    def likeness(entry: int) -> float:
        shared = sum(rarity[word] for word in rarity.keys() & bags[entry])
        enough = shared >= least * sum(rarity.values()) - 1e-12
        return shared / math.sqrt(max(len(bags[entry]), MIN_WORDS)) if enough else 0.0

    wanted = sorted((e for e in range(len(bags)) if likeness(e) > 1e-12), key=lambda e: (-round(likeness(e), 9), -e))
    found = memory.nearest(text, count)
    assert sorted(round(likeness(e), 9) for e in found) == sorted(round(likeness(e), 9) for e in wanted[:count])
    assert [round(likeness(e), 9) for e in found] == sorted((round(likeness(e), 9) for e in found), reverse=True)


def test_duplicates_are_dropped_and_ambiguous_exact_matches_ignored() -> None:
    memory = TranslationMemory.of(
        [("A dog.", "un chien"), (" A  dog. ", "un chien "), ("So.", "ainsi"), ("So.", "donc")]
    )
    assert len(memory) == 3
    assert [memory.exact(text) for text in ("A dog.", "A\tdog. ", "a dog.", "So.")] == [
        "un chien",
        "un chien",
        None,
        None,
    ]
    assert memory.digest != TranslationMemory.of([("A dog.", "un chien")]).digest


@pytest.mark.parametrize("search", [GREEDY, BEAM], ids=["greedy", "beam"])
def test_an_entry_is_read_like_a_known_translation(translator: Translator, search: SearchConfig) -> None:
    plain = translator.translate(SENTENCES[:1], search)
    known = translator.translate([SENTENCES[0], PAIRS[0][0]], search, known=[None, PAIRS[0][1]])
    translator.memory = TranslationMemory.of([*PAIRS[:1], *PAIRS[2:]])
    found = translator.translate(SENTENCES[:1], search, explain=True)
    assert len(found.sentences) == 1
    assert found.passes == 1
    assert found.sentences[0].candidates == known.sentences[0].candidates != plain.sentences[0].candidates
    assert found.sentences[0].context is not None
    assert found.sentences[0].context.target == {}
    assert found.sentences[0].context.gate < 1
    assert found.sentences[0].memory == (("A fox jumps high.", "un renard saute haut"),)
    assert found.sentences[0].to_json()["memory"][0]["translation"] == "un renard saute haut"
    assert "un renard saute haut" in to_html([found])


def test_a_memory_that_shares_no_word_changes_nothing(translator: Translator) -> None:
    plain = translator.translate(SENTENCES, BEAM)
    translator.memory = TranslationMemory.of([PAIRS[2], ("Some one else.", "un autre")])
    assert [one.candidates for one in translator.translate(SENTENCES, BEAM)] == [one.candidates for one in plain]


def test_exact_matches_are_used_and_read_by_other_sentences(translator: Translator) -> None:
    plain = translator.translate(SENTENCES, BEAM)
    translator.memory = TranslationMemory.of([(SENTENCES[1], "voici"), (SENTENCES[2], "non")])
    found = translator.translate(SENTENCES, BEAM, known=[None, None, "mieux"], explain=True)
    assert found.texts[1:] == ["voici", "mieux"], "known translations of the document take precedence"
    assert [one.given for one in found] == [False, True, True]
    assert found.sentences[0].candidates != plain.sentences[0].candidates
    assert found.sentences[0].context is not None
    assert set(found.sentences[0].context.target) == {1, 2}


def test_documents_windows_and_chunks_read_the_same_entries(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator.repair = False  # the words of the toy model are invented
    plain = translator.translate(SENTENCES, GREEDY)
    translator.memory = MEMORY
    documents = [Document.from_sentences(SENTENCES)] * 2
    requests = [RecordingRequest(document) for document in documents]
    whole = [each.texts for _, each in translator.translate_requests(requests, GREEDY)]
    assert whole[0] == whole[1] != plain.texts
    assert [(request.firsts, len(request.recorded)) for request in requests] == [([0], 3), ([0], 3)]
    assert [each.texts for each in translator.translate_all(documents, GREEDY, tokens=12)] == whole
    for name, size in (("CHUNK_BEFORE", 1), ("CHUNK", 1), ("CHUNK_AFTER", 0)):
        monkeypatch.setattr(model_input, name, size)
    assert translator.translate(SENTENCES, GREEDY, explain=True).texts == whole[0]


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_states_of_entries_are_cached_and_do_not_depend_on_the_batch(
    precision: Precision, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointer, "NEAR", -1.0)
    made = list[tuple[int, ...]]()
    forward = Decoder.forward

    def counting(self: Decoder, x: Tensor, encoded: Tensor, target: Packing, *rest: Any) -> Tensor:
        made.append(tuple(target.boundaries.diff().tolist()))
        return forward(self, x, encoded, target, *rest)

    monkeypatch.setattr(Decoder, "forward", counting)

    def translated(*parts: Sequence[str]) -> tuple[list[str], dict[tuple[Any, ...], Tensor]]:
        made.clear()
        translator = Translator.load(folders[1], device="cpu", precision=precision)
        translator.memory, translator.repair = MEMORY, False  # the words of the toy model are invented
        found = [text for part in parts for text in translator.translate(part, BEAM).texts]
        assert translator.state_cache is not None
        return found, {ids: states for ids, states in translator.state_cache.items() if len(ids) == 2}

    whole, states = translated(SENTENCES)
    assert len(states) == sum(map(len, made)) == 2, "one entry is similar to no sentence"
    monkeypatch.setitem(base_states.BATCH_TOKENS, "cpu", 1)
    apart, again = translated(SENTENCES[:1], SENTENCES[1:])
    assert apart == whole
    assert [len(each) for each in made] == [1, 1]
    assert again.keys() == states.keys()
    for ids, found in states.items():
        torch.testing.assert_close(again[ids], found)
    monkeypatch.setattr(relevance, "CACHED_TOKENS", 0)
    assert translated(SENTENCES[:1], SENTENCES[1:]) == (whole, {})
    assert len(made) == 4, "both documents read both entries"


def test_an_empty_memory_or_document(translator: Translator) -> None:
    plain = translator.translate(SENTENCES, GREEDY).texts
    translator.memory = TranslationMemory.of([])
    assert translator.translate(SENTENCES, GREEDY).texts == plain
    translator.memory = MEMORY
    assert translator.translate([], GREEDY).texts == []
    assert translator.translate(["...", "1 2 3"], GREEDY, explain=True).texts == ["...", "1 2 3"]


def test_an_entry_may_be_longer_than_the_model_reads(translator: Translator) -> None:
    translator.memory = TranslationMemory.of([(" fox jumps" * 99, " renard" * 99), PAIRS[2]])
    assert len(translator.translate(SENTENCES, GREEDY).texts) == 3


def test_a_model_that_cannot_read_a_memory_refuses_it(folders: tuple[Path, Path]) -> None:
    base = Translator.load(folders[0], device="cpu")
    with pytest.raises(DocgraphError, match="cannot read a translation memory; convert it with docgraph recall"):
        base.memory = MEMORY
    base.memory = None


def files(folder: Path) -> dict[str, Sequence[str]]:
    """Writes the same memory in all formats; returns the arguments that name it."""
    sides = [[f"{pair[side]}\n" for pair in PAIRS] for side in (0, 1)]
    for name, lines in zip(("a.en", "a.fr"), sides, strict=True):
        (folder / name).write_text("".join(lines), "utf-8")
    for name, more in (("two.tsv", ""), ("four.tsv", "\t3\t4")):
        (folder / name).write_text("".join(f"{source}\t{target}{more}\n" for source, target in PAIRS), "utf-8")
    lines = [f'<tuv xml:lang="EN-gb"><seg>{s}</seg></tuv><tuv xml:lang="fr"><seg>{t}</seg></tuv>' for s, t in PAIRS]
    units = "".join(f"<tu>{line}</tu>" for line in lines)
    (folder / "a.tmx").write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>', "utf-8")
    return {name: [str(folder / name)] for name in ("two.tsv", "four.tsv", "a.tmx")} | {
        "a.en,a.fr": [f"{folder / 'a.en'},{folder / 'a.fr'}"]
    }


@pytest.mark.parametrize("name", ["two.tsv", "four.tsv", "a.tmx", "a.en,a.fr"])
def test_all_formats_are_read(name: str, tmp_path: Path) -> None:
    memory = TranslationMemory.read(files(tmp_path)[name], ("en", "fr"))
    assert memory.digest == MEMORY.digest


def test_other_files_and_large_memories_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.docx").write_bytes(b"PK")
    with pytest.raises(
        DocgraphError, match=r"a translation memory must be a \.tmx or \.tsv file, or two text files SOURCE,TARGET"
    ):
        TranslationMemory.read([str(tmp_path / "a.docx")])
    monkeypatch.setattr(translation_memory, "MAX_ENTRIES", 2)
    with pytest.raises(DocgraphError, match="at most 2 lines; use only the relevant part"):
        TranslationMemory.read(files(tmp_path)["two.tsv"])
    with pytest.raises(DocgraphError, match="holds at most 2 pairs; use only the relevant part"):
        TranslationMemory.read(files(tmp_path)["a.tmx"], ("en", "fr"))


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("m.tsv", b"a\tb\n" * 3_000_000, "a translation memory has at most 2,000,000 lines"),
        ("m.tsv", b"w " * 2**21, "a translation memory has at most 1 MiB"),
        ("m.tmx", b"<tmx>" + b" " * 2**22, "a translation memory has at most 1 MiB"),
    ],
)
def test_a_gzip_bomb_is_refused_before_it_is_parsed(
    name: str, content: bytes, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "MiB" in error:
        monkeypatch.setattr(translation_memory, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(translation_memory, "read", lambda *_: pytest.fail("the file was parsed"))
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(b"x\ty\n" * (name == "m.tsv") + content))
    with pytest.raises(DocgraphError, match=rf"{name}\.gz: {error}; use only the relevant part"):
        TranslationMemory.read([str(path)], ("en", "fr"))


def test_the_command_uses_memories(folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointer, "NEAR", -1.0)
    (tmp_path / "in.txt").write_text("\n".join(SENTENCES) + "\n")
    (tmp_path / "other.tsv").write_text("The quick fox jumps.\tvif\n")
    memory = files(tmp_path)["two.tsv"]

    def run(*more: object) -> list[str]:
        command = ["translate", tmp_path / "in.txt", "--model", folders[1], "--device", "cpu", "--format", "lines"]
        result = CliRunner().invoke(app, [*map(str, [*command, "-o", tmp_path / "out.txt", *more])])
        assert result.exit_code == 0, result.output
        return (tmp_path / "out.txt").read_text("utf-8").splitlines()

    plain, found = run(), run("--memory", *memory)
    assert plain != found
    assert run("--memory", *memory, "--memory", tmp_path / "other.tsv")[0] == "vif"
