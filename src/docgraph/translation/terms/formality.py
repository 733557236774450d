"""Formality: a document addresses people formally (French *vous*) or informally (*tu*), the same way throughout.

The formality of a document is chosen by the user, or decided once from its known translations and the first
translations by the model (`decide`). A sentence with the other formality is decoded again without the words of that
formality (`forbidden_words`), and is replaced if the new translation is almost as likely.

A sentence that addresses several people keeps its *vous*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, get_args

from docgraph.annotate.inflection import lemma
from docgraph.errors import DocgraphError
from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.checks.lexicon import lexicon
from docgraph.translation.decoding.forbidden_words import ForbiddenWords

Formality = Literal["informal", "formal"]
FormalityOption = Literal["auto", "formal", "informal", "any"]
FORMALITY_OPTIONS: tuple[FormalityOption, ...] = get_args(FormalityOption)

MAX_LOSS, MAX_LOSS_CHOSEN = 0.5, 2.0
"""Maximum loss of score if the formality is the model's own choice, and if it is the user's."""
_WORD_WEIGHT, _MARGIN = 2, 1 / 3
"""Weight of a word of the source beside that of a translation, and minimum difference as a share of all weights."""

PRONOUNS: dict[Formality, frozenset[str]] = {
    "informal": frozenset({"tu", "te", "t'", "toi", "toi-même"}),
    "formal": frozenset({"vous", "vous-même", "vous-mêmes"}),
}
POSSESSIVES: dict[Formality, frozenset[str]] = {
    "informal": frozenset({"ton", "ta", "tes", "tien", "tienne", "tiennes"}),
    "formal": frozenset({"votre", "vos", "vôtre", "vôtres"}),
}
_VERBS: dict[Formality, frozenset[str]] = {
    "informal": frozenset({"as", "es", "vas"}),
    "formal": frozenset({"êtes", "faites", "dites"}),
}
"""Irregular verbs that are forbidden besides the pronouns, so that no row of a search ends in "Êtes-" before "vous"."""
_SET_PHRASES = (
    ("comment allez-vous", "comment vas-tu"),
    ("excusez-moi", "excuse-moi"),
    ("je vous en prie", "je t'en prie"),
    ("je vous remercie", "je te remercie"),
    ("pardonnez-moi", "pardonne-moi"),
    ("s'il vous plaît", "s'il te plaît"),
)
"""(formal, informal) phrases that differ in nothing else."""
_ENDING = "ez"
_NO_VERBS = ("assez", "chez", "nez", "rez", "rendez", "rendez-vous", "garde-à-vous")
_TOKEN = re.compile(r"(?:toi|vous)-mêmes?|\w+['’]|\w+|\s+|[^\w\s]")
_NOT_ADDRESSED = re.compile(
    r"\b(?:rendez-vous|garde-à-vous|vis-à-vis|(?:le|un|du|ce|au|son|mon|quel|même|seul|bon) ton\b)", re.IGNORECASE
)
"""Nouns that look like forms of address."""
_FIRST_WORD = re.compile(r"(?:^|[.!?…:]\s|[«\"“(])\W*(\w+)")
_YOU = re.compile(r"\b(?:you|your|yours|yourself|yourselves|thou|thee|thy|ye)\b", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\b(?:yourselves|y['’]all"
    r"|you (?:all|both|two|three|four|guys|lot|people|folks|fools|men|boys|girls|children|kids|gentlemen|ladies)"
    r"|(?:all|any|both|each|either|few|half|many|most|neither|none|one|several|some|two|three) of you"
    r"|ladies and gentlemen)\b"
    r"|(?:^|[,.!?…:\"“”]\s*)(?:(?:and|my|dear|good|brave|fellow|old|you) )*(?:all|boys|brothers|children|citizens"
    r"|colleagues|comrades|everybody|everyone|fellows|folks|friends|gentlemen|girls|guys|kids|ladies|lads|men|people"
    r"|sisters|soldiers|students|warriors)(?=\s*[,.!?…:;\"”—–-]|$)",
    re.IGNORECASE,
)
"""What an English sentence that addresses several people has: "both of you", or a plural noun as a form of address."""


_FORMAL_WORDS = re.compile(
    r"\b(?:sir|madam|ma['’]am|mr|mrs|ms|miss|doctor|dr|captain|officer|inspector|professor|please|would you|may i"
    r"|sincerely|faithfully|customers?|my l(?:ord|ady)|your (?:excellency|grace|highness|honou?r|lordship|majesty))\b",
    re.IGNORECASE,
)
_INFORMAL_WORDS = re.compile(
    r"\b(?:hey|hi|yeah|ok|okay|come on|shut up|gonna|wanna|dad|daddy|mom|mommy|mum|mummy|mama|papa|grandma|grandpa"
    r"|granny|granddad|uncle|aunt|auntie|honey|sweetheart|darling|buddy|dude|mate|bro|sis|kid|kiddo|pal|silly|stupid"
    r"|idiot|thou|thee|thy|love you|my (?:son|child|boy|girl|friend|love|dear)|little (?:one|brother|sister))\b",
    re.IGNORECASE,
)
"""English words beside which people are mostly addressed formally or informally."""


def has_forms(languages: tuple[str, str] | None) -> bool:
    """Returns whether the forms of address of a target language are known."""
    return languages is not None and languages[1] == "fr"


def check_option(option: FormalityOption, languages: tuple[str, str] | None) -> None:
    """Raises an error if an option asks for forms that are not known."""
    if option != "any" and not has_forms(languages):
        target = "an unknown language" if languages is None else f"'{languages[1]}'"
        raise DocgraphError(
            f"the forms of formal and informal address are known for French only, not for {target}; leave out formality"
        )


def tokens(text: str) -> list[str]:
    """Returns words, spaces and punctuation marks; joined, they are the text."""
    return _TOKEN.findall(text)


def role(token: str, formality: Formality) -> str | None:
    """Returns whether a French word is a "pronoun" or a "possessive" of a formality; None if it is neither."""
    word = token.lower().replace("’", "'")
    if word in PRONOUNS[formality]:
        return "pronoun"
    return "possessive" if word in POSSESSIVES[formality] else None


def formality_of(text: str) -> Formality | None:
    """Returns the formality of a French sentence; None if it has none or both.

    Formal are pronouns, possessives and verbs in -ez, informal are pronouns and possessives: imperatives such as
    "regarde" are also forms of the third person.
    """
    informal, formal = _has(text, "informal"), _has(text, "formal")
    return None if informal == formal else "informal" if informal else "formal"


def _has(text: str, formality: Formality) -> bool:
    """Returns whether a French sentence has words of a formality."""
    if _count(text, formality):
        return True
    return formality == "formal" and any(map(_is_formal_verb, tokens(text.lower())))


def _count(text: str, formality: Formality) -> int:
    """Returns the number of pronouns and possessives of a formality."""
    return sum(role(token, formality) is not None for token in tokens(_NOT_ADDRESSED.sub(" ", text)))


@lru_cache(1 << 14)
def _is_formal_verb(word: str) -> bool:
    """Returns whether a word is a verb in the second person plural, as far as its ending shows."""
    if word == "êtes":
        return True
    if not word.endswith(_ENDING) or word in _NO_VERBS:
        return False
    return lemma(word, "fr").endswith(("er", "ir", "re"))


def with_set_phrases(text: str, formality: Formality) -> str:
    """Returns a French text whose set phrases have a formality."""
    pattern, phrases = _set_phrases(formality)

    def other(match: re.Match[str]) -> str:
        phrase = phrases[match[0].lower().replace("’", "'")]
        return phrase[0].upper() + phrase[1:] if match[0][0].isupper() else phrase

    return pattern.sub(other, text)


@cache
def _set_phrases(formality: Formality) -> tuple[re.Pattern[str], dict[str, str]]:
    """Returns a pattern of the set phrases of the other formality, and those of `formality` by them."""
    phrases = dict(pair if formality == "informal" else pair[::-1] for pair in _SET_PHRASES)
    either = "|".join(map(re.escape, phrases)).replace("'", "['’]")
    return re.compile(rf"(?<![\w'’-])(?:{either})(?![\w-])", re.IGNORECASE), phrases


def imperatives(text: str) -> frozenset[str]:
    """Returns first words of French sentences that look like informal imperatives, in lower case: "fais"."""
    return frozenset(word for match in _FIRST_WORD.finditer(text.lower()) if _is_imperative(word := match[1]))


@lru_cache(1 << 14)
def _is_imperative(word: str) -> bool:
    """Returns whether a first word may be an informal imperative."""
    if word in ("aie", "sache", "va", "veuille"):
        return True
    is_form = word.endswith(("e", "s")) and not word.endswith("ons")  # "allons" is not informal
    return is_form and lemma(word, "fr") != word and lemma(word, "fr").endswith(("er", "ir", "re"))


def _is_known(word: str) -> bool:
    """Returns whether a French word is in the dictionary; punctuation, and words with an apostrophe, are."""
    is_listed = lexicon("fr")
    return not word.isalpha() or is_listed is None or is_listed(word)


def has_you(source: str) -> bool:
    """Returns whether an English sentence has a form of *you*."""
    return _YOU.search(source) is not None


def is_plural(source: str) -> bool:
    """Returns whether an English sentence may address several people."""
    return _SEVERAL.search(source) is not None


def forbidden_words(
    coder: SubwordCoder, formality: Formality, exceptional: frozenset[str] = frozenset()
) -> ForbiddenWords:
    """Returns the French words of a formality as forbidden ones, given what `exceptional_words` returns."""
    words = PRONOUNS[formality] | POSSESSIVES[formality] | _VERBS[formality]
    if formality == "informal":
        return ForbiddenWords(coder, words | exceptional)
    return ForbiddenWords(coder, words, _ENDING, exceptional.union(_NO_VERBS))


def exceptional_words(formality: Formality, source: str, translation: str) -> frozenset[str]:
    """Returns words that are forbidden, or allowed, in another translation of one sentence without a formality.

    Without the informal one, its imperatives are forbidden. Without the formal one, names in -ez are allowed.
    """
    if formality == "informal":
        return imperatives(translation)
    return frozenset(word for word in tokens(source.lower()) if word.endswith(_ENDING))


@dataclass(frozen=True)
class Sample:
    """A sentence of a document and its translation, by the model or the user."""

    source: str
    translation: str
    given: bool = False
    """True for a translation supplied by the user."""


@dataclass(frozen=True)
class DocumentFormality:
    """The formality of a document, and how much it may cost."""

    formality: Formality
    max_loss: float
    """Maximum difference of the scores of the best translation and of one with this formality."""

    @property
    def other(self) -> Formality:
        """The formality that the document does not have."""
        return "formal" if self.formality == "informal" else "informal"

    def applies(self, source: str) -> bool:
        """Returns whether the formality concerns a sentence: *vous* is right for several people."""
        return self.formality == "formal" or not is_plural(source)

    def disagrees(self, source: str, translation: str) -> bool:
        """Returns whether a translation has words of the other formality, also if it has both."""
        return _has(translation, self.other) and self.applies(source)

    def accepts(self, source: str, before: str, after: str) -> bool:
        """Returns whether a translation may replace `before`, which has words of the other formality.

        It must not lose the address or address anybody else, because the subject of another verb must not become *tu*.
        It must not keep informal imperatives, and its new words must be in the dictionary or in the source.
        """
        addressed, now = _count(before, self.other) + _count(before, self.formality), _count(after, self.formality)
        if _has(after, self.other) or not (0 < now <= addressed if addressed else now == 0):
            return False
        words = {*tokens(after.lower())}
        if self.formality == "formal" and words & imperatives(before):
            return False
        return all(map(_is_known, words - {*tokens(before.lower())} - {*tokens(source.lower())}))


def decide(option: FormalityOption, samples: Iterable[Sample]) -> DocumentFormality | None:
    """Returns the formality of a document, given its translation so far; None if it is not decided.

    Known translations decide, if more of them have one formality than the other. Otherwise, every translation by the
    model with a formality counts, and twice a word in its source that tells it; the difference must be a third of all.
    """
    if option == "any":
        return None
    if option != "auto":
        return DocumentFormality(option, MAX_LOSS_CHOSEN)
    given, own, total = 0, 0, 0
    for sample in samples:
        found = formality_of(sample.translation)
        if found is None or is_plural(sample.source):
            continue
        sign = 1 if found == "formal" else -1
        if sample.given:
            given += sign
            continue
        titles, names = (len(pattern.findall(sample.source)) for pattern in (_FORMAL_WORDS, _INFORMAL_WORDS))
        own += sign + _WORD_WEIGHT * (titles - names)
        total += 1 + _WORD_WEIGHT * (titles + names)
    if given:
        return DocumentFormality("formal" if given > 0 else "informal", MAX_LOSS_CHOSEN)
    if own == 0 or abs(own) < _MARGIN * total:
        return None
    return DocumentFormality("formal" if own > 0 else "informal", MAX_LOSS)


def is_mixed(samples: Iterable[Sample]) -> bool:
    """Returns whether translations address one person both ways; sentences that address several do not count."""
    texts = [sample.translation for sample in samples if not is_plural(sample.source)]
    return all(any(_has(text, formality) for text in texts) for formality in PRONOUNS)


def balance(samples: Iterable[Sample]) -> int:
    """Returns the number of formal words less that of informal ones, and twice as much for words of the source."""
    found = 0
    for sample in samples:
        if not is_plural(sample.source):
            titles, names = (len(pattern.findall(sample.source)) for pattern in (_FORMAL_WORDS, _INFORMAL_WORDS))
            found += _strength(sample.translation, "formal") - _strength(sample.translation, "informal")
            found += _WORD_WEIGHT * (titles - names)
    return found


def by_balance(value: int) -> DocumentFormality:
    """Returns the formality that a balance stands for; in case of doubt formal, which is right for several people."""
    return DocumentFormality("formal" if value >= 0 else "informal", MAX_LOSS)


def _strength(text: str, formality: Formality) -> int:
    """Returns the number of words of a formality, with verbs."""
    verbs = sum(map(_is_formal_verb, tokens(text.lower()))) if formality == "formal" else 0
    return _count(text, formality) + verbs
