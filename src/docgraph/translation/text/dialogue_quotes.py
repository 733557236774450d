"""Quotation marks of French dialogue: a translation has marks where its source has them.

The model turns some quotations into lines with a dash ("— Oui, dit-il.") and others into guillemets, and loses marks of
quotations over several sentences. A dash before a quotation becomes «, and missing marks are added, if their place is
certain: the beginning and the end of a sentence, and the end of the quotation before "dit-il".
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from docgraph.annotate.inflection import lemma

_OPENING, _CLOSING = "“«„", "”»"
_SOURCE_MARK = re.compile(r'[“”„«»"]')
_SINGLE_OPENING = re.compile(
    r"(?:^|(?<=[\s(—–-]))['‘](?!(?:Tis|Twas|Twould|Em|Cause|Cos|Til)\b)(?=[A-Z])(?![A-HJ-Z]['’])"
)
_SINGLE_AGAIN = re.compile(r"(?<=[,;:] )['‘](?!(?:bout|cause|cos|em|n|round|til|tis|twas)\b)(?=[a-z])")
"""What opens the second part of a quotation: 'Alas,' he said, 'all is lost.'"""
_SINGLE_ANY = re.compile(
    r"(?:^|(?<=[\s(\[—–-]))['‘](?!(?:bout|cause|cos|em|n|round|til|tis|twas)\b)(?=\w)", re.IGNORECASE
)
"""What may open a quotation, also of single words: the growing culture of 'all-nighters.'"""
_SINGLE_CLOSING = re.compile(r"(?<=[,.!?…—-])['’](?=$|[\s)—–])")
_APOSTROPHE_AT_END = re.compile(r"(?<=\w)['’](?=$|[\s.,;:!?)])")
"""What closes a quotation of one word, or is an apostrophe: 'Yes', the boys', nothin'."""
_DASH = re.compile(r"[—–-]\s+(?=\S)")
_INNER = re.compile(r"«\s*([^«»\"]*?)\s*»|\"([^«»\"]*)\"")
_MARKS, _MARKS_LEFT, _CLOSING_MARK = re.compile(r"[«»\"“”]"), re.compile(r"[«»\"]"), re.compile(r"(?<!\s)\s*»")
_WHOLE = re.compile(r"(?:«[^«»]*»|\"[^\"]*\")[.,;]?")
_LAST_MARK = re.compile(r"(?<!\s)\s*[»\"](?=[.,;]?$)")
_CLOSED_EARLY = re.compile(r"«[^«»\"]*»[^«»\"]*")
_OPENED_TWICE = re.compile(r"«(?P<first>[^«»]*)«(?P<inner>[^«»]*)»(?P<rest>[^«»]*)")
_CLOSED_TWICE = re.compile(r"(?<=[\w.,!?…])(?:['’][,.]?|[\"”])[\"”](?!\w)")
"""The ends of a quotation and of another one inside it: 'I was lost'," she said."""
_CLITICS = r"(?:(?:me|te|se|lui|leur|nous|vous|en|y) |[mtsl]['’])*"
_INCISE = re.compile(
    r"(?P<before>,\s|[?!…]\s|\.{3}\s)"
    rf"(?P<incise>{_CLITICS}(?P<verb>[^\W\d_]+)"
    r"(?:(?:-t)?-(?:je|tu|il|elle|on|nous|vous|ils|elles)\b"
    r"| (?=(?:l[ea]|les|une?|des|mon|ma|mes|ton|ta|tes|son|sa|ses|notre|votre|leur|certains|quelqu['’]un|[A-ZÀÉÈÎ])"
    r"|l['’])| (?P<participle>[^\W\d_]+)\b(?= ))"
    r"(?: (?P<compound>[^\W\d_]+))?)"
)
"""A clause with inversion that tells who speaks: "dit-il", "demanda Marie", "ai-je dit"."""
_AUXILIARIES = frozenset({"ai", "a", "as", "avons", "avez", "ont", "avait", "avais", "avaient", "est", "sont", "suis"})
_SPEECH = """
aboyer accuser acquiescer admettre affirmer ajouter annoncer approuver articuler assurer avertir avouer bafouiller
balbutier bégayer chanter chuchoter clamer commander commenter compléter conclure confier confirmer conseiller
considérer constater continuer corriger couiner cracher crier crâner demander dire déclarer enchaîner enquérir
esclaffer exclamer exhorter exiger expliquer glapir glousser grogner grommeler gronder gémir haleter hasarder hurler
implorer indigner inquiéter insister interroger interrompre intervenir ironiser jeter jurer lancer lire marmonner
marmotter maugréer menacer mentir miauler murmurer noter objecter observer ordonner penser pester plaisanter pleurer
pleurnicher poursuivre prier promettre proposer protester préciser prévenir questionner raconter railler rappeler
reconnaître rectifier remarquer renchérir reprendre ricaner rire ronronner rugir répliquer répondre répéter
rétorquer révéler saluer sangloter siffler songer souffler souhaiter souligner soupirer sourire suggérer supplier
susurrer taquiner tonner tousser vociférer éclater écrier écrire étonner
"""
"""French verbs of speech."""


