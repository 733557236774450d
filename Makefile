# Two commands do everything on a fresh machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test soak lint bench clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "docgraph needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/docgraph graph examples/three_men_in_a_boat.txt --html demo/graph.html --svg demo/graph.svg
	$(BIN)/docgraph translate examples/harbour_report.md -o demo/harbour_report.fr.md
	@cat demo/harbour_report.fr.md
	$(BIN)/docgraph translate examples/harbour.txt -o demo/harbour.fr.txt
	$(BIN)/docgraph translate examples/harbour.txt -o demo/harbour.corrected.fr.txt --known examples/harbour.known.txt --explain demo/translation.html
	@echo "Left: translated alone. Right: with the first three sentences corrected by hand; the others use the corrected terms."
	@diff --width=170 --side-by-side demo/harbour.fr.txt demo/harbour.corrected.fr.txt || true
	@echo "Open demo/graph.html (the document graph) and demo/translation.html (what each sentence read) in a browser."

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

# Faults, malformed requests and load of docgraph serve for as long as it takes (about an hour).
soak: $(READY)
	DOCGRAPH_SOAK=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/server
	$(BIN)/python -m benchmarks.server_load

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache
