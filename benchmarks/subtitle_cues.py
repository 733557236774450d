"""Compare ways to translate subtitles: cue by cue, or whole sentences that are divided among their cues again.

    python -m benchmarks.subtitle_cues talks.en talks.fr --corpus more.en more.fr [--model en-fr] [--width 42]

The talks (one sentence per line, a blank line between talks) are cut into cues of at most `--width` characters, and
written as a SubRip file, which is translated in these ways:

- cue by cue: every cue is translated as a sentence;
- sentences, by length: sentences are read across cues, translated, and divided at the same relative positions;
- sentences, by alignment: the same, divided where the fewest links of the cross-attention cross (the default);
- whole sentences: the sentences of the input, without cues; the ceiling of the first column.

BLEU is over the joined text, by sentence, and by cue. The references of cues are the reference sentences, divided where
the fewest links of a statistical aligner cross, which is trained on the talks and the files of `--corpus`.
"""

from __future__ import annotations

import argparse
import io
import itertools
import lzma
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from docgraph.document import Document, Link
from docgraph.formats import read, render
from docgraph.formats.cue_breaks import place_breaks
from docgraph.formats.markup_positions import token_spans
from docgraph.formats.subtitles import SRT
from docgraph.translation.translator import Translator

CHARACTERS_PER_SECOND = 15
_WORD = re.compile(r"\w+['’]|\w+|[^\w\s]")
Pair = tuple[str, str]


def read_pairs(source: Path, target: Path) -> list[list[Pair]]:
    """Returns the sentence pairs of each document; blank lines separate documents."""
    sides = []
    for path in (source, target):
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            sides.append([" ".join(line.split()) for line in lines])
    documents: list[list[Pair]] = [[]]
    for pair in zip(*sides, strict=True):
        if pair[0] and pair[1]:
            documents[-1].append((pair[0], pair[1]))
        elif documents[-1]:
            documents.append([])
    return [document for document in documents if document]


def cut(sentence: str, width: int) -> list[str]:
    """Returns a sentence as cues of at most `width` characters; words are not cut."""
    cues: list[str] = []
    for word in sentence.split():
        if cues and len(cues[-1]) + 1 + len(word) <= width:
            cues[-1] += f" {word}"
        else:
            cues.append(word)
    return cues


def subtitles(cues: Sequence[str]) -> str:
    """Returns cues as a SubRip file, with the time that it takes to read them."""
    parts, begin = [], 0.0
    for number, cue in enumerate(cues, start=1):
        end = begin + len(cue) / CHARACTERS_PER_SECOND
        parts.append(f"{number}\n{_timestamp(begin)} --> {_timestamp(end)}\n{cue}\n\n")
        begin = end
    return "".join(parts)


def _timestamp(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours:02}:{minutes:02}:{rest:06.3f}".replace(".", ",")


def cue_texts(source: str) -> list[str]:
    """Returns the text of each cue of a SubRip file, on one line."""
    assert SRT.cues is not None
    return [" ".join(source[a:b].strip("\u00a0 ") for a, b in cue.lines).strip() for cue in SRT.cues(source)]


def divide_by_links(pairs: Sequence[Pair], corpus: Sequence[Pair], width: int) -> Iterator[list[str]]:
    """Yields the target of each pair, divided among the cues of its source by a statistical aligner."""
    from docgraph.evaluation.alignment import Aligner, Bitext

    everything = [*corpus, *pairs]
    spans = [tuple([match.span() for match in _WORD.finditer(side)] for side in pair) for pair in everything]
    words = [
        tuple([side[a:b].lower() for a, b in found] for side, found in zip(pair, both, strict=True))
        for pair, both in zip(everything, spans, strict=True)
    ]
    bitext = Bitext.of([(source, target) for source, target in words])
    posteriors = Aligner(bitext).posteriors(first=len(corpus), least=0.02)
    found: list[list[Link]] = [[] for _ in pairs]
    offsets = bitext.source_offsets.searchsorted(posteriors.source, side="right") - 1
    for n, i, j, weight in zip(offsets, posteriors.source, posteriors.target, posteriors.agreement, strict=True):
        source_span = spans[n][0][i - bitext.source_offsets[n]]
        target_span = spans[n][1][j - bitext.target_offsets[n]]
        # Ten times the weight: for references, punctuation and position only break ties.
        found[n - len(corpus)].append(Link(target_span[0], source_span[0], 10 * float(weight)))
    for (source, target), links in zip(pairs, found, strict=True):
        lengths = [len(cue) + 1 for cue in cut(source, width)]
        breaks = list(itertools.accumulate(lengths))[:-1]
        projected = [place * len(target) / len(source) for place in breaks]
        tokens = token_spans(target)
        room = [float(len(target))] * len(lengths)
        counts = place_breaks(tokens, target, breaks, projected, room, tuple(sorted(links)))
        ends = [0, *(tokens[count - 1][1] if count else 0 for count in counts), len(target)]
        yield [target[a:b].strip() for a, b in itertools.pairwise(ends)]


