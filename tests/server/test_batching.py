"""Continuous batching: requests share batches, and each gets the answer that it would get alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from docgraph.document import Document
from docgraph.server import batching, decoder_calls
from docgraph.server.batching import BatchDecoder
from docgraph.server.decoder_calls import DecoderCall
from docgraph.server.tickets import Cancelled, Ticket
from docgraph.translation.decoding import continuous_decoding
from docgraph.translation.decoding.continuous_decoding import ContinuousDecoder, OpenDocument
from docgraph.translation.decoding.decoder import DecodedDocument, DecoderInput
from docgraph.translation.decoding.hypotheses import Hypotheses, SearchConfig
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.translator import Translator
from server.server_examples import EXAMPLES, embedded_translator
from translation.translator_examples import REFERRING, RecordingRequest, hints_folder, model_folder, say_first_words

TEXTS = [line for line in (EXAMPLES / "three_men_in_a_boat.txt").read_text("utf-8").splitlines() if line.strip()][:12]
Batches = list[tuple[int, int]]
SECONDS = 300
"""Time after which a test that waits fails."""


@pytest.fixture
def batches() -> Batches:
    return []


@pytest.fixture
def translator(batches: Batches) -> Iterator[Translator]:
    """The embedded model with a decoder that records (sentences, requests) of its batches."""
    translator = embedded_translator()
    decoder = BatchDecoder(translator, lambda *sizes: batches.append(sizes))
    translator.decoder = decoder
    yield translator
    decoder.close()
    translator.decoder = translator.decode


class Gate:
    """Holds the model until it is opened, so that requests pile up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.submitted = threading.Semaphore(0)
        """Released by each call that waits for the model."""
        step, submit = ContinuousDecoder.step, BatchDecoder._submit

        def wait_and_step(decoder: ContinuousDecoder) -> Mapping[OpenDocument, None]:
            self.entered.set()
            assert self.opened.wait(SECONDS)
            return step(decoder)

        def submit_and_release(decoder: BatchDecoder, call: DecoderCall) -> None:
            submit(decoder, call)
            self.submitted.release()

        monkeypatch.setattr(ContinuousDecoder, "step", wait_and_step)
        monkeypatch.setattr(BatchDecoder, "_submit", submit_and_release)

    def open_after(self, calls: int) -> None:
        """Opens the gate as soon as so many calls wait."""
        for _ in range(calls):
            assert self.submitted.acquire(timeout=SECONDS)
        self.opened.set()


def test_concurrent_requests_get_the_answers_they_would_get_alone(
    translator: Translator, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str | list[str]] = [*TEXTS, TEXTS[:3], "", "12 345", [TEXTS[0], "", "Hello"]]
    translator.decoder, decoder = translator.decode, translator.decoder
    alone = [translator.translate(request) for request in requests]
    translator.decoder = decoder
    gate = Gate(monkeypatch)
    with ThreadPoolExecutor(len(requests)) as threads:
        together = threads.map(translator.translate, requests)
        gate.open_after(2)
        assert list(together) == alone
    assert max(requests for _, requests in batches) > 1


def test_known_translations_share_batches_too(translator: Translator) -> None:
    sentences = ["The harbour is closed.", "The harbour master is old.", "The harbour will open."]
    known = [["Le havre est fermé.", None, None], [None, None, "Le havre ouvrira."], [None, None, None]]
    translator.decoder, decoder = translator.decode, translator.decoder
    alone = [translator.translate(sentences, known=each).texts for each in known]
    translator.decoder = decoder
    with ThreadPoolExecutor(3) as threads:
        together = list(threads.map(lambda each: translator.translate(sentences, known=each).texts, known))
    assert together == alone


