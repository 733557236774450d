"""Train a Chinese spaCy pipeline (tagger, morphologizer, parser; words by jieba) from UD treebanks, and score it.

    pip install floret opencc-python-reimplemented
    python scripts/train_chinese.py --ud ud/zh --held-out gsdsimp-ud-test --raw docs.zh.txt.xz --out models/zh_docgraph
    docgraph annotate book.txt --annotator spacy:models/zh_docgraph+coref:zh -o book.conllu

--ud is a folder of CoNLL-U files, plain or xz; all but the held-out one are used for training. Traditional characters
are converted to simplified ones. The vectors are learnt from --raw, Chinese text with one sentence per line. The scores
of the held-out treebank, on its own words and on jieba's, are printed and written to README.md of the pipeline.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.initialize import convert_vectors
from spacy.util import load_config
from spacy.vocab import Vocab

from english import data, training
from english.report import evaluate

CONFIG = Path(__file__).parent / "chinese" / "config.cfg"
VECTORS = {"mode": "floret", "model": "cbow", "hashCount": 2, "bucket": 20_000, "dim": 64, "minn": 1, "maxn": 2}
VECTOR_TRAINING = {"minCount": 5, "epoch": 4, "neg": 10, "lr": 0.08, "ws": 4}
META = {
    "name": "docgraph",
    "version": "1.0.0",
    "description": "Chinese tagger and dependency parser, trained by docgraph's scripts/train_chinese.py",
    "license": "CC BY-SA 4.0",
}
CARD = """# zh_docgraph

A Chinese spaCy pipeline: words by jieba, parts of speech, dependency trees. Made by docgraph's
scripts/train_chinese.py from {treebanks} ({sentences:,} sentences; traditional characters converted to simplified
ones). Licence: CC BY-SA 4.0, as the treebanks'. Size: {size:.1f} MB.

Scores on {held_out} ({count} sentences, not used in training), punctuation included:

| words | UAS | LAS | UPOS | words found |
|---|---|---|---|---|
| of the treebank | {uas:.1f} | {las:.1f} | {upos:.1f} | |
| of jieba (F1 of words with the right head, relation, part of speech) | {jieba_uas:.1f} | {jieba_las:.1f} | \
{jieba_upos:.1f} | {jieba_words:.1f} |
"""
Span = tuple[int, int]


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ud", type=Path, required=True, help="folder of Chinese UD treebanks in CoNLL-U")
    parser.add_argument("--held-out", default="gsdsimp-ud-test", help="end of the name of the held-out file")
    parser.add_argument("--raw", type=Path, nargs="+", required=True, help="Chinese text for vectors, plain or .xz")
    parser.add_argument("--lines", type=int, default=150_000, help="sample of lines of --raw for the vectors")
    parser.add_argument("--out", type=Path, required=True, help="output folder; replaced if it exists")
    parser.add_argument("--work", type=Path, default=Path("build/chinese"), help="folder for intermediate results")
    parser.add_argument("--steps", type=int, default=1000, help="training steps")
    return parser.parse_args()


def main() -> None:
    """Runs all stages."""
    args = arguments()
    training.fast_blas()
    args.work.mkdir(parents=True, exist_ok=True)
    vocab = spacy.blank("zh").vocab
    held_out = data.find_treebank(args.ud, args.held_out)
    files = [path for path in sorted(args.ud.glob("*.conllu*")) if path != held_out]
    sentences = [sentence for path in files for sentence in read_simplified(path, vocab)]
    gold = list(read_simplified(held_out, vocab))
    random.Random(0).shuffle(sentences)
    dev = len(sentences) // 20
    vectors = args.work / "vectors"
    if not vectors.exists():
        train_vectors(sample_lines(args.raw, args.lines), vectors)
    nlp = training.train(
        load_config(CONFIG),
        args.work / "pipeline",
        {
            "paths.train": str(data.save(sentences[dev:], args.work / "train.spacy")),
            "paths.dev": str(data.save(sentences[:dev], args.work / "dev.spacy")),
            "paths.vectors": str(vectors),
            "training.max_steps": args.steps,
            "training.eval_frequency": max(1, args.steps // 5),
            "training.optimizer.learn_rate.total_steps": args.steps * 11 // 10,
        },
    )
    nlp.meta.update(META)
    nlp.to_disk(args.work / "packed")
    card = describe(spacy.load(args.work / "packed"), files, len(sentences), held_out, gold, args.work / "packed")
    (args.work / "packed" / "README.md").write_text(card, encoding="utf-8")
    print(card)
    if args.out.exists():
        shutil.rmtree(args.out)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(args.work / "packed", args.out)


def read_simplified(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yields the sentences of a treebank in simplified characters; a word keeps its number of characters."""
    simplify = importlib.import_module("opencc").OpenCC("t2s").convert
    for sentence in data.read_treebank(path, vocab):
        words = [simplify(token.text) for token in sentence]
        yield Doc(
            vocab,
            words=words,
            spaces=[bool(token.whitespace_) for token in sentence],
            tags=[token.pos_ for token in sentence],  # half of the treebanks have no tags of their own
            pos=[token.pos_ for token in sentence],
            lemmas=words,
            heads=[token.head.i for token in sentence],
            deps=[token.dep_ for token in sentence],
            sent_starts=[token.i == 0 for token in sentence],
        )


