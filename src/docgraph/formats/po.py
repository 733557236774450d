"""Gettext catalogues (PO, POT): messages without a translation are read; their translations are marked `#, fuzzy`.

Translated, fuzzy and obsolete messages, contexts and comments stay as they are. A plural message gets as many forms as
the header asks for: the first from the singular, the others from the plural.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial

from docgraph.errors import DocgraphError
from docgraph.formats.base import NEWLINE, Edit, Span, names
from docgraph.formats.catalog import Catalog, Unit, catalog_format, decode_text, line_of
from docgraph.languages import LANGUAGE_CODE, base_language

_LINE = re.compile(
    rf"""[ \t]*(?:(?P<comment>\#[^\r\n]*)
    |(?P<keyword>msgctxt|msgid_plural|msgid|msgstr(?:[ \t]*\[[ \t]*(?P<index>\d{{1,3}})[ \t]*\])?|domain)(?=["\s])
    |(?P<string>"(?:[^"\\\r\n]|\\.)*+"))?[ \t]*(?P<end>{NEWLINE})?""",
    re.X,
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.S)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', **{char: f"\\{letter}" for letter, char in _CHARACTERS.items()}})
_CHARSET = re.compile(rb"charset=([A-Za-z0-9_.:-]+)")
_HEADER_CHARSET = re.compile(r"(?<=charset=)[A-Za-z0-9_.:-]+")
_HEADER_LANGUAGE = re.compile(r"(?<![\w-])Language:[ \t]*(?P<code>[\w@.-]*)[ \t]*(?=\\n)")
_PLURAL_FORMS = re.compile(r"(?<=Plural-Forms: )[ \t]*nplurals=INTEGER; plural=EXPRESSION;")
_PLURAL_COUNT = re.compile(r"Plural-Forms:[^\n]{0,80}?nplurals\s*=\s*(\d{1,2})")
_FORMAT_FLAGS = names("c-format objc-format php-format python-format")
"""Flags of messages whose directives begin with a per cent sign."""
_WIDTH = 77

_ONE_FORM = "nplurals=1; plural=0;"
_SLAVIC = "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
_CZECH = "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"
_POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
_PLURALS = {
    **dict.fromkeys(("fr", "pt_br", "tr"), "nplurals=2; plural=(n > 1);"),
    **dict.fromkeys(
        names("bg ca da de el en eo es et eu fi gl he hu it nb nl nn pt sv"), "nplurals=2; plural=(n != 1);"
    ),
    **dict.fromkeys(("id", "ja", "ko", "ms", "th", "vi", "zh"), _ONE_FORM),
    **dict.fromkeys(("be", "bs", "hr", "ru", "sr", "uk"), _SLAVIC),
    **dict.fromkeys(("cs", "sk"), _CZECH),
    "pl": _POLISH,
}
"""Plural rules of the gettext manual, for headers that have none yet."""


@dataclass(slots=True)
class _Message:
    """A keyword with its string."""

    content: str
    start: int
    strings: list[Span] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(_unescape(self.content[start + 1 : end - 1]) for start, end in self.strings)

    @property
    def span(self) -> Span:
        return self.strings[0][0], self.strings[-1][1]


@dataclass(slots=True)
class _Entry:
    """A message with its context, plural and translations."""

    content: str
    comments: list[Span] = field(default_factory=list)
    messages: dict[str, _Message] = field(default_factory=dict)
    """By keyword: msgctxt, msgid, msgid_plural, msgstr, or msgstr[0] and so on."""

    @property
    def translations(self) -> dict[int, _Message]:
        """The translations by plural form."""
        return {
            int(keyword[7:-1] or 0): message
            for keyword, message in self.messages.items()
            if keyword.startswith("msgstr")
        }

    @property
    def is_header(self) -> bool:
        messages = self.messages
        return messages.keys() >= {"msgid", "msgstr"} and "msgctxt" not in messages and not messages["msgid"].text

    @property
    def is_complete(self) -> bool:
        """Whether the message has its strings, so that it can be translated."""
        has_strings = all(message.strings for message in self.messages.values())
        return "msgid" in self.messages and bool(self.translations) and has_strings

    def units(self, forms: int) -> list[Unit]:
        """Return the texts of the message, unless it has a translation.

        `forms` is the number of plural forms by the header; 0 if the header does not say.
        """
        if any(message.text for message in self.translations.values()):
            return []
        singular = self.messages["msgid"].text
        if "msgid_plural" not in self.messages:
            return [Unit(singular, self._write_singular, self._is_format)] if "msgstr" in self.messages else []
        plural = self.messages["msgid_plural"].text
        return [
            Unit(singular, partial(self._write_forms, forms, True), self._is_format),
            Unit(plural, partial(self._write_forms, forms, False), self._is_format),
        ]

    @property
    def _is_format(self) -> bool | None:
        """Whether a flag such as c-format or no-python-format says that the message is a format string or none."""
        flags = {flag for flag in self._flags if flag.removeprefix("no-") in _FORMAT_FLAGS}
        return not any(flag.startswith("no-") for flag in flags) if flags else None

    @property
    def _flags(self) -> set[str]:
        comments = (self.content[start:end] for start, end in self.comments)
        return {flag for text in comments if text.startswith("#,") for flag in re.split(r"[#,\s]+", text)}

    @property
    def newline(self) -> str:
        newline = re.search(NEWLINE, self.content[:10_000])
        return newline[0] if newline else "\n"

    def _write_singular(self, text: str, language: str) -> list[Edit]:
        quoted = self._quote(text, "msgid", len("msgstr "))
        return [(*self.messages["msgstr"].span, quoted), *self._mark_fuzzy()]

    def _write_forms(self, forms: int, is_singular: bool, text: str, language: str) -> list[Edit]:
        """Write the translation of the singular into the first form, or that of the plural into all others."""
        slots = self.translations
        count = forms or int(_plural_rule(language)[9:10] or 0) or max(2, len(slots))
        wanted = range(count) if count == 1 else range(1) if is_singular else range(1, count)
        if count == 1 and is_singular:
            return []
        quoted = self._quote(text, "msgid" if is_singular else "msgid_plural", len("msgstr[0] "))
        edits = [(*slots[index].span, quoted) for index in wanted if index in slots]
        last = max(message.span[1] for message in slots.values())
        missing = [index for index in wanted if index not in slots]
        edits += [(last, last, f"{self.newline}msgstr[{index}] {quoted}") for index in missing]
        for index, message in slots.items():
            if index >= count and not is_singular:  # a form that the language does not have
                line_start = max(self.content.rfind("\n", 0, message.start), self.content.rfind("\r", 0, message.start))
                previous_end = len(self.content[: line_start + 1].rstrip("\r\n"))
                edits.append((previous_end, message.span[1], ""))
        return edits + self._mark_fuzzy()

    def _mark_fuzzy(self) -> list[Edit]:
        comments = {self.content[start : start + 2]: (start, end) for start, end in reversed(self.comments)}
        if "#," in comments:
            start, end = comments["#,"]
            if "fuzzy" in self._flags:
                return []
            return [(start + 2, start + 2, " fuzzy," if self.content[start + 2 : end].strip() else " fuzzy")]
        place = comments["#|"][0] if "#|" in comments else min(m.start for m in self.messages.values())
        return [(place, place, f"#, fuzzy{self.newline}")]

    def _quote(self, text: str, source: str, indent: int) -> str:
        """Return the text as a string, broken into lines if its source is."""
        escaped = text.translate(_ESCAPED)
        if len(self.messages[source].strings) == 1 or (len(escaped) + indent < _WIDTH and "\n" not in text[:-1]):
            return f'"{escaped}"'
        lines = [""]
        for paragraph in re.findall(r"[^\n]*\n|[^\n]+", text):
            line = ""
            for word in re.findall(r" *[^ ]+ *| +", paragraph):
                piece = word.translate(_ESCAPED)
                if line and len(line) + len(piece.rstrip()) > _WIDTH:
                    lines.append(line)
                    line = ""
                line += piece
            lines.append(line)
        return self.newline.join(f'"{line}"' for line in lines)


def scan(data: bytes, name: str) -> Catalog:
    """Read a PO or POT file."""
    declared = _CHARSET.search(data)
    content, encoding = decode_text(data, name, declared[1].decode() if declared else None)
    entries = _entries(content, name)
    header = next((entry for entry in entries if entry.is_header), None)
    head = header.messages["msgstr"].text if header else ""
    count = _PLURAL_COUNT.search(head)
    forms = min(int(count[1]), 10) if count else 0
    units = [unit for entry in entries if not entry.is_header for unit in entry.units(forms)]
    language = re.search(r"^Language:[ \t]*([\w@.-]+)", head, re.M)
    code = language[1] if language and LANGUAGE_CODE.fullmatch(language[1]) else ""
    to_utf8 = _charset_edits(header, _HEADER_CHARSET)
    return Catalog(content, encoding, units, code, partial(_declare, header), declare_utf8=to_utf8)


def _entries(content: str, name: str) -> list[_Entry]:
    """Return the entries that are not obsolete."""
    entries, entry = list[_Entry](), _Entry(content)
    position, current = int(content.startswith("\ufeff")), None
    while position < len(content):
        line = _LINE.match(content, position)
        if line is None or line.end() == position or not (line["end"] or line["keyword"] or line.end() == len(content)):
            raise DocgraphError(
                "this is not a PO file: expected a comment, a keyword such as msgid, or a string in quotes; correct the"
                " line",
                path=name,
                line=line_of(content, position),
            )
        position = line.end()
        if line["string"] and current is not None:
            current.strings.append(line.span("string"))
            continue
        keyword = f"msgstr[{int(line['index'])}]" if line["index"] else line["keyword"] or ""
        begins_entry = line["comment"] is not None or (keyword and not keyword.startswith("msgstr"))
        if begins_entry and any(known.startswith("msgstr") for known in entry.messages):
            entries.append(entry)
            entry = _Entry(content)
        if keyword:
            entry.messages[keyword] = current = _Message(content, line.start("keyword"))
        elif line["comment"] is not None:
            entry.comments.append(line.span("comment"))
            current = None
    return [each for each in [*entries, entry] if each.is_complete]


def _declare(header: _Entry | None, language: str) -> list[Edit]:
    """Fill in what the header of a template leaves open: language, character set and plural forms."""
    if header is None:
        return []
    content, (start, end) = header.content, header.messages["msgstr"].span
    edits = list(_charset_edits(header, re.compile(r"(?<=charset=)CHARSET\b")))
    declared = _HEADER_LANGUAGE.search(content, start, end)
    if declared is None:
        edits.append((end, end, f'{header.newline}"Language: {language}\\n"'))
    elif not declared["code"]:
        edits.append((*declared.span(), f"Language: {language}"))
    rule = _plural_rule(language)
    if rule and (forms := _PLURAL_FORMS.search(content, start, end)):
        edits.append((*forms.span(), rule))
    return edits


def _charset_edits(header: _Entry | None, pattern: re.Pattern[str]) -> tuple[Edit, ...]:
    charset = pattern.search(header.content, *header.messages["msgstr"].span) if header else None
    return ((*charset.span(), "UTF-8"),) if charset else ()


def _plural_rule(language: str) -> str:
    """Return the plural rule of a language; empty if it is not known."""
    return _PLURALS.get(language.lower().replace("-", "_")) or _PLURALS.get(base_language(language), "")


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1] or match[2]:
            return chr(int(match[1], 8) if match[1] else int(match[2], 16))
        return _CHARACTERS.get(match[3], match[3])

    return _ESCAPE.sub(character, text)


PO = catalog_format("po", (".po", ".pot"), scan, mnemonics=("&", "_"))
