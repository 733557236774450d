"""Benchmarks against peers: each module has a `main()` that prints one table; `python -m benchmarks` runs them all."""
