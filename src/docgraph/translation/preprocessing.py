"""What happens to text before the model; `postprocessing.py` is the way back.

`Preprocessor.segment` turns the sentences of a document into segments, the texts that the model translates:

1. Inline code, placeholders and addresses are replaced by stand-ins (stand_ins.py).
2. A line of several sentences is split (for models that translate sentences independently).
3. A sentence without words (a number, an address, a file name), or in another language, gets no segment: it stays as
   it is.
4. A sentence longer than the model can read is cut.
5. Each segment is normalised: rewritten in characters and words that the model knows.
6. A heading in Title Case is lowercased if the model is more confident of the result.

`example_from_text` then turns segments into the numbers that a model reads.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import numpy as np

from docgraph.annotation import Annotation
from docgraph.corpus.subwords import encode_source, encode_target
from docgraph.document import Document, Sentence
from docgraph.formats import literals
from docgraph.formats.atoms import text_with_atoms
from docgraph.formats.base import space_between
from docgraph.formats.sentences import split_sentences
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample
from docgraph.model.hints import Hint, find_hints
from docgraph.model.tokenizer import Ids, SubwordCoder, Tokenizer
from docgraph.translation.protected_text import TextProtector
from docgraph.translation.stand_ins import STAND_IN, StandIns, hide, present, restore, without

WORD = re.compile(rf"(?!{STAND_IN}(?!\w))[^\W\d_]+(?:['’][^\W\d_]+)*")

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
_ITEM_SEPARATOR = re.compile(r"(?<=\w) [•·|] (?=\w)")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_AFTER_SENTENCE = (" ", "\t", "\u00a0", "\u202f", "\u3000", *"。！？")
"""Characters that precede the second and later sentences of a line."""

_LOOKALIKES = dict(zip("“”„‟«»″‘’‚‛′–‒−", '"""""""' + "'''''" + "---", strict=True)) | {"\u00ad": ""}
_DOUBLE_HYPHEN = re.compile(r"(?<=[\w,;.!?])--(?=\w)")
_TITLE_PART = rf"(?:{WORD.pattern}|{STAND_IN})"
_TITLE = re.compile(rf"{_TITLE_PART}(?:[,:]? {_TITLE_PART})*[?!]?")
"""Only words: a menu path (Tools - Options) is capitalised for other reasons."""
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}(?=\s+\w|\W*,)")
_CLOCK = re.compile(r"\b(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))?\s?([ap])(?:\.\s?m\.|m\b)", re.IGNORECASE)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"\b({_MONTHS}) (3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?:, (\d{{4}})\b|\b(?![-–/:.,]?\d))")
_BEFORE_MAY = {"on", "by", "until", "from", "since", "before", "after", "and", "or", "to", "of"}
"""Words before "May 6" that make it a date; elsewhere May may be the verb."""
_SCALE = re.compile(r"([$£€]\d[\d.,]*)\s?(bn|mn|m)\b")
_SCALES = {"bn": "billion", "mn": "million", "m": "million"}
_DAYS = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Thur": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}
_DAY_RANGE = re.compile(rf"\b({'|'.join(_DAYS)})\.?\s?[-–]\s?({'|'.join(_DAYS)})\b")
_STRESSED = re.compile(r"\b(?:ALWAYS|BEFORE|BOTH|CANNOT|DON'T|NEVER|ONLY|VERY|(?:DO|MUST|SHOULD|WILL)(?: NOT)?)\b")
_SHORT_WORDS = frozenset(["ALL", "AND", "ANY", "ARE", "DO", "IS", "NO", "NOT", "OR"])
"""Words that are no abbreviations in a line of capitals; elsewhere they may be names of functions."""
_CAPITAL_LETTERS, _CAPITAL_WORDS, _TITLE_WORDS = 8, 2, 3
"""Minimum letters and words of a text in capitals, and long words of a title: anything shorter may be a name."""
_CAPITAL_WORD_LETTERS = 4
"""Minimum letters of a single word in capitals that is no abbreviation."""
_TITLE_WORD_LENGTH = 4
"""Letters from which a word must be capitalised in a title; of, the and with may or may not be."""
SENTENCES = 4096
"""Sentences whose segments are kept."""
_WHOLE_WORD = 2
"""Number of ids of a word that is one piece: the piece and end-of-sentence."""


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

    def sentence_indices(self, span: range) -> list[int]:
        """Returns the sentence that each of some consecutive segments belongs to."""
        owners = [sentence for sentence, segments in enumerate(self.of_sentence) for _ in segments]
        return owners[span.start : span.stop]

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
        keep_line: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`max_length` is in sub-words. `independent` says that the model translates sentences independently; then
        lines are split, except for those that `keep_line` chooses, and titles lowercased, by the `confidence` of the
        model in its translation of each text."""
        self._coder, self._max_length = coder, max_length
        self._split_language = languages[0] if languages and independent else None
        self._confidence, self._keep_line = confidence, keep_line
        # A correction segments its document again, and only one sentence may differ.
        self._cached_segments = lru_cache(SENTENCES)(lambda *arguments: tuple(self._segments(*arguments)))
        self._english = languages is not None and languages[0] == "en"
        self.protector = TextProtector(coder)
        self._dash = ", " if self.protector.is_unknown("—") else "—"
        unknown = {char: plain for char, plain in _LOOKALIKES.items() if self.protector.is_unknown(char)}
        self._lookalikes = str.maketrans(unknown)

    def segment(self, document: Document, keep_whole: Container[int] = (), keep: Container[int] = ()) -> Segments:
        """Returns the segments of a document.

        The lines in `keep_whole` are not split into sentences; the sentences in `keep` stay as they are.
        """
        # The readers of all other formats have split the text into sentences already.
        language = self._split_language if document.format == "lines" else None
        result = Segments()
        for index, sentence in enumerate(document.sentences):
            first = len(result)
            is_whole = index in keep_whole or (language is not None and self._keep_line(sentence.text))
            sentence_language = None if is_whole else language
            if index not in keep:
                result.segments += self._cached_segments(sentence, sentence_language)
            result.of_sentence.append(range(first, len(result)))
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
        """Returns a text in characters and words that the model knows.

        Unreadable parts are removed, rare punctuation is replaced, capitals become small letters. In English, times use
        24 hours, and days precede months.
        """
        text, _ = self.protector.remove(text)
        text = _DOTTED.sub(lambda word: self._without_dots(word[0]), text.translate(self._lookalikes))
        if self._english:
            text = _DOUBLE_HYPHEN.sub(self._dash, text)
            text = _CLOCK.sub(_to_24_hours, text)
            text = _DATE.sub(_day_first, text)
            text = _SCALE.sub(lambda amount: f"{amount[1]} {_SCALES[amount[2]]}", text)
            text = _DAY_RANGE.sub(lambda days: f"{_DAYS[days[1]]} to {_DAYS[days[2]]}", text)
            text = text if text.isupper() else _STRESSED.sub(_unstressed, text)
        if is_all_caps(text):
            small = WORD.sub(lambda word: self._lowercase(word[0]), text)
            first = WORD.search(small)
            return small if first is None else capitalize_at(small, first.start())
        return text

    def _lowercase_titles(self, segments: list[Segment]) -> None:
        """Lowercases segments in Title Case, in place, if the model is more confident of its translation then."""
        lowered = {
            index: text
            for index, segment in enumerate(segments)
            if (text := self._without_title_case(segment.text)) != segment.text
        }
        if not lowered or self._confidence is None:
            return
        scores = self._confidence([*lowered.values(), *(segments[index].text for index in lowered)])
        for index, score, title_score in zip(lowered, scores, scores[len(lowered) :], strict=False):
            if score > title_score:
                segments[index] = replace(segments[index], text=lowered[index])

    def _without_title_case(self, text: str) -> str:
        words = list(WORD.finditer(text)) if _TITLE.fullmatch(text) else []
        long = [word[0] for word in words if len(word[0]) >= _TITLE_WORD_LENGTH]
        if len(long) < _TITLE_WORDS or not all(word.istitle() or word[0].isupper() for word in long):
            return text
        for word in words[1:]:
            if word[0].istitle():
                text = text[: word.start()] + self._lowercase(word[0]) + text[word.end() :]
        return text

    def is_whole_word(self, word: str) -> bool:
        """Returns whether the sub-words have one piece for a word."""
        return len(self._coder.ids([word])[0]) == _WHOLE_WORD

    def _lowercase(self, word: str) -> str:
        """Lowercases a word if it then has fewer pieces, or is one piece either way: abbreviations and names stay."""
        small = word.lower()
        pieces, small_pieces = map(len, self._coder.ids([word, small]))
        is_common = (word.istitle() and word != "I") or (self._english and word in _SHORT_WORDS)
        return small if small_pieces < pieces or (pieces == small_pieces == _WHOLE_WORD and is_common) else word

    def _without_dots(self, word: str) -> str:
        """Turns U.K. into UK if that is one piece: models tend to end a translation at a dot."""
        plain = word.replace(".", "")
        return plain if plain.isupper() and self.is_whole_word(plain) else word


