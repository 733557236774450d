"""The training loop: batches in, updates, and now and then a line of metrics, a look at the dev split, a state on disk.

The host never waits for the device in an update: losses, norms and counts gather in `sums` on the device, which are
read with every line of metrics. An update whose loss or gradient is not finite is skipped on the device too.
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

from docgraph.corpus.batches import Batches
from docgraph.corpus.loader import Builder, Loader, Step
from docgraph.corpus.store import PreparedCorpus
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.gpu.cuda_graphs import Captured
from docgraph.model.padding import capacity
from docgraph.training import plan, state
from docgraph.training.config import TrainingConfig
from docgraph.training.flops import FlopCounter, peak_flops
from docgraph.training.folder import LOG, METRICS, RunFolder, signature_of
from docgraph.training.gradients import GradientNorms
from docgraph.training.keeping import Keeper
from docgraph.training.metrics import Metrics, Narrator, Record, line_of, sentence_of
from docgraph.training.precision import MasterWeights
from docgraph.training.schedule import learning_rate
from docgraph.training.signals import Stopped, StopSignal
from docgraph.training.state import Progress
from docgraph.training.validation import Validator
from docgraph.training.word_dropout import WordDropout
from docgraph.training.world import World

SAMPLED = 48
"""Batches whose sizes say what room a captured step must have; one that exceeds it is computed without it."""
LOSS, NLL, TOKENS, NORM, UPDATES, SKIPPED, IN_A_ROW, WORST, STOP = range(9)
"""What stands where in `sums`, each since the last line of metrics: summed smoothed loss, negative log-likelihood,
target tokens and gradient norms of the updates, their number, those skipped, those skipped in a row up to now and at
most, and how often a process was asked to stop."""
HELD_BYTES = 1 << 28
"""Decompressed documents a process keeps."""


def train(config: TrainingConfig, folder: str | Path) -> Progress:
    """Run a config in a run folder, or go on with the run that is there; returns how far it came."""
    world = World.join()
    try:
        with StopSignal() as stop, ExitStack() as opened:
            return Training(config, RunFolder(Path(folder)), world, stop, opened).run()
    finally:
        world.leave()


class Training:
    """One run."""

    def __init__(
        self, config: TrainingConfig, folder: RunFolder, world: World, stop: StopSignal, opened: ExitStack
    ) -> None:
        self.config, self.folder, self.world, self.stop = config, folder, world, stop
        model = plan.resolve(config)
        self.translations = plan.translations(config)
        if world.first:
            folder.open(config, signature_of(config, str(world.device), world.size))
            opened.callback(folder.close)
        world.wait()
        start = plan.build(config, model)
        dtype = torch.bfloat16 if config.precision == "bf16" else torch.float32
        self.model = copy.deepcopy(start).to(world.device, dtype).train()
        self.flops = FlopCounter(self.model)
        self.masters = MasterWeights(self.model.parameters())
        self.masters.copy_from(start.parameters())
        adam = config.optimizer
        kind = torch.optim.AdamW if adam.kind == "adamw" else torch.optim.Adam
        betas, decay, weights = (adam.beta1, adam.beta2), adam.weight_decay, self.masters.parameters
        self.optimizer = kind(weights, betas=betas, eps=adam.epsilon, weight_decay=decay, fused=True)
        names = [name for name, parameter in start.named_parameters() if parameter.requires_grad]
        self.gradient_norms = GradientNorms(names, self.masters)
        self.generators = [torch.default_generator]
        if world.device.type == "cuda":
            self.generators.append(torch.cuda.default_generators[torch.cuda.current_device()])
        self.sums = torch.zeros(9, dtype=torch.float64, device=world.device)
        self.progress = self._resume()
        self.keeper = Keeper(config, folder, world, start, self.masters, self.progress)
        self.keeper.restore()
        self.compiled = config.compile and self.progress.step < config.steps
        if self.compiled:
            self.model.compile_parts(dynamic=world.device.type != "cuda")
        self._open_data(model, opened)
        self._open_outputs(opened)

    def _resume(self) -> Progress:
        if (found := state.load(self.folder.path, self.world.device)) is None:
            return Progress()
        state.unpack(found[1], self.masters, self.optimizer, self.sums)
        return found[0]

    def _open_data(self, model: ModelConfig, opened: ExitStack) -> None:
        config, world, progress = self.config, self.world, self.progress
        corpus = PreparedCorpus.open(config.data, "train", HELD_BYTES)
        batches = Batches(corpus, config.batches, config.seed)
        builder = Builder(corpus, model, config.batches.unit, translations=self.translations[0])
        self.captured: Captured | None = None
        if self.compiled and world.device.type == "cuda":
            room = capacity(batch for pieces in batches.sample(SAMPLED) if (batch := builder(pieces)) is not None)
            builder = replace(builder, room=room)
            self.captured = Captured(self._gradient, room, self._forget, world.device)
        loader = Loader(batches, builder, world.rank, world.size, config.workers, pin=world.device.type == "cuda")
        self.steps = opened.enter_context(closing(loader.steps(progress.epoch, progress.batch)))
        self.drop_words = WordDropout(config.word_dropout, corpus.tokenizer, model.transformer, world.device)
        self.validator: Validator | None = None
        if config.validation.every or config.validation.bleu_every:
            dev = PreparedCorpus.open(config.data, config.validation.split)
            own = self.translations[1]
            self.validator = Validator(dev, config.validation, model, config.batches.tokens, world, own)

    def _open_outputs(self, opened: ExitStack) -> None:
        config, progress, path = self.config, self.progress, self.folder.path
        self.narrator = opened.enter_context(closing(Narrator(path / LOG if self.world.first else None, config.steps)))
        self.metrics: Metrics | None = None
        if self.world.first:
            metrics = Metrics(path / METRICS, config.tensorboard, progress.step, progress.validated)
            self.metrics = opened.enter_context(closing(metrics))
        self.peak = peak_flops(self.world.device)
        self.saved, self.stop_agreed = progress.step, False
        self.began = time.perf_counter()

    def run(self) -> Progress:
        """Train to the end, or until somebody asks to stop."""
        config, progress, dev = self.config, self.progress, self.config.validation
        self._greet()
        try:
            while not self._asked_to_stop():
                if progress.step > progress.validated and (self._due(dev.every) or self._due(dev.bleu_every)):
                    self._validate()
                if progress.step % config.checkpoints.every == 0 and self.saved != progress.step:
                    self._save()
                if self._over():
                    self._end()
                    return progress
                self._update(list(islice(self.steps, config.accumulation)))
                if progress.step % config.log_every == 0 or progress.step == config.steps:
                    self._log()
        except Stopped:
            pass  # a validation cut short is done again by the run that goes on
        self._save()
        self.narrator.say(f"stopped after update {progress.step:,}; the same command goes on from there")
        return progress

    def _update(self, parts: Sequence[Step]) -> None:
        """One step of the optimizer, on the batches of `parts`."""
        config, progress, masters = self.config, self.progress, self.masters
        counts = torch.zeros(4, dtype=torch.float64, device=self.world.device)  # loss, nll, target tokens, stop
        if config.accumulation > 1 or parts[0].batch is None:
            masters.gradients.zero_()
        for index, part in enumerate(parts):
            if part.batch is not None:
                progress.window_flops += self.flops(part.batch)
                self._seed(progress.step * config.accumulation + index)
                batch = part.batch if self.captured is not None else part.batch.to(self.world.device)
                counts[:3] += (self.captured or self._gradient)(batch)
        if self.world.size > 1:
            counts[3] = float(self.stop.asked)
            self.world.sum(masters.gradients)
            self.world.sum(counts)
        self._step_optimizer(counts)
        progress.step, progress.tokens = progress.step + 1, progress.tokens + sum(part.tokens for part in parts)
        progress.epoch, progress.batch = parts[-1].epoch, parts[-1].step + 1

    def _forget(self) -> None:
        self.masters.gradients.zero_()

    def _gradient(self, batch: DocumentBatch) -> Tensor:
        """Give (or, of several batches, add) the gradient of a batch to the masters; its loss, nll and tokens: [3]."""
        batch = self.drop_words(batch)
        loss, nll = self.model(batch, self.config.label_smoothing)
        loss.backward()
        self.masters.take_gradients(add=self.config.accumulation > 1)
        assert batch.gold is not None
        tokens = (batch.gold != self.model.config.transformer.pad).sum()
        return torch.stack([loss.detach(), nll, tokens]).double()

    @torch.no_grad()
    def _step_optimizer(self, counts: Tensor) -> None:
        """Scale the gradient, clip it and apply it, unless something is not finite; no number is read back here."""
        gradients, sums, clip = self.masters.gradients, self.sums, self.config.optimizer.clip_norm
        gradients /= counts[2]
        norm = gradients.norm()
        good = torch.isfinite(norm + counts[0])
        self.shrink = torch.ones_like(norm) if clip is None else (clip / norm).clamp(max=1.0)
        gradients *= self.shrink
        # Made for gradient scaling: where this is 1, the fused optimizer leaves weights, moments and its count alone.
        self.optimizer.found_inf = (~good).float()  # type: ignore[attr-defined]
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.config.schedule, self.progress.step + 1, self.config.steps)
        self.optimizer.step()
        self.masters.give_weights()
        sums[: TOKENS + 1] += torch.where(good, counts[:3], 0.0)
        sums[NORM] += torch.where(good, norm, 0.0)
        sums[UPDATES] += good
        sums[SKIPPED] += ~good
        sums[IN_A_ROW] = torch.where(good, 0.0, sums[IN_A_ROW] + 1)
        sums[WORST] = torch.maximum(sums[WORST], sums[IN_A_ROW])
        sums[STOP] += counts[3]

    def _seed(self, number: int) -> None:
        """Let what a batch draws depend on its number, not on what ran before it: a resumed run repeats it."""
        words = np.random.SeedSequence([self.config.seed, number, self.world.rank]).generate_state(1, np.uint64)
        for generator in self.generators:
            generator.manual_seed(int(words[0]))

    def _log(self) -> None:
        """Read what gathered on the device: the one place where the host waits for it."""
        progress, config = self.progress, self.config
        sums = self.sums.tolist()
        in_a_row = sums[IN_A_ROW]
        self.sums.zero_()
        self.sums[IN_A_ROW] = in_a_row
        self.stop_agreed = sums[STOP] > 0
        self._pause()
        self.began = time.perf_counter()
        seconds, flops = progress.window_seconds, progress.window_flops * self.world.size
        progress.skipped += int(sums[SKIPPED])
        progress.window_seconds = progress.window_flops = 0.0
        gpu = self.world.device.type == "cuda"
        updates, tokens = sums[UPDATES], sums[TOKENS]
        record: Record = {
            "kind": "train",
            "step": progress.step,
            "epoch": progress.epoch,
            "loss": sums[LOSS] / tokens if tokens else None,
            "nll": sums[NLL] / tokens if tokens else None,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "gradient_norm": sums[NORM] / updates if updates else None,
            "gradient_norms": self.gradient_norms(self.shrink),
            "tokens": progress.tokens,
            "tokens_per_second": tokens / seconds,
            "mfu": flops / seconds / (self.peak * self.world.size) if self.peak else None,
            "memory_gb": torch.cuda.max_memory_allocated() / 1e9 if gpu else None,
            "skipped": progress.skipped,
            "uncaptured_batches": None if self.captured is None else self.captured.missed,
            "seconds": progress.seconds,
        }
        self._write(record)
        if tokens:
            self.narrator.step(
                progress.step, line_of(record, progress.seconds / progress.step * (config.steps - progress.step))
            )
        if sums[WORST] >= config.max_nonfinite:
            raise DocgraphError(
                f"the loss was not finite in {int(sums[WORST])} updates in a row, up to update {progress.step}; lower "
                "'schedule.peak' or look at the data, and train in another --run",
                path=self.folder.path,
            )

    def _write(self, record: Record) -> None:
        if self.metrics is not None:
            with self.folder.writing():
                self.metrics.write(record)

    def _pause(self) -> None:
        """Stop the clock; `self.began` starts it again."""
        seconds = time.perf_counter() - self.began
        self.progress.seconds += seconds
        self.progress.window_seconds += seconds

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Time that is not training's."""
        if self.world.device.type == "cuda":
            torch.cuda.synchronize()
        self._pause()
        try:
            yield
        finally:
            self.began = time.perf_counter()

    def _asked_to_stop(self) -> bool:
        """Several processes must agree, which they do whenever they read their sums."""
        return self.stop.asked if self.world.size == 1 else self.stop_agreed

    def _over(self) -> bool:
        patience = self.config.validation.patience
        return self.progress.step >= self.config.steps or (patience is not None and self.progress.stale >= patience)

    def _due(self, every: int) -> bool:
        """After so many updates, and after the last of all, be it none."""
        step, last = self.progress.step, self.config.steps
        return every > 0 and (step == last or (step > 0 and step % every == 0))

    def _measure(self, model: DocumentTransformer, bleu: bool) -> tuple[Record, list[list[str]] | None]:
        """Dev loss and, where asked, BLEU and the translations."""
        assert self.validator is not None
        # With several processes a stop waits: all must measure the same.
        check = self.stop.check if self.world.size == 1 else lambda: None
        began = time.perf_counter()
        model.eval()
        try:
            with torch.compiler.set_stance("force_eager"):  # compiling for the dev split would take longer than it
                record, texts = self.validator.loss(model, check), None
                if bleu:
                    found, texts = self.validator.translate(model, check)
                    record |= found
        finally:
            model.train()
        return {"kind": "validation", "step": self.progress.step, **record, "took": time.perf_counter() - began}, texts

    def _validate(self) -> None:
        """Look at the dev split; keep the checkpoint if it is among the best."""
        progress = self.progress
        with self._aside():
            record, texts = self._measure(self.model, self._due(self.config.validation.bleu_every))
            self._write(record)
            self.narrator.say(f"step {progress.step:,}: dev " + sentence_of(record))
            progress.validated = progress.step
            self.keeper.consider(record, texts)

    def _save(self) -> None:
        """Write the resume state, and only then remove what it does not speak of."""
        progress = self.progress
        with self._aside(), self.folder.writing():
            if self.world.first:
                state.save(self.folder.path, progress, state.pack(self.masters, self.optimizer, self.sums))
                self.keeper.prune()
        self.saved = progress.step

    def _end(self) -> None:
        """Leave the last checkpoint, and the average of the best where asked."""
        progress, folder = self.progress, self.folder
        if progress.ended == progress.step:
            self.narrator.say(f"this run ended after update {progress.step:,}; raise 'steps' to train on")
            return
        with self._aside():
            self.keeper.keep_last()
            if self.validator is not None and len(steps := progress.best_steps(self.config.checkpoints.average)) > 1:
                averaged = self.keeper.average(steps)
                model = copy.deepcopy(averaged).to(self.world.device, next(self.model.parameters()).dtype)
                record, texts = self._measure(model, self.config.validation.bleu_every > 0)
                self._write({**record, "average": steps})
                self.narrator.say(f"average of {len(steps)} checkpoints: dev " + sentence_of(record))
                self.keeper.consider_average(averaged, record, texts)
        progress.ended = progress.step
        self._save()
        reason = "all updates are done" if progress.step >= self.config.steps else "the dev split gets no better"
        best = folder.path / "best"
        self.narrator.say(f"{reason}: {progress.step:,} updates in {progress.seconds:,.0f} s; the model is {best}")

    def _greet(self) -> None:
        trained = self.masters.parameters if self.config.steps else []
        sizes = [sum(p.numel() for p in parameters) for parameters in (self.model.parameters(), trained)]
        place = f"{self.world.size} x {self.world.device.type}" if self.world.size > 1 else str(self.world.device)
        after = f", on from update {self.progress.step:,}" if self.progress.step else ""
        name = checkpoint.system_name(self.model.config)
        self.narrator.say(f"{name}: {sizes[0]:,} parameters, {sizes[1]:,} of them train; {place}{after}")
