"""The summary of a document graph: counts from cliques, never from expanded edges, so in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from docgraph.annotation import Annotation, BoolArray, IntArray, chains
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.links import Cliques, Edges, LexicalLinks, Links
from docgraph.graph.relations import RELATIONS, is_function_word

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

MOST_CONNECTED = 8
"""Words with the most edges in a summary."""
SHOWN_CHAINS = 6
"""Coreference chains in the printed summary."""
SHOWN_WORDS = 8
"""Words of a chain, and isolated words, in the printed summary."""


@dataclass(frozen=True)
class Link:
    """An edge between two words: their texts and sentences (from 0)."""

    source: str
    target: str
    source_sentence: int
    target_sentence: int

    @property
    def distance(self) -> int:
        """Distance in sentences."""
        return abs(self.target_sentence - self.source_sentence)


@dataclass(frozen=True)
class RelationSummary:
    """One relation, or the union of all."""

    name: str
    edges: int
    between_sentences: int
    """Edges whose ends are in different sentences."""
    longest: Link | None
    """The longest edge; for lexical links between content words only, as a comma spans any document."""

    @property
    def inter_share(self) -> float:
        """Share of edges between sentences."""
        return self.between_sentences / self.edges if self.edges else 0.0


@dataclass(frozen=True)
class WordSummary:
    """A lemma: its occurrences, the sentences they are in, and their edges in the union."""

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
    """Content words with the most edges."""
    content_known: bool
    """True if parts of speech separate content words from function words; otherwise only punctuation is excluded."""
    chains: tuple[tuple[tuple[str, int], ...], ...]
    """Coreference chains, longest first: (head word, sentence) of each mention."""
    isolated: tuple[tuple[str, int], ...]
    """(word, sentence) of the words whose only edge is the one to their sentence node."""
    notes: tuple[str, ...]
    """Notes of the annotators, and relations that are empty for lack of annotation."""


def summarise(graph: DocumentGraph, annotation: Annotation) -> GraphSummary:
    """Returns the summary of the graph built from `annotation`."""
    content = ~is_function_word(annotation)
    union: list[Links] = [graph.explicit, *([graph.lexical] if graph.lexical is not None else [])]
    sentence_of, forms = graph.sentence_of.tolist(), annotation.forms
    mentions = chains(annotation) if "coreference" in graph.relations else []
    isolated = np.flatnonzero((graph.degrees[0] + graph.degrees[1])[: graph.num_words] <= 1)
    return GraphSummary(
        words=graph.num_words,
        sentences=graph.num_sentences,
        relations=tuple(_summarise_links(graph, name, [links], content) for name, links in graph.relations.items()),
        union=_summarise_links(graph, "union", union, content),
        connected=tuple(_most_connected(graph, annotation, content)),
        content_known=annotation.upos is not None,
        chains=tuple(tuple((forms[word], sentence_of[word]) for word in chain) for chain in mentions),
        isolated=tuple((forms[word], sentence_of[word]) for word in isolated.tolist()),
        notes=tuple(dict.fromkeys((*annotation.notes, *missing_layers(graph, annotation)))),
    )


def missing_layers(graph: DocumentGraph, annotation: Annotation) -> Iterator[str]:
    """Yields one line per relation whose annotation layer is missing, unless an annotator's note mentions it."""
    for name in graph.relations:
        layer = RELATIONS[name].requires if name in RELATIONS else "words"
        if layer not in annotation.layers and not any(layer in note or name in note for note in annotation.notes):
            yield f"no {name} links: the annotation has no {layer}"


def _summarise_links(graph: DocumentGraph, name: str, parts: list[Links], content: BoolArray) -> RelationSummary:
    edges = sum(len(part) for part in parts)
    within = sum(_count_within_sentences(graph, part) for part in parts)
    longest = max(
        (_longest(graph, part, content) for part in parts), key=lambda link: link.distance if link else 0, default=None
    )
    return RelationSummary(name, edges, edges - within, longest if longest and longest.distance else None)


def _count_within_sentences(graph: DocumentGraph, links: Links) -> int:
    if isinstance(links, LexicalLinks):
        return sum(sign * _count_clique_edges_within_sentences(graph, cliques) for sign, cliques in links.signed)
    owner = graph.sentence_of_node
    return int((owner[links.source] == owner[links.target]).sum())


