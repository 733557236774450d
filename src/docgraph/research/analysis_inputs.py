"""The models and documents of an analysis: documents of a prepared corpus or of text files, translated as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from docgraph.annotate.runner import annotate_all, default_cache_folder
from docgraph.annotation import Annotation
from docgraph.corpus import subwords
from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers import Problems, read
from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.subwords import encode_source, encode_target
from docgraph.errors import DocgraphError
from docgraph.evaluation.evaluation_set import read_output
from docgraph.graph import build_graph
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.config import ModelConfig
from docgraph.model.device import find_device
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import BEST, ModelFolder, find_model
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import Known, SearchConfig, given_hypotheses

Systems = Mapping[str, DocumentTransformer]
"""Models by name."""
Log = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class SourceDocument:
    """A document of M sentences with its annotation and a reference translation, from which parts can be cut."""

    source: Sequence[Ids]
    words: Sequence[Ids]
    """[M] arrays beside `source`: the word of the sentence that each sub-word belongs to, -1 for none."""
    annotation: Annotation | None
    target: Sequence[Ids]
    target_words: Sequence[Ids]
    reference: list[str]

    def __len__(self) -> int:
        return len(self.source)

    def part(self, sentences: range, config: ModelConfig) -> DocumentExample:
        """Returns some sentences as a document of their own, as input of a model of this config.

        The graph is built from these sentences alone. In a part cut out of the graph of the whole document, the states
        of words would still depend on their neighbours outside.
        """
        inside = slice(sentences.start, sentences.stop)
        relations = context_needs(config).relations
        example = DocumentExample(self.source[inside], self.target[inside], target_words=self.target_words[inside])
        if relations is not None and self.annotation is not None:
            annotation = self.annotation.part(sentences)
            words = [np.where(w < 0, -1, w + o) for w, o in zip(self.words[inside], annotation.offsets, strict=False)]
            example = replace(example, graph=build_graph(annotation, relations), source_words=words)
        return example


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents and their tokenizer."""

    documents: list[SourceDocument]
    tokenizer: Tokenizer
    name: str
    """Name of the set in signatures."""

    @classmethod
    def from_store(cls, folder: str | Path, split: str) -> Documents:
        """Returns a split of a prepared corpus; references are detokenized sub-words."""
        corpus = PreparedCorpus.open(folder, split)
        decode = corpus.tokenizer.target.decode
        documents = []
        for index in range(len(corpus)):
            target, target_words = corpus.sentences(index, "target")
            source, words = corpus.sentences(index, "source")
            reference = [decode(ids) for ids in target]
            documents.append(SourceDocument(source, words, corpus.annotation(index), target, target_words, reference))
        return cls(documents, corpus.tokenizer, f"{Path(folder).name}/{split}")

    @classmethod
    def from_texts(
        cls,
        sources: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        tokenizer: Tokenizer,
        annotations: Sequence[Annotation | None],
        name: str,
    ) -> Documents:
        """Returns documents from sentences, their references, and their annotations if a model reads graphs."""
        documents = []
        for source, reference, annotation in zip(sources, references, annotations, strict=True):
            ids: Sequence[Ids] = [tokenizer.source.encode(text)[0] for text in source]
            words: Sequence[Ids] = ()
            if annotation is not None:
                ids, words = encode_source(source, annotation, tokenizer.source)
            target = encode_target(reference, tokenizer.target)
            documents.append(SourceDocument(ids, words, annotation, *target, list(reference)))
        return cls(documents, tokenizer, name)

    def __len__(self) -> int:
        return len(self.documents)

    def first(self, count: int | None) -> Documents:
        """Returns the first `count` documents; None means all."""
        return replace(self, documents=self.documents[:count])

    def with_annotations(self, change: Callable[[Annotation], Annotation]) -> Documents:
        """Returns the same documents with changed annotations."""
        changed = [
            replace(d, annotation=None if d.annotation is None else change(d.annotation)) for d in self.documents
        ]
        return replace(self, documents=changed)

    def detokenize(self, translations: Mapping[tuple[int, int], Sequence[int]]) -> list[list[str]]:
        """Returns the text of sub-word translations by (document, sentence)."""
        decode = self.tokenizer.target.decode
        return [[decode(translations[d, m]) for m in range(len(one))] for d, one in enumerate(self.documents)]

    def translate(
        self,
        model: DocumentTransformer,
        search: SearchConfig,
        parts: Iterable[Sequence[range]] | None = None,
        *,
        known: bool = False,
    ) -> list[list[str]]:
        """Returns the translations by document and sentence.

        With `parts`, each document is translated in parts that are documents of their own. With `known`, the
        references of the earlier sentences are the target context, in place of their translations.
        """
        whole = [[range(len(document))] for document in self.documents]
        numbered = [(number, part) for number, ranges in enumerate(parts or whole) for part in ranges]
        examples = [self.documents[number].part(part, model.config) for number, part in numbered]
        inputs = [DecoderInput(example, _references(example) if known else {}) for example in examples]
        decoded = decode_documents(model, self.tokenizer, inputs, DecodingOptions(search), redecode_known=known)
        texts: list[list[str]] = [[] for _ in self.documents]
        for (number, _), document in zip(numbered, decoded, strict=True):
            texts[number] += [self.tokenizer.target.decode(best.tokens) for best, *_ in document.sentences]
        return texts


