"""Spoken English as it is written in dialogue, in words that a model knows: "comin'" is "coming".

Contractions, dropped letters, stutters and broken-off sentences are rewritten before the model; the stutter of a first
word comes back in the translation. What people type themselves is read by informal_english.py.
"""

from __future__ import annotations

import re

from docgraph.translation.text.capitals import is_english_word

_WORDS = {
    "'cause": "because", "'cos": "because", "'em": "them", "'im": "him", "'tis": "it is", "'twas": "it was",
    "c'mon": "come on", "cap'n": "captain", "coulda": "could have", "d'ya": "do you", "d'you": "do you",
    "didja": "did you", "e'er": "ever", "gimme": "give me", "hafta": "have to", "i'ma": "I am going to",
    "i'mma": "I am going to", "lemme": "let me", "lotsa": "lots of", "lotta": "lot of", "mighta": "might have",
    "musta": "must have", "ne'er": "never", "o'er": "over", "outta": "out of", "s'pose": "suppose",
    "shoulda": "should have", "sorta": "sort of", "tryna": "trying to", "whaddaya": "what do you",
    "whaddya": "what do you", "whatcha": "what are you", "woulda": "would have", "y'all": "you all",
    "y'know": "you know", "yessir": "yes, sir",
}  # fmt: skip
_ANY_WORD = "|".join(sorted(_WORDS, key=len, reverse=True)).replace("'", "['’]")
_WORD = re.compile(rf"(?<![\w'’.@#/-])(?<!\bshoot )(?<!\bbeat )(?:{_ANY_WORD})(?![\w@/-]|['’]\w)", re.IGNORECASE)
_DROPPED_G = re.compile(r"\b([a-z]{2,})in['’](?!\w)", re.IGNORECASE)
_OF = re.compile(r"(?<=\w )o['’] ?(?=[a-z])(?! ?clock)")
_YOU = re.compile(r"(?<=[a-z,] )ya\b(?!['’-])|\bYa(?= (?:can|don['’]t|gotta|hear|know|really|see|think|wanna|want)\b)")
_DID = re.compile(r"\b(how|when|where|why)['’]d (?=(?:he|it|she|they|you) (?!feel|like|rather))", re.IGNORECASE)
_STUTTER = re.compile(
    r"(?<![\w-])(?P<sound>(?:[A-Za-z]|[Tt]h|[Ss]h|[Ww]h|[Ss]t|[Pp]l))(?:-(?P=sound))*-(?P<word>[A-Za-z]+(?:['’][a-z]+)?)",
    re.IGNORECASE,
)
_STUTTERED = """
a all am and are because but can can't come could dad daddy did didn't do doctor don't father get give go good
have he hello help her here him his how i i'll i'm i've if is it it's just kill leave left let like listen look
love maybe me mom mother mum must my need never no nobody not nothing now of oh okay one our please really right
said she should sir so someone something sorry stay stop take tell thank thanks that that's the their them then
there there's these they they're think this to wait was we we're well were what what's when where which who
who's why will with won't would yes you you're your
"""
"""Words of which a letter with a hyphen is a stutter, unlike S-shaped and D-dimer."""
_BROKEN_OFF = re.compile(r"(?<=[^\W\d_])\.?(?:—|--)$")


def written(text: str) -> str:
    """Returns an English text with spoken forms written out."""
    text = _DROPPED_G.sub(_with_g, _WORD.sub(_written_out, text))
    text = _YOU.sub(lambda match: "You" if match[0] == "Ya" else "you", _OF.sub("of ", text))
    text = _DID.sub(r"\1 did ", text)
    text = _STUTTER.sub(lambda match: _whole(match) if _is_stutter(match) else match[0], text)
    return _BROKEN_OFF.sub("...", text)


def with_stutter(source: str, translation: str) -> str:
    """Returns a translation whose first word is stuttered if that of its source is: "J-je ne sais pas"."""
    match, word = _STUTTER.match(source.lstrip("\"'“‘«-— ")), re.search(r"[^\W\d_]", translation)
    if match is None or not _is_stutter(match) or word is None or translation[word.end() : word.end() + 1] == "-":
        return translation
    return f"{translation[: word.end()]}-{word[0].lower()}{translation[word.end() :]}"


def _written_out(match: re.Match[str]) -> str:
    if _is_name(match):
        return match[0]
    text = _WORDS[match[0].lower().replace("’", "'")]
    return f"{text[0].upper()}{text[1:]}" if match[0].lstrip("'’")[0].isupper() else text


def _with_g(match: re.Match[str]) -> str:
    return f"{match[1]}ing" if _has_dropped_g(match[1].lower()) and not _is_name(match) else match[0]


def _is_name(match: re.Match[str]) -> bool:
    """Returns whether a word has a capital inside a sentence."""
    return (
        match[0].istitle()
        and re.search(r"(?:[\w,;]|\b(?:Dr|Mrs?|Ms|St)\.)\s$", match.string[: match.start()]) is not None
    )


def _has_dropped_g(stem: str) -> bool:
    """Returns whether a stem with "ing" is a word and with "in" is none."""
    return is_english_word(f"{stem}ing") and not is_english_word(f"{stem}in")


def _is_stutter(match: re.Match[str]) -> bool:
    """Returns whether a sound before a hyphen begins the common word after it."""
    sound, word = match["sound"].lower(), match["word"].lower().replace("’", "'")
    return word.startswith(sound) and word in _STUTTERED.split()


def _whole(match: re.Match[str]) -> str:
    """Returns a stuttered word with the capital of its first sound."""
    return match["word"][0].upper() + match["word"][1:] if match["sound"][0].isupper() else match["word"]
