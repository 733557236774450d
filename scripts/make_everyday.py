"""Make the corpus of everyday English and French from message catalogues, help pages and vocabularies of free packages.

    python scripts/make_everyday.py --list > fetch.sh      # fetches and unpacks the packages; run it in FOLDER
    python scripts/make_everyday.py --packages FOLDER --avoid europarl/test.src.txt.xz --out corpora/everyday_en-fr

It takes a few minutes on one core. The corpus has docgraph's `lines` format: train, dev and test, one sentence per
line, blank lines between documents. SOURCES.md lists the version and licence of each source.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docgraph.errors import DocgraphError
from docgraph.files import new_folder
from everyday.assembly import clean_documents, read_avoided, split_documents, write_corpus
from everyday.sources import SOURCES


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.epilog = "The script needs the packages polib and lxml (pip install polib lxml)."
    parser.add_argument("--list", action="store_true", help="print the commands that fetch and unpack the packages")
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="folder of the unpacked packages")
    parser.add_argument(
        "--avoid",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="English sides of other dev and test sets, plain or compressed; their sentences are left out",
    )
    parser.add_argument("--out", type=Path, help="folder of the corpus; must not exist")
    args = parser.parse_args()
    if not args.list and not (args.packages and args.out):
        parser.error("give --packages and --out, or --list")
    return args


def main() -> None:
    """Print the commands, or make the corpus."""
    args = arguments()
    if args.list:
        print(
            "\n".join(f"# {source.name}: {p.registry}\n{p.commands()}" for source in SOURCES for p in source.packages)
        )
        return
    if args.out.exists():
        raise DocgraphError("output folder exists; choose another one with --out", path=args.out)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    documents = clean_documents(SOURCES, args.packages, read_avoided(args.avoid))
    parts = split_documents(documents)
    with new_folder(args.out) as folder:
        write_corpus(parts, SOURCES, folder)
    for part, items in parts.items():
        print(f"{part}: {len(items):,} documents, {sum(len(item.document.pairs) for item in items):,} pairs")


if __name__ == "__main__":
    try:
        main()
    except (DocgraphError, ModuleNotFoundError) as error:
        print(f"make_everyday.py: {error}", file=sys.stderr)
        sys.exit(2)
