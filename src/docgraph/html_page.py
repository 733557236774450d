"""Self-contained HTML pages: they load nothing and execute no text of the documents that they show."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from typing import Any


def html_page(name: str, data: Any, **texts: str) -> str:
    """Returns the embedded page `name` with its script, its data as JSON, and `texts` in place of {{their names}}."""
    folder = files("docgraph") / "data"
    parts = {key: html.escape(text) for key, text in texts.items()}
    parts["script"] = (folder / f"{name}.js").read_text("utf-8")
    # Only "<" could end the script element; JSON allows any character as an escape.
    parts["data"] = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    template = (folder / f"{name}.html").read_text("utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)
