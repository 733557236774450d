"""The HTML page of a translation: self-contained, loads nothing, and never executes text of the document."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from docgraph.files import display_name
from docgraph.translation.result import SentenceTranslation, Translation


def to_html(translations: Sequence[Translation], languages: tuple[str, str] | None = None) -> str:
    """Returns a page with source and translation side by side and the context weights of each sentence."""
    title = display_name(translations[0].source.path or translations[0].source.id) if translations else ""
    payload = {
        "title": title,
        "languages": languages,
        "documents": [
            {"id": each.source.id, "passes": each.passes, "sentences": list(map(_sentence, each))}
            for each in translations
        ],
    }
    # Only "<" could end the script element; JSON allows any character as an escape.
    data = json.dumps(payload, ensure_ascii=False).replace("<", "\\u003c")
    folder = files("docgraph") / "data"
    parts = {"title": html.escape(title), "data": data, "script": (folder / "translation_page.js").read_text("utf-8")}
    template = (folder / "translation_page.html").read_text("utf-8")
    return re.sub(r"\{\{(title|data|script)\}\}", lambda match: parts[match[1]], template)


def _sentence(sentence: SentenceTranslation) -> dict[str, Any]:
    """Returns the values of a sentence that the script of the page reads."""
    values: dict[str, Any] = {
        "source": sentence.source,
        "text": sentence.text,
        "candidates": [[each.text, round(each.score, 4)] for each in sentence.candidates],
        "given": sentence.given,
        "hints": [[hint.words, hint.translation, hint.sentence, hint.relation] for hint in sentence.hints],
        "memory": sentence.memory,
        "doubts": sentence.doubts,
        "terms": [[term.source, term.target, term.used] for term in sentence.terms],
    }
    if sentence.context is not None:
        values["gate"] = round(sentence.context.gate, 4)
        for side, weights in (("sourceContext", sentence.context.source), ("targetContext", sentence.context.target)):
            values[side] = [[other, round(weight, 4)] for other, weight in weights.items()]
    return values
