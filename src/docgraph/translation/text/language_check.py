"""Language check: is a text in the source language of the model?

Each sentence votes for the language whose function words it has most of, with its number of characters. A text too
short for a vote is refused only if it has several function words of another language and none of its own. A model of
every language of the world (py3langid: about a second to load) would be more than these questions need.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby

from docgraph.document import Document
from docgraph.errors import DocgraphError

ENOUGH = 200
"""Characters that must have voted for a decision by votes; the words of a shorter text are counted together."""
_ENOUGH_OF_SCRIPT = 30
"""The same for a text in another script, which is clear from few characters."""
_OWN_SHARE, _OTHER_SHARE = 0.1, 0.6
"""A text is refused if its own language has less than the first share of the votes, and another one more than the
second."""
_SHORT_HITS, _SHORT_FORMS, _SHORT_SHARE, _SHORT_CONTENT = 3, 2, 0.25, 2
"""A short text is in another language if it has so many function words of it, so many different ones, that share of its
words, so many different other words in lower case (names have none: San Pedro de la Costa), and no function word that
the other language lacks."""
_MOST = 20_000
"""Characters that vote, from the whole length of a text."""
_SHORTEST = 3
"""Minimum words of a sentence that votes."""
_CLEAR_HITS, _CLEAR_SHARE, _CLEAR_FACTOR = 3, 0.2, 3
"""A paragraph is in another language if it has so many function words of it, and that share of its words, and at most a
third as many of its own language."""
_WHOLE = 0.9
"""A document with at least this share in another language is foreign as a whole, and has no foreign paragraphs."""
_CERTAIN = frozenset(["html", "epub", "markdown", "mdx"])
"""Formats in which a language is declared on purpose."""
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = {
    "Cyrillic script": re.compile(r"[\u0400-\u052f]"),
    "Greek script": re.compile(r"[\u0370-\u03ff]"),
    "Arabic script": re.compile(r"[\u0600-\u06ff]"),
    "Hebrew script": re.compile(r"[\u0590-\u05ff]"),
    "Devanagari script": re.compile(r"[\u0900-\u097f]"),
    "Thai script": re.compile(r"[\u0e00-\u0e7f]"),
    "Korean script": re.compile(r"[\uac00-\ud7af]"),
    "Chinese or Japanese script": re.compile(r"[\u3040-\u30ff\u3400-\u9fff]"),
}
_SCRIPT_OF = {
    "ru": ("Russian", "Cyrillic script"), "uk": ("Ukrainian", "Cyrillic script"),
    "bg": ("Bulgarian", "Cyrillic script"), "el": ("Greek", "Greek script"), "ar": ("Arabic", "Arabic script"),
    "fa": ("Persian", "Arabic script"), "he": ("Hebrew", "Hebrew script"), "hi": ("Hindi", "Devanagari script"),
    "th": ("Thai", "Thai script"), "ko": ("Korean", "Korean script"), "zh": ("Chinese", "Chinese or Japanese script"),
    "ja": ("Japanese", "Chinese or Japanese script"),
}  # fmt: skip
"""Languages without a word list that their script identifies: name and script."""
NAMES = {
    "en": "English", "fr": "French", "de": "German", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "pl": "Polish", "sv": "Swedish",
}  # fmt: skip
_FUNCTION_WORDS = {
    "en": "the of and to in is that it for was on are with as be at this have from or had by not but what all were we"
    " when your can said there an which their if will do each about how up out them then she many some so these"
    " would other into has more her him could my than been who its now did get may they you he his i me no our us"
    " any just don doesn isn didn won ll ve re where why while because does must should only also after before"
    " over such",
    "fr": "le la les de des du un une et est que qui dans pour pas sur au aux avec ce cette ces il elle ils elles nous"
    " vous je tu on me te ne se en par plus sont mais ou où son sa ses leur leurs été être avoir fait comme tout"
    " tous si même aussi y a ont était cela notre votre nos vos mon ma mes lui donc sans sous entre peut très bien d l"
    " qu n s c j m t",
    "de": "der die das und ist nicht ein eine einen einem einer eines den dem des zu in von mit auf für im sich es auch"
    " als an er sie wir ich ihr so dass aus bei nach wie um am über nur noch oder aber vor zur zum bis mehr durch"
    " man sein wird sind war hat haben werden wurde kann muss diese dieser dieses wenn was unter sehr schon hier"
    " ihre seine mein kein keine uns euch ihm ihn mir mich dir dich",
    "es": "el la los las de del un una y es que en por con para no se su al lo como más pero sus le ya o este sí porque"
    " esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno les ni"
    " contra otros ese eso ante ellos e esto mí antes algunos qué unos yo otro él tanto esa estos mucho nada ha"
    " han fue son está están ser tiene",
    "it": "il lo la i gli le di del della dei delle degli un una uno e è che in per con non si su al alla ai come più"
    " ma anche se da dal dalla nel nella nei nelle sul sulla sono era ha hanno essere questo questa questi quello"
    " quella o ci suo sua suoi loro noi voi io tu lui lei mi ti vi ne già dove quando perché molto tutto tutti"
    " senza tra fra cui chi cosa stato",
    "pt": "o a os as de do da dos das um uma e é que em no na nos nas por para com não se ao à mais como mas foi ele"
    " ela seu sua ou ser quando muito há já está eu também só pelo pela até isso entre era depois sem mesmo aos"
    " ter seus quem me esse eles estão você tinha foram essa num nem suas meu às minha têm numa pelos elas são"
    " sobre",
    "nl": "de het een en van is dat in op te zijn voor met niet die aan er om ook als dan maar bij of uit nog naar"
    " heeft hij zij we wij ik je jij u ze worden wordt werd was waren door over deze dit geen kan kunnen moet meer"
    " wel hun haar mijn ons onze hebben had tot toch al zo waar wat wie hoe omdat veel onder tegen na",
    "pl": "i w z na do nie się jest to że o jak ale po co tak za od przez dla ten ta te tego tej być był była było są"
    " jego jej ich który która które oraz czy już tylko może przy bardzo mnie mu go ja ty my wy oni a u pod"
    " jeszcze gdy kiedy gdzie bez ze we lub",
    "sv": "och att det i en ett som är på av för den med till inte om har de jag vi du han hon man var från men så kan"
    " ska skulle sig sin sina sitt eller när hur vad där här efter också över under alla mycket mer bara nu detta"
    " denna dessa mig dig oss dem deras hade blir vara utan mot än",
}


def function_words(language: str) -> frozenset[str]:
    """Returns the function words of a language, in lower case; none for an unlisted language."""
    return frozenset(_FUNCTION_WORDS.get(language, "").split())


def check_language(documents: Iterable[Document], language: str | None, path: object = None) -> None:
    """Refuses documents that are in another language than `language`; no-op for an unlisted language."""
    if language is None:
        return
    other = other_language([text for document in documents for text in document.texts], language)
    if other is not None:
        own = language_name(language)
        message = f"looks like {other}, but the model translates from {own}; pass --force to translate it"
        raise DocgraphError(message, path=None if path is None else str(path))


def other_language(sentences: list[str], language: str) -> str | None:
    """Returns the language or script that sentences are in instead of `language`.

    None if there is no clear one, or if `language` has neither a word list nor a script of its own.
    """
    if language not in _FUNCTION_WORDS and language not in _SCRIPT_OF:
        return None
    own = _SCRIPT_OF[language][1] if language in _SCRIPT_OF else NAMES[language]
    votes = Counter[str]()
    step = max(1, sum(map(len, sentences)) // _MOST)
    for sentence in sentences[::step]:
        if (winner := _language_of(sentence[:_MOST])) is not None:
            votes[winner] += len(sentence)
    [(other, count)] = votes.most_common(1) or [("", 0)]
    enough = _ENOUGH_OF_SCRIPT if other in _SCRIPTS else ENOUGH
    if votes.total() < enough:
        return _language_of_short_text(" ".join(sentences)[:_MOST], language)
    if votes[own] >= _OWN_SHARE * votes.total():
        return None
    return other if count > _OTHER_SHARE * votes.total() else None


def _language_of_short_text(text: str, language: str) -> str | None:
    """Returns the language that a short text is in instead of `language`; None if it is unclear."""
    if language not in _FUNCTION_WORDS:
        return None
    words = [word for word in _WORD.findall(text) if len(word) > 1]
    listed = [word.lower() for word in words if is_function_word(word.lower())]
    foreign = [word for word in listed if language not in _languages_of_word()[word]]
    counts = Counter(other for word in foreign for other in _languages_of_word()[word])
    [(other, hits), (_, next_hits)] = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    if hits < max(_SHORT_HITS, _SHORT_SHARE * len(words), next_hits + 1):
        return None
    forms = {word for word in foreign if other in _languages_of_word()[word]}
    content = {word for word in words if word.islower() and not is_function_word(word)}
    is_own = any(other not in _languages_of_word()[word] for word in {*listed} - {*foreign})
    return NAMES[other] if len(forms) >= _SHORT_FORMS and len(content) >= _SHORT_CONTENT and not is_own else None


def language_name(code: str) -> str:
    """Returns the English name of a language, or its code if it is not listed."""
    return _SCRIPT_OF[code][0] if code in _SCRIPT_OF else NAMES.get(code, code)


def language_shares(text: str) -> dict[str, float]:
    """Returns, for each listed language with function words in a text, its share of the function words; best first."""
    words = [word for word in _WORD.findall(text[:_MOST].lower()) if is_function_word(word)]
    counts = Counter(language for word in words for language in _languages_of_word()[word])
    return {language: count / len(words) for language, count in counts.most_common()}


def foreign_sentences(document: Document, language: str | None) -> frozenset[int]:
    """Returns the sentences of paragraphs that are clearly in another language than `language`.

    A paragraph that the file declares to be in another language is foreign. In office documents, it is not if its
    words are those of `language`, and declarations of the main language of the file do not count, because they are
    often left from a template. Empty if almost the whole document is in another language: then `check_language` has
    refused it, or the user wants it translated.
    """
    is_certain = document.format in _CERTAIN
    if language is None or (language not in _FUNCTION_WORDS and not is_certain):
        return frozenset()
    declared = Counter[str]()
    for sentence in document:
        declared[sentence.language] += len(sentence.text)
    usual = {"", language}
    if not is_certain:
        usual.add(max(declared, key=lambda code: declared[code], default=""))
    foreign: set[int] = set()
    for indices in _paragraphs(document):
        sentences = [document.sentences[m] for m in indices]
        winner = _clear_language(" ".join(sentence.text for sentence in sentences), language)
        is_declared = all(sentence.language not in usual for sentence in sentences)
        if winner not in (None, language) or (is_declared and (is_certain or winner is None)):
            foreign.update(indices)
    length = sum(len(document.sentences[m].text) for m in foreign)
    return frozenset(foreign) if length < _WHOLE * declared.total() else frozenset()


def _paragraphs(document: Document) -> Iterator[list[int]]:
    """Yields the sentences of each paragraph; in a text of one sentence per line, of each line."""
    places = range(len(document))
    if document.format == "lines":
        yield from ([m] for m in places)
    else:
        for _, group in groupby(places, key=lambda m: document.sentences[m].paragraph):
            yield list(group)


def _clear_language(text: str, own: str) -> str | None:
    """Returns the code of the language of a text by its function words: `own`, another one, or None if unclear."""
    if own not in _FUNCTION_WORDS:
        return None
    words = [word for word in _WORD.findall(text.lower()[:_MOST]) if len(word) > 1]
    found = [languages for word in words if (languages := _languages_of_word().get(word))]
    own_hits = sum(own in languages for languages in found)
    # Words that the own language has, too (in, a, on), say nothing.
    others = Counter(language for languages in found if own not in languages for language in languages)
    [(other, hits)] = others.most_common(1) or [("", 0)]
    if hits >= _CLEAR_HITS and hits >= _CLEAR_SHARE * len(words) and _CLEAR_FACTOR * own_hits <= hits:
        return other
    return own if own_hits >= 2 and own_hits > hits else None


def is_function_word(word: str) -> bool:
    """Returns whether a word, in lower case, is a function word of any listed language."""
    return word in _languages_of_word()


def _language_of(sentence: str) -> str | None:
    """Returns the language or script of a sentence; None if it is too short or has no function words."""
    if not sentence.isascii():
        letters = sum(map(str.isalpha, sentence))
        for name, script in _SCRIPTS.items():
            if 2 * len(script.findall(sentence)) > letters > _SHORTEST:
                return name
    words = _WORD.findall(sentence.lower())
    if len(words) < _SHORTEST:
        return None
    counts = Counter(language for word in words for language in _languages_of_word().get(word, ()))
    ranked = [*counts.most_common(2), ("", 0), ("", 0)]
    # A single word decides nothing: "a", "die" and "in" are words of several languages.
    if ranked[0][1] < 2 or ranked[0][1] == ranked[1][1]:
        return None
    # Nor do single letters, which are keys and variables in English: Ctrl+S.
    winner = ranked[0][0]
    is_certain = any(len(word) > 1 and winner in _languages_of_word().get(word, ()) for word in words)
    return NAMES[winner] if is_certain else None


@cache
def _languages_of_word() -> dict[str, tuple[str, ...]]:
    """Returns the languages of each function word."""
    languages: dict[str, tuple[str, ...]] = {}
    for language, words in _FUNCTION_WORDS.items():
        for word in {*words.split()}:
            languages[word] = (*languages.get(word, ()), language)
    return languages
