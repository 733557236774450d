"""Dependency trees as arrays: spans, clauses and what hangs on a word, for all W words at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from docgraph.annotate.coref.tables import Table
from docgraph.annotation import Annotation, BoolArray, IntArray, Strings

CLAUSAL = frozenset({"root", "ccomp", "advcl", "acl", "csubj", "parataxis", "xcomp"})
PREMODIFIERS = frozenset({"amod", "compound", "nummod", "flat", "nmod:unmarked", "nmod:npmod", "nmod:desc"})
POSTMODIFIERS = frozenset({"flat", "compound", "fixed", "goeswith"})
SUBJECTS = frozenset({"nsubj", "csubj"})


def mark(column: Strings, test: Callable[[str], bool]) -> BoolArray:
    """[W]: where the entries of a column pass a test; each distinct string is tested once."""
    flags = np.fromiter((test(text) for text in column.table), dtype=np.bool_, count=len(column.table))
    return flags[column.ids] if len(flags) else np.zeros(len(column), dtype=np.bool_)


def base(relation: str) -> str:
    """`nsubj` for `nsubj:pass`; spaCy writes `ROOT`."""
    return relation.split(":", 1)[0].lower()


def attach_titles(annotation: Annotation, table: Table) -> Annotation:
    """The same trees with "Professor" under "Eastman" wherever a parser put the title of a name above it.

    Treebanks differ in this, and parsers trained on several of them waver; the head word of a name must not.
    """
    if not table.attach_titles or annotation.heads is None or annotation.deprels is None or annotation.num_words < 2:
        return annotation
    titles = frozenset(title for words in table.titles.values() for title in words)
    heads, words = annotation.heads, np.arange(annotation.num_words, dtype=np.int32)
    title = mark(annotation.forms, lambda form: form.lower() in titles)
    below = mark(annotation.deprels, lambda relation: base(relation) == "flat")
    names = words[1:][below[1:] & (heads[1:] == words[:-1]) & title[:-1]]
    names = names[mark(annotation.forms, lambda form: form[:1].isupper())[names]]
    if not len(names):
        return annotation
    moved = words.copy()
    moved[names - 1] = names
    new_heads = moved[heads]
    new_heads[names] = np.where(heads[names - 1] == names - 1, names, heads[names - 1])
    new_heads[names - 1] = names
    relations = annotation.deprels.to_list()
    for name in names.tolist():
        relations[name], relations[name - 1] = relations[name - 1], "nmod:desc"
    return replace(annotation, heads=new_heads.astype(np.int32), deprels=Strings.of(relations))


class Trees:
    """The dependency trees of a document; every array is over its W words."""

    def __init__(self, annotation: Annotation) -> None:
        assert annotation.heads is not None
        assert annotation.upos is not None
        self.count = annotation.num_words
        self.words: IntArray = np.arange(self.count, dtype=np.int32)
        self.heads = annotation.heads
        self.upos = annotation.upos
        self.deprels = annotation.deprels or Strings(np.zeros(self.count, dtype=np.int32), ("dep",))
        self.is_root: BoolArray = self.heads == self.words

    def has_relation(self, names: Iterable[str]) -> BoolArray:
        """[W]: words whose relation to their head, subtype aside, is one of these."""
        wanted = frozenset(names)
        return mark(self.deprels, lambda relation: base(relation) in wanted)

    def has_pos(self, *names: str) -> BoolArray:
        """[W]: words of these parts of speech."""
        return mark(self.upos, lambda pos: pos in names)

    def with_child(self, children: BoolArray) -> BoolArray:
        """[W]: words that have one of the marked words as a child."""
        found = np.zeros(self.count, dtype=np.bool_)
        found[self.heads[children & ~self.is_root]] = True
        return found

    def child(self, children: BoolArray) -> IntArray:
        """[W]: the last marked child of each word, -1 where there is none."""
        found = np.full(self.count, -1, dtype=np.int32)
        chosen = self.words[children & ~self.is_root]
        found[self.heads[chosen]] = chosen
        return found

    @cached_property
    def levels(self) -> list[IntArray]:
        """The words by their distance from the root, the farthest first."""
        depth, above = (~self.is_root).astype(np.int64), self.heads
        for _ in range(self.count.bit_length()):
            depth, above = depth + depth[above], above[above]
        order = np.argsort(-depth, kind="stable").astype(np.int32)
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)

    @cached_property
    def spans(self) -> tuple[IntArray, IntArray]:
        """[W], [W]: first and last word of the subtree under each word."""
        left, right = self.words.copy(), self.words.copy()
        for level in self.levels:
            np.minimum.at(left, self.heads[level], left[level])
            np.maximum.at(right, self.heads[level], right[level])
        return left, right

    @cached_property
    def cores(self) -> tuple[IntArray, IntArray]:
        """[W], [W]: first and last word of the noun phrase's core: the word, its modifiers before, its name parts."""
        left, right = self.spans
        core_left, core_right = self.words.copy(), self.words.copy()
        before = mark(self.deprels, lambda relation: relation in PREMODIFIERS or base(relation) in PREMODIFIERS)
        before &= self.words < self.heads
        np.minimum.at(core_left, self.heads[before], left[before])
        after = self.has_relation(POSTMODIFIERS) & (self.words > self.heads)
        np.maximum.at(core_right, self.heads[after], right[after])
        return core_left, core_right

    @cached_property
    def clauses(self) -> IntArray:
        """[W]: the word that heads the clause each word stands in."""
        subject = self.has_relation(SUBJECTS)
        predicate = self.has_pos("VERB", "AUX") | self.with_child(subject)
        top = self.is_root | self.has_relation(CLAUSAL) | (self.has_relation({"conj"}) & predicate)
        pointer = np.where(top, self.words, self.heads)
        for _ in range(self.count.bit_length()):
            pointer = pointer[pointer]
        return pointer
