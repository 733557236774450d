"""Decoding: from model inputs to hypotheses, by beam search with constraints, in documents whose sentences read others.

`document_decoding.decode_documents` decodes documents, `continuous_decoding` sentences that join at any time, and
`search.search` the sentences of a batch.
"""
