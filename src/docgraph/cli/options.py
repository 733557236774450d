"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

EngineName = Literal["local", "ray"]
ModelPrecision = Literal["fp32", "bf16"]
TableFormat = Literal["text", "json", "markdown"]
DeviceOption = Annotated[str | None, typer.Option(help="cpu or cuda (default: a GPU if there is one).")]
JobsOption = Annotated[int | None, typer.Option(min=1, help="Number of processes (default: all cores).")]
AnnotationJobsOption = Annotated[
    int | None, typer.Option(min=1, help="Number of processes that annotate (default: all cores).")
]
ModelPrecisionOption = Annotated[ModelPrecision, typer.Option(help="Precision of the model; bf16 is faster on a GPU.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Model folder, run folder, or name of an embedded model (default: the only embedded model).",
    ),
]
