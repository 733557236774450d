"""The config of `docgraph train`: model, data, optimisation, validation and checkpoints."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from docgraph.config import Count, Flag, NonNegative, Positive, Rate, Share, Size, config_class
from docgraph.corpus.batches import BatchConfig
from docgraph.model.config import ModelConfig
from docgraph.model.systems import context_needs
from docgraph.translation.decoding.hypotheses import SearchConfig


@config_class
class OptimizerConfig:
    """Adam or AdamW."""

    kind: Literal["adam", "adamw"] = "adam"
    beta1: Rate = 0.9
    beta2: Rate = 0.98
    epsilon: NonNegative = 1e-9
    weight_decay: NonNegative = 0.0
    """adam adds the decay to the gradient; adamw subtracts it from the weights."""
    clip_norm: Positive | None = 1.0
    """Largest gradient norm; a longer gradient is scaled down to it."""


@config_class
class ScheduleConfig:
    """Linear warm-up to `peak`, then the decay named by `kind`."""

    kind: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    peak: Positive = 7e-4
    warmup: Count = 4000
    """Updates."""
    floor: NonNegative = 0.0
    """Final rate of cosine, lowest rate of inverse_sqrt."""


@config_class
class WordDropoutConfig:
    """Mask words of the current sentence, but not of its context (CoWord dropout, Fernandes et al. 2021)."""

    source: Rate = 0.0
    """Share of the encoder's input sub-words."""
    target: Rate = 0.0
    """Share of the decoder's input sub-words."""


@config_class
class TranslationsConfig:
    """The model's own translations as target context in training; the loss stays that of the references."""

    folder: str | None = None
    """Output of docgraph pretranslate. If it holds the dev split, the dev loss is also computed with it."""
    share: Share = 1.0
    """Share of the documents, drawn anew every epoch, whose context is translations; the others see references."""


@config_class
class ValidationConfig:
    """Measurements on the dev split, and their intervals."""

    split: str = "dev"
    every: Count = 1000
    """Updates between dev losses; 0: never."""
    documents: Size | None = None
    """Number of documents, from the first, whose dev loss is computed; None: all."""
    bleu_every: Count = 5000
    """Updates between translations of dev documents; 0: never."""
    bleu_documents: Size | None = None
    """Number of documents, from the first, that are translated; None: all."""
    search: SearchConfig = field(default_factory=SearchConfig)
    best: Literal["loss", "bleu"] = "loss"
    """Measure that selects the best checkpoint; the loss with translations as context, if that is computed."""
    patience: Size | None = None
    """Stop after this many validations without improvement; None: never."""


@config_class
class CheckpointConfig:
    """Checkpoints and resume states on disk."""

    every: Size = 1000
    """Updates between resume states; a run stopped by a signal writes one too."""
    best: Size = 3
    """Number of best checkpoints to keep."""
    average: Count = 0
    """At the end, average this many of the best (at most `best`) and rank the average with them; 0: no average."""
    precision: Literal["float32", "float16"] = "float32"
    """Precision of the weights in checkpoints; the resume state is always float32."""


@config_class
class TrainingConfig:
    """A training run."""

    data: str = ""
    """Store written by docgraph prepare; its sub-words determine the vocabulary of the model."""
    stage: Literal["base", "context"] = "base"
    """base: train all of a model without context; context: train the parameters that `model.freeze` leaves free."""
    base: str | None = None
    """Model folder to start from (the best checkpoint of a run, or an imported OPUS-MT model): its weights and, except
    for dropout, the settings of its Transformer. Stage context needs one unless `model.freeze` is none."""
    model: ModelConfig = field(default_factory=ModelConfig)
    seed: Count = 1
    steps: Count = 100_000
    """Updates; 0 validates the initial model and saves it."""
    batches: BatchConfig = field(default_factory=BatchConfig)
    accumulation: Size = 1
    """Batches per update on each device."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    label_smoothing: Rate = 0.1
    word_dropout: WordDropoutConfig = field(default_factory=WordDropoutConfig)
    translations: TranslationsConfig = field(default_factory=TranslationsConfig)
    precision: Literal["fp32", "bf16"] = "bf16"
    compile: Flag = False
    """Compile the model; pays off on a GPU in runs of several minutes."""
    max_nonfinite: Size = 10
    """An update with a non-finite loss or gradient is skipped; this many in a row end the run."""
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    log_every: Size = 50
    """Updates between lines of metrics.jsonl."""
    tensorboard: Flag = False
    """Also write event files; needs the tensorboard package."""
    workers: Count = 2
    """Processes that make batches; 0: the training process makes them."""

    def __post_init__(self) -> None:
        if not self.data:
            raise ValueError("'data' is missing; name the store that docgraph prepare made")
        self._check_stage()
        if self.batches.unit == "sentence" and (self.model.context or self.model.concatenation):
            raise ValueError("a model that reads other sentences needs whole documents; set 'batches.unit: document'")
        if self.translations.folder is not None and not context_needs(self.model).reads_translations:
            raise ValueError(
                "'translations.folder' is for a model that reads translations; set 'model.context.sides: both' or "
                "remove it"
            )
        if self.validation.best == "bleu" and not self.validation.bleu_every:
            raise ValueError("'validation.best: bleu' needs 'validation.bleu_every' above 0")
        if self.checkpoints.average > self.checkpoints.best:
            raise ValueError("'checkpoints.average' is above 'checkpoints.best'; raise 'checkpoints.best'")

    def _check_stage(self) -> None:
        if self.stage == "base" and self.model.context is not None:
            raise ValueError(
                "stage 'base' trains a model without context; remove 'model.context' or set 'stage: context'"
            )
        if self.stage == "context" and self.model.context is None:
            raise ValueError("stage 'context' needs 'model.context'; add it or set 'stage: base'")
        if self.stage == "context" and self.base is None and self.model.freeze != "none":
            raise ValueError(
                "stage 'context' freezes a base model that 'base' must name; give a model folder or set "
                "'model.freeze: none'"
            )
