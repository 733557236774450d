"""Blocks that CommonMark does not know: admonitions, tabs, footnotes, definitions, containers, math, ES modules.

The rules extend the block parser of markdown-it-py. What they find are these tokens, with lines as `Token.map`:

| token | |
|---|---|
| `container_open`, `container_close` | around the blocks of an indented body |
| `block_title` | text in the first line of a block; `meta["span"]` is its distance from the end of the line |
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from docgraph.formats.markdown_inline import ATTRIBUTES

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

_BODY_INDENT = 4
_CLASSES = r"[\w-]++(?:[ \t]++[\w-]++)*+"
_TITLED = re.compile(
    rf'(?:(?:!!!|\?\?\?\+?)[ \t]*+(?:{_CLASSES})?+|={{3}}[+!]{{0,2}})[ \t]*+"(?P<title>.*)"[ \t]*$'
    rf"|(?:!!!|\?\?\?\+?)[ \t]*+{_CLASSES}[ \t]*$"
)
"""First line of an indented body: `!!! note "Title"`, `??? tip`, `=== "Tab"`."""
_MARKER = re.compile(r"(?:\[\^[^\]\s]+\]:|\*\[[^\]\n]+\]:|:(?=[ \t]))[ \t]*")
"""Before the text of a footnote, an abbreviation or a definition, which goes on in an indented body."""
_NAMES = "note|tip|info|important|warning|caution|danger|success|question|example|details|attention|hint|error|seealso"
_LINE = re.compile(
    rf":{{3,}}[ \t]*(?:(?:{_NAMES})[ \t]+(?P<words>[^\s{{]++(?:[ \t]++[^\s{{]++)*+)|[\w-]+\[(?P<label>.*)\])"
    r"[ \t]*+(?:\{[^{}]*\})?[ \t]*$"
    r"|:{3,}.*$"
    r"|/{3,}[ \t]*(?:(?!html\b)[\w-]+[ \t]*\|[ \t]*(?P<header>.*)|[\w-]+(?:[ \t]*\|.*)?)?$"
    rf"|(?:{ATTRIBUTES})[ \t]*$"
    r"|;?-{1,}8<-{1,}(?:[ \t].*)?$"
    r"|(?i:\[TOC\]|\[\[_?TOC_?\]\])[ \t]*$"
    r"|(?:(?:\{\{[<%].{0,999}?[>%]\}\}|\{(?P<mark>[%*!]).{0,999}?(?P=mark)\})[ \t]*)++$"
)
"""Lines that are structure: fences of containers, attributes of the block above, included files, tags of templates."""
_HEADING = re.compile(r"#{1,6}[ \t]+")
_RAW = (
    (re.compile(r"\$\$(?!.*\$\$)"), re.compile(r"\$\$")),
    (re.compile(r"-+8<-+[ \t]*$"), re.compile(r"^[ \t]*-+8<-+[ \t]*$")),
    (re.compile(r"\{%-?\s*(?:highlight|raw|comment)\b"), re.compile(r"\{%-?\s*end(?:highlight|raw|comment)\b")),
    (re.compile(r"\{\{[<%]\s*highlight\b"), re.compile(r"\{\{[<%]\s*/\s*highlight\b")),
)
"""First and last line of blocks that are not prose: math, lists of included files, code of Jekyll and Hugo."""
_MODULE = re.compile(
    r"""import\s*+(?:[\w$*{}\s,]+?\bfrom\s*)?["'][^"'\n]+["'];?[ \t]*(?://.*)?$|import\s*(?:type\s*)?\{[^}"']*$"""
    r"""|export\s+(?:(?:const|let|var)\s+[\w${\[][^=\n]*=|(?:async\s+)?function\b\s*\*?\s*\w*\(|class\s+\w+[^\n]*\{"""
    r"""|default\s+(?:(?:async\s+)?function\b|class\b|[({\[]|\w+\s*(?:=>|[;(])|[A-Z]\w*[ \t]*$)|\{[^}\n]*(?:\}|$)"""
    r"""|\*\s*(?:as\s+\w+\s+)?from\s*["'])"""
)
_CODE = re.compile(
    r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|//[^\n]*|/\*(?:[^*]|\*(?!/))*+"""
    r"""|(?P<blank>\n[ \t]*(?=\n))|(?P<open>[(\[{])|(?P<close>[)\]}])""",
    re.S,
)


