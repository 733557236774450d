"""Annotators by name, pipelines from spec strings, and the default pipeline of a language.

A spec joins components with `+`; a component's argument follows `:`. Examples: `spacy:fr_core_news_sm+coref:fr`,
`words:sw+simplemma:sw`, `jieba`, `conllu:parsed.conllu`. Other packages add components through the entry point group
`docgraph.annotators`: a callable that takes the argument ("" if there is none) and returns an annotator.
"""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from docgraph.annotate.pipeline import Annotator, Pipeline
from docgraph.errors import DocgraphError
from docgraph.languages import LANGUAGE_CODE, base_language

GROUP = "docgraph.annotators"
ENGLISH = Path(__file__).parent.parent / "data" / "en_docgraph"
"""The embedded English pipeline."""
BUILT_IN = {
    name: EntryPoint(name, f"docgraph.annotate.{factory}", GROUP)
    for name, factory in {
        "spacy": "spacy:SpacyAnnotator.load",
        "stanza": "optional_packages:StanzaAnnotator",
        "jieba": "rule_based:JiebaAnnotator",
        "words": "rule_based:WordAnnotator",
        "simplemma": "rule_based:SimplemmaAnnotator",
        "coref": "coref:CorefAnnotator",
        "fastcoref": "optional_packages:FastcorefAnnotator",
        "coreferee": "optional_packages:CorefereeAnnotator",
        "conllu": "conllu_annotator:ConlluAnnotator",
    }.items()
}
"""The components of this package, imported on first use."""
_EXAMPLE_ARGUMENTS = {
    "spacy": "en_core_web_sm",
    "stanza": "fr",
    "words": "fr",
    "simplemma": "fr",
    "coref": "en",
    "conllu": "parsed.conllu",
}
"""Built-in components that need an argument, with an example for the error message."""
_COMPONENT_JOINT = re.compile(r"\+(?=[a-z_][a-z0-9_]*(?:[:+]|$))")
"""A `+` before a component name; other `+` signs may be part of a file name."""
_SPACY_SIZES = ("lg", "md", "sm", "trf")
_SPACY_NEWS_LANGUAGES = re.compile("ca|da|de|el|es|fi|fr|hr|it|ja|ko|lt|mk|nb|nl|pl|pt|ro|ru|sl|sv|uk")


def load_pipeline(spec: str) -> Pipeline:
    """Returns the pipeline of a spec string, or the default pipeline of a language code."""
    spec = spec.strip()
    if LANGUAGE_CODE.fullmatch(spec) and spec not in names():
        return default_pipeline(spec)
    return Pipeline(tuple(create(part) for part in _COMPONENT_JOINT.split(spec)), spec)


def create(component: str) -> Annotator:
    """Creates one component from `name` or `name:argument`."""
    name, _, argument = component.partition(":")
    if name in _EXAMPLE_ARGUMENTS and not argument:
        raise DocgraphError(f"annotator '{name}' needs an argument, as in '{name}:{_EXAMPLE_ARGUMENTS[name]}'")
    entry = BUILT_IN.get(name) or next(iter(entry_points(group=GROUP, name=name)), None)
    if entry is None:
        raise DocgraphError(f"there is no annotator '{name}'; choose one of: {', '.join(names())}")
    annotator: Annotator = entry.load()(argument)
    return annotator


def names() -> list[str]:
    """Returns the names of all components, built-in and from other packages."""
    return sorted({*BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))})


def default_pipeline(code: str) -> Pipeline:
    """Returns the best installed pipeline for the language of a code. Its notes say which layers are missing."""
    language = base_language(code)
    if language == "en" and ENGLISH.is_dir():
        return Pipeline((create(f"spacy:{ENGLISH}"), create("coref:en")), code)
    installed = installed_spacy_pipeline(language)
    if installed is None:
        return _pipeline_without_parser(language, code)
    from docgraph.annotate.coref.word_lists import languages

    parser = create(f"spacy:{installed}")
    if "heads" in parser.assigns and language in languages():
        return Pipeline((parser, create(f"coref:{language}")), code)
    note = f"no coreference for '{language}': the graph has none of its links; add '+fastcoref' or a CoNLL-U file"
    return Pipeline((parser,), code, (note,))


def installed_spacy_pipeline(language: str) -> str | None:
    """Returns the largest installed spaCy pipeline of a language, or None.

    Transformer pipelines come last because they are slow on a CPU.
    """

    def rank(name: str) -> tuple[int, str]:
        size = name.rpartition("_")[2]
        return (_SPACY_SIZES.index(size) if size in _SPACY_SIZES else len(_SPACY_SIZES), name)

    installed = (entry.name for entry in entry_points(group="spacy_models"))
    return min((name for name in installed if name.startswith(f"{language}_")), key=rank, default=None)


def _pipeline_without_parser(language: str, spec: str) -> Pipeline:
    """Returns a pipeline of words, and of lemmas if there is a dictionary."""
    from docgraph.annotate.rule_based import has_simplemma_dictionary

    if language == "zh":
        components = [create("jieba")]
    else:
        components = [create(f"words:{language}")]
        if has_simplemma_dictionary(language):
            components.append(create(f"simplemma:{language}"))
    if language in ("en", "zh"):
        command = f"python -m spacy download {language}_core_web_sm"
    elif _SPACY_NEWS_LANGUAGES.fullmatch(language):
        command = f"python -m spacy download {language}_core_news_sm"
    else:
        command = f"pip install 'docgraph[stanza]' (then --annotator stanza:{language})"
    note = (
        f"no parser for '{language}': the graph has no dependency and no coreference links; install one with: {command}"
    )
    return Pipeline(tuple(components), spec, (note,))
