"""Run every benchmark of this package, or the ones named: `python -m benchmarks [graph_building ...]`."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    """The modules beside this one."""
    return sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name[0] != "_")


def main(chosen: list[str]) -> None:
    """Call the `main()` of each benchmark, or of those chosen."""
    if unknown := [name for name in chosen if name not in names()]:
        raise SystemExit(f"there is no benchmark '{unknown[0]}'; choose among {', '.join(names())}")
    for name in chosen or names():
        run = getattr(importlib.import_module(f"benchmarks.{name}"), "main", None)
        if run is not None:
            run()


if __name__ == "__main__":
    # One core, so that numbers compare: thread pools read this when the benchmarks first load them.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    main(sys.argv[1:])
