"""Load of `docgraph serve`: many clients at once, compared with the same documents in one batch.

    python -m benchmarks.server_load [--clients 64] [--seconds 60] [--texts 512] [--rounds 3] [--processes 2]

Each client sends one text of one to four sentences after the other. Every answer must equal the translation of the text
alone. Printed are the times of requests, the sentences per second of the server and of `Translator.translate_all` on
the same texts, and the memory of the server. Server and `translate_all` take turns, `--rounds` times. Clients and
server share the cores of the machine; their share is printed. On a busy machine, compare the CPU time per sentence.
"""

from __future__ import annotations

import argparse
import asyncio
import lzma
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

import httpx

ROOT = Path(__file__).resolve().parents[1]


def load_texts(count: int) -> list[list[str]]:
    """Texts of one to four sentences from the corpus of the repository."""
    choice = random.Random(3)
    with lzma.open(ROOT / "corpora/own_en-fr/test.src.txt.xz", "rt", encoding="utf-8") as file:
        sentences = [line.strip() for line in file if 20 < len(line) < 200]
    return [choice.sample(sentences, choice.randint(1, 4)) for _ in range(count)]


class OneBatch:
    """`Translator.translate_all` on all texts, with the settings of `docgraph translate`."""

    def __init__(self, texts: list[list[str]]) -> None:
        from docgraph.workers import keep_freed_memory, let_idle_threads_sleep

        keep_freed_memory()
        let_idle_threads_sleep()
        from docgraph.document import Document
        from docgraph.translation.translator import Translator

        self._translator = Translator.load()
        self._documents = [Document.from_sentences(text) for text in texts]
        list(self._translator.translate_all(self._documents[:32]))

    def run(self) -> tuple[list[list[str]], float, float]:
        """Returns the translations, and seconds and CPU seconds per sentence."""
        if self._translator.state_cache:
            self._translator.state_cache.clear()  # as for texts that were never seen
        begun, cpu = time.perf_counter(), time.process_time()
        translations = [each.texts for each in self._translator.translate_all(self._documents)]
        count = sum(map(len, translations))
        return translations, (time.perf_counter() - begun) / count, (time.process_time() - cpu) / count


class Load:
    """The clients and what they have measured."""

    def __init__(self, address: str, texts: list[list[str]], expected: list[list[str]]) -> None:
        self.address, self.texts, self.expected = address, texts, expected
        self.times: list[float] = []
        self.sentences = self.wrong = 0

    async def run(self, clients: int, seconds: float) -> float:
        """Sends requests for some time; returns the seconds until the last answer."""
        begun = time.perf_counter()
        async with httpx.AsyncClient(
            base_url=self.address, timeout=300, limits=httpx.Limits(max_connections=clients)
        ) as client:
            await asyncio.gather(*(self._client(client, seed, begun + seconds) for seed in range(clients)))
        return time.perf_counter() - begun

    async def _client(self, client: httpx.AsyncClient, seed: int, until: float) -> None:
        choice = random.Random(seed)
        while time.perf_counter() < until:
            number = choice.randrange(len(self.texts))
            begun = time.perf_counter()
            answer = (await client.post("/v1/translate", json={"sentences": self.texts[number]})).raise_for_status()
            self.times.append(time.perf_counter() - begun)
            found = [each["translation"] for each in answer.json()["sentences"]]
            self.sentences += len(found)
            self.wrong += found != self.expected[number]


def start_server(folder: str, processes: int | None = None) -> tuple[subprocess.Popen[str], str]:
    """Starts a server; returns it with its address."""
    command = [sys.executable, "-m", "docgraph", "serve", "--no-browser", "--port", "0"]
    command += [] if processes is None else ["--decoder-processes", str(processes)]
    process = subprocess.Popen(
        [*command, "--database", f"sqlite:///{folder}/jobs.sqlite"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"serving (http://\S+)", line):
            return process, found[1].replace("localhost", "127.0.0.1")
    raise SystemExit("the server did not start")


def with_children(pid: int) -> list[int]:
    """Returns a process and the processes that it has started; Linux only."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(one for file in found for child in file.read_text().split() for one in with_children(int(child)))]


def resident_megabytes(pid: int) -> float:
    """Returns the memory of a process and its children; Linux only."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in with_children(pid))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time that a process and its children have used; Linux only."""
    fields = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in with_children(pid)]
    return sum(int(own[11]) + int(own[12]) for own in fields) / os.sysconf("SC_CLK_TCK")


def measure(load: Load, process: subprocess.Popen[str], clients: int, seconds: float) -> tuple[float, float]:
    """Runs the clients; returns seconds and CPU seconds of the server per sentence."""
    cpu, own = cpu_seconds(process.pid), time.process_time()
    seconds = asyncio.run(load.run(clients, seconds))
    own, cpu = time.process_time() - own, (cpu_seconds(process.pid) - cpu) / load.sentences
    cuts = quantiles(load.times, n=100)
    print(f"{clients} clients, {seconds:.0f} s: {len(load.times):,} requests, {load.wrong} wrong answers")
    print(f"p50 {cuts[49]:.2f} s, p95 {cuts[94]:.2f} s")
    print(f"server: {load.sentences / seconds:.1f} sentences per second, {1000 * cpu:.1f} ms CPU per sentence")
    print(f"clients: {own / seconds:.2f} cores, {1000 * own / len(load.times):.1f} ms CPU per request")
    return seconds / load.sentences, cpu


def main(arguments: list[str] | None = None) -> None:
    """Print latency, throughput, equality and memory."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--processes", type=int, help="maximum decoder processes of the server")
    options = parser.parse_args(arguments or [])
    texts, wrong = load_texts(options.texts), 0
    one_batch = OneBatch(texts)
    with tempfile.TemporaryDirectory() as folder:
        process, address = start_server(folder, options.processes)
        try:
            for number in range(options.rounds):
                expected, alone, alone_cpu = one_batch.run()
                rate = f"{1 / alone:.1f} sentences per second"
                print(f"one batch: {rate}, {1000 * alone_cpu:.1f} ms CPU per sentence", flush=True)
                if not number:
                    asyncio.run(Load(address, texts, expected).run(options.clients, options.seconds / 3))  # warm-up
                before, load = resident_megabytes(process.pid), Load(address, texts, expected)
                seconds, cpu = measure(load, process, options.clients, options.seconds)
                wrong += load.wrong
                print(f"throughput {alone / seconds:.2f} of one batch, {alone_cpu / cpu:.2f} per CPU second")
                after = resident_megabytes(process.pid)
                print(f"memory of the server: {before:.0f} MB, then {after:.0f} MB", flush=True)
        finally:
            process.terminate()
            process.wait()
    if wrong:
        raise SystemExit("some answers differ from the translation of the text alone")


if __name__ == "__main__":
    main(sys.argv[1:])
