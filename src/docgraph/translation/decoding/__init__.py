"""Decoding: from model inputs to hypotheses.

document_decoding     `decode_documents`: whole documents, whose sentences may read translations of other sentences
continuous_decoding   sentences of concurrent requests, which join a running batch
search                `search`: greedy, beam search or sampling for the sentences of a batch
"""
