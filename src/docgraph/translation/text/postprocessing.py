"""What happens to a translation after the model: the reverse of `preprocessing.py`, and the typography of the language.

`Postprocessor.finish` runs these steps on the translation of a segment:

1. Lines that need no model (set_lines.py) are copied from the source, or translated by a table.
2. Miscopied numbers are replaced by those of the source.
3. The translation is capitalised as the source is.
4. Punctuation, spaces and numbers follow the rules of the target language (French).
5. Text that the model could not read is put back.

Stand-ins (stand_ins.py) are still in its result: the checks look for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from docgraph.translation.text.capitals import WORD, is_all_caps
from docgraph.translation.text.dates_and_times import french_only_times, french_times
from docgraph.translation.text.dialogue_quotes import restore_quotes
from docgraph.translation.text.digits import with_special_digits
from docgraph.translation.text.informal_english import given_names
from docgraph.translation.text.normalization import (
    CIRCA,
    HEART,
    RARE_AMOUNT,
    capitalize_at,
    with_verb,
    written_out_amounts,
)
from docgraph.translation.text.preprocessing import Preprocessor, as_piece
from docgraph.translation.text.protected_text import put_back
from docgraph.translation.text.set_lines import copied_line, french_line
from docgraph.translation.text.source_style import with_source_style
from docgraph.translation.text.spoken_english import with_stutter
from docgraph.translation.text.stand_ins import STAND_IN

NARROW, WIDE = "\u202f", "\u00a0"
"""No-break spaces: narrow before ; ! ? and inside numbers; wide before : and %, and inside « »."""

FINISHED = 4096
"""Finished texts that are kept: a correction finishes its whole document several times."""
_NUMBER = re.compile(r"\d+")
_ONLY_NUMBER = re.compile(r"[$£€]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[$£€]\d+(?:\.\d\d)?|\d+\.\d+ ?%|\d+%")
"""A text that is a number in English form: 4,200 or €25 or 2.3%, but not 2.3, which may be a version."""
_ITEM = re.compile(r"(?<![\w)])\((?P<item>[a-z]|[ivx]{1,4}|\d{1,2})\)(?= )")
_AFTER_COLON = re.compile(r"(?<=[ \u00a0]:)(?=\d)")
_MARK = re.compile(r"(?P<word>[^\W_]|[)\]»\"'%°…€$£])(?P<space>[ \u00a0\u202f]?)(?P<mark>[:;]|[!?]+)(?=[\s\"'»)\]]|$)")
_HOUR = re.compile(r"(?<=\d) ?h ?(?=\d\d\b)")
_FULL_HOUR = re.compile(rf"(?<=\d{WIDE}h){WIDE}00\b")
_SIGN = re.compile(r"(?<=\d) (?=[%‰€$£])")
_PERCENT = re.compile(r"(?<![\w.,])(\d[\d.,]*)%")
_SPEAKER = re.compile(r"[A-Z][A-Z .'’-]{0,24}(?: \([^()]*\))?: [\"“]?[A-Z]")
_FRENCH_SPEAKER = re.compile(r"(?:(?P<name>[QR](?=\. ?:)|[^:.]{1,48}?)\.?[ \u00a0]?: )(?=[^\W\d_])")
_NAMED_SPEAKER = re.compile(r"(?P<name>[A-Z][a-z]+): (?=\S)")
_FIRST_LABEL = re.compile(r"(?P<name>[^\s:.!?]+)[ \u00a0]?: ")
_QUOTED = re.compile(r"(?<![\w=(\[{])\"(?=\S)([^\"«»]*?)(?<=\S)\"(?!\w)")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[\w«\"])")
_QUOTED_WORDS = re.compile(r"(?<![\w=(\[{:,\"])(?<!\": )\"([^\W_][\w\s.,;:!?'’%…\u00a0\u202f-]*)\"(?![\w\":])")
"""A quotation of words only: quoted code has other characters, or stands in brackets or after = or :."""
_OPENING, _CLOSING = re.compile(r"(?<![\w=])\"(?=\w)"), re.compile(r"(?<=[\w.,;!?…])\"(?!\w)")
_GUILLEMETS = re.compile(r"«\s*|\s*»")
_ELISION = re.compile(r"(?<![\w'’\"«“‘])([cdjlmnst]|qu)' (?=\w)", re.IGNORECASE)
_UNELIDED = re.compile(
    r"(?<![\w'’&/@#=.-])(?:(?P<elided>[DJLMNSTdjlmnst]|[Qq]u)e|(?P<article>[Ll])a|(?P<possessive>[mst])a) "
    r"(?=(?!(?:au|aux|en|et|ou|où|onz\w*|oui|uns?|unes?|oua\w+|oui\w+|uh\w+|ulul\w+)\b)"
    r"[aeiouàâéèêëîïôœ][a-zà-öø-ÿœ]+(?![\w=/@-]|\.\w))"
)
"""A word that loses its vowel, or a possessive that changes it, before a French word in small letters with a vowel."""
_THOUSANDS = re.compile(r"(?<![\w.,/-])(?<!\w\()\d{1,3}(?:,\d{3})+(?![\d,])")
_NUMBER_WITH_PARTS = re.compile(r"(?<![\w.,/-])\d+(?:[.-]\d+)+(?![\w/]|[.,-]\d|\s[ap]\.?\s?m\b)")
_RANGE = re.compile(r"(?<![\w–-])(\d+)–(\d+)(?![\w–-])")
_LOOSE_BRACKET = re.compile(r"(?<=[(\[]) (?=\w)|,(?=[)\]])")
_LOOSE_QUOTE = re.compile(r"^\" (?=\w)|(?<![^\s(\[])\" (?=[^\"]*[^\s\"]\"(?!\w))")
"""An opening mark with the space that the model read after it."""
_ABOUT_YEAR = re.compile(r"\benviron (?=\d{3,4}\b(?![,.\u202f ]\d{3}))")
_FIGURES = re.compile(r"\d[\d.,\u202f-]*(?<![.,\u202f])")
_BELOW_TWO = re.compile(r"(?<![\d,.\u202f])([01](?:,\d+)? (?:million|milliard|billion))s\b")
_AMOUNT = re.compile(
    r"(?<![\w$])(?!\$\s?\d(?![\d.,\u202f]))([$£€])\s?(\d(?:[.,\u202f]?\d)*+)(?![:\w])"
    r"(?: ((?:million|milliard|billion)s?)\b| (?:dollars|livres|euros)\b)?"
)
"""An amount with its sign first; not $1, which may be code."""
_BYTES = re.compile(r"(?<![\w.,-])(\d+(?:[.,\u202f]\d+)*)[ \u00a0\u202f]?(k|[KMGTP]i?)B(?![\w-])")
_MEASURE = re.compile(
    r"(?<![\w.,/-])(\d+)\.(\d+)(?=[ \u00a0\u202f]"
    r"(?:[kcm]?m|km/h|[kmµ]?g|[kmn]?[WVAs]|[kKMGT]?(?:Hz|bits?)(?:/s)?|dB|°C|h|ha|[mc]?l"
    r"|heures?|minutes?|secondes?|jours?|semaines?|mois|ans?|années?|fois|points?|pixels?|tonnes?|mètres?|kilomètres?"
    r"|centimètres?|millimètres?|kilogrammes?|grammes?|litres?|degrés?|euros?|dollars?|livres?|millions?|milliards?)\b)"
)
"""A number with a decimal point and its unit: in French, the decimal point is a comma. A version (1.2) has no unit."""
_STAND_IN = re.compile(STAND_IN)
_AFTER_STAND_IN = re.compile(rf"\(?{STAND_IN}\)?[:;]")
_INCLUSIVE = re.compile(r"\b(\w+)·(?:e|ère|euse|ice|ive|le|ne|rice|se|te|trice)(?:·?s)?\b")
_LANGUAGE_NOTE = re.compile(r"\s?\((?:angl|en anglais)\.?\)")
_DECIMAL = re.compile(r"(?<![\w.,/-])\d+\.\d+(?![\w,]|\.\d)")
_VERSIONED_NAME = re.compile(r"\b[A-Z]\w*\s$")
_LOVE = re.compile(r"\b(?:ador|aim)(?:es?|ons|ez|ent)\b")
_CURRENCIES = {"$": "de dollars", "£": "de livres", "€": "d'euros"}


class Postprocessor:
    """Finishes the translations of one model."""

    def __init__(self, preprocessor: Preprocessor, languages: tuple[str, str] | None) -> None:
        self._normalizer, self._protector = preprocessor.normalizer, preprocessor.normalizer.protector
        self._english = languages is not None and languages[0] == "en"
        self._is_french = languages == ("en", "fr")
        self.finish: Callable[[str, str], str] = lru_cache(FINISHED)(self._finish)
        """(source, translation) -> the finished translation of a text; see the steps above."""

    def _finish(self, source: str, translation: str) -> str:
        if self._english and copied_line(source, self._normalizer):
            return source
        original, translation = source, _LOOSE_QUOTE.sub('"', translation) if self._english else translation
        source, gaps = self._protector.remove(with_verb(source) if self._english else source)
        if self._is_french and (line := french_line(source, translation)):
            return put_back(source, gaps, line) if gaps else line
        if _NUMBER.search(source):  # those that the model read: 13 for 1 p.m.
            translation = _copy_numbers(self._normalizer.normalize(source), translation)
        translation = translation.upper() if is_all_caps(source) else _capitalize_like(source, translation)
        translation = with_stutter(source, translation) if self._english else translation
        translation = french_typography(source, translation) if self._is_french else translation
        translation = with_source_style(source, translation)
        translation = _with_heart(original, with_special_digits(source, translation))
        return put_back(source, gaps, translation) if gaps and translation else translation

    def without_words(self, source: str) -> str:
        """Returns a text without words, which the model does not read, with the numbers and times of the language."""
        if not self._is_french:
            return source
        number = written_out_amounts(source)
        if _ONLY_NUMBER.fullmatch(number):
            return french_typography(number, number).replace(".", ",")
        return french_only_times(source)

    def unify_quotes(self, sources: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Returns the translated sentences of a document with one kind of quotation marks and of apostrophes, if the
        language has two."""
        if not self._is_french:
            return list(texts)
        return unify_french_apostrophes(sources, unify_french_quotes(sources, texts))


