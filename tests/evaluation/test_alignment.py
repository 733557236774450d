"""The word aligner, on an artificial language with known links and on real text with words spelt alike."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from evaluation_examples import europarl

from docgraph.annotate.rule_based import unicode_words
from docgraph.evaluation import alignment
from docgraph.evaluation.alignment import THRESHOLD, Aligner, Bitext, _digamma
from shared_data import needs_data

Pairs = list[tuple[list[str], list[str]]]


def artificial_bitext(sentences: int, seed: int = 1) -> tuple[Pairs, list[dict[int, int]]]:
    """Word-for-word translations with some neighbours swapped and target words inserted; and their links."""
    generator = random.Random(seed)
    pairs: Pairs = []
    truth = []
    for _ in range(sentences):
        source = [f"s{min(int(generator.expovariate(0.05)), 80)}" for _ in range(generator.randint(4, 14))]
        order = list(range(len(source)))
        for place in range(len(order) - 1):
            if generator.random() < 0.2:
                order[place : place + 2] = order[place + 1], order[place]
        target: list[str] = []
        links = {}
        for place in order:
            if generator.random() < 0.1:
                target.append("nothing")
            links[place] = len(target)
            target.append(source[place].replace("s", "t"))
        pairs.append((source, target))
        truth.append(links)
    return pairs, truth


def best_links(pairs: Pairs, first: int = 0) -> list[dict[int, int]]:
    """The links of the aligner, by position in the sentence."""
    bitext = Bitext.of(pairs)
    best = Aligner(bitext).posteriors(first).best_target(len(bitext.source), THRESHOLD)
    found = []
    for number in range(len(pairs)):
        begin, end = bitext.source_offsets[number : number + 2].tolist()
        base = bitext.target_offsets[number]
        found.append({place - begin: int(best[place] - base) for place in range(begin, end) if best[place] >= 0})
    return found


def test_an_artificial_language_is_learnt() -> None:
    pairs, truth = artificial_bitext(300)
    found = best_links(pairs)
    right = sum(found[n].get(place) == link for n, links in enumerate(truth) for place, link in links.items())
    assert right / sum(map(len, found)) > 0.97
    assert right / sum(map(len, truth)) > 0.95


def test_links_do_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, _ = artificial_bitext(60)
    pairs[7:7] = [([], ["alone"]), (["alone"], []), ([], [])]
    whole, tail = best_links(pairs), best_links(pairs, first=40)
    monkeypatch.setattr(alignment, "BLOCK", 200)
    assert best_links(pairs) == whole
    assert best_links(pairs, first=40) == tail == [{}] * 40 + whole[40:]


def test_digamma() -> None:
    known = {0.01: -100.5608854578687, 1.0: -0.5772156649015329, 7.5: 1.9467574842460866}
    assert _digamma(np.array(list(known))) == pytest.approx(list(known.values()), rel=1e-8)


@needs_data
def test_names_and_numbers_of_real_text_are_found() -> None:
    """The aligner does not see spelling, so names and numbers that occur once on both sides are a test."""
    sides = [[[line[a:b] for a, b in unicode_words(line)] for line in europarl(side, 800)] for side in ("src", "tgt")]
    pairs = list(zip(*sides, strict=True))
    found = best_links([([w.lower() for w in source], [w.lower() for w in target]) for source, target in pairs])
    right = linked = asked = 0
    for (source, target), links in zip(pairs, found, strict=True):
        once, other = Counter(source), Counter(target)
        for place, word in enumerate(source):
            name = word.isdigit() or (place > 0 and word[0].isupper() and len(word) > 3)
            if name and once[word] == other[word] == 1:
                asked += 1
                linked += place in links
                right += links.get(place) == target.index(word)
    assert asked > 200
    assert right / linked > 0.9
    assert right / asked > 0.85
