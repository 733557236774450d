"""Translation speed: docgraph compared with `generate` of transformers and with CTranslate2, same weights, same work.

    python -m benchmarks.translation [--sentences 32] [--length 32] [--rounds 3] [--threads 2] [--vocabulary 32000]
    python -m benchmarks.translation --document 100

All three use one randomly initialised Marian model of base size (d 512, 6+6 layers), saved by transformers. A random
model seldom ends a sentence, so every system must write exactly `--length` tokens per sentence, end-of-sentence
included. The work is equal; the output is not compared here (tests do that). Each system runs in its own process. The
systems take turns in every round, and the fastest round counts: on a shared machine, ratios mean more than tokens per
second. On a GPU, docgraph and `generate` run in bf16.

`--document` decodes one document with a random Hyb model that reads both sides, in parallel and in sequence, and the
same sentences with Base in one batch. With random weights, the number of passes is not that of a trained model.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from benchmarks.synthetic import random_examples
from docgraph.model.batch import DocumentExample, collate
from docgraph.model.checkpoint import load
from docgraph.model.config import ContextConfig, ModelConfig, TransformerConfig
from docgraph.model.context_attention import ContextAttention
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.marian import import_marian
from docgraph.model.memory import Memories
from docgraph.model.quantize import pack_for_cpu
from docgraph.model.tokenizer import SPACE
from docgraph.translation.decoding import search as searching
from docgraph.translation.decoding.decoder import DecodedDocument, DecoderInput, DecodingOptions, Mode
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.decoding.search import search

Ids = np.ndarray[Any, np.dtype[np.int64]]
Run = Callable[[int], object]
"""Translates all sentences with a number of beams."""
WORDS: Any = SimpleNamespace(target=SimpleNamespace(pieces=lambda ids: [f"{SPACE}{i}" if i > 2 else "" for i in ids]))
"""A tokenizer whose every sub-word is a word."""
MODES: tuple[Mode, Mode] = ("parallel", "sequential")
GPU = torch.cuda.is_available()
BARS = {1: 1.5, 4: 5.0}
"""Required speed relative to `generate`, by number of beams."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--document", type=int, metavar="SENTENCES")
    parser.add_argument("--context", type=float, default=0.1, help="weight of the random context, with --document")
    options = parser.parse_args(arguments or [])
    torch.set_num_threads(options.threads)
    if options.document:
        documents(options)
    else:
        peers(options)


