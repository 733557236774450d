"""Make the corpus of everyday English and French from message catalogues, help pages and vocabularies of free packages.

    python scripts/make_everyday.py --list > fetch.sh      # how to fetch and unpack the packages; to be run in FOLDER
    python scripts/make_everyday.py --packages FOLDER --avoid europarl/test.src.txt.xz --out corpora/everyday_en-fr

A few minutes on one core. The corpus is in docgraph's form: train, dev and test, a sentence a line, blank lines
between documents; SOURCES.md says what is from where, under which licence.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docgraph.errors import DocgraphError
from docgraph.files import new_folder
from everyday import holdout, output
from everyday.sources import SOURCES


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.epilog = (
        "It needs the packages polib and lxml (pip install polib lxml), which nothing else in docgraph does."
    )
    parser.add_argument("--list", action="store_true", help="print the commands that fetch and unpack the packages")
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="folder of the unpacked packages")
    parser.add_argument(
        "--avoid",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="English side of other dev and test sets, plain or compressed; their sentences are left out",
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
        raise DocgraphError("this exists already; name another folder with --out", path=args.out)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    documents = list(holdout.clean(SOURCES, args.packages, holdout.read_avoided(args.avoid)))
    parts = holdout.split(documents)
    with new_folder(args.out) as folder:
        output.write(parts, SOURCES, folder)
    for part, items in parts.items():
        print(f"{part}: {len(items):,} documents, {sum(len(item.document.pairs) for item in items):,} pairs")


if __name__ == "__main__":
    try:
        main()
    except (DocgraphError, ModuleNotFoundError) as error:
        print(f"make_everyday.py: {error}", file=sys.stderr)
        sys.exit(2)
