"""Annotation speed: words per second on one core, for each component of a pipeline.

    python -m benchmarks.annotation [FILE [SPEC]]

FILE (default: an example of this repository) is repeated to about 20,000 words; each copy is a document. SPEC is the
pipeline (default: the English one). Each component is timed separately, on the annotations of the earlier ones.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from docgraph.annotate.registry import load_pipeline
from docgraph.annotation import Annotation
from docgraph.formats import read

EXAMPLE = Path(__file__).parent.parent / "examples" / "three_men_in_a_boat.txt"
WORDS = 20_000
MIN_COREFERENCE_SPEED = 10_000
"""Minimum words per second of coreference, without parsing."""


def main(path: Path = EXAMPLE, spec: str = "en") -> None:
    """Prints the table."""
    if not path.is_file():
        raise SystemExit(f"{path} does not exist; name a text file: python -m benchmarks.annotation FILE")
    pipeline = load_pipeline(spec)
    documents = read(path)
    words = sum(pipeline(document).num_words for document in documents)  # also warms up caches
    documents = documents * max(1, round(WORDS / max(words, 1)))
    annotations: list[Annotation | None] = [None] * len(documents)
    table = Table(title=f"Annotation on one core: {path.name}, {len(documents)} documents")
    for column in ("component", "words", "seconds", "words/s"):
        table.add_column(column, justify="left" if column == "component" else "right")
    total = 0.0
    for component in pipeline.components:
        began = time.process_time()  # one thread, so processor time does not depend on other load
        annotations = [component(*pair) for pair in zip(documents, annotations, strict=True)]
        seconds = time.process_time() - began
        total += seconds
        words = sum(annotation.num_words for annotation in annotations if annotation is not None)
        table.add_row(component.name, f"{words:,}", f"{seconds:.2f}", f"{words / seconds:,.0f}")
    table.add_row("all", f"{words:,}", f"{total:.2f}", f"{words / total:,.0f}", style="bold")
    table.caption = f"minimum for coreference: {MIN_COREFERENCE_SPEED:,} words/s"
    Console().print(table)
    for note in pipeline.notes:
        print(note)


if __name__ == "__main__":
    main(*(Path(argument) if index == 0 else argument for index, argument in enumerate(sys.argv[1:3])))
