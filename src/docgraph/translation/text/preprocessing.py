"""What happens to text before the model; `postprocessing.py` is the way back.

`Preprocessor.segment` turns the sentences of a document into segments, the texts that the model translates:

1. Inline code, placeholders and addresses are replaced by stand-ins (stand_ins.py).
2. A line of several sentences is split (for models that do not read whole documents).
3. A sentence without words (a number, an address, a file name), or in another language, gets no segment: it stays as
   it is.
4. A sentence longer than the model can read is cut.
5. Each segment is normalised: rewritten in characters and words that the model knows (normalization.py).
6. Jan and Sun alone in segments become January and Sunday if the document has other months or days so.
7. A heading in Title Case is lowercased if the model is more confident of the result.

`model_input.py` then turns segments into the numbers that a model reads.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from docgraph.document import Document, Sentence
from docgraph.formats import literals
from docgraph.formats.atoms import text_with_atoms
from docgraph.formats.base import space_between
from docgraph.formats.sentences import split_sentences
from docgraph.model.hints import dictionaries, may_print
from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.text.dates_and_times import full_calendar_words
from docgraph.translation.text.normalization import Normalizer
from docgraph.translation.text.paraphrases import load_paraphraser
from docgraph.translation.text.stand_ins import StandIns, hide, present, restore, without

_BREAKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[.!?…][\"'”’»)\]]*\s+|[。！？]",
        r"[;:–—][\"'”’»)]*\s+|[；：]",
        r",[\"'”’»)]*\s+|[，、]",
        r"\s+",
    )
)
"""Where a text may be cut, best first: after sentences, clauses, phrases, words."""
_TAG = re.compile(literals.TAG)
_TOPIC = re.compile(r"(?<!\S)#[^\W\d_]\w*(?!\S)")
_LETTER = re.compile("[A-Za-z]")
_ITEM_SEPARATOR = re.compile(r"(?<=[\w.!?)%]) [•·|] (?=[\w$£€(])")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_AFTER_SENTENCE = (" ", "\t", "\u00a0", "\u202f", "\u3000", *"。！？")
"""Characters that precede the second and later sentences of a line."""

SENTENCES = 4096
"""Sentences whose segments are kept."""


@dataclass(frozen=True)
class Segment:
    """A text that the model translates: a sentence of a document or a part of one."""

    source: str
    """The text as it stands in the document, with stand-ins."""
    text: str
    """The normalised text, which the model reads."""
    separator: str
    """A space or nothing: what stands between this segment and the next one of its sentence."""
    speaker: str | None
    stand_ins: StandIns = field(default_factory=dict)
    plain: str = ""
    """The source as the model reads it if it loses a stand-in: without inline code, with all other literals."""


@dataclass
class Segments:
    """The segments of a document."""

    segments: list[Segment] = field(default_factory=list)
    of_sentence: list[range] = field(default_factory=list)
    """[M]: the segments of each sentence; empty for a sentence that stays as it is."""

    def __len__(self) -> int:
        return len(self.segments)

    def __getitem__(self, index: int) -> Segment:
        return self.segments[index]

    def texts(self, span: range) -> list[str]:
        """Returns the normalised texts of consecutive segments."""
        return [segment.text for segment in self.segments[span.start : span.stop]]

    def document(self, span: range) -> Document:
        """Returns consecutive segments as a document, for annotation."""
        speakers = [segment.speaker for segment in self.segments[span.start : span.stop]]
        return Document.from_sentences(self.texts(span), speakers=speakers)

    def sentence_indices(self) -> list[int]:
        """Returns the sentence that each segment belongs to."""
        return [sentence for sentence, segments in enumerate(self.of_sentence) for _ in segments]

    def stand_ins(self, sentence: int) -> StandIns:
        """Returns the stand-ins of a sentence."""
        return {key: text for m in self.of_sentence[sentence] for key, text in self.segments[m].stand_ins.items()}

    def join(self, translations: Sequence[str], sentence: int) -> str:
        """Returns the translation of a sentence, given the translations of its segments."""
        indices = self.of_sentence[sentence]
        if len(indices) == 1:
            return translations[0].strip()
        joined = ""
        for text, index in zip(translations, indices, strict=True):
            segment = self.segments[index]
            joined += as_piece(segment.source, text, index == indices[-1])
            if index < indices[-1]:
                following = translations[index + 1 - indices.start].strip()
                joined += space_between(segment.separator, segment.source[-1:], joined[-1:], following[:1])
        return joined.strip()


class Preprocessor:
    """Turns documents into segments for one model."""

    def __init__(
        self,
        coder: SubwordCoder,
        languages: tuple[str, str] | None,
        max_length: int,
        independent: bool = False,
        confidence: Callable[[list[str]], list[float]] | None = None,
        hints: Collection[str] = (),
    ) -> None:
        """`max_length` is in sub-words. `independent` says that the model does not read whole documents; then lines are
        split, and titles are lowercased if the model is more confident of that. `confidence` returns its confidence in
        its translation of each text. With `hints` of definitions, lines that may define a term stay whole; with those
        of dictionaries, idioms are put in plain words."""
        self._coder, self._max_length = coder, max_length
        self._english = languages is not None and languages[0] == "en"
        self._split_language = languages[0] if languages and independent else None
        self._confidence, self._reads_definitions = confidence, "definition" in hints
        # A correction segments its document again, and only one sentence may differ.
        self._cached_segments = lru_cache(SENTENCES)(lambda *arguments: tuple(self._segments(*arguments)))
        self.normalizer = Normalizer(coder, languages, load_paraphraser() if dictionaries(hints) else None)

    def segment(self, document: Document, keep_whole: Container[int] = (), keep: Container[int] = ()) -> Segments:
        """Returns the segments of a document.

        The lines in `keep_whole` are not split into sentences; the sentences in `keep` stay as they are.
        """
        # The readers of all other formats have split the text into sentences already.
        language = self._split_language if document.format == "lines" else None
        result = Segments()
        for index, sentence in enumerate(document.sentences):
            first = len(result)
            is_whole = index in keep_whole or (self._reads_definitions and may_print(sentence.text))
            sentence_language = None if is_whole else language
            if index not in keep:
                result.segments += self._cached_segments(sentence, sentence_language)
            result.of_sentence.append(range(first, len(result)))
        if self._english:
            for m, word in full_calendar_words([segment.source for segment in result.segments]).items():
                result.segments[m] = replace(result.segments[m], text=word)
        if self._split_language is not None:
            self._lowercase_titles(result.segments)
        return result

    def _segments(self, sentence: Sentence, language: str | None) -> Iterator[Segment]:
        shown, atoms = text_with_atoms(sentence)
        code = {shown[start:end] for start, end in atoms}
        text, stand_ins = hide(shown, atoms)
        parts = [text] if language is None else split_line(text, language, self.normalize)
        parts = list(itertools.chain.from_iterable(map(split_items, parts)))
        if len(parts) == 1 and not is_translatable(without(self.normalize(text), stand_ins)):
            return
        for part in itertools.chain.from_iterable(cut(part, self._fits) for part in parts):
            if not part.isspace():
                source, separator = part.strip(), " " if part[-1:].isspace() else ""
                own = present(source, stand_ins)
                visible = {key: "" if literal in code else literal for key, literal in own.items()}
                plain = " ".join(restore(source, visible).split())
                yield Segment(source, self.normalize(source) or source, separator, sentence.speaker, own, plain)

    def _fits(self, text: str) -> bool:
        return len(self._coder.ids([text])[0]) < self._max_length

    def normalize(self, text: str) -> str:
        """Returns a text in characters and words that the model knows."""
        return self.normalizer.normalize(text)

    def _lowercase_titles(self, segments: list[Segment]) -> None:
        """Lowercases segments in Title Case, in place, if the model is more confident of its translation then."""
        lowered = {
            index: text
            for index, segment in enumerate(segments)
            if (text := self.normalizer.without_title_case(segment.text)) != segment.text
        }
        if not lowered or self._confidence is None:
            return
        scores = self._confidence([*lowered.values(), *(segments[index].text for index in lowered)])
        for index, score, title_score in zip(lowered, scores, scores[len(lowered) :], strict=False):
            if score > title_score:
                segments[index] = replace(segments[index], text=lowered[index])


def is_translatable(text: str) -> bool:
    """Returns whether a text has words: more than an address, an identifier, a <placeholder>, a #topic or one Latin
    letter."""
    words = _TOPIC.sub("", _TAG.sub("", text)).strip()
    return any(map(str.isalpha, words)) and not _LETTER.fullmatch(words) and not literals.is_only_literal(text)


def as_piece(source: str, text: str, is_last: bool) -> str:
    """Returns the translation of a piece without the capital and the full stop of a sentence."""
    if source[:1].islower() and text[:1].isupper() and (text[1:2].islower() or text[1:2] in (" ", "'", "’")):
        text = text[0].lower() + text[1:]
    if not is_last and text.endswith(".") and not _SENTENCE_END.search(source):
        text = text[:-1] + ("," if source.endswith((",", "，", "、")) else "")
    return text


def split_line(text: str, language: str, normalize: Callable[[str], str] = str) -> list[str]:
    """Splits a line after each of its sentences, but not inside quotations or words (util.Date).

    A sentence without words is joined to the next one, or to the last. The parts join to the text.
    """
    begins = [begin for begin, _ in split_sentences(text, language) if text[:begin].endswith(_AFTER_SENTENCE)]
    sentences = [text[begin:end] for begin, end in itertools.pairwise([0, *begins, len(text)])]
    if len(sentences) == 1:
        return sentences
    has_words = [is_translatable(normalize(sentence)) for sentence in sentences]
    parts, complete = [""], False
    for index, sentence in enumerate(sentences):
        in_quotation = parts[-1].count('"') % 2 or parts[-1].count("“") != parts[-1].count("”")
        if complete and not in_quotation and any(has_words[index:]):
            parts.append("")
            complete = False
        parts[-1] += sentence
        complete = complete or has_words[index]
    return parts


def split_items(text: str) -> list[str]:
    """Splits a line of short items (Website • Documentation) after each separator; the parts join to the text."""
    ends = [match.end() for match in _ITEM_SEPARATOR.finditer(text)]
    items = [text[begin:end] for begin, end in itertools.pairwise([0, *ends, len(text)])]
    return items if all(map(is_translatable, items)) else [text]


def cut(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Yields parts of a text that fit, by repeated halving; the parts join to the text."""
    if len(text) < 2 or fits(text):
        yield text
        return
    middle = _middle(text)
    yield from cut(text[:middle], fits)
    yield from cut(text[middle:], fits)


def _middle(text: str) -> int:
    """Returns the break nearest to the middle of a text, or the middle if its middle half has no break."""
    half = len(text) // 2
    for pattern in _BREAKS:
        places = [match.end() for match in pattern.finditer(text, half // 2, len(text) - half // 2)]
        if places := [place for place in places if place < len(text)]:
            return min(places, key=lambda place: abs(place - half))
    return half
