"""Language codes."""

from __future__ import annotations

import re

LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_@][A-Za-z0-9]{1,8})*")
"""The code of a language, with or without script and region: en, pt-BR, zh_Hans, sr@latin."""


def base_language(code: str) -> str:
    """Returns a code without region and script, in lower case: en for EN-us and en_GB."""
    return re.split("[-_@]", code.strip())[0].lower()
