"""Estimate what knowing tu or vous would give: BLEU with the formality of the reference, English-French.

    python scripts/formality_ceiling.py test.en test.fr --documents 10 --beams 16 [--model en-fr]

A French sentence is informal if it has forms of *tu* and none of *vous*, and formal if it has forms of *vous* and none
of *tu* (docgraph.translation.terms.formality); all others have no formality. The table has BLEU of all lines and of
lines whose source has *you*:

- as translated: the first translation of beam search;
- chosen, line / document: if the first translation has the other formality than the reference (than most lines of
  the document's reference), the first of the n-best translations with the right one, if there is one;
- replaced: lines of the other formality take over, word by word, the reference's second-person words and forms of the
  same lemma, wherever the two align. This is an estimate by rule, and too high: it also corrects number and gender.

*vous* for several people counts as formal, so that a tag for each document is sometimes wrong for a line.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import simplemma

from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import measure
from docgraph.research.analysis_inputs import Documents, find_models, load_systems, read_text_documents
from docgraph.research.context_use import difference_interval
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.terms.formality import Formality, formality_of, has_you, role, tokens

FIRST = "as translated"


def _key(token: str) -> str:
    """Returns what two tokens of different formality have in common."""
    found = role(token, "informal") or role(token, "formal")
    return f"<{found}>" if found else simplemma.lemmatize(token.lower(), lang="fr")


def replaced(translation: str, reference: str) -> str:
    """Returns a translation with the reference's second-person words and forms of the same lemma, where they align."""
    ours, theirs = tokens(translation), tokens(reference)
    matcher = SequenceMatcher(None, [_key(one) for one in ours], [_key(one) for one in theirs], autojunk=False)
    for begin, other, size in matcher.get_matching_blocks():
        ours[begin : begin + size] = theirs[other : other + size]
    return "".join(ours)


def choose(candidates: Sequence[str], wanted: Formality | None) -> str:
    """Returns the first candidate, or the first one of the wanted formality if the first one has the other one."""
    if wanted is None or formality_of(candidates[0]) in (None, wanted):
        return candidates[0]
    return next((text for text in candidates if formality_of(text) == wanted), candidates[0])


def majority(references: Sequence[str]) -> Formality | None:
    """Returns the more frequent formality of a document; None in a tie."""
    counts = Counter(filter(None, map(formality_of, references)))
    ranked = counts.most_common(2)
    return None if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]) else ranked[0][0]


def outputs(candidates: Sequence[Sequence[Sequence[str]]], references: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Returns the lines of each row of the table; `candidates` are by document, sentence and rank."""
    rows: dict[str, list[str]] = {name: [] for name in (FIRST, "chosen, line", "chosen, document", "replaced")}
    for document, lines in zip(candidates, references, strict=True):
        tag = majority(lines)
        for texts, reference in zip(document, lines, strict=True):
            wanted = formality_of(reference)
            is_wrong = wanted is not None and formality_of(texts[0]) not in (None, wanted)
            rows[FIRST].append(texts[0])
            rows["chosen, line"].append(choose(texts, wanted))
            rows["chosen, document"].append(choose(texts, tag))
            rows["replaced"].append(replaced(texts[0], reference) if is_wrong else texts[0])
    return rows


def table(sources: Sequence[str], references: Sequence[Sequence[str]], rows: dict[str, list[str]]) -> list[str]:
    """Returns the lines of the table and, below it, how often translations and references disagree.

    Differences to the first row have the middle 95% of 1,000 resamples of documents.
    """
    lines = [line for document in references for line in document]
    bounds = np.cumsum([0, *map(len, references)])
    measured = measure("bleu", EvaluationSet(lines, rows, bounds))
    asked = np.array([has_you(source) for source in sources])
    first, *_ = rows.values()
    text = [f"{len(lines):,} lines in {len(references)} documents, {asked.sum():,} lines with *you*", ""]
    text += [
        "| | BLEU | difference | lines with *you* | difference | lines changed |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, found in rows.items():
        cells = []
        for mask in (np.ones_like(asked), asked):
            ours, base = (
                np.add.reduceat(measured.statistics[one] * mask[:, None], bounds[:-1], axis=0) for one in (name, FIRST)
            )
            value, other = (float(measured.scorer(each.sum(axis=0))) for each in (ours, base))
            low, high = difference_interval(ours, base, measured.scorer)
            cells += [f"{value:.2f}", f"{value - other:+.2f} [{low:+.2f}, {high:+.2f}]" if name != FIRST else ""]
        changed = sum(one != other for one, other in zip(found, first, strict=True))
        text.append(f"| {name} | {' | '.join(cells)} | {changed} |")
    return [*text, "", *(f"{name}: {disagreement(lines, found)}" for name, found in rows.items())]


def disagreement(references: Sequence[str], translations: Sequence[str]) -> str:
    """Returns how often references and translations have different formalities, of those that have one in both."""
    counts = Counter(zip(map(formality_of, references), map(formality_of, translations), strict=True))
    both = counts["informal", "informal"] + counts["formal", "formal"]
    informal, formal = counts["informal", "formal"], counts["formal", "informal"]
    share = 100 * (informal + formal) / max(both + informal + formal, 1)
    return (
        f"reference tu, translation vous: {informal}; vous, tu: {formal}; both tu or both vous: {both}; "
        f"disagreement {share:.1f}%"
    )


def familiar_or_formal(documents: Documents, share: float) -> Documents:
    """Returns the documents in which at least this share of the references have a formality."""
    kept = [
        one
        for one in documents.documents
        if sum(formality_of(text) is not None for text in one.reference) >= share * len(one)
    ]
    return Documents(kept, documents.tokenizer, documents.name)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--model", default="en-fr", help="model folder (default: the embedded model)")
    parser.add_argument("--documents", type=int, help="use only the first documents (of those that --share keeps)")
    parser.add_argument("--share", type=float, default=0.0, help="least share of lines with tu or vous in a document")
    parser.add_argument("--beams", type=int, default=16, help="beam size, and translations per line")
    arguments = parser.parse_args()
    folders = find_models([arguments.model])
    everything = read_text_documents(arguments.source, arguments.reference, folders, None, False, 1)
    documents = familiar_or_formal(everything, arguments.share).first(arguments.documents)
    [model] = load_systems(folders, None).values()
    search = SearchConfig(beams=arguments.beams, n_best=arguments.beams)
    inputs = [DecoderInput(document.part(range(len(document)), model.config)) for document in documents.documents]
    decoded = decode_documents(model, documents.tokenizer, inputs, DecodingOptions(search))
    decode = documents.tokenizer.target.decode
    candidates = [[[decode(each.tokens) for each in found] for found in one.sentences] for one in decoded]
    references = [document.reference for document in documents.documents]
    sources = [documents.tokenizer.source.decode(ids) for one in documents.documents for ids in one.source]
    print("\n".join(table(sources, references, outputs(candidates, references))))


if __name__ == "__main__":
    main()
