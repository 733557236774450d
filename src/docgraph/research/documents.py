"""Documents to translate in part or whole: from a prepared corpus, or from text files and an annotator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from docgraph.annotation import Annotation
from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.subwords import encode_source, encode_target
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import context_needs
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.document_decoding import decode_documents, given
from docgraph.translation.hypotheses import SearchConfig


@dataclass(frozen=True, eq=False)
class SourceDocument:
    """M sentences of a document, their words and what is known of them, and a reference translation."""

    source: Sequence[Ids]
    words: Sequence[Ids]
    """[M] arrays beside `source`: the word of its sentence each sub-word belongs to, -1 for none."""
    annotation: Annotation | None
    target: Sequence[Ids]
    target_words: Sequence[Ids]
    reference: list[str]

    def __len__(self) -> int:
        return len(self.source)

    def part(self, sentences: range, config: ModelConfig) -> DocumentExample:
        """The sentences as a document of their own, as a model of this config takes it: of the rest nothing is left.

        The graph is that of these sentences alone: in one cut out of the whole document's, words would still have
        the states that their neighbours elsewhere gave them.
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
    """Documents, and the sub-words they are in."""

    documents: list[SourceDocument]
    tokenizer: Tokenizer
    name: str
    """For signatures."""

    @classmethod
    def of_store(cls, folder: str | Path, split: str) -> Documents:
        """A split of a prepared corpus; a reference is spelt by its sub-words."""
        corpus = PreparedCorpus.open(folder, split)
        spell = corpus.tokenizer.target.decode
        found = []
        for index in range(len(corpus)):
            target, target_words = corpus.sentences(index, "target")
            source, words = corpus.sentences(index, "source")
            reference = [spell(ids) for ids in target]
            found.append(SourceDocument(source, words, corpus.annotation(index), target, target_words, reference))
        return cls(found, corpus.tokenizer, f"{Path(folder).name}/{split}")

    @classmethod
    def of_texts(
        cls,
        sources: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        tokenizer: Tokenizer,
        annotations: Sequence[Annotation | None],
        name: str,
    ) -> Documents:
        """Documents sentence by sentence, their references, and their annotations where a model reads graphs."""
        found = []
        for source, reference, annotation in zip(sources, references, annotations, strict=True):
            ids: Sequence[Ids] = [tokenizer.source.encode(text)[0] for text in source]
            words: Sequence[Ids] = ()
            if annotation is not None:
                ids, words = encode_source(source, annotation, tokenizer.source)
            found.append(
                SourceDocument(ids, words, annotation, *encode_target(reference, tokenizer.target), list(reference))
            )
        return cls(found, tokenizer, name)

    def __len__(self) -> int:
        return len(self.documents)

    def first(self, count: int | None) -> Documents:
        return replace(self, documents=self.documents[:count])

    def with_annotations(self, change: Callable[[Annotation], Annotation]) -> Documents:
        """The same documents, something else said of their words."""
        changed = [
            replace(d, annotation=None if d.annotation is None else change(d.annotation)) for d in self.documents
        ]
        return replace(self, documents=changed)

    def spell(self, found: Mapping[tuple[int, int], Sequence[int]]) -> list[list[str]]:
        """The text of translations by document and sentence."""
        decode = self.tokenizer.target.decode
        return [[decode(found[d, m]) for m in range(len(one))] for d, one in enumerate(self.documents)]

    def translate(
        self,
        model: DocumentTransformer,
        search: SearchConfig,
        cuts: Iterable[Sequence[range]] | None = None,
        *,
        known: bool = False,
    ) -> list[list[str]]:
        """Translations of all sentences; with `cuts`, each document in parts that know nothing of each other.

        With `known`, each sentence sees the references of those before it in the place of their translations.
        """
        wholes = [[range(len(document))] for document in self.documents]
        parts = [(number, part) for number, ranges in enumerate(cuts or wholes) for part in ranges]
        examples = [self.documents[number].part(part, model.config) for number, part in parts]
        references = None
        if known:
            references = [{m: given(ids[:-1].tolist()) for m, ids in enumerate(one.target)} for one in examples]
        found = decode_documents(model, self.tokenizer, examples, search, known=references, again=known)
        texts: list[list[str]] = [[] for _ in self.documents]
        for (number, _), decoded in zip(parts, found, strict=True):
            texts[number] += [self.tokenizer.target.decode(best.tokens) for best, *_ in decoded.sentences]
        return texts
