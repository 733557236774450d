"""Normalisation: rewrites a text in characters and words that the sub-words of a model know."""

from __future__ import annotations

import re
from decimal import Decimal

from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.text.capitals import FUNCTION_WORDS, LABEL, RUN, WORD, is_all_caps, is_label, is_shouted
from docgraph.translation.text.dates_and_times import read_dates, read_times
from docgraph.translation.text.dialogue_quotes import without_outer_quotes
from docgraph.translation.text.digits import plain_digits
from docgraph.translation.text.informal_english import (
    CAPITAL,
    given_names,
    is_name_in_dictionary,
    standard_english,
)
from docgraph.translation.text.language_check import is_function_word
from docgraph.translation.text.paraphrases import Paraphraser
from docgraph.translation.text.protected_text import TextProtector
from docgraph.translation.text.source_style import plain_style
from docgraph.translation.text.spoken_english import written
from docgraph.translation.text.stand_ins import STAND_IN

_LOOKALIKES = dict(zip("“”„‟«»″‘’‚‛′–‒−\u2011", '"""""""' + "'''''" + "----", strict=True)) | {"\u00ad": ""}
_DOUBLE_HYPHEN = re.compile(r"(?<=[\w,;.!?])--(?=\w)")
_TITLE_PART = rf"(?:{WORD.pattern}|{STAND_IN})"
_TITLE = re.compile(rf"{_TITLE_PART}(?:[,:]? {_TITLE_PART})*[?!]?")
"""Only words: a menu path (Tools - Options) is capitalised for other reasons."""
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}(?=\s+\w|\W*,)")
_SIGNS = "$£€¥₹₩₽₺₪"
_RARE_SIGNS = "¥₹₩₽₺₪"
"""Signs of currencies that the model cannot read: it reads yen for all of them (postprocessing.py)."""
_SCALE = re.compile(rf"([{_SIGNS}])(\d+(?:,\d{{3}})*(?:\.\d+)?)\s?(bn|mn|tn|[kKmMB])\b(?![-'’])")
_SCALE_RANGE = re.compile(
    rf"([{_SIGNS}])(\d[\d.,]*)(bn|mn|tn|[kKmMB])?\s?[-–]\s?\1?(\d[\d.,]*)(bn|mn|tn|[kKmMB])\b(?![-'’])"
)
_SCALES = {"bn": "billion", "mn": "million", "tn": "trillion", "m": "million", "M": "million", "B": "billion"}
_AMOUNT_RANGE = re.compile(
    rf"(?P<before>\b[Bb]etween )?(?P<sign>[{_SIGNS}])(?P<low>\d[\d.,]*(?: (?:million|billion|trillion))?)"
    r"(?P<space>\s?)(?:[–—]|-(?!.\d\b(?![.,]\d)))(?P=space)(?=(?P=sign)\d)"
)
"""A range of amounts: $5–$10; not $1-$2, which may be code."""
_RATE = re.compile(
    rf"(?P<amount>[{_SIGNS}]\d(?:[\d.,]*\d)?(?: (?:million|billion|trillion))?)"
    r"(?P<units>(?: ?/ ?[A-Za-z]+\b){1,2})(?!/)"
)
"""An amount for each unit: $9.99/month, $12/user/month."""
_RATE_UNITS = {"hr": "hour", "wk": "week", "mo": "month", "mth": "month", "yr": "year"}
RARE_AMOUNT = re.compile(rf"([{_RARE_SIGNS}])\s?(\d[\d.,]*\d|\d)((?: (?:million|billion|trillion)\b)?)")
_CODE_BEFORE_AMOUNT = re.compile(
    r"\b(AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RMB|RUB|SEK|SGD|TRY|ZAR)[ \u00a0]"
    r"(\d[\d.,]*\d|\d)((?: (?:million|billion)\b)?)"
)
_DOLLARS = {
    **dict.fromkeys(("A", "AU", "AUD"), "Australian dollars"),
    **dict.fromkeys(("C", "CA", "CAD"), "Canadian dollars"),
    **dict.fromkeys(("S", "SG", "SGD"), "Singapore dollars"),
    **dict.fromkeys(("US", "USD"), "US dollars"),
    "HK": "Hong Kong dollars",
    "NZ": "New Zealand dollars",
    "R": "Brazilian reais",
}
_DOLLARS_OF = re.compile(
    rf"(?<![\w$])({'|'.join(_DOLLARS)})\$ ?(\d[\d.,]*\d|\d)((?: (?:million|billion|trillion)\b)?)(?![\w/])"
)
"""An amount in the dollars of a country: A$25."""
_UNIT = re.compile(
    r"(?<![\w.,/])(\d+(?:[.,]\d+)*)(?:[ \u00a0]?|-(?=mph))"
    r"(ft|hrs?|lbs?|mins|oz|secs|yd|yrs?|mph|sq\.? ?(?:ft|in|km|m|mi|yd))\b"
    r"(?!\.\w| [A-Z]|\. [A-Z]|[/²³^-])"
)
_UNITS = {
    "ft": ("foot", "feet"), "hr": ("hour", "hours"), "hrs": ("hour", "hours"), "mins": ("minute", "minutes"),
    "secs": ("second", "seconds"), "yr": ("year", "years"), "yrs": ("year", "years"), "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"), "yd": ("yard", "yards"),
    "mph": ("mile per hour", "miles per hour"), "sqft": ("square foot", "square feet"),
    "sqin": ("square inch", "square inches"), "sqkm": ("square kilometre", "square kilometres"),
    "sqm": ("square metre", "square metres"), "sqmi": ("square mile", "square miles"),
    "sqyd": ("square yard", "square yards"),
}  # fmt: skip
_METRES = re.compile(
    r"(?<![\w.,$£€])(?P<number>(?:\d ?[x×] ?)?\d+(?:[.,]\d+)*)m (?:"
    r"(?P<direction>high|tall|long|wide|deep|thick|away|apart|above|below|underwater)\b"
    r"|(?=(?:backstroke|breaststroke|butterfly|dash|final|freestyle|heats?|hurdles|medley|races?|relay|runner|sprint"
    r"|steeplechase|swim|world)\b))"
)
"""A number of metres: 20m is 20 million for the model."""
_RANKS = {
    "Adm": "Admiral", "Capt": "Captain", "Cmdr": "Commander", "Col": "Colonel", "Cpl": "Corporal", "Det": "Detective",
    "Gen": "General", "Gov": "Governor", "Insp": "Inspector", "Lt": "Lieutenant", "Maj": "Major",
    "Rep": "Representative", "Rev": "Reverend", "Sen": "Senator", "Sgt": "Sergeant", "Supt": "Superintendent",
}  # fmt: skip
_RANK = re.compile(
    rf"\b(?:({'|'.join(_RANKS)})\.|((?<=Lt )(?:Col|Gen)|(?<=Maj )Gen|Capt|Cmdr|Cpl|Insp|Lt|Maj(?= Gen )|Sgt|Supt)) "
    r"(?=(?:[A-Z]\. ?)*[A-Z][\w'’-]*[a-z])"
)
"""A rank before a name; some have no full stop in British texts."""
_LANGUAGE = re.compile(
    r"(\(|; )((?:Arabic|Basque|Bengali|Bulgarian|Catalan|Chinese|Croatian|Czech|Danish|Dutch|Estonian|Finnish|French"
    r"|Georgian|German|Greek|Hebrew|Hindi|Hungarian|Icelandic|Irish|Italian|Japanese|Korean|Latin|Latvian|Lithuanian"
    r"|Norwegian|Persian|Polish|Portuguese|Romanian|Russian|Sanskrit|Serbian|Slovak|Slovene|Spanish|Swahili|Swedish"
    r"|Tamil|Thai|Turkish|Ukrainian|Urdu|Vietnamese|Welsh):)"
)
"""The language of a name in brackets, which the model would read as a people: (German: Köln)."""
CIRCA = re.compile(r"\b(?:c|ca)\. ?(?=\d{3,4}\b)")
_THEN = re.compile(r"\b([Tt]hen)-(?=[A-Za-z][a-z]+)")
"""Said of somebody's office at the time: the then-president."""
_INCH = re.compile(
    r"(?<![\w.,'’°])(\d{1,3}(?:\.\d+)?)(?:\"|''|″)"
    r"(?= (?:(?!(?:he|she|it|they|we|said|says|and|but|or|who|asked|replied)\b)[a-z]{2,}|(?:TV|LCD|LED|OLED|HD)\b))"
)
_QUOTATION_MARK = re.compile(r"(?<!\d)\"")
_MEASURED = re.compile(r" (?:wide|long|tall|high|deep|thick|in|from|of|by|and|or|above|below)\b")
"""What follows a noun: 27 inches wide, but a 27-inch monitor."""
_SINGLE_QUOTED = re.compile(
    r"(?<![\w'\])])'(?!(?:em|n|til|tis|twas|cause|bout|round)\b)(?![A-Z]+')(?=[^\W\d_]{2}|[IA] )"
    r"((?:[^\W\d_]|[\s,.!?-]|(?<=\w)'(?=\w))+?)(?<=[\w.,!?])'(?!\w)"
)
"""Words in single quotation marks."""
_QUOTED_WORD = re.compile(
    r"(?<![^\s(\[—-])\"(?=(?:[A-Z]?[a-z]+|[AI])(?![\w(=/\\:{]|\.\w))(?![A-Z]\w* [A-Z])(?![^\"]*[_{}=#<>|\\][^\"]*\")"
)
"""The opening mark before a word other than code, abbreviations and titles of works."""
HEART = re.compile(r"\b(?:I|[Ww]e|[Yy]ou|[Tt]hey)\b (?P<heart>[❤♥💖💗💕💙💚💛💜🖤🧡]\ufe0f?) (?=\w)")
"""A picture that is the verb of its sentence."""
_STRESSED = re.compile(
    r"\b(?:AGAIN|ALREADY|ALWAYS|BEFORE|BEST|BOTH|CANNOT|DON'T|EVER|EVERY(?:BODY|ONE|THING)?|EXTREMELY|FREE|LOVED?|NEVER"
    r"|NO(?:BODY|THING)|ONLY|PLEASE|REALLY|SO(?= [a-z])|STILL|THREE|TOO(?= [a-z])|TWICE|VERY|WORST"
    r"|(?:DO|MUST|SHOULD|WILL)(?: NOT)?)\b"
)
_SMALL_WORDS = (FUNCTION_WORDS - {"I"}) | {"ALL", "AND", "NOT", "OR", "U"}
"""Words that are no abbreviations among words in capitals; elsewhere they may be names of functions."""
_TITLE_WORDS = 3
"""Minimum long words of a title: anything shorter may be a name."""
_SMALL_WORD = re.compile(r"(?<![\w'’@#/\\.&+*=-])[a-z]{3,}(?![\w@/\\&*=(-]|\.\w)")
_MESSAGE_SPACES = 2
"""Minimum spaces of a text in lower case whose names get capitals: a shorter one may be code."""
_TITLE_WORD_LENGTH = 4
"""Letters from which a word must be capitalised in a title; of, the and with may or may not be."""
_COMMON_WORDS = frozenset(
    """alliance ash assembly assistant attribution auditors balk baroness bonjour cep chamber charter chromium
    commissioner commissioners council craft dear democrats docs east eastern evolution furthermore gecko git greens
    hung impress insertion inserts king kingdom lad lastly luxe madam madame manufacture mart messieurs mold moreover
    navigator nether nob northern ombudsman pact polish president python recipes republic roms safari saint secondly
    socialist temporal thirdly tod tog turkey university verts wed western wizard writer""".split()  # noqa: SIM905
)
"""Words of which the sub-words may only know a capitalised form (Writer, King), although they are no names."""
_WHOLE_WORD = 2
"""Number of ids of a word that is one piece: the piece and end-of-sentence."""


