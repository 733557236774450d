"""Translation of documents: `translator.Translator` prepares, decodes, checks and builds.

text        source text -> model text, and back
decoding    model inputs -> hypotheses
checks      what looks wrong in a translation, and its repair
terms       glossaries, names, dictionaries, formality
files       files in, files out

Each folder imports only the folders above it; `files` also imports the modules of this folder.
"""
