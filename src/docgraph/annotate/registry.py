"""Annotators by name, pipelines from spec strings, and the default pipeline of a language.

A spec joins components with `+` and gives a component its argument after `:`, as in `spacy:fr_core_news_sm+coref:fr`,
`words:sw+simplemma:sw`, `jieba`, `conllu:parsed.conllu`. Other packages add components by the entry point group
`docgraph.annotators`: a callable that takes the argument ("" where there is none) and returns an annotator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path

from docgraph.annotate.base import Annotator, Pipeline
from docgraph.errors import DocgraphError

Factory = Callable[[str], Annotator]
GROUP = "docgraph.annotators"
ENGLISH = Path(__file__).parent.parent / "data" / "en_docgraph"
"""The embedded English pipeline."""
_COMPONENT = re.compile(r"\+(?=[a-z_][a-z0-9_]*(?:[:+]|$))")
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z]+)?")
_SIZES = ("lg", "md", "sm", "trf")
_NEWS = re.compile("ca|da|de|el|es|fi|fr|hr|it|ja|ko|lt|mk|nb|nl|pl|pt|ro|ru|sl|sv|uk")


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """A component of this package, imported when first asked for; its argument is needed where there is an example."""

    module: str
    factory: str
    example: str = ""


_BUILT_IN = {
    "spacy": _BuiltIn("spacy", "SpacyAnnotator.load", "en_core_web_sm"),
    "stanza": _BuiltIn("stanza", "StanzaAnnotator", "fr"),
    "jieba": _BuiltIn("jieba", "JiebaAnnotator"),
    "words": _BuiltIn("words", "WordAnnotator", "fr"),
    "simplemma": _BuiltIn("simplemma", "SimplemmaAnnotator", "fr"),
    "coref": _BuiltIn("coref", "SieveCoreference", "en"),
    "fastcoref": _BuiltIn("coreference_models", "FastcorefAnnotator"),
    "coreferee": _BuiltIn("coreference_models", "CorefereeAnnotator"),
    "conllu": _BuiltIn("conllu_file", "ConlluAnnotator", "parsed.conllu"),
}


def load_pipeline(spec: str) -> Pipeline:
    """The pipeline of a spec string, or the default one of a language code."""
    spec = spec.strip()
    language = _LANGUAGE.fullmatch(spec)
    if language is not None and spec not in names():
        return default_pipeline(language[1], spec)
    return Pipeline(tuple(create(part) for part in _COMPONENT.split(spec)), spec)


def create(component: str) -> Annotator:
    """One component: `name` or `name:argument`."""
    name, _, argument = component.partition(":")
    if name in _BUILT_IN:
        return _create_built_in(name, argument)
    for entry in entry_points(group=GROUP, name=name):
        factory: Factory = entry.load()
        return factory(argument)
    raise DocgraphError(f"there is no annotator '{name}'; the known ones are {', '.join(names())}")


def _create_built_in(name: str, argument: str) -> Annotator:
    built_in = _BUILT_IN[name]
    if built_in.example and not argument:
        raise DocgraphError(f"annotator '{name}' needs an argument, as in '{name}:{built_in.example}'")
    factory = attrgetter(built_in.factory)(import_module(f"docgraph.annotate.{built_in.module}"))
    annotator: Annotator = factory(argument) if argument else factory()
    return annotator


def names() -> list[str]:
    """Every component that can be named in a spec."""
    return sorted({*_BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))})


def default_pipeline(language: str, spec: str) -> Pipeline:
    """The best that is installed for a language, with a note on what it leaves out."""
    if language == "en" and ENGLISH.is_dir():
        return Pipeline((create(f"spacy:{ENGLISH}"), create("coref:en")), spec)
    installed = installed_spacy_pipeline(language)
    if installed is not None:
        parser = create(f"spacy:{installed}")
        if "heads" in parser.assigns and _has_coreference(language):
            return Pipeline((parser, create(f"coref:{language}")), spec)
        note = f"no coreference for '{language}': the graph has none of its links; add '+fastcoref' or a CoNLL-U file"
        return Pipeline((parser,), spec, (note,))
    return _without_parser(language, spec)


def installed_spacy_pipeline(language: str) -> str | None:
    """The largest spaCy pipeline of a language that is installed; a transformer, slow on a CPU, only if alone."""
    found = [entry.name for entry in entry_points(group="spacy_models") if entry.name.startswith(f"{language}_")]

    def rank(name: str) -> tuple[int, str]:
        size = name.rpartition("_")[2]
        return (_SIZES.index(size) if size in _SIZES else len(_SIZES), name)

    return min(found, key=rank, default=None)


def _without_parser(language: str, spec: str) -> Pipeline:
    from docgraph.annotate.simplemma import supported

    if language == "zh":
        components = [create("jieba")]
    else:
        components = [create(f"words:{language}")]
        if supported(language):
            components.append(create(f"simplemma:{language}"))
    note = (
        f"no parser for '{language}': the graph has no dependency and no coreference links; "
        f"install one with: {_parser_command(language)}"
    )
    return Pipeline(tuple(components), spec, (note,))


def _parser_command(language: str) -> str:
    if language in ("en", "zh"):
        return f"python -m spacy download {language}_core_web_sm"
    if _NEWS.fullmatch(language):
        return f"python -m spacy download {language}_core_news_sm"
    return f"pip install 'docgraph[stanza]' (then --annotator stanza:{language})"


def _has_coreference(language: str) -> bool:
    from docgraph.annotate.coref.tables import languages

    return language in languages()
