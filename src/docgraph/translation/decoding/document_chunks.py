"""Chunks of a long document: segments that are translated together, and the segments around them as context."""

from __future__ import annotations

from collections.abc import Iterator

CHUNK, CHUNK_BEFORE, CHUNK_AFTER = 1024, 256, 32
"""Number of segments that are translated together, and of context segments before and after them."""


def chunks(segments: int) -> Iterator[tuple[range, range]]:
    """Yields (shown, own) for each chunk of a document: the segments that the model reads and those that it translates.

    Attention over a whole document has quadratic cost. A document much longer than any in training is translated in
    overlapping chunks, each with the translations of earlier chunks. Any other document is one chunk.
    """
    if segments <= CHUNK_BEFORE + CHUNK + CHUNK_AFTER:
        yield range(segments), range(segments)
        return
    for begin in range(0, segments, CHUNK):
        own = range(begin, min(begin + CHUNK, segments))
        yield range(max(0, own.start - CHUNK_BEFORE), min(own.stop + CHUNK_AFTER, segments)), own
