"""Make English-Russian dialogues of four sentences whose last one is translated right only with those before it.

    python scripts/make_russian_dialogue.py --out corpora/dialogue_en-ru --suites suites/voita/*.json.xz
    docgraph prepare configs/data/dialogue_en-ru.yaml
    python scripts/merge_stores.py prepared/en-ru prepared/dialogue_en-ru*2 --out prepared/en-ru_dialogue

Each dialogue is a document, made from the tables of scripts/russian_dialogue: the address stays familiar or polite
(formality), a name keeps its Russian form (names), and what English leaves out comes from the sentence before: a verb
(verb_phrases), or the case and gender of a word (inflections). Dialogues about address and names come in two versions
with the same English. Half of the dialogues are written without ё, as much Russian text is. Dialogues with a sentence
of at least five words that is in a held-out file or contrastive suite, in either language, are left out.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from corpus_folders import write_documents
from docgraph.evaluation.suites import read_suite
from drop_overlap import held_out_sentences, long_sentences, normalised
from russian_dialogue import formality, inflections, names, verb_phrases
from russian_dialogue.tables import Dialogue, Sentence

KINDS = {"formality": formality, "names": names, "verb_phrases": verb_phrases, "inflections": inflections}
MAX_FAILURES = 20000
_BETWEEN_SENTENCES = re.compile(r"(?<=[.?!…]) +")


def groups(
    draw: Callable[[random.Random], tuple[Dialogue, ...]], generator: random.Random, count: int
) -> Iterator[tuple[Dialogue, ...]]:
    """Yields groups of versions with `count` dialogues in all; no two groups end on the same two sentences.

    Raises SystemExit if the tables do not have so many.
    """
    seen: set[tuple[Sentence, ...]] = set()
    made = failures = 0
    while made < count:
        versions = draw(generator)
        ending = tuple(versions[0][-2:]) if versions else ()
        if not ending or ending in seen:
            failures += 1
            if failures > MAX_FAILURES:
                raise SystemExit(f"the tables have no more than {made:,} different dialogues; lower --count")
            continue
        failures = 0
        seen.add(ending)
        made += len(versions)
        yield versions


def without_yo(dialogue: Dialogue) -> Dialogue:
    """Returns a dialogue with е in place of ё."""
    return [(english, russian.replace("ё", "е").replace("Ё", "Е")) for english, russian in dialogue]


def suite_sentences(paths: list[Path]) -> set[str]:
    """Returns the normalised sentences of at least five words of contrastive suites, of both languages."""
    texts: list[str] = []
    for path in paths:
        for contrast in read_suite(path).contrasts:
            texts += [contrast.source, *contrast.candidates, *contrast.source_context, *contrast.target_context]
    # A subtitle may hold more than one sentence.
    parts = [part for text in texts for part in _BETWEEN_SENTENCES.split(text)]
    return long_sentences([*texts, *parts])


def is_held_out(dialogue: Dialogue, held_out: set[str]) -> bool:
    """Returns whether a dialogue has one of the held-out sentences, which are written without ё."""
    return any(normalised(text) in held_out for sentence in without_yo(dialogue) for text in sentence)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="corpus folder")
    parser.add_argument("--held-out", type=Path, nargs="*", default=[], help="text files, one sentence per line")
    parser.add_argument("--suites", type=Path, nargs="*", default=[], help="contrastive suites")
    parser.add_argument("--count", type=int, default=6000, help="dialogues of each of the four kinds")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same dialogues")
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    held_out = held_out_sentences(arguments.held_out) | suite_sentences(arguments.suites)
    held_out = {sentence.replace("ё", "е") for sentence in held_out}
    made = [
        dialogue
        for kind in KINDS.values()
        for versions in groups(kind.draw, generator, arguments.count)
        for dialogue in versions
    ]
    kept = [dialogue for dialogue in made if not is_held_out(dialogue, held_out)]
    kept = [without_yo(dialogue) if generator.random() < 0.5 else dialogue for dialogue in kept]
    generator.shuffle(kept)
    write_documents(arguments.out, kept)
    print(f"{len(kept):,} dialogues written, {len(made) - len(kept):,} left out")


if __name__ == "__main__":
    main()
