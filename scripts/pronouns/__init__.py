"""French pronouns whose gender only a hint can tell: training pairs, and hints that the reference contradicts."""
