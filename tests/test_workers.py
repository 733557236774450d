"""glibc keeps freed memory after `keep_freed_memory`."""

from __future__ import annotations

import ctypes
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
    """Resident memory of a process that has made and freed a tensor of 300 MB."""
    done = subprocess.run([sys.executable, "-c", PROBE.format(setup=setup)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e3


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="the C library is not glibc")
def test_a_freed_block_stays_with_the_process() -> None:
    assert megabytes_after_freeing("keep_freed_memory()") > megabytes_after_freeing("") + 200


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.ctypes, "CDLL", lambda name: object())
    workers.keep_freed_memory()
