"""Continuous batching: sentences of concurrent requests are decoded together.

Each request is preprocessed, repaired and postprocessed in its own thread. The model runs in decoder processes
(decoder_process.py) or, if there are none, in one thread of this process. New sentences join the running batch at any
step (continuous_decoding.py). Sentences that cannot join, such as those with constraints, are decoded by the thread in
separate batches between two steps; long documents of such sentences are split into parts, so that short requests get
their turn. The translation of a sentence does not depend on its batch, so every request gets the same answer as alone.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from docgraph.errors import DocgraphError
from docgraph.model.cpu_threads import split_no_operations
from docgraph.model.packing import windows
from docgraph.server.decoder_calls import DecoderCall, DocumentPart, FinalSentences, next_batch, remaining
from docgraph.server.decoder_process import SENTENCES_PER_MESSAGE, BatchSize, DecoderProcess, Failure
from docgraph.server.tickets import Cancelled, current_ticket
from docgraph.translation.decoding.continuous_decoding import ContinuousDecoder, OpenDocument, can_join
from docgraph.translation.decoding.decoder import DecodedDocument, DecoderInput, DecodingOptions
from docgraph.translation.decoding.excerpt import excerpt
from docgraph.translation.decoding.hypotheses import Hypotheses, SearchConfig
from docgraph.translation.translator import Translator

PART_TOKENS = 512
"""Source sub-words of the parts into which a long document is split."""
MUCH_WORK = 48
"""Another process is started if every process has this many sentences to decode: as many as fill a step."""
MAX_STARTS = 64
"""Maximum number of process starts, so that a process that always dies is not restarted for ever."""


class BatchDecoder:
    """A `Decoder` that decodes the documents of concurrent calls together. Close it to end its thread and processes."""

    def __init__(
        self,
        translator: Translator,
        on_batch: Callable[[int, int], None] | None = None,
        model_folder: Path | None = None,
        processes: int = 0,
    ) -> None:
        """`on_batch` receives the numbers of sentences and requests that are decoded together whenever they change.

        Up to `processes` processes, which load the `model_folder` of the translator, decode the sentences that can
        join: one at first, more as soon as all have much work.
        """
        self._translator, self._on_batch, self._model_folder = translator, on_batch, model_folder
        self._calls: deque[DecoderCall] = deque()
        """Calls with waiting parts."""
        self._new: list[OpenDocument] = []
        """Documents that the thread has not yet added to its running batch."""
        self._steps = ContinuousDecoder(translator.model, translator.tokenizer)
        self._stepped: set[OpenDocument] = set()
        """The documents in the running batch of the thread."""
        self._owners: dict[OpenDocument, tuple[DecoderCall, int]] = {}
        """The call of each document that is being decoded, and the index of the document in the call."""
        self._change = threading.Condition()
        self._closed = False
        self._batches = ThreadPoolExecutor(1, "docgraph-whole-batches")
        self._sent: dict[int, tuple[OpenDocument, DecoderProcess]] = {}
        """The documents that were sent to processes, by number."""
        self._numbers = itertools.count()
        self._starts = 0
        self._max_processes, self._processes = processes, list[DecoderProcess]()
        self._start_process()
        self._thread = threading.Thread(target=self._run, name="docgraph-batches", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread after the current batch; waiting calls are cancelled."""
        with self._change:
            self._closed = True
            self._change.notify()
        self._thread.join()
        self._batches.shutdown()
        for process in self._processes:
            process.close()

    @property
    def processes(self) -> Sequence[DecoderProcess]:
        """The decoder processes, some of which may not be ready yet."""
        return self._processes

    def _start_process(self) -> None:
        """Starts a process unless enough are running or too many have died."""
        has_room = len(self._processes) < self._max_processes and self._starts < MAX_STARTS
        if self._model_folder is not None and not self._closed and has_room:
            self._starts += 1
            self._processes.append(DecoderProcess(self._model_folder, self._receive, self._replace_process))

    def __call__(self, documents: Sequence[DecoderInput], options: DecodingOptions) -> list[DecodedDocument]:
        """Returns the translation of each document; callbacks are called in the calling thread, by part."""
        call = DecoderCall(options, documents, [{} for _ in documents])
        self._divide(call)
        missing = total = sum(len(document.example.source) for document in documents)
        found: list[Hypotheses] = [[] for _ in documents]
        passes = [0] * len(documents)
        with current_ticket().on_cancel(lambda: self._abandon(call)):
            if missing:
                self._submit(call)
            while missing:
                part = call.results.get()
                if isinstance(part, BaseException):
                    self._abandon(call)
                    raise part
                missing -= len(part.sentences)
                # The parts of a document come in their order.
                found[part.number] += part.sentences
                passes[part.number] = max(passes[part.number], part.passes)
                if options.on_final is not None:
                    options.on_final(part.number, part.first, part.sentences)
                if options.progress is not None:
                    options.progress(total - missing, total)
        return [DecodedDocument(*pair) for pair in zip(found, passes, strict=True)]

    def _parts(self, call: DecoderCall, document: int) -> Iterator[DocumentPart]:
        """Yields the parts of a document; a single part if its sentences may read any other sentence."""
        model_input = call.documents[document]
        lengths = [len(source) for source in model_input.example.source]
        is_plain = all(each is None for each in (model_input.example.graph, model_input.example.memory_sentences))
        is_whole = self._translator.needs.reads_document or not is_plain or model_input.example.window is not None
        if is_whole or model_input.known or model_input.constraints:
            yield DocumentPart(call, document, range(len(lengths)), sum(lengths))
            return
        for part in windows(lengths, PART_TOKENS):
            yield DocumentPart(call, document, part, sum(lengths[part.start : part.stop]))

    def _divide(self, call: DecoderCall) -> None:
        """Divides the documents of a call into those that can join the running batch, and parts of the others."""
        model = self._translator.model
        for number, document in enumerate(call.documents):
            if can_join(model.config, model.device, call.options.search, document):
                call.open[self._opened(document, call.options.search)] = number
            else:
                call.waiting.extend(self._parts(call, number))

    def _opened(self, document: DecoderInput, search: SearchConfig) -> OpenDocument:
        return OpenDocument(document, search, self._translator.model.config, self._translator.tokenizer.target)

    def _submit(self, call: DecoderCall) -> None:
        with self._change:
            if self._closed:
                raise Cancelled
            if call.waiting:
                self._calls.append(call)
            for document, number in call.open.items():
                self._owners[document] = call, number
                self._report(document)
                if not document.is_final and not self._send(document):
                    self._new.append(document)
            self._change.notify()

    def _send(self, document: OpenDocument) -> bool:
        """Sends a document to the process with the least work; returns False if no process is ready."""
        ready = [process for process in self._processes if process.is_ready]
        if not ready or document.input.example.graph is not None:
            return False
        work = Counter[DecoderProcess]()
        for other, process in self._sent.values():
            work[process] += len(other.hypotheses) - other.num_reported
        number, process = next(self._numbers), min(ready, key=lambda each: work[each])
        if work[process] >= MUCH_WORK and len(ready) == len(self._processes):
            self._start_process()
        try:
            process.decode(number, document.input, document.search)
        except OSError:
            return False
        self._sent[number] = document, process
        return True

    def _receive(self, message: FinalSentences | Failure | BatchSize) -> None:
        """Passes the results of a process on to the calls."""
        if isinstance(message, BatchSize):
            if self._on_batch is not None:
                self._on_batch(message.sentences, message.documents)
            return
        with self._change:
            if message.number not in self._sent:
                return
            document, _ = self._sent[message.number]
            call, number = self._owners[document]
            if isinstance(message, Failure):
                call.results.put(DocgraphError(message.message))
                del self._sent[message.number], self._owners[document]
                return
            document.num_reported = message.first + len(message.sentences)
            call.results.put(replace(message, number=number))
            if document.num_reported == len(document.hypotheses):
                del self._sent[message.number], self._owners[document]

    def _replace_process(self, dead: DecoderProcess) -> None:
        """Replaces a process that has died; the thread decodes its documents."""
        with self._change:
            if self._closed:
                return
            for number in [number for number, (_, process) in self._sent.items() if process is dead]:
                old, _ = self._sent.pop(number)
                document = self._opened(old.input, old.search)
                document.num_reported = old.num_reported
                self._owners[document] = self._owners.pop(old)
                self._new.append(document)
            self._processes.remove(dead)
            self._start_process()
            self._change.notify()

    def _abandon(self, call: DecoderCall) -> None:
        """Drops the waiting sentences of a call, and wakes its thread."""
        with self._change:
            if call in self._calls:
                self._calls.remove(call)
            dropped = {document for document, (owner, _) in self._owners.items() if owner is call}
            for document in dropped:
                del self._owners[document]
            for number in [number for number, (document, _) in self._sent.items() if document in dropped]:
                _, process = self._sent.pop(number)
                process.cancel(number)
        call.results.put(Cancelled())

    def _run(self) -> None:
        split_no_operations()
        while True:
            with self._change:
                self._change.wait_for(lambda: self._calls or self._new or self._steps.has_work or self._closed)
                if self._closed:
                    for call in {*self._calls, *(call for call, _ in self._owners.values())}:
                        call.results.put(Cancelled())
                    return
                new, self._new = self._new, []
                batch = next_batch(self._calls)
            for document in new:
                self._steps.add(document)
                self._stepped.add(document)
            if batch:
                # In a thread whose searches use all cores.
                self._batches.submit(self._decode, batch).result()
            self._step()

    def _report(self, document: OpenDocument) -> None:
        """Passes new final sentences of a document to its call, unless the call was abandoned."""
        with self._change:
            if document not in self._owners:
                return
            call, number = self._owners[document]
            if (new := document.new_sentences(SENTENCES_PER_MESSAGE)) is not None:
                call.results.put(FinalSentences(number, *new, document.passes))
            if document.is_final:
                del self._owners[document]

    def _step(self) -> None:
        """Extends all sentences of the running batch by a token."""
        with self._change:
            wanted = {document for document in self._stepped if document in self._owners}
        for document in self._stepped - wanted:
            self._steps.remove(document)
        self._stepped = wanted
        try:
            with self._translator.model_lock:
                joined = self._steps.join()
                changed = self._steps.step()
        except Exception:
            # Decodes each document on its own, so that a bad request fails alone.
            for document in self._steps.clear():
                with self._change:
                    owner = self._owners.pop(document, None)
                if owner is not None:
                    self._decode_alone(document, *owner)
            return
        if joined and self._on_batch is not None:
            documents = self._steps.documents()
            with self._change:
                active = {id(self._owners[each][0]) for each in documents if each in self._owners}
            self._on_batch(self._steps.num_sentences, len(active))
        for document in changed:
            self._report(document)

    def _decode_alone(self, document: OpenDocument, call: DecoderCall, number: int) -> None:
        """Decodes a document on its own, and passes the sentences not yet reported to its call."""
        try:
            [result] = self._translator.decode([document.input], call.plain_options)
        except Exception as error:
            call.results.put(error)
        else:
            call.results.put(remaining(number, document, result))

    def _decode(self, batch: list[DocumentPart]) -> None:
        """Decodes parts together; if that fails, each on its own, so that a bad request fails alone."""
        if self._on_batch is not None:
            calls = len({id(part.call) for part in batch})
            self._on_batch(sum(len(part.span) for part in batch), calls)
        inputs = [self._model_input(part) for part in batch]
        try:
            decoded = self._translator.decode(inputs, batch[0].call.plain_options)
        except Exception as error:
            if len(batch) == 1:
                batch[0].call.results.put(error)
            else:
                for part in batch:
                    self._decode([part])
            return
        for part, result in zip(batch, decoded, strict=True):
            own = result.sentences[: len(part.span)]
            part.decoded.update(zip(part.span, own, strict=True))
            part.call.results.put(FinalSentences(part.document, part.span.start, own, result.passes))

    def _model_input(self, part: DocumentPart) -> DecoderInput:
        """Returns a document, or a part of it with the translations of earlier parts that its hints read."""
        document = part.input
        if len(part.span) == len(document.example.source):
            return document
        whole = replace(document, known=part.decoded)
        return excerpt(whole, part.span, self._translator.model.config)[0]
