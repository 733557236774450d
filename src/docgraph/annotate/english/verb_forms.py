"""The forms of English verbs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_IRREGULAR = """
arise arose arisen, awake awoke awoken, bear bore borne, beat beat beaten, become became become, begin began begun,
bend bent bent, bet bet bet, bind bound bound, bite bit bitten, bleed bled bled, blow blew blown, break broke broken,
breed bred bred, bring brought brought, build built built, burst burst burst, buy bought bought, cast cast cast,
catch caught caught, choose chose chosen, cling clung clung, come came come, cost cost cost, creep crept crept,
cut cut cut, deal dealt dealt, dig dug dug, do did done, draw drew drawn, drink drank drunk, drive drove driven,
eat ate eaten, fall fell fallen, feed fed fed, feel felt felt, fight fought fought, find found found, fit fit fit,
flee fled fled, fling flung flung, fly flew flown, forbid forbade forbidden, foresee foresaw foreseen,
forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got got, give gave given, go went gone,
grind ground ground, grow grew grown, hang hung hung, have had had, hear heard heard, hide hid hidden, hit hit hit,
hold held held, hurt hurt hurt, keep kept kept, kneel knelt knelt, know knew known, lay laid laid, lead led led,
leave left left, lend lent lent, let let let, lie lay lain, light lit lit, lose lost lost, make made made,
mean meant meant, meet met met, mistake mistook mistaken, overcome overcame overcome, overhear overheard overheard,
overtake overtook overtaken, pay paid paid, put put put, quit quit quit, read read read, ride rode ridden,
ring rang rung, rise rose risen, run ran run, say said said, see saw seen, seek sought sought, sell sold sold,
send sent sent, set set set, shake shook shaken, shed shed shed, shine shone shone, shoot shot shot, show showed shown,
shrink shrank shrunk, shut shut shut, sing sang sung, sink sank sunk, sit sat sat, sleep slept slept, slide slid slid,
speak spoke spoken, speed sped sped, spend spent spent, spin spun spun, split split split, spread spread spread,
spring sprang sprung, stand stood stood, steal stole stolen, stick stuck stuck, sting stung stung, stink stank stunk,
strike struck struck, strive strove striven, swear swore sworn, sweep swept swept, swim swam swum, swing swung swung,
take took taken, teach taught taught, tear tore torn, tell told told, think thought thought, throw threw thrown,
undergo underwent undergone, understand understood understood, undertake undertook undertaken, undo undid undone,
upset upset upset, wake woke woken, wear wore worn, weep wept wept, win won won, wind wound wound,
withdraw withdrew withdrawn, withstand withstood withstood, wring wrung wrung, write wrote written
"""
_DOUBLED = frozenset(
    [
        *("admit", "commit", "compel", "control", "equip", "forget", "occur", "omit", "permit", "prefer", "quit"),
        *("refer", "regret", "submit", "transfer"),
    ]
)
"""Verbs of several syllables that double their last consonant."""
_ONE_SYLLABLE = re.compile(r"[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]")


@dataclass(frozen=True)
class VerbForms:
    """The five forms of a verb: call, calls, called, called, calling."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str


@cache
def verb_forms(verb: str) -> VerbForms:
    """Returns the forms of a verb, given its base form. For "be", of which there are more, those with "he"."""
    if verb == "be":
        return VerbForms("be", "is", "was", "been", "being")
    past, participle = _irregular().get(verb, (_past(verb),) * 2)
    return VerbForms(verb, _third(verb), past, participle, _gerund(verb))


@cache
def _irregular() -> dict[str, tuple[str, str]]:
    verbs = (forms.split() for forms in _IRREGULAR.split(","))
    return {base: (past, participle) for base, past, participle in verbs}


def _third(verb: str) -> str:
    if verb == "have":
        return "has"
    if re.search(r"(?:[sxz]|ch|sh|[^o]o)$", verb):
        return verb + "es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", verb) + "s"


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    return re.sub(r"(?<=[^aeiou])y$", "i", _doubled(verb)) + "ed"


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if re.search(r"[^eoy]e$", verb):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def _doubled(verb: str) -> str:
    """Returns a verb with its last consonant doubled if endings ask for that."""
    return verb + verb[-1] if verb in _DOUBLED or _ONE_SYLLABLE.fullmatch(verb) else verb
