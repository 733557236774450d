"""A compact notation for parsed sentences, and their coreference links as pairs of words."""

from __future__ import annotations

from collections.abc import Sequence

from docgraph.annotate.coref import CorefAnnotator
from docgraph.annotation import Annotation, Strings, int_array
from docgraph.document import Document

Parsed = tuple[Document, Annotation]


def parsed(*sentences: str, speakers: Sequence[str | None] | None = None) -> Parsed:
    """Parses words like `form/UPOS/head/relation`, optionally with `/lemma` and `/features`; a root has head 0."""
    texts, offsets = [], [0]
    starts: list[int] = []
    heads: list[int] = []
    rows: list[list[str]] = []
    for sentence in sentences:
        cells = [token.split("/") for token in sentence.split()]
        base, place = len(rows), 0
        for index, cell in enumerate(cells):
            form, upos, head, relation, *more = cell
            heads.append(base + (int(head) - 1 if head != "0" else index))
            starts.append(place)
            place += len(form) + 1
            lemma, feats = (*more, "", "")[:2]
            rows.append([form, lemma or form.lower(), upos, feats, relation])
        texts.append(" ".join(cell[0] for cell in cells))
        offsets.append(len(rows))
    forms, lemmas, upos_column, feats_column, deprels = zip(*rows, strict=True) if rows else ((),) * 5
    document = Document.from_sentences(texts, "example", speakers)
    annotation = Annotation(
        int_array(offsets),
        int_array(starts),
        int_array(start + len(form) for start, form in zip(starts, forms, strict=True)),
        Strings.of(forms),
        Strings.of(lemmas),
        Strings.of(upos_column),
        Strings.of(feats_column),
        int_array(heads),
        Strings.of(deprels),
    )
    annotation.check(document)
    return document, annotation


def links(example: Parsed, language: str = "en", *, use_ranker: bool = False) -> list[tuple[str, str]]:
    """Returns (antecedent, mention) as `form:index`, in the order of the mentions."""
    document, annotation = example
    found = CorefAnnotator(language, use_ranker=use_ranker)(document, annotation)
    found.check(document)
    assert found.coreference is not None
    forms = annotation.forms.to_list()
    return [(f"{forms[a]}:{a}", f"{forms[b]}:{b}") for a, b in found.coreference.tolist()]
