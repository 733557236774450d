"""Find the words and expressions that a model mistranslates, and what it says instead.

    python scripts/find_mistranslations.py candidates.tsv -o mistranslations.tsv

A candidate is a line with four columns: the words, the class and the translations of an entry of a dictionary
(docgraph/annotate/dictionary.py), and a sentence in which the words occur. The sentence is translated. If the
translation has none of the translations of the entry, the words that the model says instead are those that its
cross-attention aligns with the words of the entry. The output has one line for each such candidate, with six columns:
those of the entry, what the model says instead, the sentence, and its translation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from docgraph.annotate.dictionary import Dictionary, Entry, Use, parse_entry, text_lemmas
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.translation.text.language_check import function_words
from docgraph.translation.translator import Translator

COLUMNS = 4
BATCH = 512
"""Sentences that are translated at a time."""


class Candidate(NamedTuple):
    """An entry, as text and parsed, and a sentence in which it occurs."""

    columns: list[str]
    entry: Entry
    sentence: str


def read_candidates(paths: Sequence[Path], language: str) -> Iterator[Candidate]:
    """Yields the candidates of some files; each entry once."""
    seen = set[str]()
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            *columns, sentence = line.split("\t")
            if len(columns) != COLUMNS - 1:
                raise DocgraphError(f"{path}:{number}: has {len(columns) + 1} columns instead of {COLUMNS}")
            if columns[0] not in seen:
                seen.add(columns[0])
                yield Candidate(columns, parse_entry("\t".join(columns), language), sentence)


def says_instead(translator: Translator, candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, str, list[str]]]:
    """Yields the candidates that are mistranslated, with the translation and the words that are wrong in it."""
    assert translator.languages is not None
    source, target = translator.languages
    documents = [Document.from_sentences([each.sentence]) for each in candidates]
    texts = [translation.texts[0] for translation in translator.translate_all(documents)]
    attention = translator.subword_attention([each.sentence for each in candidates], texts)
    for candidate, document, text, own in zip(candidates, documents, texts, attention, strict=True):
        annotation = translator.annotate(document)
        use = next(Dictionary([candidate.entry], (source, target)).find(annotation), None)
        if use is None or not candidate.entry.is_missing(text):
            continue
        spans = list(zip(annotation.starts.tolist(), annotation.ends.tolist(), strict=True))
        found = own.translations(spans, text)
        yield candidate, text, _wrong_words(use, [text[slice(*span)] if span else "" for span in found], target)


def _wrong_words(use: Use, translations: Sequence[str], language: str) -> list[str]:
    """Returns the lemmas of the translations of the words of a use, without function words and right words."""
    right = {lemma for text in use.entry.translations for lemma in text_lemmas(text, language)}
    words = (lemma for word in use.words for lemma in text_lemmas(translations[word], language))
    return list(dict.fromkeys(word for word in words if word not in right | function_words(language)))


def main() -> None:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidates", type=Path, nargs="+", help="files of candidates")
    parser.add_argument("--model", default="en-fr", help="a model folder or the name of an embedded model")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of the mistranslated candidates")
    arguments = parser.parse_args()
    try:
        translator = Translator.load(arguments.model)
        if translator.languages is None:
            raise DocgraphError(f"{arguments.model} does not state its languages")
        candidates = list(read_candidates(arguments.candidates, translator.languages[1]))
        lines = []
        for start in range(0, len(candidates), BATCH):
            for candidate, text, wrong in says_instead(translator, candidates[start : start + BATCH]):
                if wrong:
                    lines.append("\t".join([*candidate.columns, " | ".join(wrong), candidate.sentence, text]))
            print(f"{min(start + BATCH, len(candidates)):,} of {len(candidates):,}", file=sys.stderr)
        with replacing(arguments.output) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except DocgraphError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
