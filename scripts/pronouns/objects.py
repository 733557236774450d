"""Pairs of a corpus whose *it* or *them* is an object, and pairs whose *it* refers to nothing.

The French of an object pair has one object pronoun (le, la, l', les). Together with a participle that agrees with it,
it is put into both genders, so that only the hint decides. The subject, often a person, stays as it is. Pairs with an
impersonal *it* have a hint without effect, as a wrong link gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pronouns.conjugation import agree
from pronouns.french import AGREES_ELSEWHERE, Gender, Lexicon
from pronouns.pairs import IMPERSONAL, MAX_LENGTH, PLEONASTIC, Written
from pronouns.vocabulary import read_actions

MAX_OBJECT_LENGTH = 120
"""Characters of the longest source sentence with an object: a longer one may have another object pronoun in French."""
_PERSON = re.compile(r"\b(?:him|her)\b", re.IGNORECASE)
_HINTED = re.compile(r"\b(it|they|them|its|their|itself|themselves|theirs|ones?|both)\b", re.IGNORECASE)
_AFTER_OBJECT = """
to from in on at for with by away up down out off back over again now yesterday tomorrow today tonight
and but or when before after if because as very so too myself yourself himself herself ourselves right here there home
until since last next this without every into like soon once already anymore then than more better well either
immediately together carefully first later inside outside aside through under behind yet just often always
"""
_OBJECT = re.compile(rf"\b(it|them)\b(?=\W*$|\s*[.,;:!?]|\s+(?:{'|'.join(_AFTER_OBJECT.split())})\b)", re.IGNORECASE)
_BEFORE_SUBJECT = re.compile(
    r"\b(?:and|but|or|if|when|that|because|as|so|than|then|while|though|since|until|is|was|are|were|how|what|who|why|where"
    r"|think|believe|hope|suppose|guess|of|about|like|do|does|did|done|doing|make|made|feel|leave|say|said)\s+(?:it|them)\b",
    re.IGNORECASE,
)
_NOUN_BEFORE = re.compile(
    r"\b(?:the|an?|this|that|these|those|my|your|his|its|our|their|some|any|no|every|each|one|two|three|which|what|"
    r"another|other|all|both|many|much|most|few|something|anything|everything|nothing)\b",
    re.IGNORECASE,
)
_SUBJECTS = r"(?:je|tu|il|elle|on|nous|vous|ils|elles|ne|qui|me|te)"
_MODALS = (
    r"(?:peux|peut|pouvons|pouvez|peuvent|veux|veut|voulons|voulez|veulent|dois|doit|devons|devez|doivent|vais|vas|va|"
    r"allons|allez|vont|pourrais|pourrait|pourriez|pourrions|devrais|devrait|devriez|devrions|devraient|voulais|voulait|"
    r"pouvais|pouvait|allais|allait|dû|pu|voulu|faut|aimerais|aimerait|pas|plus|de|à|pour|sans|puis-je|peux-tu|"
    r"pouvez-vous|veux-tu|voulez-vous|fallait|faudra|devais|devait|laisse-moi|laissez-moi)"
)
_CLITIC = re.compile(rf"\b{_SUBJECTS} (le\b|la\b|les\b|l['’])\s?(?=([a-zà-ÿœ]+))", re.IGNORECASE)
_BEFORE_INFINITIVE = re.compile(rf"\b{_MODALS} (le\b|la\b|les\b|l['’])\s?(?=([a-zà-ÿœ]+)\b)", re.IGNORECASE)
_AFTER_ORDER = re.compile(r"(?<=[a-zà-ÿ])-(le|la|les)(?=([ .!,-]))", re.IGNORECASE)
_OTHER_CLITIC = re.compile(r"\b(?:l['’](?:ai|as|a|avons|avez|ont|avai\w+|aur\w+)\b|celui|celle|ceux|cela|ça)")
_CLAUSE_VERBS = re.compile(
    r"(?:sai|sav|su\b|sus|sût|dis|dit|dir|dîmes|pens|croi|cru|croy|fai|fer|fit|fis|peu|pu\b|pou[rv]|veu|vou[ld]|doi|dev|"
    r"est\b|suis\b|sommes|êtes|sont|étai|ser[aio]|fut|être|regrett|désir|reproch|résign|conç|jur|prom|esp[éè]r|sent|compr|montr|prouv|assur|mérit|"
    r"demand|expliqu|adm|avou|imagin|suppos|remarqu|perm|souhait|oubli|racont|rép[éè]t|crai|ignor|enten|rappel|appr|"
    r"garanti|préf[éè]r|sugg[éè]r|jug|trouv|rend|laiss|gard|tien|ten|nomm|app|aper|vis\b|vit\b|vois|fall|faud|affirm|confirm|"
    r"répond|soupçonn|devin|reconn|expr|not|nie|nia|voi[rtsx]\b|fus)",
    re.IGNORECASE,
)
"""Verbs whose object can be a clause, so that le means *that*, or whose object has a complement that agrees."""
_AUXILIARY = re.compile(
    r"(?:ai|as|a|avons|avez|ont|avai\w+|avi(?:ons|ez)|aur\w+|eus|eut|eurent|ait|aies?|aient|ayons|ayez|eût)$"
)
_ADVERBS = (
    r"(?:(?:pas|plus|jamais|déjà|encore|toujours|bien|vraiment|tous?|même|peut-être|enfin|juste|-t-elle|-t-il) )*"
)
_PARTICIPLE = re.compile(
    rf"(?:ai|as|a|avons|avez|ont|avai\w+|avi(?:ons|ez)|aur\w+|eus|eut|eurent|aie?s?|ait|aient|ayons|ayez|eût)"
    rf"(?:-t-il|-t-elle|-t-on|-tu|-vous|-nous|-je|-ils|-elles)? {_ADVERBS}([a-zà-ÿœ]+)\b"
    r"(?!-| [a-zà-ÿœ]+(?:er|ir|re|oir)\b)"
)
_INVARIABLE = frozenset(
    {"fait", "laissé", "pu", "dû", "voulu", "su", "été", "eu", "vu", "entendu", "fallu", "cru", "dit"}
)
_MASCULINE = re.compile(r"(?:é|i|u|is|it|ert|int)$")


def find_objects(pairs: Iterable[tuple[str, str]], lexicon: Lexicon) -> Iterator[Written]:
    """Yields the pairs whose one object pronoun renders *it* or *them*, in both genders."""
    infinitives = frozenset(action.french.infinitive for action in read_actions())
    for source, target in pairs:
        hinted = [word.lower() for word in _HINTED.findall(source)]
        found = _OBJECT.search(source) if hinted in (["it"], ["them"]) and len(source) <= MAX_OBJECT_LENGTH else None
        if found is None or _BEFORE_SUBJECT.search(source) or (_PERSON.search(source) and "lui" not in target.split()):
            continue
        texts = in_both_genders(target, hinted == ["them"], lexicon, infinitives)
        if texts is None:
            continue
        alone = not _NOUN_BEFORE.search(source[: found.start()])
        masculine, feminine = (text if alone or text == target else None for text in texts)
        if masculine is not None or feminine is not None:
            yield Written("object, found", source, (masculine, feminine), hinted[0], hinted == ["them"])


def in_both_genders(target: str, plural: bool, lexicon: Lexicon, infinitives: frozenset[str]) -> tuple[str, str] | None:
    """Returns a French sentence with its object pronoun in the masculine and in the feminine, or None if unsure."""
    places = [*_CLITIC.finditer(target), *_AFTER_ORDER.finditer(target)]
    places += [place for place in _BEFORE_INFINITIVE.finditer(target) if place[2] in infinitives]
    places = list({place.start(1): place for place in places}.values())
    if len(places) != 1 or AGREES_ELSEWHERE.search(target):
        return None
    pronoun, following = places[0][1].lower(), places[0][2]
    before, after = target[: places[0].start(1)], target[places[0].end(1) :]
    if (pronoun == "les") != plural or _OTHER_CLITIC.search(before + after):
        return None
    if _CLAUSE_VERBS.match(before.split()[-1] if following in " .!,-" else following):
        return None
    texts = []
    genders: tuple[Gender, Gender] = ("m", "f")
    for gender in genders:
        rest = _with_participle(after.lstrip(), gender, plural, lexicon) if _AUXILIARY.match(following) else after
        if rest is None:
            return None
        new = pronoun if pronoun not in ("le", "la") else "la" if gender == "f" else "le"
        texts.append(before + new + (after[: len(after) - len(after.lstrip())] if rest is not after else "") + rest)
    return texts[0], texts[1]


def _with_participle(after: str, gender: Gender, plural: bool, lexicon: Lexicon) -> str | None:
    """Returns the auxiliary and what follows it, with the participle in a gender; None if there is no participle."""
    found = _PARTICIPLE.match(after)
    if found is None or found[1] in _INVARIABLE or _CLAUSE_VERBS.match(found[1]):
        return None
    base = _masculine(found[1], plural, lexicon)
    if base is None:
        return None
    return after[: found.start(1)] + agree(base, gender == "f", plural) + after[found.end(1) :]


def _masculine(participle: str, plural: bool, lexicon: Lexicon) -> str | None:
    """Returns the masculine singular of a participle that agrees with an object, or None if unknown."""
    for ending in ("es", "s", "") if plural else ("e", ""):
        base = participle.removesuffix(ending)
        known = _MASCULINE.search(base) and lexicon.exists(base) and lexicon.exists(agree(base, True, False))
        if known and participle in (agree(base, False, plural), agree(base, True, plural)):
            return base
    return None


def find_impersonal(pairs: Iterable[tuple[str, str]]) -> Iterator[Written]:
    """Yields pairs whose one *it* and il are impersonal; a hint has no effect there."""
    for source, target in pairs:
        if [word.lower() for word in _HINTED.findall(source)] != ["it"] or len(source) > MAX_LENGTH:
            continue
        if PLEONASTIC.search(source) and IMPERSONAL.search(target) and not re.search(r"\belles?\b", target):
            yield Written("impersonal", source, (target, target), "it", plural=False)
