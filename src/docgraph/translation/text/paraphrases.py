"""English idioms in plain words: "He passed in front of other people" for "He jumped the queue".

A small model translates idioms word by word, and plain English well. An embedded table has one idiom per line: a
class, the idiom, and what replaces it:

    v<TAB>call it a day<TAB>stop there
    v<TAB>make up one's mind<TAB>decide
    v<TAB>take … for granted<TAB>consider … as normal
    x<TAB>out of the blue<TAB>without warning

Of the class v, the first word is a verb in any form, and the verb that replaces it gets the same form. "one's" stands
for any possessive, and "…" for up to five words, which are kept. An idiom stays if the form of its verb is ambiguous
and matters ("They put off the meeting").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from docgraph.annotate.english.verb_forms import VerbForms, verb_forms

_WORD = re.compile(r"(?<![\w'’-])[A-Za-z]+(?![\w’])")
_GAP = "…"
_GAP_WORDS = r"((?:[\w'’-]+ ){1,5}?)"
_POSSESSIVE = "one's"
_POSSESSIVES = r"(my|your|his|her|its|our|their|one['’]s|\w+['’]s)"
_ADVERBS = (
    r"(?:(?:all|almost|also|already|always|ever|even|finally|just|never|not|often|only|really|soon|still|\w+ly) ){0,2}"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:…] )[\"'“‘(]*$")
_CONTEXT = 100
"""Characters before an idiom that are read to tell the form of its verb; more would cost time in long texts."""
_ANY_PRONOUN = r"(?:I|you|he|she|it|we|they|me|him|us|them)"

_FORMS_OF_BE = {"am": "base", "are": "base", "is": "third", "was": "past", "were": "past"}
"""The forms of other verbs that fit where these forms of be stand."""


def _at_end(words: str) -> re.Pattern[str]:
    """Returns a pattern of a text that ends with some words, perhaps with a pronoun and adverbs behind them."""
    return re.compile(rf"(?:{words})(?: {_ANY_PRONOUN})? {_ADVERBS}$", re.IGNORECASE)


_AFTER_HAVE = _at_end(r"\b(?:have|has|had|having|haven['’]t|hasn['’]t|hadn['’]t)|['’]ve")
_AFTER_BE = _at_end(
    r"\b(?:be|am|is|are|was|were|been|being|isn['’]t|aren['’]t|wasn['’]t|weren['’]t|get|gets|got|getting)|['’](?:re|m)"
)
_AFTER_HE_IS = _at_end(r"\b\w+['’][sd]")
"""He's and he'd: is or has, had or would."""
_BEFORE_INFINITIVE = _at_end(
    r"\b(?:to|will|would|can|could|may|might|must|should|shall|let|let['’]s|please|cannot|can['’]t|won['’]t|wouldn['’]t"
    r"|couldn['’]t|shouldn['’]t|mustn['’]t)|['’]ll"
)
_AFTER_DO = _at_end(r"\b(?:do|does|did|don['’]t|doesn['’]t|didn['’]t)")
_AFTER_HE = re.compile(rf"\b(?:[Hh]e|[Ss]he|[Ii]t) {_ADVERBS}$")
_AFTER_I = re.compile(rf"\bI {_ADVERBS}$")
_AFTER_WORD = re.compile(rf"\b(?:I|\w\w+) {_ADVERBS}$")
_AFTER_PLURAL = re.compile(rf"\b(?:[Ww]e|[Yy]ou|[Tt]hey|[Tt]hese|[Tt]hose|[Pp]eople|[a-z]{{2,}}[^\Ws]s) {_ADVERBS}$")


@dataclass(frozen=True)
class Idiom:
    """An idiom and its paraphrase."""

    text: str
    paraphrase: str
    has_verb: bool

    def first_words(self) -> set[str]:
        """Returns the words that the idiom may begin with, in small letters."""
        first, _, _ = self.text.partition(" ")
        forms = {*vars(verb_forms(first)).values(), *(_FORMS_OF_BE if first == "be" else ())}
        return forms if self.has_verb else {first}

    def first_word(self, form: str, before: str) -> str | None:
        """Returns the first word of the paraphrase of an idiom that begins with `form` after the text `before`; None if
        the form of the verb is ambiguous."""
        first, other = (text.partition(" ")[0] for text in (self.text, self.paraphrase))
        return _inflected(verb_forms(first), other, form, before) if self.has_verb else other

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The words after the first one, with groups for possessives and gaps."""
        _, _, rest = self.text.partition(" ")
        parts = []
        for word in rest.split():
            if word == _GAP:
                parts.append(_GAP_WORDS)
            else:
                parts.append((_POSSESSIVES if word == _POSSESSIVE else re.escape(word)) + " ")
        return re.compile(r" " + "".join(parts)[:-1] + r"(?![\w'’-])" if parts else r"(?![\w'’-])")

    def filled(self, match: re.Match[str]) -> str:
        """Returns the paraphrase after its first word, with the possessives and words of a match."""
        _, _, rest = self.text.partition(" ")
        places = [word for word in rest.split() if word in (_GAP, _POSSESSIVE)]
        groups = dict(zip(places, match.groups(), strict=True))
        _, space, rest = self.paraphrase.partition(" ")
        return space + " ".join(groups.get(word, word).strip() for word in rest.split(" "))


