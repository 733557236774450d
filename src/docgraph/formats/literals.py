"""Literals: addresses, placeholders, tags and identifiers in running text, which every translation keeps as they are.

The patterns are strings without groups and anchors, so that parsers can use them as parts of theirs.
"""

from __future__ import annotations

import re

_TEMPLATE_TAG = r"\{\{(?:[^{}]|\{[^{}]*\}){0,999}\}\}|\{%[^%]{0,999}%\}"
"""Jinja, Liquid, Handlebars and Hugo: `{{ title }}`, `{{< figure >}}`, `{% include x %}`."""
_VARIABLE = r"(?:\$|(?<![\d%])%)?\{[A-Za-z_0-9][\w.:!-]{0,99}(?:<\w{1,40}>)?\}|(?<![\w$])\$[A-Z][A-Z0-9_]{1,99}(?!\w)"
"""`{0}`, `{name}`, `${HOME}`, `%{count}`, `$HOME`; `{Array<String>}`, the type of a parameter."""
_SIZE = r"[#0+-]{0,3}\d{0,3}(?:\.\d{1,3})?"
FORMAT = (
    rf"(?<![\d%])%(?:\d{{1,2}}\$)?{_SIZE}(?:(?:hh?|ll?|z)?[diu]|[sfgcrxX@])(?!\w)"
    rf"|(?<!%)%\([A-Za-z_]\w{{0,99}}\){_SIZE}(?:l{{1,2}}[diu]|[diufgcrsxX])"
)
"""`%s`, `%1$d`, `%lu`, `%(name)s`; not the per cent sign of `5% down`. Letters may follow a name: `%(folder)sindex`."""
_EMOJI = r"(?<![\w:]):[a-z][a-z0-9_+-]{1,40}:(?![\w:])"
_IDENTIFIER = r"(?<![\w./@-])[A-Za-z][A-Za-z0-9]*+(?:_++[A-Za-z0-9]++)++(?:\(\))?(?![\w@/\\-])(?!\.\w)"
"""Words with underscores inside: `foo_bar`, `MAX_SIZE`, `read_file()`."""
_BEFORE_OPTION = r"(?<![^\s([\"'|,/])"
_OPTION = (
    rf"{_BEFORE_OPTION}--[A-Za-z][A-Za-z0-9]*+(?:[-_][A-Za-z0-9]++)*+(?:=<[\w-]{{1,40}}>)?(?![\w.]\w)(?![\w@/-])"
    rf"|{_BEFORE_OPTION}-[A-Za-z]<[\w-]{{1,40}}>"
)
"""Options of commands: `--prof-process`, `--max-depth=<n>`, `-D<n>`."""
_IN_STRINGS = r"(?:\$|(?<![\d%])%)?\{[\w.:!$-]{0,99}\}|\$[A-Za-z_]\w{0,99}|(?<![\d%])%\d(?!\w)"
"""Placeholders of program strings that would be too general for prose: `{}`, `$name`, `%1`."""
_BLANK_PART = r"(?:_{2,}+|\.{5,}+|X{3,}+|x{4,}+)"
_BLANK = rf"(?<![\w.])\(?{_BLANK_PART}\)?(?:[ ]?[/.:-]?[ ]?\(?{_BLANK_PART}\)?)*+(?![\w.])"
"""Lines to be filled in: `____/____/____`, `(___) ___-____`, `..........`, and text made unreadable: `XXXX`."""
_TOPIC = r"(?<![\w&/#])#[A-Za-z]\w{11,40}(?![\w#/-])"
"""Topics of several words in messages: `#throwbackthursday`; #climate is a word."""
_CALL = r"(?<![\w.])[A-Za-z_][\w.]{0,99}+\(\)"
_UNDERSCORES = r"(?<!\w)\w*[^\W_]_+[^\W_]\w*|__\w+__"
"""Any word with underscores inside, in other scripts and beside slashes, too, and `__name__`."""
_CAMEL_CASE = r"(?<![\w./@-])(?:[A-Za-z]\w*+\.)*?[a-z][a-z0-9]++[A-Z]\w*+(?:\.\w++)*+(?![@/-])"
"""`peerDependencies`, `fs.readFile`; not kB and iPhone."""
_QUALIFIED = r"(?<![\w./@:-])[a-z][a-z0-9]++(?:(?:\.|::?)[a-z][a-z0-9]++)++(?:/[\w-]++(?:\.\w++)*+)?(?![\w@-])(?!\.\w)"
"""Names with a dot or colon inside: `response.writable`, `migrate:up`, `std::move`."""
_VERSION = r"(?<=.)(?<![\w.,/-])(?:\d++(?:\.\d++){2,}|v\d++(?:\.\d++)*+)(?:-\w++(?:\.\w++)*+)?(?!\w|[.,]\d)"
"""`10.8.5`, `v4.1`; not at the start of a text, where it is the number of a heading."""
_CODE = (
    r"(?<![\w+/=.-])(?=[A-Za-z+/=]*\d)(?=[\d+/=]*[A-Za-z])[A-Za-z0-9+/=]{16,}+(?![\w-])"
    r"|(?<![\w-])(?=[A-Z-]*\d)(?=[\d-]*[A-Z])(?=[A-Z0-9-]{10})[A-Z0-9]{1,12}(?:-[A-Z0-9]{1,12}){2,9}(?![\w-])"
    r"|(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])"
    r"|(?<!\w)[A-Za-z0-9][A-Za-z0-9+/=_]{63,}+"
)
"""Keys, digests, serial numbers and what is too long for a word: `9f86d081884c7d65`, `8F3K-22LQ-9XZZ-71AB`."""
_FORMULA = r"(?<![\w=<>!])=[A-Z][A-Z0-9.]{1,40}\((?:[^()\n]|\((?:[^()\n]|\([^()\n]{0,200}\)){0,200}\)){0,300}\)"
"""Formulas of spreadsheets: `=SUM(A1:A5)`."""
_PATH_PART = r"[^\s\\/:*?\"<>|,;]+"
_WINDOWS_PATH = (
    r"(?<![\w\\])(?:[A-Za-z]:\\{1,2}|\\\\(?=\w))"
    rf"(?:{_PATH_PART}(?: {_PATH_PART}(?=\\))?\\{{1,2}})*(?:{_PATH_PART}(?<![.!)'\]]))?"
)
"""Paths of Windows: `C:\\Program Files\\Acme`, `\\\\server\\share`."""

