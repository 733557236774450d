"""Markdown of any structure reads back as the words that were written into it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.formats import read, render

_WORDS = ["the", "dog", "Runs", "home", "3", "good."]
_INLINE = [
    "**{}**",
    "*{}*",
    "_{}_",
    "~~{}~~",
    "[{}](u)",
    "<b>{}</b>",
    "({}),",
    "`{}`",
    "{{{{ {} }}}}",
    "<kbd>{}</kbd>",
    "![{}](p.png)",
    "{}&lt;",
    "{}\\*",
]
_BLOCKS = ["{}", "# {}", "- {}", "1. {}", "> {}", "- [ ] {}", "| {} | b |\n|---|---|\n| c | d |", "{}\n===", "[^1]: {}"]

word = st.sampled_from(_WORDS)
inline = word | st.builds(
    lambda form, words: form.format(" ".join(words)), st.sampled_from(_INLINE), st.lists(word, min_size=1, max_size=3)
)
block = st.builds(
    lambda form, parts: form.format(" ".join(parts)), st.sampled_from(_BLOCKS), st.lists(inline, min_size=1, max_size=8)
)
source = st.lists(block, min_size=1, max_size=4).map("\n\n".join)


def letters(texts: list[str]) -> str:
    return "".join(char for text in texts for char in text if char.isalnum())


@pytest.mark.parametrize("change", ["reversed", "longer", "shorter"])
@given(source=source)
def test_new_words_read_back(change: str, source: str) -> None:
    [document] = read(io.StringIO(source), "markdown")
    new = []
    for text in document.texts:
        words = text.split(" ")
        if change == "reversed":
            words.reverse()
        words = words[: (len(words) + 1) // 2] if change == "shorter" else words
        new.append(" ".join(f"{each} mot" if change == "longer" else each for each in words))
    result = render([document], [new])
    assert isinstance(result, str)
    [again] = read(io.StringIO(result), "markdown")
    assert sorted(letters(again.texts)) == sorted(letters(new))
