"""Lost negation: "not" in the source, and nothing negative in the translation.

The word lists err on the side of silence: a translation may say "forgot" for "did not remember", so that words with a
negative meaning count as negation, too. Only English to French is supported.
"""

from __future__ import annotations

import re

_IDIOM = re.compile(
    r"\bnot (?:only|just|merely|simply|to mention|until|till|unless|infrequently|seldom|rarely|unlike|least)\b"
    r"|\b(?:whether|if|or|why) not\b|\b(?:can(?:not|'t| not)|could(?:n't| not)) (?:but|help)\b|\bnothing (?:but|less)\b"
    r"|\bdo(?:es)?n't mind\b|\bnot too\b|\bno(?:t|thing)(?: \w+)? (?:but|except)\b|\bwhy (?:do|does|did)n't\b"
    r"|\bnever (?:mind|fear)\b|\bdon't (?:worry|forget|fail|miss|hesitate)\b"
    r"|[,;] (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|wo|ca)"
    r"(?:n't \w+| not \w+| \w+ not)\s?\?",
    re.IGNORECASE,
)
"""Negation that a translation may express without any: tag questions, "not only", "not until"."""
_SOURCE = re.compile(r"\b(?:not|cannot|never|nobody|nothing|nowhere|neither|without)\b|n't\b", re.IGNORECASE)
_TARGET = re.compile(
    r"\b(?:ne|n['’]\w+|pas|point|non|sans|ni|jamais|aucun\w*|rien|personne|nul|nulle|nuls|nulles|nullement|guère|nenni"
    r"|peu|peine|moins|faux|fausse|hors|hormis|sauf|excepté|sinon|ailleurs|autre\w*|trop|plutôt|seul\w*|contre"
    r"|contraire\w*|différe\w+|dépourv\w+|dénué\w*|priv[éeè]\w*|exempt\w*|absen\w+|défaut|défen\w+|faute|manqu\w+"
    r"|refus\w+|interdi\w+|ignor\w+|oubli\w+|empêch\w+|évit\w+|cess\w+|abst\w+|échou\w+|échec\w*|rat[eé]\w*|perd\w*"
    r"|renonc\w+|rar\w+|loin|difficile\w*|néga\w+|garde\w*|sauriez|dout\w+|abri|insu|passer\w*|cach\w+"
    r"|(?:in|im|ir|mal|mé|dés)\w{4,})\b",
    re.IGNORECASE,
)
"""Negation and words of negative meaning, with prefixes such as "in-" (inconnu, impossible)."""


def loses_negation(source: str, translation: str, languages: tuple[str, str] | None) -> bool:
    """Returns whether the source is negated and the translation is not; False for unknown languages."""
    if languages != ("en", "fr"):
        return False
    source = _IDIOM.sub(" ", source.replace("’", "'"))
    return _SOURCE.search(source) is not None and _TARGET.search(translation) is None
