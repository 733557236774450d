"""The size of the cache of model states, and its eviction."""

from __future__ import annotations

from docgraph.model.batch import StateCache

CACHED_TOKENS = 1 << 16
"""Sub-words of translations whose states stay in the cache for later documents."""
CACHED_SOURCE_TOKENS = 1 << 14
"""Sub-words of source sentences whose states stay in the cache: enough for a document under correction."""


def evict(state_cache: StateCache) -> None:
    """Removes the least recently used states; those of sources and those of translations have separate room."""
    room = {1: CACHED_SOURCE_TOKENS, 2: CACHED_TOKENS}
    for ids in reversed(list(state_cache)):
        room[len(ids)] -= len(ids[-1])
        if room[len(ids)] < 0:
            del state_cache[ids]
