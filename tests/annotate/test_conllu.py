"""CoNLL-U: round trips, treebanks, and one-sentence errors for broken files."""

from __future__ import annotations

import io
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from annotation_strategies import annotated_documents, assert_same
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotate import conllu, conllu_writer
from docgraph.annotate.conllu_annotator import ConlluAnnotator
from docgraph.annotation import Annotation, chains, from_spans
from docgraph.document import Document
from docgraph.errors import DocgraphError
from shared_data import SHARED, needs_data


def parse(text: str) -> list[tuple[Document, Annotation]]:
    return list(conllu.parse(io.BytesIO(text.encode()), "x.conllu"))


def written(*documents: tuple[Document, Annotation]) -> str:
    file = io.BytesIO()
    conllu_writer.dump(file, documents)
    return file.getvalue().decode()


def rows(*lines: str) -> str:
    return "".join(line.replace(" ", "\t") + "\n" for line in lines) + "\n"


FRENCH = (
    "# newdoc id = d1\n# global.Entity = eid-etype-head\n# newpar\n# sent_id = 1\n# speaker = Ana\n"
    "# text = Il parle du\u00a0chat, non?\n"
    + rows(
        "1 Il il PRON _ Number=Sing 2 nsubj _ Entity=(e1-person-1)",
        "2 parle parler VERB _ _ 0 root _ _",
        "2.1 il il PRON _ _ _ _ _ Entity=(e1-person-1)",
        "3-4 du _ _ _ _ _ _ _ _",
        "3 de de ADP _ _ 5 case _ Entity=(e2-animal-3",
        "4 le le DET _ _ 5 det _ _",
        "5 chat chat NOUN _ _ 2 obl _ Entity=e2)|SpaceAfter=No",
        "6 , , PUNCT _ _ 7 punct _ _",
        "7 non non INTJ _ _ 2 discourse _ SpaceAfter=No",
        "8 ? ? PUNCT _ _ 2 punct _ _",
    )
    + "# newpar\n"
    + rows("1 Le le DET _ _ 2 det _ Entity=(e2-animal-2(e1-person-1)", "2 chat chat NOUN _ _ 0 root _ Entity=e2)")
)


def test_reads_ranges_empty_nodes_entities_and_comments() -> None:
    ((document, annotation),) = parse(FRENCH)
    assert document.id == "d1"
    assert document.texts == ["Il parle du\u00a0chat, non?", "Le chat"]
    assert [sentence.paragraph for sentence in document] == [0, 1]
    assert document.sentences[0].speaker == "Ana"
    annotation.check(document)
    spans = list(zip(annotation.starts.tolist(), annotation.ends.tolist(), strict=True))
    assert spans == [(0, 2), (3, 8), (9, 11), (9, 11), (12, 16), (16, 17), (18, 21), (21, 22), (0, 2), (3, 7)]
    assert annotation.heads is not None
    assert annotation.heads.tolist() == [1, 1, 4, 4, 1, 6, 1, 1, 9, 9]
    assert annotation.feats is not None
    assert annotation.feats.to_list()[:2] == ["Number=Sing", ""]
    # "du chat" is headed by "chat" (its first word that depends on one outside), and so is "Le chat".
    assert chains(annotation) == [[0, 8], [4, 9]]


def test_words_of_a_range_that_spell_it_get_their_own_characters() -> None:
    ((document, annotation),) = parse(
        rows("1-2 don't _ _ _ _ _ _ _ _", "1 do do _ _ _ _ _ _ _", "2 n't not _ _ _ _ _ _ _")
    )
    assert document.texts == ["don't"]
    assert annotation.starts.tolist() == [0, 2]
    assert annotation.ends.tolist() == [2, 5]
    assert annotation.layers == {"words", "lemmas"}


def test_group_only_entities_nest_cross_and_share_heads() -> None:
    text = "# global.Entity = GRP\n" + rows(
        "1 John John _ _ _ 0 root _ Entity=(1(2)",
        "2 and and _ _ _ 3 cc _ _",
        "3 Mary Mary _ _ _ 1 conj _ Entity=(3)1)",
        "4 they they _ _ _ 1 dep _ Entity=(1)",
        "5 he he _ _ _ 1 dep _ Entity=(2)",
    )
    ((_, annotation),) = parse(text)
    assert annotation.coreference is not None
    assert annotation.coreference.tolist() == [[0, 3], [0, 4]]
    ((_, again),) = parse(written(*parse(text)))
    assert again.coreference is not None
    assert again.coreference.tolist() == [[0, 3], [0, 4]]


def test_discontinuous_mentions_are_joined() -> None:
    text = "# global.Entity = eid-etype-head\n" + rows(
        "1 a a _ _ _ _ _ _ Entity=(e1[1/2]-thing-2)",
        "2 b b _ _ _ _ _ _ _",
        "3 c c _ _ _ _ _ _ Entity=(e1[2/2]-thing-2)",
        "4 d d _ _ _ _ _ _ Entity=(e1-thing-1)",
    )
    ((_, annotation),) = parse(text)
    assert annotation.coreference is not None
    assert annotation.coreference.tolist() == [[2, 3]], "without heads, the head field tells: word 2 of the mention"


