"""Repair of doubtful translations: other candidates, no repeated phrases, shorter pieces; the best attempt wins.

A translation that passes the checks (doubts.py) never changes. For one that does not, these attempts follow until
one passes:

1. Miscopied addresses, placeholders and identifiers are replaced by those of the source.
2. The candidates of a larger beam, best first; without words that the first translation has invented (lexicon.py).
3. The same without repeated phrases, if the first translation is a loop.
4. The text is cut at its clauses; the pieces are translated separately and joined. Not for a doubtful word alone:
   pieces lack the rest of their sentence.
5. If the translation loses a stand-in (stand_ins.py): the text without inline code, which is then placed as other
   markup, and with all other literals as they are.
6. The best attempt without its repeated words, if it is still a loop.

If all fail, the attempt with the least weight of doubts is kept, and its doubts are reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from docgraph.formats.literals import LITERAL
from docgraph.translation.checks.doubts import Doubt, lost_literals, weight
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.text.preprocessing import Segment, as_piece, is_translatable
from docgraph.translation.text.stand_ins import present

BEAMS = 8
"""Minimum beam of the second search."""
NGRAMS = (4, 2)
"""Sub-words of the shortest phrase that may not be repeated in the third search, and in a fourth if that fails."""
_PIECE_BEAMS = 4
_MOST_DOUBTFUL, _FEW = 0.5, 20
"""If more than this share of at least this many texts is doubtful, the model cannot read them: nothing is repaired."""
_SHORTEST_PIECE, _SHORTEST_CUT = 4, 10
"""Minimum words of a piece, and of a text that is cut."""
_AROUND_LITERALS = ',;.!?()[]«»"\u00a0\u202f'
_MISCOPY = 0.5
"""Minimum similarity of a miscopied literal to the one it replaces."""
_CLAUSE = re.compile(
    r"(?:[.!?…;:–—]|,)[\"'”’»)]*\s+|(?<=\w)\s+(?=(?:and|but|or|which|who|whom|whose|because|while|when|where|although"
    r"|though|if|unless|until|since|before|after|so|that)\b)"
)
_REPEATED = re.compile(r"\b(\w+(?: \w+){0,3}?)(?:(?:,? |-)\1\b)+", re.IGNORECASE)
"""Up to four words that are immediately repeated."""
_REMOVED = 50
"""Weight of the doubt that stays after repeated words were removed."""
_PAIRS = ("()", "[]", "{}", "“”", "«»")


@dataclass(frozen=True)
class Attempt:
    """A translation of a segment, with its doubts."""

    text: str
    """With the stand-ins of the segment."""
    score: float
    log_probability: float
    doubts: tuple[Doubt, ...]


Piece = tuple[int, Segment]
"""The place of a segment in its document, and a text that is decoded there: the segment itself or a part of it."""


Decode = Callable[[Sequence[Piece], SearchConfig], list[list[Attempt]]]
"""Decodes pieces in the context of their document; returns the attempts of each piece, best first. Pieces of one place
are consecutive."""
Check = Callable[[Segment, str], tuple[Doubt, ...]]
"""(segment, translation) -> its doubts."""


class Repairer:
    """Repairs doubtful translations of one translator."""

    def __init__(self, decode: Decode, check: Check, normalize: Callable[[str], str]) -> None:
        self._decode, self._check, self._normalize = decode, check, normalize

    def repair(
        self, segments: Sequence[Piece], attempts: Sequence[Attempt], search: SearchConfig, total: int
    ) -> list[Attempt]:
        """Returns the best attempt for each of some doubtful segments, of `total` that were translated."""
        best = [self._with_literals(segment, each) for (_, segment), each in zip(segments, attempts, strict=True)]
        if search.sampling or (total >= _FEW and len(segments) > _MOST_DOUBTFUL * total):
            return best
        beams = max(BEAMS, 2 * search.beams)
        wide = replace(search, beams=beams, n_best=beams)
        self._try(best, segments, self._decode, wide, lambda _: True)
        for size in NGRAMS:
            self._try(best, segments, self._decode, replace(wide, no_repeat_ngram=size), _is_loop)
        beams = max(_PIECE_BEAMS, search.beams)
        narrow = replace(search, beams=beams, n_best=beams, no_repeat_ngram=NGRAMS[0])
        self._try(best, segments, self._in_pieces, narrow, _is_serious)
        plain = [(place, self._plain(segment)) for place, segment in segments]
        self._try(best, plain, self._decode, wide, _is_serious)
        return [self._without_repetition(segment, each) for (_, segment), each in zip(segments, best, strict=True)]

    def _without_repetition(self, segment: Segment, attempt: Attempt) -> Attempt:
        """Returns a loop without its repeated words; it stays doubtful, because content may be lost."""
        if not _is_loop(attempt):
            return attempt
        text = _REPEATED.sub(r"\1", attempt.text)
        doubts = (Doubt("a repetition was removed", _REMOVED), *self._check(segment, text))
        return _best([attempt, replace(attempt, text=text, doubts=doubts)])

    def _try(
        self,
        best: list[Attempt],
        segments: Sequence[Piece],
        decode: Decode,
        search: SearchConfig,
        applies: Callable[[Attempt], bool],
    ) -> None:
        """Decodes the segments that are still doubtful; keeps the first attempt that passes, or else the best one."""
        places = [
            place
            for place, (attempt, (_, segment)) in enumerate(zip(best, segments, strict=True))
            if attempt.doubts and applies(attempt) and segment.text
        ]
        chosen = [segments[place] for place in places]
        for place, (_, segment), found in zip(places, chosen, decode(chosen, search) if chosen else [], strict=True):
            attempts = [best[place], *(self._with_literals(segment, attempt) for attempt in found)]
            best[place] = _best(attempts)

    def _in_pieces(self, segments: Sequence[Piece], search: SearchConfig) -> list[list[Attempt]]:
        """Translates the clauses of each segment separately; no attempt for a segment that cannot be cut."""
        pieces = [self._pieces(segment) for _, segment in segments]
        translatable = [
            (place, piece)
            for (place, _), each in zip(segments, pieces, strict=True)
            if len(each) > 1
            for piece in each
            if is_translatable(piece.text)
        ]
        decoded = iter(self._decode(translatable, search) if translatable else [])
        best = {
            id(piece): _best([self._with_literals(piece, attempt) for attempt in next(decoded)])
            for _, piece in translatable
        }
        return [
            [self._join(segment, each, best)] if len(each) > 1 else []
            for (_, segment), each in zip(segments, pieces, strict=True)
        ]

    def _pieces(self, segment: Segment) -> list[Segment]:
        return [
            Segment(text, self._normalize(text) or text, " ", segment.speaker, present(text, segment.stand_ins))
            for text in clauses(segment.source)
        ]

    def _plain(self, segment: Segment) -> Segment:
        """Returns a segment without stand-ins; it has no text if the segment has no stand-ins or no other words."""
        text = segment.plain if segment.stand_ins and is_translatable(segment.plain) else ""
        return Segment(text, self._normalize(text), segment.separator, segment.speaker)

    def _join(self, segment: Segment, pieces: Sequence[Segment], best: dict[int, Attempt]) -> Attempt:
        """Returns the translations of pieces as one; a piece without words is copied."""
        texts, score, log_probability = [], 0.0, 0.0
        for place, piece in enumerate(pieces):
            attempt = best.get(id(piece))
            if attempt is None:
                texts.append(piece.source)
                continue
            is_last = place == len(pieces) - 1
            texts.append(as_piece(piece.source, attempt.text, is_last))
            score, log_probability = score + attempt.score, log_probability + attempt.log_probability
        text = " ".join(text for text in texts if text)
        return Attempt(text, score, log_probability, self._check(segment, text))

    def _with_literals(self, segment: Segment, attempt: Attempt) -> Attempt:
        """Returns an attempt with miscopied literals replaced, if that leaves fewer doubts."""
        if not attempt.doubts:
            return attempt
        text = copy_literals(segment.source, attempt.text)
        if text == attempt.text:
            return attempt
        return _best([attempt, replace(attempt, text=text, doubts=self._check(segment, text))])


def _is_loop(attempt: Attempt) -> bool:
    return any(doubt.reason == "repetition" for doubt in attempt.doubts)


def _is_serious(attempt: Attempt) -> bool:
    return not all(doubt.is_about_word for doubt in attempt.doubts)


def _best(attempts: Sequence[Attempt]) -> Attempt:
    """Returns the attempt with the least doubts; of equals, the first."""
    return min(attempts, key=lambda attempt: weight(attempt.doubts))


def copy_literals(source: str, translation: str) -> str:
    """Replaces miscopied addresses, placeholders and identifiers of a translation by those of its source.

    A miscopy resembles what it replaces, or is the only such text that the source does not have.
    """
    lost = lost_literals(source, translation)
    for literal in lost:
        words = [match[0] for match in LITERAL.finditer(translation) if match[0] not in source]
        if len(lost) != 1 or len({*words}) != 1:
            spaced = (word.strip(_AROUND_LITERALS) for word in translation.split(" "))
            words += [word for word in spaced if word not in source and not _is_word(word)]
            words = [word for word in words if _similarity(literal, word) >= _MISCOPY]
        if words:
            translation = translation.replace(max(words, key=lambda word: _similarity(literal, word)), literal, 1)
    return translation


def _similarity(literal: str, word: str) -> float:
    return SequenceMatcher(None, literal, word, autojunk=False).ratio()


def _is_word(text: str) -> bool:
    """Returns whether a text is an ordinary word, which is not replaced."""
    return text.strip("-'’") == text and all(char.isalpha() or char in "-'’·" for char in text)


def clauses(text: str) -> list[str]:
    """Returns the clauses of a text, each of at least four words, with whole brackets; one if it cannot be cut."""
    if len(text.split()) < _SHORTEST_CUT:
        return [text]
    cuts = [match.end() for match in _CLAUSE.finditer(text)]
    parts, begin = [], 0
    for end in [*cuts, len(text)]:
        part = text[begin:end]
        is_whole = all(part.count(pair[0]) == part.count(pair[1]) for pair in _PAIRS) and part.count('"') % 2 == 0
        if (
            is_whole
            and len(part.split()) >= _SHORTEST_PIECE
            and not part.rstrip().rstrip(",").endswith(tuple("0123456789"))
        ):
            parts.append(part.strip())
            begin = end
    if rest := text[begin:].strip():
        parts[-1:] = [f"{parts[-1]} {rest}"] if parts else [rest]
    return parts