class Paraphraser:
    """Replaces idioms."""

    def __init__(self, idioms: Iterable[Idiom]) -> None:
        self._by_first_word: dict[str, list[Idiom]] = {}
        for idiom in sorted(idioms, key=lambda idiom: -len(idiom.text)):
            for word in idiom.first_words():
                self._by_first_word.setdefault(word, []).append(idiom)

    def __call__(self, text: str) -> str:
        """Returns a text with its idioms in plain words; the longest idiom at each place."""
        done, parts = 0, list[str]()
        for start, end, shown in self.replacements(text):
            parts += [text[done:start], shown]
            done = end
        return "".join([*parts, text[done:]]) if parts else text

    def replacements(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yields the span of each idiom of a text, and its paraphrase."""
        done = 0
        for word in _WORD.finditer(text):
            if word.start() < done:
                continue
            before = text[max(0, word.start() - _CONTEXT) : word.start()]
            for idiom in self._by_first_word.get(word[0].lower(), ()):
                rest = idiom.pattern.match(text, word.end())
                if rest is None or not (word[0].islower() or _begins_sentence(before, word[0])):
                    continue
                first = idiom.first_word(word[0].lower(), before)
                if first is not None:
                    shown = first + idiom.filled(rest)
                    shown = shown[0].upper() + shown[1:] if word[0][0].isupper() else shown
                    done = rest.end()
                    yield word.start(), done, shown
                    break


def _begins_sentence(before: str, word: str) -> bool:
    return word.istitle() and _SENTENCE_START.search(before) is not None


def _inflected(verb: VerbForms, other: str, form: str, before: str) -> str | None:
    """Returns another verb in the form that a verb has after the text `before`; None if that is ambiguous."""
    forms = verb_forms(other)
    if form in _FORMS_OF_BE:
        return form if other == "be" else str(getattr(forms, _FORMS_OF_BE[form]))
    fitting = [name for name, each in vars(verb).items() if each == form]
    if len(fitting) > 1 and _AFTER_HE_IS.search(before):
        return None
    if "participle" in fitting and (_AFTER_HAVE.search(before) or _AFTER_BE.search(before)):
        return None if other == "be" and _AFTER_BE.search(before) else forms.participle
    if "past" in fitting and "base" not in fitting:
        past_is_safe = "participle" not in fitting or forms.past == forms.participle or _AFTER_WORD.search(before)
        return _agreeing(forms, "past", before) if past_is_safe else None
    if "base" in fitting:
        if _BEFORE_INFINITIVE.search(before) or (len(fitting) == 1 and not before.strip(" \"'“‘(")):
            return forms.base
        if _AFTER_DO.search(before):
            return None if other == "be" else forms.base
        if "past" in fitting:
            return _agreeing(forms, "past", before) if _AFTER_HE.search(before) else None
        return _agreeing(forms, "base", before)
    return getattr(forms, fitting[0]) if fitting else None


def _agreeing(forms: VerbForms, name: str, before: str) -> str:
    """Returns the past or present of a verb; "be" agrees with the subject that `before` ends with."""
    if forms.base != "be":
        return str(getattr(forms, name))
    if name == "past":
        return "were" if _AFTER_PLURAL.search(before) else "was"
    return "am" if _AFTER_I.search(before) else "are"


@cache
def load_paraphraser() -> Paraphraser:
    """Returns the embedded paraphrases of English idioms."""
    table = (files("docgraph") / "data" / "paraphrases" / "en.tsv").read_text("utf-8")
    return Paraphraser(map(parse_idiom, table.splitlines()))


def parse_idiom(line: str) -> Idiom:
    """Returns the idiom on a line of a table."""
    word_class, text, paraphrase = line.split("\t")
    return Idiom(text, paraphrase, word_class == "v")