def is_translatable(text: str) -> bool:
    """Returns whether a text has a letter and is not just an address, a file name or an identifier."""
    return any(map(str.isalpha, text)) and not literals.is_only_literal(text)


def is_all_caps(text: str) -> bool:
    """Returns whether a text of several words is in capital letters throughout, as a heading or a warning may be."""
    words = [word for word in WORD.findall(text) if len(word) > 1]
    if not text.isupper() or not words:
        return False
    if len(words) == 1:
        return len(words[0]) >= _CAPITAL_WORD_LETTERS and _is_known_word(words[0].lower())
    return len(words) >= _CAPITAL_WORDS and sum(map(len, words)) >= _CAPITAL_LETTERS


@cache
def _is_known_word(word: str) -> bool:
    """Returns whether the English dictionary has a word: CHAPTER, but not UNICEF."""
    from simplemma import is_known

    return is_known(word, lang="en")


def capitalize_at(text: str, index: int) -> str:
    """Returns a text with the character at `index` in upper case."""
    return text[:index] + text[index].upper() + text[index + 1 :]


def as_piece(source: str, text: str, is_last: bool) -> str:
    """Returns the translation of a piece without the capital and the full stop of a sentence."""
    if source[:1].islower() and text[:1].isupper() and text[1:2].islower():
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


