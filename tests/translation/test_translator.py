"""Translator: documents, sentences and text."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render, write
from docgraph.model.checkpoint import save
from docgraph.translation import model_input
from docgraph.translation.decoding import search as search_module
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.segment_decoding import TranslationOptions, decode_segments
from docgraph.translation.translator import Translator
from model.examples import small_config, small_model
from model.subword_examples import marian_files
from translation.translator_examples import RecordingRequest, model_folder

GREEDY = SearchConfig(beams=1, max_length_factor=0.5, max_length_constant=3)
BEAM = replace(GREEDY, beams=2, n_best=2)
SENTENCES = ["The quick fox jumps.", "It told him that.", "She had met the lazy dog.", "This is a test, hello."]
KEPT = [
    "",
    "...",
    "1,234.5 %",
    "\U0001f600 \U0001f44d\U0001f3fd",
    "https://example.org/a?b=c",
    "a.b@example.org",
    "\x07",
    "*",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("hyb"))


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    """Repairs nothing: everything that a random model says is doubtful."""
    translator = Translator.load(folder, device="cpu")
    translator.repair = False
    return translator


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(model_folder(tmp_path_factory.mktemp("base"), context=False), device="cpu")


def test_sentences_text_and_document_give_the_same_translation(translator: Translator) -> None:
    translation = translator.translate(SENTENCES, GREEDY)
    assert len(translation) == len(translation.texts) == 4
    assert translator.translate(" ".join(SENTENCES), GREEDY).texts == translation.texts
    assert translator.translate(Document.from_sentences(SENTENCES), GREEDY).texts == translation.texts
    assert all(sentence.score == sentence.candidates[0].score < 0 for sentence in translation)
    assert translation.document.texts == translation.texts == str(translation).split("\n")
    assert translation._repr_html_().count("<tr>") == 4


class ProgressRequest(TranslationRequest):
    """Remembers the progress that it is told."""

    shown: list[int]

    def show_progress(self, first: int, count: int) -> None:
        self.shown.append(first + count)


@pytest.mark.parametrize("positions", [1, 1 << 15])
def test_progress_is_shown_while_sentences_are_decoded(
    base: Translator, monkeypatch: pytest.MonkeyPatch, positions: int
) -> None:
    monkeypatch.setitem(search_module.CACHE_POSITIONS, "cpu", positions)
    requests = [ProgressRequest(Document.from_sentences(SENTENCES)) for _ in range(2)]
    for request in requests:
        request.shown = []
    list(base.translate_requests(requests, GREEDY))
    first, second = (list(dict.fromkeys(request.shown)) for request in requests)
    steps = [1, 2, 3, 4] if positions == 1 else [4]
    assert first == steps
    assert second == ([0, *steps] if positions == 1 else steps)


def test_documents_together_are_documents_alone(translator: Translator) -> None:
    documents = [SENTENCES, SENTENCES[1:], [], ["12", "It is open."], SENTENCES[:2]]
    for tokens in (60, 10_000):
        found = translator.translate_all(map(Document.from_sentences, documents), GREEDY, tokens=tokens)
        assert [each.texts for each in found] == [translator.translate(each, GREEDY).texts for each in documents]


def test_context_changes_translations_and_modes_agree(translator: Translator) -> None:
    parallel, sequential = (translator.translate(SENTENCES, BEAM, mode) for mode in ("parallel", "sequential"))
    assert parallel.texts == sequential.texts
    assert parallel.texts != [translator.translate([sentence], BEAM).texts[0] for sentence in SENTENCES]


def test_sentences_without_words_are_copied(translator: Translator) -> None:
    mixed = [part for pair in zip(KEPT, SENTENCES * 2, strict=True) for part in pair]
    translation = translator.translate(mixed, GREEDY, explain=True)
    assert translation.texts[::2] == KEPT
    assert translation.texts[1::2] == translator.translate(SENTENCES * 2, GREEDY).texts
    assert [len(each.candidates) for each in translation] == [0, 1] * len(KEPT)
    for number, sentence in enumerate(translation):
        assert (sentence.context is None) == (number % 2 == 0)
        read = {*sentence.context.source, *sentence.context.target} if sentence.context else set()
        assert all(place % 2 == 1 for place in read), "places are those of the document's own sentences"
    assert translator.translate(KEPT).texts == KEPT


@pytest.mark.parametrize(
    "text",
    [
        "word " * 5000,
        "éa" * 1500,
        "Ünïcödé, mixed 北京 и кириллица \U0001f600 " * 60,
        "a\x00b\x1b[31mc \ud800 end " * 9,
    ],
    ids=["words", "no space", "scripts", "controls"],
)
def test_a_sentence_too_long_is_translated_in_parts(base: Translator, text: str) -> None:
    lengths: list[int] = []
    encode = base.model.encode

    def spy(batch, memories):  # type: ignore[no-untyped-def]
        lengths.extend(batch.source.sentences.boundaries.diff().tolist())
        return encode(batch, memories)

    base.model.encode = spy  # type: ignore[method-assign]
    try:
        translation = base.translate(["Hello.", text, "The dog."], BEAM)
    finally:
        base.model.encode = encode  # type: ignore[method-assign]
    assert len(translation) == 3
    assert len(lengths) > 5
    assert max(lengths) <= 48
    assert len(translation.sentences[1].candidates) == 2
    assert "\n" not in translation.texts[1]


def test_a_sentence_longer_than_in_training_is_cut(base: Translator) -> None:
    short = Translator(base.model, base.tokenizer, base.languages, trained_length=10)
    segments = short.prepare(TranslationRequest(Document.from_sentences(SENTENCES * 2))).segments
    assert len(segments) > 2 * len(SENTENCES)
    assert all(len(ids) <= 10 for ids in base.tokenizer.source.ids(segment.text for segment in segments.segments))
    assert len(short.translate(SENTENCES, GREEDY)) == len(SENTENCES)


def test_an_empty_translation_is_replaced_by_the_source(tmp_path: Path) -> None:
    silent = Translator.load(model_folder(tmp_path, eos=100.0, context=False), device="cpu")
    silent.repair = False
    translation = silent.translate(["Hello world.", "The dog."])
    assert [sentence.doubts for sentence in translation] == [("empty",), ("empty",)]
    assert translation.texts == ["Hello world.", "The dog."]
    assert translation.sentences[0].candidates[0].text == ""


def test_repair_leaves_good_translations_and_lessens_doubts(base: Translator) -> None:
    texts = [*SENTENCES, "She said 1234."]
    base.repair = False
    before = base.translate(texts, BEAM)
    base.repair = True
    after = base.translate(texts, BEAM)
    assert any(sentence.doubts for sentence in before)
    for old, new in zip(before, after, strict=True):
        assert old == new or (old.doubts and len(new.candidates) == len(old.candidates))
    worst = Counter(reason for sentence in before for reason in sentence.doubts)
    assert Counter(reason for sentence in after for reason in sentence.doubts).total() <= worst.total()
    assert [base.translate([text], BEAM).texts[0] for text in texts] == after.texts


@pytest.mark.parametrize("known", [(), (None, "Elle le fit.", None, None)])
def test_repair_reads_what_the_first_pass_read(translator: Translator, known: tuple[str | None, ...]) -> None:
    document = Document.from_sentences(SENTENCES)
    first = translator.translate(document, BEAM, known=known)
    prepared = translator.prepare(TranslationRequest(document, known))
    options = TranslationOptions(BEAM)
    [decoded] = decode_segments(translator, [prepared], options)
    again = [m for m in range(len(SENTENCES)) if not first.sentences[m].given]
    for m in again:
        [attempts] = translator.redecoder._decode_again(prepared, decoded, [(m, prepared.segments[m])], BEAM)
        assert [attempt.text for attempt in attempts] == [each.text for each in first.sentences[m].candidates]
    alone = [translator.translate([SENTENCES[m]], BEAM).texts[0] for m in again]
    assert alone != [first.texts[m] for m in again]


def test_threads_share_a_translator(translator: Translator) -> None:
    documents = [SENTENCES[k:] + SENTENCES[:k] for k in range(4)]
    expected = [translator.translate(document, GREEDY).texts for document in documents]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda document: translator.translate(document, GREEDY).texts, documents))
    assert found == expected


def test_only_a_model_that_reads_graphs_annotates(base: Translator, translator: Translator) -> None:
    base.translate(["The fox met the dog.", "It is quick."], GREEDY)
    assert "pipeline" not in vars(base.input_builder)
    assert translator.input_builder.pipeline.spec == "en"


def test_the_translated_document_is_written_as_it_is(base: Translator, tmp_path: Path) -> None:
    source = "# The dog\n\n- It **told** [him](x.html) that.\n- Hello `code` world.\n\n```\ncode\n```\n"
    (tmp_path / "a.md").write_text(source, encoding="utf-8")
    [document] = read(tmp_path / "a.md")
    translation = base.translate(document, GREEDY)
    write([translation.document], tmp_path / "b.md")
    written = (tmp_path / "b.md").read_text(encoding="utf-8")
    assert written == render([document], [translation.texts]) != source
    assert [written.count(mark) for mark in ("# ", "- ", "**", "](x.html)", "`code`", "```\ncode\n```\n")] == [
        1,
        2,
        2,
        1,
        1,
        1,
    ]
    title = translation.document.sentences[0]
    assert translation.document.source[title.start : title.end] == title.text


def test_int8_weights_are_used_as_stored(tmp_path: Path) -> None:
    stored = Translator.load(model_folder(tmp_path, precision="int8"), device="cpu")
    assert type(stored.model.encoder.layers[0].self_attention.output).__name__ == "Int8Linear"
    full = Translator.load(tmp_path / "model", device="cpu", precision="float32")
    assert type(full.model.encoder.layers[0].self_attention.output).__name__ == "PackedLinear"
    assert len(stored.translate(SENTENCES, GREEDY, explain=True)) == 4


def test_mistakes_are_reported(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(DocgraphError, match="there is no device 'gpu'; choose cpu or cuda"):
        Translator.load(folder, device="gpu")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DocgraphError, match="neither a model folder nor a run folder"):
        Translator.load(tmp_path / "empty")
    transformer = marian_files(tmp_path)
    sizes = {
        name: getattr(transformer, name) for name in ("source_vocabulary", "target_vocabulary", "pad", "bos", "eos")
    }
    model = small_model(small_config(transformer=sizes, context=False))
    save(model, tmp_path / "marian", [tmp_path / name for name in ("source.spm", "target.spm", "vocab.json")])
    with pytest.raises(DocgraphError, match="choose one by its tag: >>deu<<, >>fra<<"):
        Translator.load(tmp_path / "marian", device="cpu")
    tagged = Translator.load(tmp_path / "marian", device="cpu", tag=">>fra<<")
    assert len(tagged.translate(SENTENCES, GREEDY)) == 4


@pytest.fixture
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CHUNK", 3), ("CHUNK_BEFORE", 2), ("CHUNK_AFTER", 1)):
        monkeypatch.setattr(model_input, name, value)


def test_chunks_cover_a_document_once(short_chunks: None) -> None:
    for texts in range(30):
        parts = list(model_input.chunks(texts))
        assert [place for _, own in parts for place in own] == list(range(texts))
        assert all(shown.start <= own.start and own.stop <= shown.stop <= texts for shown, own in parts)
        assert (len(parts) == 1) == (texts <= 6)


@pytest.mark.parametrize("explain", [False, True])
def test_a_very_long_document_is_translated_in_chunks(
    base: Translator, translator: Translator, request: pytest.FixtureRequest, explain: bool
) -> None:
    document = [*SENTENCES, "12", *SENTENCES, *SENTENCES[:2]]
    whole = base.translate(document, GREEDY).texts
    request.getfixturevalue("short_chunks")
    assert base.translate(document, GREEDY).texts == whole, "without context, chunks change nothing"
    request = RecordingRequest(Document.from_sentences(document))
    [(_, translation)] = translator.translate_requests([request], GREEDY, explain=explain)
    found = list(request.recorded.values())
    assert request.firsts == [0, 3, 6, 9]
    assert len(found) == 10
    assert translation.texts[4] == "12"
    last = translation.sentences[-1].context
    assert (last is not None) == explain
    assert last is None or min(last.target) == 8, "two sentences before the chunk are shown with it"
    request = TranslationRequest(Document.from_sentences(document), resumed=dict(enumerate(found[:4])))
    [(_, resumed)] = translator.translate_requests([request], GREEDY, explain=explain)
    assert resumed.texts == translation.texts


WORDS = ["The dog.", "Hello world, it is a test.", "told him", "fox jumps", "12"]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """Reads the translations before each sentence but no graph, so that nothing is annotated."""
    return Translator.load(model_folder(tmp_path_factory.mktemp("target"), sides="target"), device="cpu")


@settings(max_examples=6)
@given(known=st.lists(st.sampled_from([None, "", " ", *WORDS]), min_size=8, max_size=8), long=st.booleans())
def test_known_translations_are_kept_and_read(target: Translator, known: list[str | None], long: bool) -> None:
    mixed = [*SENTENCES, "34", "The word " * 20, *SENTENCES[:2]]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("CHUNK", 3), ("CHUNK_BEFORE", 2), ("CHUNK_AFTER", 1)) if long else ():
            patch.setattr(model_input, name, value)
        found = target.translate(mixed, GREEDY, known=known)
        sequential = target.translate(mixed, GREEDY, "sequential", known=known)
        request = RecordingRequest(Document.from_sentences(mixed), known)
        [(_, resumed)] = target.translate_requests([request], GREEDY, tokens=30)
        half = {place: request.recorded[place] for place in sorted(request.recorded)[: len(request.recorded) // 2]}
        finished = TranslationRequest(Document.from_sentences(mixed), known, half)
        [(_, again)] = target.translate_requests([finished], GREEDY)
    assert found.texts == sequential.texts == resumed.texts == again.texts
    for sentence, text in zip(found, known, strict=True):
        assert sentence.given == bool(text and text.strip())
        assert not sentence.given or (sentence.text, sentence.score) == (text, None)
        assert ("given" in sentence.to_json()) == sentence.given


def test_a_known_translation_changes_only_what_follows(translator: Translator) -> None:
    plain = translator.translate(SENTENCES, BEAM)
    known = translator.translate(SENTENCES, BEAM, explain=True, known=[None, "Hello, the lazy dog jumps.", None, None])
    assert known.texts[:2] == [plain.texts[0], "Hello, the lazy dog jumps."]
    assert known.texts[2:] != plain.texts[2:]
    assert known.sentences[2].context is not None
    assert 1 in known.sentences[2].context.target
    own = translator.translate(SENTENCES, GREEDY)
    kept = translator.translate(SENTENCES, GREEDY, known=own.texts)
    assert (kept.texts, kept.passes) == (own.texts, 0)
    with pytest.raises(DocgraphError, match="there are 3 known translations for 4 sentences; pass one for each"):
        translator.translate(SENTENCES, known=SENTENCES[:3])


def test_a_known_translation_may_be_longer_than_the_model_reads(translator: Translator) -> None:
    text = "The quick fox. " * 60
    found = translator.translate(SENTENCES, GREEDY, explain=True, known=[text, None, None, None])
    assert found.texts[0] == text


def test_sentences_on_one_line_are_translated_as_on_their_own_and_a_known_line_stays_whole(base: Translator) -> None:
    assert base.translate([" ".join(SENTENCES[:2])], GREEDY).texts == [
        " ".join(base.translate(SENTENCES[:2], GREEDY).texts)
    ]
    document = Document.from_sentences([" ".join(SENTENCES[:2])] * 2)
    prepared = base.prepare(TranslationRequest(document, ["Connu. Oui.", None]))
    assert list(map(len, prepared.segments.of_sentence)) == [1, 2]


def test_a_model_that_reads_other_sentences_reads_lines_as_they_are(translator: Translator) -> None:
    prepared = translator.prepare(TranslationRequest(Document.from_sentences([" ".join(SENTENCES[:2])])))
    assert [segment.text for segment in prepared.segments.segments] == [" ".join(SENTENCES[:2])]