PLACEHOLDER = "|".join([_TEMPLATE_TAG, _VARIABLE, FORMAT, _EMOJI, _IDENTIFIER, _OPTION])
"""What parsers of prose hide from the model."""
TAG = r"</?(?:[A-Za-z][^<>\n]{0,200}|\d{1,3}/?)>"
MAIL_ADDRESS = r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"


def web_address(stop: str = "", trailing: str = "") -> str:
    """Return a pattern of web addresses, which end before the characters `stop`, and not with those in `trailing`.

    Both are written as in a character class; white space, angle brackets, quotes and final punctuation are included.
    """
    return rf"(?:https?://|ftp://|www\.)[^\s<>\"{stop}]*[^\s<>\".,;:!?)'\]{stop}{trailing}]"


ADDRESS = f"{MAIL_ADDRESS}|{web_address()}"
LITERAL = re.compile(
    f"{ADDRESS}|{_WINDOWS_PATH}|{_BLANK}|{_TOPIC}|{PLACEHOLDER}|{_IN_STRINGS}|{TAG}"
    f"|{_CALL}|{_UNDERSCORES}|{_CAMEL_CASE}|{_QUALIFIED}|{_VERSION}|{_CODE}|{_FORMULA}"
)
"""Everything that a translation must contain as its source does."""
_ONLY_ADDRESS = re.compile(r"\s*<?(?:[a-z][a-z0-9+.-]*://\S+|www\.\S+|\S+@\S+\.\w+)>?\s*", re.IGNORECASE)
_ONLY_IDENTIFIER = re.compile(r"\s*[\w./\\~:+-]{0,120}(?:\w\.[a-z]\w{1,4}|\w_\w{1,40})\s*")
_ONLY_CAMEL_CASE = re.compile(r"\s*(?:[a-z]+|[A-Z]+(?=[A-Z])|[A-Z][a-z]+)(?:[A-Z][a-z0-9]+)+(?:\(\))?\s*")
_ONLY_SIGNATURE = re.compile(r"\s*(?:new )?[A-Za-z_][\w.]*\((?:[\w.]{3,}|[^()]*[\[\],=:][^()]*)\)\s*")
_ARGUMENT = re.compile(r"\[[^\[\]]{0,200}\]|<[\w -]{1,40}>|\([^()]{0,200}\)|…|\.\.\.")
_COMMAND = re.compile(r"[a-z][\w-]*(?: [a-z][\w-]*){0,2}\s*")


def is_only_literal(text: str) -> bool:
    """Return whether a text is an address, a file name, an identifier or the synopsis of a command, no more.

    Examples are docs/results.md, max_positions, FormData, `new Request(input[, options])` and `pop [-q|--quiet]`.
    """
    patterns = (_ONLY_ADDRESS, _ONLY_IDENTIFIER, _ONLY_CAMEL_CASE, _ONLY_SIGNATURE)
    return any(pattern.fullmatch(text) for pattern in patterns) or _is_synopsis(text)


def _is_synopsis(text: str) -> bool:
    """Return whether a text is a command with its options and arguments in brackets."""
    if not re.search(r"[\[|(<]--?\w|<[\w-]+>", text):
        return False
    rest, before = text, ""
    while rest != before:
        before, rest = rest, _ARGUMENT.sub(" ", rest)
    return rest != text and _COMMAND.fullmatch(rest.strip()) is not None and len(rest.split()) <= 2
