"""Lines that need no model: names and addresses are copied, set phrases of letters have a French form."""

from __future__ import annotations

import re

from docgraph.translation.text.capitals import is_english_word
from docgraph.translation.text.dates_and_times import french_calendar_line, french_mail_header
from docgraph.translation.text.informal_english import feminine_names, given_names
from docgraph.translation.text.normalization import Normalizer
from docgraph.translation.text.stand_ins import STAND_IN

_PERSON = re.compile(r"([A-Z][a-z]+)(?: [A-Z]\.)?(?: [A-Z][\w'’-]+){0,1} ([A-Z][\w'’-]+)")
_WORD_NAMES = """
amber april carol christian crystal daisy dale dawn dean dick earl eve flora frank grace guy hazel heather holly
iris jack jasmine jay jean june lily olive pearl randy rosemary sally sandy sue viola violet warren
"""
"""Given names that are words, too."""
_WORD_SURNAMES = """
archer baker ball banks barber barker bell berry bird bishop black blake bloom bolt bond booth bowman brooks brown
bush butcher butler cage carpenter carter castle chambers chandler church clay collier cook cooper crane cross crow
cruise day dean drake duke english falls farmer field fisher fleming flowers ford foster fowler fox frank frost
gardener glass golden gore grant graves gray green grey hall hart hawk hay head hicks hill hogan hood hook hope
hopper house hunt hunter hurst jones judge kane keen key king knight lake lamb lambert lane law lawless little lodge
long love major marsh martin mason may mercer miles miller mills moon moss noble north page park parks peck penny
perry piper pool pope porter potter powers price prince proctor rand reed reeves rice rich rivers roach rose sage
savage sawyer sharp shepherd shields short silver singleton skinner slater small smart smith snow spark sparks
sparrow spears spencer steel stern stone street strong summer summers swan sweet swift tanner temple thorn turner
valentine wade walker wall waller ward waters watts weaver wells west wheeler white wilder winter winters wise wolf
wood woods wren wright young
"""
"""Surnames that are words, too."""
_US_STATES = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
)
_UNIT = r"(?:Apartment|Apt|Flat|Floor|Room|Suite|Ste|Unit)\.? #?\w+"
_STREET = (
    rf"(?:{_UNIT},? )?\d+[A-Za-z]? (?:[A-Z][\w'’.-]+ )+(?:Avenue|Ave|Boulevard|Blvd|Close|Court|Drive|Lane|Place|Road"
    rf"|Rd|Square|Street|St|Terrace|Way)\.?(?: (?:[NS][EW]?|[EW])\b)?(?:,? {_UNIT})?|P\.?O\.? Box \d+"
)
_TOWN = (
    r"(?:[A-Z][\w'’.-]*(?: (?=[a-z]+ )(?:upon|on|under|le|the|by|in))*,? )+"
    rf"(?:[A-Z]{{1,2}}\d[\dA-Z]? \d[A-Z]{{2}}|(?<=, )(?:{_US_STATES}) \d{{5}}(?:-\d{{4}})?)"
)
_POSTAL = re.compile(rf"(?:(?:{_STREET}), {_TOWN}|{_STREET}|{_TOWN})[.,]?")
"""A line of a British or American postal address, or all of it."""
_PARTICLES = r"(?:(?:de|del|di|du|la|le|van|von|der|den|ten) )*"
_OFFICE = (
    r"(?:Ambassador|Chair\w*|Commissioner|Governor|Judge|Justice|Mayor|Minister|President|Prime|Secretary|Speaker)\b"
)
_NAME = rf"(?!{_OFFICE}){_PARTICLES}[A-Z][\w'’-]*(?: {_PARTICLES}[A-Z][\w'’-]+){{0,2}}"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Dr|Professor|Prof)"
_SALUTATION = re.compile(
    rf"Dear (?P<title>{_TITLE})\.?(?: (?P<name>{_NAME}))?"
    rf"(?: (?:and|&) (?P<title2>{_TITLE})\.? (?P<name2>{_NAME}))?[,:]?"
)
_SALUTATIONS = {
    "Mr": "Cher Monsieur",
    "Mrs": "Chère Madame",
    "Ms": "Chère Madame",
    "Miss": "Chère Mademoiselle",
    "Dr": "Cher docteur",
    "Prof": "Cher professeur",
    "Professor": "Cher professeur",
}
_DEAR_TWO = re.compile(r"Dear ([A-Z][a-z]+) (?:and|&) ([A-Z][a-z]+)(?P<end>[,:]?)")
_MAIL_HEADER = re.compile(rf"(?P<name>From|To|Cc|Bcc|Reply-To): (?P<people>[^:]*(?:\S@\S|\b{STAND_IN}\b)[^:]*)")
"""A line of an e-mail with addresses, which may have stand-ins."""
_FRENCH_HEADERS = {"From": "De", "To": "À", "Cc": "Cc", "Bcc": "Cci", "Reply-To": "Répondre à"}
_WELCOME = re.compile(r"(?P<speaker>[\w .'’-]{1,40}: )?[Yy]ou(?:['’]re| are) (?:(?:most|very) )?welcome(?P<end>[.!]*)")
"""An answer to thanks; the model would say Bienvenue."""
_FRENCH_SPEAKER = re.compile(r"[^:]{1,60}?\s?: ?")
_SOUNDS = {
    "achoo": "atchoum", "bam": "bam", "beep": "bip", "boom": "boum", "clang": "clang", "creak": "crac",
    "ding-dong": "ding-dong", "hee-haw": "hi-han", "moo": "meuh", "oink": "groin", "quack": "coin", "ribbit": "coâ",
    "splash": "plouf", "splat": "floc", "squeak": "couic", "thud": "boum", "thump": "boum", "tick-tock": "tic-tac",
    "vroom": "vroum", "whack": "vlan", "whoosh": "vlouf", "woof": "ouaf",
}  # fmt: skip
_SOUND = rf"(?:{'|'.join(_SOUNDS)})"
_SOUND_LINE = re.compile(rf"{_SOUND}(?:(?:, |! |\. |\.\.\. ){_SOUND})*[.!…]+", re.IGNORECASE)
"""A sentence of sounds: Thump. Thump!"""
_SOUND_CAPTIONS = {
    "applause": "applaudissements", "cheering": "acclamations", "coughs": "toux", "gasps": "halètements",
    "groans": "gémissements", "gunshot": "coup de feu", "gunshots": "coups de feu", "indistinct chatter": "brouhaha",
    "inaudible": "inaudible", "laughing": "rires", "laughs": "rires", "laughter": "rires", "music playing": "musique",
    "phone ringing": "sonnerie de téléphone", "phone rings": "sonnerie de téléphone", "screaming": "cris",
    "screams": "cris", "sighs": "soupir", "sobbing": "sanglots", "sobs": "sanglots", "whispering": "chuchotements",
}  # fmt: skip
_CAPTION = re.compile(r"(?P<open>[\[(])(?P<sound>[A-Za-z ]+)(?P<close>[\])])")
"""What a subtitle or a transcript says of sounds: [laughter]."""
_TO_ANYBODY = re.compile(r"to whom it may concern(?P<end>[,:.]?)", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:yours (?:sincerely|faithfully)|(?:very )?(?:sincerely|truly|faithfully) yours)(?P<end>,?)", re.I
)
"""The end of a letter. The model would add Madame or Monsieur, or say *tu*."""
_FRENCH_CLOSING = "Veuillez agréer mes salutations distinguées"


