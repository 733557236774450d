"""The components of the embedded English pipeline: lemmas and the reranking of tags."""
