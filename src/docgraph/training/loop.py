"""The training loop: `Trainer.run` drives it, `_update` is one step: forward, backward, optimizer.

The host never waits for the device in an update. Losses, norms and counts are summed on the device and read once
per metrics line. An update whose loss or gradient is not finite is skipped on the device, too.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from docgraph.corpus.batches import BatchBuilder, BatchLoader, BatchSampler, Step
from docgraph.corpus.store import PreparedCorpus
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.gpu.cuda_graphs import CapturedStep
from docgraph.model.padding import capacity
from docgraph.training.build import build_model, open_hints, open_translations, resolve_model_config
from docgraph.training.checkpoints import (
    CheckpointKeeper,
    Progress,
    load_state,
    pack_state,
    save_state,
    unpack_state,
)
from docgraph.training.config import TrainingConfig
from docgraph.training.distributed import StopRequested, StopSignal, World
from docgraph.training.flops import FlopCounter, peak_flops
from docgraph.training.metrics import MetricsWriter, ProgressLog, Record, describe_training, describe_validation
from docgraph.training.optimizer import (
    GradientNorms,
    MasterWeights,
    SumsSinceLastLine,
    UpdateSums,
    learning_rate,
    make_optimizer,
)
from docgraph.training.run_folder import LOG, METRICS, RunFolder, make_signature
from docgraph.training.validation import Validator
from docgraph.training.word_dropout import WordDropout

CAPACITY_SAMPLE = 48
"""Batches whose sizes set the capacity of a captured CUDA graph; a larger batch is computed without the graph."""
CORPUS_CACHE_BYTES = 1 << 28
"""Decompressed documents that a process keeps in memory."""


def train(config: TrainingConfig, folder: str | Path) -> Progress:
    """Trains a config in a run folder, or resumes the run in that folder; returns the final counters."""
    world = World.join()
    try:
        with StopSignal() as stop, ExitStack() as resources:
            return Trainer(config, RunFolder(Path(folder)), world, stop, resources).run()
    finally:
        world.leave()


class Trainer:
    """One training run."""

    def __init__(
        self, config: TrainingConfig, folder: RunFolder, world: World, stop: StopSignal, resources: ExitStack
    ) -> None:
        """Opens the run folder and its inputs; `resources` closes them."""
        self.config, self.folder, self.world, self.stop = config, folder, world, stop
        model_config = resolve_model_config(config)
        self.translations = open_translations(config)
        if world.is_main:
            folder.open(config, make_signature(config, str(world.device), world.size))
            resources.callback(folder.close)
        world.barrier()
        start = build_model(config, model_config)
        dtype = torch.bfloat16 if config.precision == "bf16" else torch.float32
        self.model = copy.deepcopy(start).to(world.device, dtype).train()
        self.flops = FlopCounter(self.model)
        self.masters = MasterWeights(self.model.parameters())
        self.masters.copy_from(start.parameters())
        self.optimizer = make_optimizer(config.optimizer, self.masters)
        trainable = [name for name, parameter in start.named_parameters() if parameter.requires_grad]
        self.gradient_norms = GradientNorms(trainable, self.masters)
        self.generators = [torch.default_generator]
        if world.device.type == "cuda":
            self.generators.append(torch.cuda.default_generators[torch.cuda.current_device()])
        self.sums = UpdateSums(world.device)
        self.progress = self._resume()
        self.keeper = CheckpointKeeper(config, folder, world, start, self.masters, self.progress)
        self.keeper.restore()
        self.compiled = config.compile and self.progress.step < config.steps
        if self.compiled:
            self.model.compile_parts(dynamic=world.device.type != "cuda")
        self._open_data(model_config, resources)
        self._open_outputs(resources)

    def _resume(self) -> Progress:
        """Restores the resume state, if there is one, and returns its counters."""
        if (state := load_state(self.folder.path, self.world.device)) is None:
            return Progress()
        progress, tensors = state
        unpack_state(tensors, self.masters, self.optimizer, self.sums)
        return progress

    def _open_data(self, model_config: ModelConfig, resources: ExitStack) -> None:
        config, world, progress = self.config, self.world, self.progress
        train_context, dev_context = self.translations
        corpus = PreparedCorpus.open(config.data, "train", CORPUS_CACHE_BYTES)
        batches = BatchSampler(corpus, config.batches, config.seed)
        self.too_long = batches.dropped
        hints, dev_hints = open_hints(config, model_config)
        builder = BatchBuilder(corpus, model_config, config.batches.unit, translations=train_context, hints=hints)
        self.captured: CapturedStep | None = None
        if self.compiled and world.device.type == "cuda":
            sample = (builder(spans) for spans in batches.sample(CAPACITY_SAMPLE))
            room = capacity(batch for batch in sample if batch is not None)
            builder = replace(builder, room=room)
            self.captured = CapturedStep(self._backward, room, self._zero_gradients, world.device)
        loader = BatchLoader(batches, builder, world.rank, world.size, config.workers, pin=world.device.type == "cuda")
        self.steps = resources.enter_context(closing(loader.steps(progress.epoch, progress.batch)))
        self.drop_words = WordDropout(config.word_dropout, corpus.tokenizer, model_config.transformer, world.device)
        self.validator: Validator | None = None
        if config.validation.every or config.validation.bleu_every:
            dev = PreparedCorpus.open(config.data, config.validation.split)
            self.validator = Validator(
                dev, config.validation, model_config, config.batches.tokens, world, dev_context, dev_hints
            )

    def _open_outputs(self, resources: ExitStack) -> None:
        config, progress, path = self.config, self.progress, self.folder.path
        log = ProgressLog(path / LOG if self.world.is_main else None, config.steps)
        self.log = resources.enter_context(closing(log))
        self.metrics: MetricsWriter | None = None
        if self.world.is_main:
            writer = MetricsWriter(
                path / METRICS, config.tensorboard, progress.step, progress.validated, progress.ended
            )
            self.metrics = resources.enter_context(closing(writer))
        self.peak = peak_flops(self.world.device)
        self.saved_step, self.stop_agreed = progress.step, False
        self.clock_start = time.perf_counter()

    def run(self) -> Progress:
        """Trains until the last update, until validation stops improving, or until a stop is requested."""
        config, progress, validation = self.config, self.progress, self.config.validation
        self._log_start()
        try:
            while not self._stop_requested():
                due = self._is_due(validation.every) or self._is_due(validation.bleu_every)
                if due and progress.step > progress.validated:
                    self._validate()
                if progress.step % config.checkpoints.every == 0 and self.saved_step != progress.step:
                    self._save_state()
                if self._is_finished():
                    self._finish()
                    return progress
                self._update(list(islice(self.steps, config.accumulation)))
                if progress.step % config.log_every == 0 or progress.step == config.steps:
                    self._write_metrics()
        except StopRequested:
            pass  # the resumed run repeats the interrupted validation
        self._save_state()
        self.log.message(f"stopped after update {progress.step:,}; run the same command again to resume")
        return progress

    def _update(self, parts: Sequence[Step]) -> None:
        """Performs one update on the batches of `parts`: forward and backward of each, then the optimizer."""
        config, progress, masters = self.config, self.progress, self.masters
        counts = torch.zeros(4, dtype=torch.float64, device=self.world.device)  # loss, NLL, tokens, stop requests
        if config.accumulation > 1 or parts[0].batch is None:
            self._zero_gradients()
        for index, part in enumerate(parts):
            if part.batch is not None:
                progress.window_flops += self.flops(part.batch)
                self._seed(progress.step * config.accumulation + index)
                batch = part.batch if self.captured is not None else part.batch.to(self.world.device)
                counts[:3] += (self.captured or self._backward)(batch)
        if self.world.size > 1:
            counts[3] = float(self.stop.requested)
            self.world.all_reduce(masters.gradients)
            self.world.all_reduce(counts)
        self._step_optimizer(counts)
        progress.step, progress.tokens = progress.step + 1, progress.tokens + sum(part.tokens for part in parts)
        progress.epoch, progress.batch = parts[-1].epoch, parts[-1].step + 1

    def _backward(self, batch: DocumentBatch) -> Tensor:
        """Computes the gradient of a batch into the masters; returns its summed loss, summed NLL and tokens, [3].

        With accumulation, it is added to the gradient that the masters have.
        """
        batch = self.drop_words(batch)
        loss, nll = self.model(batch, self.config.label_smoothing)
        loss.backward()
        self.masters.collect_gradients(add=self.config.accumulation > 1)
        assert batch.gold is not None
        tokens = (batch.gold != self.model.config.transformer.pad).sum()
        return torch.stack([loss.detach(), nll, tokens]).double()

    @torch.no_grad()
    def _step_optimizer(self, counts: Tensor) -> None:
        """Divides the gradient by the tokens, clips it and applies it, unless the loss or its norm is not finite."""
        gradients, clip = self.masters.gradients, self.config.optimizer.clip_norm
        gradients /= counts[2]
        norm = gradients.norm()
        finite = torch.isfinite(norm + counts[0])
        self.clip_scale = torch.ones_like(norm) if clip is None else (clip / norm).clamp(max=1.0)
        gradients *= self.clip_scale
        # Meant for gradient scaling: if it is 1, the fused optimizer changes neither weights nor moments nor its count.
        self.optimizer.found_inf = (~finite).float()  # type: ignore[attr-defined]
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.config.schedule, self.progress.step + 1, self.config.steps)
        self.optimizer.step()
        self.masters.update_model()
        self.sums.add(counts, norm, finite)

    def _zero_gradients(self) -> None:
        self.masters.gradients.zero_()

    def _seed(self, number: int) -> None:
        """Seeds the generators by the number of the batch, so that a resumed run draws the same dropout."""
        words = np.random.SeedSequence([self.config.seed, number, self.world.rank]).generate_state(1, np.uint64)
        for generator in self.generators:
            generator.manual_seed(int(words[0]))

    def _write_metrics(self) -> None:
        """Reads the sums from the device and writes a train record; the only place where the host waits."""
        progress, config = self.progress, self.config
        sums = self.sums.read_and_reset()
        self.stop_agreed = sums.stop_requests > 0
        self._stop_clock()
        self.clock_start = time.perf_counter()
        progress.skipped += int(sums.skipped)
        record = self._train_record(sums)
        progress.window_seconds = progress.window_flops = 0.0
        self._write_record(record)
        if record["loss"] is not None:
            seconds_left = progress.seconds / progress.step * (config.steps - progress.step)
            self.log.update(progress.step, describe_training(record, seconds_left))
        if (skipped := sums.longest_skip) >= config.max_nonfinite:
            raise DocgraphError(
                f"the loss was not finite in {int(skipped)} updates in a row, up to update {progress.step}; lower "
                "'schedule.peak' or check the data, and train in another --run",
                path=self.folder.path,
            )

    def _train_record(self, sums: SumsSinceLastLine) -> Record:
        """Returns the metrics of the updates since the last metrics line."""
        progress, device = self.progress, self.world.device
        tokens, updates = sums.tokens, sums.updates
        seconds, flops = progress.window_seconds, progress.window_flops * self.world.size
        return {
            "kind": "train",
            "step": progress.step,
            "epoch": progress.epoch,
            "loss": sums.loss / tokens if tokens else None,
            "nll": sums.nll / tokens if tokens else None,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "gradient_norm": sums.gradient_norm / updates if updates else None,
            "gradient_norms": self.gradient_norms(self.clip_scale),
            "tokens": progress.tokens,
            "tokens_per_second": tokens / seconds,
            "mfu": flops / seconds / (self.peak * self.world.size) if self.peak else None,
            "memory_gb": torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else None,
            "skipped": progress.skipped,
            "uncaptured_batches": None if self.captured is None else self.captured.missed,
            "seconds": progress.seconds,
        }

    def _write_record(self, record: Record) -> None:
        if self.metrics is not None:
            with self.folder.reporting_write_errors():
                self.metrics.write(record)

    def _stop_clock(self) -> None:
        """Adds the time since `clock_start` to the training time; setting `clock_start` starts the clock again."""
        seconds = time.perf_counter() - self.clock_start
        self.progress.seconds += seconds
        self.progress.window_seconds += seconds

    @contextmanager
    def _clock_stopped(self) -> Iterator[None]:
        """Excludes the block from the training time."""
        if self.world.device.type == "cuda":
            torch.cuda.synchronize()
        self._stop_clock()
        try:
            yield
        finally:
            self.clock_start = time.perf_counter()

    def _stop_requested(self) -> bool:
        """Returns whether to stop; several processes agree on it when they read their sums."""
        return self.stop.requested if self.world.size == 1 else self.stop_agreed

    def _is_finished(self) -> bool:
        patience = self.config.validation.patience
        return self.progress.step >= self.config.steps or (patience is not None and self.progress.stale >= patience)

    def _is_due(self, every: int) -> bool:
        """Returns True every `every` updates and after the last one, even if `steps` is 0; never if `every` is 0."""
        step, last = self.progress.step, self.config.steps
        return every > 0 and (step == last or (step > 0 and step % every == 0))

    def _measure(self, model: DocumentTransformer, bleu: bool) -> tuple[Record, list[list[str]] | None]:
        """Returns a validation record and, with `bleu`, the translations of the dev documents."""
        assert self.validator is not None
        # Several processes must measure the same batches, so a stop request waits until they agree on it.
        check = self.stop.check if self.world.size == 1 else lambda: None
        began = time.perf_counter()
        model.eval()
        try:
            with torch.compiler.set_stance("force_eager"):  # compiling takes longer than the dev split
                record, translations = self.validator.loss(model, check), None
                if bleu:
                    bleu_record, translations = self.validator.bleu(model, check)
                    record |= bleu_record
        finally:
            model.train()
        took = time.perf_counter() - began
        return {"kind": "validation", "step": self.progress.step, **record, "took": took}, translations

    def _validate(self) -> None:
        """Validates the current model and keeps its checkpoint if it is among the best."""
        progress = self.progress
        with self._clock_stopped():
            record, translations = self._measure(self.model, self._is_due(self.config.validation.bleu_every))
            self._write_record(record)
            self.log.message(f"step {progress.step:,}: dev {describe_validation(record)}")
            progress.validated = progress.step
            self.keeper.add(record, translations)

    def _save_state(self) -> None:
        """Writes the resume state, then removes the checkpoints that it does not refer to."""
        with self._clock_stopped(), self.folder.reporting_write_errors():
            if self.world.is_main:
                save_state(self.folder.path, self.progress, pack_state(self.masters, self.optimizer, self.sums))
                self.keeper.prune()
        self.saved_step = self.progress.step

    def _finish(self) -> None:
        """Writes the last checkpoint and, if the config asks for it, the average of the best ones."""
        progress = self.progress
        if progress.ended == progress.step:
            self.log.message(f"this run ended after update {progress.step:,}; raise 'steps' to continue training")
            return
        with self._clock_stopped():
            self.keeper.add_last()
            steps = progress.best_steps(self.config.checkpoints.average)
            if self.validator is not None and len(steps) > 1:
                averaged = self.keeper.average(steps)
                model = copy.deepcopy(averaged).to(self.world.device, next(self.model.parameters()).dtype)
                record, translations = self._measure(model, self.config.validation.bleu_every > 0)
                self._write_record({**record, "average": steps})
                self.log.message(f"average of {len(steps)} checkpoints: dev {describe_validation(record)}")
                self.keeper.add_average(averaged, record, translations)
        progress.ended = progress.step
        self._save_state()
        reason = "all updates done" if progress.step >= self.config.steps else "no improvement on the dev split"
        summary = f"{progress.step:,} updates in {progress.seconds:,.0f} s"
        self.log.message(f"{reason}: {summary}; the model is {self.folder.path / 'best'}")

    def _log_start(self) -> None:
        total = sum(parameter.numel() for parameter in self.model.parameters())
        trained = sum(parameter.numel() for parameter in self.masters.parameters) if self.config.steps else 0
        device = f"{self.world.size} x {self.world.device.type}" if self.world.size > 1 else str(self.world.device)
        resumed = f", resumed at update {self.progress.step:,}" if self.progress.step else ""
        system = checkpoint.system_name(self.model.config)
        self.log.message(f"{system}: {total:,} parameters, {trained:,} trainable; {device}{resumed}")
        if self.too_long:
            limit = self.config.batches.max_length
            self.log.message(
                f"{self.too_long:,} sentences of more than {limit} sub-words are not trained on ('batches.max_length')"
            )
