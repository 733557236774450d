"""Speed of `docgraph train` with data loading, against the bare step on its batches and Hugging Face's Trainer.

    python -m benchmarks.training [--store FOLDER] [--tokens 16000] [--steps 300] [--only bare,loop,trainer]

All train a Transformer of the same size on the sentences of one store: base size in bf16 on a GPU, a toy size in fp32
on a CPU. Without --store, a synthetic one is prepared. The loop writes metrics, but neither validates nor writes
checkpoints. The bare step runs on the batches of the loop, built beforehand. The Trainer trains a `MarianMTModel` with
its own collator, sampler by length and fused AdamW; its batches have as many target tokens on average. Rates are target
tokens per second without padding, after the first third of the steps.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.training_step import DEVICE, GPU, BareStep, synchronise
from docgraph.config import parse
from docgraph.corpus.batches import BatchBuilder, BatchConfig, BatchLoader, BatchSampler
from docgraph.corpus.config import PrepareConfig
from docgraph.corpus.prepare import prepare
from docgraph.corpus.store import PreparedCorpus
from docgraph.model.config import ModelConfig, TransformerConfig
from docgraph.training.build import resolve_model_config
from docgraph.training.config import CheckpointConfig, ScheduleConfig, TrainingConfig, ValidationConfig
from docgraph.training.flops import FlopCounter, peak_flops
from docgraph.training.loop import train
from docgraph.training.metrics import read_metrics

NAMES = {"bare": "the bare step", "loop": "docgraph train", "trainer": "Trainer on MarianMTModel"}


def synthetic_store(folder: Path) -> Path:
    """Prepares a store of 600 sentences of random words."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=rng.integers(2, 9))) for _ in range(500)]
    for side in ("source", "target"):
        lines = [
            " ".join(rng.choice(words, size=rng.integers(4, 30))) + ("\n" if d % 10 else "\n\n") for d in range(600)
        ]
        (folder / side).write_text("".join(lines), encoding="utf-8")
    data = {"train": {"source": str(folder / "source"), "target": str(folder / "target")}}
    fields = {"data": data, "annotator": "words:en", "max_ratio": None, "subwords": {"size": 400}}
    prepare(parse(PrepareConfig, {**fields, "out": str(folder / "store")}), skip_bad=True, jobs=1, cache=folder)
    return folder / "store"


