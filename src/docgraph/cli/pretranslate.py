"""docgraph pretranslate: a prepared corpus as a model translates it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from docgraph.cli.progress import Bars


def pretranslate(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="What docgraph prepare made.", show_default=False)],
    model: Annotated[str, typer.Option("--model", "-m", help="A model folder or a run folder.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="A folder for the translations.", show_default=False)],
    split: Annotated[
        list[str] | None, typer.Option(help="A split to translate; repeatable. Otherwise train and dev.")
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses kept at each step; 1 is fastest.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Source sub-words translated together.")] = 65_536,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; a GPU where there is one otherwise.")] = None,
) -> None:
    """Translate a prepared corpus, so that training can show a model translations in the place of references.

    A config names the folder as [bold]translations.folder[/bold]; the model must have the sub-words of the store. A
    file is written whole or not at all.

    [bold]Example[/bold]

    docgraph pretranslate prepared/europarl_en-fr --model runs/base -o prepared/europarl_en-fr_own
    """
    from docgraph.allocator import keep_freed_memory
    from docgraph.corpus.store import PreparedCorpus
    from docgraph.translation.models import find_model
    from docgraph.translation.pretranslation import pretranslate as run
    from docgraph.translation.search import SearchConfig

    keep_freed_memory()
    folder = find_model(model)
    corpora = [PreparedCorpus.open(store, name) for name in split or ("train", "dev")]
    with Bars("sentences") as bars:
        for corpus in corpora:
            tell = partial(_tell, bars, corpus.split)
            path = run(folder, corpus, output, SearchConfig(beams=beam), device, batch, tell)
            bars.console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def _tell(bars: Bars, split: str, done: int, total: int) -> None:
    bars.update(split, done, done, total)