def sample_lines(paths: Iterable[Path], count: int) -> list[str]:
    """Returns a uniform sample of the lines of some files."""
    lines = [line.strip() for path in paths for line in data.open_text(path) if line.strip()]
    return random.Random(0).sample(lines, min(count, len(lines)))


def train_vectors(lines: list[str], out: Path) -> None:
    """Trains floret vectors on the words of jieba and writes a spaCy folder that contains nothing else."""
    floret, jieba = importlib.import_module("floret"), importlib.import_module("jieba")
    text, table = out.with_suffix(".txt"), out.with_suffix(".floret")
    with text.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(" ".join(word for word in jieba.cut(line) if not word.isspace()) + "\n")
    model = floret.train_unsupervised(str(text), thread=os.cpu_count() or 1, verbose=0, **VECTORS, **VECTOR_TRAINING)
    model.save_floret_vectors(str(table))
    nlp = spacy.blank("zh")
    convert_vectors(nlp, table, truncate=0, prune=0, mode="floret")
    vectors = nlp.vocab.vectors.data
    vectors /= np.linalg.norm(vectors, axis=1).mean()  # a word is the mean of many rows
    nlp.to_disk(out)


def describe(nlp: Language, files: list[Path], count: int, held_out: Path, gold: list[Doc], folder: Path) -> str:
    """Returns the model card with the scores of the held-out treebank."""
    scores = evaluate(nlp, gold)
    words, heads, labels, tags = jieba_scores(nlp, gold)
    return CARD.format(
        treebanks=", ".join(path.name.partition(".")[0] for path in files),
        sentences=count,
        size=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6,
        held_out=held_out.name.partition(".")[0],
        count=len(gold),
        uas=scores.uas,
        las=scores.las,
        upos=scores.upos,
        jieba_words=words,
        jieba_uas=heads,
        jieba_las=labels,
        jieba_upos=tags,
    )


def jieba_scores(nlp: Language, gold: list[Doc]) -> tuple[float, float, float, float]:
    """Returns the F1 of words, and of words with the right head, relation and part of speech, on jieba's words."""
    expected = predicted = 0
    right = [0, 0, 0, 0]
    for reference in gold:
        doc = nlp.tokenizer("".join(token.text_with_ws for token in reference))
        for token in doc:
            token.is_sent_start = token.i == 0
        for _, component in nlp.pipeline:
            doc = component(doc)
        analyses = {_span(token): token for token in doc if not token.is_space}
        expected, predicted = expected + len(reference), predicted + len(analyses)
        for token in reference:
            found = analyses.get(_span(token))
            if found is None:
                continue
            head = _span(token.head) == _span(found.head)
            right = [
                total + correct
                for total, correct in zip(
                    right, (True, head, head and token.dep_ == found.dep_, token.pos_ == found.pos_), strict=True
                )
            ]
    words, heads, labels, tags = (200 * total / (expected + predicted) for total in right)
    return words, heads, labels, tags


def _span(token: spacy.tokens.Token) -> Span:
    return token.idx, token.idx + len(token)


if __name__ == "__main__":
    main()
