"""ParallelDocument: a document and its translation, sentence by sentence, and where it stood."""

from __future__ import annotations

from dataclasses import dataclass

from docgraph.document import Document


@dataclass(frozen=True, slots=True)
class ParallelDocument:
    """M sentence pairs in document order; never none."""

    id: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    path: str
    """The file the source sentences came from."""
    lines: tuple[int, ...]
    """[M]: the line of each source sentence in that file, from 1."""
    speakers: tuple[str | None, ...] | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.source), len(self.target), len(self.lines), len(self.speakers or self.source)}
        if len(lengths) > 1:
            raise ValueError(f"the columns of parallel document '{self.id}' differ in length")

    def __len__(self) -> int:
        return len(self.source)

    @property
    def document(self) -> Document:
        """The source side, to be annotated."""
        return Document.from_sentences(self.source, self.id, self.speakers)