def _count_clique_edges_within_sentences(graph: DocumentGraph, cliques: Cliques) -> int:
    """Returns the number of clique edges inside a sentence: r(r-1)/2 for r members."""
    sentence = graph.sentence_of[cliques.nodes]
    linked = cliques.received > 0
    same = np.zeros(len(sentence), dtype=np.bool_)
    same[1:] = linked[1:] & (sentence[1:] == sentence[:-1])
    sizes = np.diff(np.append(np.flatnonzero(~same), len(same)))
    return int((sizes * (sizes - 1) // 2).sum())


def _longest(graph: DocumentGraph, links: Links, content: BoolArray) -> Link | None:
    """Returns the edge with the largest distance in sentences, the first one on a tie."""
    if isinstance(links, LexicalLinks):
        links = Edges.join(_longest_received(links, key, content) for key in links.keys)
    if not len(links):
        return None
    owner = graph.sentence_of_node
    at = int(np.argmax(np.abs(owner[links.target] - owner[links.source])))
    source, target = int(links.source[at]), int(links.target[at])
    return Link(graph.text(source), graph.text(target), int(owner[source]), int(owner[target]))


def _longest_received(lexical: LexicalLinks, key: IntArray, content: BoolArray) -> Edges:
    """Returns the longest edge that each content word receives from a content word of the same `key` [W]."""
    words = np.flatnonzero(content & (key >= 0))
    cliques = Cliques.of_keys(words, [key[words]], lexical.position[words], lexical.reach)
    linked = np.flatnonzero(cliques.received)
    return Edges(cliques.nodes[cliques.first[linked]], cliques.nodes[linked])


def _most_connected(graph: DocumentGraph, annotation: Annotation, content: BoolArray) -> Iterator[WordSummary]:
    """Yields the content words with the most edges, all occurrences of a lemma together."""
    column = annotation.lemmas if annotation.lemmas is not None else annotation.forms
    words = np.flatnonzero(content)
    ids, size = column.ids[words], len(column.table)
    links = (graph.degrees[0] + graph.degrees[1])[words]
    total = np.bincount(ids, weights=links, minlength=size).astype(np.int64)
    counts = np.bincount(ids, minlength=size)
    pairs = np.unique(ids.astype(np.int64) * max(graph.num_sentences, 1) + graph.sentence_of[words])
    sentences = np.bincount(pairs // max(graph.num_sentences, 1), minlength=size)
    for index in np.argsort(-total, kind="stable")[:MOST_CONNECTED].tolist():
        if counts[index]:
            yield WordSummary(column.table[index], int(counts[index]), int(sentences[index]), int(total[index]))


def render(summary: GraphSummary, title: str) -> Iterator[RenderableType]:
    """Yields the summary as Rich tables; sentences are numbered from 1."""
    yield f"[bold]{_printable(title)}[/]: {summary.words:,} words and {summary.sentences:,} sentences"
    table = _table("Relations", ["relation"], ["edges", "between sentences"], ["longest link, in sentences"])
    for row in summary.relations:
        table.add_row(*_relation_cells(row))
    table.add_section()
    table.add_row(*_relation_cells(summary.union), style="bold")
    yield table
    if summary.connected:
        kind = "content words" if summary.content_known else "words, punctuation left out"
        table = _table(f"Most connected {kind}", ["word"], ["occurrences", "sentences", "edges"])
        for word in summary.connected:
            table.add_row(_printable(word.text), f"{word.occurrences:,}", f"{word.sentences:,}", f"{word.links:,}")
        yield table
    if summary.chains:
        table = _table(f"Coreference chains: {len(summary.chains):,}", [], ["mentions"], ["head words (sentence)"])
        for chain in summary.chains[:SHOWN_CHAINS]:
            table.add_row(str(len(chain)), _word_list(chain, " → "))
        yield table
    if summary.isolated:
        noun = "isolated word" if len(summary.isolated) == 1 else "isolated words"
        yield f"{len(summary.isolated):,} {noun}: {_word_list(summary.isolated, ', ')}"
    for note in summary.notes:
        yield f"[yellow]note:[/] {_printable(note)}"


def render_many(summaries: Sequence[tuple[str, GraphSummary]]) -> RenderableType:
    """Returns a table of one line per (title, summary), and a total."""
    columns = ["words", "sentences", "edges", "between sentences", "longest link", "chains"]
    table = _table(f"{len(summaries):,} documents", ["document"], columns)
    total = np.zeros(5, dtype=np.int64)
    longest = 0
    for number, (title, summary) in enumerate(summaries, start=1):
        union, link = summary.union, summary.union.longest
        counts = (summary.words, summary.sentences, union.edges, union.between_sentences, len(summary.chains))
        distance = link.distance if link else 0
        table.add_row(f"{number} {_printable(title)}", *_count_cells(counts, distance))
        total += counts
        longest = max(longest, distance)
    table.add_section()
    table.add_row("all", *_count_cells(total.tolist(), longest), style="bold")
    return table


def _table(title: str, left: Sequence[str], right: Sequence[str], last: Sequence[str] = ()) -> Table:
    """Returns a table with left-aligned columns, right-aligned ones, then left-aligned ones."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in left:
        table.add_column(column)
    for column in right:
        table.add_column(column, justify="right")
    for column in last:
        table.add_column(column)
    return table


def _count_cells(counts: Sequence[int], longest: int) -> Iterator[str]:
    words, sentences, edges, between, num_chains = counts
    yield from (f"{words:,}", f"{sentences:,}", f"{edges:,}")
    yield f"{between:,} ({between / edges:.0%})" if edges else "-"
    yield str(longest) if longest else "-"
    yield f"{num_chains:,}"


def _relation_cells(row: RelationSummary) -> tuple[str, ...]:
    inter = f"{row.between_sentences:,} ({row.inter_share:.0%})" if row.edges else "-"
    link = row.longest
    if link is None:
        return row.name, f"{row.edges:,}", inter, "-"
    place = f"{link.source_sentence + 1} → {link.target_sentence + 1}"
    words = f"{link.source} → {link.target}, " if link.source and link.target else ""
    return row.name, f"{row.edges:,}", inter, _printable(f"{link.distance} ({words}{place})")


def _word_list(words: Sequence[tuple[str, int]], separator: str) -> str:
    listed = separator.join(f"{text} ({sentence + 1})" for text, sentence in words[:SHOWN_WORDS])
    more = len(words) - SHOWN_WORDS
    return _printable(f"{listed}{separator}… {more:,} more" if more > 0 else listed)


def _printable(text: str) -> str:
    """Returns document text for a terminal: Rich markup escaped, control characters replaced."""
    from rich.markup import escape

    return escape("".join(character if character.isprintable() else "\ufffd" for character in text))
