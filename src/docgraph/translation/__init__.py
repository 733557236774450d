"""Translation of documents: `translator.Translator` prepares, decodes, checks and builds.

text        source text -> model text, and back
decoding    model inputs -> hypotheses
checks      what looks wrong in a translation, and its repair
terms       glossaries, names, dictionaries, formality
files       files in, files out

Each folder imports only the folders above it; `files` also imports the modules of this folder:

translator, model_input, segment_decoding, redecoding, translation_builder, result    the path of every document
corrections, explain, chains    a document under correction: what changes, what a sentence read, linked words
translation_memory, pretranslation    sentence pairs as context; translations of a corpus as context for training
"""
