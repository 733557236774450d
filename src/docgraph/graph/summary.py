"""What a document graph is like, in numbers: counted from cliques, never from expanded edges, so in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from docgraph.annotation import Annotation, BoolArray, IntArray, chains
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.lexical import Lexical
from docgraph.graph.links import Cliques, Edges
from docgraph.graph.relations import RELATIONS, Links
from docgraph.graph.stopwords import is_function_word

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Link:
    """One edge between words: their texts and sentences (from 0)."""

    source: str
    target: str
    source_sentence: int
    target_sentence: int

    @property
    def distance(self) -> int:
        return abs(self.target_sentence - self.source_sentence)


@dataclass(frozen=True)
class RelationSummary:
    """One relation, or the union: its edges, those between sentences, and the longest of them."""

    name: str
    edges: int
    between_sentences: int
    longest: Link | None
    """Of lexical links, the longest between content words: a comma reaches from end to end of any document."""

    @property
    def inter_share(self) -> float:
        return self.between_sentences / self.edges if self.edges else 0.0


@dataclass(frozen=True)
class WordSummary:
    """A word in all its occurrences: how often, in how many sentences, with how many edges in the union."""

    text: str
    occurrences: int
    sentences: int
    links: int


@dataclass(frozen=True)
class GraphSummary:
    """A document graph in numbers."""

    words: int
    sentences: int
    relations: tuple[RelationSummary, ...]
    union: RelationSummary
    connected: tuple[WordSummary, ...]
    """Words with the most edges; punctuation is left out, and function words where they are known."""
    content_known: bool
    """Whether parts of speech tell function words from content words."""
    chains: tuple[tuple[tuple[str, int], ...], ...]
    """Coreference chains, longest first: (word, sentence) of each mention's head."""
    isolated: tuple[tuple[str, int], ...]
    """(word, sentence) of words with no edge but the one to their sentence."""
    notes: tuple[str, ...]


def summarise(graph: DocumentGraph, annotation: Annotation, top: int = 8) -> GraphSummary:
    """The summary of a graph made from `annotation`."""
    content = ~is_function_word(annotation)
    rows = tuple(_relation(graph, name, [links], content) for name, links in graph.relations.items())
    parts: list[Links] = [graph.explicit, *([graph.lexical] if graph.lexical is not None else [])]
    union = _relation(graph, "union", parts, content)
    sentence_of, forms = graph.sentence_of.tolist(), annotation.forms
    found = [[(forms[word], sentence_of[word]) for word in chain] for chain in chains(annotation)]
    # Every word has its edge to the sentence node: one that is alone has no other.
    alone = np.flatnonzero((graph.degrees[0] + graph.degrees[1])[: graph.num_words] <= 1)
    return GraphSummary(
        graph.num_words,
        graph.num_sentences,
        rows,
        union,
        tuple(_connected(graph, annotation, content, top)),
        annotation.upos is not None,
        tuple(tuple(chain) for chain in found) if "coreference" in graph.relations else (),
        tuple((forms[word], sentence_of[word]) for word in alone.tolist()),
        tuple(dict.fromkeys((*annotation.notes, *missing(graph, annotation)))),
    )


def missing(graph: DocumentGraph, annotation: Annotation) -> Iterator[str]:
    """One line for each relation that is empty because its layer was not annotated, unless a note says so already."""
    for name in graph.relations:
        layer = RELATIONS[name].requires if name in RELATIONS else "words"
        if layer not in annotation.layers and not any(layer in note or name in note for note in annotation.notes):
            yield f"no {name} links: the annotation has no {layer}"


def _relation(graph: DocumentGraph, name: str, parts: list[Links], content: BoolArray) -> RelationSummary:
    edges = sum(len(part) for part in parts)
    inside = sum(_within_sentences(graph, part) for part in parts)
    longest = max(
        (_longest(graph, part, content) for part in parts), key=lambda link: link.distance if link else 0, default=None
    )
    return RelationSummary(name, edges, edges - inside, longest if longest and longest.distance else None)


def _within_sentences(graph: DocumentGraph, links: Links) -> int:
    """How many edges stay in one sentence."""
    if isinstance(links, Lexical):
        return sum(sign * _clique_edges_within(graph, cliques) for sign, cliques in links.signed)
    owner = graph.sentence_of_node
    return int((owner[links.source] == owner[links.target]).sum())


