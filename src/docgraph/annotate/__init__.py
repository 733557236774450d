"""Words, lemmas, heads and coreference: one module an annotator, one small protocol (`base`), a registry."""
