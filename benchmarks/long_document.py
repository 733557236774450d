"""Long documents: time per sentence and memory of `Translator` as a document grows.

    python -m benchmarks.long_document [--sentences 1000,4000,10000] [--dimension 64] [--length 16] [--threads 1]

A small randomly initialised Hyb model reads both sides of documents whose words follow Zipf's law. Each length is
measured in its own process. With random weights translations never settle, so sentences are decoded greedily, to at
most `--length` tokens, and the gates stay closed: this measures the machinery, including passes.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import subprocess
import sys
import time

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from docgraph.model.config import ContextConfig, ModelConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.tokenizer import SubwordCoder, Tokenizer
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.translator import Translator
from docgraph.workers import keep_freed_memory

SYLLABLES = ("ba", "co", "di", "fe", "gu", "la", "mi", "no", "pe", "ru", "sa", "ti")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sentences", default="1000,4000,10000")
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments or [])
    if options.one:
        print(json.dumps(measure(options.one, options)))
        return
    print(f"{'sentences':>10}{'ms per sentence':>18}{'peak MB':>10}{'passes':>8}")
    for count in map(int, options.sentences.split(",")):
        same = ("--dimension", options.dimension, "--length", options.length, "--threads", options.threads)
        command = [sys.executable, "-m", "benchmarks.long_document", "--one", str(count), *map(str, same)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        figures = f"{1000 * found['seconds'] / count:18.1f}{found['megabytes']:10.0f}{found['passes']:8}"
        print(f"{count:10,}{figures}", flush=True)


def measure(count: int, options: argparse.Namespace) -> dict[str, float]:
    """Translates a document of `count` sentences; returns seconds, peak memory and passes."""
    keep_freed_memory()
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(SYLLABLES, rng.integers(1, 5))) for _ in range(5000)]
    weights = 1 / (np.arange(len(words)) + 2.7)
    drawn = rng.choice(len(words), size=(count, 20), p=weights / weights.sum())
    lengths = rng.integers(5, 21, count)
    sentences = [" ".join(words[w] for w in row[:n]) + "." for row, n in zip(drawn, lengths, strict=True)]
    translator = random_translator(words, options.dimension)
    translator.translate(sentences[:20], SearchConfig(beams=1, max_length_factor=0, max_length_constant=4))
    begun = time.perf_counter()
    search = SearchConfig(beams=1, max_length_factor=0, max_length_constant=options.length)
    translation = translator.translate(sentences, search)
    seconds = time.perf_counter() - begun
    assert len(translation) == count
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "megabytes": megabytes, "passes": translation.passes}


def random_translator(words: list[str], dimension: int) -> Translator:
    """Returns a translator with a random Hyb model and sub-words trained on `words`."""
    writer = io.BytesIO()
    ids = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
    SentencePieceTrainer.train(
        sentence_iterator=iter(words),
        model_writer=writer,
        vocab_size=1000,
        hard_vocab_limit=False,
        minloglevel=2,
        **ids,
    )
    model = SentencePieceProcessor.from_proto(writer.getvalue())
    torch.manual_seed(0)
    size = {"source_vocabulary": len(model), "target_vocabulary": len(model)}
    transformer = TransformerConfig(
        **size, dimension=dimension, feed_forward=2 * dimension, heads=4, encoder_layers=2, decoder_layers=2
    )
    config = ModelConfig(transformer, ContextConfig(heads=4))
    coder = SubwordCoder(model, None, transformer)
    system = DocumentTransformer(config).eval()
    return Translator(system, Tokenizer(coder, coder), ("en", "fr"), annotator="words:en")


if __name__ == "__main__":
    main(sys.argv[1:])
