"""What `docgraph train` is told: which model, which data, how long, how fast, and what to keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Literal

from docgraph.corpus.batches import BatchConfig
from docgraph.errors import DocgraphError
from docgraph.model.config import ModelConfig, from_dict
from docgraph.model.systems import context_needs
from docgraph.settings import read_settings
from docgraph.translation.hypotheses import SearchConfig


@dataclass(frozen=True)
class OptimizerConfig:
    kind: Literal["adam", "adamw"] = "adam"
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    """adam adds it to the gradient, adamw takes it off the weights."""
    clip_norm: float | None = 1.0
    """Longest gradient; a longer one is shortened to it."""


@dataclass(frozen=True)
class ScheduleConfig:
    """A linear warm-up to `peak`, then as `kind` says."""

    kind: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    peak: float = 7e-4
    warmup: int = 4000
    """Updates."""
    floor: float = 0.0
    """Where cosine ends, and inverse_sqrt goes no lower."""


@dataclass(frozen=True)
class WordDropoutConfig:
    """Words of the current sentence made unknown, its context left whole (CoWord dropout, Fernandes et al. 2021)."""

    source: float = 0.0
    """Share of the sub-words that the encoder reads."""
    target: float = 0.0
    """Share of the sub-words that the decoder reads."""


@dataclass(frozen=True)
class TranslationsConfig:
    """Translations of the store as target context; the loss stays that of the references."""

    folder: str | None = None
    """What docgraph pretranslate made; where it holds the dev split too, the dev loss is also taken with these."""
    share: float = 1.0
    """Of the documents, drawn anew every epoch, those whose sentences see translations of the ones before them; those
    of the others see references."""


@dataclass(frozen=True)
class ValidationConfig:
    """What is measured on the dev split, and when."""

    split: str = "dev"
    every: int = 1000
    """Updates between dev losses; 0 is never."""
    documents: int | None = None
    """Dev loss of so many documents, the first ones; None is all."""
    bleu_every: int = 5000
    """Updates between translations of dev documents; 0 is never."""
    bleu_documents: int | None = None
    search: SearchConfig = field(default_factory=SearchConfig)
    best: Literal["loss", "bleu"] = "loss"
    """What makes a checkpoint the best; the loss is that with translations as context, where it is taken."""
    patience: int | None = None
    """Stop after so many validations in a row without a better one; None is never."""


@dataclass(frozen=True)
class CheckpointConfig:
    """What is kept on disk."""

    every: int = 1000
    """Updates between resume states; a stop by signal writes one too."""
    best: int = 3
    """Best checkpoints kept."""
    average: int = 0
    """At the end, average so many of the best (at most `best`) and let the average compete; 0 is none."""
    precision: Literal["float32", "float16"] = "float32"
    """Of the weights of checkpoints; the resume state is float32 always."""


@dataclass(frozen=True)
class TrainingConfig:
    """A run."""

    data: str = ""
    """The store that docgraph prepare made; the vocabulary of the model is that of its sub-words."""
    stage: Literal["base", "context"] = "base"
    """base: a model without context, all of which trains; context: `model.freeze` says what trains."""
    base: str | None = None
    """A model folder to start from (a run's best, or an imported OPUS-MT model): its weights and, but for dropout, its
    Transformer's settings. Stage context needs one unless `model.freeze` is none."""
    model: ModelConfig = field(default_factory=ModelConfig)
    seed: int = 1
    steps: int = 100_000
    """Updates; 0 looks at the dev split and keeps the model as it starts."""
    batches: BatchConfig = field(default_factory=BatchConfig)
    accumulation: int = 1
    """Batches an update, on each device."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    label_smoothing: float = 0.1
    word_dropout: WordDropoutConfig = field(default_factory=WordDropoutConfig)
    translations: TranslationsConfig = field(default_factory=TranslationsConfig)
    precision: Literal["fp32", "bf16"] = "bf16"
    compile: bool = False
    """Compile the model: pays on a GPU in runs of some minutes."""
    max_nonfinite: int = 10
    """An update whose loss or gradient is not finite is skipped; so many in a row end the run."""
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    log_every: int = 50
    """Updates between lines of metrics.jsonl."""
    tensorboard: bool = False
    """Also write event files; needs the tensorboard package."""
    workers: int = 2
    """Processes that make batches; 0 makes them in the training process."""

    def __post_init__(self) -> None:
        self._check_numbers()
        if not self.data:
            raise DocgraphError("'data' is missing; name the store that docgraph prepare made")
        if self.stage == "base" and self.model.context is not None:
            raise DocgraphError(
                "stage 'base' trains a model without context; remove 'model.context' or set 'stage: context'"
            )
        if self.stage == "context" and self.model.context is None:
            raise DocgraphError("stage 'context' needs 'model.context'; give it one or set 'stage: base'")
        if self.stage == "context" and self.base is None and self.model.freeze != "none":
            raise DocgraphError(
                "stage 'context' freezes a base that 'base' must name; give a model folder or set 'model.freeze: none'"
            )
        if self.batches.unit == "sentence" and (self.model.context or self.model.concatenation):
            raise DocgraphError(
                "a model that reads other sentences needs whole documents; set 'batches.unit: document'"
            )
        if self.translations.folder is not None and not context_needs(self.model).reads_translations:
            raise DocgraphError(
                "'translations.folder' is for a model that reads translations; set 'model.context.sides: both', or "
                "leave it out"
            )
        if self.validation.best == "bleu" and not self.validation.bleu_every:
            raise DocgraphError("'validation.best: bleu' needs 'validation.bleu_every' above 0")
        if self.checkpoints.average > self.checkpoints.best:
            raise DocgraphError(
                "'checkpoints.average' is above 'checkpoints.best', the number of checkpoints kept; raise that"
            )

    def _check_numbers(self) -> None:
        for name, least in _LEAST.items():
            number = attrgetter(name)(self)
            if number is not None and number < least:
                raise DocgraphError(f"'{name}' is {number}; it must be at least {least}")
        for name in _SHARES:
            if not 0.0 <= (share := attrgetter(name)(self)) < 1.0:
                raise DocgraphError(f"'{name}' is {share}; it must be at least 0 and below 1")
        if not 0.0 <= self.translations.share <= 1.0:
            raise DocgraphError(f"'translations.share' is {self.translations.share}; it must be from 0 to 1")
        if self.schedule.peak <= 0:
            raise DocgraphError(f"'schedule.peak' is {self.schedule.peak}; it must be above 0")


_LEAST = {
    **dict.fromkeys(("accumulation", "log_every", "max_nonfinite"), 1),
    **dict.fromkeys(("steps", "seed", "workers", "schedule.warmup", "schedule.floor", "optimizer.weight_decay"), 0),
    **dict.fromkeys(("validation.documents", "validation.bleu_documents", "validation.patience"), 1),
    **dict.fromkeys(("validation.every", "validation.bleu_every", "checkpoints.average"), 0),
    **dict.fromkeys(("checkpoints.every", "checkpoints.best"), 1),
}
_SHARES = ("label_smoothing", "optimizer.beta1", "optimizer.beta2", "word_dropout.source", "word_dropout.target")


def read_config(path: str | Path, overrides: Iterable[str] = ()) -> TrainingConfig:
    """The run a YAML file describes, with `a.b=c` overrides."""
    values = read_settings(path, overrides)
    try:
        return from_dict(TrainingConfig, values)
    except DocgraphError as error:
        raise DocgraphError(str(error), path=path) from None