class Normalizer:
    """Normalises texts for one model."""

    def __init__(
        self, coder: SubwordCoder, languages: tuple[str, str] | None, paraphraser: Paraphraser | None = None
    ) -> None:
        """`paraphraser` puts English idioms in words that the model knows."""
        self._coder, self._paraphraser = coder, paraphraser
        self._english = languages is not None and languages[0] == "en"
        self.protector = TextProtector(coder)
        self._is_french = languages == ("en", "fr")
        self._dash = ", " if self.protector.is_unknown("—") else "—"
        unknown = {char: plain for char, plain in _LOOKALIKES.items() if self.protector.is_unknown(char)}
        self._lookalikes = str.maketrans(unknown)

    def normalize(self, text: str) -> str:
        """Returns a text in characters and words that the model knows.

        Unreadable parts are removed (protected_text.py), rare punctuation is replaced, capitals become small letters.
        In English, times use 24 hours, days precede months, abbreviated amounts and units are written out, and idioms
        are paraphrased.
        """
        text = self._with_idioms(text)
        return self._paraphraser(text) if self._english and self._paraphraser is not None else text

    def paraphrases(self, text: str) -> list[tuple[str, str]]:
        """Returns the idioms of a text and what the model reads instead of each."""
        if not self._english or self._paraphraser is None:
            return []
        text = self._with_idioms(text)
        return [(text[start:end], shown) for start, end, shown in self._paraphraser.replacements(text)]

    def _with_idioms(self, text: str) -> str:
        """Returns a normalised text whose idioms are not yet paraphrased."""
        text, _ = self.protector.remove(with_verb(text) if self._english else text)
        text = plain_style(text)
        text = (self._is_french and without_outer_quotes(text)) or text
        text = read_measures(plain_digits(written(text))) if self._english else plain_digits(text)
        text = _DOTTED.sub(lambda word: self._without_dots(word[0]), text.translate(self._lookalikes))
        if self._english:
            text = _DOUBLE_HYPHEN.sub(self._dash, text)
            text = read_abbreviations(read_amounts(read_dates(read_times(text))))
            if (label := LABEL.match(text)) and is_label(label[0]):
                text = self._in_small_letters(label[0]) + text[label.end() :]
            text = text if text.isupper() else _STRESSED.sub(_unstressed, RUN.sub(self._unshouted, text))
            text = read_quotations(text)
        if is_all_caps(text):
            small = self._in_small_letters(text)
            text = _SMALL_WORD.sub(lambda word: self._capitalize_name(word[0]), small) if self._english else small
        return self._standard_english(text) if self._english else text

    def without_title_case(self, text: str) -> str:
        """Returns a text in Title Case in lower case, except its first word, abbreviations and names."""
        words = list(WORD.finditer(text)) if _TITLE.fullmatch(text) else []
        long = [word[0] for word in words if len(word[0]) >= _TITLE_WORD_LENGTH]
        if len(long) < _TITLE_WORDS or not all(word.istitle() or word[0].isupper() for word in long):
            return text
        for word in words[1:]:
            if word[0].istitle():
                text = text[: word.start()] + self._lowercase(word[0]) + text[word.end() :]
        return text

    def _standard_english(self, text: str) -> str:
        """Returns an English text in standard spelling, with capitals for names if it has none."""
        shown = standard_english(text)
        if CAPITAL.search(text) or shown.count(" ") < _MESSAGE_SPACES:
            return shown
        return _SMALL_WORD.sub(lambda word: self._capitalize_name(word[0]), shown)

    def _capitalize_name(self, word: str) -> str:
        """Returns a word with a capital if it is known only with one: london."""
        if is_function_word(word):  # of French, beside English: plan de réduction des émissions
            return word
        return word.capitalize() if self._is_name(word) else word

    def _is_name(self, word: str) -> bool:
        """Returns whether the sub-words or the English dictionary know a word in small letters only as a name."""
        is_name = self.is_whole_word(word.capitalize()) and not self.is_whole_word(word)
        return (is_name and word not in _COMMON_WORDS) or is_name_in_dictionary(word)

    def may_be_name(self, word: str) -> bool:
        """Returns whether a capitalised word of an English text may be a name, and not only the first of a sentence."""
        from simplemma import is_known  # slow to load

        small = word.lower()
        return not is_known(small, lang="en") or small in given_names() or self._is_name(small)

    def is_whole_word(self, word: str) -> bool:
        """Returns whether the sub-words have one piece for a word."""
        return len(self._coder.ids([word])[0]) == _WHOLE_WORD

    def _unshouted(self, run: re.Match[str]) -> str:
        """Returns a run of words in capitals in lower case if it is a phrase."""
        words = WORD.findall(run[0])
        if 2 * run[0].count(",") >= len(words) or not is_shouted(words):
            return run[0]
        is_first = not run.string[: run.start()].strip(" \"'*-(")
        return self._in_small_letters(run[0], is_first)

    def _in_small_letters(self, text: str, is_first: bool = True) -> str:
        """Returns a text in capitals in lower case, except for its abbreviations and, if `is_first`, its start."""
        small = WORD.sub(lambda word: self._lowercase(word[0]), text)
        first = WORD.search(small)
        return capitalize_at(small, first.start()) if first is not None and is_first else small

    def _lowercase(self, word: str) -> str:
        """Lowercases a word if it then has fewer pieces, or is one piece either way: abbreviations and names stay."""
        small = word.lower()
        pieces, small_pieces = map(len, self._coder.ids([word, small]))
        is_common = (word.istitle() and word != "I") or (self._english and word in _SMALL_WORDS)
        return small if small_pieces < pieces or (pieces == small_pieces == _WHOLE_WORD and is_common) else word

    def _without_dots(self, word: str) -> str:
        """Turns U.K. into UK if that is one piece: models tend to end a translation at a dot."""
        plain = word.replace(".", "")
        return plain if plain.isupper() and self.is_whole_word(plain) else word


