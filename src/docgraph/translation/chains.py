"""Chains: words of a document that its graph links, with the translation of every occurrence.

A lexical chain is the occurrences of one content word (same lemma), a coreference chain the mentions of one referent. A
lexical chain is inconsistent if its word has several translations with different lemmas. The noun "damage" and the verb
"damage" may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.formats.atoms import shown_texts
from docgraph.graph.relations import is_function_word
from docgraph.translation.decoding.word_alignment import Span
from docgraph.translation.translator import Translator

MIN_LETTERS = 3
"""Minimum letters of a word in a lexical chain."""


class DocumentChains:
    """The chains of one document. Alignments are cached until a translation changes. Threads may share the object."""

    def __init__(self, document: Document, translator: Translator) -> None:
        self._document, self._translator, self._lock = document, translator, Lock()
        self._aligned: dict[tuple[int, str], list[Span | None]] = {}
        """The translation of each word of a sentence, by sentence and translation."""

    @cached_property
    def _annotation(self) -> Annotation:
        return self._translator.annotate(self._document)

    @cached_property
    def _chains(self) -> list[tuple[str, list[int]]]:
        """(relation, words) of each chain, in the order of their first words."""
        annotation = self._annotation
        keys = (annotation.lemmas or annotation.forms).to_list()
        skipped, forms = is_function_word(annotation), annotation.forms.to_list()
        groups: dict[str, list[int]] = {}
        for word in np.flatnonzero(~skipped).tolist():
            if len(forms[word]) >= MIN_LETTERS and not any(map(str.isdigit, forms[word])):
                groups.setdefault(keys[word].lower(), []).append(word)
        lexical = [("lexical", words) for words in groups.values() if len(words) > 1]
        return sorted(lexical + [("coreference", words) for words in _clusters(annotation)], key=lambda each: each[1])

    def graph(self, translations: Sequence[str | None], first: int = 0) -> dict[str, Any]:
        """Returns the chains, and the links between consecutive sentences of a chain; sentences count from `first`.

        The weight of a link is the number of chains that make it.
        """
        with self._lock:
            aligned = self._align(translations)
        annotation, chains = self._annotation, []
        sentence_of, offsets = annotation.sentence_of, annotation.offsets
        links: Counter[tuple[int, int, str]] = Counter()
        for relation, words in self._chains:
            entries, lemmas = [], {True: set[str](), False: set[str]()}
            for word in words:
                m = int(sentence_of[word])
                text = translations[m] or ""
                span = None if translations[m] is None else aligned[m, text][word - int(offsets[m])]
                entries.append(
                    {
                        "sentence": first + m,
                        "start": int(annotation.starts[word]),
                        "end": int(annotation.ends[word]),
                        "text": annotation.forms[word],
                        "translation": span and {"start": span[0], "end": span[1], "text": text[slice(*span)]},
                    }
                )
                if span is not None:
                    lemmas[self._is_verb(word)].add(self._lemma(text[slice(*span)]))
            places = [first + int(sentence_of[word]) for word in words]
            links.update({(a, b, relation) for a, b in pairwise(places) if a != b})
            is_consistent = relation != "lexical" or all(len(each) < 2 for each in lemmas.values())
            chains.append({"words": entries, "relation": relation, "consistent": is_consistent})
        return {
            "chains": chains,
            "links": [
                {"from": a, "to": b, "relation": relation, "weight": weight}
                for (a, b, relation), weight in sorted(links.items())
            ],
        }

    def _align(self, translations: Sequence[str | None]) -> Mapping[tuple[int, str], list[Span | None]]:
        """Returns the translation of each word by sentence and translation; aligns those that have changed."""
        wanted = {(m, text) for m, text in enumerate(translations) if text is not None}
        self._aligned = {key: spans for key, spans in self._aligned.items() if key in wanted}
        pairs = sorted(wanted - self._aligned.keys())
        texts, annotation = shown_texts(self._document), self._annotation
        attention = self._translator.subword_attention([texts[m] for m, _ in pairs], [text for _, text in pairs])
        for (m, text), each in zip(pairs, attention, strict=True):
            own = slice(int(annotation.offsets[m]), int(annotation.offsets[m + 1]))
            words = list(zip(annotation.starts[own].tolist(), annotation.ends[own].tolist(), strict=True))
            self._aligned[m, text] = each.translations(words, text)
        return self._aligned

    def _is_verb(self, word: int) -> bool:
        """Whether a word of the document is a verb; False if the annotation has no parts of speech."""
        upos = self._annotation.upos
        return upos is not None and upos[word] == "VERB"

    @cached_property
    def _lemma(self) -> Callable[[str], str]:
        """Returns the lower-case lemma of a target word; only lower-cases the word if there is no dictionary."""
        languages = self._translator.languages
        from docgraph.annotate.rule_based import has_simplemma_dictionary

        if languages is None or not has_simplemma_dictionary(languages[1]):
            return str.lower
        import simplemma

        target = languages[1]
        return lambda word: simplemma.lemmatize(word, lang=target).lower()


def _clusters(annotation: Annotation) -> list[list[int]]:
    """Returns the words of each coreference chain, in order."""
    if annotation.coreference is None:
        return []
    cluster: dict[int, list[int]] = {}
    for antecedent, mention in annotation.coreference.tolist():
        merged = sorted({*cluster.get(antecedent, [antecedent]), *cluster.get(mention, [mention])})
        for word in merged:
            cluster[word] = merged
    return list({id(words): words for words in cluster.values()}.values())
