"""A process that decodes sentences, so that the model does not share an interpreter with the threads of a server.

The process loads the same model, decodes the documents it receives by continuous decoding, and returns final sentences.
A server also works without processes: `DecoderProcess.is_ready` is False until the model is loaded, and `on_death` lets
the server take over the documents of a process that has died.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from docgraph.server.decoder_calls import FinalSentences, remaining
from docgraph.translation.decoding.continuous_decoding import ContinuousDecoder, OpenDocument
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.translator import Translator
from docgraph.workers import bound_kept_memory, keep_freed_memory, release_memory_regularly

SENTENCES_PER_MESSAGE = 16
"""Minimum number of final sentences of an unfinished document that are reported together."""


@dataclass(frozen=True)
class _Document:
    """A document to decode; `number` identifies it in both processes."""

    number: int
    input: DecoderInput
    search: SearchConfig


@dataclass(frozen=True)
class _Cancel:
    """The document is no longer wanted."""

    number: int


@dataclass(frozen=True)
class _Ready:
    """The model is loaded."""


@dataclass(frozen=True)
class Failure:
    """A document that cannot be decoded."""

    number: int
    message: str


@dataclass(frozen=True)
class BatchSize:
    """Numbers of sentences and documents that are decoded together, sent after some have joined."""

    sentences: int
    documents: int


class DecoderProcess:
    """The server's end of the connection. `on_result` and `on_death` are called in a thread of this object."""

    def __init__(
        self,
        model: Path,
        on_result: Callable[[FinalSentences | Failure | BatchSize], None],
        on_death: Callable[[DecoderProcess], None],
    ) -> None:
        self._on_result, self._on_death = on_result, on_death
        self.is_ready = False
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(theirs, model), name="docgraph-decoder", daemon=True)
        self._process.start()
        theirs.close()
        self._sending = threading.Lock()
        self._thread = threading.Thread(target=self._receive, name="docgraph-decoder", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The id of the process."""
        return self._process.pid

    def decode(self, number: int, document: DecoderInput, search: SearchConfig) -> None:
        """Sends a document; `on_result` receives its sentences. Raises OSError if the process has died."""
        self._send(_Document(number, document, search))

    def cancel(self, number: int) -> None:
        """Cancels a document; some of its sentences may still arrive."""
        try:
            self._send(_Cancel(number))
        except OSError:
            return  # the process has died

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._thread.join()
        self._connection.close()

    def _send(self, message: _Document | _Cancel) -> None:
        with self._sending:
            self._connection.send(message)

    def _receive(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                if isinstance(message, _Ready):
                    self.is_ready = True
                else:
                    self._on_result(message)
        except (EOFError, OSError):
            self.is_ready = False
            self._process.join()
            self._on_death(self)


def _run(connection: Connection, model: Path) -> None:
    """Decodes documents until the connection ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    keep_freed_memory()
    bound_kept_memory()
    translator = Translator.load(model, "cpu", threads=1)
    _Worker(connection, translator).run()


class _Worker:
    """The process's end of the connection."""

    def __init__(self, connection: Connection, translator: Translator) -> None:
        self._connection, self._translator = connection, translator
        self._decoder = ContinuousDecoder(translator.model, translator.tokenizer)
        self._documents: dict[int, OpenDocument] = {}
        self._numbers: dict[OpenDocument, int] = {}
        self._inbox: list[_Document | _Cancel] = []
        self._arrival = threading.Condition()

    def run(self) -> None:
        """Decodes until the process ends."""
        threading.Thread(target=self._receive, daemon=True).start()
        threading.Thread(target=release_memory_regularly, daemon=True).start()
        self._connection.send(_Ready())
        while True:
            with self._arrival:
                self._arrival.wait_for(lambda: self._inbox or self._decoder.has_work)
                inbox, self._inbox = self._inbox, []
            for message in inbox:
                if isinstance(message, _Document):
                    self._open(message)
                else:
                    self._forget(message.number)
            self._step()

    def _receive(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                with self._arrival:
                    self._inbox.append(message)
                    self._arrival.notify()
        except (EOFError, OSError):
            os._exit(0)  # the server has ended

    def _open(self, document: _Document) -> None:
        config, coder = self._translator.model.config, self._translator.tokenizer.target
        opened = OpenDocument(document.input, document.search, config, coder)
        self._documents[document.number], self._numbers[opened] = opened, document.number
        self._decoder.add(opened)

    def _forget(self, number: int) -> None:
        if (document := self._documents.pop(number, None)) is not None:
            self._decoder.remove(document)
            del self._numbers[document]

    def _step(self) -> None:
        try:
            joined = self._decoder.join()
            changed = self._decoder.step()
        except Exception:
            # Decodes each document on its own, so that a bad one fails alone.
            for document in self._decoder.clear():
                self._decode_alone(document)
            return
        if joined:
            self._connection.send(BatchSize(self._decoder.num_sentences, len(self._decoder.documents())))
        for document in changed:
            number = self._numbers.get(document)
            if number is None:
                continue
            if (new := document.new_sentences(SENTENCES_PER_MESSAGE)) is not None:
                self._connection.send(FinalSentences(number, *new, document.passes))
            if document.is_final:
                self._forget(number)

    def _decode_alone(self, document: OpenDocument) -> None:
        number = self._numbers.get(document)
        if number is None:
            return
        answer: Failure | FinalSentences
        try:
            [result] = self._translator.decode([document.input], DecodingOptions(document.search))
        except Exception as error:
            answer = Failure(number, str(error))
        else:
            answer = remaining(number, document, result)
        self._connection.send(answer)
        self._forget(number)