def settings(store: Path, tokens: int, steps: int, workers: int) -> TrainingConfig:
    """Returns the config of a Base run without validation or checkpoints."""
    small = TransformerConfig(dimension=32, feed_forward=64, heads=4, encoder_layers=2, decoder_layers=2)
    return TrainingConfig(
        data=str(store),
        model=ModelConfig(replace(TransformerConfig() if GPU else small, dropout=0.2)),
        steps=steps,
        batches=BatchConfig(tokens=tokens, unit="sentence"),
        schedule=ScheduleConfig(warmup=100),
        precision="bf16" if GPU else "fp32",
        compile=GPU,
        validation=ValidationConfig(every=0, bleu_every=0),
        checkpoints=CheckpointConfig(every=10 * steps),
        log_every=max(1, steps // 15),
        workers=workers,
    )


def loop_rate(config: TrainingConfig) -> tuple[float, float | None]:
    """Returns tokens per second and MFU of `docgraph train`: medians of the metrics lines after the warm-up."""
    with tempfile.TemporaryDirectory(prefix="docgraph-") as folder:
        train(config, Path(folder) / "run")
        records = [r for r in read_metrics(Path(folder) / "run" / "metrics.jsonl") if r["step"] > config.steps // 3]
    mfu = None if records[0]["mfu"] is None else statistics.median(record["mfu"] for record in records)
    return statistics.median(record["tokens_per_second"] for record in records), mfu


def bare_rate(config: TrainingConfig) -> tuple[float, float | None]:
    """Returns the same for forward, backward and update alone, on the batches of the loop, built beforehand."""
    corpus, model = PreparedCorpus.open(config.data), replace(resolve_model_config(config), freeze="none")
    loader = BatchLoader(BatchSampler(corpus, config.batches, config.seed), BatchBuilder(corpus, model, "sentence"))
    step = BareStep(model, [step.batch for step in islice(loader.steps(), config.steps) if step.batch is not None])
    warm_up, measured = slice(None, config.steps // 3), slice(config.steps // 3, None)
    counter, peak = FlopCounter(step.model), peak_flops(DEVICE)
    flops, tokens = sum(map(counter, step.batches[measured])), sum(step.tokens[measured])
    step.seconds(warm_up)
    seconds = step.seconds(measured)
    return tokens / seconds, None if peak is None else flops / seconds / peak


def trainer_rate(config: TrainingConfig) -> tuple[float, None]:
    """Returns tokens per second of Hugging Face's Trainer on a MarianMTModel of the same size and data."""
    from transformers import DataCollatorForSeq2Seq, MarianConfig, MarianMTModel, Trainer, TrainingArguments

    corpus, model = PreparedCorpus.open(config.data), resolve_model_config(config)
    size, transformer = model.transformer.target_vocabulary, model.transformer
    marian = MarianConfig(
        vocab_size=size,
        d_model=transformer.dimension,
        encoder_layers=transformer.encoder_layers,
        decoder_layers=transformer.decoder_layers,
        encoder_attention_heads=transformer.heads,
        decoder_attention_heads=transformer.heads,
        encoder_ffn_dim=transformer.feed_forward,
        decoder_ffn_dim=transformer.feed_forward,
        dropout=transformer.dropout,
        activation_function=transformer.activation,
        max_position_embeddings=config.batches.max_length,
        pad_token_id=transformer.pad,
        eos_token_id=transformer.eos,
        decoder_start_token_id=transformer.bos,
        forced_eos_token_id=None,
    )
    pairs = [
        pair
        for d in range(len(corpus))
        for pair in zip(*(corpus.sentences(d, s)[0] for s in ("source", "target")), strict=True)
    ]
    short = [pair for pair in pairs if max(map(len, pair)) <= config.batches.max_length]
    dataset = [{"input_ids": s.tolist(), "labels": t.tolist(), "length": len(s)} for s, t in short]
    mean = statistics.mean(len(example["labels"]) for example in dataset)
    sentences = max(1, round(config.batches.tokens / mean))
    clock = _Clock(config.steps // 3)
    with tempfile.TemporaryDirectory(prefix="docgraph-") as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=config.steps,
            per_device_train_batch_size=sentences,
            train_sampling_strategy="group_by_length",
            bf16=GPU,
            use_cpu=not GPU,
            optim="adamw_torch_fused",
            label_smoothing_factor=config.label_smoothing,
            dataloader_num_workers=config.workers,
            dataloader_persistent_workers=config.workers > 0,
            save_strategy="no",
            logging_steps=config.log_every,
            report_to=[],
            disable_tqdm=True,
        )
        network = MarianMTModel(marian)
        collator = DataCollatorForSeq2Seq(_tokenizer(size, transformer.pad), model=network)
        Trainer(network, arguments, data_collator=collator, train_dataset=dataset, callbacks=[clock.callback()]).train()
    return mean * sentences * (config.steps - clock.after) / clock.seconds, None


class _Clock:
    """Measures the seconds from the end of step `after` to the end of training."""

    def __init__(self, after: int) -> None:
        self.after, self.began, self.seconds = after, 0.0, 0.0

    def callback(self) -> Any:
        from transformers import TrainerCallback

        clock = self

        class Callback(TrainerCallback):  # type: ignore[misc]
            def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                if state.global_step == clock.after:
                    synchronise(DEVICE)
                    clock.began = time.perf_counter()

            def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                synchronise(DEVICE)
                clock.seconds = time.perf_counter() - clock.began

        return Callback()


def _tokenizer(size: int, pad: int) -> Any:
    """Returns a tokenizer that only pads, as the collator needs; sentences are encoded already."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {f"<{index}>": index for index in range(size)}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words)), pad_token=f"<{pad}>")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", type=Path)
    parser.add_argument("--tokens", type=int, default=16000 if GPU else 1000)
    parser.add_argument("--steps", type=int, default=300 if GPU else 30)
    parser.add_argument("--workers", type=int, default=2 if GPU else 0)
    parser.add_argument("--only", default=",".join(NAMES))
    options = parser.parse_args(arguments or [])
    with tempfile.TemporaryDirectory(prefix="docgraph-") as folder:
        config = settings(
            options.store or synthetic_store(Path(folder)), options.tokens, options.steps, options.workers
        )
        name = torch.cuda.get_device_name() if GPU else "CPU"
        print(
            f"{name}, torch {torch.__version__}; about {options.tokens} target tokens per batch, {options.steps} steps"
        )
        rates: dict[str, float] = {}
        for system, measure in (("bare", bare_rate), ("loop", loop_rate), ("trainer", trainer_rate)):
            if system in options.only.split(","):
                rates[system], mfu = measure(config)
                utilisation = "" if mfu is None else f", MFU {mfu:.1%}"
                print(f"{NAMES[system]:26}{rates[system]:12,.0f} tokens/s{utilisation}", flush=True)
        if {"bare", "loop"} <= rates.keys():
            print(f"docgraph train is {rates['loop'] / rates['bare']:.1%} of the bare step")
        if {"trainer", "loop"} <= rates.keys():
            print(f"docgraph train is {rates['loop'] / rates['trainer']:.2f} x the Trainer")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
