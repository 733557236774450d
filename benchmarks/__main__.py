"""Run every benchmark of this package, or the ones named: `python -m benchmarks [graph_building ...]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

# One core, so that numbers compare: the thread pools read this when they are first loaded.
import os  # isort: skip

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


def main(names: list[str]) -> None:
    """Import the modules beside this one and call the `main()` of each that has one."""
    found = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    known = [name for name in found if not name.startswith("_")]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no benchmark '{unknown[0]}'; choose among {', '.join(known)}")
    for name in names or known:
        run = getattr(importlib.import_module(f"benchmarks.{name}"), "main", None)
        if run is not None:
            run()


if __name__ == "__main__":
    main(sys.argv[1:])