class QuoteMark(NamedTuple):
    """A quotation mark of a sentence."""

    place: int
    opens: bool


def restore_quotes(source: str, text: str) -> str:
    """Returns a French translation of an English sentence with quotation marks where the sentence has them.

    Guillemets are inserted without the spaces that belong to them. A text whose marks cannot be placed stays.
    """
    marks = quote_marks(source)
    if not text or not marks:
        return text
    starts, ends = _begins_with_quote(source, marks), _ends_with_quote(source, marks)
    dash = _DASH.match(text) if starts else None
    body = text[dash.end() :] if dash else text
    if len(marks) == starts + ends:
        return _with_outer_marks(body, starts, ends) or text
    count = len(_MARKS.findall(body))
    if dash:
        return _without_dash(body, source, marks, ends) or text
    if len(marks) == 1 and not marks[0].opens and count == 0:
        return _with_closing(text, source, marks[0].place)
    if starts and len(marks) == 2 and text.startswith("«") and count == 1:
        return _with_closing(text, source, marks[1].place)
    if ends and len(marks) == 2 and text.count("«") == count == 1:
        return f"{text}»"
    if starts and count == 3 and (opened := _OPENED_TWICE.fullmatch(text)):
        if _CLOSED_TWICE.search(source):
            return f"«{opened['first']}“{opened['inner'].strip()}”»{opened['rest']}"
        if len(marks) == 4:
            first = _with_closing(f"«{opened['first']}", source[: marks[2].place], marks[1].place)
            return f"{first}{text[opened.start('inner') - 1 :]}"
    if starts and ends and len(marks) == 4 and _CLOSED_EARLY.fullmatch(text):
        return f"{_CLOSING_MARK.sub('', text)}»"
    return text


def without_outer_quotes(source: str) -> str:
    """Returns a quotation, or the first or last sentence of a longer one, without its marks.

    The model translates it better so: with marks, it reads "Guess." as a line of narration.
    """
    marks = quote_marks(source)
    starts, ends = _begins_with_quote(source, marks), _ends_with_quote(source, marks)
    if len(marks) != starts + ends or (ends and source[-1] not in "\"”»'’"):
        return source
    return source[starts : len(source) - ends].strip()


def _begins_with_quote(source: str, marks: list[QuoteMark]) -> bool:
    return bool(marks) and marks[0].opens and not source[: marks[0].place].strip()


def _ends_with_quote(source: str, marks: list[QuoteMark]) -> bool:
    """Returns whether a closing mark is the last of a sentence, or only punctuation follows it."""
    return bool(marks) and not marks[-1].opens and not source[marks[-1].place + 1 :].strip(" .,;:!?…")


