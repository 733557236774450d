"""Placeholders, template tags and identifiers in running text, which every translation keeps as they are."""

from __future__ import annotations

_TEMPLATE_TAG = r"\{\{(?:[^{}]|\{[^{}]*\}){0,999}\}\}|\{%[^%]{0,999}%\}"
"""Jinja, Liquid, Handlebars and Hugo: `{{ title }}`, `{{< figure >}}`, `{% include x %}`."""
_VARIABLE = r"\$?\{[A-Za-z_0-9][\w.:!-]{0,99}\}|(?<![\w$])\$[A-Z][A-Z0-9_]{1,99}(?!\w)"
"""`{0}`, `{name}`, `${HOME}`, `$HOME`."""
_FORMAT = r"%(?:\([A-Za-z_]\w{0,99}\)|\d{1,2}\$)?[#0+-]{0,3}\d{0,3}(?:\.\d{1,3})?[sdifgxu@](?![\w])"
"""`%s`, `%(name)s`, `%1$d`; not the per cent sign of `5% down`."""
_EMOJI = r"(?<![\w:]):[a-z][a-z0-9_+-]{1,40}:(?![\w:])"
_IDENTIFIER = r"(?<![\w./@-])[A-Za-z][A-Za-z0-9]*+(?:_++[A-Za-z0-9]++)++(?:\(\))?(?![\w@/-])(?!\.\w)"
"""Words with underscores inside: `foo_bar`, `MAX_SIZE`, `read_file()`."""
_OPTION = r"(?<![^\s([\"'])--[A-Za-z][A-Za-z0-9]*+(?:[-_][A-Za-z0-9]++)*+(?![\w.]\w)(?![\w@/-])"
"""Long options of commands: `--prof-process`."""

PLACEHOLDER = "|".join([_TEMPLATE_TAG, _VARIABLE, rf"(?<![\w%]){_FORMAT}", _EMOJI, _IDENTIFIER, _OPTION])
"""A pattern of all of them, without groups and without anchors."""