def capitalize_at(text: str, index: int) -> str:
    """Returns a text with the character at `index` in upper case."""
    return text[:index] + text[index].upper() + text[index + 1 :]


def _unstressed(word: re.Match[str]) -> str:
    """Lowercases a word that is in capitals for emphasis."""
    return word[0].lower() if word.string[: word.start()].strip(" \"'*-(") else word[0].capitalize()


def with_verb(text: str) -> str:
    """Returns a text with love for a heart between a pronoun and a word: I love Paris."""
    return HEART.sub(lambda match: match[0].replace(match["heart"], "love"), text)


def read_measures(text: str) -> str:
    """Returns an English text with units in words: 3 feet for 3 ft, 27-inch monitor for 27"."""
    text = _UNIT.sub(
        lambda unit: f"{unit[1]} {_UNITS[unit[2].replace('.', '').replace(' ', '')][unit[1] != '1']}", text
    )
    return _INCH.sub(_inches, _METRES.sub(_metres, text))


def read_abbreviations(text: str) -> str:
    """Returns an English text with Senator for Sen., about for c., and (in German: Köln) for (German: Köln)."""
    text = _RANK.sub(lambda rank: f"{_RANKS[rank[1] or rank[2]]} ", text)
    return _THEN.sub(r"\1 ", _LANGUAGE.sub(r"\1in \2", CIRCA.sub("about ", text)))