def test_entity_fields_hold_for_every_document_of_the_file() -> None:
    body = rows("1 a a _ _ _ _ _ _ Entity=(person-e1)", "2 b b _ _ _ _ _ _ Entity=(thing-e1)")
    documents = parse("# newdoc id = 1\n# global.Entity = etype-eid\n" + body + "# newdoc id = 2\n" + body)
    assert [annotation.coreference.tolist() for _, annotation in documents if annotation.coreference is not None] == [
        [[0, 1]],
        [[0, 1]],
    ]


@given(st.lists(annotated_documents(), max_size=3))
def test_written_reads_back(documents: list[tuple[Document, Annotation]]) -> None:
    back = parse(written(*documents))
    assert len(back) == len(documents)
    for (document, annotation), (read_document, read_annotation) in zip(documents, back, strict=True):
        assert read_document.texts == document.texts
        assert read_document.id == document.id
        assert [s.speaker for s in read_document] == [s.speaker for s in document]
        assert_same(read_annotation, annotation)


def test_a_bare_sentence_writes_as_treebanks_do() -> None:
    ((document, annotation),) = parse(rows("1 Hi hi INTJ _ _ 0 root _ SpaceAfter=No", "2 ! ! PUNCT _ _ 1 punct _ _"))
    assert written((document, annotation)) == (
        "# newdoc id = x\n# docgraph.columns = words lemmas upos heads deprels\n# sent_id = x-1\n# text = Hi!\n"
        "1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\tSpaceAfter=No\n2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1 a", 1, "1 column instead of the 10"),
        (rows("1 a a _ _ _ 2 dep _ _", "2 b b _ _ _ 1 dep _ _"), 1, "cycle"),
        (rows("1 a a _ _ _ 0 root _ _", "2 b b _ _ _ 3 dep _ _", "3 c c _ _ _ 2 dep _ _"), 2, "cycle"),
        (rows("1 a a _ _ _ 1 dep _ _"), 1, "this word is its own head"),
        (rows("1 a a _ _ _ 7 dep _ _"), 1, "the head 7 is not among the 1 words"),
        (rows("1 a a _ _ _ x dep _ _"), 1, "the head 'x' is not a number"),
        (rows("1 a a _ _ _ 0 root _ _", "2 b b _ _ _ _ _ _ _"), 2, "has no head but"),
        (rows("1 a a _ _ _ _ _ _ _", "3 b b _ _ _ _ _ _ _"), 2, "the id is '3' but should be 2"),
        (rows("x a a _ _ _ _ _ _ _"), 1, "the id is 'x' but should be 1"),
        (rows("2-3 ab _ _ _ _ _ _ _ _"), 1, "the range '2-3' does not begin"),
        (rows("1-3 ab _ _ _ _ _ _ _ _", "1 a a _ _ _ _ _ _ _"), 1, "the last range ends at 3"),
        ("# text = b\n" + rows("1 a a _ _ _ _ _ _ _"), 2, "the word 'a' is not the next one"),
        (rows("1 a a _ _ _ _ _ _ Entity=(1"), 1, "never closes"),
        (rows("1 a a _ _ _ _ _ _ Entity=1)"), 1, "but never opened"),
        (rows("1 a a _ _ _ _ _ _ Entity=((1)"), 1, "is not a sequence of brackets"),
    ],
)
def test_broken_files_name_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(DocgraphError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"x.conllu:{line}: ")
    assert message in str(caught.value)


def test_invalid_utf8_names_the_line() -> None:
    with pytest.raises(DocgraphError, match=r"^x.conllu:2: this line is not UTF-8"):
        list(conllu.parse([b"# text = a\n", b"1\t\xff\n"], "x.conllu"))


CELLS = st.sampled_from(
    [
        "1",
        "2",
        "1-2",
        "0",
        "_",
        "a",
        "",
        "3.1",
        "Entity=(1",
        "Entity=1)",
        "Entity=(e1-x[1/2])",
        "WordSpan=9:1",
        "²",
        "9" * 5000,
    ]
)
LINES = st.one_of(
    st.lists(CELLS, min_size=10, max_size=10).map("\t".join),
    st.tuples(st.sampled_from("12"), st.lists(CELLS, min_size=9, max_size=9)).map(lambda x: "\t".join([x[0], *x[1]])),
    st.sampled_from(
        ["", "# newdoc", "# newdoc id", "# text = a", "# text", "#", "# global.Entity =", "# newpar", "\ufeff", "\x00"]
    ),
    st.text(max_size=12),
)


