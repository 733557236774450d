"""glibc keeps freed memory; other C libraries are left alone."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from docgraph import workers

PROBE = """
import torch
from pathlib import Path
from docgraph.workers import keep_freed_memory
{setup}
torch.empty(300_000_000, dtype=torch.uint8).fill_(1)
status = Path("/proc/self/status").read_text().splitlines()
print(next(line for line in status if line.startswith("VmRSS")).split()[1])
"""


def megabytes_after_freeing(setup: str) -> float:
    """Returns the resident memory of a process that has allocated and freed a tensor of 300 MB."""
    done = subprocess.run([sys.executable, "-c", PROBE.format(setup=setup)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e3


class FakeLibrary:
    """A C library that records the calls of its functions and has only those named."""

    def __init__(self, *functions: str) -> None:
        self.functions = functions
        self.lookups: list[str] = []
        self.calls: list[tuple[str, int, int]] = []

    def __getattr__(self, name: str) -> object:
        self.lookups.append(name)
        if name not in self.functions:
            raise AttributeError(f"undefined symbol: {name}")
        return lambda parameter, value: self.calls.append((name, parameter, value))


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="the C library is not glibc")
def test_a_freed_block_stays_with_the_process() -> None:
    assert megabytes_after_freeing("keep_freed_memory()") > megabytes_after_freeing("") + 200


def test_glibc_keeps_freed_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary("mallopt")
    monkeypatch.setattr(workers.ctypes, "CDLL", lambda name: library)
    workers.keep_freed_memory()
    assert library.calls == [("mallopt", -3, 2**31 - 1), ("mallopt", -1, -1)]


def test_threads_of_a_server_share_one_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    library = FakeLibrary("mallopt")
    monkeypatch.setattr(workers.ctypes, "CDLL", lambda name: library)
    workers.bound_kept_memory()
    assert library.calls == [("mallopt", -8, 1)]
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "128"
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    monkeypatch.setattr(workers.ctypes, "CDLL", lambda name: FakeLibrary())
    workers.bound_kept_memory()  # a no-op with another C library
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library without mallopt: no function of it is called, under whatever name."""
    library = FakeLibrary("malloc_trim", "free")
    monkeypatch.setattr(workers.ctypes, "CDLL", lambda name: library)
    workers.keep_freed_memory()
    assert library.lookups == ["mallopt"]
    assert library.calls == []


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_a_system_without_a_global_library_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """`CDLL(None)` raises TypeError on Windows and OSError if the library cannot be opened."""
    opened: list[object] = []

    def fails(name: object) -> object:
        opened.append(name)
        raise error("no library")

    monkeypatch.setattr(workers.ctypes, "CDLL", fails)
    workers.keep_freed_memory()
    assert opened == [None]


def test_thread_settings_are_made_before_numpy_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    workers.let_idle_threads_sleep()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["OMP_WAIT_POLICY"] == "active"
    imports = "import sys, docgraph.cli.translate, docgraph.cli.serve, docgraph.workers"
    code = f"{imports}, docgraph.model.model_folder; sys.exit('numpy' in sys.modules or 'torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
