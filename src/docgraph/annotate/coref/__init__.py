"""Coreference for any language with a parse and a table of pronouns: sieves, and for English a learned ranker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref import ranker, sieves
from docgraph.annotate.coref.candidates import find_candidates
from docgraph.annotate.coref.features import mention_features
from docgraph.annotate.coref.mentions import Mentions, find_mentions
from docgraph.annotate.coref.pairs import Pairs
from docgraph.annotate.coref.tables import FOLDER, load_table
from docgraph.annotation import Annotation, IntArray, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

REVISION = "1"
"""Raised when the code changes what it finds."""
CHUNK = 1024
"""How many mentions are compared with their candidates at a time."""


class SieveCoreference:
    """Links every mention to an antecedent or to none: `coref:en`."""

    requires: frozenset[Layer] = frozenset({"words", "tags", "heads"})
    assigns: frozenset[Layer] = frozenset({"coreference"})

    def __init__(self, language: str, *, learned: bool = True) -> None:
        """`learned` False leaves the choice to the sieves even where there is a ranker."""
        self._table = load_table(language)
        self._ranker = ranker.load(self._table.language) if learned else None
        self.name = f"coref:{self._table.language}"
        table = (FOLDER / f"{self._table.language}.toml").read_bytes()
        digest = hashlib.blake2b(table, digest_size=8).hexdigest()
        self.version = " ".join([REVISION, digest, self._ranker.digest if self._ranker else "sieves"])

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        if annotation is None or annotation.upos is None or annotation.heads is None:
            raise DocgraphError(f"annotator '{self.name}' needs tags and heads; put a parser before it")
        return replace(annotation, coreference=self._links(document, annotation))

    def _links(self, document: Document, annotation: Annotation) -> IntArray:
        """[C, 2]: (antecedent, mention), by mention."""
        mentions = find_mentions(document, annotation, self._table)
        candidates = find_candidates(mentions)
        choose = self._chooser(mentions)
        links = [np.zeros((0, 2), dtype=np.int32)]
        for start in range(0, len(candidates.anaphor), CHUNK):
            rows = slice(start, start + CHUNK)
            pairs = Pairs(mentions, candidates.anaphor[rows], candidates.antecedent[rows])
            chosen = choose(pairs)
            chosen = chosen[chosen >= 0]
            links.append(mentions.word[np.stack([pairs.j[chosen], pairs.i[chosen]], axis=1)])
        return np.concatenate(links)

    def _chooser(self, mentions: Mentions) -> Callable[[Pairs], npt.NDArray[np.int64]]:
        """What picks the pair that links each mention."""
        if self._ranker is None:
            return sieves.choose
        return partial(self._ranker.choose, mention_columns=mention_features(mentions, len(self._table.pronouns)))
