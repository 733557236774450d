"""Names: people, places, products and files are translated the same way throughout a document.

The occurrences of a name in a document, the words that lexical links of the document graph connect, form a chain. How
the name is translated is decided once for each chain, from the translations that the model gave at first: as it is or,
if the model prefers that, as one other name, such as Londres. Sentences that deviate are decoded again
(term_enforcement.py).

A word is taken for a name if it is capitalised inside a sentence, never in lower case in the document, and no word
of the language; if it looks like a participle, but stands where a place does (in Woking); if it is a given name, or
follows one or a title; if it follows an unknown word and speaks elsewhere (Maxine Waters; Waters said); if it has
capitals inside (GitHub); or if it is the name of a file. Words of the language
(Parliament, Monday, Germany) have translations that the model knows.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice, product

from docgraph.translation.terms.term import Term
from docgraph.translation.text.informal_english import given_names
from docgraph.translation.text.language_check import is_function_word
from docgraph.translation.text.stand_ins import STAND_IN

_WORD = re.compile(rf"(?!{STAND_IN}(?!\w))[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_FILE = re.compile(
    r"(?<![\w./@-])[\w-]*\w\.(?:bat|bin|c|cfg|conf|cpp|css|csv|dll|docx?|exe|gif|gz|h|html?|ini|java|jpe?g|js|json|lock"
    r"|log|mdx?|mp[34]|odt|pdf|png|pptx?|py|rb|rs|rst|sh|sql|svg|tar|tex|toml|ts|tsv|txt|wav|xlsx?|xml|ya?ml|zip)\b"
)
_ARTICLE = re.compile(r"\b(?:the|a|an)(?: \w+)? $", re.IGNORECASE)
_ABBREVIATION = re.compile(r"[A-Z]{2,}s?")
_CAMEL = re.compile(r"[A-Z]?[a-z]+[A-Z][A-Za-z]*")
_COMPOUND = re.compile(r"[A-Z][a-z]+o-([A-Z][a-z]+)")
"""A compound of two peoples or regions, which has a translation unless its second part is a name: Franco-German."""
_ADJECTIVE = re.compile(r"\w+(?:an|ese|i|ic|ish|s)")
"""What an English adjective or plural noun of a people looks like: Azerbaijani, Zulus."""
_SPEAKS = (
    r"(?:add|admit|announce|argue|ask|claim|continue|explain|insist|recall|repl|testif|tweet|warn)\w*|denie[ds]|said|says"
    r"|tells|told|writes|wrote"
)
_BEFORE_SPEAKER, _AFTER_SPEAKER = re.compile(rf"\b(?:{_SPEAKS}) $"), re.compile(rf",? (?:who|{_SPEAKS})\b")
"""What stands beside a family name: Waters said, said Waters."""
_PLACE = re.compile(r"\b(?:at|from|in|near|of|through|to|towards?) $")
"""Words before the name of a place."""
_NOT_NAMES = frozenset(
    """January February March April May June July August September October November December
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday Christmas Easter God Internet Web""".split()  # noqa: SIM905
)
_OFFICES = frozenset(
    """Ambassador Attorney Chair Chairman Chairperson Chairwoman Chancellor Commissioner Doctor Governor Judge Justice
    Mayor Minister President Prime Professor Rapporteur Representative Secretary Senator Speaker Vice
    Vice-President""".split()  # noqa: SIM905
)
"""What people are addressed as after a title: Madam President is no person named President."""
_INSTITUTIONS = frozenset(
    """Act Agency Airport Avenue Award Awards Bank College Committee Corps Council County Department District Foundation
    Government Group Hospital Hotel Institute Island Islands Library Medical Museum Peninsula Prize School Square
    Stadium State Station Street Theater Theatre University Valley Village War""".split()  # noqa: SIM905
)
"""Words after a place or a person that is no family name: Charlotte County, Virginia University."""
PERSONAL_TITLES = frozenset(["Dr", "Messrs", "Mister", "Mr", "Mrs", "Ms", "Prof", "Professor"])
"""Titles before a family name, which has no other form in French: Mr London, but Lord Jesus and Miss Germany."""
_LOOSE_TITLES = frozenset(["Captain", "Colonel", "Doctor", "Inspector", "Professor", "Senator", "Sergeant"])
"""Titles that need not stand beside the name: le sénateur démocrate Chris Coons."""
_LONG = 4
"""Letters of words that are capitalised in Title Case, where capitals say nothing."""
_MAX_FORMS = 8
"""Maximum translations of a name of several words."""
_SIMILAR = 0.5
"""Minimum similarity of a name and its translation."""
_COPIED = 0.5
"""Minimum share of occurrences in which a name of several words is kept, for it to be kept in all."""
_CONSISTENT, _NEAR = 2 / 3, 3
"""Minimum share of translations that have the same word within 3 words of a name, for them to be consistent."""


@dataclass(frozen=True)
class _Word:
    """A capitalised word of a text."""

    text: str
    """Without the ending of a possessive."""
    start: int
    end: int
    inside: bool
    """True if it is capitalised inside a sentence that is not in Title Case."""
    title: re.Match[str] | None = None
    """The title before it."""

    @property
    def has_personal_title(self) -> bool:
        """True for a family name after a title."""
        return self.title is not None and self.title[0] in PERSONAL_TITLES


@dataclass(eq=False)
class NameTable:
    """The names of a document and how they are translated."""

    words: dict[str, str] = field(default_factory=dict)
    """Names of one word."""
    phrases: set[str] = field(default_factory=set)
    """Names of several words that are kept as they are."""
    families: set[str] = field(default_factory=set)
    """Words that are names after a title of a person, whatever they are elsewhere."""
    titles: dict[str, list[str]] = field(default_factory=dict)

    def find(self, text: str) -> list[Term]:
        """Returns the names of a text, in order, with their titles."""
        found = [Term(match[0], *match.span(), (match[0],), "name") for match in _FILE.finditer(text)]
        run: list[_Word] = []
        for word in [*_capitalised(text, self.titles), None]:
            joined = word is not None and bool(run) and text[run[-1].end : word.start] == " " and word.title is None
            if not joined and run:
                found += self._terms(text, run)
                run = []
            if word is not None:
                run.append(word)
        return sorted(found, key=lambda term: term.start)

    def _terms(self, text: str, run: Sequence[_Word]) -> Iterator[Term]:
        """Yields the names in adjacent capitalised words."""
        phrase = text[run[0].start : run[-1].end]
        if phrase in self.phrases:
            yield self._term(text, run[0], run[-1].end, (phrase,))
            return
        begin = 0
        translate = self._targets_after_title if run[0].has_personal_title else self._targets
        targets = [translate(word.text) for word in run]
        for place in range(len(run) + 1):
            if place < len(run) and targets[place]:
                continue
            if begin < place:
                forms = product(*targets[begin:place])
                yield self._term(text, run[begin], run[place - 1].end, tuple(map(" ".join, islice(forms, _MAX_FORMS))))
            begin = place + 1

    def _targets_after_title(self, word: str) -> list[str]:
        """Returns the translations of a word in the name of a person: Mr London stays Mr London."""
        return [word] if word in self.families or word in self.words else []

    def _targets(self, word: str) -> list[str]:
        """Returns the translations of a word that is a name; the French plural of a family is the singular."""
        if word in self.words:
            return [self.words[word]]
        singular = word.removesuffix("s")
        return [self.words[singular], word] if word != singular and singular in self.words else []

    def _term(self, text: str, first: _Word, end: int, forms: tuple[str, ...]) -> Term:
        if first.title is None:
            has_article = _ARTICLE.search(text, 0, first.start) is not None or text[first.start : end].endswith("shire")
            return Term(text[first.start : end], first.start, end, forms, "name", has_article)
        titled = tuple(f"{title} {form}" for title in self.titles[first.title[0]] for form in forms)
        titled += forms if first.title[0] in _LOOSE_TITLES else ()
        start = first.title.start()
        return Term(text[start:end], start, end, titled, "name", is_certain=first.has_personal_title)


def find_names(
    texts: Sequence[str],
    translations: Sequence[str | None],
    languages: tuple[str, str] | None,
    translate: Callable[[list[str]], list[str]],
    translated: Collection[str] = (),
) -> NameTable:
    """Returns the names of a document, given its texts and their first translations, None for those without one.

    `translate` translates texts separately; it is asked about names whose translation is uncertain. Words that a
    dictionary says are `translated` are no names. Only names in English texts are found.
    """
    if languages is None or languages[0] != "en":
        return NameTable()
    titles = _titles(*languages)
    occurrences = [list(_capitalised(text, titles)) for text in texts]
    small = {word for text in texts for word in _WORD.findall(text) if word.islower()}
    found = _name_words(texts, occurrences)
    others = _NOT_NAMES | {*translated}
    names = {word: found[word] for word in found if word.lower() not in small and word not in others}
    chains: dict[str, list[int]] = {name: [] for name in names}
    outputs = [Counter(map(_bare, _WORD.findall(translation or ""))) for translation in translations]
    for index, words in enumerate(occurrences):
        for word in words:
            if word.text in names and translations[index] is not None and not word.has_personal_title:
                chains[word.text].append(index)
    decided = _decide(chains, names, outputs, languages[1], translate)
    table = NameTable({name: form for name, form in decided.items() if form is not None}, titles=titles)
    titled = (word.text for words in occurrences for word in words if word.has_personal_title)
    table.families.update(name for name in titled if name in found)
    table.phrases = _kept_phrases(texts, translations, occurrences, table)
    return table


def _capitalised(text: str, titles: Iterable[str]) -> Iterator[_Word]:
    """Yields the capitalised words of a text that are no abbreviations and no titles."""
    matches = list(_WORD.finditer(text))
    if text.isupper():
        return
    long = [match[0] for match in matches if len(match[0]) >= _LONG]
    in_title_case = all(word[0].isupper() for word in long) and not text.rstrip().endswith(".")
    before: re.Match[str] | None = None
    for place, match in enumerate(matches):
        is_title, bare = match[0] in titles, _bare(match[0])
        if bare[:1].isupper() and not is_title and not _ABBREVIATION.fullmatch(bare):
            between = text[matches[place - 1].end() : match.start()] if place else ""
            joined = (between != "" and not between.strip(" ,'’-")) or (between.strip() == "." and before is not None)
            yield _Word(bare, match.start(), match.start() + len(bare), joined and not in_title_case, before)
        before = match if is_title else None


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word)


def _name_words(texts: Sequence[str], occurrences: Sequence[Sequence[_Word]]) -> dict[str, bool]:
    """Returns the words that are names by their own looks or those of the words beside them.

    The value says whether that is certain: a given name alone may be a place, such as Virginia.
    """
    given, found = given_names(), dict[str, bool]()
    after_names, speakers = set[str](), set[str]()
    for text, words in zip(texts, occurrences, strict=True):
        for place, word in enumerate(words):
            before = words[place - 1] if place and text[words[place - 1].end : word.start] == " " else None
            addressed = word.title is not None or (before is not None and before.text in _OFFICES)
            is_no_name = word.text in _NOT_NAMES and word.title is None
            if is_no_name or (addressed and word.text in _OFFICES) or len(word.text) < 2:
                continue
            if _is_compound(word.text) or (is_function_word(word.text.lower()) and word.text.lower() not in given):
                continue
            after = next((each for each in words[place + 1 : place + 2] if each.start == word.end + 1), None)
            is_given, unknown = word.text.lower() in given, not _is_english(word.text)
            leads = after is not None and (after.inside or not _is_english(after.text))
            is_person = before is not None and (before.title is not None or before.text.lower() in given)
            follows = is_person and word.text not in _INSTITUTIONS and (word.inside or unknown)
            if before is None and after is None and _speaks(text, word):
                speakers.add(word.text)
            if before is not None and word.inside and not _is_english(before.text) and word.text not in _INSTITUTIONS:
                after_names.add(word.text)
            is_titled = word.title is not None and (word.inside or is_given or unknown)
            certain = is_titled or _CAMEL.fullmatch(word.text) or follows or (is_given and leads)
            is_place = word.text.endswith("ing") and _PLACE.search(text, 0, word.start) is not None
            if certain or (word.inside and (is_given or unknown or is_place)):
                found[word.text] = found.get(word.text, False) or bool(certain) or unknown
    return found | dict.fromkeys(after_names & speakers, True)


def _speaks(text: str, word: _Word) -> bool:
    """Returns whether a word stands where somebody is said to speak."""
    is_speaker = _AFTER_SPEAKER.match(text, word.end) or _BEFORE_SPEAKER.search(text, 0, word.start)
    return is_speaker is not None and _ARTICLE.search(text, 0, word.start) is None


def _is_compound(word: str) -> bool:
    """Returns whether a word ends in a small word after a hyphen: Taliban-like, Al-Qaeda-linked."""
    *_, last = word.split("-")
    return last != word and last.islower() and is_known(last, "en")


def _decide(
    chains: dict[str, list[int]],
    certain: dict[str, bool],
    outputs: Sequence[Counter[str]],
    language: str,
    translate: Callable[[list[str]], list[str]],
) -> dict[str, str | None]:
    """Returns how each name is translated; None for a word that turns out to be no name."""
    decided: dict[str, str | None] = {}
    uncertain: dict[str, str] = {}
    for name, indices in chains.items():
        lost = [index for index in indices if not outputs[index][name]]
        decided[name] = name
        if not lost:
            continue
        forms = Counter(form for index in lost for form in {*_similar_words(name, outputs[index])})
        form, count = forms.most_common(1)[0] if forms else ("", 0)
        kept = len(indices) - len(lost)
        if not certain[name] and kept < len(lost):
            decided[name] = None
            continue
        if form and form[0].islower() and count > kept and form.isalpha() and _ADJECTIVE.fullmatch(name):
            decided[name] = None  # azerbaïdjanais
        elif form and form[0].isupper() and count > kept and not is_known(form.lower(), language):
            uncertain[name] = form
    for name, translation in zip(uncertain, translate(list(uncertain)) if uncertain else [], strict=True):
        if uncertain[name] in _WORD.findall(translation):
            decided[name] = uncertain[name]
    return decided


def _similar_words(name: str, output: Iterable[str]) -> Iterator[str]:
    """Yields the words of a translation that may be the name in another language."""
    plain = _plain(name)
    for word in output:
        other = _plain(word)
        if word != name and other[:1] == plain[:1] and len(other) > 2:
            alike = SequenceMatcher(None, plain, other, autojunk=False).ratio() >= _SIMILAR
            if alike and (word[0].isupper() or other[:3] == plain[:3]):
                yield word


def _kept_phrases(
    texts: Sequence[str], translations: Sequence[str | None], occurrences: Sequence[Sequence[_Word]], table: NameTable
) -> set[str]:
    """Returns names of several words, some of them words of the language, that stay as they are.

    These are the ones that most translations keep, and those that are translated in several ways.
    """
    chains: dict[str, list[tuple[str, str]]] = {}
    for text, translation, words in zip(texts, translations, occurrences, strict=True):
        for first, last in _runs(text, words):
            own = [word.text for word in words if first.start <= word.start < last.end and word.text in table.words]
            if translation is not None and 0 < len(own) < text.count(" ", first.start, last.end) + 1:
                chains.setdefault(text[first.start : last.end], []).append((translation, table.words[own[0]]))
    return {phrase for phrase, chain in chains.items() if len(chain) > 1 and _stays(phrase, chain)}


def _stays(phrase: str, chain: Sequence[tuple[str, str]]) -> bool:
    """Returns whether a name stays, given its translations and the translation of one word of it in each."""
    if sum(phrase in translation for translation, _ in chain) >= _COPIED * len(chain):
        return True
    around = Counter(word for translation, name in chain for word in _words_around(name, translation))
    return max(around.values(), default=0) < _CONSISTENT * len(chain)


def _words_around(name: str, translation: str) -> set[str]:
    """Returns the words, other than short ones, beside a name in a translation."""
    words = _WORD.findall(translation)
    places = [place for place, word in enumerate(words) if _bare(word) == name]
    near = (word for place in places for word in words[max(place - _NEAR, 0) : place + _NEAR + 1])
    return {word.lower() for word in near if len(word) >= _LONG and word != name}


def _runs(text: str, words: Sequence[_Word]) -> Iterator[tuple[_Word, _Word]]:
    """Yields the first and last of two or more adjacent capitalised words; offices before a name are left out.

    So are words such as The that have a capital because they begin the sentence.
    """
    begin = 0
    for place in range(1, len(words) + 1):
        if place < len(words) and text[words[place - 1].end : words[place].start] == " ":
            continue
        while begin < place and (words[begin].text in _OFFICES or _begins_sentence(words[begin])):
            begin += 1
        if place - begin > 1:
            yield words[begin], words[place - 1]
        begin = place


def _begins_sentence(word: _Word) -> bool:
    """Returns whether a word has its capital only because it begins a sentence."""
    return not word.inside and is_function_word(word.text.lower())


def _plain(word: str) -> str:
    """Returns a word in lower case without accents."""
    return "".join(char for char in unicodedata.normalize("NFD", word.lower()) if char.isalpha())


@lru_cache(1 << 16)
def is_known(word: str, language: str) -> bool:
    """Returns whether a dictionary has a word, or all parts of a word with hyphens."""
    from docgraph.annotate.rule_based import has_simplemma_dictionary

    if not has_simplemma_dictionary(language):
        return False
    import simplemma

    return all(simplemma.is_known(part, lang=language) for part in word.split("-") if len(part) > 1)


def _is_english(word: str) -> bool:
    """Returns whether a capitalised word is in the English dictionary, or a compound such as Indo-European."""
    compound = _COMPOUND.fullmatch(word)
    return is_known((compound[1] if compound else word).lower(), "en")


@cache
def _titles(source: str, target: str) -> dict[str, list[str]]:
    """Returns the titles of a language with their translations; none for an unknown pair of languages."""
    file = files("docgraph") / "data" / "names" / f"{source}-{target}.toml"
    if not file.is_file():
        return {}
    titles: dict[str, list[str]] = tomllib.loads(file.read_text("utf-8"))["titles"]
    return titles
