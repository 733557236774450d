"""Benchmarks against peers: each module exposes `main()`, which prints one table; `python -m benchmarks` runs them all."""