@given(st.lists(LINES, max_size=12))
def test_hostile_files_give_a_sentence_or_sane_output(lines: list[str]) -> None:
    raw = "\n".join(lines).encode("utf-8", "surrogatepass")
    try:
        documents = list(conllu.parse(io.BytesIO(raw), "x.conllu"))
    except DocgraphError:
        return
    for document, annotation in documents:
        annotation.check(document)


@needs_data
@pytest.mark.parametrize(("name", "words", "links"), [("en_ewt-dev", 25147, 0), ("en_ontogum-dev", 10631, 936)])
def test_treebanks(name: str, words: int, links: int) -> None:
    with lzma.open(SHARED / "ud" / f"{name}.conllu.xz") as file:
        documents = list(conllu.parse(file, name))
    assert sum(annotation.num_words for _, annotation in documents) == words
    assert sum(len(a.coreference) for _, a in documents if a.coreference is not None) == links
    for (document, annotation), (_, again) in zip(documents, parse(written(*documents)), strict=True):
        annotation.check(document)
        assert_same(again, annotation)


@pytest.fixture
def french(tmp_path: Path) -> Path:
    path = tmp_path / "fr.conllu"
    other = "# newdoc id = d0\n" + rows("1 Bonjour bonjour INTJ _ _ 0 root _ _")
    path.write_text(other + FRENCH, encoding="utf-8")
    return path


@pytest.mark.parametrize("id", ["d1", "named-otherwise"])
def test_annotator_finds_documents_by_id_or_text(french: Path, id: str) -> None:
    annotator = ConlluAnnotator(str(french))
    assert annotator.assigns == {"words", "lemmas", "tags", "heads"}, "what every document of the file has"
    document = Document.from_sentences(["Il  parle du chat , non?", "Le chat"], id)
    annotation = annotator(document, None)
    annotation.check(document)
    slices = [document.texts[0][a:b] for a, b in zip(annotation.starts[:8], annotation.ends[:8], strict=True)]
    assert slices == ["Il", "parle", "du", "du", "chat", ",", "non", "?"]
    assert chains(annotation) == [[0, 8], [4, 9]]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["Il parle du chat, oui?", "Le chat"],
            "sentence 1 of document 'd1' is 'Il parle du chat, oui?' but 'Il parle",
        ),
        (["Il parle du chat, non?"], "sentence 2 of document 'd1' is missing but 'Le chat'"),
        (["Il parle du chat, non?", "Le chat", "Fin"], "sentence 3 of document 'd1' is 'Fin' but missing"),
    ],
)
def test_annotator_names_the_sentence_that_differs(french: Path, texts: list[str], message: str) -> None:
    with pytest.raises(DocgraphError) as caught:
        ConlluAnnotator(str(french))(Document.from_sentences(texts, "d1"), None)
    assert message in str(caught.value)


def test_annotator_without_the_document(french: Path) -> None:
    with pytest.raises(DocgraphError, match="document 'z' is not in this file"):
        ConlluAnnotator(str(french))(Document.from_sentences(["Rien"], "z"), None)


def test_annotator_errors_name_the_line_of_the_whole_file(french: Path) -> None:
    text = french.read_text(encoding="utf-8").replace("2\tchat\tchat\tNOUN\t_\t_\t0", "2\tchat\tchat\tNOUN\t_\t_\t9")
    french.write_text(text, encoding="utf-8")
    line = 1 + text[: text.index("NOUN\t_\t_\t9")].count("\n")
    with pytest.raises(DocgraphError, match=rf"fr\.conllu:{line}: the head 9"):
        ConlluAnnotator(str(french))


def test_links_past_the_mention_before_stay_one_entity_for_other_tools() -> None:
    """her -> Ann, She -> Ann: one entity of three mentions, and the antecedents come back."""
    document = Document.from_sentences(["Ann saw her mirror .", "She smiled ."])
    spans = [[(0, 3), (4, 7), (8, 11), (12, 18), (19, 20)], [(0, 3), (4, 10), (11, 12)]]
    annotation = replace(from_spans(spans, document), coreference=np.array([[0, 2], [0, 5]], dtype=np.int32))
    written = "".join(conllu_writer.format_lines(document, annotation))
    assert written.count("Entity=(1)") == 3
    assert "(2)" not in written
    assert "Antecedent=5|Entity=(1)" in written
    ((_, again),) = conllu.parse([line.encode() for line in written.splitlines(keepends=True)], "x.conllu")
    assert again.coreference is not None
    assert again.coreference.tolist() == [[0, 2], [0, 5]]


@pytest.mark.parametrize("value", ["x", "0", "99", "-1"])
def test_antecedent_outside_the_document_is_one_sentence(value: str) -> None:
    row = "1\tshe\tshe\tPRON\t_\t_\t0\troot\t_\tAntecedent={}|Entity=(1)\n\n"
    with pytest.raises(DocgraphError, match="words back"):
        list(conllu.parse([line.encode() for line in row.format(value).splitlines(keepends=True)], "x.conllu"))