def _copy_numbers(source: str, translation: str) -> str:
    """Replaces miscopied numbers by those of the source, if there are as many of both and they are similar."""
    source_numbers, numbers = (Counter(_NUMBER.findall(text)) for text in (source, translation))
    missing = list((source_numbers - numbers).elements())
    wrong = list((numbers - source_numbers).elements())
    if len(missing) != len(wrong) or not all(map(_is_miscopy, missing, wrong)):
        return translation
    for number, miscopied in zip(missing, wrong, strict=True):
        translation = re.sub(rf"(?<!\d){miscopied}(?!\d)", number, translation, count=1)
    return translation


def _is_miscopy(number: str, other: str) -> bool:
    """Returns whether a number or a name is similar enough to another one to be a miscopy of it."""
    return SequenceMatcher(None, number, other).ratio() >= 0.6


def _capitalize_like(source: str, translation: str) -> str:
    """Capitalises the first word of a translation if that of the source is capitalised.

    A first word that is copied from the source and is not purely letters stays as it is.
    """
    source_word, word = WORD.search(source), WORD.search(translation)
    if source_word is None or word is None or not source_word[0][0].isupper() or not word[0][0].islower():
        return translation
    begin = re.match(r"\S+", translation[word.start() :])
    copied = begin is not None and begin[0] in source.split() and not begin[0].isalpha()
    before, source_before = translation[: word.start()], source[: source_word.start()]
    after_number = any(map(str.isdigit, _STAND_IN.sub("", before)))
    after_code = _STAND_IN.search(before) is not None and _STAND_IN.search(source_before) is None
    return translation if copied or after_number or after_code else capitalize_at(translation, word.start())


