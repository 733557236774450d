"""Hints: words inserted into a source sentence after a word, such as the translation of what the word refers to.

The document graph links a use of a defined term with the translation that its definition contains (relation
`definition`), and a pronoun with its antecedent in an earlier sentence (relation `coreference`). The translation of the
antecedent is found by the model's cross-attention, in the translation of that sentence. A hint stands between two
separators:

    The Minister must set a target for each milestone year <unk> année jalon <unk> .
    It <unk> le port <unk> is too small.

So encoder and decoder read the words of a hint like other words, next to the word concerned, and training decides how
much they count. A sentence without hints is read as by Base. Hints add no parameters (after Dinu et al. 2019, who
insert dictionary entries).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from docgraph.annotate.dictionary import Dictionary, Entry, load_dictionary
from docgraph.annotation import Annotation
from docgraph.graph.definitions import DEFINING, MEANING, find_uses
from docgraph.model.tokenizer import SubwordCoder, Tokenizer

Ids = npt.NDArray[np.integer]
RELATIONS = ("definition", "coreference", "dictionary", "previous")
"""What gives hints: two relations of the graph, a dictionary, which configs name as in `dictionary:en-fr`, and the
sentence before. The numbers of stored hints are indices of this tuple. When text is translated, words that the user
corrects give hints, too; their relation is `correction` (translation/terms/corrected_words.py)."""
REFERRING = frozenset({"it", "they", "them", "itself", "themselves", "this", "these", "that", "those", "one", "ones"})
"""Pronouns whose translation depends on that of their antecedent."""
NOMINAL = frozenset({"NOUN", "PROPN"})
MAX_LENGTH = 24
"""Sub-words of the longest hint that contains a translation."""
MAX_PREVIOUS = 32
"""Number of sub-words, from the end of the previous sentence, that a hint repeats."""
MAX_READER = 24
"""Sub-words, end-of-sentence included, of the longest sentence that reads the previous sentence."""


@dataclass(frozen=True)
class Referent:
    """Words of another sentence, by the indices of their sub-words in that sentence."""

    sentence: int
    head: tuple[int, ...]
    determiner: tuple[int, ...]


@dataclass(frozen=True)
class Hint:
    """Words that are inserted beside words of a sentence, such as the translation of their referent."""

    sentence: int
    place: int
    """Number of sub-words of the sentence before the hint."""
    ids: tuple[int, ...] = ()
    """The words of the hint; empty while they are unknown, and if the translation of the referent lacks them."""
    relation: str = "definition"
    referent: Referent | None = None
    """The words whose translation the hint contains; None if the document or a dictionary contains the translation."""
    first: int | None = None
    """The first sub-word of the words that the hint is about, which end at `place`; None if it was not recorded."""
    printed_in: int | None = None
    """The sentence that contains the words of the hint, if any; its index in the whole document, even in a chunk."""
    entry: Entry | None = None
    """The dictionary entry of the hint, if any; words that the user corrects form a dictionary, too."""

    @property
    def span(self) -> range:
        """The sub-words that the hint is about; the last one if the first was not recorded."""
        return range(self.place - 1 if self.first is None else self.first, self.place)

    @property
    def is_open(self) -> bool:
        """True if the words must still be found in the translation of the referent."""
        return not self.ids and self.referent is not None


def hints_by_sentence(hints: Iterable[Hint]) -> dict[int, list[Hint]]:
    """Returns the hints of each sentence that has any."""
    found: dict[int, list[Hint]] = {}
    for hint in hints:
        found.setdefault(hint.sentence, []).append(hint)
    return found


def referents(hints: Iterable[Hint]) -> dict[int, set[int]]:
    """Returns, for each sentence with open hints, the earlier sentences whose translations it reads."""
    read: dict[int, set[int]] = {}
    for hint in hints:
        if hint.is_open and hint.referent is not None:
            read.setdefault(hint.sentence, set()).add(hint.referent.sentence)
    return read


_MAY_REFER = re.compile(rf"\b(?:{'|'.join(sorted(REFERRING))})(?:d|ll|re|s|ve)*\b", re.IGNORECASE)
_MAY_DEFINE = re.compile(rf"\b(?:{'|'.join(sorted(DEFINING | MEANING))})\b.*\)", re.IGNORECASE | re.DOTALL)
_MAY_PRINT = re.compile(rf"{_MAY_DEFINE.pattern}[.,;:]*\s*$", re.IGNORECASE | re.DOTALL)


def may_print(text: str) -> bool:
    """Returns whether a text may define a term and print its equivalent; such a text must stay one sentence."""
    return _MAY_PRINT.search(text) is not None


def may_have_hints(texts: Sequence[str], relations: Collection[str], own: Dictionary | None = None) -> bool:
    """Returns False only if a document cannot have hints, so that it need not be annotated.

    `own` is a dictionary of the document's own.
    """
    if "coreference" in relations and any(map(_MAY_REFER.search, texts[1:])):
        return True
    # The equivalent of a term may be the whole next sentence.
    if "definition" in relations and any(
        _MAY_DEFINE.search(f"{text} {following}" if following.startswith("(") else text)
        for text, following in pairwise([*texts, ""])
    ):
        return True
    every = [*([] if own is None else [own]), *dictionaries(relations)]
    return any(dictionary.may_occur(text) for dictionary in every for text in texts)


def dictionaries(relations: Iterable[str]) -> list[Dictionary]:
    """Returns the dictionaries among the relations of a config."""
    return [load_dictionary(name.partition(":")[2]) for name in relations if name.startswith("dictionary:")]


def find_hints(
    annotation: Annotation | None,
    source: Sequence[Ids],
    words: Sequence[Ids],
    tokenizer: Tokenizer,
    relations: Iterable[str],
) -> list[Hint]:
    """Returns the hints by the graph of a document: `source` are the sub-words of its sentences, and `words` the word
    of each sub-word. Without an annotation, only those that need none."""
    found: list[Hint] = []
    if annotation is not None:
        places = _Places(annotation, words)
        if "definition" in relations:
            found += _definition_hints(annotation, source, places, tokenizer)
        if "coreference" in relations:
            found += _coreference_hints(annotation, places)
    if "previous" in relations:
        others = {hint.sentence for hint in found}
        found += [hint for hint in _previous_hints(source) if hint.sentence not in others]
    return sorted(found, key=lambda hint: (hint.sentence, hint.place))


def find_lookups(
    annotation: Annotation,
    words: Sequence[Ids],
    tokenizer: Tokenizer,
    dictionaries: Iterable[Dictionary],
    hints: Iterable[Hint],
) -> list[Hint]:
    """Returns the hints by dictionaries, the first of which count more, at words of a document that have none of the
    other `hints`."""
    places, taken = _Places(annotation, words), {(hint.sentence, hint.place) for hint in hints}
    lookups: list[Hint] = []
    for dictionary in dictionaries:
        found = _dictionary_hints(annotation, places, dictionary, tokenizer)
        lookups += [hint for hint in found if (hint.sentence, hint.place) not in taken]
        taken |= {(hint.sentence, hint.place) for hint in found}
    return lookups


class _Places:
    """Where the sub-words of each word are."""

    def __init__(self, annotation: Annotation, words: Sequence[Ids]) -> None:
        self._sentence_of, self._words = annotation.sentence_of, words

    def sentence(self, word: int) -> int:
        return int(self._sentence_of[word])

    def of(self, words: Iterable[int]) -> tuple[int, ...]:
        """Returns the sub-words, in their sentence, of words of one sentence."""
        wanted = list(words)
        if not wanted:
            return ()
        return tuple(np.flatnonzero(np.isin(self._words[self.sentence(wanted[0])], wanted)).tolist())


def _previous_hints(source: Sequence[Ids]) -> Iterator[Hint]:
    """Yields a hint at the beginning of each short sentence: the end of the sentence before, in the source language."""
    for m, (previous, sentence) in enumerate(pairwise(source), start=1):
        if len(sentence) <= MAX_READER and (ids := previous[:-1][-MAX_PREVIOUS:].tolist()):
            yield Hint(m, 0, tuple(ids), "previous", printed_in=m - 1)


def _definition_hints(
    annotation: Annotation, source: Sequence[Ids], places: _Places, tokenizer: Tokenizer
) -> list[Hint]:
    """Returns a hint at the first use of each defined term in a sentence: the printed equivalent."""
    found: dict[tuple[int, range], Hint] = {}
    printed: dict[range, tuple[int, ...]] = {}
    for definition, used in find_uses(annotation):
        sentence, after = places.sentence(used.start), places.of(used)
        if not definition.printed or not after or (sentence, definition.printed) in found:
            continue
        if definition.printed not in printed:
            pieces = places.of(definition.printed)
            printing = source[places.sentence(definition.printed.start)]
            text = tokenizer.source.decode(printing[pieces[0] : pieces[-1] + 1]) if pieces else ""
            printed[definition.printed] = tuple(
                tokenizer.target.encode(text.strip("() "))[0][:-1].tolist()[:MAX_LENGTH]
            )
        found[sentence, definition.printed] = Hint(
            sentence, after[-1] + 1, printed[definition.printed], first=after[0], printed_in=definition.sentence
        )
    return [hint for hint in found.values() if hint.ids]


def _coreference_hints(annotation: Annotation, places: _Places) -> list[Hint]:
    """Returns hints, without words yet, at pronouns whose nearest nominal antecedent is in an earlier sentence."""
    links, upos, heads = annotation.coreference, annotation.upos, annotation.heads
    if links is None or upos is None or heads is None:
        return []
    antecedent_of = {int(mention): int(antecedent) for antecedent, mention in links}
    determiners: dict[int, list[int]] = {}
    for word in np.flatnonzero(np.array([tag == "DET" for tag in upos.table])[upos.ids]).tolist():
        determiners.setdefault(int(heads[word]), []).append(word)
    found = []
    for mention, antecedent in antecedent_of.items():
        if annotation.forms[mention].lower() not in REFERRING:
            continue
        while upos[antecedent] not in NOMINAL and antecedent in antecedent_of:
            antecedent = antecedent_of[antecedent]
        sentence, after = places.sentence(mention), places.of([mention])
        if upos[antecedent] in NOMINAL and places.sentence(antecedent) < sentence and after:
            before = places.of(determiners.get(antecedent, ()))
            referent = Referent(places.sentence(antecedent), places.of([antecedent]), before)
            found.append(Hint(sentence, after[-1] + 1, relation="coreference", referent=referent, first=after[0]))
    return found


def _dictionary_hints(
    annotation: Annotation, places: _Places, dictionary: Dictionary, tokenizer: Tokenizer
) -> list[Hint]:
    """Returns a hint at the first use of each entry in a sentence: its translation."""
    found: dict[tuple[int, str], Hint] = {}
    for use in dictionary.find(annotation):
        sentence, after = places.sentence(use.words[0]), places.of(use.words)
        translation = use.translation
        if after and (sentence, translation) not in found:
            ids = tuple(tokenizer.target.encode(translation)[0][:-1].tolist()[:MAX_LENGTH])
            found[sentence, translation] = Hint(
                sentence, after[-1] + 1, ids, "dictionary", first=after[0], entry=use.entry
            )
    return list(found.values())


def without_known_words(lookups: Sequence[Hint], known: Collection[int]) -> list[Hint]:
    """Returns dictionary hints without those for words that occur in sentences with a known translation.

    The user's translation of a word overrides the dictionary.
    """
    said = {hint.entry.words for hint in lookups if hint.sentence in known and hint.entry is not None}
    return [hint for hint in lookups if hint.entry is None or hint.entry.words not in said]


def resolve(hint: Hint, translation: Ids, weights: npt.NDArray[np.floating], coder: SubwordCoder) -> Hint:
    """Returns the hint with its words: the words of `translation` aligned with the referent, a noun and its determiner.

    `weights` [T, S] align the sub-words of the translation with those of the referent's sentence, end-of-sentence
    included. Without an aligned word the hint stays empty.
    """
    assert hint.referent is not None
    owners = coder.words([translation[:-1].astype(np.int64)])[0]
    if not len(owners) or not hint.referent.head:
        return hint
    count = int(owners.max()) + 1
    best = weights[:-1, :-1].argmax(1) if weights.shape[1] > 1 else np.zeros(len(owners), np.int64)
    head = weights[:-1][:, list(hint.referent.head)].sum(1)
    scores = np.zeros(count)
    np.maximum.at(scores, owners[owners >= 0], head[owners >= 0])
    noun = int(scores.argmax())
    if not np.isin(best[owners == noun], hint.referent.head).any():
        return hint
    linked = [*hint.referent.head, *hint.referent.determiner]
    first = noun - 1 if noun and np.isin(best[owners == noun - 1], linked).any() else noun
    chosen = translation[:-1][(owners >= first) & (owners <= noun)]
    return replace(hint, ids=tuple(chosen.tolist()[:MAX_LENGTH]))


def insert(source: Ids, words: Ids | None, hints: Iterable[Hint], separator: int) -> tuple[Ids, Ids | None]:
    """Returns a sentence with its hints, and the word of each sub-word; those of hints belong to no word."""
    filled = [hint for hint in hints if hint.ids]
    if not filled:
        return source, words
    places = [hint.place for hint in filled for _ in range(len(hint.ids) + 2)]
    values = [token for hint in filled for token in (separator, *hint.ids, separator)]
    with_hints = np.insert(source.astype(np.int64), places, values)
    return with_hints, None if words is None else np.insert(words, places, -1)


def moved_by(place: int, hints: Iterable[Hint]) -> int:
    """Returns the index that a sub-word of a sentence has after its hints are inserted."""
    return place + sum(len(hint.ids) + 2 for hint in hints if hint.ids and hint.place <= place)


def insert_all(
    source: Sequence[Ids], words: Sequence[Ids], hints: Iterable[Hint], separator: int
) -> tuple[list[Ids], list[Ids]]:
    """Returns the sentences of a document with its hints, and the words of their sub-words (empty if not given)."""
    new_source, new_words = list(source), list(words)
    for m, found in hints_by_sentence(hints).items():
        new_source[m], owners = insert(source[m], words[m] if len(words) else None, found, separator)
        if owners is not None:
            new_words[m] = owners
    return new_source, new_words
