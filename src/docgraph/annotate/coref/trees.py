"""Dependency trees as arrays: subtree spans, clauses and children of all W words at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from docgraph.annotate.coref.word_lists import WordLists
from docgraph.annotation import Annotation, BoolArray, IntArray, Strings

CLAUSAL = frozenset({"root", "ccomp", "advcl", "acl", "csubj", "parataxis", "xcomp"})
PREMODIFIERS = frozenset({"amod", "compound", "nummod", "flat", "nmod:unmarked", "nmod:npmod", "nmod:desc"})
POSTMODIFIERS = frozenset({"flat", "compound", "fixed", "goeswith"})
SUBJECTS = frozenset({"nsubj", "csubj"})


def mark(column: Strings, test: Callable[[str], bool]) -> BoolArray:
    """Returns [W]: which entries of a column pass a test. Each distinct string is tested once."""
    flags = np.fromiter((test(text) for text in column.table), dtype=np.bool_, count=len(column.table))
    return flags[column.ids] if len(flags) else np.zeros(len(column), dtype=np.bool_)


def base_relation(relation: str) -> str:
    """Returns the relation without its subtype: `nsubj` for `nsubj:pass`, `root` for spaCy's `ROOT`."""
    return relation.split(":", 1)[0].lower()


def attach_titles(annotation: Annotation, lists: WordLists) -> Annotation:
    """Makes a title before a name a dependent of the name if the parser attached them the other way round.

    Treebanks differ in this, so parsers trained on several of them are inconsistent. The head word of a name must be
    the same everywhere: "Eastman" in both "Eastman" and "Professor Eastman".
    """
    if not lists.attach_titles or annotation.heads is None or annotation.deprels is None or annotation.num_words < 2:
        return annotation
    titles = frozenset(title for words in lists.titles.values() for title in words)
    heads, words = annotation.heads, np.arange(annotation.num_words, dtype=np.int32)
    is_title = mark(annotation.forms, lambda form: form.lower() in titles)
    is_flat = mark(annotation.deprels, lambda relation: base_relation(relation) == "flat")
    names = words[1:][is_flat[1:] & (heads[1:] == words[:-1]) & is_title[:-1]]
    names = names[mark(annotation.forms, lambda form: form[:1].isupper())[names]]
    if not len(names):
        return annotation
    replacement = words.copy()
    replacement[names - 1] = names
    new_heads = replacement[heads]
    new_heads[names] = np.where(heads[names - 1] == names - 1, names, heads[names - 1])
    new_heads[names - 1] = names
    relations = annotation.deprels.to_list()
    for name in names.tolist():
        relations[name], relations[name - 1] = relations[name - 1], "nmod:desc"
    return replace(annotation, heads=new_heads.astype(np.int32), deprels=Strings.of(relations))


class Trees:
    """The dependency trees of a document. Every array is over its W words."""

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
        """Returns [W]: words with one of these relations to their head; subtypes are ignored."""
        wanted = frozenset(names)
        return mark(self.deprels, lambda relation: base_relation(relation) in wanted)

    def has_pos(self, *names: str) -> BoolArray:
        """Returns [W]: words with one of these parts of speech."""
        return mark(self.upos, lambda pos: pos in names)

    def with_child(self, children: BoolArray) -> BoolArray:
        """Returns [W]: words that have one of the marked words as a child."""
        parents = np.zeros(self.count, dtype=np.bool_)
        parents[self.heads[children & ~self.is_root]] = True
        return parents

    def child(self, children: BoolArray) -> IntArray:
        """Returns [W]: the last marked child of each word, or -1."""
        last_child = np.full(self.count, -1, dtype=np.int32)
        marked = self.words[children & ~self.is_root]
        last_child[self.heads[marked]] = marked
        return last_child

    @cached_property
    def levels(self) -> list[IntArray]:
        """The words grouped by their distance from the root, farthest first."""
        depth, ancestor = (~self.is_root).astype(np.int64), self.heads
        for _ in range(self.count.bit_length()):
            depth, ancestor = depth + depth[ancestor], ancestor[ancestor]
        order = np.argsort(-depth, kind="stable").astype(np.int32)
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)

    @cached_property
    def spans(self) -> tuple[IntArray, IntArray]:
        """[W], [W]: first and last word of the subtree of each word."""
        left, right = self.words.copy(), self.words.copy()
        for level in self.levels:
            np.minimum.at(left, self.heads[level], left[level])
            np.maximum.at(right, self.heads[level], right[level])
        return left, right

    @cached_property
    def cores(self) -> tuple[IntArray, IntArray]:
        """[W], [W]: first and last word of the core of a noun phrase: head, premodifiers and parts of a name."""
        left, right = self.spans
        core_left, core_right = self.words.copy(), self.words.copy()
        before = mark(
            self.deprels, lambda relation: relation in PREMODIFIERS or base_relation(relation) in PREMODIFIERS
        )
        before &= self.words < self.heads
        np.minimum.at(core_left, self.heads[before], left[before])
        after = self.has_relation(POSTMODIFIERS) & (self.words > self.heads)
        np.maximum.at(core_right, self.heads[after], right[after])
        return core_left, core_right

    @cached_property
    def clauses(self) -> IntArray:
        """[W]: the head word of the clause of each word."""
        subject = self.has_relation(SUBJECTS)
        predicate = self.has_pos("VERB", "AUX") | self.with_child(subject)
        top = self.is_root | self.has_relation(CLAUSAL) | (self.has_relation({"conj"}) & predicate)
        pointer = np.where(top, self.words, self.heads)
        for _ in range(self.count.bit_length()):
            pointer = pointer[pointer]
        return pointer
