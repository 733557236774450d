"""Text: a source text as the model reads it (`preprocessing`), and its finished translation (`postprocessing`)."""
