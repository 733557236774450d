"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

EngineName = Literal["local", "ray"]
DeviceOption = Annotated[str | None, typer.Option(help="cpu or cuda (default: a GPU if there is one).")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Model folder, run folder, or name of an embedded model (default: the only embedded model).",
    ),
]