def add_rules(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    interrupted = ["paragraph", "reference", "blockquote", "list"]
    for name, rule in [("raw", _raw), ("line", _line), ("indented", _indented), ("note", _note)]:
        parser.block.ruler.before("fence", name, rule, {"alt": interrupted})
    parser.block.ruler.before("fence", "module", _module)


def _line_text(state: StateBlock, line: int) -> str:
    """Return a line without its indentation and the markers of the blocks around it."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _raw(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    text = _line_text(state, start)
    for first, last in _RAW:
        if not first.match(text) or last.search(text, 2):
            continue
        scanned = (last, state.blkIndent, end)
        if scanned in state.env.setdefault("unended", set()):
            return False
        for line in range(start + 1, end):
            if not state.isEmpty(line) and state.sCount[line] < state.blkIndent:
                break
            if last.search(_line_text(state, line)):
                state.line = start if silent else line + 1
                return True
        state.env["unended"].add(scanned)
    return False


def _line(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    match = None if state.is_code_block(start) else _LINE.match(_line_text(state, start))
    if match and not silent:
        state.line = start + 1
        _push_title(state, start, match)
    return match is not None


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = None if state.is_code_block(start) else _TITLED.match(_line_text(state, start))
    if match is None:
        return False
    indent = state.sCount[start] + _BODY_INDENT
    body_end = _body_end(state, start + 1, end, indent)
    if body_end == start + 1 and match["title"] is None:
        return False
    if not silent:
        _push_title(state, start, match)
        _push_body(state, start + 1, body_end, indent)
        state.line = body_end
    return True


def _body_end(state: StateBlock, start: int, end: int, indent: int) -> int:
    """Return the line after the last one that is indented, from a line on."""
    body_end = start
    for line in range(start, end):
        if not state.isEmpty(line):
            if state.sCount[line] < indent:
                break
            body_end = line + 1
    return body_end


def _note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = None if state.is_code_block(start) else _MARKER.match(_line_text(state, start))
    if match is None or silent:
        return match is not None
    saved = state.bMarks[start], state.tShift[start], state.sCount[start]
    indent = state.sCount[start] + _BODY_INDENT
    position = state.bMarks[start] + state.tShift[start] + match.end()
    state.bMarks[start], state.tShift[start], state.sCount[start] = position, 0, indent
    # The text may go on without indentation, as that of a list item.
    _push_body(state, start, end, indent)
    state.bMarks[start], state.tShift[start], state.sCount[start] = saved
    state.line = max(state.line, start + 1)
    return True


def _push_title(state: StateBlock, line: int, match: re.Match[str]) -> None:
    """Add a token for the title of a block, if it has one."""
    groups = match.groupdict()
    if name := next((name for name in ("title", "words", "label", "header") if (groups.get(name) or "").strip()), None):
        length = len(match.string)
        title = state.push("block_title", "", 0)
        title.map = [line, line + 1]
        heading = _HEADING.match(match[name])
        begin = match.start(name) + (heading.end() if heading else 0)
        title.meta = {"span": (length - begin, length - match.end(name))}


def _push_body(state: StateBlock, start: int, end: int, indent: int) -> None:
    """Add the tokens of the blocks inside a body."""
    saved = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = indent, end, "container"
    state.push("container_open", "", 1)
    state.line = start
    state.md.block.tokenize(state, start, end)
    state.push("container_close", "", -1)
    state.blkIndent, state.lineMax, state.parentType = saved


def _module(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Skip `import` and `export` of JavaScript, up to a blank line outside brackets."""
    if silent or state.level or state.sCount[start] or not _MODULE.match(_line_text(state, start)):
        return False
    state.line = min(bisect_left(state.bMarks, _end_of_code(state, state.bMarks[start])), end)
    return True


def _end_of_code(state: StateBlock, start: int) -> int:
    depth, first_blank = 0, len(state.src)
    for match in _CODE.finditer(state.src, start):
        depth += (match["open"] is not None) - (match["close"] is not None)
        if match["blank"] is not None:
            first_blank = min(first_blank, match.end())
            if depth <= 0 or "unbalanced" in state.env:
                return match.end()
    if depth > 0:
        state.env["unbalanced"] = True
    return first_blank if depth > 0 else len(state.src)
