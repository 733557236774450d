"""Pretranslation: translates a split of a prepared corpus, so that training can use it as target context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from docgraph.corpus import subwords
from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.target_context import write_translations
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.device import find_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder
from docgraph.model.quantize import pack_for_cpu
from docgraph.model.systems import context_needs
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig

GREEDY = SearchConfig(beams=1)
TOKENS = 1 << 16
"""Source sub-words encoded together: enough to keep a GPU busy."""
PART = 4
"""Batches of documents held in memory at once."""
DocumentTranslation = list[tuple[int, ...]]
"""The sub-words of each translation, end-of-sentence included."""


def pretranslate(
    model: str | Path,
    corpus: PreparedCorpus,
    folder: str | Path,
    search: SearchConfig = GREEDY,
    device: str | None = None,
    tokens: int = TOKENS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Translates a split with the model of a model folder, in bf16 on a GPU; returns the file that training reads."""
    ours, theirs = (subwords.digest(subwords.files_of(one)) for one in (corpus.folder / "tokenizer", model))
    if ours != theirs:
        raise DocgraphError(
            f"has other sub-words than {corpus.folder}; use a model that was trained on this corpus", path=model
        )
    place, source = find_device(device), ModelFolder(model)
    system = checkpoint.load(source, place)
    system = system.to(torch.bfloat16) if system.device.type == "cuda" else pack_for_cpu(system)
    parts = _translate_split(system, corpus, search, tokens, progress)
    return write_translations(folder, corpus, parts, {"model": source.fingerprint, "search": asdict(search)})


def _translate_split(
    model: DocumentTransformer,
    corpus: PreparedCorpus,
    search: SearchConfig,
    tokens: int,
    progress: Callable[[int, int], None],
) -> Iterator[list[DocumentTranslation]]:
    """Yields the translations of all documents of a split, in order, in groups of documents."""
    needs, end = context_needs(model.config), (model.config.transformer.eos,)
    options = DecodingOptions(search, tokens=tokens)
    total, done = int(corpus.sizes.sentences.sum()), 0
    ends = np.cumsum(corpus.sizes.source_tokens, dtype=np.int64)
    for part in np.split(np.arange(len(corpus)), np.flatnonzero(np.diff(ends // (PART * tokens))) + 1):
        inputs = [DecoderInput(corpus.example(index, needs.relations, hints=needs.hints)) for index in part.tolist()]
        decoded = decode_documents(model, corpus.tokenizer, inputs, options)
        yield [[best.tokens + end for best, *_ in document.sentences] for document in decoded]
        done += sum(len(document.example.source) for document in inputs)
        progress(done, total)