def french_typography(source: str, text: str) -> str:
    """Returns a French translation of an English source with French punctuation, spaces and numbers.

    What may be code, because the source has it in the same form, stays.
    """
    text = _INCLUSIVE.sub(_masculine, _ELISION.sub(r"\1'", _after_speaker(source, _with_speaker(source, text))))
    text = _UNELIDED.sub(lambda match: match[0] if match[0] in source else _elided(match), text)
    text = _LANGUAGE_NOTE.sub("", text) if text.count("(") > source.count("(") else text
    for number in _THOUSANDS.findall(written_out_amounts(source)):
        text = _any_grouping(number).sub(number.replace(",", NARROW), _with_all_groups(number, text))
    text = _ABOUT_YEAR.sub("vers ", text) if CIRCA.search(source) else text
    text = _copy_number_with_parts(source, text)
    text = _with_rare_signs(source, french_times(source, text))
    text = _BELOW_TWO.sub(r"\1", _AMOUNT.sub(_french_amount, text))
    text = _BYTES.sub(_french_bytes, _MEASURE.sub(r"\1,\2", text))
    text = _SIGN.sub(WIDE, _FULL_HOUR.sub("", _HOUR.sub(f"{WIDE}h{WIDE}", text)))
    text = _PERCENT.sub(lambda match: match[0] if _is_style(match[0], source) else f"{match[1]}{WIDE}%", text)
    text = _with_same_decimal_marks(source, text)
    text = restore_quotes(source, _french_quotes(source, text))
    text = _like_source(source, text)
    text = _MARK.sub(lambda match: _space_before_mark(match, source), _AFTER_COLON.sub(" ", text))
    return _GUILLEMETS.sub(lambda match: f"«{WIDE}" if "«" in match[0] else f"{WIDE}»", text)