def _clique_edges_within(graph: DocumentGraph, cliques: Cliques) -> int:
    """Edges of cliques inside a sentence: a run of r members in one sentence has r(r-1)/2."""
    sentence = graph.sentence_of[cliques.nodes]
    linked = cliques.received > 0
    same = np.zeros(len(sentence), dtype=np.bool_)
    same[1:] = linked[1:] & (sentence[1:] == sentence[:-1])
    sizes = np.diff(np.append(np.flatnonzero(~same), len(same)))
    return int((sizes * (sizes - 1) // 2).sum())


def _longest(graph: DocumentGraph, links: Links, content: BoolArray) -> Link | None:
    """The edge between the sentences furthest apart, the first of them on a tie; lexical ones join content words."""
    if isinstance(links, Lexical):
        links = Edges.join(_furthest(links, key, content) for key in links.keys)
    if not len(links):
        return None
    owner = graph.sentence_of_node
    at = int(np.argmax(np.abs(owner[links.target] - owner[links.source])))
    source, target = int(links.source[at]), int(links.target[at])
    return Link(graph.text(source), graph.text(target), int(owner[source]), int(owner[target]))


def _furthest(lexical: Lexical, key: IntArray, content: BoolArray) -> Edges:
    """The longest edge each content word receives from one of the same form, or the same lemma."""
    words = np.flatnonzero(content & (key >= 0))
    cliques = Cliques.of_keys(words, [key[words]], lexical.position[words], lexical.reach)
    linked = np.flatnonzero(cliques.received)
    return Edges(cliques.nodes[cliques.first[linked]], cliques.nodes[linked])


def _connected(graph: DocumentGraph, annotation: Annotation, content: BoolArray, top: int) -> Iterator[WordSummary]:
    """The content words with the most edges, all occurrences of a lemma together."""
    column = annotation.lemmas if annotation.lemmas is not None else annotation.forms
    keep = np.flatnonzero(content)
    ids, size = column.ids[keep], len(column.table)
    links = (graph.degrees[0] + graph.degrees[1])[keep]
    total = np.bincount(ids, weights=links, minlength=size).astype(np.int64)
    counts = np.bincount(ids, minlength=size)
    pairs = np.unique(ids.astype(np.int64) * max(graph.num_sentences, 1) + graph.sentence_of[keep])
    sentences = np.bincount(pairs // max(graph.num_sentences, 1), minlength=size)
    for index in np.argsort(-total, kind="stable")[:top].tolist():
        if counts[index]:
            yield WordSummary(column.table[index], int(counts[index]), int(sentences[index]), int(total[index]))


def render(summary: GraphSummary, title: str, shown_chains: int = 6) -> Iterator[RenderableType]:
    """The summary as Rich tables; sentences count from 1, as a reader does."""
    from rich.table import Table

    yield f"[bold]{_shown(title)}[/]: {summary.words:,} words and {summary.sentences:,} sentences"
    table = Table(title="Relations", title_justify="left")
    for column in ("relation", "edges", "between sentences", "longest link, in sentences"):
        table.add_column(column, justify="right" if column in ("edges", "between sentences") else "left")
    for row in summary.relations:
        table.add_row(*_cells(row))
    table.add_section()
    table.add_row(*_cells(summary.union), style="bold")
    yield table
    if summary.connected:
        kind = "content words" if summary.content_known else "words, punctuation left out"
        table = Table(title=f"Most connected {kind}", title_justify="left")
        table.add_column("word")
        for column in ("occurrences", "sentences", "edges"):
            table.add_column(column, justify="right")
        for word in summary.connected:
            table.add_row(_shown(word.text), f"{word.occurrences:,}", f"{word.sentences:,}", f"{word.links:,}")
        yield table
    if summary.chains:
        table = Table(title=f"Coreference chains: {len(summary.chains):,}", title_justify="left")
        table.add_column("mentions", justify="right")
        table.add_column("head words (sentence)")
        for chain in summary.chains[:shown_chains]:
            table.add_row(str(len(chain)), _shown(_listing(chain, " → ", 8)))
        yield table
    if summary.isolated:
        noun = "isolated word" if len(summary.isolated) == 1 else "isolated words"
        yield f"{len(summary.isolated):,} {noun}: {_shown(_listing(summary.isolated, ', ', 8))}"
    for note in summary.notes:
        yield f"[yellow]note:[/] {_shown(note)}"


def render_many(summaries: Sequence[tuple[str, GraphSummary]]) -> RenderableType:
    """One line a document, and a last one for all of them."""
    from rich.table import Table

    table = Table(title=f"{len(summaries):,} documents", title_justify="left")
    table.add_column("document")
    for column in ("words", "sentences", "edges", "between sentences", "longest link", "chains"):
        table.add_column(column, justify="right")
    total = np.zeros(5, dtype=np.int64)
    longest = 0
    for number, (name, summary) in enumerate(summaries, start=1):
        union, link = summary.union, summary.union.longest
        counts = (summary.words, summary.sentences, union.edges, union.between_sentences, len(summary.chains))
        distance = link.distance if link else 0
        table.add_row(f"{number} {_shown(name)}", *_counts(counts, distance))
        total += counts
        longest = max(longest, distance)
    table.add_section()
    table.add_row("all", *_counts(total.tolist(), longest), style="bold")
    return table


def _counts(counts: Sequence[int], longest: int) -> Iterator[str]:
    words, sentences, edges, between, found = counts
    yield from (f"{words:,}", f"{sentences:,}", f"{edges:,}")
    yield f"{between:,} ({between / edges:.0%})" if edges else "-"
    yield str(longest) if longest else "-"
    yield f"{found:,}"


def _shown(text: str) -> str:
    """Document text for a terminal: no markup of ours, no control characters of its own."""
    from rich.markup import escape

    return escape("".join(character if character.isprintable() else "\ufffd" for character in text))


def _cells(row: RelationSummary) -> tuple[str, ...]:
    inter = f"{row.between_sentences:,} ({row.inter_share:.0%})" if row.edges else "-"
    link = row.longest
    if link is None:
        return row.name, f"{row.edges:,}", inter, "-"
    place = f"{link.source_sentence + 1} → {link.target_sentence + 1}"
    words = f"{link.source} → {link.target}, " if link.source and link.target else ""
    return row.name, f"{row.edges:,}", inter, _shown(f"{link.distance} ({words}{place})")


def _listing(words: tuple[tuple[str, int], ...], joint: str, limit: int) -> str:
    shown = joint.join(f"{text} ({sentence + 1})" for text, sentence in words[:limit])
    return shown if len(words) <= limit else f"{shown}{joint}… {len(words) - limit:,} more"
