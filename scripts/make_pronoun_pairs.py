"""Make training pairs whose pronoun takes its gender from a hint, and mend the hints of a store.

    python scripts/make_pronoun_pairs.py pairs corpora/novels_en-fr corpora/tatoeba_en-fr \\
        --out corpora/pronouns_en-fr --exclude suites/bawden/anaphora.json --held-out suites/contrapro/current.src
    docgraph prepare configs/data/pronouns_en-fr.yaml
    python scripts/make_pronoun_pairs.py hints prepared/pronouns_en-fr corpora/pronouns_en-fr/train.hints.txt

    docgraph hints prepared/europarl_en-fr --model en-fr
    python scripts/make_pronoun_pairs.py mend prepared/europarl_en-fr --agreeing corpora/agreeing_en-fr

`pairs` writes a corpus, one pair per document, and the hint of each pair: the words that have the hint, a tab, the
hint. The pairs are found in corpora or written from the word lists of scripts/pronouns: *it* and *they* as subjects and
objects, demonstratives, *one*, *both*, people as subjects beside a hinted object, and hints without effect. Where the
referent is outside the sentence, the same English has two French sentences, and only the hint decides. Words of the
files after --exclude never become hints, and sentences of these files and of those after --held-out are left out.
`hints` writes these hints into the prepared corpus. `mend` works on the hints that `docgraph hints` found by
coreference: it removes those whose gender the reference contradicts, and writes the confirmed ones as a corpus like
that of `pairs`.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from corpus_folders import read_documents, write_documents
from docgraph.corpus.hints import CorpusHints, write_hints
from docgraph.corpus.store import PreparedCorpus
from docgraph.model.hints import RELATIONS, Hint
from drop_overlap import held_out_sentences, normalised
from pronouns.french import Lexicon
from pronouns.objects import find_impersonal, find_objects
from pronouns.pairs import IMPERSONAL, PRONOUN, HintWriter, PronounPair, as_pairs, find_pairs, twin
from pronouns.sentences import SentenceWriter

CACHE = 1 << 28
MAX_IMPERSONAL = 5000
"""Pairs whose *it* refers to nothing; corpora have many, and few hints are wrong in this way."""
Group = tuple[PronounPair, ...]
"""Pairs with the same source sentence."""
_FEMININE = re.compile(r"\b(elles?|celles?)\b", re.IGNORECASE)
_MASCULINE = re.compile(r"\b(ils?|celui|ceux|eux)\b", re.IGNORECASE)


def read_pairs(folders: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yields the training pairs of corpora."""
    for folder in folders:
        for document in read_documents(folder):
            for source, target, *_ in document:
                yield source.strip(), target.strip()