def read_amounts(text: str) -> str:
    """Returns an English text with amounts as the model knows them: $20,000 for $20k, $5 to $10, $9 per month."""
    text = _AMOUNT_RANGE.sub(_range_of_amounts, written_out_amounts(text))
    text = _DOLLARS_OF.sub(lambda amount: f"{amount[2]}{amount[3]} {_DOLLARS[amount[1]]}", text)
    return RARE_AMOUNT.sub(r"\2\3 yen", _CODE_BEFORE_AMOUNT.sub(r"\2\3 \1", _RATE.sub(_rate, text)))


def written_out_amounts(text: str) -> str:
    """Returns a text with $20,000 for $20k and $2 billion for $2bn."""
    text = _SCALE_RANGE.sub(lambda each: f"{each[1]}{each[2]}{each[3] or each[5]} to {each[1]}{each[4]}{each[5]}", text)
    return _SCALE.sub(_written_out, text)


def read_quotations(text: str) -> str:
    """Returns an English text with double quotation marks, and a space after those that open.

    Sub-words differ by whether a space precedes them: the model reads "bold plan as "b, old and plan.
    """
    text = text if '"' in text else _SINGLE_QUOTED.sub(r'"\1"', text)
    return _QUOTED_WORD.sub('" ', text)


def _metres(match: re.Match[str]) -> str:
    """Returns 20 metres high, but the 400-metre hurdles."""
    number, direction = match["number"], match["direction"]
    return f"{number} metres {direction}" if direction else f"{number}-metre "


def _inches(match: re.Match[str]) -> str:
    """Returns 27-inch or 27 inches, unless the mark closes a quotation."""
    text, number = match.string, match[1]
    if len(_QUOTATION_MARK.findall(text, 0, match.end(1))) % 2:
        return match[0]
    return f"{number} inches" if _MEASURED.match(text, match.end()) else f"{number}-inch"


def _range_of_amounts(match: re.Match[str]) -> str:
    """Returns $5 to, or between $5 and."""
    before = match["before"] or ""
    return f"{before}{match['sign']}{match['low']} {'and' if before else 'to'} "


def _rate(match: re.Match[str]) -> str:
    """Returns $9.99 per month for $9.99/month."""
    units = (unit.strip() for unit in match["units"].split("/")[1:])
    return match["amount"] + "".join(f" per {_RATE_UNITS.get(unit, unit)}" for unit in units)


def _written_out(amount: re.Match[str]) -> str:
    sign, number, scale = amount.groups()
    if scale in "kK":
        return f"{sign}{Decimal(number.replace(',', '')) * 1000:,.0f}"
    return f"{sign}{number} {_SCALES[scale]}"