def _any_grouping(number: str) -> re.Pattern[str]:
    """Returns a pattern of a number with commas, however its groups of digits are separated: 1 234,567 or 1, 234567."""
    groups = number.split(",")
    separator = rf"(?:, |[ ,.{NARROW}{WIDE}]?)" if len(groups) > 2 else rf"(?:, |[ ,{NARROW}{WIDE}]?)"
    return re.compile(rf"(?<![\w,.]){separator.join(groups)}(?!\d|,\d{{3}})")


def _with_speaker(source: str, text: str) -> str:
    """Returns a line of a chat (Lily: yep) with the given name that the model miscopied or left out."""
    speaker = _NAMED_SPEAKER.match(source)
    if speaker is None or speaker["name"].lower() not in given_names() or speaker["name"] in text:
        return text
    if label := _FIRST_LABEL.match(text):
        return speaker["name"] + text[label.end("name") :] if _is_miscopy(speaker["name"], label["name"]) else text
    return text if ":" in text else f"{speaker['name']}{WIDE}: {as_piece(source[speaker.end() :], text, is_last=True)}"


def _after_speaker(source: str, text: str) -> str:
    """Returns a line of a play or an interview (ANNA: Come in.) with a capital after the speaker; Q. is Q."""
    if _SPEAKER.match(source) is None or (speaker := _FRENCH_SPEAKER.match(text)) is None:
        return text
    name, rest = speaker["name"], text[speaker.end() :]
    return f"{name}{WIDE}: {rest[0].upper()}{rest[1:]}"


