"""A small file of each text format, random mixtures of its tokens for hypothesis, and hand-made DOCX files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from zipfile import ZIP_DEFLATED, ZipFile

from hypothesis import strategies as st

LINES = """Alice was beginning to get very tired.
She had nothing to do.

The White Rabbit ran close by her.
It had pink eyes.
"""

TEXT = """CHAPTER I. Down the Rabbit-Hole

Alice was beginning to get very tired of sitting by her sister on the bank, and
of having nothing to do: once or twice she had peeped into the book her sister
was reading, but it had no pictures or conversations in it. So she was
considering in her own mind whether the pleasure of making a daisy-chain would
be worth the trouble of getting up.

There was nothing so VERY remarkable in that.
"""

MARKDOWN = """---
title: Rabbit hole
---

# The *White* Rabbit

Alice saw a **white rabbit** with [pink eyes](https://example.org/eyes "its eyes"). Run `follow --now` to go
after it. It said: 2 \\* 2 &amp; more.

> Oh dear! I shall be
> too late!

- a *watch*
- [x] a waistcoat-pocket

| thing | price |
|-------|-------|
| watch | 5     |

```sh
echo "Down the hole."
```

<!-- not for readers -->
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
- Oh dear! Oh dear!
- <i>I shall be</i>

2
00:00:02,600 --> 00:00:04,000
<i>too late</i> for the party,
said the rabbit.

3
00:00:09,000 --> 00:00:10,000
[clock ticks]
"""

VTT = """WEBVTT - Alice

NOTE made by hand

STYLE
::cue { color: lime }

intro
00:01.000 --> 00:02.500 align:start
<v Alice>Curiouser &amp; curiouser, said

00:02.600 --> 00:04.000
<v Alice>Alice to <b>herself</b>.

00:04.100 --> 00:05.000
<v.loud Queen>Off with her head!
"""

HTML = """<!DOCTYPE html>
<html lang="en"><head><title>Down the Rabbit-Hole</title><style>p > b { color: red }</style></head>
<body>
<h1>Alice &amp; the Rabbit</h1>
<p class="first">Alice saw a <b>white <i>rabbit</i></b>, run by <code>follow()</code> now. It&nbsp;had
   pink eyes.<br>It was late.</p>
<script>if (a < b) { document.write("<p>No. Yes.</p>") }</script>
<pre>Keep   this. And this.</pre>
<ul><li>One watch<li>Two gloves</ul>
</body></html>
"""

MDX = """import Tabs from '@theme/Tabs';

export const Colour = ({children}) => (
  <b style={{color: 'red'}}>

    {children}
  </b>
);

# The **White** Rabbit {/* #rabbit */}

<Tabs
  values={[
    {label: 'One', value: 'one'},
  ]}>
    <TabItem value="one">
      Alice saw a <Colour>white</Colour> rabbit of {props.size}.
    </TabItem>
</Tabs>

{/* a comment

that goes on */}

<Card title="Getting started" href="/start" />

It said: \\{ and 2 &lt; 3.
"""

EXAMPLES = {
    "lines": LINES,
    "text": TEXT,
    "markdown": MARKDOWN,
    "mdx": MDX,
    "srt": SRT,
    "vtt": VTT,
    "html": HTML,
}

_ANY = [
    "Alice saw it.",
    "word",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\t",
    "é",
    "她走了。",
    "😀",
    "שלום",
    "\0",
    "\u2028",
    "\u00a0",
]
_ANY += ["\ufeff", "Dr. J.\u00a0K. ", "? ", "...", "“", "\x0b", "\u0301", "-", "\x85"]
_TOKENS = {
    "lines": "",
    "text": "A line that is long enough to look like hard-wrapped prose, with\n¦    ",
    "markdown": "*¦**¦_¦~~¦`¦```¦~~~¦$¦$$¦[¦]¦](¦(x)¦![¦\\¦\\*¦&amp;¦&¦&#0;¦# ¦## ¦> ¦- ¦1. ¦|¦|-|¦---¦===¦<b>¦</b>"
    '¦<!--¦-->¦<div>¦<pre>¦[^1]¦[a]: http://x.y¦[a]¦\\\n¦+++¦www.x.y¦!!! note "¦??? tip\n    ¦=== "¦"\n¦/// note | ¦///'
    "¦:::tip ¦:::¦{: .a }¦    ¦[^1]: ¦: ¦{% raw %}¦{% endraw %}¦{{< x >}}¦==¦++a++¦import 'x'\n¦import {\n¦--8<--",
    "mdx": "*¦**¦`¦```¦[¦](x)¦\\¦# ¦> ¦- ¦<A>¦</A>¦<A b={¦}>¦{¦}¦'¦\"¦</¦/>¦<b>¦</b>¦<!--¦-->¦<pre>¦    ¦import 'x'\n"
    "¦export const a = ¦import {\n¦{/*¦*/}¦`¦=> ¦\\{¦:::tip¦---¦|¦|-|",
    "srt": "1\n¦00:00:01,000 --> 00:00:02,000\n¦00:00:09,000 --> 00:00:10,000\n¦<i>¦</i>¦{\\an8}¦- ¦[x]¦♪¦<¦-->¦12",
    "vtt": "WEBVTT\n¦00:01.000 --> 00:02.000\n¦01:00:01.000 --> 01:00:02.000 align:left\n¦NOTE ¦STYLE\n¦<v Al>¦<b>¦</b>"
    "¦&lt;¦&¦<¦>¦<00:01.500>¦- ¦-->",
    "html": "<p>¦</p>¦<b>¦</b>¦<i ¦</i>¦<¦>¦&¦&amp;¦&#65;¦&#0;¦&nope;¦<br>¦<br/>¦<!--¦-->¦<!DOCTYPE ¦<code>¦</code>"
    "¦<pre>¦</pre>¦<script>¦</script>¦<a href='x>y'>¦\"¦'¦<span translate=no>¦</span>¦<?pi?>¦<title>¦</title>",
}


def soup(format: str) -> st.SearchStrategy[str]:
    """Draw hostile sources: tokens of the format in any order, words, and random characters."""
    tokens = st.sampled_from(_TOKENS[format].split("¦") * 2 + _ANY)
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    return st.lists(tokens | anything, max_size=40).map("".join)


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def run(text: str, bold: bool = False) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    properties = "<w:rPr><w:b/></w:rPr>" if bold else ""
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<w:r>{properties}<w:t{space}>{escaped}</w:t></w:r>"


def docx(paragraphs: Sequence[Sequence[str]], footnote: str = "", extra: dict[str, bytes] | None = None) -> bytes:
    """Return a DOCX file whose paragraphs consist of runs, every second one bold."""
    body = "".join(f"<w:p>{''.join(run(t, i % 2 == 1) for i, t in enumerate(runs))}</w:p>" for runs in paragraphs)
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    parts = {
        "[Content_Types].xml": b"<Types/>",
        "word/document.xml": f"{head}<w:document {W}><w:body>{body}</w:body></w:document>".encode(),
        "word/footnotes.xml": f"{head}<w:footnotes {W}><w:p>{run(footnote)}</w:p></w:footnotes>".encode(),
        "word/media/image.png": bytes(range(256)),
        **(extra or {}),
    }
    return archive(parts)


def archive(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return buffer.getvalue()