def measure(talks: list[list[Pair]], corpus: list[Pair], translator: Translator, width: int) -> None:
    """Prints a table."""
    import sacrebleu

    pairs = [pair for talk in talks for pair in talk]
    cues = [cut(source, width) for source, _ in pairs]
    by_cue = list(itertools.chain.from_iterable(divide_by_links(pairs, corpus, width)))
    whole = [target for _, target in pairs]

    def grouped(texts: Sequence[str]) -> list[str]:
        remaining = iter(texts)
        return [" ".join(text for text in itertools.islice(remaining, len(each)) if text) for each in cues]

    def show(name: str, texts: Sequence[str], seconds: float, has_cues: bool = True) -> None:
        joined = sacrebleu.corpus_bleu(grouped(texts) if has_cues else list(texts), [whole]).score
        single = f"{sacrebleu.corpus_bleu(list(texts), [by_cue]).score:.1f}" if has_cues else ""
        empty = f"{sum(not text for text in texts)}" if has_cues else ""
        print(f"| {name} | {joined:.1f} | {single} | {empty} | {seconds:.0f} |", flush=True)

    print(f"{len(talks)} talks, {len(pairs)} sentences, {len(by_cue)} cues\n")
    print("| | BLEU, joined | BLEU, cues | empty cues | s |\n|---|---:|---:|---:|---:|")
    begun = time.monotonic()
    documents = [Document.from_sentences([cue for source, _ in talk for cue in cut(source, width)]) for talk in talks]
    texts = [text for translation in translator.translate_all(documents) for text in translation.texts]
    show("cue by cue", texts, time.monotonic() - begun)
    begun = time.monotonic()
    files = [subtitles([cue for source, _ in talk for cue in cut(source, width)]) for talk in talks]
    read_files = [read(io.StringIO(file), "srt", language=translator.language)[0] for file in files]
    translations = list(translator.translate_all(read_files))
    seconds = time.monotonic() - begun
    for name, aligned in (("sentences, by length", False), ("sentences, by alignment", True)):
        rendered = (
            render([each.source], [each.texts], None, [each.alignments] if aligned else None) for each in translations
        )
        show(name, [text for source in rendered for text in cue_texts(str(source))], seconds)
    begun = time.monotonic()
    documents = [Document.from_sentences([source for source, _ in talk]) for talk in talks]
    texts = [text for translation in translator.translate_all(documents) for text in translation.texts]
    show("whole sentences", texts, time.monotonic() - begun, has_cues=False)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(description="Compare ways to translate subtitles.")
    parser.add_argument("source", type=Path, help="talks, one sentence per line")
    parser.add_argument("target", type=Path, help="their translation")
    parser.add_argument("--corpus", type=Path, nargs=2, action="append", default=[], help="pairs to train the aligner")
    parser.add_argument("--pairs", type=int, default=30_000, help="maximum pairs of each corpus")
    parser.add_argument("--model", default=None, help="model folder (default: the embedded model)")
    parser.add_argument("--width", type=int, default=42, help="characters of a cue")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    options = parse()
    extra = [
        pair
        for paths in options.corpus
        for pair in [pair for document in read_pairs(*paths) for pair in document][: options.pairs]
    ]
    measure(
        read_pairs(options.source, options.target),
        extra,
        Translator.load(options.model, threads=options.threads),
        options.width,
    )
