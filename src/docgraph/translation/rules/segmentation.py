"""What of a document the model is shown: no sentence without words, and none longer than it can read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from docgraph.document import Document
from docgraph.formats.sentences import split_sentences

_ADDRESS = re.compile(r"\s*<?(?:[a-z][a-z0-9+.-]*://\S+|www\.\S+|\S+@\S+\.\w+)>?\s*", re.IGNORECASE)
_NAME = re.compile(r"\s*[\w./\\~:+-]{0,120}(?:\w\.[a-z]\w{1,4}|\w_\w{1,40})\s*")
"""A file or a field (docs/results.md, max_positions), alone."""
_BREAKS = tuple(
    re.compile(pattern) for pattern in (r"[.!?…][\"'”’»)\]]*\s+|[。！？]", r"[,;:–—][\"'”’»)]*\s+|[，、；：]", r"\s+")
)
"""Ends of sentences, of clauses, of words: a text is cut after the best there is."""

_AFTER_SENTENCE = (" ", "\t", "\u00a0", "\u202f", "\u3000", *"。！？")
"""What a sentence that follows another on its line begins after."""

STRETCH, BEFORE, AFTER = 1024, 256, 32
"""Texts of a long document translated at a time, and those before and after that are shown with them."""


@dataclass(frozen=True)
class Segments:
    """The texts a model translates in place of the sentences of a document."""

    texts: list[str]
    originals: list[str]
    """The words of the document where a text has others, see `docgraph.translation.rules.wording`."""
    of_sentence: list[range]
    """[M]: the texts of each sentence; none for one that stays as it is."""
    joints: list[str]
    """What stands after each text, before the next of its sentence: a space or nothing."""
    speakers: list[str | None]

    @classmethod
    def of(
        cls,
        document: Document,
        fits: Callable[[str], bool],
        shown: Callable[[str], str] = str,
        language: str | None = None,
        whole: Container[int] = (),
    ) -> Segments:
        """`shown` words texts for the model. With the rules of a `language`, a line of several sentences comes apart,
        unless it is among those that stay `whole`."""
        made = cls([], [], [], [], [])
        for place, sentence in enumerate(document):
            begin = len(made.texts)
            parts = [sentence.text] if is_translatable(shown(sentence.text)) else []
            if language is not None and place not in whole:
                parts = [each for part in parts for each in sentences(part, language, shown)]
            for text in itertools.chain.from_iterable(cut(part, fits) for part in parts):
                if not text.isspace():
                    made.originals.append(text.strip())
                    made.texts.append(shown(made.originals[-1]) or made.originals[-1])
                    made.joints.append(" " if text[-1:].isspace() else "")
                    made.speakers.append(sentence.speaker)
            made.of_sentence.append(range(begin, len(made.texts)))
        return made

    def document(self, texts: range) -> Document:
        """Some consecutive texts as a document."""
        part = slice(texts.start, texts.stop)
        return Document.from_sentences(self.texts[part], speakers=self.speakers[part])

    @cached_property
    def owners(self) -> list[int]:
        """The sentence of each text."""
        return [sentence for sentence, places in enumerate(self.of_sentence) for _ in places]

    def joined(self, translations: list[str], sentence: int) -> str:
        """The translation of a sentence, of those of its texts."""
        pairs = zip(translations, self.of_sentence[sentence], strict=True)
        return "".join(text + self.joints[place] for text, place in pairs).strip()


def stretches(texts: int) -> Iterator[tuple[range, range]]:
    """A document in stretches: the texts that are shown to the model, and those among them that it translates.

    Attention over a whole document costs its square; so one much longer than a model has ever seen comes in stretches
    that overlap, each with the translations of those before. Any other document is one stretch.
    """
    if texts <= BEFORE + STRETCH + AFTER:
        yield range(texts), range(texts)
        return
    for begin in range(0, texts, STRETCH):
        own = range(begin, min(begin + STRETCH, texts))
        yield range(max(0, own.start - BEFORE), min(own.stop + AFTER, texts)), own


def is_translatable(text: str) -> bool:
    """Whether there is a letter in the text, and it is no address, nor the name of a file or field."""
    return any(char.isalpha() for char in text) and not (_ADDRESS.fullmatch(text) or _NAME.fullmatch(text))


def sentences(text: str, language: str, shown: Callable[[str], str] = str) -> list[str]:
    """What joins to the text, cut after each of its sentences but inside a quotation or a word (util.Date); one without
    words goes with the next, or the last."""
    begins = [begin for begin, _ in split_sentences(text, language) if text[:begin].endswith(_AFTER_SENTENCE)]
    parts = [text[begin:end] for begin, end in itertools.pairwise([0, *begins, len(text)])]
    worded = [is_translatable(shown(part)) for part in parts]
    found, complete = [""], False
    for place, part in enumerate(parts):
        quoting = found[-1].count('"') % 2 or found[-1].count("“") != found[-1].count("”")
        if complete and not quoting and any(worded[place:]):
            found.append("")
            complete = False
        found[-1] += part
        complete = complete or worded[place]
    return found


def cut(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Parts of a text that fit and join to it, by halves."""
    if len(text) < 2 or fits(text):
        yield text
        return
    middle = _middle(text)
    yield from cut(text[:middle], fits)
    yield from cut(text[middle:], fits)


def _middle(text: str) -> int:
    """The place nearest to the middle where the text may be cut; for lack of any in its middle half, the middle."""
    half = len(text) // 2
    for pattern in _BREAKS:
        places = [match.end() for match in pattern.finditer(text, half // 2, len(text) - half // 2)]
        if places := [place for place in places if place < len(text)]:
            return min(places, key=lambda place: abs(place - half))
    return half
