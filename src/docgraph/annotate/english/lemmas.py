"""English lemmas from tags, by lexicon and rule: a component of the embedded pipeline.

spaCy's trainable lemmatizer edits suffixes that it has seen. It invents verbs (*kidding* -> *kidd*) and decides
capitals by position. This component replaces its lemma by the first of these that exists:

1. the treebank's lemma of the form with this tag,
2. the treebank's lemma of the lower-case or unlengthened form (*sooooo*),
3. the form itself, if its tag has no inflection,
4. simplemma's lemma, or a regular stem that is an attested verb.

The tag decides whether a capital is kept. Uncertain tags are reranked first (`tag_reranker`).
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from simplemma import is_known, lemmatize
from spacy.language import Language

from docgraph.annotate.english.tag_reranker import TaggedSentence, TagReranker, WordTables
from docgraph.files import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from spacy.tokens import Doc

FILE = "lemmas.json.gz"
NAME = "docgraph_lemmas"
PROPER = frozenset({"NNP", "NNPS"})
INFLECTED = frozenset({"VBD", "VBG", "VBN", "VBZ", "NNS", "NNPS", "JJR", "JJS", "RBR", "RBS"})
NUMERAL = "CD"
KEEPS_FORM = frozenset({"ADD", "SYM", "$", "LS", "GW", "NFP"})
"""Tags other than proper nouns whose lemma is the form with its case."""
ALWAYS_CAPITALISED = "3"
"""The class of words that raw text always capitalises (see `WordTables.capitalised`)."""
_LENGTHENED = re.compile(r"([a-z])\1{2,}")
_FILE_NAME = re.compile(r"[\w-]+\.(?:csv|dat|docx?|exe|gif|html?|jpe?g|mp3|pdf|png|pptx?|rtf|txt|wav|wpd|xlsx?|zip)")
_MAX_ACRONYM_LENGTH = 5
Lexicon = dict[str, dict[str, str]]
"""Tag -> form -> lemma, most frequent forms first; "" if the lemma depends on the context (*'s*: be or have)."""


class LemmaRules:
    """Returns the lemma of a form with a tag."""

    def __init__(self, lexicon: Lexicon, capitalised: Mapping[str, str]) -> None:
        self.lexicon, self.capitalised = lexicon, capitalised
        self._lower: Lexicon = {}
        for tag, entries in lexicon.items():
            lower = self._lower.setdefault(tag, {})
            for form, lemma in entries.items():
                lower.setdefault(form.lower(), lemma.lower())
        self._verbs = {lemma for tag, entries in self._lower.items() if tag[0] == "V" for lemma in entries.values()}

    def __call__(self, form: str, tag: str, guess: str, all_caps: bool) -> str:
        """Returns the lemma; `guess` is the trainable lemmatizer's, `all_caps` is True in a sentence in capitals."""
        lemma = self.lexicon.get(tag, {}).get(form)
        if lemma is not None:
            return lemma or guess
        lower = form.lower()
        if _FILE_NAME.fullmatch(lower):
            return lower
        if tag in PROPER:
            return self._proper_noun(form, lower, tag, all_caps)
        if tag in KEEPS_FORM:
            return form
        if tag == NUMERAL:
            return guess
        if tag == "JJ" and self.capitalised.get(lower) == ALWAYS_CAPITALISED:
            return lower.capitalize()
        return self._common_word(lower, tag) or guess.lower()

    def _common_word(self, lower: str, tag: str) -> str | None:
        """Returns the lemma by lexicon, or by dictionary if the tag is inflected; None if it is unknown."""
        known = self._lower.get(tag, {})
        spellings = (lower, _LENGTHENED.sub(r"\1\1", lower), _LENGTHENED.sub(r"\1", lower))
        lemma = next((known[spelling] for spelling in spellings if spelling in known), None)
        if lemma is not None or tag not in INFLECTED:
            return lemma if lemma is not None else lower
        return self._stem(lower, tag)

    def _stem(self, lower: str, tag: str) -> str | None:
        """Returns the base form of an inflected word by dictionary or, for unknown verbs, by spelling."""
        lemma = str(lemmatize(lower, lang="en"))
        if tag[0] == "V" and lemma not in self._verbs:
            return next((stem for stem in _verb_stems(lower) if stem in self._verbs), lemma)
        return lemma if lemma != lower or is_known(lower, lang="en") else None

    def _proper_noun(self, form: str, lower: str, tag: str, all_caps: bool) -> str:
        names = self.lexicon.get(tag, {})
        if form.isupper() and form.isalpha():
            title = form.capitalize()
            if title in names:
                return names[title]
            if len(form) > _MAX_ACRONYM_LENGTH or (all_caps and len(form) > 3):
                form = title
        if tag == "NNPS":
            singular = str(lemmatize(lower.capitalize(), lang="en"))
            return form[: len(singular)] if lower.startswith(singular.lower()) else singular.capitalize()
        return form


def _verb_stems(lower: str) -> Iterator[str]:
    """Yields the possible base forms of a regular verb form: *mimicking* -> *mimick*, *mimicke*, *mimic*."""
    for suffix in ("ing", "ed", "es", "s"):
        if lower.endswith(suffix) and len(lower) > len(suffix) + 2:
            stem = lower[: -len(suffix)]
            yield stem
            yield stem + "e"
            if stem[-1] == stem[-2] or stem.endswith("ck"):
                yield stem[:-1]


class LemmaRefiner:
    """The spaCy component. It requires `tok2vec` and `tagger` before it and assigns `token.lemma`."""

    def __init__(self, nlp: Language, name: str) -> None:
        self.nlp, self.name = nlp, name
        self.set_model({}, TagReranker(1.0, {}, WordTables({}, {})))

    def set_model(self, lexicon: Lexicon, reranker: TagReranker) -> None:
        """Sets a trained lexicon and reranker."""
        self.reranker = reranker
        self.rules = LemmaRules(lexicon, reranker.tables.capitalised)
        self._lemma = lru_cache(maxsize=1 << 16)(self.rules.__call__)

    def __call__(self, doc: Doc) -> Doc:
        """Returns the document with refined lemmas."""
        return self._refine([doc])[0]

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Yields the documents with refined lemmas; the tagger runs on batches."""
        remaining = iter(docs)
        while batch := list(islice(remaining, batch_size)):
            yield from self._refine(batch)

    def _refine(self, docs: list[Doc]) -> list[Doc]:
        tagger: Any = self.nlp.get_pipe("tagger")
        filled = [doc for doc in docs if len(doc)]
        for doc, logits in zip(filled, tagger.model.predict(filled) if filled else [], strict=True):
            tokens = [(token.text, token.tag_, token.lemma_) for token in doc]
            lemmas = self._lemmas(tokens, np.asarray(logits), tagger.labels)
            for i, (lemma, (_, _, guess)) in enumerate(zip(lemmas, tokens, strict=True)):
                if lemma != guess:
                    doc[i].lemma_ = lemma
        return docs

    def _lemmas(
        self, tokens: Sequence[tuple[str, str, str]], logits: NDArray[np.float32], labels: Sequence[str]
    ) -> list[str]:
        """Returns the lemmas of a sentence of (form, tag, guessed lemma); `logits` [words, labels] are the tagger's."""
        sentence = TaggedSentence([word for word, _, _ in tokens], [tag for _, tag, _ in tokens])
        lemmas = [self._lemma(word, tag, guess, sentence.is_all_caps) for word, tag, guess in tokens]
        for i, probabilities in self.reranker(sentence, logits, labels):
            word, _, guess = tokens[i]
            mass: dict[str, float] = {}  # several tags may give the same lemma, such as VBD and VBN
            for tag, probability in probabilities.items():
                lemma = self._lemma(word, tag, guess, sentence.is_all_caps)
                mass[lemma] = mass.get(lemma, 0.0) + probability
            lemmas[i] = max(mass, key=mass.__getitem__)
        return lemmas

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Writes a gzipped JSON file into a folder."""
        tables = self.reranker.tables
        data = {
            "lexicon": self.rules.lexicon,
            "tags": _group_by_value(tables.tags),
            "capitalised": _group_by_value(tables.capitalised),
            "scale": self.reranker.scale,
            "weights": self.reranker.weights,
        }
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
        with replacing(Path(path) / FILE) as temporary:
            temporary.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> LemmaRefiner:
        """Reads the file that `to_disk` wrote."""
        data = json.loads(gzip.decompress((Path(path) / FILE).read_bytes()))
        tables = WordTables(_ungroup(data["tags"]), _ungroup(data["capitalised"]))
        self.set_model(data["lexicon"], TagReranker(data["scale"], data["weights"], tables))
        return self


def _group_by_value(table: Mapping[str, str]) -> dict[str, str]:
    """Returns value -> its words joined by spaces, which is a third of the size of the plain table."""
    groups: dict[str, list[str]] = {}
    for word, value in table.items():
        groups.setdefault(value, []).append(word)
    return {value: " ".join(words) for value, words in groups.items()}


def _ungroup(groups: Mapping[str, str]) -> dict[str, str]:
    return {word: value for value, words in groups.items() for word in words.split(" ")}


@Language.factory(NAME, assigns=["token.lemma"], requires=["token.tag"])
def create_lemma_refiner(nlp: Language, name: str) -> LemmaRefiner:
    """Creates the component, which has no lexicon until it is loaded or trained."""
    return LemmaRefiner(nlp, name)
