"""The formats by name and by extension; the module of a format is imported when the format is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from docgraph.errors import DocgraphError
from docgraph.formats.base import Format

_MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "lines": ("plain_text", ()),
    "text": ("plain_text", (".txt", ".text", ".log")),
    "markdown": ("markdown", (".md", ".markdown", ".mdown")),
    "mdx": ("mdx", (".mdx",)),
    "rst": ("rst", (".rst", ".rest")),
    "srt": ("subtitles", (".srt",)),
    "vtt": ("subtitles", (".vtt",)),
    "html": ("html", (".html", ".htm", ".xhtml")),
    "docx": ("office", (".docx", ".docm", ".dotx")),
    "odt": ("odt", (".odt", ".ott")),
    "pptx": ("office", (".pptx", ".pptm", ".ppsx", ".potx")),
    "xlsx": ("office", (".xlsx", ".xlsm", ".xltx")),
    "epub": ("epub", (".epub",)),
    "po": ("po", (".po", ".pot")),
    "xliff": ("xliff", (".xlf", ".xliff")),
    "json": ("json_strings", (".json",)),
    "arb": ("json_strings", (".arb",)),
    "yaml": ("yaml_strings", (".yaml", ".yml")),
    "properties": ("properties", (".properties",)),
    "csv": ("tables", (".csv",)),
    "tsv": ("tables", (".tsv",)),
}
"""Name of a built-in format -> the module that has it as a constant (`PO`), and the extensions of its files."""


class _BuiltIn(Mapping[str, Format]):
    """The built-in formats by name."""

    def __getitem__(self, name: str) -> Format:
        module, _ = _MODULES[name]
        form: Format = getattr(import_module(f"docgraph.formats.{module}"), name.upper())
        return form

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


FORMATS: Mapping[str, Format] = _BuiltIn()
"""The built-in formats; other packages add theirs by the entry point group `docgraph.formats`."""


def extensions() -> dict[str, str]:
    """Return the name of the built-in format of each extension, without importing any."""
    return {extension: name for name, (_, known) in _MODULES.items() for extension in known}


def get_format(name: str) -> Format:
    """Return a format by name, built-in or from an entry point; `csv:en:fr` names the columns of a table."""
    base, *columns = name.split(":")
    if columns and base in ("csv", "tsv"):
        from docgraph.formats.tables import table_format

        return table_format(base, tuple(columns))
    form = FORMATS.get(name) or _plugins().get(name)
    if form is None:
        known = ", ".join([*FORMATS, *_plugins()])
        raise DocgraphError(f"there is no format '{name}'; choose one of {known}")
    return form


def by_extension(name: str) -> Format | None:
    """Return the format that has the extension of the file name, or None."""
    extension = Path(name).suffix.lower()
    if extension in extensions():
        return FORMATS[extensions()[extension]]
    return next((form for form in _plugins().values() if extension and extension in form.extensions), None)


@cache
def _plugins() -> dict[str, Format]:
    """Return the formats of other packages, by name."""
    from importlib.metadata import entry_points

    forms = [entry.load() for entry in entry_points(group="docgraph.formats")]
    return {form.name: form for form in forms}