def _with_all_groups(number: str, text: str) -> str:
    """Returns a text in which a number has all its groups of digits: 140,000,000 may have come out as 140 000."""
    first, *groups = number.split(",")
    if len(groups) < 2 or re.search(
        rf"(?<!\d){first}{''.join(f'[ ,.{NARROW}{WIDE}]?{group}' for group in groups)}", text
    ):
        return text
    fewer = re.compile(rf"(?<![\d,.]){first}[ ,.{NARROW}{WIDE}]{groups[0]}(?![\d,.{NARROW}{WIDE}]|\s\d)")
    return fewer.sub(number.replace(",", NARROW), text) if len(fewer.findall(text)) == 1 else text


def _like_source(source: str, text: str) -> str:
    """Returns a text with the letters of items, dashes, brackets and final colon of its source: (b), –, (c, 1914-18."""
    for first, last in _RANGE.findall(source):
        text = re.sub(rf"(?<!\d){first} ?--? ?{last}(?!\d)", f"{first}-{last}", text)
    text = text if _LOOSE_BRACKET.search(source) else _LOOSE_BRACKET.sub("", text)
    for match in _ITEM.finditer(source):
        if match[0] not in text:
            text = re.sub(rf"(?<![\w(]){match['item']}\)(?= )", match[0], text, count=1)
    if source.count(" – ") == text.count(" - ") and " - " not in source:
        text = text.replace(" - ", " – ")
    if source.endswith(":") and text and not text.endswith(":"):
        text = f"{text}{WIDE}:" if source.endswith(".:") else f"{text.rstrip('.')}:"
    return text


def _with_rare_signs(source: str, text: str) -> str:
    """Returns a text with the signs of currencies for which the model read yen: 10 000 ¥."""
    for sign, number, _ in RARE_AMOUNT.findall(written_out_amounts(source)):
        yen = rf"(?<!\d)({re.escape(_french_number(number))}(?: (?:million|milliard|billion)s? de)?)[ {WIDE}]yens?\b"
        text = re.sub(yen, rf"\1{WIDE}{sign}", text, count=1)
    return text


def _with_heart(source: str, text: str) -> str:
    """Returns a text with the heart of its source for its verb: J'❤ Paris."""
    match = HEART.search(source)
    if match is None:
        return text
    return _LOVE.sub(match["heart"], text, count=1) if _LOVE.search(text) else f"{text} {match['heart']}"


def _masculine(match: re.Match[str]) -> str:
    """Returns utilisateurs for utilisateur·ice·s: some training texts have such forms, and most do not."""
    is_plural = match[0].endswith("s") and not match[1].endswith("s")
    return f"{match[1]}s" if is_plural else match[1]


def _elided(match: re.Match[str]) -> str:
    """Returns d' for de, l' for la and son for sa."""
    start = match["elided"] or match["article"]
    return f"{start}'" if start else f"{match['possessive']}on "


def _is_style(percentage: str, source: str) -> bool:
    """Returns whether a percentage of the source is the value of a property in code: `width: 50%;`."""
    return re.search(rf"[:=]\s*[\"']?{re.escape(percentage)}|{re.escape(percentage)};(?!\s)", source) is not None


def _with_same_decimal_marks(source: str, text: str) -> str:
    """Returns a text with commas in all decimal numbers if one of them has it; 3.11 after a name may be a version."""
    found = _DECIMAL.finditer(source)
    decimals = {match[0] for match in found if not _VERSIONED_NAME.search(source[: match.start()])}
    if any(number.replace(".", ",") in text for number in decimals):
        for number in decimals:
            text = re.sub(rf"(?<![\w.,]){re.escape(number)}(?![\w,]|\.\d)", number.replace(".", ","), text)
    return text


def _copy_number_with_parts(source: str, text: str) -> str:
    """Replaces one miscopied number of several parts (897.00, 20-00-00); skipped if ambiguous."""
    numbers = _NUMBER_WITH_PARTS.findall(source)
    missing = [number for number in numbers if number not in text and _french_number(number) not in text]
    if len(missing) != 1:
        return text
    wanted, expected = _french_number(missing[0]), {_french_number(number) for number in _FIGURES.findall(source)}
    unexpected = [number for number in _FIGURES.findall(text) if _french_number(number) not in expected]
    candidates = [number for number in unexpected if _is_miscopy(wanted, number)]
    return text.replace(candidates[0], wanted, 1) if len(candidates) == 1 else text