def copied_line(source: str, normalizer: Normalizer) -> bool:
    """Returns whether a line is copied: the name of a person, a postal address, an unknown word or a letter."""
    is_known = _is_person(source, normalizer) or _is_unknown_word(source) or _POSTAL.fullmatch(source) is not None
    return is_known or (len(source) == 1 and source.isalpha())


def french_line(source: str, translation: str) -> str:
    """Returns the French form of a set phrase; empty for any other text.

    Set phrases are salutations and ends of letters, the line before a quoted e-mail, who an e-mail is from and to,
    answers to thanks, short days and months alone in a line, and sounds.
    """
    return (
        _french_salutation(source)
        or _french_salutation_of_two(source)
        or _french_people(source)
        or _french_welcome(source, translation)
        or _french_closing(source)
        or _french_sounds(source)
        or french_mail_header(source)
        or french_calendar_line(source, translation)
    )


def _french_closing(source: str) -> str:
    """Returns the phrase before the signature of a formal letter; empty for any other text."""
    match = _CLOSING.fullmatch(source)
    return "" if match is None else f"{_FRENCH_CLOSING.upper() if source.isupper() else _FRENCH_CLOSING}{match['end']}"


def _french_sounds(source: str) -> str:
    """Returns the French form of a sentence of sounds, or of a caption of a sound; empty for any other text."""
    if caption := _CAPTION.fullmatch(source):
        french = _SOUND_CAPTIONS.get(caption["sound"].lower(), "")
        return f"{caption['open']}{_with_case(caption['sound'], french)}{caption['close']}" if french else ""
    if _SOUND_LINE.fullmatch(source) is None:
        return ""
    french = re.sub(_SOUND, lambda sound: _with_case(sound[0], _SOUNDS[sound[0].lower()]), source, flags=re.IGNORECASE)
    return french.replace("!", "\u202f!")


