"""The corpus as files: text in docgraph's form, a table of documents, a page of sources and licences."""

from __future__ import annotations

import lzma
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from everyday.holdout import Sourced
from everyday.sources import Source


def write(parts: dict[str, list[Sourced]], sources: Iterable[Source], folder: Path) -> None:
    """Write the corpus: text files, the table of documents and the table of sources."""
    rows = ["part\tsource\tdocument\tpairs"]
    for part, items in parts.items():
        for side, name in enumerate(("src", "tgt")):
            text = "\n\n".join("\n".join(pair[side] for pair in item.document.pairs) for item in items)
            with lzma.open(folder / f"{part}.{name}.txt.xz", "wt", encoding="utf-8", newline="\n") as file:
                file.write(text + "\n")
        rows += [f"{part}\t{item.source}\t{item.document.name}\t{len(item.document.pairs)}" for item in items]
    (folder / "documents.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "SOURCES.md").write_text(_sources_page(parts, sources), encoding="utf-8")


def _sources_page(parts: dict[str, list[Sourced]], sources: Iterable[Source]) -> str:
    documents, pairs = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for part, items in parts.items():
        for item in items:
            for name in (item.source, "all"):
                documents[part, name] += 1
                pairs[part, name] += len(item.document.pairs)
    lines = [
        "# Sources of the everyday corpus",
        "",
        "Made by scripts/make_everyday.py of docgraph; `documents.tsv` has the documents in the order of the files.",
        "",
        "| source | version | licence | documents | pairs | pairs, dev | pairs, test |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    rows = [(source.name, source.version, source.licence) for source in sources]
    for name, version, licence in [*rows, ("all", "", "")]:
        held_out = " | ".join(f"{pairs[part, name]:,}" for part in ("dev", "test"))
        counts = f"{documents['train', name]:,} | {pairs['train', name]:,} | {held_out}"
        lines.append(f"| {name} | {version} | {licence} | {counts} |")
    return "\n".join(lines) + "\n"
