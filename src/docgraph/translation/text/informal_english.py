"""Informal English, as people type it in messages and reviews, in standard spelling.

A missing apostrophe can cost a negation: the model takes "cant" for a form of "chant". Forms that are also words are
read by the words beside them (ill be there), or only in a text that is informal in another place.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection
from functools import cache
from importlib.resources import files

from docgraph.annotate.coref.word_lists import load_word_lists
from docgraph.translation.text.capitals import is_english_word

_BEFORE, _AFTER = r"(?<![\w'’@#$/\\.&+*=_-])", r"(?![\w'’@/\\&*=_(-]|\.\w)"
"""A word that stands alone: no part of an address, a name in code or a compound."""
_WORD = re.compile(rf"{_BEFORE}[A-Za-z0-9]+{_AFTER}")
_ANY_CASE = frozenset(["afaict", "afaik", "asap", "btw", "fwiw", "idk", "iirc", "imho", "omg", "pls", "tbh", "thx"])
"""Forms that have no other meaning in capitals."""
_LONG_RUN = re.compile(r"([a-z])\1{2,}")
_STRETCHED = re.compile(rf"{_BEFORE}(?=[A-Za-z]+?([a-z])\1\1)[A-Za-z]{{4,}}{_AFTER}")
_BEGIN = re.compile(r"(?:^|[.!?…:]\s+)[\"'“‘(]*$")
"""What precedes the first word of a sentence."""
_LOOK_BACK = 20
"""Characters that are read to tell whether a word is the first of its sentence; more would cost time in long texts."""
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])[´`](?=(?:s|t|m|re|ve|ll|d)\b)")
_GREETING = re.compile(r"(?:dear|hello|hey|hi) ([a-z]{3,})(?=[,!.]|$)", re.IGNORECASE)
CAPITAL = re.compile(r"(?<![^\W_])(?!I(?!\w))[A-Z]")
"""A capital letter, but not the word I."""
_FIRST_LETTER = re.compile(r"^[\"'“(]?[a-z](?=[a-z]|[.,!?]* )")
_OPENING = re.compile(
    r"(?:aw+|ew+|ha(?:ha)+|hello|hey|hi|h?mm+|lol|lmao|nah|no idea|oh|omg|ok|okay|sorry|thanks|thank you|ugh|wow|yay"
    r"|yeah|yep|yup)[,.!]* (?=[a-z])|(?:gotta|see you)\b"
    r"|(?:am|are|can|could|did|do|does|should|will|would)"
    r" (?:I|you|he|she|it|we|they|this|that|there|anybody|anyone|somebody|someone)\b"
    r"|is (?:he|it|she|that|there|this)\b|(?:how|what|when|where|why) (?:am|are|can|did|do|does|is|should|will) \w"
    r"|how (?:long|many|much) \w|what time \w"
)
"""How a message begins, whatever its spelling."""
_FULL_WIDTH = re.compile(r"(?<=\w)[，：；！？）]|（(?=\w)")
_JOINED = re.compile(
    r"([a-z]{2,})(,|[!?]+|\.)(?=([A-Za-z][A-Za-z'’]*))(?=(?P<starter>(?:Also|And|But|Don't|Fast|For|Good|Great|Had|He|Her|His"
    r"|How|I|I'm|I've|If|It|It's|Just|Love|My|Never|No|Nobody|Not|Only|Our|Please|She|So|Thank|Thanks|That|The|Then"
    r"|There|They|This|Very|Was|We|What|When|Why|Will|Works|Would|You|Your)(?![\w.]))?)"
)
"""Punctuation between two words, and the second word if it often begins a sentence."""
_ONLY_WORDS = re.compile(r"[\"'“(]*[A-Za-z'’]+(?:(?:,|[!?]+|\.)[A-Za-z'’]+)+[\"'”)]*[.,!?;:…]*")
_CLAUSE = r"(^|[.!?,;:] |\b(?:and|but|hope|maybe|ok|so|then|think) )"
_VERB = (
    r"(?:add|ask|be|bring|buy|call|check|come|definitely|do|find|fix|get|give|go|have|just|keep|leave|let|look|make"
    r"|meet|miss|need|never|order|pay|pick|probably|put|return|say|see|send|show|start|stay|stick|take|talk|tell|text"
    r"|try|update|wait|write)\b"
)
_AFTER_I = (
    r"(?:ain't|also|always|am|bought|called|can|can't|cannot|could|couldn't|did|didn't|do|don't|feel|felt|found|get|got"
    r"|guess|had|hate|have|haven't|hope|just|know|like|live|lost|love|mean|need|never|only|order|ordered|paid|really"
    r"|received|said|saw|see|should|shouldn't|still|think|thought|told|tried|try|understand|use|used|want|wanted|was"
    r"|wasn't|went|will|won't|wish|wonder|work|would|wouldn't)\b"
)
_SUBJECT = r"(^|[.!?,;:] |\b(?:I|i|you|u|we|they|he|she|it|just|still|really|but|so|why|if) )"
_AFTER_CANT = (
    r"(?:accept|access|afford|be|believe|boot|change|charge|come|connect|do|even|ever|find|fix|get|give|go|handle|have"
    r"|hear|help|hold|install|keep|let|load|log|make|open|play|read|remember|run|save|see|send|sleep|start|stand|stay"
    r"|stop|take|tell|turn|understand|update|upload|use|wait|work)\b"
)
_RULES = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (rf"{_SUBJECT}([Cc]a|[Ww]o)nt(?= [a-z]|[,.!?]|$)(?! to\b)", r"\1\2n't"),
        (rf"{_BEFORE}([Cc]a|[Ww]o)nt(?= {_AFTER_CANT})", r"\1n't"),
        (
            r"(^|[.!?] )[Ww](ould|ill) (?=(?:(?:absolutely|also|certainly|definitely|gladly|happily|highly|never|not"
            r"|probably|really) )?(?:be back|buy|come back|go back|love|recommend|stay)\b"
            r"[^.!?]*(?:[.!]|$))",
            r"\1I w\2 ",
        ),
        (r"(^|[.!?] )(?:TL;?DR|Tl;?dr|tl;?dr)\b", r"\1In short"),
        (r"(^|[.!?] )[Hh]ope (?=to (?!(?:be|the)\b)[a-z]+ )", r"\1I hope "),
        (
            r"(^|[.!?] )[Cc](an['’]t|ouldn['’]t) (?=(?:agree more|believe|complain"
            r"|decide|imagine|remember|sleep|stop|thank|wait)\b)",
            r"\1I c\2 ",
        ),
        (rf"{_BEFORE}[Ii]m(?= [a-z]|[,.!?])", "I'm"),
        (r"(^|[.!?,] )([Hh]ow|[Ww]hen)s (?=[a-z])", r"\1\2's "),
        (rf"{_BEFORE}i(?=['’](?:d|ll|m|ve)\b| {_AFTER_I})", "I"),
        (
            r"\b(am|because|but|can|could|did|do|if|may|should|when|would) i(?= (?!(?:and|has|in|is|or)\b)[a-z])",
            r"\1 I",
        ),
        (rf"{_CLAUSE}[Ii]ll (?={_VERB})", r"\1I'll "),
        (rf"{_CLAUSE}[Ii]d (?=(?:appreciate|like to|love it|love to|prefer|rather|say)\b)", r"\1I'd "),
        (
            r"(^|[.!?] |\b(?:ok|so) )([Ll])ets (?=(?:be|chat|do|eat|face|find|get|go|hope|just|keep|make|meet"
            r"|not|play|say|see|start|stop|take|talk|try|wait)\b)",
            r"\1\2et's ",
        ),
        (
            rf"{_BEFORE}([Ii])ts (?=(?:a|an|been|definitely|my|not|ok|okay|our|really|the|your)\b(?!-)"
            r"|just (?:a|an|like|not|so|that|the|too)\b"
            r"|(?:so|too) [a-z]+(?:[.!?]|$)|(?:gonna|raining|snowing)\b|(?:amazing|available|awesome|bad|broken|cold"
            r"|done|easy|fine|free|gone|good|great|hard|hot|late|nice|over|possible|ready|worth it|wrong)"
            r"(?:[.!?)]|$| (?:again|because|but|here|if|now|outside|today|when)\b))",
            r"\1t's ",
        ),
        (r"^([Yy])our (?=(?:so \w+|welcome)[.!]*$)", r"\1ou're "),
        (r"\b(proud|thinking) of u\b", r"\1 of you"),
        (r"\b([Cc]ould|[Ss]hould|[Ww]ould) of (?=(?:\w+ed|been|bought|done|gone|got|had|known|made)\b)", r"\1 have "),
        (rf"{_BEFORE}[Rr] u{_AFTER}", "are you"),
        (rf"{_BEFORE}[Cc] u(?= (?:l8r|later|soon|there|tomorrow|tonight|tmr|tmrw)\b)", "see you"),
        (rf"{_BEFORE}([Uu])r(?= (?:a|an|going|gonna|not|right|so|the|welcome|wrong)\b)", "you're"),
        (
            r"\b(hope|if|think|when) ur(?= (?:at|busy|coming|doing|done|feeling|free|going|here|home|in|ok|okay|ready"
            r"|still|sure|well)\b)",
            r"\1 you're",
        ),
        (rf"{_BEFORE}ur(?= [a-z])", "your"),
        (r"\b(\d{1,3}) ?(?:yo|y/o)(?= [a-z])", r"\1-year-old"),
        (r"\b(\d{1,3}) ?(?:yo|y/o)\b", r"\1 years old"),
        (rf"{_BEFORE}([Tt])y(?= (?:for (?:all|the|this|ur|your)|guys|so much)\b|!)", r"\1hank you"),
        (r"(^|[.!?,] )([Nn])p(?=[,.!]|$)", r"\1\2o problem"),
        (
            r"(?<!\d )\bbc(?= (?:a|he|her|his|i|I|it|its|my|no|of|our|she|the|their|there|they|this|we|you|your)\b)",
            "because",
        ),
        (r"^[Ww]ay (?=too [a-z])", "far "),
        (r"\bb/c\b", "because"),
        (r"(?<!\S)w/o (?=\w)", "without "),
        (r"(?<!\S)w/ ?(?=[a-z]{2})", "with "),
        (r"\b[Ii] dunno\b", "I don't know"),
        (rf"{_CLAUSE}[Dd]unno\b", r"\1I don't know"),
    )
)
"""Forms that the words beside them decide."""
_IN_MESSAGES = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (rf"{_BEFORE}i{_AFTER}", "I"),
        (r"\b(can|could|gonna|might|must|should|to|will|would) b(?= [a-z])", r"\1 be"),
        (rf"{_BEFORE}b4{_AFTER}", "before"),
        (rf"{_BEFORE}c u{_AFTER}", "see you"),
        (rf"{_BEFORE}rn(?=[.!?]|$)", "right now"),
        (r"\b(guys|how|they|these|those|we|what|where|who|you) r(?= [a-z]|\?)", r"\1 are"),
        (rf"{_BEFORE}u{_AFTER}(?! (?:and|be|in|is)\b)", "you"),
    )
)
"""Forms that are read only in a text with others."""
_YOU = re.compile(
    r"\b(ask|asked|are|can|could|did|do|does|have|help|hope|how|if|know|like|love|miss|need|see|should|tell|thank|that"
    r"|think|want|what|when|why|will|would) u(?! (?:and|be|denotes|in|is|represents)\b)(?=[ .,!?]|$)"
)
_YOU_BEFORE = re.compile(
    rf"{_BEFORE}u(?= (?:are|can|can't|could|did|didn't|do|don't|get|got|guys|have|haven't|know|might|must|need|r|said"
    r"|sent|should|think|told|want|were|will|would)\b)"
)
_FORMULA = re.compile(r"[=^{}∈≤≥]|(?<![\w'’])[e-hos-tv-z](?![\w'’])")
_PROPER = re.compile(
    rf"{_BEFORE}(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|april|june|july|september"
    rf"|october|november|december|english|french|german|spanish|italian){_AFTER}"
)


def standard_english(text: str) -> str:
    """Returns an English text in standard spelling: don't for dont, receive for recieve, so for sooo.

    The first word of a message has a capital then.
    """
    if not text.isascii():
        text = _FULL_WIDTH.sub(_half_width, text)
    if "`" in text or "´" in text:
        text = _APOSTROPHE.sub("'", text)
    original = text = " ".join(map(_with_spaces, text.split(" ")))
    text = _STRETCHED.sub(_shortened, text)
    text = _WORD.sub(_standard_word, text)
    for pattern, shown in _RULES:
        text = pattern.sub(shown, text)
    if not _FORMULA.search(text):
        text = _YOU.sub(r"\1 you", _YOU_BEFORE.sub("you", text))
        for pattern, shown in _IN_MESSAGES if text != original else ():
            text = pattern.sub(shown, text)
    is_message = text != original or (not CAPITAL.search(text) and _OPENING.match(text) is not None)
    text = _PROPER.sub(lambda word: word[0].capitalize(), text)
    if (greeting := _GREETING.match(text)) and greeting[1] in given_names():
        text = f"{text[: greeting.start(1)]}{greeting[1].capitalize()}{text[greeting.end(1) :]}"
    return _FIRST_LETTER.sub(lambda letter: letter[0].upper(), text) if is_message else text


def _with_spaces(token: str) -> str:
    """Returns a part of a text between spaces with the spaces that are missing in it."""
    return _JOINED.sub(_with_space, token) if _ONLY_WORDS.fullmatch(token) else token


def _half_width(match: re.Match[str]) -> str:
    """Returns a full-width punctuation mark as one of usual width, with its space."""
    mark = unicodedata.normalize("NFKC", match[0])
    return f" {mark}" if mark == "(" else mark if mark == ")" else f"{mark} "


def _with_space(match: re.Match[str]) -> str:
    """Returns a word and its punctuation with a space if another word follows, not another part of a name in code."""
    word, mark, following = match[1], match[2], match[3]
    may_follow = following in ("i", "I") or (len(following) > 1 and (mark == "," or following[0].isupper()))
    are_words = may_follow and is_english_word(word) and is_english_word(following.lower())
    is_text = match["starter"] if mark == "." else are_words
    return f"{word}{mark} " if is_text else match[0]


def _standard_word(match: re.Match[str]) -> str:
    """Returns a word in standard spelling. In Title Case it may be a name, except at the start of a sentence."""
    word, text = match[0], match.string
    form = word.lower()
    if (shown := _spellings().get(form)) is None:
        return word
    before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
    is_first = _BEGIN.search(before) is not None
    is_stressed = word.isupper() and (form in _ANY_CASE or form.endswith("nt"))
    if not (word.islower() or is_stressed or (word.istitle() and is_first)):
        return word
    if is_first and form in _phrases() and text[match.end() :].lstrip(" ")[:1].isalpha():
        shown += ","
    return shown if word.islower() or not is_first else shown[0].upper() + shown[1:]


def _shortened(match: re.Match[str]) -> str:
    """Returns a word without the letters that stretch it: so for sooo; unchanged if that is no word."""
    word = match[0]
    for length in (2, 1):
        shorter = _LONG_RUN.sub(lambda run: run[1] * length, word)  # noqa: B023
        if is_english_word(shorter.lower()):
            return shorter
    return word


@cache
def given_names() -> Collection[str]:
    """Returns English given names in lower case."""
    names = load_word_lists("en").names
    return names["masculine"] | names["feminine"]


@cache
def feminine_names() -> frozenset[str]:
    """Returns English given names of women only, in lower case."""
    names = load_word_lists("en").names
    return names["feminine"] - names["masculine"]


@cache
def is_name_in_dictionary(word: str) -> bool:
    """Returns whether a word in lower case is a name that the English dictionary has: peter, july."""
    from simplemma import lemmatize

    return lemmatize(word, lang="en").istitle()


@cache
def _spellings() -> dict[str, str]:
    """Returns the standard spelling of each informal form."""
    return {form: shown for table in _tables().values() for form, shown in table.items()}


@cache
def _phrases() -> frozenset[str]:
    """Returns the forms of phrases that are followed by a comma at the start of a sentence: btw."""
    return frozenset(_tables()["phrases"])


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads((files("docgraph") / "data" / "spelling" / "en.toml").read_text("utf-8"))
