"""Quotation marks of French dialogue: a translation has marks where its source has them.

The model turns some quotations into lines with a dash ("— Oui, dit-il.") and others into guillemets, and loses marks of
quotations over several sentences. A dash before a quotation becomes «, and missing marks are added, if their place is
certain: the beginning and the end of a sentence, and the end of the quotation before "dit-il".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_OPENING, _CLOSING = "“«„", "”»"
_SOURCE_MARK = re.compile(r'[“”„«»"]')
_DASH = re.compile(r"[—–-]\s+(?=\S)")
_INNER = re.compile(r"«\s*([^«»]*?)\s*»")
_NESTED = re.compile(r"(?<!\w)['‘]\w[^'‘’]*(?:['’]\w[^'‘’]*)*['’](?!\w)")
_MARKS = re.compile(r"[«»\"“”]")
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


class _Mark(NamedTuple):
    place: int
    opens: bool


def restore_quotes(source: str, text: str) -> str:
    """Returns a French translation of an English sentence with quotation marks where the sentence has them.

    Guillemets are inserted without the spaces that belong to them. A text whose marks cannot be placed stays.
    """
    marks = _marks(source)
    if not text or (not marks and not _MARKS.search(text)):
        return text
    starts = bool(marks) and marks[0].opens and not source[: marks[0].place].strip()
    ends = bool(marks) and not marks[-1].opens and not source[marks[-1].place + 1 :].strip(" .,;:!?…")
    if starts and (dash := _DASH.match(text)):
        return _without_dash(text[dash.end() :], source, marks, ends) or text
    count = len(_MARKS.findall(text))
    if len(marks) == 1 and (starts or ends):
        return _with_one_mark(text, starts, count, _NESTED.search(source) is not None)
    if len(marks) == 1 and not marks[0].opens and count == 0:
        return _with_closing(text, source, marks[0].place)
    if starts and ends and len(marks) == 2 and count == 0:
        return f"«{text}»"
    if starts and len(marks) == 2 and text.startswith("«") and count == 1:
        return f"{text}»" if ends else _with_closing(text, source, marks[1].place)
    if ends and len(marks) == 2 and text.count("«") == count == 1:
        return f"{text}»"
    if starts and ends and len(marks) == 4 and re.fullmatch(r"«[^«»\"]*»[^«»\"]*", text):
        return f"{_without_inner_closing(text)}»"
    return text


def _marks(source: str) -> list[_Mark]:
    """Returns the quotation marks of a source; straight ones open before a word and close after it."""
    found = list[_Mark]()
    for match in _SOURCE_MARK.finditer(source):
        before, after = source[: match.start()], source[match.end() :]
        if match[0] == '"' and before[-1:].isdigit() and not (found and found[-1].opens):
            continue  # inches
        straight_opens = (not before or before[-1] in " \u00a0([—–-") and bool(after) and not after[0].isspace()
        found.append(_Mark(match.start(), match[0] in _OPENING or (match[0] == '"' and straight_opens)))
    return found


def _without_dash(text: str, source: str, marks: list[_Mark], ends: bool) -> str:
    """Returns the text after a dash as a quotation; empty if its end is not certain."""
    if text.count("«") == text.count("»") and (ends or len(marks) == 1):
        text = _INNER.sub(r"“\1”", text)
    if len(marks) == 1:
        return f"«{text}" if not _MARKS.search(text.replace("“", "").replace("”", "")) else ""
    if "«" in text or '"' in text or _DASH.search(text, 1):
        return ""
    if ends and len(marks) in (2, 4):
        return f"«{text}" if text.endswith("»") else f"«{text.replace('»', '')}»"
    if ends or len(marks) != 2:
        return ""
    if "»" in text:
        return f"«{text}"
    closed = _with_closing(f"«{text}", source, marks[1].place)
    return closed if "»" in closed else ""


def _with_one_mark(text: str, opens: bool, count: int, is_nested: bool) -> str:
    """Returns the first or the last sentence of a longer quotation with its mark, and no other marks.

    A quotation inside it, which the source has in single marks, gets “ ”.
    """
    if count == 2 and is_nested and _INNER.search(text):
        count, text = 0, _INNER.sub(r"“\1”", text)
    if count == 0:
        return f"«{text}" if opens else f"{text}»"
    if count == 2 and text.startswith("«") and text.endswith("»"):
        return text[:-1].rstrip() if opens else text[1:].lstrip()
    return text


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


@lru_cache(1 << 12)
def _is_reporting(word: str) -> bool:
    from simplemma import lemmatize

    return word in ("fis", "fit") or str(lemmatize(word, lang="fr")) in _SPEECH.split()


def _without_inner_closing(text: str) -> str:
    """Returns a quotation that is interrupted by the clause that tells who speaks, without the marks around it."""
    return re.sub(r"\s*»", "", text)