def quote_marks(source: str) -> list[QuoteMark]:
    """Returns the quotation marks of a source; straight ones open before a word and close after it.

    A source without double marks may have single ones: before a capital, and after punctuation.
    """
    found = list[QuoteMark]()
    for match in _SOURCE_MARK.finditer(source):
        before, after = source[: match.start()], source[match.end() :]
        if match[0] == '"' and before[-1:].isdigit() and not (found and found[-1].opens):
            continue  # inches
        straight_opens = (not before or before[-1] in " \u00a0([—–-") and bool(after) and not after[0].isspace()
        found.append(QuoteMark(match.start(), match[0] in _OPENING or (match[0] == '"' and straight_opens)))
    return found or _single_marks(source)


def _single_marks(source: str) -> list[QuoteMark]:
    """Returns the single quotation marks of a source that has no double ones; none if they may be apostrophes."""
    if "'" not in source and "’" not in source and "‘" not in source:
        return []
    opening = [QuoteMark(match.start(), True) for match in _SINGLE_OPENING.finditer(source)]
    if _SOURCE_MARK.search(source) or (opening and _APOSTROPHE_AT_END.search(source)):
        return []
    closing = [QuoteMark(match.start(), False) for match in _SINGLE_CLOSING.finditer(source)]
    first = closing[0].place if closing else len(source)
    again = [QuoteMark(match.start(), True) for match in _SINGLE_AGAIN.finditer(source, first)]
    found = sorted([*opening, *closing, *again])
    missed = len(_SINGLE_ANY.findall(source)) > sum(mark.opens for mark in found)
    return [] if missed or any(mark.opens == other.opens for mark, other in pairwise(found)) else found


def _with_outer_marks(text: str, starts: bool, ends: bool) -> str:
    """Returns a quotation, or the first or last sentence of a longer one, with its marks; empty if that is not certain.

    A quotation inside it gets “ ”.
    """
    if _WHOLE.fullmatch(text):
        return text if starts and ends else _LAST_MARK.sub("", text) if starts else text[1:].lstrip()
    if len(_MARKS.findall(text)) == 1:
        first, last = text[0] in '«"', _LAST_MARK.search(text) is not None
        if (first, last) == (starts, ends):
            return text
        text = _LAST_MARK.sub("", text[first:].strip())
    text = text if text.count('"') > 2 else _INNER.sub(lambda inner: f"“{inner[1] or inner[2]}”", text)
    return "" if _MARKS_LEFT.search(text) else f"{'«' * starts}{text}{'»' * ends}"


def _without_dash(text: str, source: str, marks: list[QuoteMark], ends: bool) -> str:
    """Returns the text after a dash as a quotation that is interrupted or followed by a clause; empty if uncertain."""
    if "«" in text or '"' in text or _DASH.search(text, 1):
        return ""
    if ends:
        return f"«{_CLOSING_MARK.sub('', text)}»" if len(marks) == 4 else ""
    if [mark.opens for mark in marks] == [True, False, True]:  # the next sentence goes on with the quotation
        return "" if "»" in text else f"«{text}"
    closed = text if "»" in text else _with_closing(text, source, marks[1].place)
    return f"«{closed}" if len(marks) == 2 and "»" in closed else ""


def _with_closing(text: str, source: str, place: int) -> str:
    """Returns a text with » before the clause that tells who speaks; the same text if there is none.

    Of several, the one nearest to the place of the mark in the source counts.
    """
    found = [match for match in _INCISE.finditer(text) if _is_incise(match)]
    if not found:
        return text
    expected = place / len(source) * len(text)
    match = min(found, key=lambda each: abs(each.start() - expected))
    cut = match.start("before") if match["before"].startswith(",") else match.start("incise") - 1
    return f"{text[:cut].rstrip()}»{text[cut:]}"


def _is_incise(match: re.Match[str]) -> bool:
    """Returns whether the verb of a clause with inversion is one of speech."""
    verb = match["verb"].lower()
    if verb in _AUXILIARIES:
        participle = match["participle"] or match["compound"]
        return participle is not None and _is_reporting(participle.lower())
    return match["participle"] is None and _is_reporting(verb)


def _is_reporting(word: str) -> bool:
    return word in ("fis", "fit") or lemma(word, "fr") in _SPEECH.split()
