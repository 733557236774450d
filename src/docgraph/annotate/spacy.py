"""spaCy: any installed pipeline, or a pipeline in a folder such as the embedded English one.

Each sentence is parsed alone, with its boundaries given, so it becomes one tree. White-space tokens are removed before
parsing, so the parse does not depend on how many spaces separate two words.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from docgraph.annotate.builder import AnnotationBuilder, Word, split_long_text
from docgraph.annotate.pipeline import load_package, package_version
from docgraph.annotation import Annotation, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

EXCLUDED = ["ner", "entity_linker", "entity_ruler", "textcat", "textcat_multilabel", "spancat", "senter", "sentencizer"]
BATCH_SIZE = 128
Location = tuple[int, list[int]]
"""Sentence index of a parsed piece, and the character offsets of its tokens in the sentence."""


class SpacyAnnotator:
    """Assigns words, and lemmas, tags and heads if the spaCy pipeline does: `spacy:PIPELINE`."""

    requires: frozenset[Layer] = frozenset()

    def __init__(self, nlp: Language, name: str, version: str) -> None:
        self.nlp, self.name, self.version = nlp, name, version
        self.assigns = _layers(nlp)

    @classmethod
    def load(cls, pipeline: str | Path) -> SpacyAnnotator:
        """Loads a pipeline by package name or folder."""
        spacy = load_package("spacy", f"spacy:{pipeline}", "pip install spacy")
        importlib.import_module("docgraph.annotate.english.lemmas")  # registers a component of the embedded pipeline
        folder = Path(pipeline)
        try:
            with _numpy_blas():
                nlp = spacy.load(folder if folder.is_dir() else str(pipeline), exclude=EXCLUDED)
        except OSError:
            raise DocgraphError(
                f"spaCy has no pipeline '{pipeline}'; install it with: python -m spacy download {pipeline}"
            ) from None
        except (ValueError, ImportError) as error:
            reason = str(error).strip().splitlines()[0]
            raise DocgraphError(
                f"spaCy cannot load '{pipeline}' ({reason}); install the package that it needs"
            ) from error
        meta = nlp.meta
        version = f"{package_version('spacy')} {meta['lang']}_{meta['name']} {meta['version']}"
        if folder.is_dir():
            return cls(nlp, f"spacy:{folder.name}", f"{version} {_digest(folder)}")
        return cls(nlp, f"spacy:{pipeline}", version)

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        builder = AnnotationBuilder()
        sentence = 0
        for doc, (index, starts) in self.nlp.pipe(self._docs(document.texts), as_tuples=True, batch_size=BATCH_SIZE):
            for _ in range(sentence, index):
                builder.end_sentence(single_root=True)
            sentence = index
            _add_tokens(builder, doc, starts)
        for _ in range(sentence, len(document)):
            builder.end_sentence(single_root=True)
        return builder.build(self.assigns)

    def _docs(self, texts: Iterable[str]) -> Iterator[tuple[Doc, Location]]:
        """Tokenizes the texts; pieces that are only white space are left out."""
        for index, text in enumerate(texts):
            for offset, piece in split_long_text(text):
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
    """Makes models that are created inside the context use NumPy's BLAS.

    thinc's own BLIS has fast kernels for only some processors.
    """
    from thinc.api import NumpyOps, get_current_ops, set_current_ops

    ops = get_current_ops()
    if type(ops) is NumpyOps:  # neither a GPU nor Apple's Accelerate
        set_current_ops(NumpyOps(use_blis=False))
    try:
        yield
    finally:
        set_current_ops(ops)


def _without_spaces(doc: Doc) -> Doc:
    """Returns a copy without the white-space tokens."""
    from spacy.tokens import Doc

    tokens = [token for token in doc if not token.is_space]
    after = [bool(token.whitespace_) or (token.i + 1 < len(doc) and doc[token.i + 1].is_space) for token in tokens]
    copy = Doc(doc.vocab, words=[token.text for token in tokens], spaces=after)
    for token, original in zip(copy, tokens, strict=True):
        token.norm_ = original.norm_
    return copy


def _add_tokens(builder: AnnotationBuilder, doc: Doc, starts: list[int]) -> None:
    first = len(builder.words)
    for token, start in zip(doc, starts, strict=True):
        form, lemma = token.text, token.lemma_ or token.text.lower()
        deprel = "root" if token.dep_ == "ROOT" else token.dep_
        head = first + token.head.i
        word = Word(start, start + len(form), form, lemma, token.pos_, str(token.morph), head, deprel)
        builder.words.append(word)


def _layers(nlp: Language) -> frozenset[Layer]:
    """Returns the layers that the components of a spaCy pipeline assign."""
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
    """Returns a digest of the files of a pipeline folder, so that a retrained pipeline has another version."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