def peers(options: argparse.Namespace) -> None:
    """Prints the tokens per second of every system, greedy and with beam search."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(3.0, 0.5, options.sentences).astype(int), 3, 80)
    sentences = [np.append(rng.integers(2, options.vocabulary - 1, n), 0) for n in lengths]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "marian"
        marian_folder(folder, options.vocabulary)
        import_marian(str(folder), Path(place) / "ours")
        runs = {
            name: in_own_process(name, Path(place), sentences, options) for name in systems(folder, Path(place) / "ct2")
        }
        print(
            f"{len(sentences)} sentences, {sum(lengths) + len(lengths)} source sub-words, {options.length} tokens each;"
        )
        where = f"{torch.cuda.get_device_name()}, bf16" if GPU else f"{options.threads} threads"
        print(f"{where}, torch {torch.__version__}, vocabulary {options.vocabulary}")
        for beams in BARS:
            report(beams, timed(runs, beams, options.rounds), len(sentences) * options.length)


def systems(marian: Path, converted: Path) -> list[str]:
    """Returns the available systems; converts the model for CTranslate2."""
    if GPU:
        return ["generate", "docgraph, not captured", "docgraph"]
    others = []
    try:
        import ctranslate2
    except ImportError:
        print("ctranslate2 is not installed; pip install ctranslate2 to compare with it")
    else:
        ctranslate2.converters.TransformersConverter(str(marian)).convert(str(converted))
        others = ["CTranslate2 float32", "CTranslate2 int8"]
    return ["generate", *others, "docgraph, not packed", "docgraph int8", "docgraph"]


def in_own_process(system: str, folder: Path, sentences: list[Ids], options: argparse.Namespace) -> Run:
    """Starts a system in its own process.

    With CTranslate2 in the same process, docgraph's two threads ran one after the other.
    """
    context = multiprocessing.get_context("spawn")
    pipe, far_end = context.Pipe()
    context.Process(target=serve, args=(far_end, system, folder, sentences, options), daemon=True).start()
    far_end.close()

    def run(beams: int) -> None:
        pipe.send(beams)
        pipe.recv()

    return run


def serve(pipe: Connection, system: str, folder: Path, sentences: list[Ids], options: argparse.Namespace) -> None:
    """Translates whenever a number of beams arrives."""
    torch.set_num_threads(options.threads)
    if system == "generate":
        run = generate(folder / "marian", sentences, options.length)
    elif system.startswith("CTranslate2"):
        run = ctranslate2_run(folder, system.split()[1], sentences, options)
    else:
        model = load(folder / "ours", "cuda").to(torch.bfloat16) if GPU else load(folder / "ours")
        if not GPU and system != "docgraph, not packed":
            model = pack_for_cpu(model, "int8" if system.endswith("int8") else "float32")
        if system == "docgraph, not captured":
            searching.CUDA_GRAPH_DEVICES = ()
        run = ours(model, sentences, options.length)
    with contextlib.suppress(EOFError):  # the end of the benchmark
        while True:
            run(pipe.recv())
            if GPU:
                torch.cuda.synchronize()
            pipe.send(None)


def timed(runs: dict[str, Run], beams: int, rounds: int) -> dict[str, float]:
    """Returns the seconds of the fastest round of each system; the systems take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run(beams)
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            run(beams)
            seconds[name].append(time.perf_counter() - began)
    return {name: min(values) for name, values in seconds.items()}


def report(beams: int, seconds: dict[str, float], tokens: int) -> None:
    """Prints the speed of each system and its ratio to the others."""
    print(f"\n{f'beam {beams}' if beams > 1 else 'greedy':26}{'tokens/s':>10}{'x generate':>12}", end="")
    others = [name for name in seconds if name.startswith("CTranslate2")]
    print("".join(f"{'x ' + name:>24}" for name in others))
    for name, value in seconds.items():
        ratios = "".join(f"{seconds[other] / value:24.2f}" for other in others)
        print(f"{name:26}{tokens / value:10.0f}{seconds['generate'] / value:12.2f}{ratios}", flush=True)
    if GPU:
        return
    reached = seconds["generate"] / seconds["docgraph"]
    print(
        f"bar: {BARS[beams]} x generate in float32: {'reached' if reached >= BARS[beams] else 'missed'} ({reached:.2f})"
    )


def marian_folder(folder: Path, vocabulary: int) -> None:
    """Writes a random Marian model with the tokenizer files that converters need."""
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir()
    writer = io.BytesIO()
    lines = iter(["a quick brown fox jumps over the lazy dog"] * 20)
    SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=writer, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(writer.getvalue())
    model = SentencePieceProcessor.from_proto(writer.getvalue())
    table = {"</s>": 0, "<unk>": 1}
    for index in range(len(model)):
        if not (model.is_control(index) or model.is_unknown(index)):
            table.setdefault(model.id_to_piece(index), len(table))
    for index in range(len(table), vocabulary - 1):
        table[f"piece{index}"] = index
    table["<pad>"] = vocabulary - 1
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "fr"}', encoding="utf-8")
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=vocabulary,
        d_model=512,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        pad_token_id=vocabulary - 1,
        decoder_start_token_id=vocabulary - 1,
        eos_token_id=0,
        forced_eos_token_id=None,
        max_position_embeddings=512,
        activation_function="swish",
        scale_embedding=True,
        init_std=512**-0.5,
    )
    MarianMTModel(config).save_pretrained(folder)


