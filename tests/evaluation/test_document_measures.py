"""Consistency, pronouns and breakdowns, on text small enough to count by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from evaluation_examples import make_set, make_words

from docgraph.annotate.registry import load_pipeline
from docgraph.annotation import from_spans, int_array
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.evaluation.alignment import BitextAnnotator, Posteriors, Words, align, word_annotator
from docgraph.evaluation.buckets import bucket_of, by_distance, by_length, linked_distances, range_labels
from docgraph.evaluation.document_measures import (
    CASES,
    DISTANCE_LABELS,
    REFERENCE,
    DocumentMeasures,
    classify_pronouns,
    count_consistent_pairs,
    pronoun_table,
)
from docgraph.evaluation.metrics import measure
from docgraph.evaluation.plots import check_plot_path, write_plot


def links(*pairs: tuple[int, int], agreement: float = 0.9) -> Posteriors:
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Posteriors(source, target, np.full(len(source), agreement))


def test_pairs_of_occurrences_are_counted_by_document_and_distance() -> None:
    source = make_words([["Bank bank", "river", "bank"], ["bank bank"]])
    target = make_words([["Banque banque", "fleuve", "rive"], ["rive banque"]])
    counts = count_consistent_pairs(source, target, links(*((n, n) for n in range(6))), source.content)
    assert counts.shape == (2, len(DISTANCE_LABELS), 2)
    assert counts[0, DISTANCE_LABELS.index("0")].tolist() == [1, 1]
    assert counts[0, DISTANCE_LABELS.index("2–5")].tolist() == [0, 2]
    assert counts[1, DISTANCE_LABELS.index("0")].tolist() == [0, 1]
    assert counts.sum(axis=(0, 1)).tolist() == [1, 4]


def test_unaligned_and_unselected_words_do_not_count() -> None:
    source = make_words([["bank bank bank"]])
    target = make_words([["banque banque rive"]])
    sure = count_consistent_pairs(source, target, links((0, 0), (1, 1)), source.content)
    assert sure.sum(axis=(0, 1)).tolist() == [1, 1]
    unsure = count_consistent_pairs(source, target, links((0, 0), (1, 1), (2, 2), agreement=0.05), source.content)
    assert unsure.sum() == 0
    asked = np.array([True, False, True])
    counts = count_consistent_pairs(source, target, links((0, 0), (1, 1), (2, 2)), asked)
    assert counts.sum(axis=(0, 1)).tolist() == [0, 1]


SOURCE = "It It It It It It it bank"


def test_the_six_cases_of_pronouns() -> None:
    source = make_words([[SOURCE]], tags=["PRON"] * 6 + ["DET", "NOUN"])
    output = make_words([["Il c’ elle maison il maison il banque"]])
    reference = make_words([["il ça il il maison maison il banque"]])
    same = links(*((n, n) for n in range(8)))
    cases = classify_pronouns(pronoun_table("en-fr"), source, (output, same), (reference, same))
    assert cases.cases.tolist() == [0, 1, 2, 3, 4, 5]
    assert [CASES[case] for case in cases.cases] == list(CASES)
    counts = cases.statistics(1, 6)
    assert counts.sum(axis=(0, 1)).tolist() == [2, 4]
    assert counts[0, 0].tolist() == [2, 4]
    assert cases.statistics(1, 6, strict=True).sum(axis=(0, 1)).tolist() == [1, 4]


def test_il_and_ce_are_equivalent_for_an_expletive_only() -> None:
    plain = make_words([["It"]])
    expletive = Words(plain.forms, plain.keys, None, ["expl"], plain.content, plain.offsets, plain.documents)
    sides = (make_words([["il"]]), links((0, 0))), (make_words([["ce"]]), links((0, 0)))
    table = pronoun_table("en-fr")
    assert classify_pronouns(table, plain, *sides).cases.tolist() == [2]
    assert classify_pronouns(table, expletive, *sides).cases.tolist() == [1]


def test_the_pronoun_table_is_consistent() -> None:
    table = pronoun_table("en-fr")
    pronouns = set(table.target.values())
    assert all(first in pronouns and second in pronouns for first, second in table.equivalent)
    with pytest.raises(DocgraphError, match="no pronoun table for en-xx; choose from en-fr"):
        pronoun_table("en-xx")


ENGLISH = ["the old bank closed", "a river is near", "the bank opened again", "they like the river"] * 6
FRENCH = ["la vieille banque ferma", "une rivière est proche", "la banque rouvrit encore", "ils aiment la rivière"] * 6
INCONSISTENT = [text.replace("banque", "rive") if n % 8 == 2 else text for n, text in enumerate(FRENCH)]


def test_an_inconsistent_system_scores_lower_and_the_reference_is_perfect() -> None:
    data = make_set(FRENCH, [12, 12], consistent=FRENCH, inconsistent=INCONSISTENT)
    data = type(data)(data.reference, data.systems, data.documents, ENGLISH)
    measures = DocumentMeasures(data, BitextAnnotator("words:en", "fr"), "en-fr")
    for system in (*data.systems, REFERENCE):
        measures.add(system, [])
    values = {ratio.label: ratio.measurement().values for ratio in measures.ratios(consistency=True)}
    assert list(values) == ["LTCR", "APT", "APT strict"]  # no parts of speech, so no names
    assert values["LTCR"]["inconsistent"] < values["LTCR"]["consistent"] == values["LTCR"][REFERENCE] == 100
    assert values["APT"]["consistent"] == 100
    assert measures.details["pronoun cases"]["consistent"]["equal"] == 6
    (part,) = measures.ratios(consistency=True)[0].breakdown(data)
    assert sum(part.counts["consistent"]) == sum(part.counts[REFERENCE]) > 0
    assert "|learnt:test|source:words:en|target:words:fr+simplemma:fr|" in part.signature


def test_alignment_does_not_depend_on_other_systems_and_allows_empty_lines() -> None:
    source = make_words([ENGLISH])
    output = make_words([["", *FRENCH[1:]]])
    (first, _), (second, _) = (align(source, [output, make_words([FRENCH])], corpus) for corpus in ([], []))
    assert np.array_equal(first.agreement, second.agreement)
    assert first.source.min() >= 4  # nothing to align the first sentence with
    (more, _) = align(source, [output, make_words([FRENCH])], [(["river"], ["rivière"])] * 5)
    assert more.target.max() < len(output.forms)


def test_word_annotators() -> None:
    assert word_annotator("fr") == "words:fr+simplemma:fr"
    assert word_annotator("zh") == "jieba"
    assert word_annotator("qu") == "words:qu"


def test_distances_to_the_nearest_linked_sentence() -> None:
    texts = ["A bank closed .", "The river rose .", "A bank , a bank .", "The river fell , he said .", "Nothing ."]
    document = Document.from_sentences(texts)
    words = load_pipeline("words:en")(document)
    assert linked_distances(words).tolist() == [0, 0, 2, 2, 0]
    said = int(words.offsets[3]) + 4
    linked = from_spans([[(0, 1)]], Document.from_sentences(["x"]))
    assert linked_distances(linked).tolist() == [0]
    with_coreference = type(words)(
        words.offsets,
        words.starts,
        words.ends,
        words.forms,
        coreference=int_array([int(words.offsets[2]), said]).reshape(1, 2),
    )
    assert linked_distances(with_coreference).tolist() == [0, 0, 2, 1, 0]


def test_buckets_cover_all_sentences_and_have_their_own_bleu(tmp_path: Path) -> None:
    reference = [f"this is the sentence number {n} of a small set" for n in range(12)]
    output = [text if n < 9 else text.replace("small", "large") for n, text in enumerate(reference)]
    data = make_set(reference, [1, 2, 6, 3], one=output, two=reference)
    measured = measure("bleu", data)
    part, difference = by_length(measured, data, "two")
    assert by_length(measured, data) == [part]
    assert (difference.labels, difference.counts) == (part.labels, {"one": [2, 1, 1]})
    assert difference.metric == "BLEU − two"
    spoilt_by = (part.values["one"][1] or 0) - 100
    assert difference.values["one"] == [pytest.approx(0), pytest.approx(spoilt_by), pytest.approx(0)]
    assert difference.intervals["one"][0] == pytest.approx((0, 0), abs=1e-3)
    assert difference.intervals["one"][1:] == [None, None], "one document cannot be resampled"
    assert part.labels == ("1–2", "3", "6")
    assert part.counts == {"one": [3, 3, 6], "two": [3, 3, 6]}
    spoilt = make_set(reference[9:], [3], one=output[9:])
    assert part.values["one"] == [pytest.approx(100), measure("bleu", spoilt).values["one"], pytest.approx(100)]
    annotations = [load_pipeline("words:en")(document) for document in data.split_documents(reference)]
    distance = by_distance(measured, data, annotations)
    assert distance.labels == ("1", "2", "3", "4–5", "6–10", "11–20", ">20", "no link")
    assert distance.counts["one"] == [8, 0, 0, 0, 0, 0, 0, 4]
    assert distance.values["one"][1] is None
    files = write_plot(distance, tmp_path / "plot.svg")
    assert [file.name for file in files] == ["plot-distance.svg", "plot-distance.json", "plot-distance.csv"]
    assert "no link" in files[0].read_text()
    assert json.loads(files[1].read_text())["counts"]["two"] == distance.counts["two"]
    rows = list(csv.reader(files[2].open()))
    assert rows[0] == ["system", distance.axis, "BLEU", "from", "to", "sentences"]
    assert rows[2] == ["one", "2", "", "", "", "0"]
    assert write_plot(part, tmp_path / "plot.png")[0].read_bytes().startswith(b"\x89PNG")
    with pytest.raises(DocgraphError, match="a plot is written as"):
        check_plot_path(tmp_path / "plot.gif")


def test_ranges_and_buckets() -> None:
    assert range_labels((0, 1, 5)) == ["0", "1", "2–5", ">5"]
    assert bucket_of(np.array([0, 1, 2, 5, 6]), (0, 1, 5)).tolist() == [0, 1, 2, 2, 3]
