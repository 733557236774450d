"""English lemmas by lexicon and rule, given tags: the last component of the embedded pipeline.

The trainable lemmatizer edits suffixes it has seen; it invents verbs (*kidding* -> *kidd*) and decides capitals by
position. This component keeps its answer only where nothing better is known, and otherwise takes, in this order: the
treebank's lemma of this form with this tag; the same of its lower-case or unlengthened form (*sooooo*); the form itself
for tags without inflection; simplemma's dictionary, and regular spelling with attested stems, for the others. The
tag decides whether a capital stays; tags the tagger is unsure of are looked at again first (`tag_reranker`).
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
"""Tags other than proper nouns whose lemma is the form, case included."""
ALWAYS = "3"
"""The class of words that raw text always capitalises (`WordTables.capitalised`)."""
_LENGTHENED = re.compile(r"([a-z])\1{2,}")
_FILE_NAME = re.compile(r"[\w-]+\.(?:csv|dat|docx?|exe|gif|html?|jpe?g|mp3|pdf|png|pptx?|rtf|txt|wav|wpd|xlsx?|zip)")
_LONGEST_ACRONYM = 5
Lexicon = dict[str, dict[str, str]]
"""Tag -> form -> lemma, the most frequent forms first; "" where only the context tells (*'s*: be or have)."""


class LemmaRules:
    """The lemma of a form with a tag."""

    def __init__(self, lexicon: Lexicon, capitalised: Mapping[str, str]) -> None:
        self.lexicon, self.capitalised = lexicon, capitalised
        self._lower: Lexicon = {}
        for tag, entries in lexicon.items():
            lower = self._lower.setdefault(tag, {})
            for form, lemma in entries.items():
                lower.setdefault(form.lower(), lemma.lower())
        self._verbs = {lemma for tag, entries in self._lower.items() if tag[0] == "V" for lemma in entries.values()}

    def __call__(self, form: str, tag: str, guess: str, shouted: bool) -> str:
        """`guess` is another lemmatizer's answer; `shouted` says that the sentence is in capitals."""
        lemma = self.lexicon.get(tag, {}).get(form)
        if lemma is not None:
            return lemma or guess
        lower = form.lower()
        if _FILE_NAME.fullmatch(lower):
            return lower
        if tag in PROPER:
            return self._proper(form, lower, tag, shouted)
        if tag in KEEPS_FORM:
            return form
        if tag == NUMERAL:
            return guess
        if tag == "JJ" and self.capitalised.get(lower) == ALWAYS:
            return lower.capitalize()
        return self._common(lower, tag) or guess.lower()

    def _common(self, lower: str, tag: str) -> str | None:
        known = self._lower.get(tag, {})
        spellings = (lower, _LENGTHENED.sub(r"\1\1", lower), _LENGTHENED.sub(r"\1", lower))
        lemma = next((known[spelling] for spelling in spellings if spelling in known), None)
        if lemma is not None or tag not in INFLECTED:
            return lemma if lemma is not None else lower
        return self._stem(lower, tag)

    def _stem(self, lower: str, tag: str) -> str | None:
        """The base form of an inflected word by dictionary, or by spelling where the dictionary has no such word."""
        lemma = str(lemmatize(lower, lang="en"))
        if tag[0] == "V" and lemma not in self._verbs:
            return next((stem for stem in _verb_stems(lower) if stem in self._verbs), lemma)
        return lemma if lemma != lower or is_known(lower, lang="en") else None

    def _proper(self, form: str, lower: str, tag: str, shouted: bool) -> str:
        names = self.lexicon.get(tag, {})
        if form.isupper() and form.isalpha():
            title = form.capitalize()
            if title in names:
                return names[title]
            if len(form) > _LONGEST_ACRONYM or (shouted and len(form) > 3):
                form = title
        if tag == "NNPS":
            singular = str(lemmatize(lower.capitalize(), lang="en"))
            return form[: len(singular)] if lower.startswith(singular.lower()) else singular.capitalize()
        return form


def _verb_stems(lower: str) -> Iterator[str]:
    """Base forms a regular verb form may have: *mimicking* -> *mimick*, *mimicke*, *mimic*."""
    for suffix in ("ing", "ed", "es", "s"):
        if lower.endswith(suffix) and len(lower) > len(suffix) + 2:
            stem = lower[: -len(suffix)]
            yield stem
            yield stem + "e"
            if stem[-1] == stem[-2] or stem.endswith("ck"):
                yield stem[:-1]


class LemmaRefiner:
    """The spaCy component: needs the pipeline's `tok2vec` and `tagger` before it; assigns `token.lemma`."""

    def __init__(self, nlp: Language, name: str) -> None:
        self.nlp, self.name = nlp, name
        self.install({}, TagReranker(1.0, {}, WordTables({}, {})))

    def install(self, lexicon: Lexicon, reranker: TagReranker) -> None:
        """Take a trained lexicon and reranker."""
        self.reranker = reranker
        self.rules = LemmaRules(lexicon, reranker.tables.capitalised)
        self._lemma = lru_cache(maxsize=1 << 16)(self.rules.__call__)

    def __call__(self, doc: Doc) -> Doc:
        return self._refine([doc])[0]

    def pipe(self, docs: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The documents with refined lemmas, tagged a batch at a time."""
        remaining = iter(docs)
        while batch := list(islice(remaining, batch_size)):
            yield from self._refine(batch)

    def _refine(self, docs: list[Doc]) -> list[Doc]:
        tagger: Any = self.nlp.get_pipe("tagger")
        filled = [doc for doc in docs if len(doc)]
        for doc, logits in zip(filled, tagger.model.predict(filled) if filled else [], strict=True):
            known = [(token.text, token.tag_, token.lemma_) for token in doc]
            lemmas = self._lemmas(known, np.asarray(logits), tagger.labels)
            for i, (lemma, (_, _, guess)) in enumerate(zip(lemmas, known, strict=True)):
                if lemma != guess:
                    doc[i].lemma_ = lemma
        return docs

    def _lemmas(
        self, known: Sequence[tuple[str, str, str]], logits: NDArray[np.float32], labels: Sequence[str]
    ) -> list[str]:
        """The lemmas of a sentence of known (form, tag, guessed lemma); logits: [words, labels], the tagger's."""
        sentence = TaggedSentence.of([word for word, _, _ in known], [tag for _, tag, _ in known])
        shouted = sentence.shouted
        lemmas = [self._lemma(word, tag, guess, shouted) for word, tag, guess in known]
        for i, probabilities in self.reranker(sentence, logits, labels):
            word, _, guess = known[i]
            mass: dict[str, float] = {}  # several tags may give one lemma, as VBD and VBN do
            for tag, probability in probabilities.items():
                lemma = self._lemma(word, tag, guess, shouted)
                mass[lemma] = mass.get(lemma, 0.0) + probability
            lemmas[i] = max(mass, key=mass.__getitem__)
        return lemmas

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """One gzipped JSON file in a folder."""
        tables = self.reranker.tables
        data = {
            "lexicon": self.rules.lexicon,
            "tags": _grouped(tables.tags),
            "capitalised": _grouped(tables.capitalised),
            "scale": self.reranker.scale,
            "weights": self.reranker.weights,
        }
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
        with replacing(Path(path) / FILE) as temporary:
            temporary.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> LemmaRefiner:
        """What `to_disk` wrote."""
        data = json.loads(gzip.decompress((Path(path) / FILE).read_bytes()))
        tables = WordTables(_ungrouped(data["tags"]), _ungrouped(data["capitalised"]))
        self.install(data["lexicon"], TagReranker(data["scale"], data["weights"], tables))
        return self


def _grouped(table: Mapping[str, str]) -> dict[str, str]:
    """Value -> its words, joined by spaces: a third of the size of the plain table."""
    groups: dict[str, list[str]] = {}
    for word, value in table.items():
        groups.setdefault(value, []).append(word)
    return {value: " ".join(words) for value, words in groups.items()}


def _ungrouped(groups: Mapping[str, str]) -> dict[str, str]:
    return {word: value for value, words in groups.items() for word in words.split(" ")}


@Language.factory(NAME, assigns=["token.lemma"], requires=["token.tag"])
def create_lemma_refiner(nlp: Language, name: str) -> LemmaRefiner:
    """The component, empty until loaded or trained."""
    return LemmaRefiner(nlp, name)