def generate(folder: Path, sentences: list[Ids], length: int) -> Run:
    """Hugging Face: one padded batch."""
    from transformers import MarianMTModel

    model: Any = MarianMTModel.from_pretrained(folder)  # in evaluation mode
    if GPU:
        model.to("cuda", torch.bfloat16)
    pad, width = model.config.pad_token_id, max(map(len, sentences))
    ids = torch.tensor([[*row.tolist(), *[pad] * (width - len(row))] for row in sentences], device=model.device)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in sentences], device=model.device)

    def run(beams: int) -> object:
        with torch.inference_mode():
            return model.generate(
                input_ids=ids,
                attention_mask=mask,
                num_beams=beams,
                do_sample=False,
                min_new_tokens=length,
                max_new_tokens=length,
                length_penalty=0.6,
                bad_words_ids=[[pad]],
            )

    return run


def ctranslate2_run(folder: Path, precision: str, sentences: list[Ids], options: argparse.Namespace) -> Run:
    """CTranslate2 in fp32 or int8."""
    import ctranslate2

    pieces = {index: piece for piece, index in json.loads((folder / "marian" / "vocab.json").read_text()).items()}
    source = [[pieces[int(index)] for index in row] for row in sentences]
    fixed = {"min_decoding_length": options.length, "max_decoding_length": options.length, "length_penalty": 0.6}
    threads = {"inter_threads": 1, "intra_threads": options.threads}
    translator = ctranslate2.Translator(str(folder / "ct2"), compute_type=precision, **threads)
    return lambda beams: translator.translate_batch(source, beam_size=beams, **fixed)


def ours(model: DocumentTransformer, sentences: list[Ids], length: int) -> Run:
    """docgraph: the same sentences in one batch."""

    @torch.inference_mode()
    def run(beams: int) -> object:
        batch = collate([DocumentExample(sentences)], model.config.transformer.bos).to(model.device)
        return search(model, batch, model.encode(batch, Memories()), Memories(), fixed_length(beams, length))

    return run


def fixed_length(beams: int, length: int) -> SearchConfig:
    """Returns a search for exactly `length` tokens, end-of-sentence included."""
    return SearchConfig(beams, min_length=length - 1, max_length_factor=0.0, max_length_constant=length - 1)


def documents(options: argparse.Namespace) -> None:
    """Decodes one document with Hyb on both sides, in parallel and in sequence, and with Base."""
    rng = np.random.default_rng(0)
    [example] = random_examples(rng, 1, options.vocabulary, (options.document, options.document + 1))
    transformer = TransformerConfig(options.vocabulary, options.vocabulary)
    torch.manual_seed(0)
    base = DocumentTransformer(ModelConfig(transformer)).eval()
    hyb = DocumentTransformer(ModelConfig(transformer, ContextConfig())).eval()
    hyb.load_state_dict(base.state_dict(), strict=False)
    with torch.no_grad():
        for site in (module for module in hyb.modules() if isinstance(module, ContextAttention)):
            torch.nn.init.xavier_uniform_(site.attention.output.weight, gain=options.context)
    found: dict[str, DecodedDocument] = {}

    def run(name: str, model: DocumentTransformer, mode: Mode) -> Run:
        if GPU:
            model.to("cuda", torch.bfloat16)
        else:
            pack_for_cpu(model)

        def decode(beams: int) -> None:
            search = fixed_length(beams, options.length)
            [found[name]] = decode_documents(model, WORDS, [DecoderInput(example)], DecodingOptions(search, mode))

        return decode

    runs = {name: run(name, hyb, name) for name in MODES} | {"Base": run("Base", base, "parallel")}
    print(f"{len(example.source)} sentences of {sum(map(len, example.source))} sub-words, {options.length} tokens each")
    for beams in BARS:
        seconds = timed(runs, beams, options.rounds)
        said = [[best[0].tokens for best in found[name].sentences] for name in MODES]
        print(f"{f'beam {beams}' if beams > 1 else 'greedy'}, {found['parallel'].passes} passes:")
        print(", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()), end="; ")
        print(f"parallel / Base {seconds['parallel'] / seconds['Base']:.2f} (bar: at most 1.25),", end=" ")
        print(f"sequential / parallel {seconds['sequential'] / seconds['parallel']:.1f} (bar: at least 4),", end=" ")
        print("the same translation" if said[0] == said[1] else "DIFFERENT translations", flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
