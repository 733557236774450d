"""Conjugated French verbs, and English verb forms, for written training sentences."""

from __future__ import annotations

import re
from typing import NamedTuple

VOWELS = "aeiouyhàâéèêëîïôûœ"
"""First letters before which words elide; the verbs here have no aspirated h."""
_IRREGULAR = """
prendre prends prend prenons prennent prendr pris
comprendre comprends comprend comprenons comprennent comprendr compris
mettre mets met mettons mettent mettr mis
remettre remets remet remettons remettent remettr remis
promettre promets promet promettons promettent promettr promis
lire lis lit lisons lisent lir lu
écrire écris écrit écrivons écrivent écrir écrit
réécrire réécris réécrit réécrivons réécrivent réécrir réécrit
décrire décris décrit décrivons décrivent décrir décrit
voir vois voit voyons voient verr vu
ouvrir ouvre ouvre ouvrons ouvrent ouvrir ouvert
couvrir couvre couvre couvrons couvrent couvrir couvert
découvrir découvre découvre découvrons découvrent découvrir découvert
offrir offre offre offrons offrent offrir offert
accueillir accueille accueille accueillons accueillent accueiller accueilli
concevoir conçois conçoit concevons conçoivent concevr conçu
surprendre surprends surprend surprenons surprennent surprendr surpris
décevoir déçois déçoit décevons déçoivent décevr déçu
tenir tiens tient tenons tiennent tiendr tenu
soutenir soutiens soutient soutenons soutiennent soutiendr soutenu
connaître connais connaît connaissons connaissent connaîtr connu
reconnaître reconnais reconnaît reconnaissons reconnaissent reconnaîtr reconnu
conduire conduis conduit conduisons conduisent conduir conduit
construire construis construit construisons construisent construir construit
détruire détruis détruit détruisons détruisent détruir détruit
produire produis produit produisons produisent produir produit
traduire traduis traduit traduisons traduisent traduir traduit
suivre suis suit suivons suivent suivr suivi
boire bois boit buvons boivent boir bu
peindre peins peint peignons peignent peindr peint
éteindre éteins éteint éteignons éteignent éteindr éteint
résoudre résous résout résolvons résolvent résoudr résolu
envoyer envoie envoie envoyons envoient enverr envoyé
avoir ai a avons ont aur eu
"""
"""Infinitive; je, il, nous, ils of the present; stem of the future; participle."""
_ENDINGS = {
    "imperfect": ("ais", "ais", "ait", "ions", "iez", "aient"),
    "future": ("ai", "as", "a", "ons", "ez", "ont"),
}


class Verb(NamedTuple):
    """The forms of a French verb; persons are numbered from 0 (je) to 5 (ils)."""

    infinitive: str
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    future: tuple[str, ...]
    conditional: tuple[str, ...]
    participle: str

    def imperative(self, person: int) -> str:
        """Returns the imperative of tu (1), nous (3) or vous (4)."""
        form = self.present[person]
        return form.removesuffix("s") if person == 1 and form.endswith("es") else form


def conjugate(infinitive: str) -> Verb:
    """Returns the forms of a regular verb in -er, -ir or -re, or of a known irregular one."""
    known = {line.split()[0]: line.split()[1:] for line in _IRREGULAR.strip().splitlines()}
    je, il, nous, ils, future, participle = known.get(infinitive) or _regular(infinitive)
    tu = je if je.endswith("s") else "as" if je == "ai" else je + "s"
    vous = re.sub(r"(ge|ç)$", lambda end: {"ge": "g", "ç": "c"}[end.group()], nous.removesuffix("ons")) + "ez"
    stems = (nous.removesuffix("ons"), vous.removesuffix("ez"))
    imperfect = tuple(stems[person in (3, 4)] + ending for person, ending in enumerate(_ENDINGS["imperfect"]))
    return Verb(
        infinitive,
        (je, tu, il, nous, vous, ils),
        imperfect,
        tuple(future + ending for ending in _ENDINGS["future"]),
        tuple(future + ending for ending in _ENDINGS["imperfect"]),
        participle,
    )


def _regular(infinitive: str) -> list[str]:
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "ir":
        return [f"{stem}is", f"{stem}it", f"{stem}issons", f"{stem}issent", infinitive, f"{stem}i"]
    if ending == "re":
        return [f"{stem}s", stem, f"{stem}ons", f"{stem}ent", infinitive[:-1], f"{stem}u"]
    strong, future, weak = stem, infinitive, stem
    if stem.endswith("y"):
        strong = stem[:-1] + "i"
        future = strong + "er"
    elif stem.endswith(("jet", "appel")):
        strong = stem + stem[-1]
        future = strong + "er"
    elif changed := re.fullmatch(r"(.*)e([^aeiouéèy])", stem):
        strong = f"{changed[1]}è{changed[2]}"
        future = strong + "er"
    elif changed := re.fullmatch(r"(.*)é([^aeiouéèy]|g|tr|gl)", stem):
        strong = f"{changed[1]}è{changed[2]}"
    weak = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
    return [f"{strong}e", f"{strong}e", f"{weak}ons", f"{strong}ent", future, f"{stem}é"]


def agree(participle: str, feminine: bool, plural: bool) -> str:
    """Returns a participle, given in the masculine singular, in a gender and number."""
    if feminine:
        participle += "e"
    return participle + ("s" if plural and not participle.endswith(("s", "x")) else "")


def join(*words: str) -> str:
    """Returns words joined by spaces; those marked by "~" elide before a vowel (je~ ai -> j'ai)."""
    text = " ".join(word for word in words if word)
    text = re.sub(rf"(?<=\w)[aeiou]~ (?=[{VOWELS}])", "'", text, flags=re.IGNORECASE)
    return text.replace("~", "")


def third_person(base: str) -> str:
    """Returns the third person singular of an English verb, with its particle if any."""
    verb, _, particle = base.partition(" ")
    if verb == "have":
        form = "has"
    elif re.search(r"(s|sh|ch|x|z|o)$", verb):
        form = verb + "es"
    else:
        form = re.sub(r"(?<=[^aeiou])y$", "ie", verb) + "s"
    return f"{form} {particle}".strip()


def gerund(base: str) -> str:
    """Returns the -ing form of an English verb, with its particle if any."""
    verb, _, particle = base.partition(" ")
    if verb in ("forget", "prefer", "control", "cancel") or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", verb):
        form = verb + verb[-1] + "ing"
    else:
        form = re.sub(r"(?<=[^eo])e$", "", verb) + "ing"
    return f"{form} {particle}".strip()
