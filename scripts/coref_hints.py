"""Measure the hints that coreference gives to a translation: is the gender of the hint that of the French pronoun?

    python scripts/coref_hints.py corpora/documents_en-fr --split dev test

Counts subjects *it* and *they* whose gender the reference tells: a sentence with as many *it* as *il* or *elle*, all of
one gender, and without *he* or *she*. A hint is judged by the gender of its words, those of the reference that
cross-attention aligns with the antecedent, as `docgraph hints` writes them. The gender of French nouns is counted in
the training part of the corpora.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from corpus_folders import read_documents
from docgraph.annotate.registry import load_pipeline
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.translation.decoding.hints import fill_documents
from docgraph.translation.model_input import example_from_text
from docgraph.translation.translator import Translator
from pronouns.french import Gender, Lexicon
from pronouns.pairs import IMPERSONAL

SUBJECTS = {"it": ("il", "elle"), "they": ("ils", "elles")}
_WORD = re.compile(r"[a-zà-ÿœ]+")
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)


def pronoun_genders(annotation: Annotation, texts: Sequence[str], references: Sequence[str]) -> dict[int, Gender]:
    """Returns the gender in the references of subjects *it* and *they*, by word; doubtful ones are left out."""
    assert annotation.deprels is not None
    subjects: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)
    for word, (form, relation) in enumerate(zip(annotation.forms.to_list(), annotation.deprels.to_list(), strict=True)):
        if form.lower() in SUBJECTS and relation.startswith(("nsubj", "expl")):
            subjects[int(annotation.sentence_of[word]), form.lower()].append((word, relation))
    found: dict[int, Gender] = {}
    for (sentence, form), words in subjects.items():
        if form == "it" and _PERSON.search(texts[sentence]):
            continue
        reference = references[sentence]
        personal = IMPERSONAL.sub(" ", reference) if form == "it" else reference
        counts = Counter(_WORD.findall(personal.lower()))
        masculine, feminine = (counts[pronoun] for pronoun in SUBJECTS[form])
        is_clear = (masculine > 0) != (feminine > 0)
        if is_clear and (len(words) == masculine + feminine or (len(words) == 1 and personal == reference)):
            found.update({word: "f" if feminine else "m" for word, relation in words if relation.startswith("nsubj")})
    return found


def judge(
    texts: Sequence[str], references: Sequence[str], annotation: Annotation, translator: Translator, lexicon: Lexicon
) -> Counter[str]:
    """Returns how many pronouns of a document have a known gender, and how many of them have which hints."""
    counts = Counter[str]()
    tokenizer = translator.tokenizer
    example = example_from_text(texts, tokenizer, annotation, target=references, hints=["coreference"])
    [filled] = fill_documents(translator.model, tokenizer.target, [example])
    hints = {(hint.sentence, hint.first): hint for hint in filled.hints}
    for word, gender in pronoun_genders(annotation, texts, references).items():
        sentence = int(annotation.sentence_of[word])
        _, spans = tokenizer.source.encode(texts[sentence])
        pieces = np.flatnonzero((spans[:, 0] < annotation.ends[word]) & (spans[:, 1] > annotation.starts[word]))
        hint = hints.get((sentence, int(pieces[0]))) if len(pieces) else None
        found = lexicon.gender(tokenizer.target.decode(np.array(hint.ids))) if hint is not None and hint.ids else None
        verdict = "unknown gender" if found is None else "right" if found == gender else "wrong"
        counts.update(["pronouns", "no hint" if hint is None else verdict])
    return counts


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+", help="folders with SPLIT.src.txt.xz and SPLIT.tgt.txt.xz")
    parser.add_argument("--split", nargs="+", default=["dev"], help="parts to measure (default dev)")
    parser.add_argument("--model", default="en-fr", help="model that aligns the words (default en-fr)")
    arguments = parser.parse_args()
    pipeline, translator = load_pipeline("en"), Translator.load(arguments.model)
    folders: list[Path] = arguments.corpora
    lexicon = Lexicon(line[1] for folder in folders for document in read_documents(folder) for line in document)
    for folder in folders:
        for split in arguments.split:
            total = Counter[str]()
            for lines in read_documents(folder, split):
                texts, references = ([line[side].strip() for line in lines] for side in range(2))
                total += judge(texts, references, pipeline(Document.from_sentences(texts)), translator, lexicon)
            judged = total["right"] + total["wrong"]
            share = 100 * total["right"] / judged if judged else 0.0
            cells = ", ".join(f"{name} {count}" for name, count in total.most_common())
            print(f"{folder.name} {split}: {share:.1f}% of {judged} judged hints are right ({cells})", flush=True)


if __name__ == "__main__":
    main()