def _references(example: DocumentExample) -> Known:
    """Returns the references of a document as translations supplied by the user."""
    return {m: given_hypotheses(ids[:-1].tolist()) for m, ids in enumerate(example.target)}


def find_models(models: Sequence[str]) -> dict[str, Path]:
    """Returns model folders by name, from NAME=FOLDER or FOLDER; checks that all have the same sub-words.

    The name of a plain FOLDER is that of the folder, or of the run if the folder is its best checkpoint.
    """
    folders: dict[str, Path] = {}
    for text in models:
        name, equals, folder = text.partition("=")
        path = find_model(folder if equals else text)
        label = name if equals else path.parent.name if path.name == BEST else path.name
        if label in folders:
            raise DocgraphError(f"the name '{label}' is taken; name this model by NAME=FOLDER", path=path)
        folders[label] = path
    _check_subwords(list(folders.values()))
    return folders


def _check_subwords(folders: Sequence[Path]) -> None:
    digests = [subwords.digest(subwords.files_of(folder)) for folder in folders]
    for folder, digest in zip(folders, digests, strict=True):
        if digest != digests[0]:
            raise DocgraphError(f"has other sub-words than {folders[0]}; analyse them one by one", path=folder)


def load_systems(
    folders: Mapping[str, Path], device: str | None, dtype: torch.dtype = torch.float32
) -> dict[str, DocumentTransformer]:
    """Returns the models on a device; by default on a GPU if there is one."""
    target = find_device(device)
    return {name: checkpoint.load(folder, target).to(dtype) for name, folder in folders.items()}


def read_stored_documents(store: Path, split: str, folders: Mapping[str, Path]) -> Documents:
    """Returns a split of a prepared corpus; checks that it has the sub-words of the models."""
    documents = Documents.from_store(store, split)
    _check_subwords([store / "tokenizer", *folders.values()])
    return documents


def read_text_documents(
    source: Path, reference: Path, folders: Mapping[str, Path], annotator: str | None, annotate: bool, jobs: int
) -> Documents:
    """Returns the documents of two files, annotated if a model reads graphs or with `annotate`."""
    opened = [ModelFolder(folder) for folder in folders.values()]
    first = opened[0]
    tokenizer = Tokenizer.load(first.path, first.config.transformer)
    pairs = list(read(DataEntry(str(source), str(reference)), Problems()))
    annotations: list[Annotation | None] = [None] * len(pairs)
    if annotate or any(context_needs(folder.config).relations is not None for folder in opened):
        languages = first.languages
        if annotator is None and languages is None:
            raise DocgraphError(
                "this model does not name its languages; choose an annotator with --annotator", path=first.path
            )
        spec = annotator or (languages or ("",))[0]
        annotations = list(
            annotate_all([pair.document for pair in pairs], spec, jobs=jobs, cache=default_cache_folder())
        )
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return Documents.from_texts(sources, references, tokenizer, annotations, source.name)


def read_translations(files: Sequence[str], documents: Documents, first: int | None) -> dict[str, list[str]]:
    """Returns translated sentences of the first documents by name, from NAME=FILE with translations of all."""
    translations: dict[str, list[str]] = {}
    sizes = [len(document) for document in documents.documents]
    for text in files:
        name, equals, path = text.partition("=")
        if not equals or name in translations:
            raise DocgraphError(f"translations are NAME=FILE, each name once; correct '--translations {text}'")
        translations[name] = read_output(path, sizes, documents.name)[: sum(sizes[:first])]
    return translations
