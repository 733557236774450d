"""Where a model is: a model folder, a run folder, or the name of one that ships with the package."""

from __future__ import annotations

from pathlib import Path

from docgraph.errors import DocgraphError

EMBEDDED = Path(__file__).parent.parent / "data" / "models"
"""Model folders that ship with the package, by name."""
CONFIG, BEST = "config.json", "best"
REMEDY = "train one with docgraph train, or import one with docgraph import marian"


def embedded_models() -> list[str]:
    """The names of the models that ship with this version."""
    return sorted(place.parent.name for place in EMBEDDED.glob(f"*/{CONFIG}"))


def find_model(name: str | Path | None = None) -> Path:
    """The model folder of a path (of a run folder, its best model) or of a name; of None, the only embedded model."""
    names = embedded_models()
    if name is None:
        if not names:
            raise DocgraphError(f"no model ships with this version yet; {REMEDY}, and name its folder as the model")
        if len(names) > 1:
            raise DocgraphError(f"several models ship with this version; choose among {', '.join(names)}")
        return EMBEDDED / names[0]
    folder = Path(name)
    if (folder / CONFIG).is_file():
        return folder
    if (folder / BEST).is_dir():
        return folder / BEST
    if str(name) in names:
        return EMBEDDED / str(name)
    shipped = f"the models that ship are {', '.join(names)}" if names else "no model ships with this version yet"
    if folder.is_dir():
        raise DocgraphError(
            f"this is neither a model folder nor a run folder with a model in it; {REMEDY}", path=folder
        )
    raise DocgraphError(f"there is no such model folder, and {shipped}; check the name, or {REMEDY}", path=folder)
