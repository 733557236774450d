"""Optional packages: imported when first needed, and one sentence with the command that installs a missing one."""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from types import ModuleType

from docgraph.errors import DocgraphError


def load_package(module: str, annotator: str, install: str) -> ModuleType:
    """The module, or a DocgraphError that says how to install it; warnings of its own import are not the user's."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != module:
            raise DocgraphError(
                f"annotator '{annotator}' needs {module}, which does not import ({error}); repair it with: {install}"
            ) from error
        raise DocgraphError(f"annotator '{annotator}' needs {module}; install it with: {install}") from None


def package_version(distribution: str) -> str:
    """The installed version of a distribution, to go into a cache key."""
    try:
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return distribution
