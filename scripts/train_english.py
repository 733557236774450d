"""Train the embedded English pipeline from treebanks and raw text, and write its folder with the model card.

    python scripts/train_english.py --ewt UD_English-EWT --ontogum OntoGUM --raw europarl.en.txt.xz bible.en.txt \\
        --out src/docgraph/data/en_docgraph

Stages: floret vectors; DocBins; spaCy training (scripts/english/config.cfg); lemma lexicon, and the tag reranker on
tags jackknifed over EWT; packing; evaluation; model card. Training takes about an hour on one core. Results of stages
are kept in --work and reused.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import spacy
from spacy.language import Language

from english import data, lemmas, training
from english.report import Scores, evaluate, write_card

MAX_BYTES = 15_000_000
"""Maximum size of the packed pipeline."""


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.epilog = "The vectors need the package floret: pip install floret."
    parser.add_argument("--ewt", type=Path, required=True, help="folder of UD English EWT (train, dev, test)")
    parser.add_argument("--ontogum", type=Path, required=True, help="folder of OntoGUM in CoNLL-U (train, dev)")
    parser.add_argument(
        "--raw", type=Path, nargs="+", required=True, help="English text, one sentence per line, plain or .xz"
    )
    parser.add_argument("--out", type=Path, required=True, help="output folder; replaced if it exists")
    parser.add_argument("--work", type=Path, default=Path("build/english"), help="folder for intermediate results")
    parser.add_argument("--steps", type=int, default=4000, help="training steps of the pipeline")
    parser.add_argument("--fold-steps", type=int, default=900, help="training steps of the tagger of each fold")
    parser.add_argument("--processor", default="", help="name of the processor, for the model card")
    return parser.parse_args()


def main() -> None:
    """Runs all stages."""
    args = arguments()
    training.fast_blas()
    args.work.mkdir(parents=True, exist_ok=True)
    vocab = spacy.blank("en").vocab
    ewt = list(data.read_treebank(data.find_treebank(args.ewt, "ewt-train"), vocab))
    ontogum = list(data.read_treebank(data.find_treebank(args.ontogum, "ontogum-train"), vocab))
    dev = list(data.read_treebank(data.find_treebank(args.ewt, "ewt-dev"), vocab))

    text, table = args.work / "text.txt", args.work / "vectors"
    if not text.exists():
        data.write_vector_text(args.raw, ([token.text for token in doc] for doc in ewt + ontogum), text)
    if not table.exists():
        data.train_vectors(text, table)
    train_file = data.save(ewt + ontogum, args.work / "train.spacy")
    dev_file = data.save(dev, args.work / "dev.spacy")
    nlp = training.train_pipeline(train_file, dev_file, table, args.work / "pipeline", args.steps)

    capitals = lemmas.capitalisation(line.split() for line in data.open_text(text))
    reranker = lemmas.train_reranker(ewt, ontogum, capitals, table, args.work, args.fold_steps)
    packed = training.pack(nlp, lemmas.lexicon(ewt, ontogum), reranker, args.work / "packed")
    report(packed, args, {"EWT dev": dev})
    if args.out.exists():
        shutil.rmtree(args.out)
    shutil.move(args.work / "packed", args.out)


def report(nlp: Language, args: argparse.Namespace, sets: dict[str, list[spacy.tokens.Doc]]) -> None:
    """Evaluates the packed pipeline, checks its size, and writes its model card."""
    sets["EWT test"] = list(data.read_treebank(data.find_treebank(args.ewt, "ewt-test"), nlp.vocab))
    sets["OntoGUM dev"] = list(data.read_treebank(data.find_treebank(args.ontogum, "ontogum-dev"), nlp.vocab))
    scores: dict[str, Scores] = {}
    for name, gold in sets.items():
        scores[name] = evaluate(nlp, gold)
        print(name, scores[name], flush=True)
    folder = args.work / "packed"
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MAX_BYTES:
        sys.exit(f"the pipeline has {size / 1e6:.1f} MB, more than {MAX_BYTES / 1e6:.0f}; reduce its tables")
    write_card(folder / "README.md", scores, size / 1e6, args.processor)


if __name__ == "__main__":
    main()
