"""The blocks of sentences: headings, list items, cells."""

from __future__ import annotations

import io

from docgraph.formats import read
from docgraph.formats.blocks import blocks_of


def test_only_whole_names_of_tags_say_what_a_sentence_belongs_to() -> None:
    source = (
        "<html><head><title>Gardens</title><link rel='x'></head><body><header>A page</header><h1>Roses</h1>"
        "<p>They are red.</p><hr><table><thead><tr><th>Colour</th></tr></thead></table><ul><li>One item</li></ul>"
    )
    [document] = read(io.BytesIO(source.encode()), "html")
    kinds = {sentence.text: block.kind for sentence, block in zip(document.sentences, blocks_of(document), strict=True)}
    assert kinds == {
        "Gardens": "heading",
        "A page": "paragraph",
        "Roses": "heading",
        "They are red.": "paragraph",
        "Colour": "cell",
        "One item": "list item",
    }