def write_corpus(folder: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    """Writes source sentences, target sentences and hints; each pair is a document."""
    rows = list(rows)
    write_documents(folder, ([row[:2]] for row in rows))
    (folder / "train.hints.txt").write_text("".join(row[2] + "\n" for row in rows), encoding="utf-8")


def make_pairs(arguments: argparse.Namespace) -> None:
    """Runs `pairs`."""
    generator = random.Random(arguments.seed)
    corpus = list(read_pairs(arguments.corpora))
    lexicon = Lexicon(target for _, target in corpus)
    excluded = frozenset(
        word for path in arguments.exclude for word in re.findall(r"[a-zà-ÿœ\-]+", path.read_text("utf-8").lower())
    )
    held_out = held_out_sentences([*arguments.exclude, *arguments.held_out])
    kinds = dict[str, list[Group]]()
    for kind, group in _groups(corpus, arguments.written, lexicon, generator):
        if normalised(group[0].source) not in held_out:
            kinds.setdefault(kind, []).append(group)
    drawn = draw_evenly(kinds, arguments.lines, generator)
    rows = [pair for groups in drawn.values() for group in groups for pair in group]
    generator.shuffle(rows)
    writer = HintWriter(lexicon, excluded, generator)
    write_corpus(
        arguments.out,
        ((pair.source, pair.target, f"{pair.words}\t{writer.draw(pair.gender, pair.plural)}") for pair in rows),
    )
    for kind, groups in drawn.items():
        print(f"{kind}: {sum(map(len, groups)):,} of {sum(map(len, kinds[kind])):,} pairs")
    print(f"{len(rows):,} pairs with hints in {arguments.out}")


def _groups(
    corpus: Sequence[tuple[str, str]], count: int, lexicon: Lexicon, generator: random.Random
) -> Iterator[tuple[str, Group]]:
    """Yields kinds and groups of pairs with the same source sentence: a pair alone, or both genders.

    `count` sentences are written.
    """
    for pair in dict.fromkeys(find_pairs(corpus)):
        other = twin(pair, lexicon)
        yield ("subject", (pair,)) if other is None else ("subject, twins", (pair, other))
    objects = dict.fromkeys(find_objects(corpus, lexicon))
    for written in (*objects, *SentenceWriter(generator).sentences(count)):
        yield written.kind, as_pairs(written)
    impersonal = list(dict.fromkeys(find_impersonal(corpus)))
    for written in generator.sample(impersonal, min(MAX_IMPERSONAL, len(impersonal))):
        yield written.kind, (generator.choice(as_pairs(written)),)


def draw_evenly(kinds: Mapping[str, list[Group]], lines: int, generator: random.Random) -> dict[str, list[Group]]:
    """Returns groups of each kind with about `lines` pairs in all; kinds with few pairs are kept whole."""
    drawn, left = dict[str, list[Group]](), lines
    for done, (kind, groups) in enumerate(sorted(kinds.items(), key=lambda item: sum(map(len, item[1])))):
        share, count, kept = left // (len(kinds) - done), 0, list[Group]()
        for group in generator.sample(groups, len(groups)):
            if count + len(group) > share:
                break
            kept.append(group)
            count += len(group)
        drawn[kind], left = kept, left - count
    return drawn


def make_hints(arguments: argparse.Namespace) -> None:
    """Runs `hints`."""
    corpus = PreparedCorpus.open(arguments.store, "train", CACHE)
    lines = arguments.hints.read_text(encoding="utf-8").splitlines()
    if len(lines) != len(corpus):
        raise SystemExit(f"{arguments.hints} has {len(lines):,} hints for {len(corpus):,} documents; use its own store")
    write_hints(corpus, (_beside_words(corpus, index, *line.split("\t")) for index, line in enumerate(lines)))


def _beside_words(corpus: PreparedCorpus, index: int, words: str, text: str) -> list[Hint]:
    """Returns a hint after each of the words in a one-sentence document."""
    ids = tuple(corpus.tokenizer.target.encode(text)[0][:-1].tolist())
    owners, hinted = corpus.example(index, None).source_words[0], frozenset(words.split())
    forms = corpus.annotation(index).forms
    places = [np.flatnonzero(owners == word) for word in range(len(forms)) if forms[word].lower() in hinted]
    return [Hint(0, int(place[-1]) + 1, ids, "coreference") for place in places if len(place)]


def mend_hints(arguments: argparse.Namespace) -> None:
    """Runs `mend`."""
    corpus = PreparedCorpus.open(arguments.store, "train", CACHE)
    hints = CorpusHints(arguments.store, "train", RELATIONS)
    target = corpus.tokenizer.target
    lexicon = Lexicon(target.decode(s) for index in range(len(corpus)) for s in corpus.sentences(index, "target")[0])
    counts, agreeing, kept = Counter[str](), dict[tuple[str, str, str], int](), list[list[Hint]]()
    for index in range(len(corpus)):
        kept.append([])
        for hint in hints.document(index):
            verdict, row = _compare(corpus, index, hint, lexicon)
            counts[verdict] += hint.relation == "coreference"
            if verdict != "contradicted":
                kept[-1].append(hint)
            if verdict.startswith("agrees") and len(PRONOUN.findall(row[0])) == 1:
                agreeing[row] = 4 if verdict == "agrees, feminine" else 2
    write_hints(corpus, kept)
    if arguments.agreeing:
        rows = [row for row, times in agreeing.items() for _ in range(times)]
        random.Random(arguments.seed).shuffle(rows)
        write_corpus(arguments.agreeing, rows)
    print("; ".join(f"{verdict}: {count:,}" for verdict, count in counts.most_common()))


def _compare(corpus: PreparedCorpus, index: int, hint: Hint, lexicon: Lexicon) -> tuple[str, tuple[str, str, str]]:
    """Returns what the reference says about the gender of a hint, and its sentence pair with the hint."""
    tokenizer = corpus.tokenizer
    texts = (
        tokenizer.source.decode(corpus.sentences(index, "source")[0][hint.sentence]),
        tokenizer.target.decode(corpus.sentences(index, "target")[0][hint.sentence]),
    )
    phrase = tokenizer.target.decode(np.array(hint.ids))
    gender, feminine, masculine = (
        lexicon.gender(phrase),
        bool(_FEMININE.search(texts[1])),
        bool(_MASCULINE.search(IMPERSONAL.sub(" ", texts[1]))),
    )
    if hint.relation != "coreference" or gender is None or feminine == masculine:
        verdict = "no evidence"
    elif (gender == "f") != feminine:
        verdict = "contradicted"
    else:
        verdict = "agrees, feminine" if feminine else "agrees, masculine"
    pronoun = PRONOUN.search(texts[0])
    return verdict, (*texts, f"{pronoun[0].lower() if pronoun else ''}\t{phrase}")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    commands = parser.add_subparsers(required=True)
    pairs = commands.add_parser("pairs", help="write pairs and their hints")
    pairs.add_argument("corpora", type=Path, nargs="+", help="folders with train.src.txt.xz and train.tgt.txt.xz")
    pairs.add_argument("--out", type=Path, required=True)
    pairs.add_argument("--exclude", type=Path, nargs="*", default=[], help="files whose words never become hints")
    pairs.add_argument("--held-out", type=Path, nargs="*", default=[], help="files whose sentences are left out")
    pairs.add_argument("--written", type=int, default=30_000, help="sentences written from word lists (default 30000)")
    pairs.add_argument(
        "--lines", type=int, default=110_000, help="pairs in all, drawn evenly over the kinds (default 110000)"
    )
    pairs.set_defaults(run=make_pairs)
    hints = commands.add_parser("hints", help="write the hints of such pairs into their store")
    hints.add_argument("store", type=Path)
    hints.add_argument("hints", type=Path)
    hints.set_defaults(run=make_hints)
    mend = commands.add_parser("mend", help="remove the hints of a store that its references contradict")
    mend.add_argument("store", type=Path)
    mend.add_argument("--agreeing", type=Path, help="folder for the pairs whose hints the references confirm")
    mend.set_defaults(run=mend_hints)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
