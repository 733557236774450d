"""What a session shows: comparison, explanations, chains, blocks, doubts and downloads."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render
from docgraph.server import session_state
from docgraph.server.session import Session
from docgraph.translation.chains import DocumentChains
from docgraph.translation.translator import Translator
from server.server_examples import embedded_translator
from server.session_examples import SEARCH, TEXT, texts, translated


def test_comparison_is_without_context(any_translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], any_translator)
    session.correct(1, "bonjour renard test")
    alone = [any_translator.translate([text], SEARCH).texts[0] for text in TEXT]
    assert session.compare() == [{"index": m, "translation": text} for m, text in enumerate(alone)]


def test_explanations_name_the_sentences_read(any_translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], any_translator)
    session.correct(1, "bonjour renard test")
    explained = session.explain(2)
    assert explained["gate"] is not None
    assert explained["target"]
    if not any_translator.needs.reads_document:
        assert [each["sentence"] for each in explained["target"]] == [1]


def test_a_proposal_is_explained_by_what_it_read_itself() -> None:
    lines = ["The damage report is late.", "The damage report arrived.", "It is serious."]
    session = Session([Document.from_sentences(lines)], embedded_translator())
    assert [index for step in session.translate() for index in step] == [0, 1, 2]
    [before] = session.explain(2)["hints"]
    assert "rapport" in before["translation"]
    session.correct(0, "L'état des dégâts a du retard.", confirm=True)
    assert session.sentence(2)["proposal"] is not None
    [hint] = session.explain(2)["hints"]
    assert hint["words"] == "It"
    assert "état" in hint["translation"]
    session.refuse([2])
    assert session.explain(2)["hints"] == [before]


def test_a_noun_and_its_verb_may_be_translated_differently() -> None:
    translator = embedded_translator()
    sentences = ["The harbour was damaged by the storms.", "The damage is serious.", "The damage must be repaired."]
    chains = DocumentChains(Document.from_sentences(sentences), translator)
    translations = ["Le port a été endommagé par les tempêtes.", "Les dommages sont graves."]

    def is_consistent(last: str) -> bool:
        found = chains.graph([*translations, last])["chains"]
        [chain] = [
            each for each in found if [word["text"] for word in each["words"]] == ["damaged", "damage", "damage"]
        ]
        return bool(chain["consistent"])

    assert is_consistent("Les dommages doivent être réparés.")
    assert not is_consistent("Les dégâts doivent être réparés.")


def test_chains_have_a_place_for_every_occurrence(translator: Translator) -> None:
    document = Document.from_sentences(TEXT)
    session = translated([document, document], translator)
    graph = session.chains()
    lexical = [chain for chain in graph["chains"] if chain["relation"] == "lexical"]
    foxes = [[word["sentence"] for word in chain["words"]] for chain in lexical if chain["words"][0]["text"] == "fox"]
    assert foxes == [[0, 1, 5], [6, 7, 11]]
    shown = texts(session)
    for chain in graph["chains"]:
        for word in chain["words"]:
            source, target = (TEXT * 2)[word["sentence"]], shown[word["sentence"]]
            assert source[word["start"] : word["end"]] == word["text"]
            if word["translation"] is not None:
                place = word["translation"]
                assert target is not None
                assert target[place["start"] : place["end"]] == place["text"]
    linked = {(link["from"], link["to"]) for link in graph["links"] if link["relation"] == "lexical"}
    assert {(0, 1), (1, 5), (6, 7)} <= linked


def test_downloads(translator: Translator) -> None:
    source = "# The quick fox\n\n- A **dog** told it. Hello.\n"
    [document] = read(io.StringIO(source), "markdown")
    session = Session([document], translator, search=SEARCH)
    assert session.download("original")[0].decode() == source
    for _ in session.translate():
        pass
    session.correct(0, "Le renard & co")
    shown = [text or "" for text in texts(session)]
    assert session.download("original")[0].decode() == render([document], [shown], "fr")
    rows = session.download("tsv")[0].decode().splitlines()
    assert rows[1] == "The quick fox\tLe renard & co\tconfirmed"
    for kind in ("xliff", "tmx", "html"):
        content, media_type, suffix = session.download(kind)
        assert "Le renard &" in content.decode()
        assert media_type
        assert suffix.startswith(".")
    with pytest.raises(DocgraphError, match="no download 'pdf'"):
        session.download("pdf")


def test_blocks_show_the_structure(translator: Translator, tmp_path: Path) -> None:
    cues = "1\n00:00:01,000 --> 00:00:02,000\nThe fox jumps.\n\n2\n00:00:03,000 --> 00:00:04,000\nHello.\n"
    (tmp_path / "a.srt").write_text(cues)
    page = "<h1>A fox</h1><p>The dog. It met.</p><table><tr><td>A test</td></tr></table>"
    (tmp_path / "a.html").write_text(page)
    blocks = [
        [(each["block"]["kind"], each["block"]["index"], each["block"]["label"]) for each in session.sentences]
        for session in (Session(read(tmp_path / name), translator) for name in ("a.srt", "a.html"))
    ]
    assert blocks[0] == [("cue", 0, "00:00:01,000 --> 00:00:02,000"), ("cue", 1, "00:00:03,000 --> 00:00:04,000")]
    assert [(kind, index) for kind, index, _ in blocks[1]] == [
        ("heading", 0),
        ("paragraph", 1),
        ("paragraph", 1),
        ("cell", 2),
    ]


def test_a_low_score_is_doubtful_until_it_is_confirmed(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    scores = [0.0 if each["score"] is None else each["score"] for each in session.sentences]
    monkeypatch.setattr(session_state, "LOW_SCORE", sorted(scores)[1])
    doubtful = [each["index"] for each in session.sentences if "low score" in each["doubtful"]]
    assert doubtful == [scores.index(min(scores))]
    session.correct(doubtful[0], texts(session)[doubtful[0]] or "", confirm=True)
    assert not any("low score" in each["doubtful"] for each in session.sentences if each["index"] == doubtful[0])
