"""Graph building from annotations on one core: words per second, compared with networkx building it edge by edge.

Both build what the graph encoder reads: the binary union of the paper's relations (`all`) and its degrees. docgraph
stores lexical cliques as groups; networkx stores every edge. The documents are synthetic and seeded: Zipfian lemmas in
a few inflected forms, punctuation, sentences of about 22 words, one tree per sentence, chains of mentions.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from benchmarks.synthetic import synthetic_annotation
from docgraph.annotation import Annotation
from docgraph.graph import DocumentGraph, build_graph

SIZES = (1_000, 4_000, 16_000, 64_000, 100_000)
NETWORKX_LIMIT = 16_000
"""Above this many words networkx needs minutes and gigabytes."""
BAR_SPEED, BAR_RATIO, BAR_GROWTH = 300_000, 20, 1.5


def build_with_docgraph(annotation: Annotation) -> DocumentGraph:
    """Build the graph, the size of its union and its degrees, without expanding cliques."""
    graph = build_graph(annotation, "all")
    _ = graph.num_edges, graph.degrees
    return graph


def build_with_networkx(annotation: Annotation) -> tuple[int, list[int], list[int]]:
    """Build the same union edge by edge; return its size, in-degrees and out-degrees."""
    import networkx

    graph = networkx.DiGraph()
    words = annotation.num_words
    sentence_of = annotation.sentence_of.tolist()
    forms, lemmas = annotation.forms.to_list(), annotation.lemmas.to_list() if annotation.lemmas else []
    heads = annotation.heads.tolist() if annotation.heads is not None else []
    graph.add_nodes_from(range(words + annotation.num_sentences))
    seen: dict[tuple[str, str], list[int]] = {}
    for word in range(words):
        graph.add_edge(word, words + sentence_of[word])
        if word and sentence_of[word - 1] == sentence_of[word]:
            graph.add_edge(word - 1, word)
            graph.add_edge(word, word - 1)
        if heads[word] != word:
            graph.add_edge(heads[word], word)
        for key in (("form", forms[word]), ("lemma", lemmas[word])):
            earlier = seen.setdefault(key, [])
            for other in earlier:
                graph.add_edge(other, word)
            earlier.append(word)
    for antecedent, mention in annotation.coreference.tolist() if annotation.coreference is not None else []:
        graph.add_edge(antecedent, mention)
    nodes = range(graph.number_of_nodes())
    return graph.number_of_edges(), [graph.in_degree(n) for n in nodes], [graph.out_degree(n) for n in nodes]


def best_time(call: Callable[[], object], seconds: float = 2.0) -> float:
    """The time of the fastest call among those that fit in about `seconds`, without garbage collection."""
    best, end = float("inf"), time.perf_counter() + seconds
    gc.collect()
    gc.disable()
    try:
        while best == float("inf") or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
    finally:
        gc.enable()
    return best


def measure(words: int) -> dict[str, float]:
    """Times at one size; an AssertionError if networkx builds a different graph."""
    annotation = synthetic_annotation(words)
    _ = annotation.sentence_of
    row = {"words": words, "ours": best_time(lambda: build_with_docgraph(annotation))}
    graph = build_with_docgraph(annotation)
    row["edges"] = graph.num_edges
    if words <= NETWORKX_LIMIT:
        edges, indegree, outdegree = build_with_networkx(annotation)
        same = edges == graph.num_edges and graph.degrees[0].tolist() == indegree
        if not same or graph.degrees[1].tolist() != outdegree:
            raise AssertionError(f"docgraph and networkx disagree on the graph of {words} words")
        row["networkx"] = best_time(lambda: build_with_networkx(annotation))
    return row


def main() -> None:
    """Print the table and whether each target is met."""
    table = Table(title="Graph building from annotations, one core, all relations, cliques unexpanded")
    for column in ("words", "edges in the union", "docgraph ms", "words/s", "ns/word", "networkx ms", "ratio"):
        table.add_column(column, justify="right")
    rows = [measure(words) for words in SIZES]
    for row in rows:
        words, ours, peer = row["words"], row["ours"], row.get("networkx")
        table.add_row(
            f"{words:,}",
            f"{row['edges']:,}",
            f"{ours * 1e3:.2f}",
            f"{words / ours:,.0f}",
            f"{ours / words * 1e9:.0f}",
            f"{peer * 1e3:,.0f}" if peer else "-",
            f"{peer / ours:,.0f}x" if peer else "-",
        )
    console = Console()
    console.print(table)
    slowest = min(row["words"] / row["ours"] for row in rows)
    growth = rows[-1]["ours"] / rows[-1]["words"] / (rows[0]["ours"] / rows[0]["words"])
    ratio = min(row["networkx"] / row["ours"] for row in rows if "networkx" in row)
    for name, value, bar, met in (
        ("slowest, words/s", f"{slowest:,.0f}", f"at least {BAR_SPEED:,}", slowest >= BAR_SPEED),
        ("time per word, 100k against 1k", f"{growth:.2f}x", f"at most {BAR_GROWTH}x", growth <= BAR_GROWTH),
        ("smallest ratio to networkx", f"{ratio:,.0f}x", f"at least {BAR_RATIO}x", ratio >= BAR_RATIO),
    ):
        console.print(f"  {name}: {value} (bar: {bar}) {'met' if met else 'MISSED'}")


if __name__ == "__main__":
    main()