def test_a_model_with_document_context_gives_the_same_answers(tmp_path: Path) -> None:
    translator = Translator.load(model_folder(tmp_path), device="cpu")
    translator.repair = False
    search = SearchConfig(beams=2, max_length_factor=0.5, max_length_constant=3)
    documents = [["The quick fox jumps.", "It told him that."], ["She had met the lazy dog."] * 3, ["Hello, it is."]]
    alone = [translator.translate(each, search).texts for each in documents]
    translator.decoder = decoder = BatchDecoder(translator)
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda each: translator.translate(each, search).texts, documents)) == alone
    decoder.close()


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("recall", [False, True])
def test_a_model_with_hints_gives_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recall: bool, joins: bool
) -> None:
    monkeypatch.setattr("docgraph.translation.decoding.hints.resolve", say_first_words)
    monkeypatch.setattr(batching, "can_join", lambda *_: joins)
    monkeypatch.setattr(batching, "PART_TOKENS", 24)
    monkeypatch.setattr(decoder_calls, "BATCH", 120)
    monkeypatch.setattr(continuous_decoding, "ROWS", 12)
    monkeypatch.setattr(continuous_decoding, "TURN", 2)
    translator = Translator.load(hints_folder(tmp_path, recall), device="cpu")
    translator.repair = False
    search = SearchConfig(beams=2, max_length_factor=0.5, max_length_constant=3)
    documents = [REFERRING * 2, REFERRING[2:], ["The fox met the dog.", "It is quick."]]
    alone = [translator.translate(each, search).texts for each in documents]
    assert alone == [translator.translate(each, search, "sequential").texts for each in documents]
    sizes: Batches = []
    translator.decoder = decoder = BatchDecoder(translator, lambda *batch: sizes.append(batch))
    requests = [RecordingRequest(Document.from_sentences(each)) for each in documents]

    def answer(request: RecordingRequest) -> list[str]:
        [(_, translation)] = translator.translate_requests([request], search)
        return translation.texts

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(answer, requests)) == alone
    decoder.close()
    assert len(sizes) > 2
    assert all([*each.recorded] == list(range(len(each.recorded))) for each in requests)
    resumed = RecordingRequest(requests[0].document, resumed=dict([*requests[0].recorded.items()][:4]))
    translator.decoder = translator.decode
    assert answer(resumed) == alone[0]


def test_a_short_request_does_not_wait_for_a_long_document(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    order: list[str] = []

    def translate(name: str, texts: Sequence[str]) -> None:
        translator.translate(texts)
        order.append(name)

    long = [f"{text} Number {n}." for n in range(12) for text in TEXTS]
    first = threading.Thread(target=translate, args=("long", long))
    first.start()
    assert gate.entered.wait(SECONDS)
    second = threading.Thread(target=translate, args=("short", TEXTS[:1]))
    second.start()
    gate.open_after(2)
    first.join()
    second.join()
    assert order == ["short", "long"]


def test_final_hypotheses_are_told_once_and_in_order(translator: Translator) -> None:
    class Recorder(TranslationRequest):
        def record(self, first: int, hypotheses: Hypotheses) -> None:
            told.extend(range(first, first + len(hypotheses)))
            threads.add(threading.get_ident())

    told: list[int] = []
    threads: set[int] = set()
    sentences = [text for text in TEXTS for _ in range(8)]
    [(_, translation)] = translator.translate_requests([Recorder(Document.from_sentences(sentences))])
    assert told == sorted(set(told))
    assert len(told) >= len(translation)
    assert threads == {threading.get_ident()}


def test_a_cancelled_request_ends_at_once(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    ticket = Ticket()

    def work() -> None:
        with ticket.active():
            translator.translate(TEXTS)

    with ThreadPoolExecutor(2) as threads:
        future = threads.submit(work)
        assert gate.entered.wait(SECONDS)
        other = threads.submit(translator.translate, TEXTS[:1])
        ticket.cancel()
        with pytest.raises(Cancelled):
            future.result(SECONDS)
        gate.opened.set()
        assert len(other.result(SECONDS)) == 1  # is still answered


def test_a_request_that_fails_fails_alone(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = ["A door is open."]
    expected = translator.translate(sentences).texts
    decode, start, gate = translator.decode, ContinuousDecoder._start, Gate(monkeypatch)

    def broken_decode(documents: Sequence[DecoderInput], *arguments: Any, **options: Any) -> list[DecodedDocument]:
        if any(len(document.example.source) == 2 for document in documents):
            raise RuntimeError("bad")
        return decode(documents, *arguments, **options)

    def broken_start(decoder: ContinuousDecoder, chosen: list[tuple[OpenDocument, int]]) -> None:
        if any(len(document.input.example.source) == 2 for document, _ in chosen):
            raise RuntimeError("bad")
        start(decoder, chosen)

    monkeypatch.setattr(translator, "decode", broken_decode)
    monkeypatch.setattr(ContinuousDecoder, "_start", broken_start)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(translator.translate, sentences)
        assert gate.entered.wait(SECONDS)
        bad = threads.submit(translator.translate, sentences * 2)
        good = threads.submit(translator.translate, sentences)
        gate.opened.set()
        assert first.result(SECONDS).texts == good.result(SECONDS).texts == expected
        with pytest.raises(RuntimeError, match="bad"):
            bad.result(SECONDS)


def test_a_closed_decoder_refuses_work(translator: Translator) -> None:
    decoder = BatchDecoder(translator)
    decoder.close()
    translator.decoder = decoder
    with pytest.raises(Cancelled):
        translator.translate("A door.")
