"""Pads batches to one shape with documents of padding tokens, so that one CUDA graph serves them all.

A training step of a thousand small kernels is launch-bound. A CUDA graph launches them at once, but needs every tensor
in the shape it was captured with. The padding documents are in no sentence's memory, their graphs are separate, and
their references are padding, which the loss ignores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model.batch import DocumentBatch, GraphInput, Linked, Side
from docgraph.model.graph_encoder import GraphStructure
from docgraph.model.packing import Blocks, Packing
from docgraph.model.sparse import CsrMatrix, OrderedCliques

Sizes = Mapping[str, int]
"""Counts of everything in a batch; batches of equal sizes have equal shapes."""
ROUND = 64
"""Capacities are rounded up to a multiple of this, which matrix products prefer, if that costs little."""
SPARE = {"documents": 0.5, "sentences": 0.1}
"""Larger margins for cheap sizes: an extra document or sentence is one row of a table."""
WIDTHS = {"document": 256, "sentence": 64}
"""Rows of a document, or of a sentence, that read a memory as one block with its own copy of keys and values: enough
rows that scores cost more than the copy, and that few sentences need two blocks."""


def sizes_of(batch: DocumentBatch) -> dict[str, int]:
    """Returns the sizes of a batch, by name."""
    sizes = {"documents": batch.num_documents, "sentences": batch.num_sentences, "slots": batch.slots.shape[1]}
    shown = batch.all_target if batch.all_source is None else None
    for name, side in (("source", batch.source), ("target", batch.target), ("shown", shown)):
        if side is not None:
            sizes[f"{name} tokens"] = len(side.tokens)
            sizes[f"{name} tokens of a sentence"] = side.sentences.max_length
            for unit, blocks in (("document", side.documents), ("sentence", side.blocks or Blocks(side.sentences))):
                sizes[f"{name} {unit} blocks"] = blocks.count(WIDTHS[unit])
    for name, graph in (("source", batch.graph), ("target", batch.target_graph)):
        if graph is not None:
            structure = graph.structure
            sizes[f"{name} graph pieces"] = len(graph.tokens)
            sizes[f"{name} graph words"] = structure.num_words
            sizes[f"{name} graph words of a sentence"] = structure.longest
            sizes[f"{name} graph edges"] = len(structure.incoming.columns)
            sizes[f"{name} graph members"] = 0 if structure.cliques is None else len(structure.cliques.nodes)
            if structure.sentence_links:  # another computation: batches without them are not captured together
                sizes[f"{name} graph sentence links"] = 1
    return sizes


def capacity(batches: Iterable[DocumentBatch], margin: float = 0.03) -> Sizes:
    """Returns sizes that fit each of the batches, batches up to `margin` larger, and some padding in every case."""

    def wider(name: str, sizes: Iterable[int]) -> int:
        size = max(sizes)
        if name == "slots" or name.endswith("sentence links") or not size:
            return size
        wider = math.ceil(size * (1 + max(margin, SPARE.get(name, 0)))) + 1
        return wider if name.endswith(("documents", "sentences", "blocks")) else -(-wider // ROUND) * ROUND

    found = [sizes_of(batch) for batch in batches]
    names = dict.fromkeys(name for sizes in found for name in sizes)
    room = {name: wider(name, (sizes.get(name, 0) for sizes in found)) for name in names}
    for side, (unit, width) in product(("source", "target", "shown"), WIDTHS.items()):
        name, tokens = f"{side} {unit} blocks", f"{side} tokens"
        if name in room:  # a smaller batch gets more blocks of padding
            filled = (sizes[name] + -(-(room[tokens] - sizes[tokens]) // width) for sizes in found if name in sizes)
            room[name] = wider(name, filled)
    return room


def fill_up(batch: DocumentBatch, room: Sizes, pad: int) -> DocumentBatch | None:
    """Returns the batch padded to the sizes `room`; None if it does not fit."""
    sizes = sizes_of(batch)
    if sizes.keys() != room.keys() or any(size > room[name] for name, size in sizes.items()):
        return None
    documents, sentences = (room[name] - sizes[name] for name in ("documents", "sentences"))
    if batch.all_source is not None or not documents or not sentences:
        return None
    # Sentence f of the padding belongs to document owner[f] of it.
    owner = torch.arange(sentences) * documents // sentences
    source = _fill_side(batch.source, "source", room, owner, documents, pad)
    target = gold = shown = None
    if batch.target is not None and batch.gold is not None:
        target = _fill_side(batch.target, "target", room, owner, documents, pad)
        gold = F.pad(batch.gold, (0, room["target tokens"] - len(batch.gold)), value=pad)
    if batch.all_target is not None:
        shown = _fill_side(batch.all_target, "shown", room, owner, documents, pad)
    pairs = (batch.source, source), (batch.target, target), (batch.all_target, shown)
    if any(before is not None and filled is None for before, filled in pairs) or source is None:
        return None
    width, count = room["slots"] - sizes["slots"], sizes["sentences"]
    slots, used = (F.pad(table, (0, width, 0, documents)) for table in (batch.slots, batch.used))
    places = batch.places + batch.places // sizes["slots"] * width
    return replace(
        batch,
        source=source,
        target=target,
        gold=gold,
        slots=slots,
        used=used,
        # A slot that no row sees; its gradient is zero.
        places=torch.cat([places, torch.full((sentences,), sizes["documents"] * room["slots"])]),
        document_of=torch.cat([batch.document_of, sizes["documents"] + owner]),
        index_of=F.pad(batch.index_of, (0, sentences)),
        context_index=torch.cat([batch.context_index, torch.arange(count, count + sentences)]),
        all_target=shown,
        given=None if batch.given is None else F.pad(batch.given, (0, sentences), value=True),
        linked=None if batch.linked is None else _fill_linked(batch.linked, sentences),
        graph=None if batch.graph is None else _fill_graph(batch.graph, "source", room, sentences, pad),
        target_graph=None
        if batch.target_graph is None
        else _fill_graph(batch.target_graph, "target", room, sentences, pad),
    )


def _even(total: int, parts: int) -> Tensor:
    """Returns [parts]: `total` split into parts as equal as possible."""
    return torch.arange(parts, 0, -1).add(total - 1).div(parts, rounding_mode="floor")


def _fill_side(side: Side, name: str, room: Sizes, owner: Tensor, documents: int, pad: int) -> Side | None:
    extra, longest = room[f"{name} tokens"] - len(side.tokens), room[f"{name} tokens of a sentence"]
    # The tokens go to few sentences, so that the others need no block.
    filled = min(max(-(-extra // WIDTHS["sentence"]), 1), len(owner))
    more = F.pad(_even(extra, filled), (0, len(owner) - filled))
    if int(more.max()) > longest:
        return None
    more_of_documents = torch.zeros(documents, dtype=torch.int64).index_add(0, owner, more)
    of_sentences = torch.cat([side.sentences.boundaries.diff(), more])
    of_documents = torch.cat([side.documents.rows.boundaries.diff(), more_of_documents])
    by_document, by_sentence = (
        Blocks.of(lengths, WIDTHS[unit], room[f"{name} {unit} blocks"])
        for unit, lengths in (("document", of_documents), ("sentence", of_sentences))
    )
    if by_document is None or by_sentence is None:
        return None
    tokens, sentences = F.pad(side.tokens, (0, extra), value=pad), Packing.of(of_sentences, width=longest)
    return Side(tokens, sentences, by_document, by_sentence)


def _fill_graph(graph: GraphInput, name: str, room: Sizes, sentences: int, pad: int) -> GraphInput:
    structure = graph.structure
    words, pieces = (
        room[f"{name} graph words"] - structure.num_words,
        room[f"{name} graph pieces"] - len(graph.tokens),
    )
    ends = len(graph.tokens) + _even(pieces, words).cumsum(0)
    filled = _fill_structure(
        structure,
        words,
        sentences,
        room[f"{name} graph words of a sentence"],
        room[f"{name} graph edges"] - len(structure.incoming.columns),
        room[f"{name} graph members"] - (0 if structure.cliques is None else len(structure.cliques.nodes)),
    )
    return GraphInput(
        F.pad(graph.tokens, (0, pieces), value=pad),
        torch.cat([graph.offsets, ends]),
        filled,
        None if graph.places is None else F.pad(graph.places, (0, pieces)),
    )


def _fill_linked(linked: Linked, sentences: int) -> Linked:
    return Linked(*(F.pad(table, (0, 0, 0, sentences), value=-1) for table in (linked.words, linked.sentences)))


def _fill_structure(
    structure: GraphStructure, words: int, sentences: int, longest: int, edges: int, members: int
) -> GraphStructure:
    """Adds words and sentences that form a separate graph; new edges and clique members belong to its sentences."""
    old_words, old_sentences = structure.num_words, structure.num_sentences
    first = old_words + words + old_sentences
    fillers = torch.arange(first, first + sentences)

    def rows(old: CsrMatrix, columns: Tensor, more: Tensor) -> CsrMatrix:
        """Rows with `more` [sentences] entries for the new sentences; `columns` holds those of all rows."""
        counts = old.offsets.diff()
        counts = torch.cat([counts[:old_words], counts.new_zeros(words), counts[old_words:], more])
        return CsrMatrix(columns, F.pad(counts.cumsum(0), (1, 0)))

    def edge_rows(old: CsrMatrix) -> CsrMatrix:
        more = _even(edges, sentences)
        moved = old.columns + words * (old.columns >= old_words)
        return rows(old, torch.cat([moved, fillers.repeat_interleave(more)]), more)

    def scales(old: Tensor) -> Tensor:
        return torch.cat([old[:old_words], old.new_ones(words, 1), old[old_words:], old.new_ones(sentences, 1)])

    cliques = structure.cliques
    if cliques is not None:
        own, more = torch.arange(len(cliques.nodes), len(cliques.nodes) + members), _even(members, sentences)
        windows = cliques.windows
        cliques = OrderedCliques(
            torch.cat([cliques.nodes, fillers.repeat_interleave(more)]),
            F.pad(cliques.signs, (0, 0, 0, members), value=1.0),
            rows(cliques.bag, torch.cat([cliques.bag.columns, own]), more),
            torch.cat([cliques.starts, own]),
            torch.cat([cliques.ends, own + 1]),
            None if windows is None else (torch.cat([windows[0], own]), torch.cat([windows[1], own + 1])),
        )
    own_words = _even(words, sentences)
    in_sentences = structure.words_of
    return replace(
        structure,
        num_words=old_words + words,
        num_sentences=old_sentences + sentences,
        longest=longest,
        sentence_of=torch.cat(
            [structure.sentence_of, old_sentences + torch.arange(sentences).repeat_interleave(own_words)]
        ),
        words_of=CsrMatrix(
            torch.cat([in_sentences.columns, torch.arange(old_words, old_words + words)]),
            torch.cat([in_sentences.offsets, old_words + own_words.cumsum(0)]),
        ),
        incoming=edge_rows(structure.incoming),
        outgoing=edge_rows(structure.outgoing),
        scale_in=scales(structure.scale_in),
        scale_out=scales(structure.scale_out),
        mass_in=scales(structure.mass_in),
        mass_out=scales(structure.mass_out),
        cliques=cliques,
    )
