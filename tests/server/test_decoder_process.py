"""The process that decodes for a server: the same answers as a thread, also if the process dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from docgraph.server import batching
from docgraph.server.batching import BatchDecoder
from docgraph.server.decoder_calls import FinalSentences
from docgraph.server.decoder_process import Failure, _Document, _Worker
from docgraph.server.tickets import Cancelled, Ticket
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.translator import Translator
from translation.translator_examples import REFERRING, hints_folder

SEARCH = SearchConfig(beams=2, max_length_factor=0.5, max_length_constant=3)
DOCUMENTS = [REFERRING * 2, REFERRING[2:], ["The fox met the dog.", "It is quick."], ["Hello, it is."]]
SECONDS = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that reads hints."""
    return hints_folder(tmp_path_factory.mktemp("model"), False)


@pytest.fixture
def translator(folder: Path) -> Translator:
    translator = Translator.load(folder, device="cpu")
    translator.repair = translator.names = False
    return translator


@pytest.fixture
def decoder(translator: Translator, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchDecoder]:
    """A decoder whose two processes are ready."""
    monkeypatch.setattr(batching, "MUCH_WORK", 1)
    decoder = BatchDecoder(translator, model_folder=folder, processes=2)
    wait_until_ready(decoder, 1)
    translator.decoder = decoder
    with ThreadPoolExecutor(2) as threads:
        while len(decoder.processes) < 2:  # the second one is started when the first has work
            list(threads.map(lambda each: translator.translate(each, SEARCH), [REFERRING * 4] * 2))
    translator.decoder = translator.decode
    wait_until_ready(decoder)
    yield decoder
    decoder.close()


def wait_until_ready(decoder: BatchDecoder, count: int = 2, dead: int | None = None) -> None:
    """Waits until some processes are ready, without the dead one."""
    end = time.monotonic() + SECONDS
    while sum(each.is_ready and each.pid != dead for each in decoder.processes) < count:
        assert time.monotonic() < end
        time.sleep(0.02)


def kill(decoder: BatchDecoder) -> int:
    """Kills a process; returns its id."""
    pid = decoder.processes[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def test_processes_give_the_answers_of_a_thread(
    translator: Translator, decoder: BatchDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [translator.translate(each, SEARCH).texts for each in DOCUMENTS]
    monkeypatch.setattr(decoder._steps, "add", lambda _: pytest.fail("the thread decodes"))
    translator.decoder = decoder
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda each: translator.translate(each, SEARCH).texts, DOCUMENTS * 3)) == alone * 3
    assert not decoder._sent
    assert not decoder._owners


def test_answers_are_the_same_if_a_process_dies(translator: Translator, decoder: BatchDecoder) -> None:
    alone = [translator.translate(each, SEARCH).texts for each in DOCUMENTS]
    translator.decoder = decoder
    stop = threading.Event()

    def ask(number: int) -> int:
        answers = 0
        while not stop.is_set() or not answers:
            assert translator.translate(DOCUMENTS[number], SEARCH).texts == alone[number]
            answers += 1
        return answers

    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(ask, number) for number in range(4)]
        for _ in range(2):
            wait_until_ready(decoder, dead=kill(decoder))
        stop.set()
        assert all(each.result(SECONDS) for each in asked)


def test_one_process_is_enough_for_little_work(translator: Translator, folder: Path) -> None:
    decoder = BatchDecoder(translator, model_folder=folder, processes=2)
    wait_until_ready(decoder, 1)
    translator.decoder = decoder
    for each in DOCUMENTS:
        translator.translate(each, SEARCH)
    assert len(decoder.processes) == 1
    decoder.close()


def test_a_process_that_always_dies_is_not_started_for_ever(
    translator: Translator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "MAX_STARTS", 1)
    decoder = BatchDecoder(translator, model_folder=folder, processes=1)
    expected = translator.translate(REFERRING, SEARCH).texts
    kill(decoder)
    end = time.monotonic() + SECONDS
    while decoder.processes:
        assert time.monotonic() < end
        time.sleep(0.02)
    translator.decoder = decoder
    assert translator.translate(REFERRING, SEARCH).texts == expected
    decoder.close()


def test_a_cancelled_request_is_forgotten_by_both_sides(
    translator: Translator, decoder: BatchDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = translator.translate(REFERRING, SEARCH).texts
    translator.decoder = decoder
    for process in decoder.processes:
        monkeypatch.setattr(process, "_on_result", lambda _: None)  # no part arrives
    ticket = Ticket()

    def ask() -> Any:
        with ticket.active():
            return translator.translate(REFERRING, SEARCH)

    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask)
        end = time.monotonic() + SECONDS
        while not decoder._sent:
            assert time.monotonic() < end
            time.sleep(0.01)
        ticket.cancel()
        with pytest.raises(Cancelled):
            asked.result(SECONDS)
    assert not decoder._sent
    assert not decoder._owners
    for process in decoder.processes:
        monkeypatch.setattr(process, "_on_result", decoder._receive)
    assert translator.translate(REFERRING, SEARCH).texts == expected


class Recorder:
    """The end of a connection that records what is sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)


def test_a_document_that_cannot_be_decoded_fails_alone(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    connection: Any = Recorder()
    worker = _Worker(connection, translator)
    examples = [decoded_example(translator, text) for text in (["Hello, it is."], ["A fox.", "A dog."])]
    expected, decode = translator.decode([DecoderInput(examples[0])], DecodingOptions(SEARCH)), translator.decode

    def broken_decode(documents: Any, *arguments: Any, **options: Any) -> Any:
        if len(documents[0].example.source) == 2:
            raise RuntimeError("bad")
        return decode(documents, *arguments, **options)

    monkeypatch.setattr(translator, "decode", broken_decode)
    monkeypatch.setattr(worker._decoder, "step", lambda: 1 / 0)
    for number, example in enumerate(examples):
        worker._open(_Document(number, DecoderInput(example), SEARCH))
    worker._step()
    assert sorted(connection.sent, key=lambda each: each.number) == [
        FinalSentences(0, 0, expected[0].sentences, 1),
        Failure(1, "bad"),
    ]
    assert not worker._documents
    assert not worker._numbers


def decoded_example(translator: Translator, sentences: list[str]) -> Any:
    """The model input of a document."""
    from docgraph.document import Document
    from docgraph.translation.model_input import TranslationRequest

    model_input = translator.prepare(TranslationRequest(Document.from_sentences(sentences))).model_input
    assert model_input is not None
    return model_input.example