def _with_case(source: str, text: str) -> str:
    """Returns a text in capitals, or with a first one, as a source has them."""
    return text.upper() if source.isupper() else f"{text[:1].upper()}{text[1:]}" if source[0].isupper() else text


def _french_salutation(source: str) -> str:
    """Returns the salutation of a letter to one or two persons, or to whom it may concern."""
    if phrase := _TO_ANYBODY.fullmatch(source):
        french = "Madame, Monsieur," if phrase["end"] in [*",:"] else f"À qui de droit{phrase['end']}"
        return french.upper() if source.isupper() else french
    match = _SALUTATION.fullmatch(source)
    if match is None or not (match["name"] or match["name2"]):
        return ""
    title, name, second, second_name = match.group("title", "name", "title2", "name2")
    if second is None:
        return f"{_SALUTATIONS[title]} {name},"
    if (title, second, name) == ("Mr", "Mrs", None):
        return f"Chers Monsieur et Madame {second_name},"
    other = _SALUTATIONS[second]
    return f"{_SALUTATIONS[title]} {name or second_name}, {other[0].lower()}{other[1:]} {second_name},"


def _french_salutation_of_two(source: str) -> str:
    """Returns Chers for a letter to two persons by their given names, Chères if both are women's; else empty."""
    match = _DEAR_TWO.fullmatch(source)
    if match is None or not {match[1].lower(), match[2].lower()} <= {*given_names()}:
        return ""
    is_feminine = {match[1].lower(), match[2].lower()} <= feminine_names()
    return f"{'Chères' if is_feminine else 'Chers'} {match[1]} et {match[2]}{match['end'] and ','}"


def _french_people(source: str) -> str:
    """Returns the line of an e-mail that says who it is from or to; empty for any other text."""
    match = _MAIL_HEADER.fullmatch(source)
    return "" if match is None else f"{_FRENCH_HEADERS[match['name']]}\u00a0: {match['people']}"


def _french_welcome(source: str, translation: str) -> str:
    """Returns the answer to thanks, with its speaker as translated; empty for any other text."""
    match = _WELCOME.fullmatch(source)
    if match is None:
        return ""
    speaker = _FRENCH_SPEAKER.match(translation) if match["speaker"] else None
    if match["speaker"] and speaker is None:
        return ""
    end = match["end"].replace("!", "\u202f!", 1)
    return f"{speaker[0] if speaker else ''}De rien{end}"


def _is_person(text: str, normalizer: Normalizer) -> bool:
    """Returns whether a text is only a name: Jane Smith, but not Mark Complete or Olive Oil."""
    name = _PERSON.fullmatch(text)
    if name is None or name[1].lower() not in given_names() or normalizer.is_whole_word(name[1].lower()):
        return False
    last = name[2].lower()
    return name[1].lower() not in _WORD_NAMES.split() or last in _WORD_SURNAMES.split() or not _is_common_noun(last)


def _is_common_noun(word: str) -> bool:
    """Returns whether a small word may be a common noun: socket and eyes, but not kelly, which is Kelly."""
    from simplemma import lemmatize

    return is_english_word(word) and lemmatize(word, lang="en") in (word, word.removesuffix("s"))


def _is_unknown_word(text: str) -> bool:
    """Returns whether a text is one lower-case word that no dictionary has, such as the name of a program."""
    return text.isalpha() and text.islower() and not is_english_word(text)
