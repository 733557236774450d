"""Embedded coreference: rule-based sieves for any language with word lists, and a learned ranker for English."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref import ranker, sieves
from docgraph.annotate.coref.mentions import Mentions, find_mentions
from docgraph.annotate.coref.pairs import Pairs, find_candidates
from docgraph.annotate.coref.word_lists import ANIMACY, FOLDER, Pronoun, PronounKind, WordLists, load_word_lists
from docgraph.annotation import Annotation, BoolArray, IntArray, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

REVISION = "2"
"""Part of the version; raise it when a change of the code changes the links."""
CHUNK_MENTIONS = 1024
"""Number of mentions whose candidates are compared at once."""


def may_be_a_thing(pronoun: Pronoun) -> bool:
    """Returns True for personal pronouns of the third person that can refer to things: it, they, them."""
    inanimate = bool(pronoun.animacy & ANIMACY["i"])
    return pronoun.kind == PronounKind.PERSONAL and pronoun.person == 3 and inanimate


def refers_to_things(mentions: Mentions, lists: WordLists) -> BoolArray:
    """Returns [M]: which mentions are pronouns that can refer to things."""
    return np.array([False, *map(may_be_a_thing, lists.pronouns)])[mentions.pronoun]


class CorefAnnotator:
    """Links each mention to an antecedent or to none: `coref:LANGUAGE`."""

    requires: frozenset[Layer] = frozenset({"words", "tags", "heads"})
    assigns: frozenset[Layer] = frozenset({"coreference"})

    def __init__(self, language: str, *, use_ranker: bool = True) -> None:
        """With `use_ranker` False, the sieves decide even if the language has a ranker."""
        self._lists = load_word_lists(language)
        code = self._lists.language
        self._ranker = ranker.load(code) if use_ranker else None
        self.name = f"coref:{code}"
        digest = hashlib.blake2b((FOLDER / f"{code}.toml").read_bytes(), digest_size=8).hexdigest()
        self.version = " ".join([REVISION, digest, self._ranker.digest if self._ranker else "sieves"])

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        if annotation is None or annotation.upos is None or annotation.heads is None:
            raise DocgraphError(f"annotator '{self.name}' needs tags and heads; put a parser before it")
        return replace(annotation, coreference=self._links(document, annotation))

    def _links(self, document: Document, annotation: Annotation) -> IntArray:
        """Returns [C, 2]: (antecedent, mention), in the order of the mentions."""
        mentions = find_mentions(document, annotation, self._lists)
        anaphor, antecedent = find_candidates(mentions)
        choose = self._chooser(mentions)
        links = [np.zeros((0, 2), dtype=np.int32)]
        for start in range(0, len(anaphor), CHUNK_MENTIONS):
            rows = slice(start, start + CHUNK_MENTIONS)
            pairs = Pairs(mentions, anaphor[rows], antecedent[rows])
            chosen = choose(pairs)
            chosen = chosen[chosen >= 0]
            links.append(mentions.word[np.stack([pairs.j[chosen], pairs.i[chosen]], axis=1)])
        return np.concatenate(links)

    def _chooser(self, mentions: Mentions) -> Callable[[Pairs], npt.NDArray[np.int64]]:
        """Returns the function that chooses the pair that links each mention."""
        if self._ranker is None:
            return sieves.choose
        columns = ranker.mention_features(mentions, len(self._lists.pronouns))
        return partial(self._ranker.choose, mention_columns=columns, lenient=refers_to_things(mentions, self._lists))
