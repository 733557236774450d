"""The page of a case study: one static HTML file without scripts."""

from __future__ import annotations

import html
from collections.abc import Sequence

from docgraph.research.case_study import FREQUENCIES, MAX_USES, MIN_USES, CaseStudy

STYLE = """
:root { color-scheme: light; --line: #d8dce2; --good: #d3ecd6; --bad: #f9d7d0; --link: #4469b0; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 84rem; padding: 1rem 1.5rem 3rem;
  color: #1b1f24; background: #fff; }
h1 { font-size: 1.35rem; margin: .5rem 0; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
p { max-width: 60rem; }
table { border-collapse: collapse; }
td, th { padding: .45rem .7rem; vertical-align: top; text-align: left; border-bottom: 1px solid var(--line); }
.scroll { overflow-x: auto; }
table.uses { width: 100%; min-width: 44rem; table-layout: fixed; }
table.uses .rail { width: 2.2rem; padding: 0; position: relative; border: 0; }
table.uses .place { width: 6.5rem; color: #57606a; font-size: .88em; }
tbody td.rail::before { content: ""; position: absolute; left: 1rem; top: 0; bottom: -1px;
  border-left: 2px solid var(--link); }
tr.origin .rail::before { top: 1.1rem; } tr.last .rail::before { bottom: auto; height: 1.1rem; }
.rail span { position: absolute; left: .68rem; top: .78rem; width: .55rem; height: .55rem; border-radius: 50%;
  border: 2px solid var(--link); background: #fff; }
tr.origin .rail span { background: var(--link); }
tr.origin td { background: #f4f6fa; } tr.origin td.rail { background: none; }
mark { background: #dfe8fa; padding: 0 .15em; border-radius: .2em; color: inherit; }
mark.expected { background: var(--good); }
mark.other { background: var(--bad); text-decoration: underline wavy #b3261e 1px; }
table.counts td { text-align: right; } td.case, td.opposite { font-weight: 600; }
td.case { background: var(--good); } td.opposite { background: var(--bad); }
footer { margin-top: 1.5rem; color: #57606a; font-size: .9em; }
"""
RELATIONS = {
    "definition": "Each use is linked to the definition (relation “definition”), wherever it is in the document.",
    "lexical": "Each use is linked to the earlier ones, which have the same lemma (relation “lexical”).",
}
EXPECTED = {
    "definition": "the equivalent that the definition prints in brackets",
    "lexical": "the word that the reference is most often aligned with",
}


def to_html(study: CaseStudy, licence: str = "", languages: tuple[str, str] = ("", "")) -> str:
    """Returns the page: the chosen term and its uses in the source and both systems, and the counts of all chains.

    The languages of source and translations tell a screen reader how to read them.
    """
    title = "Case study" if study.chosen is None else f"Case study: “{study.chosen.term}”"
    body = ["<main>", f"<h1>{html.escape(title)}</h1>", *_chosen(study, languages), *_counts(study), "</main>"]
    if licence:
        body.append(f"<footer>{html.escape(licence)}</footer>")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _chosen(study: CaseStudy, languages: tuple[str, str]) -> list[str]:
    chain = study.chosen
    if chain is None:
        return ["<p>No chain fits the rule.</p>"]
    first, second = map(html.escape, study.systems)
    failed = sum(not use.right for use in study.uses[study.systems[0]][1:])
    lead = (
        f"<p>{first} translates the term otherwise than expected in {failed} of {len(chain.uses)} sentences, "
        f"{second} in none. Green: the expected translation; red and underlined: other words that the term is "
        f"aligned with. {RELATIONS[study.relation]}</p>"
    )
    header = (
        f'<tr><td class="rail"></td><th class="place">use</th><th>source</th><th>{first}</th><th>{second}</th></tr>'
    )
    rows = [_row(study, languages, number) for number in range(len(chain.uses) + 1)]
    table = ['<table class="uses">', f"<thead>{header}</thead><tbody>", *rows, "</tbody></table>"]
    return [lead, *_scrolled("Uses of the term", table)]


def _scrolled(name: str, table: Sequence[str]) -> list[str]:
    """Returns a table in a region that scrolls, also by keys, where the page is narrower than the table."""
    return [f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">', *table, "</div>"]


def _row(study: CaseStudy, languages: tuple[str, str], number: int) -> str:
    chain = study.chosen
    assert chain is not None
    sentence, words = (chain.origin, *chain.uses)[number]
    kind = "origin" if number == 0 else "last" if number == len(chain.uses) else ""
    name = "definition" if study.relation == "definition" else "first use"
    back = sentence - chain.origin[0]
    place = name if number == 0 else f"{back} sentence{'s' if back > 1 else ''} later"
    terms = [(*span, "") for span in study.source.characters(words)]
    source_language, target_language = map(html.escape, languages)
    cells = [f'<td lang="{source_language}">{_marked(study.source.sentences[sentence], terms)}</td>']
    for system in study.systems:
        use = study.uses[system][number]
        marks = [(*span, "expected") for span in use.expected] + [(*span, "other") for span in use.other]
        cells.append(f'<td lang="{target_language}">{_marked(use.text, sorted(marks))}</td>')
    rail = f'<td class="rail"><span></span></td><td class="place">{place}</td>'
    return f'<tr class="{kind}">{rail}{"".join(cells)}</tr>'


def _marked(text: str, marks: Sequence[tuple[int, int, str]]) -> str:
    """Returns the text with its marks (begin, end, class); of overlapping marks the first one counts."""
    parts, position = [], 0
    for begin, end, kind in marks:
        if begin >= position:
            mark = f'<mark class="{kind}">{html.escape(text[begin:end])}</mark>'
            parts += [html.escape(text[position:begin]), mark]
            position = end
    return "".join([*parts, html.escape(text[position:])])


def _counts(study: CaseStudy) -> list[str]:
    first, second = map(html.escape, study.systems)
    header = "".join(f"<th>{second} {frequency}</th>" for frequency in FREQUENCIES)
    rows = []
    for one in FREQUENCIES:
        cells = "".join(f'<td class="{_kind(one, other)}">{study.counts[one, other]}</td>' for other in FREQUENCIES)
        rows.append(f"<tr><th>{first} {one}</th>{cells}</tr>")
    return [
        "<h2>How it was chosen, and how often it goes the other way round</h2>",
        f"<p>A chain is a term that at least {MIN_USES} counted sentences of a document use; there are "
        f"{study.chains:,} in {study.documents:,} documents. The expected translation is {EXPECTED[study.relation]}. A "
        "sentence counts if the reference has it, and is right if the system has it as often. A system has it "
        "<i>always</i> if every counted sentence is right, <i>sometimes</i> if some are, <i>never</i> if none is. "
        f"{first} has it sometimes and {second} always in {study.cases}; the other way round in {study.opposite}.</p>",
        *_scrolled("Counts", [f'<table class="counts"><tr><td></td>{header}</tr>{"".join(rows)}</table>']),
        f"<p>Shown: of the {study.cases}, with at most {MAX_USES} sentences, the chain in which {first} fails most "
        "often; ties go to the chain with more sentences, then to the first.</p>",
    ]


def _kind(one: str, other: str) -> str:
    return {("sometimes", "always"): "case", ("always", "sometimes"): "opposite"}.get((one, other), "")
