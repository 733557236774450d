"""The files that `docgraph translate` writes beside a translation: pages, bilingual files, memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.translation.result import Translation


def check_pages(pages: dict[str, Path | None], files: list[Path]) -> None:
    """Refuses pages beside the translation of several files, or that would replace the file that is translated."""
    for option, path in pages.items():
        if path is None:
            continue
        if len(files) > 1 or any(file.is_dir() for file in files):
            raise DocgraphError(f"{option} belongs to one file; pass a single file with it")
        if any(path.exists() and file.exists() and path.samefile(file) for file in files):
            raise DocgraphError(f"{option} would replace the file that is translated; choose another name", path=path)
    if pages["--bilingual"] is not None:
        from docgraph.translation.files.bilingual import check_name

        check_name(pages["--bilingual"])
    if (memory := pages["--export-memory"]) is not None and memory.suffix.lower() != ".tmx":
        raise DocgraphError("a translation memory is written as TMX; choose a name that ends in .tmx", path=memory)


def write_bilingual_files(
    bilingual: Path | None, memory: Path | None, translations: list[Translation], languages: tuple[str, str] | None
) -> None:
    """Writes the sentences and translations of a file beside each other, and those that are known as a memory."""
    from docgraph.translation.files.bilingual import BilingualSegment, write_bilingual

    segments = [
        BilingualSegment(sentence.source, sentence.text, sentence.given, translation.source.id)
        for translation in translations
        for sentence in translation
    ]
    if bilingual is not None:
        write_bilingual(bilingual, segments, languages)
        typer.echo(f"wrote {bilingual}", err=True)
    if memory is not None:
        write_bilingual(memory, [segment for segment in segments if segment.confirmed], languages)
        typer.echo(f"wrote {memory}", err=True)


def write_page(path: Path, translations: list[Translation], languages: tuple[str, str] | None) -> None:
    """Writes the page that shows what each sentence read."""
    from docgraph.files import replacing
    from docgraph.translation.result import to_html

    with replacing(path) as temporary:
        temporary.write_text(to_html(translations, languages), "utf-8")
    typer.echo(f"wrote {path}", err=True)
