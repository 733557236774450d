"""Scores of the trained pipeline on gold tokens, and its model card."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from english.data import without_annotation

CARD = """# en_docgraph

The English pipeline inside docgraph: a spaCy pipeline that finds words, parts of speech, morphology, lemmas and
dependency trees. It is loaded by `docgraph annotate --lang en`, and by spaCy wherever docgraph is installed:

```python
import spacy
from docgraph.annotate.registry import ENGLISH

nlp = spacy.load(ENGLISH)
```

## What it is

| component | what it does |
|---|---|
| `tok2vec` | 4 convolutional layers of width 96 on hashed word features and floret vectors (20,000 x 64) |
| `tagger`, `morphologizer` | Penn Treebank tags; universal parts of speech and features |
| `trainable_lemmatizer` | edit trees |
| `docgraph_lemmas` | lemmas by lexicon, dictionary (simplemma) and rule; a second look at uncertain tags |
| `parser` | transition-based, Universal Dependencies relations |

{size:.1f} MB in all. No component needs the network or a GPU.

## Scores

Gold tokens and sentences; all words count, punctuation included; lemmas with case.

{table}

Speed: {speed:,.0f} words/s of processor time on one core{processor}.

`python scripts/train_english.py` trains it from the data below. The test set served to measure only; settings were
chosen on the development set of EWT.

## Data and licence

The model is licensed **CC BY-SA 4.0**, as its main training data is.

| data | used for | licence |
|---|---|---|
| UD English EWT, train | everything | CC BY-SA 4.0 |
| OntoGUM, train (texts of GUM) | everything but the reranker's examples | CC BY, CC BY-SA or public domain, by text |
| Europarl, English side | vectors, capitalisation counts | no known restriction |
| Bible (public domain translation) | vectors, capitalisation counts | public domain |
| SuttaCentral, English translations | vectors, capitalisation counts | CC0 |

## Limits

- Trained on weblogs, e-mails, reviews, answers, newsgroups and the genres of GUM; expect less on verse, code and old
  spelling.
- Half of the lemma errors are capitals: whether *Team* is a name decides between *team* and *Team*.
- Misspelt words keep their spelling; EWT corrects them in its lemmas.
- No named entities, no sentence boundaries: docgraph finds sentences before it parses.
"""


@dataclass(frozen=True, slots=True)
class Scores:
    """Percentages of words; lemmas are compared with case."""

    words: int
    uas: float
    las: float
    upos: float
    xpos: float
    lemma: float
    words_per_second: float
    """By processor time of one thread."""


def evaluate(nlp: Language, gold: Sequence[Doc]) -> Scores:
    """Parses the gold tokens of each sentence and compares. Punctuation counts, and relations include subtypes."""
    docs = [without_annotation(sentence, nlp) for sentence in gold]
    list(nlp.pipe(docs[:50]))  # warms up
    docs = [without_annotation(sentence, nlp) for sentence in gold]
    begun = time.process_time()
    parsed = list(nlp.pipe(docs, batch_size=128))
    seconds = time.process_time() - begun
    pairs = [pair for expected, doc in zip(gold, parsed, strict=True) for pair in zip(expected, doc, strict=True)]

    def percent(correct: list[bool]) -> float:
        return 100 * sum(correct) / len(correct)

    heads = [a.head.i == b.head.i for a, b in pairs]
    return Scores(
        words=len(pairs),
        uas=percent(heads),
        las=percent([head and a.dep_ == b.dep_ for head, (a, b) in zip(heads, pairs, strict=True)]),
        upos=percent([a.pos_ == b.pos_ for a, b in pairs]),
        xpos=percent([a.tag_ == b.tag_ for a, b in pairs]),
        lemma=percent([a.lemma_ == b.lemma_ for a, b in pairs]),
        words_per_second=len(pairs) / seconds,
    )


def write_card(path: Path, scores: Mapping[str, Scores], size: float, processor: str) -> None:
    """Writes the model card with the measured scores; `size` is in MB."""
    rows = ["| set | words | UAS | LAS | UPOS | XPOS | lemma |", "|---|---|---|---|---|---|---|"]
    for name, s in scores.items():
        figures = " | ".join(f"{value:.1f}" for value in (s.uas, s.las, s.upos, s.xpos, s.lemma))
        rows.append(f"| {name} | {s.words:,} | {figures} |")
    speed = max(s.words_per_second for s in scores.values())
    text = CARD.format(table="\n".join(rows), size=size, speed=speed, processor=f" ({processor})" if processor else "")
    path.write_text(text, encoding="utf-8")
