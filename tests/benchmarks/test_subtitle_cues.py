from __future__ import annotations

import io

from benchmarks.subtitle_cues import cue_texts, cut, divide_by_links, subtitles

from docgraph.formats import read


def test_cues_join_to_the_sentence_and_fit() -> None:
    sentence = "The committee, which met in the old town hall, adopted the report without a vote."
    cues = cut(sentence, 30)
    assert " ".join(cues) == sentence
    assert all(len(cue) <= 30 for cue in cues)
    assert len(cues) == 3


def test_cues_are_read_as_sentences_again() -> None:
    sentences = ["The committee adopted the report without a vote.", "It was late."]
    source = subtitles([cue for sentence in sentences for cue in cut(sentence, 20)])
    [document] = read(io.StringIO(source), "srt")
    assert document.texts == sentences
    assert cue_texts(source) == [*cut(sentences[0], 20), *cut(sentences[1], 20)]


def test_references_are_divided_by_their_links() -> None:
    pairs = [
        ("dog cat", "chien chat"),
        ("cat house", "chat maison"),
        ("house dog", "maison chien"),
        ("tree dog", "arbre chien"),
        ("dog tree", "chien arbre"),
    ]
    divided = list(divide_by_links([*pairs * 4, ("dog cat house", "maison chat et petit chien")], [], 7))
    assert divided[:5] == [[target] if len(source) <= 7 else target.split() for source, target in pairs]
    assert " ".join(divided[-1]) == "maison chat et petit chien"
    assert len(divided[-1]) == 2