def _french_number(number: str) -> str:
    return number.replace(",", NARROW) if _THOUSANDS.fullmatch(number) else number.replace(".", ",")


def _french_quotes(source: str, text: str) -> str:
    """Uses guillemets if the source has typographic quotation marks, or if the text has both kinds.

    A single guillemet belongs to a quotation that spans several sentences.
    """
    typographic = any(quote in source for quote in "“”«»")
    if typographic or ("«" in text and "»" in text):
        text = _QUOTED.sub(lambda match: match[0] if match[0] in source else f"«{match[1]}»", text)
        return _CLOSING.sub("»", _OPENING.sub("«", text)) if typographic else text
    return text


def _french_bytes(match: re.Match[str]) -> str:
    """Returns a number of bytes in octets: 200 Mo for 200 MB, ko for kB and KB, Kio for KiB."""
    number, prefix = match.groups()
    return f"{number.replace('.', ',')}{WIDE}{'k' if prefix == 'K' else prefix}o"


def unify_french_quotes(sources: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Returns the translated sentences of a document with one kind of quotation marks.

    They are guillemets if the source has typographic quotation marks, or if most sentences with quotations have them.
    Quoted code stays.
    """
    guillemets = sum("«" in text or "»" in text for text in texts)
    single = [s.count('"') % 2 == t.count('"') % 2 == 1 for s, t in zip(sources, texts, strict=True)]
    straight = sum(one or _QUOTED_WORDS.search(text) is not None for one, text in zip(single, texts, strict=True))
    if not guillemets or not straight:
        return list(texts)
    if guillemets >= straight or any(quote in source for source in sources for quote in "“”«»"):
        quoted = [_QUOTED_WORDS.sub(rf"«{WIDE}\1{WIDE}»", text) for text in texts]
        return [_french_single_quote(text) if one else text for one, text in zip(single, quoted, strict=True)]
    return [_GUILLEMETS.sub('"', text) for text in texts]


def unify_french_apostrophes(sources: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Returns the translated sentences of a document with one kind of apostrophes.

    They are typographic (l’eau) if most apostrophes of the source are or, if it has none, its quotation marks.
    """
    marks = Counter(mark for source in sources for mark in _APOSTROPHE.findall(source))
    has_quotes = any(quote in source for source in sources for quote in "“”")
    is_typographic = marks["’"] > marks["'"] if marks else has_quotes
    return [_APOSTROPHE.sub("’" if is_typographic else "'", text) for text in texts]


def _french_single_quote(text: str) -> str:
    """Makes guillemets of the quotation marks of a quotation that spans several sentences."""
    return _CLOSING.sub(f"{WIDE}»", _OPENING.sub(f"«{WIDE}", text))


def _french_amount(match: re.Match[str]) -> str:
    sign, number, scale = match.groups()
    number = number.replace(".", ",")
    return f"{number}{WIDE}{sign}" if scale is None else f"{number} {scale} {_CURRENCIES[sign]}"


def _space_before_mark(match: re.Match[str], source: str) -> str:
    """Puts the French space before a punctuation mark, unless the source has it in the same form."""
    mark, text = match["mark"], match.string
    *before, last = text[: match.start("space")].split(" ")
    literal = last + mark
    is_value = mark == ";" and (not last.isalpha() or "".join(before[-1:]).endswith(":"))  # display: flex;
    if not is_value:
        literal = " ".join([literal, *text[match.end() :].split()[:1]])
    may_be_code = mark in ":;" and literal in source and _AFTER_STAND_IN.match(literal) is None
    if f" {mark}" in source or may_be_code:
        return match[0]
    return f"{match['word']}{WIDE if mark == ':' else NARROW}{mark}"
