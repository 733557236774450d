"""Models and documents of an analysis: all of the same sub-words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from docgraph.annotate.runner import annotate_all, default_cache_folder
from docgraph.annotation import Annotation
from docgraph.corpus import subwords
from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers import Problems, read
from docgraph.errors import DocgraphError
from docgraph.evaluation.evaluation_set import read_output
from docgraph.model import checkpoint
from docgraph.model.device import find_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import BEST, ModelFolder, find_model
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Tokenizer
from docgraph.research.documents import Documents


def find_models(models: Sequence[str]) -> dict[str, Path]:
    """Name -> model folder, from NAME=FOLDER, or FOLDER alone: then its name, or that of the run it is the best of."""
    found: dict[str, Path] = {}
    for text in models:
        name, equals, place = text.partition("=")
        path = find_model(place if equals else text)
        label = name if equals else path.parent.name if path.name == BEST else path.name
        if label in found:
            raise DocgraphError(f"the name '{label}' is taken; name this model by NAME=FOLDER", path=path)
        found[label] = path
    _check_subwords(list(found.values()))
    return found


def _check_subwords(folders: Sequence[Path]) -> None:
    digests = [subwords.digest(subwords.files_of(folder)) for folder in folders]
    for folder, digest in zip(folders, digests, strict=True):
        if digest != digests[0]:
            raise DocgraphError(f"has other sub-words than {folders[0]}; look at them one by one", path=folder)


def load_systems(
    folders: Mapping[str, Path], device: str | None, dtype: torch.dtype = torch.float32
) -> dict[str, DocumentTransformer]:
    """The models, on a GPU where there is one."""
    place = find_device(device)
    return {name: checkpoint.load(folder, place).to(dtype) for name, folder in folders.items()}


def stored_documents(store: Path, split: str, folders: Mapping[str, Path]) -> Documents:
    """A split of a prepared corpus, of the models' sub-words."""
    documents = Documents.of_store(store, split)
    _check_subwords([store / "tokenizer", *folders.values()])
    return documents


def read_translations(files: Sequence[str], documents: Documents, first: int | None) -> dict[str, list[str]]:
    """Name -> the sentences of the first so many documents, from NAME=FILE with translations of all."""
    found: dict[str, list[str]] = {}
    sizes = [len(document) for document in documents.documents]
    for text in files:
        name, equals, path = text.partition("=")
        if not equals or name in found:
            raise DocgraphError(f"translations are NAME=FILE, each name once; correct '--translations {text}'")
        found[name] = read_output(path, sizes, documents.name)[: sum(sizes[:first])]
    return found


def text_documents(
    source: Path, reference: Path, folders: Mapping[str, Path], annotator: str | None, trees: bool, jobs: int
) -> Documents:
    """The documents of two files, annotated where a model reads graphs, or `trees` are asked for."""
    opened = [ModelFolder(folder) for folder in folders.values()]
    first = opened[0]
    tokenizer = Tokenizer.load(first.path, first.config.transformer)
    pairs = list(read(DataEntry(str(source), str(reference)), Problems()))
    annotations: list[Annotation | None] = [None] * len(pairs)
    if trees or any(context_needs(folder.config).relations is not None for folder in opened):
        languages = first.languages
        if annotator is None and languages is None:
            raise DocgraphError(
                "this model does not say its languages; name an annotator with --annotator", path=first.path
            )
        spec = annotator or (languages or ("",))[0]
        annotations = list(annotate_all([one.document for one in pairs], spec, jobs=jobs, cache=default_cache_folder()))
    sides = [one.source for one in pairs], [one.target for one in pairs]
    return Documents.of_texts(*sides, tokenizer, annotations, source.name)
