"""Join prepared corpora that have the same sub-words into one store for training.

    python scripts/merge_stores.py prepared/general prepared/statutes prepared/documents*3 --out prepared/all

STORE*N counts the training documents of a store N times. The shards are linked, not copied. Dev and test sets are those
of the last store that has them. Hints are joined; documents of a store without hints have none.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from docgraph.corpus.hints import HINTS, hints_path, read_hints
from docgraph.corpus.store import read_manifest
from docgraph.corpus.store_tables import STORE

COUNTED = ("documents", "sentences", "words", "source_tokens", "target_tokens")
FINGERPRINT = "merged"


def parse(argument: str) -> tuple[Path, int]:
    """Returns the folder and the count of an argument STORE or STORE*N."""
    folder, _, times = argument.partition("*")
    return Path(folder), int(times or 1)


def subwords(store: Path) -> dict[str, bytes]:
    """Returns the sub-word models of a store by file name."""
    return {path.name: path.read_bytes() for path in sorted((store / "tokenizer").glob("*.spm"))}


def link(path: Path, target: Path) -> None:
    """Makes a relative symbolic link, so that the stores can be moved together."""
    path.symlink_to(os.path.relpath(target.resolve(), path.parent.resolve()))


def link_shards(store: Path, out: Path, first: int) -> int:
    """Links the training shards of a store under the next numbers; returns how many."""
    shards = sorted((store / "train").glob("*.arrow"))
    for number, shard in enumerate(shards, first):
        link(out / "train" / f"{number:05}.arrow", shard)
    return len(shards)


def split_hints(store: Path, split: str, documents: int) -> pa.Table:
    """Returns the hints of a split; one empty row per document if the store has none."""
    if hints_path(store, split).is_file():
        return read_hints(store, split).replace_schema_metadata(None)
    return pa.table([pa.array([[]] * documents, field.type) for field in HINTS], schema=HINTS)


def write_hints_table(path: Path, table: pa.Table) -> None:
    """Writes hints that belong to a merged store."""
    schema = HINTS.with_metadata({STORE: FINGERPRINT})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(table.replace_schema_metadata(schema.metadata))


def merge(stores: list[tuple[Path, int]], out: Path) -> dict[str, Any]:
    """Writes the merged store and returns the sizes of its training set."""
    (out / "train").mkdir(parents=True)
    total, hints, shards, held_out = dict.fromkeys(COUNTED, 0), [], 0, stores[-1][0]
    for store, times in stores:
        splits = read_manifest(store)["splits"]
        held_out = store if {"dev", "test"} & splits.keys() else held_out
        for _ in range(times):
            shards += link_shards(store, out, shards)
            total = {name: total[name] + splits["train"][name] for name in COUNTED}
            hints.append(split_hints(store, "train", splits["train"]["documents"]))
    write_hints_table(hints_path(out, "train"), pa.concat_tables(hints))
    manifest = read_manifest(held_out)
    for name in [split for split in manifest["splits"] if split != "train"] + ["tokenizer"]:
        link(out / name, held_out / name)
        if name != "tokenizer":
            documents = manifest["splits"][name]["documents"]
            write_hints_table(hints_path(out, name), split_hints(held_out, name, documents))
    manifest["splits"]["train"] = {**total, "shards": shards, "dropped": {}, "dropped_first": {}}
    manifest["fingerprint"] = FINGERPRINT
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return total


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stores", nargs="+", help="prepared corpora, STORE or STORE*N")
    parser.add_argument("--out", type=Path, required=True, help="folder of the merged store; must not exist")
    arguments = parser.parse_args()
    if arguments.out.exists():
        parser.error(f"{arguments.out} exists; choose another --out")
    stores = [parse(argument) for argument in arguments.stores]
    if any(subwords(store) != subwords(stores[0][0]) for store, _ in stores):
        parser.error("the stores have different sub-words; prepare them with the same `subwords` folder")
    total = merge(stores, arguments.out)
    print(f"{arguments.out}: {total['documents']:,} documents, {total['sentences']:,} pairs")


if __name__ == "__main__":
    main()
