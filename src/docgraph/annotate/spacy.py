"""spaCy: any installed pipeline, and pipelines in a folder such as the embedded English one.

Each sentence of the document is parsed on its own, with its boundaries given, so that it is one tree. White-space
tokens never reach the parser: their neighbours are then attached as if the text had been typed with single spaces.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from docgraph.annotate.columns import Columns, pieces
from docgraph.annotate.packages import load_package, package_version
from docgraph.annotation import Annotation, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

UNUSED = ["ner", "entity_linker", "entity_ruler", "textcat", "textcat_multilabel", "spancat", "senter", "sentencizer"]
BATCH = 128
Place = tuple[int, list[int]]
"""(sentence, character offsets of the tokens in it) of a parsed piece."""


class SpacyAnnotator:
    """Words, and whatever else the components of a spaCy pipeline assign: lemmas, tags, heads."""

    requires: frozenset[Layer] = frozenset()

    def __init__(self, nlp: Language, name: str, version: str) -> None:
        self.nlp, self.name, self.version = nlp, name, version
        self.assigns = _layers(nlp)

    @classmethod
    def load(cls, pipeline: str | Path) -> SpacyAnnotator:
        """A pipeline by package name or by folder."""
        spacy = load_package("spacy", f"spacy:{pipeline}", "pip install spacy")
        importlib.import_module("docgraph.annotate.english.lemmas")  # registers the component of the embedded pipeline
        folder = Path(pipeline)
        try:
            with _numpy_blas():
                nlp = spacy.load(folder if folder.is_dir() else str(pipeline), exclude=UNUSED)
        except OSError:
            raise DocgraphError(
                f"spaCy has no pipeline '{pipeline}'; install it with: python -m spacy download {pipeline}"
            ) from None
        except (ValueError, ImportError) as error:
            reason = str(error).strip().splitlines()[0]
            raise DocgraphError(f"spaCy cannot load '{pipeline}' ({reason}); install what it asks for") from error
        meta = nlp.meta
        version = f"{package_version('spacy')} {meta['lang']}_{meta['name']} {meta['version']}"
        if folder.is_dir():
            return cls(nlp, f"spacy:{folder.name}", f"{version} {_digest(folder)}")
        return cls(nlp, f"spacy:{pipeline}", version)

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        columns = Columns()
        sentence = 0
        for doc, (index, starts) in self.nlp.pipe(self._docs(document.texts), as_tuples=True, batch_size=BATCH):
            while sentence < index:
                self._end(columns)
                sentence += 1
            _add(columns, doc, starts)
        while sentence < len(document):
            self._end(columns)
            sentence += 1
        return columns.annotation(self.assigns)

    def _end(self, columns: Columns) -> None:
        columns.end_sentence()
        columns.join_roots()

    def _docs(self, texts: Iterable[str]) -> Iterator[tuple[Doc, Place]]:
        for index, text in enumerate(texts):
            for offset, piece in pieces(text):
                doc = self.nlp.tokenizer(piece)
                starts = [offset + token.idx for token in doc if not token.is_space]
                if not starts:
                    continue
                if len(starts) < len(doc):
                    doc = _without_spaces(doc)
                for token in doc:
                    token.is_sent_start = token.i == 0
                yield doc, (index, starts)


@contextmanager
def _numpy_blas() -> Iterator[None]:
    """Models made inside multiply by NumPy's BLAS: the BLIS of thinc has fast kernels for some processors only."""
    from thinc.api import NumpyOps, get_current_ops, set_current_ops

    ops = get_current_ops()
    if type(ops) is NumpyOps:  # neither a GPU nor Apple's Accelerate
        set_current_ops(NumpyOps(use_blis=False))
    try:
        yield
    finally:
        set_current_ops(ops)


def _without_spaces(doc: Doc) -> Doc:
    """The same tokens less those of white space."""
    from spacy.tokens import Doc

    tokens = [token for token in doc if not token.is_space]
    after = [bool(token.whitespace_) or (token.i + 1 < len(doc) and doc[token.i + 1].is_space) for token in tokens]
    copy = Doc(doc.vocab, words=[token.text for token in tokens], spaces=after)
    for token, original in zip(copy, tokens, strict=True):
        token.norm_ = original.norm_
    return copy


def _add(columns: Columns, doc: Doc, starts: list[int]) -> None:
    base = len(columns.starts)
    for token, start in zip(doc, starts, strict=True):
        form = token.text
        deprel = token.dep_
        columns.add(
            start,
            start + len(form),
            form,
            token.lemma_ or form.lower(),
            token.pos_,
            str(token.morph),
            base + token.head.i,
            "root" if deprel == "ROOT" else deprel,
        )


def _layers(nlp: Language) -> frozenset[Layer]:
    """The layers the components of a pipeline assign."""
    attributes = {attribute for name in nlp.pipe_names for attribute in nlp.get_pipe_meta(name).assigns}
    layers: set[Layer] = {"words"}
    if "token.lemma" in attributes:
        layers.add("lemmas")
    if "token.pos" in attributes or "attribute_ruler" in nlp.pipe_names:
        layers.add("tags")
    if "token.head" in attributes:
        layers.add("heads")
    return frozenset(layers)


def _digest(folder: Path) -> str:
    """A digest of the files of a pipeline folder: a retrained pipeline is another version."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
