"""Translation: preprocess text, search, decode documents, postprocess; read and write files.

`files.translate_files` translates files, `translator.Translator` documents, `document_decoding.decode_documents` model
inputs, and `search.search` the sentences of a batch.
"""