def _unstressed(word: re.Match[str]) -> str:
    """Lowercases a word that is in capitals for emphasis."""
    return word[0].lower() if word.string[: word.start()].strip(" \"'*-(") else word[0].capitalize()


def _to_24_hours(time: re.Match[str]) -> str:
    hour = int(time[1]) % 12 + (12 if time[3] in "pP" else 0)
    ends_sentence = time[0].endswith(".") and not time.string[time.end() :].strip("\"'”’ ")
    return f"{hour}:{time[2] or '00'}{'.' if ends_sentence else ''}"


def _day_first(date: re.Match[str]) -> str:
    month, day, year = date.groups()
    if month == "May" and not year and not _BEFORE_MAY & {*date.string[: date.start()].lower().split()[-1:]}:
        return date[0]
    return " ".join([day, month, *([year] if year else [])])


def example_from_text(
    source: Sequence[str],
    tokenizer: Tokenizer,
    annotation: Annotation | None = None,
    relations: Sequence[str] | None = None,
    target: Sequence[str] = (),
    tag: str | None = None,
    hints: Sequence[str] = (),
) -> DocumentExample:
    """Returns the model input of a document with these sentences and, if given, translations.

    It has a graph if an annotation and relations are given, and hints by the relations `hints`.
    """
    graph, words, found = None, list[Ids](), list[Hint]()
    if annotation is None or (relations is None and not hints):
        ids = [tokenizer.source.encode(text, tag)[0] for text in source]
    else:
        graph = None if relations is None else build_graph(annotation, relations)
        ids, owners = encode_source(source, annotation, tokenizer.source, tag)
        words = [np.where(o < 0, -1, o + base) for o, base in zip(owners, annotation.offsets, strict=False)]
        found = find_hints(annotation, ids, words, tokenizer, hints) if hints else found
        words = words if graph is not None else []
    target_ids, target_words = encode_target(target, tokenizer.target) if target else ([], [])
    return DocumentExample(ids, target_ids, graph, words, target_words, hints=found)
