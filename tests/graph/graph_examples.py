"""Annotated documents for the graph tests: the paper's examples by hand, and random ones by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from docgraph.annotation import Annotation, Strings, int_array
from docgraph.document import Document
from docgraph.graph import Edges


def annotated(
    sentences: Sequence[str],
    lemmas: Sequence[str] | None = None,
    heads: Sequence[Sequence[int]] | None = None,
    coreference: Sequence[tuple[int, int]] | None = None,
    upos: Sequence[str] | None = None,
) -> tuple[Document, Annotation]:
    """A document and its annotation; words are separated by spaces, heads count from 0 in their sentence."""
    words = [sentence.split() for sentence in sentences]
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in words])]).astype(np.int32)
    starts = [len(" ".join([*line[:i], ""])) if i else 0 for line in words for i in range(len(line))]
    flat = [word for line in words for word in line]
    annotation = Annotation(
        offsets,
        int_array(starts),
        int_array(start + len(word) for start, word in zip(starts, flat, strict=True)),
        Strings.of(flat),
        lemmas=None if lemmas is None else Strings.of(word for line in lemmas for word in line.split()),
        upos=None if upos is None else Strings.of(tag for line in upos for tag in line.split()),
        heads=None
        if heads is None
        else int_array(h + int(o) for line, o in zip(heads, offsets, strict=False) for h in line),
        coreference=None if coreference is None else np.array(coreference, dtype=np.int32).reshape(-1, 2),
    )
    document = Document.from_sentences([" ".join(line) for line in words], id="example")
    annotation.check(document)
    return document, annotation


def nick() -> tuple[Document, Annotation]:
    """The ellipsis example of the paper (section 4.3): 'told' and 'did' meet through 'Nick' and 'he' alone."""
    return annotated(
        ["Nick told you what happened , right ?", "Yeah , he did ."],
        lemmas=["Nick tell you what happen , right ?", "yeah , he do ."],
        heads=[[1, 1, 1, 4, 1, 6, 1, 1], [3, 0, 3, 3, 3]],
        coreference=[(0, 10)],
        upos=["PROPN VERB PRON PRON VERB PUNCT INTJ PUNCT", "INTJ PUNCT PRON AUX PUNCT"],
    )


MIGUEL_LINES = {
    0: "让 我们 叫 他 米格尔 。 其实 他 的 名字 就 是 米格尔",
    73: "我 一致 在 脑海 中 想象 类似 【 帝企鹅 日记 】 的 事 ， 我 看着 米格尔",
    74: '我 说 , " 米格尔 , 它们 飞行 150 英里 来 渔场 , 然后 它们 晚上 再 飞 150 英里 回去 吗 ? "',
}


def miguel() -> tuple[Document, Annotation]:
    """The case study: one name in sentences 0, 73 and 74; the sentences between share no word with any other."""
    return annotated([MIGUEL_LINES.get(index, f"词{index}") for index in range(75)])


def pairs(edges: Edges) -> list[tuple[int, int]]:
    """Edges as sorted (source, target) pairs."""
    return sorted(zip(edges.source.tolist(), edges.target.tolist(), strict=True))


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    """Small documents with empty sentences, few forms and lemmas, trees, and forward coreference links."""
    lengths = draw(st.lists(st.integers(0, 7), min_size=0, max_size=6))
    total = sum(lengths)

    def column(alphabet: str) -> Strings:
        return Strings.of(draw(st.lists(st.sampled_from(alphabet), min_size=total, max_size=total)))

    heads: list[int] = []
    for length in lengths:
        order = draw(st.permutations(range(length)))
        base, head = len(heads), [0] * length
        for rank, word in enumerate(order):
            head[word] = base + (word if rank == 0 else order[draw(st.integers(0, rank - 1))])
        heads.extend(head)
    word = st.integers(0, max(total - 1, 0))
    links = (
        draw(st.lists(st.tuples(word, word).filter(lambda pair: pair[0] < pair[1]), max_size=8)) if total > 1 else []
    )
    zeros = np.zeros(total, np.int32)
    return Annotation(
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32),
        zeros,
        zeros,
        column("abc.,"),
        lemmas=column("xyz") if draw(st.booleans()) else None,
        upos=Strings.of(draw(st.lists(st.sampled_from(["NOUN", "DET", "VERB"]), min_size=total, max_size=total)))
        if draw(st.booleans())
        else None,
        heads=int_array(heads) if draw(st.booleans()) else None,
        coreference=np.array(sorted(links), dtype=np.int32).reshape(-1, 2) if draw(st.booleans()) else None,
    )
